"""Each kind of finding and each issue code is documented in docs/findings.md, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

from tracekit.analysis.findings.find import KINDS, MORE_FINDINGS
from tracekit.model.issue_codes import ISSUE_CODES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "findings.md").read_text()
FINDINGS, ISSUES = TEXT.split("\n## Issues\n")


def test_each_kind_of_finding_has_a_section() -> None:
    sections = dict(re.findall(r"^### (\S+)\n\n(.+?)(?=\n#|\Z)", FINDINGS, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted([*KINDS, MORE_FINDINGS])
    assert all(len(section) > 40 for section in sections.values())


def test_each_issue_code_has_a_row() -> None:
    rows = re.findall(r"^\| (`.+?) \| (.+?) \| .*\|$", ISSUES, re.MULTILINE)
    documented = [code for codes, _ in rows for code in re.findall(r"`([\w-]+)`", codes)]
    assert sorted(documented) == sorted(ISSUE_CODES)
    assert all(len(meaning) > 10 for _, meaning in rows)
