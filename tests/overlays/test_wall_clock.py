"""Wall-clock times in the forms that recordings and texts use."""

from __future__ import annotations

import pytest

from tracekit.overlays.wall_clock import Moment, format_moment, parse_moment

NOON_NS = 1_772_712_000_000_000_000  # 2026-03-05 12:00:00 UTC, by date(1)
MS, S = 10**6, 10**9


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-05T12:00:00.250Z", Moment(NOON_NS + 250 * MS, MS, 0)),
        ("2026-03-05T04:00:00.250-08:00", Moment(NOON_NS + 250 * MS, MS, -8 * 3600)),
        ("2026-03-05 13:00:00.000250+0100", Moment(NOON_NS + 250_000, 1000, 3600)),
        ("2026-03-05 06:00:00.347 -0600", Moment(NOON_NS + 347 * MS, MS, -6 * 3600)),
        ("2026-03-05 12:00:00", Moment(NOON_NS, S, None)),
        ("Thu Mar  5 13:00:00 2026 +0100", Moment(NOON_NS, S, 3600)),
    ],
)
def test_the_forms_of_recordings_and_texts(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-05 12:00:00", "2026-02-30T12:00:00Z", "12:00:00"])
def test_what_no_calendar_has_is_no_moment(text: str) -> None:
    assert parse_moment(text) is None


def test_a_moment_without_a_zone_takes_that_of_the_recording() -> None:
    local = parse_moment("2026-03-05 04:00:00")
    assert local is not None
    assert local.with_zone(-8 * 3600) == Moment(NOON_NS, S, -8 * 3600)
    assert local.with_zone(-8 * 3600).with_zone(3600) == Moment(NOON_NS, S, -8 * 3600)


def test_a_moment_is_written_in_its_own_zone() -> None:
    assert format_moment(Moment(NOON_NS + 250 * MS, MS, -8 * 3600)) == "2026-03-05 04:00:00.250 -0800"
    assert format_moment(Moment(NOON_NS, S, None)) == "2026-03-05 12:00:00"
    assert format_moment(Moment(2**62 * 1000, S, 0)).endswith("ns since 1970")
