"""Print how much of each package the tests reach, and fail below the given floors.

``python coverage_report.py coverage.json tracekit=92 dashboard=85``; a floor is a percentage of lines and branches.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def percentages(summaries: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return the percentages of lines, of branches, and of both that were reached."""
    reached, missed = (
        [sum(summary[f"{state}_{unit}"] for summary in summaries) for unit in ("lines", "branches")]
        for state in ("covered", "missing")
    )
    lines, branches = (
        100 * hits / max(hits + misses, 1) for hits, misses in zip(reached, missed, strict=True)
    )
    return lines, branches, 100 * sum(reached) / max(sum(reached) + sum(missed), 1)


def main(report: str, *floors: str) -> int:
    """Print a line per package, and return 1 where one is below its floor."""
    files = json.loads(Path(report).read_text("utf-8"))["files"]
    is_low = False
    for package, _, floor in (text.partition("=") for text in floors):
        summaries = [entry["summary"] for name, entry in files.items() if name.startswith(f"{package}/")]
        lines, branches, total = percentages(summaries)
        sys.stdout.write(
            f"{package}: {lines:.1f} % of lines, {branches:.1f} % of branches, {total:.1f} % in all"
            f" (at least {floor} %)\n"
        )
        is_low |= total < float(floor)
    return int(is_low)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
