"""The claims that were never tried, from their registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from tracekit.proof.claim import UntriedClaim, describe_needs, load_claims
from tracekit.proof.trials import TRIED_CLAIMS

PAGE = "untested.md"


def list_claims() -> str:
    """Return the claims, each under a heading, below their subjects."""
    return "\n".join(_iter_lines())


def _iter_lines() -> Iterator[str]:
    for subject, claims in groupby(load_claims().values(), lambda claim: claim.subject):
        yield from (f"## {subject}", "")
        for claim in claims:
            yield from describe_claim(claim)


def describe_claim(claim: UntriedClaim) -> Iterator[str]:
    """Yield the lines of one claim."""
    yield from (f"### {claim.id}", "", claim.statement, "")
    yield f"- Believed: {claim.believed}."
    yield f"- Needs: {describe_needs(claim)}."
    if claim.id in TRIED_CLAIMS:
        yield "- `tracekit prove` tries it."
    if claim.page != PAGE:
        yield f"- Rests on it: [{claim.page.removesuffix('.md')}]({claim.page})."
    yield f"- It holds if {claim.holds_if}:"
    yield from ("", "```bash", claim.command, "```", "")


PARTS: Mapping[str, Callable[[], str]] = {"untested-claims": list_claims}
