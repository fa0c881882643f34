"""Measure what `tracekit fleet run` costs beside the analyses themselves.

    python benchmarks/fleet.py [--recordings 100] [--samples 10000] [--workers 2] [--out FILE.json]

Recordings differ in one name alone, so that each has a content of its own and costs the same. Measured is
CPU time, which other programs on the machine change little: of the analyses with their JSON in as many
processes as there are workers, which do nothing else (cores that work at once share caches and memory: two
are each about a seventh slower than one), of the run with all of its processes, of the same run on Dask
workers, and of a second run, which has nothing to do. What a start costs, the imports above all, is measured
with a run of one recording and left out of the overhead. So is what a cluster does each second in which its
workers wait for a core that another program has. Fails where a target is missed. The full size is
--recordings 1000.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from large_export import write_rows

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "support")]
SIGNPOSTS = ROOT / "sample_traces" / "two-copies-ios27" / "coreml-os-signpost.xml"
MOST_OVERHEAD, MOST_DIFFERENCE, MOST_SECONDS = 0.10, 0.10, 5.0
_ANALYSES = 20
_IDLE_SECONDS = 10.0
_ROUNDS = 4
"""Pool and cluster work in turn on a part of the recordings, so that the machine's other load is on both."""
_NAME = b"prediction"
_SUBREAPER = 36
"""Linux: processes whose parent has ended become children of this one, so that their time counts."""
_ANALYSES_ALONE = """
import sys, time
import tracekit
from tracekit.fleet import task  # the imports are no part of an analysis
for path in sys.argv[1:]:
    if path == sys.argv[2]:
        began = time.process_time()
    analysis = tracekit.analyze(tracekit.open_trace(path))
    analysis.to_json()
print(time.process_time() - began)
"""


@dataclass(frozen=True)
class Cost:
    """CPU time of all processes, and time on the clock."""

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu_seconds + other.cpu_seconds, self.wall_seconds + other.wall_seconds)

    def times(self, count: int) -> Cost:
        """Return the cost of as many of these."""
        return Cost(self.cpu_seconds * count, self.wall_seconds * count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recordings", type=int, default=100)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), arguments.recordings, arguments.samples, arguments.workers)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1))
    missed = missed_targets(figures)
    print("\n".join(missed) or "every target is reached")
    sys.exit(bool(missed))


def measure(folder: Path, recordings: int, samples: int, workers: int) -> dict[str, float]:
    """Return the figures of runs over generated recordings."""
    lab = folder / "lab"
    write_lab(lab, recordings, samples)
    first = str(lab / "run-00000")
    analyses, pool, dask = [], Cost(), Cost()
    for number in range(_ROUNDS):
        part = sorted(lab.iterdir())[number::_ROUNDS]
        listed = folder / f"part-{number}.txt"
        listed.write_text("\n".join(map(str, part)))
        analyses.append(analysis_seconds(part[: _ANALYSES // _ROUNDS + 1], workers))
        pool += run(f"@{listed}", folder / "pool", "--workers", str(workers))
        dask += run_on_dask(folder / f"cluster {number}", f"@{listed}", folder / "dask", workers)
    each = sum(analyses) / _ROUNDS
    again = run(str(lab), folder / "pool", "--workers", str(workers))
    start = run(first, folder / "start", "--workers", "1").times(_ROUNDS)
    dask_start = run_on_dask(folder / "cluster", first, folder / "dask start", workers).times(_ROUNDS)
    idle_share = cluster_idle_share(folder / "idle cluster", workers)
    waited_seconds = max(0.0, dask.wall_seconds - dask.cpu_seconds / workers)
    figures = {
        "recordings": recordings,
        "analysis_seconds": each,
        "pool_cpu_seconds": pool.cpu_seconds,
        "pool_wall_seconds": pool.wall_seconds,
        "start_cpu_seconds": start.cpu_seconds,
        "overhead": (pool.cpu_seconds - start.cpu_seconds) / (each * (recordings - _ROUNDS)) - 1,
        "second_run_seconds": again.cpu_seconds,
        "dask_cpu_seconds": dask.cpu_seconds,
        "dask_wall_seconds": dask.wall_seconds,
        "dask_start_cpu_seconds": dask_start.cpu_seconds,
        "dask_idle_cpu_share": idle_share,
        "dask_difference": (dask.cpu_seconds - dask_start.cpu_seconds - idle_share * waited_seconds)
        / (pool.cpu_seconds - start.cpu_seconds)
        - 1,
    }
    print(
        f"{recordings:,} recordings of {samples:,} samples, {workers} workers (load {os.getloadavg()[0]:.1f})"
    )
    for name, value in list(figures.items())[1:]:
        print(f"{name:>20} {value:10.3f}")
    return figures


def missed_targets(figures: dict[str, float]) -> list[str]:
    """Return a line for each target that was missed."""
    targets = {
        "overhead": MOST_OVERHEAD,
        "dask_difference": MOST_DIFFERENCE,
        "second_run_seconds": MOST_SECONDS,
    }
    return [
        f"{name} is {figures[name]:.3f}, at most {most} is wanted"
        for name, most in targets.items()
        if figures[name] > most
    ]


def write_lab(lab: Path, recordings: int, samples: int) -> None:
    """Write recordings of the same rows, each a folder with samples and calls."""
    first = lab / "run-00000"
    first.mkdir(parents=True)
    with (first / "time-profile.xml").open("wb") as file:
        write_rows(file, samples, 0.21)
    shutil.copy(SIGNPOSTS, first)
    data = (first / "time-profile.xml").read_bytes()
    assert data.count(_NAME)
    for number in range(1, recordings):
        place = lab / f"run-{number:05}"
        place.mkdir()
        shutil.copy(SIGNPOSTS, place)
        (place / "time-profile.xml").write_bytes(data.replace(_NAME, b"prd%07d" % number, 1))


def analysis_seconds(paths: list[Path], workers: int) -> float:
    """Return the mean CPU time of an analysis in some processes at once.

    The first analysis of each, which fills caches, is left out.
    """
    program = [sys.executable, "-c", _ANALYSES_ALONE, *map(str, paths)]
    processes = [subprocess.Popen(program, stdout=subprocess.PIPE, text=True) for _ in range(workers)]  # noqa: S603
    seconds = [float(process.communicate()[0]) for process in processes]
    return sum(seconds) / workers / (len(paths) - 1)


def run(lab: str, results: Path, *options: str) -> Cost:
    """Run ``tracekit fleet run``."""
    before = _children_seconds()
    wall_seconds = _run(lab, results, *options)
    return Cost(_children_seconds() - before, wall_seconds)


def _run(lab: str, results: Path, *options: str) -> float:
    """Return the time on the clock of a run."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tracekit", "fleet", "run", lab, "-o", str(results), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.monotonic() - began


def run_on_dask(folder: Path, lab: str, results: Path, workers: int) -> Cost:
    """Run on a cluster, whose processes count from their start to their end."""
    from dask_cluster import dask_cluster

    folder.mkdir()
    before = _children_seconds()
    with dask_cluster(folder, workers) as cluster:
        wall_seconds = _run(lab, results, "--scheduler", cluster.address)
    return Cost(_children_seconds() - before, wall_seconds)


def cluster_idle_share(folder: Path, workers: int) -> float:
    """Return the CPU time that a cluster takes in each second without work."""
    from dask_cluster import dask_cluster

    folder.mkdir()
    with dask_cluster(folder, workers) as cluster:
        _run(
            str(ROOT / "sample_traces" / "two-copies-ios27"),
            folder / "results",
            "--scheduler",
            cluster.address,
        )
        processes = [psutil.Process(process.pid) for process in cluster.processes]
        before = sum(sum(process.cpu_times()[:2]) for process in processes)
        time.sleep(_IDLE_SECONDS)
        return (sum(sum(process.cpu_times()[:2]) for process in processes) - before) / _IDLE_SECONDS


def _children_seconds() -> float:
    """Return the CPU time of all processes that were started and have ended."""
    with suppress(ChildProcessError):
        while True:  # those that the run left to end by themselves: the server of its workers
            os.waitpid(-1, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
