"""Text of numbers, quantities and lines: ``tracekit.text``."""

from __future__ import annotations

import pytest

from tracekit import text


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (123_456, "123 kB"),
        (12_345_678, "12.3 MB"),
        (5_000_000_000, "5.0 GB"),
        (7_000_000_000_000, "7,000 GB"),
        (10**15, "more than 1,000,000 GB"),
    ],
)
def test_sizes(count: int, expected: str) -> None:
    assert text.format_size(count) == expected


@pytest.mark.parametrize(
    ("length_ns", "expected"),
    [
        (5, "5 ns"),
        (1_500, "1.50 µs"),
        (12_345_678, "12.3 ms"),
        (123_456_789, "123 ms"),
        (999_900_000, "1000 ms"),
        (2_500_000_000, "2.50 s"),
        (59_990_000_000, "60.0 s"),
        (61_000_000_000, "1 min 1 s"),
    ],
)
def test_durations(length_ns: int, expected: str) -> None:
    assert text.format_duration(length_ns) == expected


@pytest.mark.parametrize(
    ("time_ns", "expected"),
    [
        (0, "0.0 ms"),
        (12_500, "12.5 µs"),
        (99_999, "100.0 µs"),
        (100_000, "0.1 ms"),
        (2_000_000_000, "2,000.0 ms"),
    ],
)
def test_times_below_a_tenth_of_a_millisecond_are_in_microseconds(time_ns: int, expected: str) -> None:
    assert text.format_ms_or_us(time_ns) == expected


@pytest.mark.parametrize(
    ("time_ns", "expected"),
    [
        (0, "0"),
        (740, "740 ns"),
        (9_996, "10.0 µs"),
        (94_000_000, "94.0 ms"),
        (999_600_000, "1.00 s"),
        (59_940_000_000, "59.9 s"),
        (59_996_000_000, "1 min 0.00 s"),
        (125_000_000_000, "2 min 5.00 s"),
    ],
)
def test_durations_of_pages_have_three_significant_digits(time_ns: int, expected: str) -> None:
    assert text.format_rounded(time_ns) == expected


def test_milliseconds_have_the_digits_requested_and_a_text_for_none() -> None:
    assert text.format_ms(1_234_567_890) == "1,234.568 ms"
    assert text.format_ms(1_234_567_890, 1) == "1,234.6 ms"
    assert text.format_ms(None) == ""
    assert text.format_ms(None, missing=text.UNAVAILABLE) == "–"


def test_weights_are_time_or_counts() -> None:
    assert text.format_weight(12_000_000, "ns") == "12.0 ms host time"
    assert text.format_weight(12_000, "cycles") == "12,000 cycles"


def test_shares() -> None:
    assert text.format_percent(0.834) == "83 %"
    assert text.format_percent(0.834, 1) == "83.4 %"


def test_seconds_of_a_recording() -> None:
    assert text.format_seconds(1_250_000_000) == "1.250 s"


def test_columns_are_aligned() -> None:
    lines = text.align(("name", "n"), [("a", "1"), ("longer", "20")], (False, True), indent="  ")
    assert lines.split("\n") == ["  name     n", "  a        1", "  longer  20"]


def test_a_thread_without_a_tid_has_its_name_alone() -> None:
    assert text.format_thread("Main Thread", 0x1F) == "Main Thread (0x1f)"
    assert text.format_thread("main", -1) == "main"
