"""Limits of an input: each is reached before memory is spent, and named with the file and the option."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import sys
import tarfile
import zipfile
import zlib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from bundle_support import codes, small_bundle, source_of, write_as
from click.testing import CliRunner
from documents_support import document, node, one_table, schema

from sample_generator.bundle_writer import write_folder
from tracekit import open_trace
from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits
from tracekit.parsers.pack.pack_source import PackSource
from tracekit.parsers.source import Source
from tracekit.parsers.zip_archive import BoundedZip

ROOT = Path(__file__).resolve().parents[2]
FILES = {f"r.trace/{name}": content for name, content in small_bundle().files().items()}
END = bytes(1024)

TABLE = one_table("t", [("time", "sample-time")], '<sample-time id="1">1</sample-time>')


def few(**limits: int) -> Limits:
    return replace(DEFAULT_LIMITS, **limits)


def opened(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Source:
    return open_source(path, limits=limits)


def refusal(path: Path | str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the error without the file's name and the advice, which are always there."""
    with pytest.raises(LimitError) as caught:
        opened(path, limits)
    assert caught.value.advice == "If you trust the file, add --raise-limits 4."
    return caught.value.problem


def block(name: str, kind: bytes, size: int = 0) -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def extended(kind: bytes, content: bytes) -> bytes:
    return block("x", kind, len(content)) + content.ljust(-(-len(content) // 512) * 512, b"\0")


def tar(*members: bytes) -> bytes:
    """Return a tar of these blocks, and of the bundle behind them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return b"".join(members) + buffer.getvalue()


def zipped(more_files: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
        for number in range(more_files):
            archive.writestr(f"r.trace/{number}", b"")
    return buffer.getvalue()


# Tars -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [b"x", b"g", b"X", b"L", b"K", b"S", b"0", b"Z"])
def test_a_header_that_claims_a_gigabyte_is_refused_at_once(tmp_path: Path, kind: bytes) -> None:
    """The content is not even there: nothing is read, or allocated, for a claim."""
    path = write_as(tmp_path, "x.tar", block("r.trace/form.template", kind, 1 << 30) + END)
    assert refusal(path).startswith("unpacks to more than 268 MB")


@pytest.mark.parametrize("kind", [b"x", b"X", b"L"])
def test_long_names_and_attributes_are_limited_together(tmp_path: Path, kind: bytes) -> None:
    record = b"600 path=".ljust(599, b"a") + b"\n"
    path = write_as(tmp_path, "x.tar", tar(extended(kind, record), extended(kind, record)))
    assert codes(opened(path).issues()) == []
    assert refusal(path, few(header_bytes=1000)) == (
        "holds more than 1.0 kB of long names and attributes and was not read."
    )


def test_attributes_of_all_files_are_not_held(tmp_path: Path) -> None:
    records = b"".join(b"12 k%06d=\n" % number for number in range(1000))
    path = write_as(tmp_path, "x.tar", tar(extended(b"g", records)))
    assert codes(opened(path, few(header_bytes=1000)).issues()) == []


def test_a_chain_of_headers_ends(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.tar", tar(extended(b"x", b"12 k000000=\n") * 1000))
    assert refusal(path, few(files=200)) == "holds more than 200 files and was not read."


def test_files_of_a_tar_are_limited(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.tar", tar(*(block(f"r.trace/{number}", b"0") for number in range(300))))
    assert refusal(path, few(files=200)) == "holds more than 200 files and was not read."


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_tar_that_unpacks_to_very_much(tmp_path: Path, pack: object) -> None:
    content = tar(block("r.trace/shared_data/x", b"0", 1 << 20) + bytes(1 << 20))
    path = write_as(tmp_path, "x.tar", pack(content))  # type: ignore[operator]
    assert codes(opened(path).issues()) == []
    assert refusal(path, few(unpacked_slack_bytes=0)).startswith("unpacks to more than ")


def test_files_of_a_tar_that_are_kept_in_memory(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.tar", tar(block("r.trace/form.template", b"0", 1 << 20) + bytes(1 << 20)))
    problem = refusal(path, few(held_slack_bytes=1000, held_ratio=0))
    assert problem == "has files of more than 1.0 kB, which a tar keeps in memory, and was not read."


@pytest.mark.parametrize("kind", ["gnu", "pax"])
def test_a_sparse_file_is_refused(tmp_path: Path, kind: str) -> None:
    sparse = block("r.trace/form.template", b"S" if kind == "gnu" else b"0")
    attributes = extended(b"x", b"22 GNU.sparse.major=1\n") if kind == "pax" else b""
    with pytest.raises(InputError, match=r"holds a sparse file \(r\.trace/form\.template\)"):
        opened(write_as(tmp_path, "x.tar", tar(attributes + sparse)))


@pytest.mark.parametrize(
    "records", [b"5 a=", b"99999999999999999999 a=b\n", b"0 a=b\n", b"9 abcdef\n", b"-5 a=b\n"]
)
def test_damaged_attributes(tmp_path: Path, records: bytes) -> None:
    with pytest.raises(InputError, match="it holds damaged attributes"):
        opened(write_as(tmp_path, "x.tar", tar(extended(b"x", records))))


def test_attributes_rename_and_resize_a_file(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo(f"{'ä' * 200}/{name}")
            member.size = len(content)
            member.pax_headers = {"size": str(len(content)), "SCHILY.xattr.user.a": "b" * 1000}
            archive.addfile(member, io.BytesIO(content))
    assert codes(opened(write_as(tmp_path, "x.tar", buffer.getvalue())).issues()) == []


def test_xz_that_claims_gigabytes_to_unpack(tmp_path: Path) -> None:
    packed = bytearray(lzma.compress(tar(), preset=0))
    header_bytes = (packed[12] + 1) * 4
    filter_at = 12 + packed[12 : 12 + header_bytes].index(b"\x21\x01")
    packed[filter_at + 2] = 40  # a dictionary of 4 GB
    checksum = zlib.crc32(packed[12 : 12 + header_bytes - 4])
    packed[12 + header_bytes - 4 : 12 + header_bytes] = struct.pack("<I", checksum)
    with pytest.raises(InputError, match="Memory usage limit exceeded"):
        opened(write_as(tmp_path, "x.tar.xz", bytes(packed)))


def test_xz_of_several_streams(tmp_path: Path) -> None:
    content = tar()
    packed = lzma.compress(content[:5000]) + bytes(8) + lzma.compress(content[5000:])
    assert codes(opened(write_as(tmp_path, "x.tar.xz", packed)).issues()) == []
    with pytest.raises(InputError, match="cannot be unpacked"):
        opened(write_as(tmp_path, "x.tar.xz", packed[:-40]))


# Zips -----------------------------------------------------------------------------------------------------


def test_files_of_a_zip_are_limited(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.zip", zipped(300))
    assert refusal(path, few(files=200)) == "holds more than 200 files and was not read."


def test_the_directory_of_a_zip_is_not_read_when_it_is_too_long(tmp_path: Path) -> None:
    """The number of files in it is a lie; its length decides before it is read."""
    content = bytearray(zipped(4000))
    end = content.rindex(b"PK\x05\x06")
    content[end + 8 : end + 12] = struct.pack("<HH", 1, 1)
    path = write_as(tmp_path, "x.zip", bytes(content))
    with pytest.raises(LimitError, match="holds more than 100 files"):
        BoundedZip(str(path), 100)


def test_members_of_a_pack_are_limited(tmp_path: Path) -> None:
    pack = tmp_path / "x.tracekit.zip"
    assert (
        CliRunner()
        .invoke(main, ["pack", str(write_as(tmp_path, "x.zip", zipped())), "-o", str(pack)])
        .exit_code
        == 0
    )
    assert refusal(pack, few(pack_members=10)) == "holds more than 10 files and was not read."


# Folders and exports --------------------------------------------------------------------------------------


def test_folders_of_a_folder_are_limited(tmp_path: Path) -> None:
    (tmp_path / "x.trace" / "/".join("abcdefghijk")).mkdir(parents=True)
    assert refusal(tmp_path / "x.trace", few(files=10)) == "holds more than 10 files and was not read."


def test_files_of_a_folder_are_limited(tmp_path: Path) -> None:
    write_folder(
        {name.removeprefix("r.trace/"): content for name, content in FILES.items()}, tmp_path / "x.trace"
    )
    assert refusal(tmp_path / "x.trace", few(files=5)) == "holds more than 5 files and was not read."


@pytest.mark.parametrize("several_files", [False, True])
def test_documents_are_limited(tmp_path: Path, several_files: bool) -> None:
    if several_files:
        for number in range(4):
            write_as(tmp_path, f"{number}.xml", TABLE.encode())
    path = tmp_path if several_files else write_as(tmp_path, "x.xml", (TABLE * 4).encode())
    opened(path, few(documents=4))
    assert refusal(path, few(documents=3)) == "holds more than 3 documents and was not read."


@pytest.mark.parametrize("reader", ["lxml", "compiled"])
@pytest.mark.parametrize(
    ("limit", "maximum", "noun"),
    [("tables", 1, "tables"), ("columns", 1, "columns in a table")],
)
def test_what_exports_hold_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, limit: str, maximum: int, noun: str
) -> None:
    monkeypatch.setenv("TRACEKIT_XML_READER", reader)
    columns = [("time", "sample-time"), ("other", "sample-time")]
    row = '<row><sample-time id="{0}">1</sample-time><sample-time id="{1}">1</sample-time></row>'
    rows = [row.format(2 * number + 1, 2 * number + 2) for number in range(3)]
    content = document(node(schema("t", columns) + rows[0]), node(schema("u", columns) + "".join(rows[1:])))
    path = write_as(tmp_path, "x.xml", content.encode())
    opened(path)
    assert refusal(path, few(**{limit: maximum})) == f"holds more than {maximum} {noun} and was not read."


def test_tables_of_several_exports_are_limited_together(tmp_path: Path) -> None:
    for number in range(4):
        write_as(tmp_path, f"{number}.xml", TABLE.encode())
    assert refusal(tmp_path, few(tables=3)) == "holds more than 3 tables and was not read."


def test_a_table_of_contents_is_limited(tmp_path: Path) -> None:
    tables = '<table schema="t"/>' * 20
    content = f'<trace-toc><run number="1"><data>{tables}</data></run></trace-toc>'
    path = write_as(tmp_path, "toc.xml", content.encode())
    assert refusal(path, few(tables=10)) == "holds more than 10 tables and was not read."


def test_an_export_that_unpacks_to_very_much(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.xml.gz", gzip.compress(TABLE.encode() + b" " * 100_000))
    opened(path)
    assert refusal(path, few(unpacked_slack_bytes=0)).startswith("unpacks to more than ")


def test_an_unusual_export_that_unpacks_to_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lxml, which reads what the compiled scanner does not support, is ten times slower."""
    monkeypatch.setenv("TRACEKIT_XML_READER", "compiled")
    content = TABLE.replace("</row>", "</row>" + '<row><sample-time ref="1"/></row>' * 1000).encode()
    limits = few(unusual_bytes=10_000)
    opened(write_as(tmp_path, "usual.xml.gz", gzip.compress(content)), limits)
    unusual = content.replace(b"<node", b"<!-- --><node")
    opened(write_as(tmp_path, "plain.xml", unusual), limits)
    path = write_as(tmp_path, "unusual.xml.gz", gzip.compress(unusual))
    assert (
        refusal(path, limits) == "is not as xctrace writes it, unpacks to more than 10.0 kB and was not read."
    )
    problem = refusal(path, few(unusual_tags=100))
    assert problem == "is not as xctrace writes it, has more than 100 tags and was not read."


def test_rows_of_exports_that_are_only_counted_are_limited(tmp_path: Path) -> None:
    content = TABLE.replace("</row>", "</row>" + '<row><sample-time ref="1"/></row>' * 1000).encode()
    write_as(tmp_path, "x.xml.gz", gzip.compress(content))
    opened(tmp_path, few(cells=5005))
    assert refusal(tmp_path, few(cells=5000)) == "holds more than 1,000 rows in its tables and was not read."


def test_cells_of_a_bundle_and_of_a_pack_are_limited(tmp_path: Path) -> None:
    pack = tmp_path / "x.tracekit.zip"
    command = ["pack", str(write_as(tmp_path, "x.zip", zipped())), "-o", str(pack)]
    assert CliRunner().invoke(main, command).exit_code == 0
    for source in (source_of(small_bundle()), PackSource(str(pack), "x")):
        source._max_cells = 100  # fewer than the input has bytes
        with pytest.raises(LimitError, match="holds more than 100 cells in its tables and was not read"):
            list(source.tables("time-profile"))


def test_an_array_of_a_pack_is_limited(tmp_path: Path) -> None:
    pack = tmp_path / "x.tracekit.zip"
    command = ["pack", str(write_as(tmp_path, "x.zip", zipped())), "-o", str(pack)]
    assert CliRunner().invoke(main, command).exit_code == 0
    source = PackSource(str(pack), "x")
    source._members._max_array_bytes = 100
    with pytest.raises(LimitError, match="holds an array of more than 100 bytes and was not read"):
        list(source.tables("time-profile"))


@pytest.mark.parametrize("reader", ["lxml", "compiled"])
def test_cells_of_a_packed_export_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    monkeypatch.setenv("TRACEKIT_XML_READER", reader)
    content = TABLE.replace("</row>", "</row>" + '<row><sample-time ref="1"/></row>' * 1000).encode()
    opened(write_as(tmp_path, "x.xml", content), few(cells=1000))
    path = write_as(tmp_path, "x.xml.gz", gzip.compress(content))
    opened(path, few(cells=1001))
    assert refusal(path, few(cells=1000)) == "holds more than 1,000 cells in its tables and was not read."


def test_different_values_of_a_packed_export_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_XML_READER", "compiled")
    rows = "".join(f'<row><sample-time id="{n}">{n:<900}</sample-time></row>' for n in range(2, 300))
    path = write_as(tmp_path, "x.xml.gz", gzip.compress(TABLE.replace("</row>", f"</row>{rows}").encode()))
    opened(path)
    problem = refusal(path, few(value_bytes=100_000))
    assert problem == "holds more than 100 kB of different values and was not read."


@pytest.mark.integration
def test_endless_white_space_ends(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.xml.gz", gzip.compress(b" " * (34 << 20), 1))
    with pytest.raises(InputError, match="more than 16 MB came without a finished row"):
        opened(path)


# The option, the documentation ------------------------------------------------------------------------------


@pytest.mark.integration
def test_the_option_raises_every_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_as(tmp_path, "x.xml", (TABLE * 1001).encode())
    refused = CliRunner().invoke(main, ["tables", str(path)])
    assert refused.exit_code == 3
    assert refused.stderr == (
        f"Error: {path}: holds more than 1,000 documents and was not read."
        " If you trust the file, add --raise-limits 4.\n"
    )
    assert CliRunner().invoke(main, ["tables", str(path), "--raise-limits", "2"]).exit_code == 0
    doubled = DEFAULT_LIMITS.times(2)
    assert all(getattr(doubled, f.name) == 2 * getattr(DEFAULT_LIMITS, f.name) for f in fields(Limits))


def test_open_trace_takes_limits(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.zip", zipped())
    with pytest.raises(LimitError, match="holds more than 5 files"):
        open_trace(path, limits=few(files=5))
    assert len(open_trace(path, limits=few(files=5).times(100)).samples) == 20


def test_the_documentation_has_every_limit() -> None:
    text = (ROOT / "docs" / "limits.md").read_text()
    limits = DEFAULT_LIMITS
    for number in (limits.files, limits.pack_members, limits.documents, limits.tables, limits.columns):
        assert f" {number:,} |" in text
    for number in (limits.threads, limits.frames, limits.call_paths, limits.stack_frames):
        assert f" {number:,} |" in text or f" {number // 1_000_000} million |" in text
    assert f"| {limits.json_bytes >> 20} MB |" in text
    assert f"| {limits.cells // 1_000_000} million, or" in text
    assert f"| {limits.header_bytes >> 20} MB |" in text
    assert f"| {limits.symbol_steps // 1_000_000} million | a dSYM" in text
    assert f"| {limits.symbol_bytes >> 20:,} MB |" in text
    assert f"| {limits.value_bytes >> 20} MB, or 3 times its size |" in text
    assert f"| {limits.unusual_bytes >> 20} MB, or its size |" in text
    assert f"| {limits.unusual_tags // 1_000_000} million, or" in text
    assert f"{limits.unpacked_slack_bytes >> 20} MB and {limits.unpacked_ratio} times its size" in text
    assert f"{limits.held_slack_bytes >> 20} MB and {limits.held_ratio} times its size" in text


# Archives that are none of ours -----------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_a_tar_from_a_pipe_is_recognised(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    content = gzip.compress(tar()) if packed else tar()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is an archive, which cannot be read from a pipe"):
        opened("-")


def test_other_archives_are_named(tmp_path: Path) -> None:
    path = write_as(tmp_path, "x.trace.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(
        InputError, match=re.escape("is packed with Zstandard, which tracekit does not unpack")
    ):
        opened(path)
