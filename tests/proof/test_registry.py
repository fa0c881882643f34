"""The registry of claims that were never tried: whole, in step with docs/untested.md, and linked from the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generators import fill_parts
from tracekit.proof.claim import describe_needs, load_claims
from tracekit.proof.trials import TRIALS, TRIED_CLAIMS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
UNTRIED = re.compile(r"\b(un|never |not )(been )?tried\b|\bnever (been )?run\b|\buntested\b", re.IGNORECASE)
"""Words of a statement that something was never tried."""


def test_the_page_has_each_claim_with_its_command() -> None:
    text = fill_parts((DOCS / "untested.md").read_text("utf-8"))
    for claim in load_claims().values():
        (section,) = re.findall(rf"^### {claim.id}\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
        assert claim.statement in section and f"```bash\n{claim.command}\n```" in section
        assert ("`tracekit prove` tries it" in section) == (claim.id in TRIED_CLAIMS)


@pytest.mark.parametrize("claim", load_claims().values(), ids=lambda claim: claim.id)
def test_a_claim_is_whole(claim: object) -> None:
    for name in ("subject", "statement", "believed", "command", "holds_if"):
        assert getattr(claim, name).strip()
    assert claim.statement.endswith(".") and not claim.believed.endswith(".")  # type: ignore[attr-defined]
    assert (DOCS / claim.page).is_file()  # type: ignore[attr-defined]


def test_each_trial_has_claims_of_the_registry_and_none_is_tried_twice() -> None:
    tried = [claim for trial in TRIALS for claim in trial.claims]
    assert len(tried) == len(set(tried)) and load_claims().keys() >= TRIED_CLAIMS


def test_needs_are_words() -> None:
    claims = load_claims()
    assert (
        describe_needs(claims["core-ai-privilege"]) == "a Mac, Xcode 27 or later, an account that is not root"
    )
    assert (
        describe_needs(claims["plan-program-coreai"])
        == "a Mac, Apple's package coreai-core, Xcode 27 or later"
    )


@pytest.mark.parametrize("page", sorted({claim.page for claim in load_claims().values()} - {"untested.md"}))
def test_a_page_that_rests_on_claims_links_to_them(page: str) -> None:
    assert "untested.md" in (DOCS / page).read_text("utf-8")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_no_page_has_an_untried_statement_without_the_list(page: Path) -> None:
    text = page.read_text("utf-8")
    if page.name not in ("untested.md", "index.md") and UNTRIED.search(text):
        assert "untested.md" in text
