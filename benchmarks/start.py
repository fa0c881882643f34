"""Count the modules that ``tracekit analyze`` of a small export imports, and measure its CPU time.

    python benchmarks/start.py [--out FILE.json] [--runs 9] [--file EXPORT.xml] [--against CHECKOUT]
                               [--instructions]

Half of the time that a small export takes is imports. ``--against`` is a folder with another version of
tracekit and its compiled accelerators, such as a worktree of an older commit with an installation of its own.
The two versions take turns, so that the load of the machine is the same for both. Without ``--file``, the
export is a generated one of 1.9 MB. ``--instructions`` counts those of one run under valgrind, which other
programs do not change, and takes a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from large_export import write_export

HERE = Path(__file__).resolve().parents[1]
_SIZE_BYTES = 1_900_000
_LIST_MODULES = (
    "import sys; from tracekit.cli import main; main(standalone_mode=False);"
    "sys.exit(' '.join(sys.modules))"  # on stderr
)
# Bytecode is what an installed tracekit has: without it, every start compiles.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_ENVIRONMENT["PYTHONHASHSEED"] = "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--file", type=Path, help="an export to analyze")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="a folder with another version")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        export = options.file.resolve() if options.file else Path(folder) / "export.xml"
        if not options.file:
            with export.open("wb") as file:
                write_export(file, _SIZE_BYTES)
        against = options.against and options.against.resolve()
        figures = measure(export, options.runs, against)
        if options.instructions:
            figures |= measure_instructions(export, against)
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.out:
        options.out.write_text(json.dumps({"start": figures}, indent=2) + "\n")


def name_checkouts(against: Path | None) -> dict[str, Path]:
    """Return this version and the other one by the prefix of their figures."""
    return {"": HERE, **({"other_": against} if against else {})}


def measure(export: Path, runs: int, against: Path | None = None) -> dict[str, Any]:
    """Return the modules and the median CPU seconds of this version, and of another that takes turns."""
    checkouts = name_checkouts(against)
    figures: dict[str, Any] = {
        f"{name}modules": count_modules(checkout, export) for name, checkout in checkouts.items()
    }
    for checkout in checkouts.values():
        cpu_seconds(checkout, export)  # writes the bytecode
    pairs = [[cpu_seconds(checkout, export) for checkout in checkouts.values()] for _ in range(runs)]
    for column, name in enumerate(checkouts):
        figures[f"{name}cpu_seconds"] = round(median(pair[column] for pair in pairs), 3)
    if against:
        figures["ratio"] = round(median(this / other for this, other in pairs), 2)
    return figures


def measure_instructions(export: Path, against: Path | None = None) -> dict[str, Any]:
    """Return the instructions of one run of each version; ``measure`` has written their bytecode."""
    counts = {name: count_instructions(root, export) for name, root in name_checkouts(against).items()}
    figures: dict[str, Any] = {f"{name}instructions": count for name, count in counts.items()}
    if against:
        figures["ratio_of_instructions"] = round(counts[""] / counts["other_"], 3)
    return figures


def count_instructions(checkout: Path, export: Path) -> int:
    """Return the instructions of one ``tracekit analyze``."""
    return count_python_instructions(checkout, "-m", "tracekit", "analyze", str(export))


def count_python_instructions(checkout: Path, *arguments: str) -> int:
    """Return the instructions of Python with these arguments, as valgrind's callgrind counts them."""
    callgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    ran = _run(checkout, *arguments, under=callgrind)
    ran.check_returncode()
    return int(re.search(r"Collected : (\d+)", ran.stderr)[1])  # type: ignore[index]


def count_modules(checkout: Path, export: Path) -> int:
    """Return the number of modules of tracekit that ``tracekit analyze`` imports."""
    listed = _run(checkout, "-c", _LIST_MODULES, "analyze", str(export)).stderr
    return sum(name.partition(".")[0] == "tracekit" for name in listed.split())


def cpu_seconds(checkout: Path, export: Path) -> float:
    """Return the CPU time of one ``tracekit analyze``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(checkout, "-m", "tracekit", "analyze", str(export)).check_returncode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(checkout: Path, *arguments: str, under: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout, whose tracekit comes before the installed one, ``under`` another program."""
    return subprocess.run(  # noqa: S603 - this program's own interpreter
        [*under, sys.executable, *arguments],
        cwd=checkout,
        env=_ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    main()
