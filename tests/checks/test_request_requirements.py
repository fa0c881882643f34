"""Requirements on requests to language models: literal signposts in, outcomes out."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from evidence_support import Signpost
from generation_support import analysis_of, extend, generate, prompt, span

from tracekit.checks.check import check
from tracekit.checks.parser import parse_requirement
from tracekit.errors import UsageError
from tracekit.report.checks.json import to_json
from tracekit.report.checks.text import to_text
from tracekit.statistics.rates import estimate_rate

SCHEMA = Path(__file__).parents[2] / "docs" / "tracekit-check-1.schema.json"


def steady(tokens: int = 60) -> list[Signpost]:
    """A request of 50 ms of prefill and tokens that take 10 ms each: 100 tokens per second."""
    return [span("ModelLoad", 0, 1, "model=Chat"), *generate(10, 500, tokens)]


def outcomes(posts: list[Signpost], *requirements: str) -> list[str]:
    return [result.outcome for result in check(analysis_of(posts), requirements)]


def test_a_rate_is_judged_with_the_spread_of_runs() -> None:
    assert outcomes(
        steady(), "tokens per second >= 80 in decode", "tokens per second >= 100", "tokens per second > 130"
    ) == ["passed", "open", "failed"]


def test_the_rate_of_prefill() -> None:
    posts = [*generate(10, 500, 3), *generate(500, 500, 3), *generate(900, 500, 3)]
    (result,) = check(analysis_of(posts), ["min tokens per second in prefill >= 9999"])
    assert (result.outcome, result.actual.low, result.actual.noun) == ("passed", 10_000.0, "prompt")


def test_the_time_to_the_first_token_is_that_of_the_slowest_request() -> None:
    posts = [*generate(10, 500, 3), prompt(500, 590, 500), extend(590, 600, 1, 501)]
    assert outcomes(
        posts,
        "time to first token <= 90ms",
        "time to first token <= 89ms",
        "p50 time to first token <= 50ms",
        "mean time to first token <= 70ms",
    ) == ["passed", "failed", "passed", "passed"]


def test_a_prefill_that_the_recording_cuts_takes_at_least_until_its_end() -> None:
    posts = [
        *generate(10, 500, 3),
        span("Prompt", 500, 500, "tokens=9", kind="begin"),
        span("Reset", 520, 600),
    ]
    analysis = analysis_of(posts)
    results = check(analysis, ["time to first token <= 300ms", "time to first token <= 40ms"])
    assert [result.outcome for result in results] == ["not measurable", "failed"]
    assert "the recording has no first token of 1 request" in results[0].actual.note


@pytest.mark.parametrize("requirement", ["tokens per second >= 20", "time to first token <= 300ms"])
def test_what_is_not_measurable(requirement: str) -> None:
    at_once = [*generate(10, 500, 5), *generate(20, 500, 5)]
    results = [
        *check(analysis_of([span("Reset", 1, 2)]), [requirement]),
        *check(analysis_of(at_once), [requirement]),
        *check(analysis_of(steady()), [f"{requirement} in Other"]),
    ]
    assert {result.outcome for result in results} == {"not measurable"}
    assert [result.actual.missing for result in results] == [
        "no signpost marks a request to a language model (--request-spans names those of an app)",
        "there are 2 requests at once with others, whose tokens are not told apart",
        "no request is to a model 'Other'; the requests have Chat",
    ]


def test_the_words_and_the_document() -> None:
    results = check(analysis_of(steady()), ["tokens per second >= 80 in Chat", "time to first token <= 1s"])
    text = " ".join(to_text(results, "literal").split())
    assert "tokens per second in decode is 100.0 tokens/s" in text
    assert "(measured, 59 tokens)" in text
    assert "max time to first token is 50.000 ms (measured, 1 request)" in text
    document = json.loads(to_json(results, "literal"))
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tokens > 3", "'per' is missing after 'tokens'"),
        ("tokens per minute > 3", "'second' is missing after 'per'"),
        ("p90 tokens per second > 3", "are a mean over all tokens"),
        ("time to token < 3ms", "'first' is missing after 'to'"),
        ("tokens per second > 3ms", "is a rate and takes no unit"),
        ("time to first token < 3", "a time with a unit is expected"),
    ],
)
def test_mistakes_are_pointed_at(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_requirement(text)


def test_a_rate_with_bursts_has_the_rate_of_all() -> None:
    # Speculative decoding: 1 token in 10 ms, then 4 in 20 ms, and so on.
    counts, lengths = np.tile([1.0, 4.0], 50), np.tile([0.01, 0.02], 50)
    rate = estimate_rate(counts, lengths)
    assert rate.value == pytest.approx(250 / 1.5)
    low, high = rate.compute_interval(0.95)
    assert low < rate.value < high
    assert high - low < 0.3 * rate.value


@pytest.mark.integration
def test_intervals_of_rates_cover_the_truth() -> None:
    random, covered, trials = np.random.default_rng(3), 0, 400
    for _ in range(trials):
        counts = random.integers(1, 5, 80).astype(float)
        lengths = 0.008 + 0.003 * counts + random.exponential(0.002, 80)
        low, high = estimate_rate(counts, lengths).compute_interval(0.95)
        covered += low <= 2.5 / (0.008 + 0.003 * 2.5 + 0.002) <= high
    assert covered / trials >= 0.92
