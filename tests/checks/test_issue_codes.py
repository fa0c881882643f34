"""Each issue code stands once, under the part that it limits, and some code makes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from tracekit.model import issue_codes
from tracekit.model.issue_codes import DAMAGE, ISSUE_CODES, REACH_OF_CODE, RUN, parse_issue_code

TRACEKIT = Path(issue_codes.__file__).parents[1]


def test_each_code_stands_once() -> None:
    declared = Counter(code for group in get_args(issue_codes.IssueCode) for code in get_args(group))
    assert [code for code, count in declared.items() if count > 1] == []
    assert set(declared) == set(REACH_OF_CODE)


@pytest.mark.integration  # reads every module
def test_each_code_is_made() -> None:
    made = "".join(
        path.read_text(encoding="utf-8")
        for path in TRACEKIT.rglob("*.py")
        if path != Path(issue_codes.__file__)
    )
    not_made = [code for code in ISSUE_CODES if f'"{code}"' not in made]
    assert not_made == ["unknown-issue"]  # made from a file that states an unknown code


def test_a_code_of_a_file_is_a_known_one_or_unknown_issue() -> None:
    assert parse_issue_code("table-unreadable") == "table-unreadable"
    assert parse_issue_code("table\x1b[31m") == "unknown-issue"
    assert REACH_OF_CODE["unknown-issue"] == RUN


def test_what_is_damage() -> None:
    assert {"names-damaged", "table-unreadable", "recording-unfinished"} <= DAMAGE
    assert set(ISSUE_CODES) >= DAMAGE
    assert "null-values" not in DAMAGE
