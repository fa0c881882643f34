"""Exports in an archive: read as those of a folder, member by member, with the limits of a compressed export."""

from __future__ import annotations

import gzip
import io
import re
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents_support import column, one_table

from tracekit import open_trace
from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.errors import InputError, UsageError
from tracekit.parsers.limits import LimitError, Limits
from tracekit.parsers.source import Source

EXPORTS = Path(__file__).resolve().parents[2] / "sample_traces" / "fallback-midway-ios27"
TIMES = one_table(
    "time-profile", [("time", "sample-time")], *(f"<sample-time>{n}</sample-time>" for n in (1, 2))
)
MARKS = one_table("os-signpost", [("time", "event-time")], "<event-time>7</event-time>")
SMALL = Limits(unpacked_slack_bytes=1 << 10)


def zipped(path: Path, members: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def times(source: Source) -> list[object]:
    (table,) = source.tables("time-profile")
    return column(table, "time")


def schemas(source: Source) -> list[str]:
    return [table.schema for run in source.toc() for table in run.tables]


def refused(path: Path, limits: Limits = SMALL) -> str:
    with pytest.raises(InputError) as caught:
        times(open_source(path, limits=limits))
    return str(caught.value)


def test_an_archive_gives_what_its_folder_gives(tmp_path: Path) -> None:
    folder = {f"take 1/{path.name}": path.read_bytes() for path in EXPORTS.glob("*.xml*")}
    beside = {"take 1/.x.xml": b"<x", "__MACOSX/take 1/._toc.xml": b"x", "take 1/old/notes.txt": b"x"}
    path = zipped(tmp_path / "x.zip", folder | beside)
    packed, plain = open_trace(path), open_trace(EXPORTS)
    assert packed.info.name == "take 1"
    assert packed.samples.equals(plain.samples) and packed.intervals.equals(plain.intervals)
    assert [issue.code for issue in packed.issues] == [issue.code for issue in plain.issues]
    result = CliRunner().invoke(main, ["analyze", str(path)])
    assert result.exit_code == 0 and "SpeechEncoder left the Neural Engine" in result.output


def test_exports_in_a_tar_or_compressed_in_the_archive(tmp_path: Path) -> None:
    tar = tmp_path / "x.tar.gz"
    with tarfile.open(tar, "w:gz") as archive:
        for name, content in {"./a.xml": TIMES.encode(), "./b.xml.gz": gzip.compress(MARKS.encode())}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    for path in (
        tar,
        zipped(tmp_path / "x.zip", {"a.xml.gz": gzip.compress(TIMES.encode()), "b.xml": MARKS}),
    ):
        source = open_source(path)
        assert (schemas(source), times(source), source.name) == (
            ["time-profile", "os-signpost"],
            [1, 2],
            path.name,
        )


def test_a_document_that_is_read_again(tmp_path: Path) -> None:
    """The compiled reader does not support a comment: lxml starts anew, in the middle of the member."""
    later = TIMES.replace("<row>", "<!-- x --><row>", 1).replace("time-profile", "time-sample")
    (table,) = open_source(zipped(tmp_path / "x.zip", {"a.xml": TIMES + later})).tables("time-sample")
    assert column(table, "time") == [1, 2]


def test_names_that_lead_out_and_links_are_not_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.xml": TIMES, "../b.xml": MARKS, "/c.xml": MARKS, "d\\e.xml": MARKS})
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("f.xml")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    source = open_source(path)
    assert schemas(source) == ["time-profile"]
    assert [(issue.severity, issue.code, issue.message) for issue in source.issues()] == [
        ("warning", "files-ignored", "names that lead out of the archive were ignored: 3"),
        ("warning", "files-ignored", "links and special files are not followed: f.xml"),
    ]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"a/1.xml": TIMES, "b/2.xml": TIMES},
            r"holds 2 folders of exports \(a, b\)\. Unpack it and name one",
        ),
        ({"a.xml": "<x/>", "b.xml": "<y/>"}, "x.zip: holds XML files, but no xctrace export"),
        ({"notes.txt": "x"}, r"without a \.trace bundle or exports"),
        ({"a.xml": TIMES[:-30]}, "x.zip/a.xml: ends in the middle of the document"),
        ({"a.xml": TIMES + " " * 99_999}, "x.zip/a.xml: unpacks to more than"),
        (
            {"a.xml.gz": gzip.compress(TIMES.encode() + b" " * 999_999)},
            "x.zip/a.xml.gz: unpacks to more than",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, members: dict[str, str | bytes], message: str) -> None:
    assert re.search(message, refused(zipped(tmp_path / "x.zip", members)))


def test_damage_inside_an_archive(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a.xml": TIMES}, zipfile.ZIP_STORED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"<sample-time>1", b"<sample-time>3"))
    assert "x.zip/a.xml: cannot be unpacked: Bad CRC-32" in refused(path)
    path.write_bytes(content[:-40])
    assert "x.zip: cannot be unpacked: it is cut off or damaged" in refused(path)
    encrypted = bytearray(content)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", encrypted, content.index(signature) + flags, 1)
    path.write_bytes(bytes(encrypted))
    assert "x.zip/a.xml: is encrypted: unpack the archive with its password" in refused(path)


def test_members_that_share_their_bytes(tmp_path: Path) -> None:
    """Every entry of the directory names the first member: a small archive of many large files."""
    path = zipped(tmp_path / "x.zip", {"a.xml": TIMES}, zipfile.ZIP_STORED)
    with zipfile.ZipFile(path, "a") as archive:
        (entry,) = archive.infolist()
        archive.filelist.extend([entry] * 30)
        for number, copied in enumerate(archive.filelist):
            copied = archive.filelist[number] = zipfile.ZipInfo(f"{number}.xml")  # noqa: PLW2901
            for field in ("CRC", "compress_size", "file_size", "header_offset", "external_attr"):
                setattr(copied, field, getattr(entry, field))
        archive._didModify = True  # type: ignore[attr-defined]
    assert "cut off or damaged" in refused(path)


def test_limits_and_readers_that_do_not_fit(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {f"{number}.xml": TIMES for number in range(4)})
    with pytest.raises(LimitError, match="holds more than 3 documents"):
        open_source(path, limits=Limits(documents=3))
    with pytest.raises(UsageError, match=r"is not a \.trace bundle"):
        open_source(path, via="native")
