"""The reply about requests to language models: how fast each phase is, and on which engine."""

from __future__ import annotations

from tracekit.report.recipes.query import Query, RecipeAnswer, Reply, Shortfall


def answer_language_model(query: Query) -> Reply:
    """Return the speed and the engines of prefill and decode."""
    # Few recordings have such requests: the others need none of the imports.
    from tracekit.report.analysis.requests_section import MOST_REQUESTS, build_request_tables
    from tracekit.report.wording.generation import describe_rates

    generations = query.analysis.generations
    assert generations is not None, "a recording without requests gives no reply"
    return Reply(describe_rates(generations), tuple(build_request_tables(generations, MOST_REQUESTS)))


def require_requests(query: Query) -> Shortfall | None:
    """Return a shortfall where no signpost marks a request to a language model."""
    if query.analysis.generations is not None:
        return None
    return Shortfall("no signpost marks a request to a language model")


GENERATION_ANSWERS = {"language-model": RecipeAnswer(answer_language_model, (require_requests,))}
