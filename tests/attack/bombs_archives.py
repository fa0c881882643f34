"""Bombs as archives: tars with every kind of extended header, zips with lying directories, stacked layers."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from attack.bomb import Bomb, analyzed

MIB = 1 << 20
BLOCK = 512
MEMBER = "X.trace/form.template"
Pieces = Iterable[bytes]


# Streams: a tar is a sequence of pieces, so that two gigabytes of it need no memory -------------------------


def zeros(size_bytes: int, fill: bytes = b"\0") -> Iterator[bytes]:
    block = fill * MIB
    for _ in range(size_bytes // MIB):
        yield block
    yield block[: size_bytes % MIB]


def header(name: str, size_bytes: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """Return the block of one tar member; a size beyond the octal digits is written in base 256."""
    entry = tarfile.TarInfo(name[:100])
    entry.size, entry.type, entry.linkname = size_bytes, kind, link[:100]
    return entry.tobuf(tarfile.GNU_FORMAT)


def padded(size_bytes: int) -> bytes:
    return b"\0" * (-size_bytes % BLOCK)


def member(name: str, content: Pieces, size_bytes: int, kind: bytes = tarfile.REGTYPE) -> Iterator[bytes]:
    yield header(name, size_bytes, kind)
    yield from content
    yield padded(size_bytes)


def small(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> Iterator[bytes]:
    return member(name, [content], len(content), kind)


def record(key: str, value: bytes) -> bytes:
    """Return one record of a pax header: its length includes the digits of the length."""
    body = b" " + key.encode() + b"=" + value + b"\n"
    length = len(body) + len(str(len(body)))
    length = len(body) + len(str(length))
    return str(length).encode() + body


def written(pieces: Pieces, path: Path) -> None:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def deflated(pieces: Pieces, path: Path) -> None:
    """Write gzip; an object that comes again is compressed once, so that gigabytes of zeros take a second."""
    packed: dict[int, tuple[bytes, bytes]] = {}
    crc = size_bytes = 0
    with path.open("wb") as file:
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff")
        for piece in pieces:
            if id(piece) not in packed:
                packer = zlib.compressobj(6, wbits=-15)
                data = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
                packed = {id(piece): (piece, data)}
            file.write(packed[id(piece)][1])
            crc, size_bytes = zlib.crc32(piece, crc), size_bytes + len(piece)
        file.write(b"\3\0" + struct.pack("<2I", crc, size_bytes % (1 << 32)))


def xzipped(pieces: Pieces, path: Path) -> None:
    """Write one xz stream with a block for each piece; an object that comes again is compressed once."""
    packed: dict[int, tuple[bytes, bytes, bytes]] = {}
    records = []
    with path.open("wb") as file:
        for piece in filter(None, pieces):
            if id(piece) not in packed:
                stream = lzma.compress(piece, preset=0, check=lzma.CHECK_CRC32)
                index = len(stream) - 12 - 4 * (int.from_bytes(stream[-8:-4], "little") + 1)
                # Index: 0, number of records, then the record, padding, CRC.
                numbers = _numbers(stream[index + 2 : -16], 2)
                packed = {id(piece): (piece, stream[12:index], b"".join(map(_number, numbers)))}
                if not records:
                    file.write(stream[:12])
                    flags = stream[6:8]
            file.write(packed[id(piece)][1])
            records.append(packed[id(piece)][2])
        index_bytes = b"\0" + _number(len(records)) + b"".join(records)
        index_bytes += b"\0" * (-len(index_bytes) % 4)
        index_bytes += struct.pack("<I", zlib.crc32(index_bytes))
        end = struct.pack("<I", len(index_bytes) // 4 - 1) + flags
        file.write(index_bytes + struct.pack("<I", zlib.crc32(end)) + end + b"YZ")


def _number(value: int) -> bytes:
    """Return a number as xz writes it: seven bits a byte, the lowest first."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _numbers(data: bytes, count: int) -> list[int]:
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    return numbers[:count]


def batched(pieces: Pieces) -> Iterator[bytes]:
    """Join small pieces into large ones."""
    batch: list[bytes] = []
    for number, piece in enumerate(pieces, 1):
        batch.append(piece)
        if number % 2000 == 0:
            yield b"".join(batch)
            batch = []
    yield b"".join(batch)


def bzipped(pieces: Pieces, path: Path) -> None:
    with bz2.open(path, "wb", 9) as file:
        for piece in pieces:
            file.write(piece)


# Tars -------------------------------------------------------------------------------------------------------


def extended(kind: bytes, size_bytes: int) -> Callable[[Path], None]:
    """A header of that kind with so many bytes, in a tar.gz of some hundred kilobytes."""
    name = {b"x": "PaxHeader", b"g": "GlobalHead"}.get(kind, "././@LongLink")
    return lambda path: deflated(
        (*member(name, zeros(size_bytes, b"a"), size_bytes, kind), *small(MEMBER, b"x"), bytes(2 * BLOCK)),
        path,
    )


def pax_value(path: Path) -> None:
    """One well-formed pax record of a gigabyte."""
    head = b"1073741824 path="
    size = 1 << 30
    body = (head, *zeros(size - len(head) - 1, b"a"), b"\n")
    xzipped((*member("PaxHeader", body, size, b"x"), *small("a", b"x"), bytes(2 * BLOCK)), path)


def pax_records(path: Path) -> None:
    """A pax header of three million records."""
    body = b"".join(record(f"k{number}", b"v") for number in range(3_000_000))
    xzipped((*small("PaxHeader", body, b"x"), *small(MEMBER, b"x"), bytes(2 * BLOCK)), path)


def pax_headers(path: Path) -> None:
    """A global header with another key before each of 100,000 members: all keys apply to all later ones."""

    def pieces() -> Iterator[bytes]:
        for number in range(100_000):
            yield from small("g", record(f"key{number}", b"v" * 400), b"g")
            yield header(f"X.trace/{number}")
        yield bytes(2 * BLOCK)

    deflated(batched(pieces()), path)


def sparse_chain(path: Path) -> None:
    """A GNU sparse member (S) whose chain of extension blocks has two gigabytes."""
    block = bytearray(header(MEMBER, 1, b"S"))
    block[482] = 1  # isextended
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    extension = (b"00000000001\x0000000000001\0" * 21).ljust(504, b"\0") + b"\1" + bytes(7)
    deflated((bytes(block), *[extension * 2048] * 2048, bytes(2 * BLOCK)), path)


def sparse_claim(path: Path) -> None:
    """A GNU sparse member that claims eight terabytes of holes."""
    block = bytearray(header(MEMBER, 0, b"S"))
    block[386:410] = b"00000000000\x0000000000000\0"
    block[483:495] = b"\x80" + (1 << 43).to_bytes(11)
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    written((bytes(block), bytes(2 * BLOCK)), path)


def sparse_map(path: Path) -> None:
    """A pax sparse map of twenty million numbers."""
    body = record("GNU.sparse.map", b"1," * 20_000_000 + b"1") + record("GNU.sparse.size", b"9999999999999")
    deflated((*small("PaxHeader", body, b"x"), *small(MEMBER, b"x"), bytes(2 * BLOCK)), path)


def sparse_pax_1(path: Path) -> None:
    """A sparse member in the format 1.0, whose map, at its begin, claims a billion entries."""
    keys = (("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0"), ("GNU.sparse.realsize", b"9999999999999"))
    body = b"".join(record(key, value) for key, value in keys)
    content = b"1000000000\n" + b"1\n" * (256 * MIB // 2)
    deflated((*small("PaxHeader", body, b"x"), *small(MEMBER, content), bytes(2 * BLOCK)), path)


def many(kind: bytes, count: int, same: bool = False) -> Callable[[Path], None]:
    """A tar.gz of so many empty members, links, devices or folders."""

    def pieces() -> Iterator[bytes]:
        for number in range(count):
            yield header(f"X.trace/{0 if same else number}", 0, kind, "X.trace/0" if kind in b"12" else "")
        yield bytes(2 * BLOCK)

    return lambda path: deflated(batched(pieces()), path)


def deep_path(path: Path) -> None:
    """500 members, each of a path of 100,000 folders."""
    name = b"a/" * 100_000

    def pieces() -> Iterator[bytes]:
        for number in range(500):
            yield from small("././@LongLink", name + str(number).encode() + b"\0", b"L")
            yield header("a")
        yield bytes(2 * BLOCK)

    deflated(batched(pieces()), path)


def claims(size_bytes: int) -> Callable[[Path], None]:
    """A member that claims a size and has 10 MB."""
    return lambda path: deflated((header(MEMBER, size_bytes), *zeros(10 * MIB)), path)


def negative(path: Path) -> None:
    block = bytearray(header(MEMBER))
    block[124:136] = b"\xff" * 11 + b"\x00"
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    written((bytes(block), bytes(2 * BLOCK)), path)


def stacked(layers: int) -> Callable[[Path], None]:
    """Four gigabytes of zeros, compressed again and again."""

    def write(path: Path) -> None:
        deflated(zeros(4 << 30), path)
        data = path.read_bytes()
        for _ in range(layers - 1):
            data = gzip.compress(data)
        path.write_bytes(data)

    return write


def large_dictionary(path: Path) -> None:
    """An xz stream that requires a dictionary of 1.5 GiB."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4096}]
    data = bytearray(lzma.compress(b"".join(small(MEMBER, b"x")) + bytes(2 * BLOCK), filters=filters))
    place = data.index(b"\x21\x01", 12)
    data[place + 2] = 39  # 2 << 30 and a half more
    begin = 12
    size = (data[begin] + 1) * 4
    data[begin + size - 4 : begin + size] = struct.pack("<I", zlib.crc32(data[begin : begin + size - 4]))
    path.write_bytes(bytes(data))


def bundle_of_zeros(compressed: Callable[[Pieces, Path], None], size_bytes: int) -> Callable[[Path], None]:
    """A tar whose bundle has one file of zeros."""
    return lambda path: compressed((*member(MEMBER, zeros(size_bytes), size_bytes), bytes(2 * BLOCK)), path)


# Zips -------------------------------------------------------------------------------------------------------


def zip_of(
    names: Iterable[str], content: bytes = b"", method: int = zipfile.ZIP_STORED
) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", method) as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), content, method)

    return write


def zip_by_hand(local: Pieces, central: Pieces, count: int, path: Path, comment: bytes = b"") -> None:
    """A zip of these local parts and this directory, whatever they hold."""
    local_bytes, central_bytes = b"".join(local), b"".join(central)
    short = min(count, 0xFFFF)
    fields = (0, 0, short, short, len(central_bytes), len(local_bytes), len(comment))
    path.write_bytes(local_bytes + central_bytes + b"PK\5\6" + struct.pack("<4H2IH", *fields) + comment)


def local_part(name: bytes, data: bytes, size_bytes: int, crc: int, method: int = 8) -> bytes:
    fields = (20, 0, method, 0, 33, crc, len(data), size_bytes, len(name), 0)
    return b"PK\3\4" + struct.pack("<5H3I2H", *fields) + name + data


def central_part(
    name: bytes, packed: int, size_bytes: int, crc: int, offset: int = 0, extra: bytes = b"", method: int = 8
) -> bytes:
    fields = (20, 20, 0, method, 0, 33, crc, packed, size_bytes, len(name), len(extra), 0, 0, 0, 0, offset)
    return b"PK\1\2" + struct.pack("<6H3I5H2I", *fields) + name + extra


def raw_zeros(size_bytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)) * (size_bytes // MIB) + b"\3\0"


def overlapping(path: Path) -> None:
    """20,000 names for the same 500 MB of zeros."""
    data = raw_zeros(500 * MIB)
    crc = functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), zeros(500 * MIB), 0)
    names = [MEMBER.encode(), *(f"X.trace/corespace/run1/{number}".encode() for number in range(20_000))]
    parts = [central_part(name, len(data), 500 * MIB, crc) for name in names]
    zip_by_hand([local_part(names[0], data, 500 * MIB, crc)], parts, len(names), path)


def lying_sizes(path: Path) -> None:
    """Members that claim 16 exabytes in their zip64 fields."""
    extra = struct.pack("<2H3Q", 1, 24, 2**64 - 1, 2**64 - 1, 0)
    names = [MEMBER.encode(), b"X.trace/corespace/run1/a"]
    parts = [central_part(name, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0xFFFFFFFF, extra) for name in names]
    zip_by_hand([local_part(names[0], b"", 0, 0)], parts, 2, path)


def long_names(path: Path) -> None:
    """1,400 members with names and extra fields of 65,535 bytes each, all the same."""
    name, extra = b"a/" * 32_767 + b"b", struct.pack("<2H", 0x9999, 65_531) + bytes(65_531)
    part = central_part(name[:65_535], 0, 0, 0, 0, extra[:65_535], 0)
    zip_by_hand([local_part(b"a", b"", 0, 0, 0)], [part * 750], 750, path)


def nested(path: Path) -> None:
    """Zips of ten zips of ten zips … of zeros."""
    data = bytes(10 * MIB)
    for level in range(6):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for number in range(10):
                archive.writestr(f"{number}.trace.zip" if level else f"{number}.trace/form.template", data)
        data = out.getvalue()
    path.write_bytes(data)


def twice_deflated(path: Path) -> None:
    """Files of a bundle that are zlib streams of a gigabyte of zeros, deflated once more by the zip."""
    # Without the right checksum, which a reader finds after the gigabyte only.
    data = b"\x78\x9c" + raw_zeros(1 << 30) + bytes(4)
    names = (MEMBER, "X.trace/open.creq", "X.trace/corespace/run1/RunIssues.storedata")
    stores = tuple(
        f"X.trace/corespace/run1/core/stores/indexed-store-{number}/schema.xml" for number in range(50)
    )
    zip_of((*names, *stores, "X.trace/corespace/run1/core/uniquing/strings"), data, zipfile.ZIP_DEFLATED)(
        path
    )


def directory_claims(path: Path) -> None:
    """An end record that claims 2^63 members in zip64."""
    part = central_part(MEMBER.encode(), 0, 0, 0, method=0)
    local = local_part(MEMBER.encode(), b"", 0, 0, 0)
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**63, 2**63, len(part), len(local))
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(local) + len(part), 1)
    last = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(local + part + end + locator + last)


def bad_directory(path: Path) -> None:
    """A directory of 2 million records without names, at overlapping offsets."""
    part = central_part(b"", 0xFFFFFFFE, 0xFFFFFFFE, 0, 1)
    zip_by_hand([local_part(b"a", b"", 0, 0)], [part * 2_000_000], 65_535, path)


def false_method(method: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        name = MEMBER.encode()
        local = local_part(name, b"x" * 1000, 1 << 31, 0, method)
        zip_by_hand([local], [central_part(name, 1000, 1 << 31, 0, method=method)], 1, path)

    return write


def quine(path: Path) -> None:
    """A gzip file that unpacks to itself without an end (Russ Cox, "Zip Files All The Way Down", 2010)."""
    path.write_bytes(_quine(struct.pack("<4B2I", 0x1F, 0x8B, 8, 0, 0, 0)[:10], bytes(8)))


def _quine(head: bytes, tail: bytes) -> bytes:
    """Return a deflate stream whose output is ``head``, the stream itself and ``tail``."""

    def literal(count: int) -> bytes:
        return b"\0" + struct.pack("<2H", count, count ^ 0xFFFF)

    repeat = b"\x42\x88\x21\xc4\x00"  # two copies of 64 bytes from 64 bytes back, and the alignment
    print_4 = literal(20)
    p0, pad = literal(len(head) + 5), literal(0)
    parts = [
        head, p0, head, p0, pad * 4, pad * 0, print_4, pad * 4, repeat, print_4, repeat * 4, print_4, repeat * 4, tail,
    ]  # fmt: skip
    return b"".join(parts)


MANY = range(600_000)
TARS: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
    *(
        (f"pax header {kind.decode()} of 2 GB", ".tar.gz", extended(kind, 2 << 30))
        for kind in (b"x", b"g", b"X")
    ),
    *((f"GNU header {kind.decode()} of 2 GB", ".tar.gz", extended(kind, 2 << 30)) for kind in (b"L", b"K")),
    ("pax record of 1 GB in xz", ".tar.xz", pax_value),
    ("3 million pax records", ".tar.xz", pax_records),
    ("100,000 global headers", ".tar.gz", pax_headers),
    ("sparse chain of 2 GB", ".tar.gz", sparse_chain),
    ("sparse member of 8 TB", ".tar", sparse_claim),
    ("sparse map of 20 million", ".tar.gz", sparse_map),
    ("sparse map 1.0", ".tar.gz", sparse_pax_1),
    ("300,000 empty members", ".tar.gz", many(tarfile.REGTYPE, 300_000)),
    ("2 million empty members", ".tar.gz", many(tarfile.REGTYPE, 2_000_000)),
    ("500,000 members of one name", ".tar.gz", many(tarfile.REGTYPE, 500_000, same=True)),
    ("500,000 hard links", ".tar.gz", many(tarfile.LNKTYPE, 500_000)),
    ("500,000 symbolic links", ".tar.gz", many(tarfile.SYMTYPE, 500_000)),
    ("500,000 devices", ".tar.gz", many(tarfile.CHRTYPE, 500_000)),
    ("500,000 folders", ".tar.gz", many(tarfile.DIRTYPE, 500_000)),
    ("paths of 100,000 folders", ".tar.gz", deep_path),
    ("a claim of 8 exabytes", ".tar.gz", claims(2**63 - 1)),
    ("a claim of 2^80 bytes", ".tar.gz", claims(2**80)),
    ("a negative size", ".tar", negative),
    ("4 GB of zeros in gzip", ".tar.gz", bundle_of_zeros(deflated, 4 << 30)),
    ("1 GB of zeros in bzip2", ".tar.bz2", bundle_of_zeros(bzipped, 1 << 30)),
    ("2 GB of zeros in xz", ".tar.xz", bundle_of_zeros(xzipped, 2 << 30)),
    ("a dictionary of 3 GB", ".tar.xz", large_dictionary),
    ("three layers of gzip", ".tar.gz", stacked(3)),
)
ZIPS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("600,000 empty members", zip_of(f"X.trace/{number}" for number in MANY)),
    ("600,000 members of one name", zip_of("X.trace/form.template" for _ in MANY)),
    ("folders that count no members", zip_of(f"X.trace/{number}/" for number in MANY)),
    ("overlapping members of 10 TB", overlapping),
    ("sizes of 16 exabytes", lying_sizes),
    ("names and fields of 64 kB", long_names),
    ("six layers of zips", nested),
    ("members deflated twice", twice_deflated),
    ("a directory of 2^63 members", directory_claims),
    ("2 million records without names", bad_directory),
    ("bzip2 that is none", false_method(12)),
    ("lzma that is none", false_method(14)),
    ("an unknown method", false_method(99)),
)
BOMBS: tuple[Bomb, ...] = (
    *(analyzed(f"tar: {name}", f"X.trace{suffix}", write) for name, suffix, write in TARS),
    *(analyzed(f"zip: {name}", "X.trace.zip", write) for name, write in ZIPS),
)
