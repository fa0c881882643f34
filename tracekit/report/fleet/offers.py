"""The list of questions with what a dataset lacks for each, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tracekit.fleet.questions.question import Question
from tracekit.fleet.questions.registry import Offer, describe_column, iter_parameters
from tracekit.text import escape_json, plural, printable, wrap


def offers_text(offers: Sequence[Offer], width: int) -> str:
    """Return the questions that are offered, with their parameters, then the others."""
    offered = [offer.question for offer in offers if not offer.missing]
    lines = [f"{plural(len(offered), 'question')} of {len(offers)} can be answered:"]
    for question in offered:
        lines += ["", *_describe_question(question, width)]
    if lacking := [offer for offer in offers if offer.missing]:
        lines += ["", "No recording has what these need:"]
        for offer in lacking:
            lines += ["", f"{offer.question.name}  {offer.question.title}"]
            lines += [wrap(f"{need}: {describe_column(need)}", "    ", width) for need in offer.missing]
    return "\n".join(lines) + "\n"


def _describe_question(question: Question, width: int) -> list[str]:
    lines = [f"{question.name}  {question.title}"]
    parameters = list(iter_parameters(question))
    for name, default, text in parameters:
        if default:
            lines.append(wrap(f"{name}={printable(default)}: {text}", "    ", width))
    if filters := [name for name, default, _ in parameters if not default]:
        lines.append(wrap(f"filters: {', '.join(filters)}", "    ", width))
    return lines


def offers_json(offers: Sequence[Offer]) -> str:
    """Return the questions as a JSON document."""
    document = {
        "questions": [
            {
                "name": offer.question.name,
                "title": offer.question.title,
                "offered": not offer.missing,
                "needs": {table: list(columns) for table, columns in offer.question.needs.items()},
                "missing": list(offer.missing),
                "parameters": [
                    {"name": name, "default": default, "meaning": text}
                    for name, default, text in iter_parameters(offer.question)
                ],
            }
            for offer in offers
        ]
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1)) + "\n"
