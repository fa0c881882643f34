"""Log lines and signposts of the frameworks below Core ML and Core AI → ``Trace.engine_log``.

They name the process of each request to the Neural Engine and its outcome, which the engine's own table
cannot. Only messages of a known form become rows; all others are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.frozen import compile_later, frozen
from tracekit.model.columns import ENGINE_LOG, BoolArray, IntArray, make_categorical, take_texts
from tracekit.model.composite_cells import PRIVATE
from tracekit.model.schemas import OS_LOG, SIGNPOST_EVENTS
from tracekit.model.tables import OVERLAID, PICKED, Table
from tracekit.model.trace import Issue, IssueCounter
from tracekit.model.vocabulary import LOG_KINDS, REPORTING_SUBSYSTEMS, SUBSYSTEMS, LogKind
from tracekit.parsers.tables.column_values import (
    TextColumn,
    extract_entity_numbers,
    extract_pids,
    extract_texts,
    join_rows,
    number_rows,
    sort_rows,
)
from tracekit.parsers.tables.log_messages import (
    EVALUATION,
    MessageForms,
)
from tracekit.parsers.tables.row_times import OPEN_NS, read_times

_TEXT_ARGUMENT = compile_later(r"%(?:\{[^}]*\})?[-+ #0]*[\d*]*(?:\.[\d*]+)?[@sS]")
REPEATS_NS = 5_000_000
"""The error of one request is reported by several layers within this time."""
_REQUEST, _FAILURE = LOG_KINDS.index(LogKind.REQUEST), LOG_KINDS.index(LogKind.FAILURE)


@frozen
class _Lines:
    """Rows of one source: times, process, thread, subsystem, and the form of each message."""

    begin_ns: IntArray
    time_ns: IntArray
    pid: IntArray
    tid: IntArray
    subsystem: TextColumn
    form: IntArray
    """A position in ``forms``; -1 where the format alone shows that the message fits no form."""
    forms: MessageForms
    source: str


def read_engine_log(
    tables: Callable[[str], Iterable[Table]], signposts: pd.DataFrame
) -> tuple[pd.DataFrame, tuple[Issue, ...]]:
    """Return the requests and errors in the ``os-log`` tables and the signposts, sorted by time.

    Issues: ``log-messages-private``, ``log-messages-unknown``, ``log-lines-repeated``.
    """
    findings = IssueCounter()
    frames = []
    logs = [lines for table in tables(OS_LOG) if (lines := _read_log_table(table, findings)) is not None]
    marks = signposts[_mark_frameworks(signposts)]
    if not logs and marks.empty:
        return ENGINE_LOG.empty(), ()
    for lines in (*logs, _read_signposts(marks)):
        _count_unread(lines, findings)
        frames.append(_build_frame(lines))
    log = _without_repeated_tables(frames[:-1], findings)
    # A request that left a line in the log and a signpost is one request: the line has its status.
    logged = log["pid"][(log["kind"] == LogKind.REQUEST).to_numpy(bool)]
    new_requests = frames[-1][~frames[-1]["pid"].isin(logged).to_numpy(bool)]
    new_requests = new_requests[~_has_failed(new_requests, _without_repeated_errors(log))]
    log = sort_rows(join_rows([log, new_requests.reset_index(drop=True)], ENGINE_LOG), "time_ns")
    log = log[list(ENGINE_LOG.required)]
    return ENGINE_LOG.check(_without_repeated_errors(log), "engine log"), findings.issues()


def select_framework_lines(table: Table) -> Table:
    """Return the lines to read: those of the frameworks below Core ML and Core AI, and errors passed on."""
    if PICKED in table.attributes:
        return table
    subsystem = extract_texts(table, "subsystem")
    is_read = subsystem.compute(lambda word: word.lower() in SUBSYSTEMS, np.bool_)
    passed_on = np.flatnonzero(subsystem.compute(lambda word: word.lower() in REPORTING_SUBSYSTEMS, np.bool_))
    if len(passed_on):
        messages = extract_texts(replace(table, rows=table.rows.iloc[passed_on]), "message")
        is_read[passed_on] = (_match_forms(messages.words).kind >= 0)[messages.codes]
    return replace(table, rows=table.rows[is_read])


def _read_log_table(table: Table, findings: IssueCounter) -> _Lines | None:
    """Return the lines of the frameworks in an ``os-log`` table; None without any."""
    table = select_framework_lines(table)
    if not len(table):
        return None
    spans = read_times(table, findings)
    table = spans.table
    # A format without an argument of text holds its whole form: the messages of such lines need not be read.
    formats = extract_texts(table, "format-string")
    format_forms = _match_forms(formats.words)
    needs_text = formats.compute(lambda word: not word or _TEXT_ARGUMENT.search(word) is not None, np.bool_)
    is_candidate = needs_text | (format_forms.kind >= 0)[formats.codes]
    is_candidate |= np.array([_has_status(word) for word in formats.words], bool)[formats.codes]
    rows = np.flatnonzero(is_candidate)
    messages = extract_texts(replace(table, rows=table.rows.iloc[rows]), "message")
    form = np.full(len(table), -1, np.int64)
    form[rows] = messages.codes
    return _Lines(
        spans.start_ns,
        spans.start_ns,
        extract_pids(table),
        extract_entity_numbers(table, "thread", "tid", "thread"),
        extract_texts(table, "subsystem"),
        form,
        _match_forms(messages.words),
        table.attributes.get(OVERLAID, table.schema),
    )


def _mark_frameworks(signposts: pd.DataFrame) -> BoolArray:
    """Mark the signposts of the frameworks."""
    subsystem = signposts["subsystem"].cat
    of_framework = np.array([name.lower() in SUBSYSTEMS for name in subsystem.categories], bool)
    is_of_framework: BoolArray = np.append(of_framework, False)[subsystem.codes.to_numpy(np.int64)]
    return is_of_framework


def _read_signposts(frame: pd.DataFrame) -> _Lines:
    """Return the frameworks' signposts; an evaluation that ended is a request."""
    names = frame["subsystem"].cat.categories
    codes_of_subsystem = frame["subsystem"].cat.codes.to_numpy(np.int64).astype(np.int64)
    has_ended = frame["kind"].isin(["interval", "end"]) & (frame["end_ns"] < OPEN_NS)
    is_request = (has_ended & (frame["name"] == EVALUATION)).to_numpy(bool)
    codes, messages = pd.factorize(frame["message"])
    forms = _match_forms([*(str(message) for message in messages), ""])
    # The signpost itself proves the request; its message may add a status.
    plain = len(messages)
    forms.kind[plain], forms.is_known[plain] = _REQUEST, True
    with_form = np.append(forms.kind[:-1] >= 0, False)[codes]
    form = np.where(is_request & ~with_form, plain, codes).astype(np.int64)
    return _Lines(
        frame["start_ns"].to_numpy(np.int64),
        frame["end_ns"].where(has_ended, frame["start_ns"]).to_numpy(np.int64),
        frame["pid"].to_numpy(np.int64),
        frame["tid"].to_numpy(np.int64),
        TextColumn(codes_of_subsystem, (*names, "")),
        form,
        forms,
        "",
    )


def _match_forms(words: Sequence[str]) -> MessageForms:
    try:
        return MessageForms(list(words))
    except UnicodeEncodeError:  # half of a character pair, from a damaged bundle
        return MessageForms([word.encode(errors="replace").decode() for word in words])


def _has_status(word: str) -> bool:
    return "status=" in word or word.startswith("Unsupported op")


def _count_unread(lines: _Lines, findings: IssueCounter) -> None:
    """Count messages that fit no form: those that the system withheld, and others."""
    known = np.append(lines.forms.is_known, False)[lines.form]
    private = np.append(lines.forms.is_private, False)[lines.form]
    where = f"in '{lines.source}'" if lines.source else "in signposts"
    frameworks = f"messages {where} of the frameworks below Core ML and Core AI"
    text = f"{frameworks} that are withheld ({PRIVATE}), from which nothing is known: {{n}}"
    findings.add("info", "log-messages-private", text, int(private.sum()))
    text = f"{frameworks} that have no known form: {{n}}"
    findings.add("info", "log-messages-unknown", text, int((~known & ~private).sum()))


def _build_frame(lines: _Lines) -> pd.DataFrame:
    forms = lines.forms
    kind = np.append(forms.kind, np.int8(-1))[lines.form]
    rows = np.flatnonzero(kind >= 0)
    form = lines.form[rows]
    return pd.DataFrame(
        {
            "begin_ns": lines.begin_ns[rows],
            "time_ns": lines.time_ns[rows],
            "kind": make_categorical(kind[rows], LOG_KINDS),
            "status": forms.status[form],
            "operator": take_texts(form, forms.operator.tolist()),
            "reason": take_texts(form, forms.reason.tolist()),
            "subsystem": lines.subsystem.take(rows).to_category(),
            "pid": lines.pid[rows],
            "tid": lines.tid[rows],
            "source": TextColumn.repeat(lines.source or SIGNPOST_EVENTS, len(rows)).to_category(),
        }
    )


def _without_repeated_tables(frames: Sequence[pd.DataFrame], findings: IssueCounter) -> pd.DataFrame:
    """Join tables; a line that an earlier table has as well counts once."""
    log = join_rows(frames, ENGINE_LOG)
    if sum(map(bool, map(len, frames))) < 2:
        return log
    origin = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])
    codes = [
        column.cat.codes.to_numpy() if isinstance(column.dtype, pd.CategoricalDtype) else column.to_numpy()
        for column in (
            log[name] for name in ("time_ns", "kind", "status", "operator", "reason", "pid", "tid")
        )
    ]
    key = number_rows(codes)
    first_origin = np.full(int(key.max(initial=-1)) + 1, len(frames), np.int64)
    np.minimum.at(first_origin, key, origin)
    is_repeated = origin > first_origin[key]
    text = f"{{n}} lines are in two tables '{OS_LOG}' and count once"
    findings.add("info", "log-lines-repeated", text, int(is_repeated.sum()))
    return log[~is_repeated].reset_index(drop=True)


def _has_failed(requests: pd.DataFrame, log: pd.DataFrame) -> BoolArray:
    """Mark the signposts of evaluations that failed with an error in the log: the error counts instead.

    The error is reported inside of the evaluation, or by the layers above it shortly after.
    """
    failed: BoolArray = np.zeros(len(requests), bool)
    errors = log[(log["kind"] == LogKind.FAILURE).to_numpy(bool)]
    is_request = (requests["kind"] == LogKind.REQUEST).to_numpy(bool)
    if not len(errors) or not is_request.any():
        return failed
    # The last evaluation of the process that began before the error.
    marks = requests[is_request].assign(row=np.flatnonzero(is_request))[["pid", "begin_ns", "time_ns", "row"]]
    ordered = marks.sort_values(["begin_ns", "time_ns"], kind="stable")
    errors = errors[["pid", "time_ns"]].sort_values("time_ns", kind="stable")
    pairs = pd.merge_asof(
        errors.rename(columns={"time_ns": "error_ns"}),
        ordered,
        left_on="error_ns",
        right_on="begin_ns",
        by="pid",
    )
    is_near = pairs["row"].notna() & (pairs["error_ns"] - pairs["time_ns"] <= REPEATS_NS)
    failed[pairs["row"][is_near].to_numpy(np.int64)] = True
    return failed


def _without_repeated_errors(log: pd.DataFrame) -> pd.DataFrame:
    """Drop the error of a request that failed, where the request's own line, or an error before, has it.

    A reported error without such a line is the only record of its request, and stays.
    """
    kind = log["kind"].cat.codes.to_numpy(np.int64)
    failed = np.flatnonzero((kind == _FAILURE) | ((kind == _REQUEST) & (log["status"] > 0).to_numpy(bool)))
    if not len(failed):
        return log
    pid, time = (log[name].to_numpy(np.int64)[failed] for name in ("pid", "time_ns"))
    order = np.lexsort((kind[failed] == _FAILURE, time, pid))
    failed, pid, time = failed[order], pid[order], time[order]
    follows = np.append(False, (np.diff(pid) == 0) & (np.diff(time) <= REPEATS_NS))
    drop = failed[follows & (kind[failed] == _FAILURE)]
    keep: npt.NDArray[np.bool_] = np.ones(len(log), bool)
    keep[drop] = False
    return log[keep].reset_index(drop=True)
