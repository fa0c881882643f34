"""The columns on the disk: every sample once, sorted; what is kept in memory is bounded."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fake_library import READY, FakeLibrary
from samples_support import (
    MS,
    Analysis,
    SampleColumns,
    analyze,
    in_order,
    many,
    opened,
    recording,
    rows_of,
    sorted_by_group,
    terms_in,
    trace_of,
)
from trace_support import ANE, BNNS, UI

from dashboard.errors import NotFound
from dashboard.tiles import cache as cache_module
from dashboard.tiles.cache import RecordingCache, SampleCache
from dashboard.tiles.filters import row_mask
from dashboard.tiles.sample_columns import open_samples
from dashboard.tiles.sample_list import listed
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.sums import sums_block
from dashboard.tiles.tiles import lanes_tile


@pytest.mark.parametrize(
    "name", ["many", "ane-e5rt-macos26", "cpu-profile-ane-macos26", "two-at-once-macos13"]
)
def test_every_sample_is_there_once_in_groups_sorted_by_time(name: str, tmp_path: Path) -> None:
    analysis = many() if name == "many" else recording(name)
    samples = opened(tmp_path, analysis)
    ns = analysis.trace.weight_unit == "ns"
    rows = sorted_by_group(rows_of(analysis, 0 if ns else samples.length_ns))
    assert [sample[:3] for sample in in_order(samples)] == [(row.time, row.lane, row.engine) for row in rows]
    assert samples.weight[:].tolist() == [row.weight for row in rows]
    calls = samples["call"]
    assert samples["call_stack"][calls].tolist() == [row.stack for row in rows]
    assert samples["call_phase"][calls].tolist() == [row.phase for row in rows]
    assert samples["call_engine"][calls].tolist() == [row.engine for row in rows]
    for group in samples.groups:
        group_rows = rows[group.first : group.end]
        ends = sorted(row.end for row in group_rows if row.end - row.time != samples.usual_ns)
        assert samples.odd_end[group.odd_first : group.odd_end].tolist() == ends
        assert group.longest_ns == max(row.end - row.time for row in group_rows)


def test_columns_are_small(tmp_path: Path) -> None:
    rows = [(index, "main", BNNS) for index in range(6_400)]
    columns = opened(tmp_path, analyze(trace_of(rows)))
    assert (columns.usual_ns, len(columns.odd_end), len(columns.odd_usual)) == (MS, 0, 0)
    assert columns["time_offset"].nbytes == 4 * 6_400
    # 100 blocks of 64 rows, and one more where the time enters another stretch of 2^32 ns.
    assert [len(columns[f"time_{part}"]) for part in ("first", "start", "sums")] == [102, 101, 101]
    assert columns["call"].nbytes == 6_400
    assert "weight" not in columns.arrays
    assert columns.weight[:].tolist() == [MS] * 6_400
    assert columns.same_weight == MS


def test_files_hold_no_objects(tmp_path: Path) -> None:
    opened(tmp_path, many(20))
    harmful = np.array([{}], dtype=object)
    np.save(tmp_path / "samples" / "time_offset.npy", harmful, allow_pickle=True)
    with pytest.raises(NotFound, match="Read it again"):
        open_samples(tmp_path / "samples", "x")


def test_a_header_names_its_files(tmp_path: Path) -> None:
    opened(tmp_path, many(20))
    header = json.loads(gzip.decompress((tmp_path / "samples" / "samples.json.gz").read_bytes()))
    files = sorted(os.listdir(tmp_path / "samples"))
    assert files == sorted([*(f"{name}.npy" for name in header["arrays"]), "samples.json.gz"])


def test_as_much_is_kept_as_has_room() -> None:
    made: list[str] = []
    values: SampleCache[str] = SampleCache(5, len)

    def get(text: str) -> str:
        return values.get(text, lambda: made.append(text) or text)

    for text in ("ab", "cd", "ab", "ef", "ab", "cd"):
        assert get(text) == text
    assert made == ["ab", "cd", "ef", "cd"]
    get("longer than all")
    get("longer than all")
    assert made[4:] == ["longer than all"]
    get("ab")
    get("longer than all")
    assert made[5:] == ["ab", "longer than all"]


def test_what_is_dropped_is_made_anew_and_has_no_size() -> None:
    made: list[str] = []
    values: SampleCache[str] = SampleCache(4, len)
    for text in ("ab", "cd"):
        values.get(text, lambda text=text: made.append(text) or text)  # type: ignore[misc]
    values.drop(lambda key: key == "ab")
    for text in ("cd", "ef", "cd"):
        values.get(text, lambda text=text: made.append(text) or text)  # type: ignore[misc]
    assert made == ["ab", "cd", "ef"]


def test_files_of_an_earlier_reading_are_let_go(tmp_path: Path) -> None:
    library = FakeLibrary(tmp_path)
    opened(tmp_path, many(200))
    cache = RecordingCache(library)  # type: ignore[arg-type]
    opened_recording = cache.get(READY)
    assert cache.get(READY).samples is opened_recording.samples
    mapped = str(tmp_path / "samples" / "time_offset.npy")
    assert mapped in Path("/proc/self/maps").read_text()
    del opened_recording
    library.purge(READY)
    with pytest.raises(NotFound):
        cache.get(READY)
    assert mapped not in Path("/proc/self/maps").read_text()


def test_files_that_are_replaced_while_they_are_opened_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary(tmp_path)
    opened(tmp_path, many(200))
    (tmp_path / "next").mkdir()
    opened(tmp_path / "next", many(300))
    cache = RecordingCache(library)  # type: ignore[arg-type]

    def replaced(folder: Path, name: str) -> SampleColumns:
        reopened = open_samples(folder, name)
        if (tmp_path / "next" / "samples").exists():
            folder.rename(tmp_path / "trash")
            (tmp_path / "next" / "samples").rename(folder)
        return reopened

    monkeypatch.setattr(cache_module, "open_samples", replaced)
    with pytest.raises(NotFound, match="is being read again"):
        cache.get(READY)
    assert cache.get(READY).samples.total == 300


@pytest.mark.integration
def test_many_viewers_at_once_get_what_one_gets(tmp_path: Path) -> None:
    opened(tmp_path, many(500))
    cache = RecordingCache(FakeLibrary(tmp_path))  # type: ignore[arg-type]
    queries = [(level, text) for level in range(4) for text in ("", "engine:ane", "-thread:t0 bnns,main")]

    def answer(question: tuple[int, str]) -> bytes:
        opened_recording = cache.get(READY)
        mask = cache.mask(opened_recording, terms_in(question[1]))
        return lanes_tile(opened_recording.samples, question[0], 0, 0, mask) + sums_block(
            opened_recording.samples, SampleSelection(0, 1 << 40, None, mask)
        )

    alone = [answer(query) for query in queries]
    cache = RecordingCache(FakeLibrary(tmp_path))  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, queries * 20)) == alone * 20


@pytest.mark.integration
@pytest.mark.parametrize("what", ["tile", "filtered tile", "sums", "filter", "rows"])
def test_python_does_no_work_per_sample(what: str, tmp_path: Path) -> None:
    counts = []
    for count in (400, 8_000):
        (tmp_path / str(count)).mkdir()
        samples = opened(tmp_path / str(count), few_stacks(count))
        mask = row_mask(samples, terms_in("engine:ane"))
        work = {
            "tile": lambda samples=samples: lanes_tile(samples, 1, 0, 0, None),
            "filtered tile": lambda samples=samples, mask=mask: lanes_tile(samples, 1, 0, 0, mask),
            "sums": lambda samples=samples: sums_block(samples, SampleSelection(0, 1 << 40)),
            "filter": lambda samples=samples: row_mask(samples, terms_in("main window:0 -phase:wait")),
            "rows": lambda samples=samples: listed(samples, SampleSelection(0, 1 << 40), "", 10),
        }
        samples.groups_of_lanes  # noqa: B018 - known from now on
        counts.append(calls_in(work[what]))
    assert counts[0] == pytest.approx(counts[1], rel=0.1)


def few_stacks(count: int) -> Analysis:
    """Two threads with three engines each, however many samples there are."""
    return analyze(
        trace_of([(index / 10, f"t{index % 2}", [ANE, BNNS, UI][index // 2 % 3]) for index in range(count)])
    )


def calls_in(work: Callable[[], object]) -> int:
    seen = 0

    def count(_frame: object, event: str, function: object) -> None:
        nonlocal seen
        is_probe = "slipcover" in str(getattr(function, "__module__", ""))  # of the coverage
        seen += event in ("call", "c_call") and not is_probe

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen
