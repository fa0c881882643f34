"""Requirements on requests as Foundation Models reports them: literal requests in, outcomes out."""

from __future__ import annotations

import pytest
from generation_support import generate
from reported_support import Reported, analyze_reported

from tracekit.checks.check import check
from tracekit.checks.parser import parse_requirement
from tracekit.errors import UsageError
from tracekit.report.checks.text import to_text

STEADY = [Reported(1000, 20), Reported(2000, 40), Reported(500, 10)]
"""20 tokens of the response per second of each request."""
OTHERS = [Reported(9000, 900, errors=1), Reported(None, 50), Reported(100, -1)]
"""One that failed, one without an end, and one without known tokens."""


def outcomes(requests: list[Reported], *requirements: str) -> list[str]:
    return [result.outcome for result in check(analyze_reported(requests), requirements)]


def test_the_rate_is_that_of_all_responses() -> None:
    requirements = (
        *("response tokens per second >= 15", "response tokens per second >= 20"),
        *("response tokens per second > 30", "min response tokens per second >= 20"),
    )
    assert outcomes(STEADY, *requirements) == ["passed", "open", "failed", "passed"]


def test_the_length_is_that_of_the_longest_request() -> None:
    assert outcomes(STEADY, "request length <= 2s", "request length < 2s", "p50 request length <= 1s") == [
        "passed",
        "failed",
        "passed",
    ]


def test_failed_and_unended_requests_are_left_out_and_counted() -> None:
    analysis = analyze_reported([*STEADY, *OTHERS])
    rate, length, incomplete = check(
        analysis, ["response tokens per second <= 25", "request length <= 2s", "incomplete requests == 0"]
    )
    assert (rate.actual.low, rate.actual.windows) == (pytest.approx(20), 3)
    assert (length.actual.low, length.actual.windows, length.outcome) == (2e9, 4, "passed")
    assert (incomplete.actual.low, incomplete.actual.windows, incomplete.outcome) == (2, 6, "failed")
    text = " ".join(to_text([rate, length, incomplete], "literal").split())
    assert (
        "(measured, tokens reported, 3 requests); left out: 1 request with errors; 1 request without an end;"
        " 1 request without known tokens or length"
    ) in text
    assert "incomplete requests is 2 (measured, 6 requests); 1 request with errors; 1 request" in text


def test_a_failed_request_without_an_end_counts_once() -> None:
    (result,) = check(analyze_reported([Reported(None, 5, errors=2)]), ["incomplete requests <= 1"])
    assert (result.outcome, result.actual.low) == ("passed", 1)


def test_requests_that_signposts_mark_have_no_part_in_it() -> None:
    analysis = analyze_reported(STEADY, generate(10, 500, 60))
    reported, marked = check(analysis, ["response tokens per second <= 25", "tokens per second >= 50"])
    assert (reported.actual.low, marked.actual.low) == (pytest.approx(20), pytest.approx(100))


@pytest.mark.parametrize(
    "requirement",
    ["response tokens per second >= 0", "request length <= 9s", "incomplete requests == 0"],
)
def test_what_nothing_reports_is_not_measurable(requirement: str) -> None:
    without = check(analyze_reported([], generate(10, 500, 60)), [requirement])
    out_of_scope = check(analyze_reported(STEADY), [f"{requirement} in Other"])
    assert [(result.outcome, result.actual.missing) for result in (*without, *out_of_scope)] == [
        (
            "not measurable",
            "Foundation Models reports no request of the analyzed processes (its instrument shows them)",
        ),
        ("not measurable", "no request is to a model 'Other'; the requests have fm"),
    ]


def test_requests_of_which_none_is_complete_have_no_length_and_no_rate() -> None:
    results = check(analyze_reported(OTHERS[:2]), ["response tokens per second >= 0", "request length <= 9s"])
    assert {(result.outcome, result.actual.missing) for result in results} == {
        (
            "not measurable",
            "no request that Foundation Models reports has an end and no error; 1 request with errors;"
            " 1 request without an end",
        )
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("response per second > 3", "'tokens' is missing after 'response'"),
        ("p90 response tokens per second > 3", "are a mean over all tokens"),
        ("response tokens per second > 3 in decode > 2", "unexpected text"),
        ("request <= 2s", "'length' is missing after 'request'"),
        ("request length <= 2", "a time with a unit is expected"),
        ("incomplete requests <= 2ms", "is a count and takes no unit"),
    ],
)
def test_mistakes_are_pointed_at(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_requirement(text)
