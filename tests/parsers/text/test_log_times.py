"""Times of entries in JSON: what a log of any zone states, and what is no time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tracekit.parsers.text.log_objects import parse_object

TEN = int(datetime(2026, 11, 28, 10, tzinfo=UTC).timestamp()) * 10**9


def read(stamp: object) -> tuple[int | None, int | None]:
    """Return the time of an entry, and the offset of its zone."""
    entry = parse_object(json.dumps({"eventMessage": "", "timestamp": stamp}).encode())
    assert entry is not None
    return entry.time_ns, entry.utc_offset_s


@pytest.mark.parametrize(
    ("stamp", "time_ns", "offset_s"),
    [
        ("2026-11-28 10:00:00.250000+0000", TEN + 250_000_000, 0),
        ("2026-11-28 10:00:00.250000-0130", TEN + 5_400 * 10**9 + 250_000_000, -5_400),
        ("2026-11-28 11:00:00.000001+0100", TEN + 1_000, 3_600),
        ("2026-11-28 11:00:00.000001+01:00", TEN + 1_000, 3_600),
        ("2026-11-28 10:00:00.250000Z", TEN + 250_000_000, 0),
        ("2026-11-28 10:00:00+0000", TEN, 0),
        ("2026-11-28 10:00:00", TEN, None),
        # As long as the first, without its zone.
        ("2026-11-28 10:00:00.25000000099", TEN + 250_000_000, None),
        ("2026-11-28 10:00:00.2500000+000", TEN + 250_000_000, None),
        ("2026-11-28 10:00:00,250000+0000", TEN + 250_000_000, 0),
    ],
)
def test_a_time_and_its_zone(stamp: str, time_ns: int, offset_s: int | None) -> None:
    assert read(stamp) == (time_ns, offset_s)


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-13-28 10:00:00.250000+0000",
        "2026-W48-6 10:00:00.250000+0000",
        "20261128 10:00:00.0.250000+0000",
        "yesterday at some time or other",
        "",
        None,
        5,
        {},
    ],
)
def test_anything_else_is_no_time(stamp: object) -> None:
    assert read(stamp) == (None, None)


def test_values_that_are_equal_in_python_are_other_values() -> None:
    """Texts of earlier lines are remembered: a name is no number, whatever came before."""
    lines = [{"eventMessage": "", "subsystem": value} for value in ("1", 1, True, 1.0, [1], "1")]
    entries = [parse_object(json.dumps(line).encode()) for line in lines]
    assert [entry.subsystem for entry in entries if entry] == ["1", "", "", "", "", "1"]


def test_white_space_around_an_entry_is_no_damage_and_anything_else_is() -> None:
    line = '{"eventMessage": "a"}'
    spaces = [f"{line}\r", f" {line}\t", f"{line}\v", f"{line}x", f"{line}{line}", line[:-1], f"[{line}]"]
    assert [parse_object(text.encode()) is not None for text in spaces] == [True, True, *[False] * 5]
