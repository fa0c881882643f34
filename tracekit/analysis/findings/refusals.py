"""Requests to the Neural Engine that failed, operators that it refused, programs that were not loaded there.

All of it is in the log, where the frameworks below Core ML and Core AI write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict

from tracekit.analysis.engines.requests import LoggedRequests, Refusal
from tracekit.analysis.findings.action import Action
from tracekit.analysis.findings.calls import Calls, ModelCalls
from tracekit.analysis.findings.finding import Finding, Support
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.model.issue_codes import IssueCode
from tracekit.model.schemas import OS_LOG
from tracekit.model.vocabulary import Basis


class FailureNumbers(TypedDict):
    """Failed requests to the Neural Engine; in ``unserved_calls`` of ``failed_calls`` no engine is seen."""

    has_model: bool
    failed: int
    has_calls: NotRequired[bool]
    calls: int
    failed_calls: int
    unserved_calls: int
    statuses: list[int]


class RefusalNumbers(TypedDict):
    """What the Neural Engine refused: ``kinds`` in ``lines`` of the log."""

    kinds: int
    lines: int
    refusals: tuple[Refusal, ...]


REQUESTS_FAILED = Kind[FailureNumbers]("requests-failed", Need.REQUESTS)
OPERATORS_REFUSED = Kind[RefusalNumbers]("operators-refused", Need.LOG)
PROGRAM_NOT_LOADED = Kind[RefusalNumbers]("program-not-loaded", Need.LOG)

_MOST_REFUSALS = 8


def find_failures_and_refusals(calls: Calls) -> Iterator[Finding[Any]]:
    """Yield what failed or was refused on the Neural Engine, by the log."""
    requests = calls.analysis.requests
    if requests.failures:
        in_calls = 0
        for model in calls.iter_models(requests.failed > 0):
            in_calls += int(requests.failed[model.rows].sum())
            yield _make_failed_in_calls(calls, requests, model)
        if requests.failures > in_calls:
            yield _make_failed_outside(calls, requests.failures - in_calls)
    if requests.refused:
        yield _make_refused(OPERATORS_REFUSED, "operators-not-on-ane", requests.refused)
    if requests.not_loaded:
        yield _make_refused(PROGRAM_NOT_LOADED, "ane-program-not-loaded", requests.not_loaded)


def _make_failed_in_calls(
    calls: Calls, requests: LoggedRequests, model: ModelCalls
) -> Finding[FailureNumbers]:
    rows = model.rows[requests.failed[model.rows] > 0]
    is_empty = calls.served[rows] == 0
    statuses = sorted({status for row in rows.tolist() for status in requests.window_statuses.get(row, ())})
    failed = int(requests.failed[rows].sum())
    numbers: FailureNumbers = {
        "has_model": bool(model.model),
        "failed": failed,
        "calls": len(model.rows),
        "failed_calls": len(rows),
        "unserved_calls": int(is_empty.sum()),
        "statuses": statuses,
    }
    return Finding(
        kind=REQUESTS_FAILED,
        severity="error",
        confidence="certain",
        basis=Basis.MEASURED,
        **calls.locate(rows, model),
        numbers=numbers,
        support=(Support("table", OS_LOG, "requests with a failure", failed),),
        actions=_make_actions("ane-requests-failed"),
    )


def _make_failed_outside(calls: Calls, failed: int) -> Finding[FailureNumbers]:
    """Return the failures that belong to no call for certain, such as those of calls at the same time."""
    requests = calls.analysis.requests
    target = [process for process in requests.processes if process.is_target and process.failed]
    numbers: FailureNumbers = {
        "has_model": False,
        "failed": failed,
        "has_calls": len(calls.starts) > 0,
        "calls": 0,
        "failed_calls": 0,
        "unserved_calls": 0,
        "statuses": sorted({status for process in target for status, _ in process.statuses}),
    }
    return Finding(
        kind=REQUESTS_FAILED,
        severity="error",
        confidence="certain",
        basis=Basis.MEASURED,
        pid=target[0].pid if len(target) == 1 else -1,
        numbers=numbers,
        support=(Support("table", OS_LOG, "requests with a failure", failed),),
        actions=_make_actions("ane-requests-failed"),
    )


def _make_refused(
    kind: Kind[RefusalNumbers], code: IssueCode, refusals: tuple[Refusal, ...]
) -> Finding[RefusalNumbers]:
    lines = sum(refusal.count for refusal in refusals)
    return Finding(
        kind=kind,
        severity="warning",
        confidence="certain",
        basis=Basis.MEASURED,
        numbers=RefusalNumbers(kinds=len(refusals), lines=lines, refusals=refusals[:_MOST_REFUSALS]),
        support=(Support("table", OS_LOG, "", lines),),
        actions=_make_actions(code),
    )


def _make_actions(code: IssueCode) -> tuple[Action, ...]:
    return Action("show-table", {"table": OS_LOG}), Action("check-issue", {"code": code})
