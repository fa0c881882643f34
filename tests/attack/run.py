"""All attacks, one after the other, in a given time: ``python tests/attack/run.py [--minutes 15] [--seed 1]``.

Each prints its table; the exit code is 1 if any has a finding. Each gets its part of the time, and tries as
much as fits into it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("bombs.py", 0.4, ()),
    ("mutations.py", 0.35, ("--cases", "10000")),
    ("forged_requests.py", 0.05, ("--cases", "3000")),
    ("kills.py", 0.1, ("--cases", "25")),
    ("redaction.py", 0.07, ()),
    ("slow_clients.py", 0.03, ()),
)
"""Program, its part of the time, and its arguments."""


def main() -> int:
    """Run the programs that exist, and return 1 if one of them has a finding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=15.0, help="the time for all of them (default 15)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other attempts")
    chosen = parser.parse_args()
    failed = []
    for program, part, arguments in PROGRAMS:
        print(f"\n=== {program}", flush=True)
        command = [
            sys.executable,
            "-u",
            str(HERE / program),
            *arguments,
            "--seconds",
            str(60 * chosen.minutes * part),
        ]
        if program != "slow_clients.py":
            command += ["--seed", str(chosen.seed)]
        if subprocess.run(command, check=False).returncode:
            failed.append(program)
    print(f"\nFindings: {', '.join(failed) if failed else 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
