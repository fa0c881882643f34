"""Try stories in all cores and print what is wrong with their analyses, or write one out as a folder.

python -m stories --seeds 10000         prints the stories that refute their analysis, and fails if any does
python -m stories --seed 17 --out DIR   exports of story 17, with STORY.txt
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from stories.grammar import story_of
from stories.properties import KINDS
from stories.tables import write_story
from stories.trial import Trial, tried

_SHORTEST = 3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m stories", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="how many stories to try (200)")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="the number of the first of them (0)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (all cores)"
    )
    parser.add_argument("--thorough", action="store_true", help="try every change of a story, not one")
    parser.add_argument("--seed", type=int, metavar="N", help="a story to write out or to explain")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder for it")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return _explain(options.seed, options.out)
    seeds = range(options.first, options.first + options.seeds)
    with ProcessPoolExecutor(options.jobs) as pool:
        trials = list(pool.map(partial(tried, is_thorough=options.thorough), seeds, chunksize=10))
    return _report(trials)


def _explain(seed: int, folder: Path | None) -> int:
    if folder is None:
        print(*story_of(seed).sentences(), sep="\n")
    else:
        write_story(story_of(seed), folder)
    for violation in tried(seed, is_thorough=True).violations:
        print(f"{violation.kind}: {violation.text}")
    return 0


def _report(trials: Sequence[Trial]) -> int:
    """Print the stories with a violation, then each kind with its number and its shortest stories."""
    violated = [trial for trial in trials if trial.kinds]
    for trial in violated:
        print(f"{trial.line}: {', '.join(sorted(trial.kinds))}")
    counts = Counter(kind for trial in violated for kind in trial.kinds)
    for kind, count in counts.most_common():
        shortest = sorted(
            (trial for trial in violated if kind in trial.kinds), key=lambda trial: (trial.calls, trial.seed)
        )
        seeds = ", ".join(str(trial.seed) for trial in shortest[:_SHORTEST])
        print(f"{count:6,}  {kind}: {KINDS[kind]}; shortest: {seeds}")
    print(f"{len(trials):,} stories, {len(trials) - len(violated):,} without a violation", file=sys.stderr)
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
