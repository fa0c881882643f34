"""Measure how long analyzing a recording again with other options takes, until it can be shown.

    python benchmarks/dashboard_options.py [--samples 1000000] [--stacks 50000] [--out FILE.json]

An export as in ``large_export.py`` is packed and read into a library; then each set of options is requested.
*ready*: seconds from the request until the results stand; *stages*: of these, the seconds that the worker
spent in each stage, starting Python included in the first; *page*: the bytes that a browser loads first.
*again* are made by the worker that has the recording in memory, *unprepared* by one that has to be started.
*shown*: seconds in a real browser, from the click that requests an analysis until its page stands, the sharp
timeline and the sums included; the pointer is on the options for a second before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from browser import chromium, served  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from dashboard_page import opened, until_it_stands  # noqa: E402
from large_export import write_export  # noqa: E402

from tracekit.cli import main as tracekit  # noqa: E402
from tracekit_dashboard.library.library import Library  # noqa: E402
from tracekit_dashboard.library.run_inventory import INVENTORY, read_inventory  # noqa: E402
from tracekit_dashboard.settings import ServerLimits  # noqa: E402

TARGET_SECONDS = 2.0
"""At a million samples, with two idle cores, until the analysis is shown."""
_BYTES_PER_SAMPLE = 300
_CHOOSING_MS = 1_000
_UNFINISHED = ("waiting", "reading")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--stacks", type=int, default=50_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), arguments.samples, arguments.stacks)
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result))


def measure(folder: Path, samples: int, stacks: int) -> dict[str, Any]:
    """Return the times of a recording of about so many samples."""
    pack = folder / "large.tracekit.zip"
    with (folder / "large.xml").open("wb") as out:
        rows = write_export(out, samples * _BYTES_PER_SAMPLE, stacks / samples)
    packed = CliRunner().invoke(tracekit, ["pack", str(folder / "large.xml"), "-o", str(pack)])
    assert packed.exit_code == 0, packed.output
    library = Library(folder / "library", ServerLimits(free_disk_bytes=0))
    try:
        begun = time.perf_counter()
        recording = library.add_file(pack).id
        while library.find_recording(recording).state in _UNFINISHED:
            time.sleep(0.01)
        first = time.perf_counter() - begun
        threads = read_inventory(library.find_result(recording, INVENTORY))["threads"]
        wanted = [{"windows": "run"}, {"thread": str(threads[0][0])}, {"window": ["1s-2s"]}]
        times = [_analyzed_again(library, recording, options) for options in wanted]
        library.spare.end(recording)
        unprepared = _analyzed_again(library, recording, {"window": ["2s-3s"]})
    finally:
        library.close()
    return {
        "samples": rows,
        "first": round(first, 2),
        "target": TARGET_SECONDS,
        "again": times,
        "unprepared": unprepared,
        "shown": _shown(folder / "library", recording),
    }


def _shown(folder: Path, recording: str) -> list[float]:
    """Return the times until the pages of three analyses stand, each of another range as the only call."""
    times = []
    with served(folder) as address, chromium() as browser:
        for start_ns in (1_000_000_000, 1_500_000_000, 2_000_000_000):
            page = f"{address}/recordings/{recording}?variant=first#s={start_ns}-{start_ns + 400_000_000}"
            with opened(browser, page) as tab:
                button = tab.get_by_role("button", name="as one call")
                button.hover()
                tab.wait_for_timeout(_CHOOSING_MS)
                clicked = tab.evaluate("Date.now()")
                button.click()
                tab.wait_for_url(lambda url: "variant=first" not in url, timeout=60_000)
                stood = tab.evaluate("performance.timeOrigin") + until_it_stands(tab)
                times.append(round((stood - clicked) / 1e3, 2))
    return times


def _analyzed_again(library: Library, recording: str, options: dict[str, Any]) -> dict[str, Any]:
    begun = latest = time.perf_counter()
    variant = library.analyses.request(recording, options)
    assert variant is not None
    stages: dict[str, float] = defaultdict(float)
    stage = "starting"
    while (state := library.analyses.find(recording, variant.id)).state in _UNFINISHED:
        now = time.perf_counter()
        stages[stage] += now - latest
        stage, latest = state.stage or stage, now
        time.sleep(0.01)
    return {
        "options": options,
        "state": state.state,
        "ready": round(time.perf_counter() - begun, 2),
        "stages": {name: round(seconds, 2) for name, seconds in stages.items()},
        "page": library.find_view(variant.analysis).stat().st_size,
    }


if __name__ == "__main__":
    main()
