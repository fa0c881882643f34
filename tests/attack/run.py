"""All attacks, one after the other, in a given time: ``python tests/attack/run.py [--minutes 15] [--seed 1]``.

Each prints its table; the exit code is 1 if any has a finding. Each gets its share of the time and tries as
much as fits into it; its table states how much that was of how much.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
_GRACE_SECONDS = 180.0
"""What a part may take beyond its share, to end what it began; after that it is ended, which is a finding."""


class Part(NamedTuple):
    """A program, its share of the time as a weight, and its arguments."""

    program: str
    weight: float
    arguments: tuple[str, ...] = ()
    takes_seed: bool = True


PARTS: tuple[Part, ...] = (
    Part("bombs.py", 25),
    Part("text_bombs.py", 25),
    Part("mutations.py", 25, ("--cases", "10000")),
    Part("forged_requests.py", 5, ("--cases", "3000")),
    Part("kills.py", 10, ("--cases", "25")),
    Part("redaction.py", 7),
    Part("slow_clients.py", 3, takes_seed=False),
)
"""In the order in which they run. The weights are divided by their sum: a new part is one line."""


def main() -> int:
    """Run the parts, and return 1 if one of them has a finding or does not end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=15.0, help="the time for all of them (default 15)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other attempts")
    chosen = parser.parse_args()
    total = sum(part.weight for part in PARTS)
    failed = [
        part.program
        for part in PARTS
        if not is_clean(part, 60 * chosen.minutes * part.weight / total, chosen.seed)
    ]
    print(f"\nFindings: {', '.join(failed) if failed else 'none'}")
    return 1 if failed else 0


def is_clean(part: Part, seconds: float, seed: int) -> bool:
    """Run a part for so long, and return True if it ended without a finding."""
    print(f"\n=== {part.program} ({seconds:.0f} s)", flush=True)
    command = [sys.executable, "-u", str(HERE / part.program), *part.arguments, "--seconds", str(seconds)]
    command += ["--seed", str(seed)] if part.takes_seed else []
    with subprocess.Popen(command) as process:
        try:
            return process.wait(seconds + _GRACE_SECONDS) == 0
        except subprocess.TimeoutExpired:
            print(f"FINDING {part.program}: did not end in {seconds + _GRACE_SECONDS:.0f} s", flush=True)
            process.kill()
            return False


if __name__ == "__main__":
    sys.exit(main())
