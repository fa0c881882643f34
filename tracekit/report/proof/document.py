"""The outcomes of claims as a document: what did not hold, what held, and why the others were not tried."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.proof.claim import load_claims
from tracekit.proof.claim_outcome import OutcomeState
from tracekit.proof.prove import Proof
from tracekit.report.document.blocks import Block, Headline, Item, Items, Paragraph, Section
from tracekit.text import plural

_NO_MAC = "Nothing was run: this is no Mac with a working Xcode."


def build_proof(proof: Proof) -> list[Section]:
    """Return the sections about the outcomes of all claims."""
    return [Section("claims", "Claims", tuple(_iter_blocks(proof)))]


def _iter_blocks(proof: Proof) -> Iterator[Block]:
    held, failed, untried = (proof.count(state) for state in ("held", "did not hold", "not tried"))
    yield Headline(
        f"{plural(held, 'claim')} held, {failed} did not hold, {untried} could not be tried here."
        if proof.xctrace
        else _NO_MAC
    )
    facts = [f"{name} {value}" for name, value in proof.surroundings.facts.items() if value]
    yield Paragraph(", ".join([*facts, *([f"xctrace {proof.xctrace}"] if proof.xctrace else [])]))
    yield from _list_outcomes(proof, "did not hold")
    yield from _list_outcomes(proof, "held")
    yield from _list_reasons(proof)


def _list_outcomes(proof: Proof, state: OutcomeState) -> Iterator[Block]:
    claims = load_claims()
    texts = [
        f"{outcome.claim}: {claims[outcome.claim].statement} Found: {outcome.finding.rstrip('.')}."
        for outcome in proof.outcomes
        if outcome.state == state
    ]
    if texts:
        yield Paragraph(f"{state.capitalize()}:")
        yield Items(tuple(map(Item, texts)))


def _list_reasons(proof: Proof) -> Iterator[Block]:
    """Yield the reasons for which claims were not tried, each with its claims."""
    by_reason: dict[str, list[str]] = {}
    for outcome in proof.outcomes:
        if outcome.state == "not tried":
            by_reason.setdefault(outcome.finding.rstrip("."), []).append(outcome.claim)
    texts = [f"{reason}: {', '.join(claims)}" for reason, claims in by_reason.items()]
    yield Paragraph("Not tried:")
    yield Items(tuple(map(Item, texts)))
