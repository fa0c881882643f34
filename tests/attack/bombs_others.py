"""Bombs as packs, as lists of windows, as requirements and rules, and as stacks for ``classify``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pack_support import TABLE, changed, in_memory, packed

from attack.bomb import Bomb, analyzed
from attack.bombs_archives import MIB, central_part, local_part, raw_zeros, zip_by_hand
from attack.runner import ROOT
from tracekit.parsers.pack.format import MANIFEST

SAMPLE = str(ROOT / "sample_traces" / "gpu-mpsgraph-macos15-bundle")
EXPORT = str(ROOT / "sample_traces" / "ane-e5rt-macos26")
Change = Callable[[Any], Any]


# Packs ------------------------------------------------------------------------------------------------------


def pack_with(manifest: Change | None = None, **members: Callable[[], bytes]) -> Callable[[Path], None]:
    """A good pack with another manifest or other members."""

    def write(path: Path) -> None:
        place = packed(path.parent, in_memory(TABLE), path.name)
        changed(place, manifest=manifest, **{name: make() for name, make in members.items()})

    return write


def every_array(change: Change) -> Change:
    """Return a change of the manifest that changes each reference to an array."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            if "member" in value and "count" in value:
                change(value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        return value

    return walk


def deep_manifest() -> bytes:
    return b'{"format":"tracekit-pack/1","runs":' + b"[" * 8_000_000


def wide_manifest() -> bytes:
    runs = b",".join([b'{"info":{},"tables":[],"contents":[],"issues":[]}'] * 300_000)
    return b'{"format":"tracekit-pack/1","threads":[],"processes":[],"stacks":[],"runs":[' + runs + b"]}"


def many_members(path: Path) -> None:
    """600,000 members beside the good ones."""
    packed(path.parent, in_memory(TABLE), path.name)
    with zipfile.ZipFile(path, "a") as archive:
        for number in range(600_000):
            archive.writestr(zipfile.ZipInfo(f"more/{number}"), b"")


def zero_arrays(path: Path) -> None:
    """A table of 120 columns of 30 million zeros: 29 GB of rows in a pack of 30 MB."""
    count = 30_000_000
    data = raw_zeros(8 * count // MIB * MIB + MIB)
    reference = {"member": "z", "type": "int64", "count": count}
    columns = [
        {"mnemonic": f"c{number}", "title": "c", "type_name": "uint64", "kind": "int", "values": reference}
        for number in range(120)
    ]

    def manifest(document: Any) -> None:
        document["runs"][0]["tables"][0].update(rows=count, columns=columns)

    place = packed(path.parent, in_memory(TABLE), path.name)
    changed(place, manifest=manifest)
    with zipfile.ZipFile(place, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("z", bytes(8) * count)
        archive.writestr("padding", data * 20, zipfile.ZIP_STORED)


def long_words(path: Path) -> None:
    """A word of a megabyte in each of a million rows."""
    count = 1_000_000

    def manifest(document: Any) -> None:
        table = document["runs"][0]["tables"][0]
        word = next(column for column in table["columns"] if column["mnemonic"] == "word")
        word["words"].update(member="w", bytes=MIB + 4)
        word["codes"].update(member="c", count=count)
        table.update(rows=count, columns=[word])

    place = packed(path.parent, in_memory(TABLE), path.name)
    changed(place, manifest=manifest)
    with zipfile.ZipFile(place, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("w", b'["' + b"x" * MIB + b'"]')
        archive.writestr("c", bytes(4 * count))


def lying_manifest(path: Path) -> None:
    """A manifest that claims a size of 4 GB in the directory."""
    data = raw_zeros(4 << 30)
    name = MANIFEST.encode()
    zip_by_hand(
        [local_part(name, data, 0xFFFFFFF0, 0)], [central_part(name, len(data), 0xFFFFFFF0, 0)], 1, path
    )


def manifest_of(make: Callable[[], bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, make())

    return write


PACKS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("arrays of 2^31 values claimed", pack_with(every_array(lambda array: array.update(count=2**31 - 1)))),
    ("arrays of 2^63 values claimed", pack_with(every_array(lambda array: array.update(count=2**63)))),
    ("a count of a thousand digits", pack_with(every_array(lambda array: array.update(count=10**999)))),
    ("members of each other's size", pack_with(every_array(lambda array: array.update(member="data/0")))),
    ("a manifest in 8 million lists", manifest_of(deep_manifest)),
    ("a manifest of 300,000 runs", manifest_of(wide_manifest)),
    ("a manifest of 4 GB", lying_manifest),
    ("600,000 members", many_members),
    ("29 GB of zeros in columns", zero_arrays),
    ("a word of a megabyte in a million rows", long_words),
    ("a manifest of NaN and Infinity", manifest_of(lambda: b'{"format":NaN,"runs":' + b"[Infinity]" + b"}")),
)  # fmt: skip


# Windows, requirements, rules, stacks -----------------------------------------------------------------------


def text(content: Callable[[], str | bytes], file: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        made = content()
        (folder / file).write_bytes(made.encode() if isinstance(made, str) else made)

    return write


def with_file(name: str, file: str, content: Callable[[], str | bytes], *arguments: str) -> Bomb:
    """Return a bomb that is the argument ``{}/file`` of a command, beside a good recording."""
    return Bomb(name, text(content, file), arguments)


def windows(name: str, content: Callable[[], str | bytes]) -> Bomb:
    return with_file(f"windows: {name}", "w.csv", content, "analyze", SAMPLE, "--windows-csv", "{}/w.csv")


def requirements(name: str, content: Callable[[], str | bytes]) -> Bomb:
    return with_file(f"check: {name}", "c.toml", content, "check", SAMPLE, "--config", "{}/c.toml")


def rules(name: str, content: Callable[[], str | bytes]) -> Bomb:
    return with_file(f"rules: {name}", "m.toml", content, "analyze", SAMPLE, "--markers", "{}/m.toml")


def stacks(name: str, content: Callable[[], str | bytes]) -> Bomb:
    return with_file(f"stacks: {name}", "s.jsonl", content, "classify", "{}/s.jsonl")


def rule(symbol: str, number: int = 0) -> str:
    fields = {"id": f"r{number}", "engine": "ANE", "phase": "execute", "symbol": symbol, "means": "m"}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
    return f"[[rule]]\n{lines}"


def lines_of_windows(count: int, nested: bool) -> Callable[[], str]:
    ends = (f"{number},{10**9 - number if nested else 10**9},w" for number in range(count))
    return lambda: "start_ns,end_ns,label\n" + "\n".join(ends)


HEAD = "start_ns,end_ns,label\n"
BOMBS: tuple[Bomb, ...] = (
    *(analyzed(f"pack: {name}", "X.tracekit.zip", write) for name, write in PACKS),
    windows("a million that overlap", lines_of_windows(1_000_000, nested=False)),
    windows("300,000 in one another", lines_of_windows(300_000, nested=True)),
    windows("a label of 90 MB", lambda: HEAD + "1,2," + "x" * (90 * MIB)),
    windows("a quoted label without an end", lambda: HEAD + '1,2,"' + "x\n" * (45 * MIB)),
    windows("a number of 90 MB", lambda: HEAD + "1," + "9" * (90 * MIB)),
    windows("a header of 40 million names", lambda: "a," * 40_000_000 + "start_ns,end_ns\n1,2"),
    windows("40 million empty lines", lambda: HEAD + "\n" * 40_000_000),
    windows("zero bytes", lambda: HEAD.encode() + bytes(90 * MIB)),
    requirements("a condition of 20 MB", lambda: f'[check]\nrequire = ["{"(" * (20 * MIB)}"]'),
    requirements("400,000 conditions", lambda: "[check]\nrequire = [" + '"p90 <= 8ms",' * 400_000 + "]"),
    requirements("a deep table", lambda: "[" + "a." * 200_000 + "b]"),
    requirements("deep arrays", lambda: "[check]\nrequire = " + "[" * 3_000_000),
    requirements("a number of a million digits", lambda: f'[check]\nrequire = ["p90 <= {"9" * MIB}ms"]'),
    requirements("a TOML number of 10 million digits", lambda: f"[check]\nrequire = {'9' * 10_000_000}"),
    rules("50,000 rules", lambda: "".join(rule(f"f{number}", number) for number in range(50_000))),
    rules("a pattern that backtracks", lambda: rule("(a+)+$") + rule("(.*)*(.*)*(.*)*x", 1)),
    rules("a pattern of nested repetitions", lambda: rule("((((((((a*)*)*)*)*)*)*)*)*b")),
    rules("a pattern of 1,000 groups", lambda: rule("(" * 1_000 + "a" + ")" * 1_000)),
    rules("a pattern that repeats 4 billion times", lambda: rule("(a{0,4294967294}){0,4294967294}")),
    rules("a pattern of 10 MB", lambda: rule("a|" * (5 * MIB))),
    stacks("a stack of 500,000 frames", lambda: json.dumps({"frames": [{"symbol": "f"}] * 500_000})),
    stacks("a line in ten million lists", lambda: '{"frames":' + "[" * 10_000_000),
    stacks("a symbol of 90 MB", lambda: json.dumps({"frames": [{"symbol": "x" * (90 * MIB)}]})),
    stacks("a million lines", lambda: '{"frames": []}\n' * 1_000_000),
    stacks("a number of a million digits", lambda: '{"frames": [], "id": ' + "9" * MIB + "}"),
)
