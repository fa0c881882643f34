"""The rules about models and about stacks, from the files of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tracekit.analysis.classification.rule_set import load_rules as load_rule_set
from tracekit.mlmodels.rules import ModelRule, load_rules
from tracekit.mlmodels.rules.predicates import PREDICATES
from tracekit.mlmodels.rules.rule_target import CHIPS
from tracekit.report.models.rule_words import (
    EFFECT_WORDS,
    describe_evidence,
    describe_match,
    describe_sources,
)


def list_chips() -> Iterator[str]:
    """Yield the table of chips."""
    yield "| chip | compilers' name of its engine | read from |"
    yield "|---|---|---|"
    for chip in CHIPS:
        name = ", ".join(f"`{name}`" for name in chip.architectures) or "not established"
        yield f"| {chip.name} | {name if chip.has_engine else 'no engine for apps'} | {chip.source} |"


def list_tests() -> Iterator[str]:
    """Yield the table of conditions."""
    yield "| subject | test | matches |"
    yield "|---|---|---|"
    for subject, tests in PREDICATES.items():
        for name, test in tests.items():
            first_line = (
                (test.__doc__ or "").strip().splitlines()[0].removeprefix("Match ").replace("``", "`")
            )
            yield f"| {subject} | `{name}` | {first_line.rstrip('.')} |"


def list_rules() -> Iterator[str]:
    """Yield the rules, each under a heading."""
    for rule in load_rules():
        yield f"### {rule.id}"
        yield ""
        yield f"**{escape(rule.title)}.** {escape(rule.explanation)}"
        if rule.unchecked:
            yield f"Not checked: {escape(rule.unchecked)}."
        yield ""
        yield from list_claims(rule)
        if rule.fix:
            yield f"- To do: {escape(rule.fix)}"
        yield ""


def list_claims(rule: ModelRule) -> Iterator[str]:
    """Yield the claims of a rule as lines of a list."""
    for claim in rule.claims:
        forms = f"{' or '.join(claim.forms)}: " if claim.forms else ""
        checked = f"; checked on {escape(forms + describe_match(claim))}" if claim.is_checked else ""
        yield (
            f"- {EFFECT_WORDS[claim.effect]}; {escape(describe_evidence(claim))}; "
            f"{escape(describe_sources(claim))}{checked}"
        )
        yield from (f"- against it: {escape(text)}" for text in claim.contradicted_by)


def escape(text: str) -> str:
    """Return text without Markdown's meaning of underscores and asterisks."""
    return text.replace("_", "\\_").replace("*", "\\*").replace("|", "\\|")


def list_stack_rules() -> Iterator[str]:
    """Yield the table of the rules about stacks, in their order of precedence."""
    yield "| rule | engine | phase | strength | meaning | confidence | source |"
    yield "|---|---|---|---|---|---|---|"
    for rule in load_rule_set().rules:
        engine = "" if rule.strength == "plumbing" else rule.engine
        cells = (engine, rule.phase or "", rule.strength, rule.means, rule.confidence, rule.source)
        yield f"| `{rule.id}` | {' | '.join(map(escape, cells))} |"


def _join(build: Callable[[], Iterator[str]]) -> Callable[[], str]:
    return lambda: "\n".join(build())


PARTS: Mapping[str, Callable[[], str]] = {
    "chips": _join(list_chips),
    "conditions-of-rules": _join(list_tests),
    "rules-about-models": _join(list_rules),
    "rules-about-stacks": _join(list_stack_rules),
}
