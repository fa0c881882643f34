"""The same run on a Dask cluster: the same rows, no result lost with a worker, a sentence without a scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from dask_cluster import dask_cluster

from tracekit.cli import main
from tracekit.errors import UsageError
from tracekit.fleet.cluster import DaskPool
from tracekit.fleet.dataset import create_dataset, open_dataset
from tracekit.fleet.fleet_run import RunSummary, run_fleet
from tracekit.fleet.recording_inputs import find_recordings
from tracekit.fleet.task import FleetTask, run_task

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
NAMES = ("two-copies-ios27", "text-addresses-ios16", "fallback-midway-ios27", "kperf-samples-macos26")
pytestmark = pytest.mark.integration


def test_a_cluster_gives_the_same_rows_and_its_loss_costs_no_result(tmp_path: Path) -> None:
    inputs = [str(SAMPLES / name) for name in NAMES]
    broken = tmp_path / "broken.xml"
    broken.write_text("<trace-query-result>")
    with dask_cluster(tmp_path, workers=2) as cluster:
        arguments = ["fleet", "run", *inputs, str(broken), "-o", str(tmp_path / "results")]
        result = CliRunner().invoke(main, [*arguments, "--scheduler", cluster.address])
        assert result.exit_code == 0, result.output
        assert "4 recordings analyzed, 1 that could not be analyzed." in result.output
        dataset = open_dataset(tmp_path / "results")
        calls = (
            dataset.open_table("calls")
            .to_table()
            .sort_by([("recording", "ascending"), ("start_ns", "ascending")])
        )
        local = [run_task(FleetTask(matches)).tables["calls"] for matches in find_recordings(inputs)]
        assert calls.num_rows == sum(table.num_rows for table in local) == 22
        columns = ("recording", "model", "copy", "call", "start_ns", "length_ns", "verdict")
        expected = [row for table in local for row in table.select(columns).to_pylist()]
        assert sorted(map(str, calls.select(columns).to_pylist())) == sorted(map(str, expected))

        # A worker that is gone: its recordings go to the other one. A scheduler that is gone: a sentence.
        tasks = [FleetTask(matches) for matches in find_recordings([str(SAMPLES)])]
        other = create_dataset(tmp_path / "other")
        summary = RunSummary()

        def end(_stage: str, done: int, _total: int) -> None:
            if _stage == "Analyzing" and done in (1, 8):
                cluster.processes[2 if done == 1 else 0].kill()

        with pytest.raises(
            UsageError, match=r"The scheduler at tcp://127\.0\.0\.1:\d+ is gone\. The results so far"
        ):
            run_fleet(other, tasks, DaskPool(cluster.address), end, summary=summary)
        assert 8 <= summary.analyzed == other.count("recordings") < len(tasks)
        assert not summary.killed

    with pytest.raises(UsageError, match="No scheduler of Dask answers"):
        list(DaskPool(cluster.address).run(tasks[:1]))
