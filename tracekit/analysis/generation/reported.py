"""The requests that Foundation Models reports as a whole: their lengths, and the tokens of their responses.

Nothing shows when the first token came. So their rates are of whole requests, and no number of them is ever
one with those of requests that signposts mark.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.analysis.generation.metadata import UNKNOWN
from tracekit.frozen import frozen
from tracekit.model.columns import BoolArray, IntArray


@frozen(eq=False)
class ReportedRequests:
    """Requests in order of the table: parallel arrays, ``UNKNOWN`` for what it does not have.

    Without an end, a request has no length.
    """

    models: npt.NDArray[np.object_]
    length_ns: IntArray
    response_tokens: IntArray
    errors: IntArray

    def __len__(self) -> int:
        return len(self.length_ns)

    def select(self, rows: BoolArray) -> ReportedRequests:
        """Return some of the requests."""
        return ReportedRequests(**{name: values[rows] for name, values in vars(self).items()})

    @property
    def is_open(self) -> BoolArray:
        """Requests without an end."""
        marks: BoolArray = self.length_ns < 0
        return marks

    @property
    def is_failed(self) -> BoolArray:
        """Requests with an error; one whose number of errors is unknown counts as without."""
        marks: BoolArray = self.errors > 0
        return marks

    @property
    def is_complete(self) -> BoolArray:
        """Requests whose lengths and rates count: they have an end and no error."""
        return ~self.is_open & ~self.is_failed

    @property
    def has_rate(self) -> BoolArray:
        """Complete requests with a length, and with known tokens of the response."""
        marks: BoolArray = self.is_complete & (self.response_tokens >= 0) & (self.length_ns > 0)
        return marks

    @property
    def rates(self) -> npt.NDArray[np.float64]:
        """The tokens of each response by the length of the whole request; NaN where that is not known."""
        lengths = np.maximum(self.length_ns, 1)
        return np.where(self.has_rate, self.response_tokens * 1e9 / lengths, np.nan)


def read_reported_requests(requests: pd.DataFrame) -> ReportedRequests:
    """Return the rows of ``Trace.model_requests``."""
    lengths = (requests["end_ns"] - requests["start_ns"]).to_numpy(np.int64)
    return ReportedRequests(
        requests["model"].astype("str").to_numpy(object),
        np.where(requests["cut"].to_numpy(bool), UNKNOWN, lengths),
        requests["response_tokens"].to_numpy(np.int64),
        requests["errors"].to_numpy(np.int64),
    )
