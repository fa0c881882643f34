"""Folded stacks, one line per stack: ``frame;frame;frame weight``, outermost first.

Read by flamegraph.pl, inferno, speedscope and others. The format escapes nothing: a ``;`` in a name becomes
``:``, as in the collapsing scripts of those tools, and a number that ends a line's last name is tied to it,
or flamegraph.pl and inferno would take the line for a comparison of two profiles.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import IO

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.export.export_view import NO_STACK, ExportView
from tracekit.text import without_commands

DEFAULT_ROOT = ("process", "thread", "engine", "phase")
_NUMBER_AT_END = re.compile(r"\s+(?=[\d.]+$)")


def write_folded(analysis: Analysis, out: IO[bytes], root: Sequence[str] = DEFAULT_ROOT) -> None:
    """Write one line per distinct stack below its ``root`` frames, sorted; weights in the trace's unit."""
    view = ExportView(analysis)
    for line, weight in sorted(_sum_weights(view, root).items()):
        out.write(without_commands(f"{line} {weight}\n").encode())


def _sum_weights(view: ExportView, root: Sequence[str]) -> dict[str, int]:
    groups = view.group_samples(root)
    names = [_escape_separator(frame) for frame in view.frames]
    stacks = {
        stack: ";".join(names[frame] for frame in view.list_stack_frames(stack)) or NO_STACK
        for stack in np.unique(groups.stack).tolist()
    }
    root_text_by_key: dict[tuple[int, ...], str] = {}
    weights: dict[str, int] = defaultdict(int)
    columns = (groups.thread, groups.engine, groups.phase, groups.window)
    keys = zip(*(column.tolist() for column in columns), strict=True)
    for key, stack, weight in zip(keys, groups.stack.tolist(), groups.weight.tolist(), strict=True):
        if key not in root_text_by_key:
            root_text_by_key[key] = "".join(
                f"{_escape_separator(name)};" for name in view.list_root_names(root, key)
            )
        weights[_format_line(root_text_by_key[key] + stacks[stack])] += weight
    return weights


def _escape_separator(text: str) -> str:
    return text.replace(";", ":")


def _format_line(text: str) -> str:
    if text.startswith("#"):  # inferno takes such a line for a comment
        text = f"_{text}"
    return _NUMBER_AT_END.sub("_", text) if text[-1] in "0123456789." else text
