"""The containers of a bundle: a folder, a zip or tar of it, a folder around it; and ignored files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from bundle_support import codes, small_bundle, symbols_of, write_as
from documents_support import column, one_table

from sample_generator.bundle_writer import Files, tarred, write_folder, zipped
from tracekit import open_trace
from tracekit.detect import open_source
from tracekit.errors import InputError, UsageError
from tracekit.parsers.bundle.container import open_bundle_files
from tracekit.parsers.source import Source

FILES = small_bundle().files()


def opened(path: Path | str) -> Source:
    return open_source(path, via="native")


def check(source: Source, name: str, issues: Iterable[str] = ()) -> None:
    """All rows and symbols are there, and no other issues."""
    (table,) = source.tables("time-profile")
    assert column(table, "time") == [tick * 1_000_000 for tick in range(1, 21)]
    assert symbols_of(table, "stack") == [["work", "main"]] * 20
    assert source.toc()[0].info.name == source.name == name
    assert codes(source.issues()) == list(issues)


def error(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        opened(path)
    return str(caught.value)


def zip_of(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return buffer.getvalue()


def tar_of(members: dict[str, bytes], format_: int = tarfile.USTAR_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def below(folder: str, files: Files = FILES) -> dict[str, bytes]:
    return {f"{folder}{name}": content for name, content in files.items()}


# One bundle -----------------------------------------------------------------------------------------------


def test_a_folder(tmp_path: Path) -> None:
    check(opened(write_folder(FILES, tmp_path / "My App.trace")), "My App.trace")
    check(opened(f"{tmp_path}/My App.trace/"), "My App.trace")


def test_a_folder_of_any_name(tmp_path: Path) -> None:
    check(opened(write_folder(FILES, tmp_path / "anything")), "anything")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.trace.zip", zipped(FILES)),
        ("x.trace.tar.gz", tarred(FILES)),
        ("x.tar", gzip.decompress(tarred(FILES))),
        ("x.tar.bz2", bz2.compress(tar_of(below("recording.trace/")))),
        ("x.tar.xz", lzma.compress(tar_of(below("recording.trace/"), tarfile.PAX_FORMAT))),
        ("x.tar", tar_of(below("recording.trace/"), tarfile.GNU_FORMAT)),
        ("stored.zip", zip_of(below("recording.trace/"), zipfile.ZIP_STORED)),
        ("lzma.zip", zip_of(below("recording.trace/"), zipfile.ZIP_LZMA)),
        ("of-no-name", zipped(FILES)),
        ("deep.zip", zip_of(below("a/b/recording.trace/"))),
        ("deep.tar", tar_of(below("a/b/recording.trace/"))),
        ("with-a-readme.zip", zip_of({"README.md": b"#", **below("recording.trace/")})),
    ],
)
def test_an_archive(tmp_path: Path, name: str, content: bytes) -> None:
    check(opened(write_as(tmp_path, name, content)), "recording.trace")


@pytest.mark.parametrize("name", ["content.trace.zip", "content.tar"])
def test_the_content_of_a_bundle_at_the_root(tmp_path: Path, name: str) -> None:
    content = zip_of(FILES) if name.endswith("zip") else tar_of(FILES)
    check(opened(write_as(tmp_path, name, content)), name)


@pytest.mark.parametrize("prefix", ["./recording.trace/", "./"])
def test_a_tar_made_of_the_current_folder(tmp_path: Path, prefix: str) -> None:
    """`tar -cf x.tar ./recording.trace` keeps the ./ of every name."""
    shown = "recording.trace" if prefix != "./" else "x.tar"
    check(opened(write_as(tmp_path, "x.tar", tar_of(below(prefix)))), shown)


def test_a_tar_whose_last_file_is_a_zip(tmp_path: Path) -> None:
    """A real bundle has a zip of its own: instrument_data/<UUID>/run_data/1.run.zip."""
    files = {**FILES, "instrument_data/0/run_data/1.run.zip": zip_of({"1.run": b"typedstream"})}
    check(opened(write_as(tmp_path, "x.tar", tar_of(below("recording.trace/", files)))), "recording.trace")


def test_macos_metadata_is_ignored(tmp_path: Path) -> None:
    store = "corespace/run1/core/stores/indexed-store-9"
    added = {
        "__MACOSX/recording.trace/._form.template": b"x",
        "__MACOSX/._recording.trace": b"x",
        f"__MACOSX/recording.trace/{store}/bulkstore": b"x",
        "recording.trace/._form.template": b"x",
        f"recording.trace/{store}/._bulkstore": b"x",
        "recording.trace/.DS_Store": b"x",
    }
    check(
        opened(write_as(tmp_path, "x.zip", zip_of({**added, **below("recording.trace/")}))), "recording.trace"
    )
    check(
        opened(write_as(tmp_path, "x.tar", tar_of({**added, **below("recording.trace/")}))), "recording.trace"
    )
    write_folder({f"{store}/._bulkstore": b"x", "._form.template": b"x", **FILES}, tmp_path / "x.trace")
    check(opened(tmp_path / "x.trace"), "x.trace")


# No bundle, or several ------------------------------------------------------------------------------------


def test_two_bundles_in_one_archive(tmp_path: Path) -> None:
    both = {**below("one.trace/"), **below("two.trace/")}
    for name, content in (("x.zip", zip_of(both)), ("x.tar", tar_of(both))):
        assert "holds 2 bundles (one.trace, two.trace). Unpack it and name one of them." in error(
            write_as(tmp_path, name, content)
        )


def test_an_archive_without_a_bundle(tmp_path: Path) -> None:
    for name, content in (("x.zip", zip_of({"a.txt": b""})), ("x.tar", tar_of({"a.txt": b""}))):
        assert "is an archive without a .trace bundle or exports in it" in error(
            write_as(tmp_path, name, content)
        )


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.8, 0.999])
def test_a_zip_that_is_cut_off(tmp_path: Path, keep: float) -> None:
    content = zipped(FILES)
    path = write_as(tmp_path, "x.zip", content[: int(len(content) * keep)])
    assert error(path).startswith(f"{path}: ")


def test_a_zip_that_is_cut_off_behind_a_zip_in_it(tmp_path: Path) -> None:
    inner = zip_of({"1.run": b"x"})
    content = zip_of({"a.trace/1.zip": inner, **below("a.trace/")}, zipfile.ZIP_STORED)
    path = write_as(tmp_path, "x.zip", content[: content.index(inner) + len(inner) + 10])
    assert error(path) == (
        f"{path}: cannot be unpacked: it is cut off or damaged. Make the archive again, or download it again."
    )


LAST = "symbols/stores/11111111-2222-3333-4444-555555555555.symbolsarchive"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("size", [0, 300, 512, 700])
def test_a_truncated_tar_is_refused(tmp_path: Path, size: int, packed: bool) -> None:
    """The last file is the symbols', whose header begins 512 bytes before it."""
    files = {**{name: FILES[name] for name in FILES if name != LAST}, LAST: FILES[LAST]}
    content = tar_of(below("a.trace/", files))
    content = content[: content.index(f"a.trace/{LAST}".encode()) + size]
    path = write_as(tmp_path, "x.tar", gzip.compress(content)[:-8] if packed else content)
    assert error(path).startswith(f"{path}: cannot be unpacked: ")


def test_an_encrypted_zip(tmp_path: Path) -> None:
    content = bytearray(zipped(FILES))
    offset = -1
    while (offset := content.find(b"PK\x03\x04", offset + 1)) >= 0:
        content[offset + 6] |= 1
    while (offset := content.find(b"PK\x01\x02", offset + 1)) >= 0:
        content[offset + 8] |= 1
    source = opened(write_as(tmp_path, "x.zip", bytes(content)))
    assert set(codes(source.issues())) >= {"document-damaged", "table-damaged"}
    assert "is encrypted: unpack the archive with its password" in source.issues()[0].message
    assert all(table.row_count is None for table in source.toc()[0].tables)
    with pytest.raises(
        InputError, match=r"is an archive with a password\. Unpack it with the password first"
    ):
        open_trace(tmp_path / "x.zip")


def test_a_zip_of_an_unknown_compression(tmp_path: Path) -> None:
    content = zip_of(below("recording.trace/"), zipfile.ZIP_STORED)
    offset = -1
    broken = bytearray(content)
    while (offset := content.find(b"PK\x01\x02", offset + 1)) >= 0:
        broken[offset + 10 : offset + 12] = (97).to_bytes(2, "little")
    source = opened(write_as(tmp_path, "x.zip", bytes(broken)))
    assert "document-damaged" in codes(source.issues())


def test_a_zip_with_a_nameless_member_is_read(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.zip", zipped(FILES))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x", b"")
        archive.infolist()[-1].filename = ""
    check(opened(path), "recording.trace")


# What leads out -------------------------------------------------------------------------------------------

OUTSIDE = ("files-ignored",)


def test_names_that_lead_out_of_an_archive(tmp_path: Path) -> None:
    outside = {
        "../recording.trace/form.template": b"x",
        "recording.trace/../../form.template": b"x",
        "/recording.trace/form.template": b"x",
        "recording.trace\\form.template": b"x",
    }
    for name, make in (("x.zip", zip_of), ("x.tar", tar_of)):
        source = opened(write_as(tmp_path, name, make({**outside, **below("recording.trace/")})))
        check(source, "recording.trace", OUTSIDE)
        assert source.issues()[0].message == "names that lead out of the archive were ignored: 4"
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"x.zip", name})


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(FILES["form.template"])
    folder = write_folder(
        {name: data for name, data in FILES.items() if name != "form.template"}, tmp_path / "x.trace"
    )
    (folder / "form.template").symlink_to(secret)
    (folder / "open.creq").unlink()
    (folder / "open.creq").symlink_to("/nowhere/at/all")
    (folder / "loop").symlink_to("loop")
    source = opened(folder)
    assert codes(source.issues()) == ["files-ignored", "recording-unfinished"]
    assert (
        source.issues()[0].message
        == "links and special files are not followed: form.template, loop, open.creq"
    )
    assert source.toc()[0].info.template == ""


def test_links_inside_a_folder_are_followed(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "x.trace")
    (folder / "form.template").rename(folder / "document")
    (folder / "form.template").symlink_to("document")
    check(opened(folder), "x.trace")


def test_a_link_to_a_bundle_is_followed(tmp_path: Path) -> None:
    write_folder(FILES, tmp_path / "x.trace")
    (tmp_path / "link").symlink_to("x.trace")
    check(opened(tmp_path / "link"), "x.trace")


def test_a_linked_folder_is_not_followed_and_reported(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "x.trace")
    (folder / "symbols").rename(tmp_path / "symbols")
    (folder / "symbols").symlink_to(tmp_path / "symbols")
    source = opened(folder)
    (table,) = source.tables("time-profile")
    assert symbols_of(table, "stack")[0] == ["0x100001011", "0x10000201f"]
    assert codes(source.issues()) == ["files-ignored"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "x.trace")
    (folder / "open.creq").unlink()
    os.mkfifo(folder / "open.creq")
    os.mkfifo(folder / "other")
    check(opened(folder), "x.trace", OUTSIDE)


def test_links_in_a_tar_are_not_followed(tmp_path: Path) -> None:
    buffer = io.BytesIO(tar_of(below("recording.trace/")))
    with tarfile.open(fileobj=buffer, mode="a") as archive:
        for kind, target in (
            (tarfile.SYMTYPE, "/etc/passwd"),
            (tarfile.LNKTYPE, "recording.trace/open.creq"),
        ):
            link = tarfile.TarInfo("recording.trace/UI_state")
            link.type, link.linkname = kind, target
            archive.addfile(link)
        pipe = tarfile.TarInfo("recording.trace/pipe")
        pipe.type = tarfile.FIFOTYPE
        archive.addfile(pipe)
    source = opened(write_as(tmp_path, "x.tar", buffer.getvalue()))
    check(source, "recording.trace", OUTSIDE)
    assert source.issues()[0].message == (
        "links and special files are not followed:"
        " recording.trace/UI_state, recording.trace/UI_state, recording.trace/pipe"
    )


def test_links_in_a_zip_are_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("recording.trace/form.template")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(
        zip_of(below("recording.trace/", {name: FILES[name] for name in FILES if name != "form.template"}))
    )
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    source = opened(write_as(tmp_path, "x.zip", buffer.getvalue()))
    assert codes(source.issues()) == ["files-ignored", "recording-unfinished"]
    assert source.issues()[0].message == (
        "links and special files are not followed: recording.trace/form.template"
    )


def test_an_archive_of_nothing_but_links_names_them(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for number in range(5):
            link = tarfile.TarInfo(f"recording.trace/{number}")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
    assert (
        "without a .trace bundle or exports in it (links and special files are not followed:"
        " recording.trace/0, recording.trace/1, recording.trace/2 and 2 more)"
    ) in error(write_as(tmp_path, "x.tar", buffer.getvalue()))


# Folders around bundles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_that_holds_one_recording(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "truth.json").write_text("{}")
    if packed:
        (tmp_path / "recording.trace.zip").write_bytes(zipped(FILES))
    else:
        write_folder(FILES, tmp_path / "recording.trace")
    check(opened(tmp_path), "recording.trace")


def test_a_folder_that_holds_two_recordings(tmp_path: Path) -> None:
    for name in ("b.trace", "a.trace"):
        write_folder(FILES, tmp_path / name)
    assert (
        error(tmp_path) == f"{tmp_path}: holds more than one recording (a.trace, b.trace). Name one of them."
    )


def test_macos_metadata_beside_a_bundle(tmp_path: Path) -> None:
    write_folder(FILES, tmp_path / "recording.trace")
    (tmp_path / "._recording.trace").write_bytes(b"\x00\x05\x16\x07")
    check(opened(tmp_path), "recording.trace")


def test_a_folder_of_a_bundle_and_exports_is_reported(tmp_path: Path) -> None:
    """They may be of one recording or of two: nothing in them decides it."""
    write_folder(FILES, tmp_path / "recording.trace")
    write_as(
        tmp_path,
        "t.xml",
        one_table("t", [("time", "sample-time")], '<sample-time id="1">1</sample-time>').encode(),
    )
    with pytest.raises(InputError, match=r"more than one recording \(recording\.trace, t\.xml\)"):
        open_source(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_reported(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "x.trace")
    closed = folder / "symbols"
    closed.chmod(0)
    try:
        messages = [issue.message for issue in open_source(folder).issues()]
    finally:
        closed.chmod(0o755)
    assert any("symbols cannot be read (Permission denied)" in message for message in messages)


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop.trace").symlink_to(tmp_path / "loop.trace")
    with pytest.raises(InputError, match="loop"):
        open_source(tmp_path / "loop.trace")


@pytest.mark.integration
def test_a_tar_whose_unused_files_are_huge(tmp_path: Path) -> None:
    """Ignored files have to be unpacked all the same."""
    huge = {**below("recording.trace/"), "recording.trace/shared_data/x": bytes(300 << 20)}
    path = write_as(tmp_path, "x.tar.gz", gzip.compress(tar_of(huge), 1))
    with pytest.raises(InputError, match="unpacks to more than"):
        open_source(path)


def test_a_bundle_among_several_inputs(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "x.trace")
    with pytest.raises(UsageError, match=r"is a \.trace bundle: name it alone"):
        open_source([folder, folder])


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "x.trace").mkdir()
    assert "holds no recorded tables: the recording was not finished" in error(tmp_path / "x.trace")
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match=r"without a \.trace and without exports"):
        open_source(tmp_path / "x")


def test_holes_of_a_file_raise_no_limit(tmp_path: Path) -> None:
    folder = write_folder(FILES, tmp_path / "X.trace")
    os.truncate(folder / "open.creq", 100 << 30)
    assert open_bundle_files(str(folder), "X.trace").size("open.creq") < 1 << 30
