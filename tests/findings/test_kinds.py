"""Kinds of findings and of actions are declared once: by the detector, and by the type of actions."""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from tracekit.analysis import findings
from tracekit.analysis.findings.action import ActionKind, Purpose
from tracekit.analysis.findings.find import KINDS, MORE_FINDINGS
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.report.wording.findings import actions
from tracekit.report.wording.findings.text import SENTENCES

REPOSITORY = Path(__file__).resolve().parents[2]
MISTAKES = """
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.cores import CoreNumbers
from tracekit.analysis.findings.finding import Finding
from tracekit.model.trace import Issue
from tracekit.model.vocabulary import Basis

def make(numbers: CoreNumbers) -> None:
    Action("buy-new-phone")
    Action("compute-units", {"modell": "Net"})
    Finding(kind="on-slow-cores", severity="info", confidence="likely", basis=Basis.SAMPLED, numbers=numbers)
    Issue("warning", "table-unreadible", "a table cannot be read")
    numbers["quick"]
"""


def test_every_declared_kind_is_one_of_a_detector() -> None:
    modules = [
        import_module(f"{findings.__name__}.{module.name}")
        for module in pkgutil.iter_modules(findings.__path__)
    ]
    declared = {value for module in modules for value in vars(module).values() if isinstance(value, Kind)}
    assert declared == {*KINDS, MORE_FINDINGS}


def test_every_kind_has_sentences_and_nothing_else_has() -> None:
    assert set(SENTENCES) == {*KINDS, MORE_FINDINGS}


def test_every_action_and_every_purpose_has_a_sentence() -> None:
    assert set(actions.STEPS) == set(get_args(ActionKind))
    assert set(actions.PURPOSES) == set(get_args(Purpose))


def test_a_pickled_kind_keeps_what_is_declared_of_it() -> None:
    kind = pickle.loads(pickle.dumps(KINDS["loaded-again"]))
    assert (kind, kind.need, kind.about, kind.is_per_run) == ("loaded-again", Need.LOADS, "calls", True)


@pytest.mark.integration
def test_mypy_finds_unknown_kinds_actions_arguments_numbers_and_codes(tmp_path: Path) -> None:
    path = tmp_path / "mistakes.py"
    path.write_text(MISTAKES)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--hide-error-context", str(path)]
    checked = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    lines = [number for number, line in enumerate(MISTAKES.splitlines(), 1) if line.startswith("    ")]
    assert [int(error.removeprefix(str(path)).split(":")[1]) for error in errors] == lines, checked.stdout
