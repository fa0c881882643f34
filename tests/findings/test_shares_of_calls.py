"""Shares of calls within findings: the interval of what further calls of the program may do."""

from __future__ import annotations

import numpy as np
import pytest

from tracekit.statistics.share_intervals import estimate_share_of_rows


def test_few_calls_leave_room() -> None:
    # Wilson 1927: 5 of 12 calls.
    assert estimate_share_of_rows(np.arange(12), np.array([0, 3, 5, 8, 11])) == pytest.approx(
        (0.193, 0.680), abs=1e-3
    )
    assert estimate_share_of_rows(np.arange(12), np.arange(12))[0] == pytest.approx(0.757, abs=1e-3)


def test_calls_in_spells_count_for_fewer() -> None:
    rows = np.arange(100)
    apart = estimate_share_of_rows(rows, rows[::5])
    together = estimate_share_of_rows(rows, rows[:20])
    assert together[1] - together[0] > 1.5 * (apart[1] - apart[0])
