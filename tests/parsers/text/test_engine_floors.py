"""Bandwidth held for the Neural Engine: states as published, shares and tracks."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracekit.api import Analysis, analyze, open_trace
from tracekit.errors import InputError
from tracekit.parsers.text.engine_floors import measure_share

pytestmark = pytest.mark.unit

MS = 1_000_000
IDLE, BUSY = [["F1", 100], ["F2", 0], ["F8", 0]], [["F1", 20], ["F2", 0], ["F8", 80]]
TRACK = "Floor held for the Neural Engine: PMP0 DCS Floor ANE-DCS-BW"


def line(fifths: int, states: object, name: str = "ANE-DCS-BW", subgroup: str = "DCS Floor") -> str:
    """Return a sample whose interval ends that many fifths of a second after nine."""
    sample = {
        "tracekit": "engine-presence",
        "version": 1,
        "timestamp": f"2026-11-28T09:00:{fifths // 5:02}.{fifths % 5 * 2}00000+00:00",
        "interval_ms": 200,
        "channels": [{"group": "PMP0", "subgroup": subgroup, "name": name, "states": states}],
    }
    return json.dumps(sample)


def read(tmp_path: Path, *lines: str) -> Analysis:
    file = tmp_path / "app.presence.ndjson"
    file.write_text("\n".join(lines) + "\n")
    return analyze(open_trace(file))


@pytest.mark.parametrize(
    ("states", "share"),
    [
        ([("VMIN", 100), ("VOVD", 0), ("VMAX", 0)], 0.0),  # M5 Pro, idle (vpipe)
        ([("VMIN", 0), ("VOVD", 81), ("VMAX", 19)], 1.0),  # under a load of the Neural Engine alone
        ([("VMIN", 50), ("VOVD_TYP", 50)], 0.5),
        ([("F1", 20), ("F2", 0), ("F8", 80)], 0.8),
        ([("F2", 30), ("F3", 10)], 0.25),  # a chip whose lowest floor is F2
        ([("VMIN", 0), ("VOVD", 0)], None),  # silent, not idle
        ([("2GB/s", 5), ("4GB/s", 5)], None),  # bandwidth, no floor
        ([("F1", 5), ("VMIN", 5)], None),
        ([], None),
    ],
)
def test_the_share_is_that_above_the_lowest_state(states: list[tuple[str, int]], share: float | None) -> None:
    assert measure_share(states) == (pytest.approx(share) if share is not None else None)


def test_a_channel_is_a_track_from_the_start_of_its_first_interval(tmp_path: Path) -> None:
    analysis = read(tmp_path, line(1, IDLE), line(2, BUSY), line(3, BUSY), line(5, IDLE))
    tracks = analysis.trace.tracks
    assert datetime.fromisoformat(analysis.trace.info.start) == datetime(2026, 11, 28, 9, tzinfo=UTC)
    assert set(tracks["name"].astype(str)) == {TRACK} and set(tracks["unit"].astype(str)) == {"%"}
    rows = tracks[["time_ns", "value"]].values.tolist()
    assert [(time, value) for time, value in rows if not math.isnan(value)] == [
        (0, 0.0),
        (200 * MS, pytest.approx(80)),
        (400 * MS, pytest.approx(80)),
        (600 * MS, 0.0),
    ]


def test_silent_channels_have_no_value_and_are_counted(tmp_path: Path) -> None:
    analysis = read(tmp_path, line(1, [["F1", 0], ["F2", 0]]), line(2, BUSY))
    assert len(analysis.trace.tracks.dropna()) == 1
    assert "channels-silent" in {issue.code for issue in analysis.trace.issues}


def test_floors_are_no_busy_time(tmp_path: Path) -> None:
    analysis = read(tmp_path, *(line(fifth, BUSY) for fifth in range(1, 9)))
    document = json.loads(analysis.to_json())
    assert not len(analysis.trace.intervals)
    evidence = [entry for entry in document["evidence"] if entry["source"] == "engine-floors"]
    assert evidence[0]["shows"].startswith("when bandwidth was kept ready for the Neural Engine")


@pytest.mark.parametrize(
    "damaged",
    [
        '{"tracekit": "engine-presence", "timestamp": "2026-11-28T09:00:00+00:00"',
        line(1, [["F1", -1]]),
        line(1, [["F1", True]]),
        line(1, [["F1"]]),
        line(1, 7),
        line(1, BUSY).replace("2026-11-28T09:00:00.200000", "never"),
        line(1, BUSY).replace('"interval_ms": 200', '"interval_ms": 99999999'),
    ],
)
def test_damaged_lines_are_counted(tmp_path: Path, damaged: str) -> None:
    analysis = read(tmp_path, line(1, IDLE), damaged, line(2, BUSY))
    assert len(analysis.trace.tracks.dropna()) == 2
    assert {issue.code: issue.count for issue in analysis.trace.issues}["lines-unreadable"] == 1
    (tmp_path / "only.ndjson").write_text('{"tracekit": "engine-presence"}\n')
    with pytest.raises(InputError, match="holds no whole sample"):
        open_trace(tmp_path / "only.ndjson")
