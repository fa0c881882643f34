"""The line of source code in which a call's thread was sampled most, and what opens it on a Mac."""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path

from tracekit.analysis.result import Analysis
from tracekit.frozen import frozen
from tracekit.report.document.blocks import Command
from tracekit.text import clip, format_shell_command, plural

_WIDTH = 80


@frozen
class SourceLine:
    """A line that a recording names, with its share of the samples of the call's thread."""

    path: str
    number: int
    symbol: str
    samples: int
    all_samples: int

    def describe(self) -> str:
        """Return the line as the value of a fact."""
        place = f"{clip(Path(self.path).name, _WIDTH)}, line {self.number}, in {clip(self.symbol, _WIDTH)}"
        return (
            f"{place}: {self.samples:,} of {plural(self.all_samples, 'sample')} of the calling thread"
            " (the innermost line that is known)"
        )


def find_source_line(analysis: Analysis, row: int) -> SourceLine | None:
    """Return the line with most samples in a call; None where no line of an absolute path is recorded."""
    window, samples, stacks = analysis.window_rows.iloc[row], analysis.trace.samples, analysis.trace.stacks
    if not analysis.trace.has_timeline or window["thread_id"] < 0:
        return None
    times = samples["time_ns"]
    is_inside = (times >= window["start_ns"]) & (times < window["end_ns"])
    stack_ids = samples["stack_id"][is_inside & (samples["thread_id"] == window["thread_id"])]
    paths, numbers = stacks.frames["source_file"].to_numpy(object), stacks.frames["source_line"].to_numpy()
    counts: Counter[tuple[str, int, str]] = Counter()
    for stack_id, count in stack_ids[stack_ids >= 0].value_counts().items():
        for frame in stacks.stack(stack_id).tolist():
            if paths[frame].startswith("/") and numbers[frame] > 0:
                counts[paths[frame], int(numbers[frame]), str(stacks.frames["symbol"].iloc[frame])] += count
                break
    if not counts:
        return None
    (line, most), *_ = counts.most_common(1)
    return SourceLine(*line, samples=most, all_samples=len(stack_ids))


def list_mac_commands(line: SourceLine | None, recording: str) -> tuple[Command, ...]:
    """Return the commands that open the line in Xcode and the recording in Instruments; none elsewhere."""
    if platform.system() != "Darwin":
        return ()
    commands = []
    if line is not None:
        commands.append(["xed", "--line", str(line.number), line.path])
    if recording.rstrip("/").endswith(".trace"):
        commands.append(["open", "-a", "Instruments", recording])
    return tuple(Command(format_shell_command(command)) for command in commands)
