"""The findings of a lint as a document: a section for each rule, with places and evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracekit.mlmodels.rules.lint import EFFECTS, LintResult, MatchPlace, RuleFinding
from tracekit.report.document.blocks import (
    Block,
    Fact,
    Facts,
    Headline,
    Item,
    Items,
    Paragraph,
    Section,
    Table,
    count_note,
)
from tracekit.report.models.rule_words import (
    EFFECT_WORDS,
    describe_evidence,
    describe_sources,
    describe_target,
)
from tracekit.text import list_first, plural

_MOST_PLACES = 20
_MOST_NAMES = 12


def build_lint(result: LintResult) -> list[Section]:
    """Return the sections of a lint: the summary, a section for each rule, and what was not covered."""
    facts = [Fact("Model", f"{result.model.path.name} ({result.model.form})")]
    if target := describe_target(result.target):
        facts.append(Fact("Rules about", target))
    lead = Section(
        "lint", "Lint", (Headline(_summarize(result)), Facts(tuple(facts)), Paragraph(_list_effects(result)))
    )
    sections = [lead, *(_build_finding(finding) for finding in result.findings)]
    if limits := list(_list_limits(result)):
        items = Items(tuple(map(Item, limits)), is_of_limits=True)
        sections.append(Section("limits", "What this does not cover", (items,)))
    return sections


def _summarize(result: LintResult) -> str:
    held = f"{plural(result.rules, 'rule')} held against {plural(result.operations, 'operation')}"
    if not result.findings:
        return f"No rule matches: {held}."
    places = sum(len(finding.places) for finding in result.findings)
    verb = "matches" if len(result.findings) == 1 else "match"
    return f"{plural(len(result.findings), 'rule')} {verb} in {plural(places, 'place')}: {held}."


def _list_effects(result: LintResult) -> str:
    counts = Counter(finding.effect for finding in result.findings)
    effects = [f"{EFFECT_WORDS[effect]}: {counts[effect]}" for effect in EFFECTS if counts[effect]]
    listed = f"By effect: {'; '.join(effects)}. " if effects else ""
    return (
        f"{listed}Rules are hints, each with its evidence. Where an operation runs is anticipated by a plan"
        " and observed in a recording."
    )


def _build_finding(finding: RuleFinding) -> Section:
    rule = finding.rule
    blocks: list[Block] = [Paragraph(rule.explanation), *_list_places(finding)]
    facts = [Fact("Evidence", describe_evidence(claim)) for claim in finding.claims]
    facts += [Fact("Source", text) for text in dict.fromkeys(map(describe_sources, finding.claims))]
    contradictions = dict.fromkeys(text for claim in finding.claims for text in claim.contradicted_by)
    facts += [Fact("Against it", text) for text in contradictions]
    if rule.fix:
        facts.append(Fact("To do", rule.fix))
    blocks.append(Facts(tuple(facts)))
    return Section(rule.id, f"{rule.id} {rule.title}", tuple(blocks), about=EFFECT_WORDS[finding.effect])


def _list_places(finding: RuleFinding) -> Iterator[Block]:
    """Yield a table of places; operations that only follow from another one are counted in its row."""
    followers = Counter((place.path, place.upstream) for place in finding.places if place.upstream)
    starts = [place for place in finding.places if not place.upstream]
    operations = [place for place in starts if place.role == "operation"]
    others = [place for place in starts if place.role != "operation"]
    if operations:
        has_source = any(place.source for place in operations)
        rows = [_make_row(place, followers, has_source) for place in operations[:_MOST_PLACES]]
        header = ["operation", "kind", "what matched", *(["source"] if has_source else [])]
        yield Table.from_rows(header, rows)
    if others:
        yield Table.from_rows(
            ("place", "name", "what matched"),
            [(place.role, _qualify(place), place.evidence) for place in others[:_MOST_PLACES]],
        )
    hidden = max(0, len(operations) - _MOST_PLACES) + max(0, len(others) - _MOST_PLACES)
    if hidden:
        yield Items((Item(count_note(hidden)),))


def _make_row(place: MatchPlace, followers: Counter[tuple[str, str]], has_source: bool) -> Sequence[str]:
    count = followers[place.path, place.name]
    following = f"; {plural(count, 'operation')} behind it" if count else ""
    row = (_qualify(place), place.kind, f"{place.evidence or 'its kind'}{following}")
    return (*row, place.source) if has_source else row


def _qualify(place: MatchPlace) -> str:
    return f"{place.path}/{place.name}" if place.path else place.name


def _list_limits(result: LintResult) -> Iterator[str]:
    if result.unknown:
        kinds = [f"{kind} ({count:,})" for kind, count in result.unknown.items()]
        yield (
            f"{plural(sum(result.unknown.values()), 'operation')} of kinds that no rule can be about, because"
            f" they are not known: {list_first(kinds, _MOST_NAMES)}."
        )
    if result.left_out:
        # A rule about other chips may hold for this one as well: it was not measured there.
        reason = f"no source states them for {describe_target(result.target)}"
        if not result.target.uses_engine:
            reason = f"{result.target.units} does not use the Neural Engine"
        names = list_first(result.left_out, _MOST_NAMES)
        yield f"{plural(len(result.left_out), 'rule')} left out, because {reason}: {names}."
    yield from result.model.limits
