"""Every real export opens with the right number of rows, and equals what other tools made of it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from documents_support import NO_EXPORTS, SHARED

from tracekit.detect import open_source
from tracekit.errors import InputError
from tracekit.load import open_trace
from tracekit.model.trace import Trace

pytestmark = pytest.mark.integration

XML = SHARED / "traces" / "xml"
FILES = sorted(path.relative_to(SHARED / "traces") for path in (SHARED / "traces").rglob("*.xml"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_export_opens_with_all_its_rows(file: Path) -> None:
    path = SHARED / "traces" / file
    if file.name in NO_EXPORTS:
        with pytest.raises(InputError, match=NO_EXPORTS[file.name]):
            open_source(path)
        return
    source = open_source(path)
    tables = [
        table
        for run in source.toc()
        for schema in {info.schema for info in run.tables if info.row_count is not None}
        for table in source.tables(schema, run.info.run)
    ]
    assert sum(len(table) for table in tables) == len(re.findall(rb"<row[ >]", path.read_bytes()))
    assert all(len(table.rows.columns) == len(table.columns) for table in tables)


def test_there_is_something_to_test(shared: Path) -> None:
    assert len(FILES) > 80


@pytest.mark.parametrize("name", ["counters-profile", "cpu-profile"])
def test_xctraceprof_oracle_agrees_cell_by_cell(shared: Path, name: str) -> None:
    """The .csv was written by a script of fzhinkin/xctraceprof: time;weight;address;symbol;binary;counters."""
    folder = XML / "fzhinkin__xctraceprof"
    trace = open_trace(folder / f"{name}.xml")
    expected = [line.split(";") for line in (folder / f"{name}.csv").read_text().splitlines()]
    assert leaf_rows(trace) == [(*map(int, row[:2]), *row[2:5], row[5]) for row in expected]


def leaf_rows(trace: Trace) -> list[tuple[object, ...]]:
    frames, symbols, binaries = trace.stacks.frames, trace.stacks.symbols, trace.stacks.binary_names
    rows = []
    for row, (time, stack) in enumerate(
        zip(trace.samples["time_ns"], trace.samples["stack_id"], strict=True)
    ):
        counters = " ".join(str(value) for value in trace.counters.iloc[row])
        leaf = trace.stacks.stack(stack)[0] if stack >= 0 else None
        described = (
            ("", "", "") if leaf is None else (f"{frames['address'][leaf]:#x}", symbols[leaf], binaries[leaf])
        )
        rows.append((time, int(trace.weights[row]), *described, counters))
    return rows


def test_inferno_oracle_agrees_stack_by_stack(shared: Path) -> None:
    """The .folded file is inferno's own expected result: root;…;leaf count."""
    folder = XML / "jonhoo__inferno"
    trace = open_trace(folder / "basic.xml")
    symbols = trace.stacks.symbols
    folded: Counter[str] = Counter()
    for stack in trace.samples["stack_id"]:
        folded[";".join(symbols[trace.stacks.stack(stack)][::-1])] += 1
    expected = {}
    for line in (folder / "results__basic.folded").read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        expected[stack] = int(count)
    assert unhashed(folded) == unhashed(Counter(expected))


def unhashed(folded: Counter[str]) -> Counter[str]:
    """inferno demangles Rust names further than Instruments does: compare without hashes and escapes."""
    merged: Counter[str] = Counter()
    for stack, count in folded.items():
        text = re.sub(r"::h[0-9a-f]{16}", "", stack).replace(";_$LT$", ";$LT$")
        for written, expected in [
            ("$LT$", "<"),
            ("$GT$", ">"),
            ("$u20$", " "),
            ("$u7b$", "{"),
            ("$u7d$", "}"),
            ("..", "::"),
        ]:
            text = text.replace(written, expected)
        merged[text] += count
    return merged


@pytest.mark.parametrize("shape", ["B", "C", "D"])
def test_one_recording_in_three_shapes_gives_the_same_samples(
    shared: Path, tmp_path: Path, shape: str
) -> None:
    """A real export of Xcode 26.5 (shape C), rewritten as 26.3 (B) and 27 (D) would have written it."""
    original = XML / "CharlesWiltgen__Axiom" / "cpu-profile.xml"
    path = tmp_path / "export.xml"
    path.write_text(rewritten(original.read_text(), shape))
    left, right = open_trace(original), open_trace(path)
    assert left.samples.equals(right.samples)
    assert leaf_rows(left) == leaf_rows(right)
    assert len(left.samples) == 21


def rewritten(text: str, shape: str) -> str:
    if shape == "C":
        return text
    text = re.sub(r"<backtrace id=\"\d+\">", "", text).replace("</backtrace>", "")
    text = re.sub(r"<uint64 id=\"\d+\" fmt=\"0\">0</uint64></tagged-backtrace>", "</tagged-backtrace>", text)
    text = re.sub(r"<uint64 ref=\"\d+\"/></tagged-backtrace>", "</tagged-backtrace>", text)
    return text.replace("tagged-backtrace", "backtrace") if shape == "B" else text
