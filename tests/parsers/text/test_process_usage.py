"""Who held memory on the Neural Engine: samples as tracks, and the calls at these times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evidence_support import manual
from sample_recordings import sample_analysis

from tracekit.analysis.engine_holders import EngineHolder, EngineHolders
from tracekit.api import Analysis, analyze, open_trace
from tracekit.errors import InputError

pytestmark = pytest.mark.unit

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
MS = 1_000_000


def line(tenths: int, *processes: tuple[int, str, int], unreadable: int = 0) -> str:
    """Return a line of a moment in tenths of a second, with (pid, name, bytes held)."""
    rows = [
        {"pid": pid, "name": name, "neural_bytes": held, "energy_nj": 0, "instructions": 0}
        for pid, name, held in processes
    ]
    sample = {
        "tracekit": "process-usage",
        "version": 1,
        "timestamp": f"2026-11-28T09:00:{tenths // 10:02}.{tenths % 10}00000+00:00",
        "interval_ms": 100,
        "processes": rows,
        "unreadable": unreadable,
    }
    return json.dumps(sample)


def read(tmp_path: Path, *lines: str, windows: list[tuple[int, int]] | None = None) -> Analysis:
    file = tmp_path / "app.usage.ndjson"
    file.write_text("\n".join(lines) + "\n")
    ranges = [manual(start, end) for start, end in windows or []]
    return analyze(open_trace(file), windows=ranges) if ranges else analyze(open_trace(file))


def test_a_process_holds_memory_from_its_first_sample_to_its_last(tmp_path: Path) -> None:
    lines = [
        line(0, (42, "MyApp", 0)),
        line(1, (42, "MyApp", 85_000_000), (44, "photoanalysisd", 7_000_000)),
        line(2, (42, "MyApp", 90_000_000)),
        line(3, (42, "MyApp", 0)),
    ]
    analysis = read(tmp_path, *lines, windows=[(0, 90), (150, 160), (250, 350)])
    assert analysis.engine_holders == EngineHolders(
        (
            EngineHolder("MyApp [42]", 100 * MS, 300 * MS, 90.0, 2),
            EngineHolder("photoanalysisd [44]", 100 * MS, 200 * MS, 7.0, 1),
        ),
        3,
        0,
    )


def test_processes_of_one_name_are_two(tmp_path: Path) -> None:
    analysis = read(tmp_path, line(0, (1, "Worker", 5_000_000), (2, "Worker", 6_000_000)))
    found = analysis.engine_holders
    assert found is not None
    assert [holder.process for holder in found.holders] == ["Worker [2]", "Worker [1]"]


def test_the_text_states_what_held_memory_does_not_show(tmp_path: Path) -> None:
    text = read(tmp_path, line(0, (42, "MyApp", 85_000_000), unreadable=310)).to_text()
    assert text.startswith("MyApp [42] held up to 85.0 MB on the Neural Engine: programs that were loaded")
    assert "Held on the Neural Engine" in text
    assert "MyApp [42]  85.0 MB" in text
    assert "neither that they ran" in " ".join(text.split())
    assert "310 running programs could not be read" in " ".join(text.split())


def test_no_process_held_memory(tmp_path: Path) -> None:
    text = read(tmp_path, line(0), line(1)).to_text()
    assert "No process that could be read held memory on the Neural Engine." in " ".join(text.split())


def test_a_recording_without_the_samples_states_nothing() -> None:
    assert sample_analysis("fallback-midway-ios27").engine_holders is None


def test_damaged_lines_are_counted_and_the_others_kept(tmp_path: Path) -> None:
    whole = line(0, (42, "MyApp", 1_000_000))
    damaged = [
        whole[:40],
        whole.replace("1000000", "-5"),
        whole.replace("MyApp", "x").replace("100,", '"x",'),
    ]
    analysis = read(tmp_path, whole, *damaged, line(1, (42, "MyApp", 2_000_000)))
    found = analysis.engine_holders
    assert found is not None and found.holders[0].most_mb == 2.0
    assert [issue.count for issue in analysis.trace.issues if issue.code == "lines-unreadable"] == [3]


def test_a_text_without_a_whole_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no whole sample"):
        read(tmp_path, '{"tracekit": "process-usage", "version": 1')
