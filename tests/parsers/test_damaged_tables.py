"""A recording with several tables of one schema, some damaged: the others are read, and issues name the damage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle_support import SAMPLES, TIME_PROFILE, new_run, profile_row, source_of
from click.testing import CliRunner
from documents_support import column, document, node, schema, write
from pack_support import changed, in_memory, packed

from sample_generator.bundle_writer import BundleWriter
from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.errors import InputError, TracekitError
from tracekit.load import trace_of
from tracekit.model.tables import Table, TableInfo
from tracekit.model.trace import RunInfo, TraceInfo
from tracekit.parsers.fallback import FallbackSource
from tracekit.parsers.in_memory import read_into_memory
from tracekit.parsers.limits import LimitError
from tracekit.parsers.source import Source, iter_readable
from tracekit_dashboard.tables.contents import read_table

THERMAL = "device-thermal-state-intervals"


def exports(*times: str) -> str:
    """One document of a table per time; "" is a cell of another type, which damages its table."""
    columns = schema(THERMAL, [("time", "event-time")])
    rows = [
        f"{columns}<row>{f'<event-time>{time}</event-time>' if time else '<thread>1</thread>'}</row>"
        for time in times
    ]
    return document(*(node(content, number) for number, content in enumerate(rows, 1)))


def outcome(source: Source, name: str = THERMAL) -> tuple[list[list[object]], list[str]]:
    """Return the times of the tables that can be read, and the problems of the others."""
    damage: list[TracekitError] = []
    tables = list(iter_readable(source.tables(name), damage.append))
    return [column(table, "time") for table in tables], [getattr(error, "problem", "") for error in damage]


def test_of_exports(tmp_path: Path) -> None:
    source = open_source(path := write(tmp_path, exports("", "2", "", "4")))
    times, problems = outcome(source)
    assert times == [[2], [4]] and len(problems) == 2 and "and holds a <thread>" in problems[0]
    assert column(read_table(source, 1, 2), "time") == [2]  # by its place, whatever is before it
    with pytest.raises(InputError, match="and holds a <thread>"):
        read_table(source, 1, 3)
    result = CliRunner().invoke(main, ["tables", path, "--schema", THERMAL, "--format", "csv"])
    assert result.exit_code == 0 and [line for line in result.stdout.split("\n") if line.isdigit()] == [
        "2",
        "4",
    ]
    assert result.stderr.count(f"warning: a table '{THERMAL}' cannot be read") == 2
    kept = read_into_memory(source)
    assert outcome(kept) == ([[2], [4]], [])
    assert [issue.code for issue in kept.issues(1)] == ["table-damaged"]  # both say the same


def test_of_a_bundle_which_is_analyzed_all_the_same() -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    for number in (1, 10):
        run.table("time-profile", TIME_PROFILE, [profile_row(number * tick * 1_000_000) for tick in (1, 2)])
    files = bundle.files()
    source = source_of({**files, SAMPLES: files[SAMPLES][: len(files[SAMPLES]) // 2]})
    times, problems = outcome(source, "time-profile")
    assert times == [[10_000_000, 20_000_000]] and problems[0].startswith("'time-profile' cannot be read: ")
    trace = trace_of(source)
    assert len(trace.samples) == 2
    (issue,) = (issue for issue in trace.issues if issue.code == "table-damaged")
    assert issue.message.startswith(f"a table 'time-profile' cannot be read: {SAMPLES} ")
    assert issue.message.endswith("; the others of this schema are used")


def test_of_a_pack(tmp_path: Path) -> None:
    tables = tuple(open_source(write(tmp_path, exports("1", "2"))).tables(THERMAL))

    def damage(manifest: Any) -> None:
        manifest["runs"][0]["tables"][0]["columns"][0]["kind"] = "?"

    times, problems = outcome(open_source(changed(packed(tmp_path, in_memory(*tables)), manifest=damage)))
    assert times == [[2]] and "unknown kind" in problems[0]


class Damaged:
    """A source whose tables raise, or are there, in turn."""

    name, has_toc = "x", False

    def __init__(self, *outcomes: Table | TracekitError) -> None:
        self.outcomes = outcomes

    def toc(self) -> tuple[RunInfo, ...]:
        tables = (TableInfo(THERMAL, 1, number, row_count=1) for number, _ in enumerate(self.outcomes, 1))
        return (RunInfo(TraceInfo("x", "xctrace-xml"), tuple(tables)),)

    def tables(self, name: str, run: int = 1) -> Iterator[Table]:
        return map(self._raised, self.outcomes)

    def issues(self, run: int | None = None) -> tuple[Any, ...]:
        return ()

    def _raised(self, result: Table | TracekitError) -> Table:
        if isinstance(result, TracekitError):
            raise result
        return result


def test_of_two_ways_to_read(tmp_path: Path) -> None:
    """Without a second way, the first one's tables are used; with one, all come from it."""
    good = next(open_source(write(tmp_path, exports("7"))).tables(THERMAL))
    first = Damaged(InputError("x", "is damaged."), good)
    assert outcome(FallbackSource(first, lambda: None, "b")) == ([[7]], ["is damaged."])
    assert outcome(FallbackSource(first, lambda: Damaged(good, good), "b")) == ([[7], [7]], [])
    with pytest.raises(LimitError):
        outcome(FallbackSource(Damaged(LimitError("x", "is too long"), good), lambda: None, "b"))
