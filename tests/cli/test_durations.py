"""Times and sizes on the command line."""

from __future__ import annotations

import click
import pytest

from tracekit.cli.durations import parse_seconds, parse_size_bytes

CONTEXT, OPTION = click.Context(click.Command("record")), click.Option(["--time-limit"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1ms", 0.001),
        ("500ms", 0.5),
        ("10s", 10),
        ("1.5s", 1.5),
        ("5m", 300),
        ("0.5h", 1800),
        ("168h", 604800),
        (None, None),
    ],
)
def test_a_time_is_read(text: str | None, expected: float | None) -> None:
    assert parse_seconds(CONTEXT, OPTION, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "s",
        "0s",
        "0.1ms",
        "-1s",
        "1d",
        "10 s",
        "10S",
        "1s\n",
        "1,5s",
        "1e3s",
        "inf",
        "nans",
        "169h",
        "٣s",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time such as 500ms, 10s, 5m or 1h"):
        parse_seconds(CONTEXT, OPTION, text)


@pytest.mark.parametrize("text", ["9" * 400 + "h", "1" + "0" * 400 + "s"])
def test_a_time_beyond_all_numbers_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_seconds(CONTEXT, OPTION, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0MB", 0),
        ("1KB", 1000),
        ("500MB", 500_000_000),
        ("1.5 gb", 1_500_000_000),
        ("2TB", 2_000_000_000_000),
    ],
)
def test_a_size_is_read(text: str, expected: int) -> None:
    assert parse_size_bytes(CONTEXT, OPTION, text) == expected


@pytest.mark.parametrize("text", ["", "500", "GB", "-1GB", "1GiB", "1G", "1,5GB", "٣GB", "9" * 400 + "TB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        parse_size_bytes(CONTEXT, OPTION, text)
