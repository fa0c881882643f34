"""The rules as data: each matches its examples and nothing of its counter-examples, and cites its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rule_examples import find_matches

from tracekit.errors import InputError
from tracekit.mlmodels.rules.known_operators import KNOWN_KINDS
from tracekit.mlmodels.rules.model_rules_file import load_rules, read_rules_file
from tracekit.mlmodels.rules.rule import ModelRule, RuleExample
from tracekit.mlmodels.rules.rule_target import CHIPS, make_target

RULES = load_rules()
REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "ane_rules.md"


def iter_examples() -> Iterator[tuple[str, RuleExample]]:
    """Yield every rule's id with every example of it."""
    for rule in RULES:
        for example in rule.examples:
            yield rule.id, example


@pytest.mark.parametrize(("rule_id", "example"), list(iter_examples()))
def test_a_rule_matches_what_its_example_states(rule_id: str, example: RuleExample) -> None:
    assert find_matches(rule_id, example) == list(example.matches)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_checked_rule_has_an_example_and_a_counter_example(rule: ModelRule) -> None:
    if not rule.unchecked:
        assert any(example.matches for example in rule.examples)
        shown = [name for example in rule.examples for name in example.matches]
        named = [
            *(item["name"] for example in rule.examples for item in (*example.inputs, *example.states)),
            *(name for example in rule.examples for name in re.findall(r"> (\w+) =", example.mil)),
        ]
        assert not all(example.matches for example in rule.examples) or set(named) - set(shown)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_claim_has_a_source_a_grade_and_chips_that_can_be_named(rule: ModelRule) -> None:
    families = {chip.family for chip in CHIPS}
    for claim in rule.claims:
        assert claim.sources
        assert claim.grades
        assert claim.scope
        assert set(claim.chips) <= families
        for system in claim.systems:
            assert make_target("", system).system
        known = frozenset().union(*(KNOWN_KINDS[form] for form in claim.forms)) if claim.forms else None
        if claim.subject == "operation" and known is not None:
            assert set(claim.kinds) <= known | {"custom", "cond"}, rule.id


def test_only_a_direct_compile_claim_rests_on_direct_compilation_alone() -> None:
    direct = {"sbryngelson/ane-guide (arXiv:2606.22283)", "sbryngelson/ANEForge#137"}
    for rule in RULES:
        for claim in rule.claims:
            if claim.route != "direct compile" and claim.is_checked and set(claim.sources) <= direct:
                pytest.fail(f"{rule.id}: {claim.scope}")


def test_nothing_promises_speed() -> None:
    for rule in RULES:
        assert not re.search(
            r"\b(will be|becomes?|is) (?:\w+ )?faster\b", f"{rule.explanation} {rule.fix}"
        ), rule.id


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the collected references are not here")
def test_every_rule_of_the_reference_is_there() -> None:
    listed = re.findall(r"^\| ([A-Z]{2}\d\d)\b", REFERENCE.read_text(), re.MULTILINE)
    assert len(listed) == 79
    assert set(listed) - {rule.id for rule in RULES} == set()


MISTAKES = {
    "no claim": ('id = "XX01"\ntitle = "t"\nexplanation = "e"', "either a claim that is checked or a reason"),
    "unknown key": (
        'id = "XX01"\ntitle = "t"\nexplanation = "e"\nspeed = 2\nunchecked = "r"',
        "unknown key 'speed'",
    ),
    "no title": ('id = "XX01"\nexplanation = "e"\nunchecked = "r"', "lacks 'title'"),
    "no TOML": ("id = ", "is not valid TOML"),
}
CLAIM = (
    'id = "XX01"\ntitle = "t"\nexplanation = "e"\n[[rule.claim]]\nroute = "Core ML"\neffect = "{effect}"\n'
)
CLAIM += 'grades = ["measured"]\nscope = "s"\nsources = ["{source}"]\n{more}'


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_rule_is_named(tmp_path: Path, name: str) -> None:
    text, message = MISTAKES[name]
    path = tmp_path / "rules.toml"
    path.write_text(f"[[rule]]\n{text}\n")
    with pytest.raises(InputError, match=re.escape(message)):
        read_rules_file(path)


@pytest.mark.parametrize(
    ("effect", "source", "more", "message"),
    [
        ("faster", "m4-study", 'kinds = ["conv"]', "'faster' is no effect"),
        ("leaves", "hearsay", 'kinds = ["conv"]', "cites 'hearsay'"),
        ("leaves", "m4-study", "", "a claim about everything"),
        ("leaves", "m4-study", 'conditions = [{ test = "shape" }]', "whose 'test' is none of output,"),
        (
            "leaves",
            "m4-study",
            'conditions = [{ test = "number", above = 1 }]',
            "'number' without 'parameter'",
        ),
        (
            "leaves",
            "m4-study",
            'conditions = [{ test = "output", size = 1 }]',
            "'output' with the unknown key 'size'",
        ),
    ],
)
def test_a_mistake_in_a_claim_is_named(
    tmp_path: Path, effect: str, source: str, more: str, message: str
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\n" + CLAIM.format(effect=effect, source=source, more=more) + "\n")
    with pytest.raises(InputError, match=re.escape(message)):
        read_rules_file(path)
