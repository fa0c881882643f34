"""The names of calls, the same in every output: ``call 6 of SpeechEncoder``, ``range 2 (12ms-18ms)``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.findings.calls import ModelCalls
from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import lengths_are_given
from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.text import clip, printable

_NAME_WIDTH = 60
WHOLE_RUN = "the whole run"
_RANGES = "ranges"


@frozen(eq=False)
class CallNames:
    """The number of each call, and the name of those that it is counted among.

    ``names`` are the models as answers name them, with the process where several have one name; a function or
    a signpost where no model is known. ``group`` has the position of each call's in ``names``. Of ranges that
    the user gave (``noun`` is "range"), ``labels`` are the user's own.
    """

    noun: str
    numbers: IntArray
    group: IntArray
    names: tuple[str, ...]
    labels: Sequence[str]

    def name(self, row: int) -> str:
        """Return the name of the model of a call; the label of a range."""
        return self.labels[row] if self.noun == "range" else self.names[self.group[row]]

    @property
    def texts(self) -> npt.NDArray[np.object_]:
        """``name`` of every row."""
        if self.noun == "range":
            return np.array(self.labels, object)
        return np.array(self.names, object)[self.group]

    def title(self, row: int) -> str:
        """Return ``call 6 of SpeechEncoder``, ``range 2 (12ms-18ms)`` or ``the whole run``."""
        return self.title_with(row, clip(printable(self.name(row)), _NAME_WIDTH))

    def title_with(self, row: int, name: str) -> str:
        """Return the title with a name that is made safe for a format."""
        if not self.numbers[row]:
            return WHOLE_RUN
        number = f"{self.noun} {self.numbers[row]:,}"
        return f"{number} ({name})" if self.noun == "range" else f"{number} of {name}"

    @property
    def heading(self) -> str:
        """The heading of a list of them."""
        return f"{self.noun.capitalize()}s" if self.numbers.any() else WHOLE_RUN.capitalize()


def call_names(analysis: Analysis) -> CallNames:
    """Return the names of the calls of an analysis, row-aligned to its windows."""
    windows, models = analysis.window_rows, analysis.call_models
    labels = windows["label"].tolist()
    group = np.full(len(windows), len(models), np.int64)
    for position, model in enumerate(models):
        group[model.rows] = position
    noun = noun_of(windows)
    names = [_RANGES if noun == "range" else model.name or labels[model.rows[0]] for model in models]
    counts = Counter(names)
    distinct = (
        _describe_process(name, model) if counts[name] > 1 else name
        for name, model in zip(names, models, strict=True)
    )
    return CallNames(noun, analysis.call_numbers, group, (*distinct, WHOLE_RUN), labels)


def noun_of(windows: pd.DataFrame) -> str:
    """Return ``call``; ``range`` where the user gave the windows, or the run is the only one."""
    return "range" if lengths_are_given(windows) else "call"


def _describe_process(name: str, model: ModelCalls) -> str:
    return f"{name} (process {model.pid})" if model.pid >= 0 else name
