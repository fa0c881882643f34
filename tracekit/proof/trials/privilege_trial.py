"""Claims about the template Core AI, with and without privilege, and about a Core AI model's calls."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tracekit.load import open_trace
from tracekit.model.schemas import CORE_AI
from tracekit.proof.claim_outcome import ClaimOutcome, judge, leave
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench, describe_attempt
from tracekit.record.recording_plan import InstrumentPlan, make_plan
from tracekit.record.target import Target
from tracekit.text import plural

_TEMPLATE = "Core AI"
_NO_TEMPLATE = "this Xcode has no template Core AI"
_PROGRAM = Path(__file__).with_name("coreai_calls.py")
_LIMIT_SECONDS = 60.0
_CALLS = 30


def try_without_privilege(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record with the template Core AI as a user."""
    claim = "core-ai-privilege"
    if _TEMPLATE not in bench.catalog.templates:
        yield leave(claim, _NO_TEMPLATE)
        return
    attempt = bench.record("core-ai-unprivileged", InstrumentPlan(_TEMPLATE, ()))
    yield judge(claim, attempt.result.state == "refused", describe_attempt(attempt))


def try_core_ai_calls(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record a program that makes a Core AI model and calls it."""
    claim = "core-ai-rows"
    if _TEMPLATE not in bench.catalog.templates:
        yield leave(claim, _NO_TEMPLATE)
        return
    arguments = (str(_PROGRAM), str(bench.folder / "coreai"), str(_CALLS))
    target = Target("launch", _PROGRAM.stem, sys.executable, arguments, "a trial")
    attempt = bench.record(
        "core-ai-calls", make_plan(bench.catalog, "coreai"), target, seconds=_LIMIT_SECONDS
    )
    if attempt.result.state != "good":
        yield judge(claim, False, describe_attempt(attempt))
        return
    rows = int((open_trace(attempt.bundle).intervals["source"] == CORE_AI).sum())
    yield judge(claim, rows >= _CALLS, f"{plural(rows, 'row')} of Core AI, {_CALLS} calls")


PRIVILEGE_TRIALS = (
    Trial(("core-ai-privilege",), try_without_privilege),
    Trial(("core-ai-rows",), try_core_ai_calls),
)
