"""The kinds of input that ``mutations`` changes: how a case is made of good input, and how it is read."""

from __future__ import annotations

import copy
import gzip
import io
import json
import plistlib
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from bundle_support import InMemory, small_bundle
from click.testing import CliRunner
from fuzz import exports
from pack_support import TABLE, in_memory

from attack.runner import ROOT
from sample_generator.bundle_writer import tarred, zipped
from tracekit import Analysis, analyze
from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.errors import TracekitError
from tracekit.load import trace_of
from tracekit.model.schemas import READ_TABLES
from tracekit.parsers.bundle.bundle_source import BundleSource
from tracekit.parsers.in_memory import read_into_memory
from tracekit.parsers.pack.format import MANIFEST
from tracekit.parsers.pack.pack_writer import write_pack

Dice = random.Random
SAMPLES = ROOT / "sample_traces"
SMALL = str(SAMPLES / "cpu-espresso-lstm-macos13" / "time-profile.xml")
GOOD_EXPORTS = str(SAMPLES / "ane-e5rt-macos26")
ROWS_OF_A_SEED = 12
TEXTS = [partial(Analysis.to_text, verbose=verbose) for verbose in (False, True)]
DRAWN = (*TEXTS, Analysis.to_json, Analysis.to_markdown, Analysis.to_html)

NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    255,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
)
WORDS = (
    "", " ", "\0", "\n", "x", "-", "é", "\u202e", "\U0001f600", "\udcff", "../..", "/", "%s", "{}", "nan", "inf", "1e999", "0x10",
    "١", "A" * 300, "NS.objects", "$class", "time", "CPU", "ANE share >= 0.5",
)  # fmt: skip
TOKENS = (
    b"", b"\0", b"\xff" * 4, b"\xff" * 8, b"\x80", b"\n", b"\r", b",", b'"', b"'", b"[", b"]", b"{", b"}", b"(", b")", b"=", b"#",
    b"\\", b"\\u0000", b"\\ud800", b"-", b"1e400", b"1" * 25, b"nan", b"null", b"true", b"and", b"in", b">=", b"%", b"ms", b".",
    b"PK\3\4", b"PK\1\2", b"PK\5\6", b"ustar", b"\x1f\x8b\x08", b"\x78\x9c", b"bplist00", b"\xef\xbb\xbf", b"*", b"(?:", b"a{9}",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of input: ``make`` returns the bytes of a case, ``read`` reads them as users would."""

    name: str
    make: Callable[[Dice], bytes]
    read: Callable[[bytes, Path], None]


# Mutations --------------------------------------------------------------------------------------------------


def stamped(dice: Dice, data: bytearray) -> None:
    """Write a number over some bytes, in either order and any width."""
    width = dice.choice("BHIQ")
    number = dice.choice(NUMBERS) % 256 ** struct.calcsize(width)
    if len(data) >= 8:
        struct.pack_into(dice.choice("<>") + width, data, dice.randrange(len(data) - 7), number)


def spliced(dice: Dice, data: bytearray) -> None:
    start = dice.randrange(len(data) + 1)
    data[start : start + dice.choice((0, 0, 1, 4))] = dice.choice(TOKENS)


def numbered(dice: Dice, data: bytearray) -> None:
    """Replace a run of digits."""
    digits = [place for place, byte in enumerate(data[:20_000]) if 48 <= byte < 58]
    if digits:
        start = end = dice.choice(digits)
        while end < len(data) and 48 <= data[end] < 58:
            end += 1
        data[start:end] = str(dice.choice(NUMBERS)).encode()


PLAIN = (
    exports.bit_flip, exports.random_byte, exports.truncation, exports.cut_out, exports.swapped_blocks, exports.repeated_block,
    stamped, stamped, spliced, spliced, numbered,
)  # fmt: skip
MARKUP = tuple(change for change in exports.MUTATIONS if change is not exports.many_attributes)
WELL_FORMED = (exports.changed_number, exports.element_moved, exports.attribute_moved, numbered)


def changed(dice: Dice, data: bytes, changes: Sequence[exports.Mutation] = PLAIN) -> bytes:
    """Return the bytes with one to eight mutations."""
    mutated = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        if len(mutated) > 1:
            dice.choice(changes)(dice, mutated)
    return bytes(mutated)


def scalar(dice: Dice) -> Any:
    return dice.choice(
        (
            dice.choice(NUMBERS), -dice.choice(NUMBERS), dice.choice(WORDS), dice.random() * 10 ** dice.randrange(-5, 300),
            True, False, [], {}, [dice.choice(WORDS)], {dice.choice(WORDS): 1},
        )
    )  # fmt: skip


def changed_value(dice: Dice, value: Any, leaf: Callable[[Dice], Any] = scalar) -> Any:
    """Return a copy of nested lists and dictionaries with some values replaced, removed, swapped or repeated."""
    value = copy.deepcopy(value)
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        pairs = (
            inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        )
        for key, part in list(pairs):
            places.append((inner, key))
            waiting.append(part)
    for _ in range(dice.choice((1, 1, 2, 4))):
        (container, key), (other, other_key) = dice.choice(places), dice.choice(places)
        if not _holds(container, key):
            continue  # removed before
        action = dice.random()
        if action < 0.6:
            container[key] = leaf(dice)
        elif action < 0.75:
            del container[key]
        elif _holds(other, other_key):
            container[key] = copy.deepcopy(other[other_key])
    return value


def _holds(container: Any, key: Any) -> bool:
    return key in container if isinstance(container, dict) else key < len(container)


# Exports ----------------------------------------------------------------------------------------------------


@cache
def export_seeds() -> tuple[bytes, ...]:
    """The first rows of every table of the sample recordings: values come before the references to them."""
    seeds = list(exports.SEEDS)
    for path in sorted(SAMPLES.glob("*/*.xml")):
        content = path.read_bytes()
        rows = content.split(b"</row>", ROWS_OF_A_SEED)
        if len(rows) > ROWS_OF_A_SEED:
            content = b"</row>".join(rows[:-1]) + b"</row></node></trace-query-result>\n"
        seeds.append(content)
    return tuple(seeds)


def export(dice: Dice) -> bytes:
    """Half of the cases stay XML, so that they get beyond the parser."""
    return changed(dice, dice.choice(export_seeds()), dice.choice((MARKUP, WELL_FORMED)))


def read_export(data: bytes, folder: Path, name: str = "x.xml") -> None:
    path = folder / name
    path.write_bytes(data)
    read_source(open_source(path), data)


def read_source(source: Any, data: bytes) -> None:
    """Analyze, and draw one of the outputs."""
    analysis = analyze(trace_of(source))
    DRAWN[zlib.crc32(data) % len(DRAWN)](analysis)


def load_everything() -> None:
    """Read good inputs of every kind once, so that forked children have no module to load."""
    analysis = analyze(trace_of(open_source(GOOD_EXPORTS)))
    for draw in DRAWN:
        draw(analysis)
    read_source(BundleSource(InMemory(bundle_files()), "X.trace"), b"")
    for words in (
        ("compare", SMALL, SMALL, "--format", "json"),
        ("check", SMALL, "--no-config", "--require=p90 <= 8ms"),
        ("report", SMALL, "--redact", "--format", "markdown", "-o", "-"),
        ("export", SMALL, "--to", "speedscope", "-o", "-"),
        ("tables", SMALL, "--schema", "time-profile", "--format", "csv"),
    ):
        CliRunner().invoke(main, words, catch_exceptions=False)


def contents(dice: Dice) -> bytes:
    paths = sorted(SAMPLES.glob("*/toc.xml"))
    return changed(dice, dice.choice(paths).read_bytes(), dice.choice((MARKUP, WELL_FORMED)))


def read_contents(data: bytes, folder: Path) -> None:
    """A table of contents beside the exported tables of another recording."""
    table = folder / "time-profile.xml"
    if not table.exists():
        table.write_bytes(next(seed for seed in export_seeds() if b'schema name="time-profile"' in seed))
    (folder / "toc.xml").write_bytes(data)
    read_source(open_source(folder), data)


def gzipped(dice: Dice) -> bytes:
    return changed(dice, gzip.compress(dice.choice(export_seeds()), 1, mtime=0))


# Bundles ----------------------------------------------------------------------------------------------------


@cache
def bundle_files() -> dict[str, bytes]:
    return small_bundle().files()


def is_packed(name: str) -> bool:
    return name.startswith("corespace/run")


def bundle_file(dice: Dice) -> bytes:
    """Return the name of a file, a line feed, and its changed content."""
    name = dice.choice(sorted(bundle_files()))
    stored = bundle_files()[name]
    if not is_packed(name) or dice.random() < 0.1:
        content = changed(dice, stored)
    else:
        content = zlib.compress(changed(dice, zlib.decompress(stored)), 1)
    return name.encode() + b"\n" + content


def archive_value(dice: Dice) -> Any:
    return plistlib.UID(dice.randrange(200)) if dice.random() < 0.5 else scalar(dice)


def bundle_archive(dice: Dice) -> bytes:
    """Return one of the bundle's property lists with other values in it."""
    lists = [
        name for name, content in sorted(bundle_files().items()) if b"plist" in plain(name, content)[:60]
    ]
    name = dice.choice(lists)
    for _ in range(20):
        value = changed_value(dice, plistlib.loads(plain(name, bundle_files()[name])), archive_value)
        try:
            content = plistlib.dumps(value, fmt=plistlib.FMT_BINARY, sort_keys=False)
        except (TypeError, OverflowError, ValueError, AttributeError, struct.error):
            continue
        return name.encode() + b"\n" + (zlib.compress(content, 1) if is_packed(name) else content)
    return name.encode() + b"\n"


def plain(name: str, content: bytes) -> bytes:
    return zlib.decompress(content) if is_packed(name) else content


def read_bundle(data: bytes, _folder: Path) -> None:
    name, _, content = data.partition(b"\n")
    files = {**bundle_files(), name.decode(): content}
    read_source(BundleSource(InMemory(files), "X.trace"), data)


@cache
def archives() -> tuple[bytes, bytes, bytes]:
    packed = tarred(bundle_files())
    tar = gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed
    return zipped(bundle_files()), tar, gzip.compress(tar, 1, mtime=0)


def archive_of(number: int) -> Callable[[Dice], bytes]:
    return lambda dice: changed(dice, archives()[number])


def read_as(name: str) -> Callable[[bytes, Path], None]:
    return lambda data, folder: read_export(data, folder, name)


# Packs ------------------------------------------------------------------------------------------------------


@cache
def packs() -> tuple[bytes, ...]:
    whole = read_into_memory(open_source(SAMPLES / "ane-e5rt-macos26", schemas=READ_TABLES))
    return write_pack(in_memory(TABLE), "0"), write_pack(whole, "0")


def pack_with(change: Callable[[Dice, dict[str, bytes]], None]) -> Callable[[Dice], bytes]:
    def make(dice: Dice) -> bytes:
        with zipfile.ZipFile(io.BytesIO(dice.choice(packs()))) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        change(dice, members)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return out.getvalue()

    return make


def other_manifest(dice: Dice, members: dict[str, bytes]) -> None:
    value = changed_value(dice, json.loads(members[MANIFEST]))
    members[MANIFEST] = json.dumps(value).encode()


def other_member(dice: Dice, members: dict[str, bytes]) -> None:
    name = dice.choice(sorted(members))
    size_bytes = len(members[name])
    content = changed(dice, members[name])
    if dice.random() < 0.7:  # of the size that the manifest states
        content = content[:size_bytes].ljust(size_bytes, b"\0")
    members[name] = content


# Small files beside a recording -----------------------------------------------------------------------------

WINDOWS = (b"start_ns,end_ns,label\n1000000,2000000,a\n2000000,9000000,\n", b"start,end\n1ms,2.5ms\n3us,1s\n")
CONFIG = (
    b'[check]\nrequire = ["ANE share >= 80%", "p90 <= 8ms", "warm p99 in MyModel <= 12ms"]\nforbid = ["GPU", "CPU execute in M"]\n',
    b'[check]\nrequire = ["count >= 3"]\n\n[compare]\nfail-on = ["p90 > +5%"]\n',
)
REQUIREMENTS = (
    b"ANE share >= 0.8",
    b"p90 <= 8ms",
    b"warm p99 in MyModel <= 12ms",
    b"median of 'a model' < 1 s",
    b"count >= 3",
)
STACKS = (
    b'{"frames": [{"binary": "libBNNS.dylib", "symbol": "BNNSFilterApplyBatch"}], "thread_name": null}\n{"frames": []}\n',
    b'{"frames": [{"symbol": "f"}, {"binary": "Espresso"}], "id": 7}\n\n',
)


@cache
def rule_seeds() -> tuple[bytes, ...]:
    text = (ROOT / "tracekit/analysis/classification/markers.toml").read_bytes()
    rules = text.split(b"[[rule]]\n")[1:]
    seeds = (b"[[rule]]\n" + rule.replace(b'id = "', b'id = "my.', 1) for rule in rules)
    return (*seeds, b'disable = ["plumbing.wait"]\n')


def of(seeds: Callable[[], Sequence[bytes]]) -> Callable[[Dice], bytes]:
    return lambda dice: changed(dice, dice.choice(seeds()))


def command(*arguments: str, file: str = "") -> Callable[[bytes, Path], None]:
    """Return a reader that runs a command in this process; ``{}`` is the file or, without one, the text itself."""

    def read(data: bytes, folder: Path) -> None:
        if file:
            (folder / file).write_bytes(data)
        argument = str(folder / file) if file else data.decode("utf-8", "replace").replace("\0", "")
        words = [word.replace("{}", argument) for word in arguments]
        result = CliRunner().invoke(main, words, catch_exceptions=False)
        if "not enough memory" in result.output:
            raise MemoryError(result.output)
        if result.exit_code not in range(6):
            raise AssertionError(f"exit code {result.exit_code}: {result.output[-300:]}")
        if result.exit_code > 1:
            raise TracekitError(result.output)

    return read


KINDS: tuple[Kind, ...] = (
    Kind("export", export, read_export),
    Kind("export-gz", gzipped, read_as("x.xml.gz")),
    Kind("contents", contents, read_contents),
    Kind("bundle-file", bundle_file, read_bundle),
    Kind("bundle-archive", bundle_archive, read_bundle),
    Kind("zip", archive_of(0), read_as("X.trace.zip")),
    Kind("tar", archive_of(1), read_as("X.trace.tar")),
    Kind("tar-gz", archive_of(2), read_as("X.trace.tar.gz")),
    Kind("pack", lambda dice: changed(dice, dice.choice(packs())), read_as("X.tracekit.zip")),
    Kind("pack-manifest", pack_with(other_manifest), read_as("X.tracekit.zip")),
    Kind("pack-member", pack_with(other_member), read_as("X.tracekit.zip")),
    Kind("windows", of(lambda: WINDOWS), command("analyze", SMALL, "--windows-csv", "{}", file="w.csv")),
    Kind("config", of(lambda: CONFIG), command("check", SMALL, "--config", "{}", file="c.toml")),
    Kind("requirement", of(lambda: REQUIREMENTS), command("check", SMALL, "--no-config", "--require={}")),
    Kind("rules", of(rule_seeds), command("analyze", SMALL, "--markers", "{}", file="m.toml")),
    Kind("stacks", of(lambda: STACKS), command("classify", "{}", file="s.jsonl")),
    Kind("comparison", export, command("compare", SMALL, "{}", "--format", "json", file="x.xml")),
    Kind("tables", export, command("tables", "{}", "--schema", "time-profile", "--format", "csv", file="x.xml")),
    Kind("redaction", export, command("report", "{}", "--redact", "--format", "markdown", "-o", "-", file="x.xml")),
    Kind("export-format", export, command("export", "{}", "--to", "speedscope", "-o", "-", file="x.xml")),
)  # fmt: skip
