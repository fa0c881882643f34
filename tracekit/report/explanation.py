"""``explain``: what the documentation states about a kind of finding, an issue code or a rule."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.report.document.blocks import Paragraph, Section
from tracekit.report.models.rules_document import build_rule_sections
from tracekit.text import clip, printable

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "findings.md", _PACKAGE.parents[1] / "docs" / "findings.md")
"""Of an installed package, and of a checkout."""
_FINDING = re.compile(r"^### (\S+)\n\n(.+?)(?=\n#|\Z)", re.MULTILINE | re.DOTALL)
_ISSUE = re.compile(r"^\| (`.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
_CODE = re.compile(r"`([\w-]+)`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MOST_CLOSE = 3
_NAME_WIDTH = 60


def explain(name: str) -> Section:
    """Return the documentation of a kind of finding, of an issue code or of a rule."""
    texts = _read_texts()
    if name not in texts:
        if rules := build_rule_sections(name):
            return rules[0]
        close = difflib.get_close_matches(name, texts, _MOST_CLOSE)
        advice = (
            f"Similar names: {', '.join(close)}."
            if close
            else "Names are those that analyze and tracekit rules print."
        )
        wrong = clip(printable(name), _NAME_WIDTH)
        raise UsageError(f"No kind of finding, no issue code and no rule has the name {wrong!r}. {advice}")
    return Section(name, name, tuple(map(Paragraph, texts[name])))


def _read_texts() -> dict[str, list[str]]:
    """Return the paragraphs about each kind of finding and each issue code."""
    text = _LINK.sub(r"\1", next(path for path in _PLACES if path.is_file()).read_text("utf-8"))
    findings, _, issues = text.partition("\n## Issues\n")
    texts = {
        kind: [" ".join(part.split()) for part in body.split("\n\n")]
        for kind, body in _FINDING.findall(findings)
    }
    for codes, meaning, advice in _ISSUE.findall(issues):
        paragraphs = [_write_sentence(meaning), _write_sentence(f"To do: {advice}") if advice else ""]
        for code in _CODE.findall(codes):
            texts[code] = [*texts.get(code, []), *filter(None, paragraphs)]
    return texts


def _write_sentence(text: str) -> str:
    """Return a table's cell as a sentence."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
