"""The stacks of a lane in order of time, against a slow loop over the trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples_support import MS, analyze, decoded, exact_many, many, opened, rows_of, trace_of
from trace_support import CALL, E5_WORKER, UI

from dashboard.tiles.sample_columns import SampleColumns
from dashboard.tiles.stack_chart import stacks_block


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> SampleColumns:
    return opened(tmp_path_factory.mktemp("samples"), many())


@pytest.mark.parametrize(("start", "end"), [(0, 500 * MS), (100 * MS, 130 * MS), (399 * MS, 400 * MS)])
@pytest.mark.parametrize("lane", [0, 2])
def test_every_sample_that_reaches_into_the_range(
    columns: SampleColumns, lane: int, start: int, end: int
) -> None:
    view = decoded(stacks_block(columns, lane, start, end, 4_000))
    names = ("time", "weight", "node", "kind")
    parts = [view.arrays[view.header["samples"][name]].tolist() for name in names]
    of_lane = [row for row in rows_of(many()) if row.lane == lane]
    inside = [row for row in of_lane if start <= row.time < end]
    reaching = [row for row in of_lane if row.time < start < row.end]
    assert sorted(parts[0]) == parts[0] == sorted(row.time for row in reaching + inside)
    assert sorted(parts[1]) == sorted(row.weight for row in reaching + inside)
    assert view.header["in_range"] == len(inside)
    page = exact_many()
    nodes = page.arrays[page.header["samples"]["node"]].tolist()
    times = page.arrays[page.header["samples"]["time"]].tolist()
    assert set(zip(parts[0], parts[2], strict=True)) <= set(zip(times, nodes, strict=True))


def test_beyond_the_columns_each_has_a_sample_of_the_engine_with_most(columns: SampleColumns) -> None:
    start, end, count = 0, 400 * MS, 20
    view = decoded(stacks_block(columns, 0, start, end, count))
    header = view.header["samples"]
    sent = list(zip(view.arrays[header["time"]], view.arrays[header["kind"]] >> 4, strict=True))
    of_lane = [row for row in rows_of(many()) if row.lane == 0]
    assert view.header["in_range"] == len([row for row in of_lane if row.time < end]) > 2 * count
    assert len(sent) == count
    for column, (time, engine) in enumerate(sent):
        low, high = column * (end // count), (column + 1) * (end // count)
        inside = [row for row in of_lane if low <= row.time < high]
        counts = {code: sum(row.engine == code for row in inside) for code in {row.engine for row in inside}}
        assert low <= time < high
        assert counts[int(engine)] == max(counts.values())


def test_a_workers_sample_has_its_joined_node(tmp_path: Path) -> None:
    analysis = analyze(
        trace_of([(1, "main", CALL), (2, "queue", E5_WORKER), (3, "main", CALL), (9, "main", UI)])
    )
    block = decoded(stacks_block(opened(tmp_path, analysis), 1, 0, 9 * MS, 100))
    (node,), (joined,) = (block.arrays[block.header["samples"][name]].tolist() for name in ("node", "joined"))
    assert joined > 0
    assert joined - 1 != node


def test_an_empty_range(columns: SampleColumns) -> None:
    view = decoded(stacks_block(columns, 0, 10_000 * MS, 10_001 * MS, 100))
    assert view.header["in_range"] == view.header["samples"]["count"] == 0
