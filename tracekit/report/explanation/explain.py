"""``explain``: what is stated about a name, whatever it names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tracekit.analysis.budget.parts import BUDGET_KINDS, BUDGET_PARTS
from tracekit.checks.grammar import GRAMMARS
from tracekit.columns.frames import FRAMES
from tracekit.errors import EXIT_CODES, UsageError
from tracekit.fleet.schema import TABLES
from tracekit.model.columns import get_unit
from tracekit.report.document.blocks import Block, Fact, Facts, Paragraph, Section
from tracekit.report.explanation.documented_texts import read_findings, read_issues, remove_links
from tracekit.report.models.rules_document import build_rule_sections
from tracekit.report.wording.budget import PART_WORDS
from tracekit.report.wording.budget_evidence import BUDGET_EVIDENCE
from tracekit.report.wording.terms import BASIS_MEANINGS, ENGINE_MEANINGS, MIXED_MEANING
from tracekit.text import clip, printable

_MOST_CLOSE = 3
_NAME_WIDTH = 60

_WORDS = MappingProxyType({str(part): words.name for part, words in PART_WORDS.items()})
"""The words that outputs print in the place of a name."""

Entry: TypeAlias = tuple[str, tuple[Block, ...]]
"""A name, and what is stated about it."""


def explain(name: str) -> list[Section]:
    """Return what is stated about everything of a name or its words, in any case. Raises ``UsageError``."""
    wanted = name.lower()
    sections = [
        Section(known, f"{known} ({subject})", blocks)
        for subject, collect in _SUBJECTS.items()
        for known, blocks in collect()
        if wanted in (known.lower(), _WORDS.get(known, known).lower())
    ]
    sections += build_rule_sections(name) if name else []
    if not sections:
        raise UsageError(_describe_unknown(name))
    return sections


def list_names() -> Iterator[str]:
    """Yield every name but those of rules, which ``tracekit rules`` lists; a name of two subjects once."""
    yield from dict.fromkeys(name for collect in _SUBJECTS.values() for name, _ in collect())


def _describe_unknown(name: str) -> str:
    close = difflib.get_close_matches(name, list_names(), _MOST_CLOSE)
    advice = (
        f"Similar names: {', '.join(close)}."
        if close
        else "Names are those that outputs print; tracekit rules lists those of rules."
    )
    return f"Nothing that is explained here has the name '{clip(printable(name), _NAME_WIDTH)}'. {advice}"


def _collect_findings() -> Iterator[Entry]:
    yield from ((name, _to_blocks(texts)) for name, texts in read_findings().items())


def _collect_issues() -> Iterator[Entry]:
    yield from ((name, _to_blocks(texts)) for name, texts in read_issues().items())


def _collect_parts() -> Iterator[Entry]:
    for part in BUDGET_PARTS:
        words = PART_WORDS[part]
        bases = ", ".join(str(kind.basis) for kind in BUDGET_KINDS if kind.part is part and kind.basis)
        facts = {
            "Name": words.name,
            "Sign": words.sign,
            "Basis": bases or "none",
            "Shown by": BUDGET_EVIDENCE[part],
        }
        yield (
            str(part),
            (_write_paragraph(words.meaning), Facts(tuple(Fact(*fact) for fact in facts.items()))),
        )


def _collect_engines() -> Iterator[Entry]:
    for engine, meaning in ENGINE_MEANINGS.items():
        yield str(engine), (Paragraph(meaning),)
    yield "MIXED", (Paragraph(MIXED_MEANING),)


def _collect_bases() -> Iterator[Entry]:
    for basis, meaning in BASIS_MEANINGS.items():
        yield str(basis), (Paragraph(meaning), Paragraph("Numbers of two bases are never added up."))


def _collect_exit_codes() -> Iterator[Entry]:
    for code, entry in EXIT_CODES.items():
        yield str(code), (_write_paragraph(entry.summary), Paragraph(entry.meaning))


def _collect_languages() -> Iterator[Entry]:
    for name, grammar in GRAMMARS.items():
        yield name, (Facts(tuple(Fact(word, " | ".join(forms)) for word, forms in grammar.items())),)


def _collect_columns() -> Iterator[Entry]:
    """Yield each column's name once, with a fact for each frame and each meaning in a dataset."""
    facts: dict[str, list[Fact]] = {}
    for frame, columns in FRAMES.items():
        for name, column in columns.select("frame"):
            known = ", ".join(filter(None, (str(column.type), get_unit(name), column.basis)))
            meaning = remove_links(column.meaning)
            facts.setdefault(name, []).append(Fact(f"analysis.{frame}", f"{meaning} ({known})"))
    tables: dict[tuple[str, str], list[str]] = {}
    for table, declared in TABLES.items():
        for name, entry in declared.items():
            tables.setdefault((name, entry.meaning), []).append(table)
    for (name, meaning), places in tables.items():
        where = "dataset" if len(places) > 1 else f"dataset, {places[0]}"
        facts.setdefault(name, []).append(Fact(where, meaning.replace("``", "'")))
    for name, entries in facts.items():
        yield name, (Facts(tuple(entries)),)


_SUBJECTS: Mapping[str, Callable[[], Iterable[Entry]]] = MappingProxyType(
    {
        "finding": _collect_findings,
        "issue": _collect_issues,
        "part of a call's budget": _collect_parts,
        "engine": _collect_engines,
        "basis of a number": _collect_bases,
        "exit code": _collect_exit_codes,
        "language": _collect_languages,
        "column": _collect_columns,
    }
)


def _to_blocks(texts: Iterable[str]) -> tuple[Block, ...]:
    return tuple(map(Paragraph, texts))


def _write_paragraph(clause: str) -> Paragraph:
    return Paragraph(f"{clause[0].upper()}{clause[1:]}.")
