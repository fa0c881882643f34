"""The part of the language of requirements that names numbers of requests to language models."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tracekit.checks.requirements import RATE, Metric, choose_default_statistic
from tracekit.checks.tokenizer import Tokenizer
from tracekit.comparison.metrics import FIRST_TOKEN, INCOMPLETE, REQUEST_LENGTH, RESPONSE_RATE


def take_request_metric(tokens: Tokenizer, statistic: str) -> Metric | None:
    """Read a number of requests behind its statistic; None for any other metric."""
    if tokens.take_if("tokens"):
        _require_words(tokens, "tokens", "per", "second")
        return _make_rate(tokens, RATE, statistic, "decode")
    if tokens.take_if("response"):
        _require_words(tokens, "response", "tokens", "per", "second")
        return _make_rate(tokens, RESPONSE_RATE, statistic)
    if tokens.take_if("time"):
        _require_words(tokens, "time", "to", "first", "token")
        return Metric(FIRST_TOKEN, statistic=statistic or choose_default_statistic(FIRST_TOKEN))
    if tokens.take_if("request"):
        _require_words(tokens, "request", "length")
        return Metric(REQUEST_LENGTH, statistic=statistic or choose_default_statistic(REQUEST_LENGTH))
    if not statistic and tokens.take_if("incomplete"):
        _require_words(tokens, "incomplete", "requests")
        return Metric(INCOMPLETE)
    return None


def take_phase(tokens: Tokenizer, metric: Metric) -> Metric:
    """Read ``in decode`` or ``in prefill`` behind a rate of tokens, which is else that of decode."""
    start = tokens.position
    if metric.quantity == RATE and tokens.take_if("in"):
        phase = tokens.take_if("decode", "prefill")
        if phase:
            return replace(metric, part=phase)
    tokens.position = start
    return metric


def _make_rate(tokens: Tokenizer, quantity: str, statistic: str, part: str = "") -> Metric:
    if statistic.startswith("p"):
        raise tokens.make_error("tokens per second are a mean over all tokens; min is the slowest request.")
    return Metric(quantity, statistic=statistic or choose_default_statistic(quantity), part=part)


def _require_words(tokens: Tokenizer, *words: str) -> None:
    """Read the words after the first, or raise ``UsageError``."""
    for before, word in pairwise(words):
        if not tokens.take_if(word):
            raise tokens.make_error(f"'{word}' is missing after '{before}'.")
