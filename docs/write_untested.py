"""docs/untested.md: the claims that were never tried, from their registry.

python docs/write_untested.py     writes it (make columns)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tracekit.proof.claim import UntriedClaim, describe_needs, load_claims
from tracekit.proof.trials import TRIED_CLAIMS

PAGE = Path(__file__).with_name("untested.md")
_BEGIN, _END = "<!-- claims: make columns -->", "<!-- end of claims -->"


def render_page() -> str:
    """Return the page with its claims written again; what stands around them stays."""
    text = PAGE.read_text("utf-8")
    head, tail = text.partition(_BEGIN)[0], text.partition(_END)[2]
    return "\n".join([head + _BEGIN, *list_claims(), _END + tail])


def list_claims() -> Iterator[str]:
    """Yield the claims, each under a heading, below their subjects."""
    for subject, claims in groupby(load_claims().values(), lambda claim: claim.subject):
        yield f"## {subject}"
        yield ""
        for claim in claims:
            yield from describe_claim(claim)


def describe_claim(claim: UntriedClaim) -> Iterator[str]:
    """Yield the lines of one claim."""
    yield f"### {claim.id}"
    yield ""
    yield claim.statement
    yield ""
    yield f"- Believed: {claim.believed}."
    yield f"- Needs: {describe_needs(claim)}."
    if claim.id in TRIED_CLAIMS:
        yield "- `tracekit prove` tries it."
    yield f"- It holds if {claim.holds_if}:"
    yield ""
    yield "  ```bash"
    yield f"  {claim.command}"
    yield "  ```"
    yield ""
    if claim.page != PAGE.name:
        yield f"- Rests on it: [{claim.page.removesuffix('.md')}]({claim.page})"
        yield ""


if __name__ == "__main__":
    PAGE.write_text(render_page(), "utf-8")
