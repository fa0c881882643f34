"""Logs as evidence: requests with process and status, refusals with reason, unknown and withheld lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from documents_support import python_calls
from table_support import MS, issue_counts, records, rows_of, tables_of

from tracekit.model.columns import INTERVALS, PROCESSES, SIGNPOSTS, THREADS
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.tables.engine_log import read_engine_log
from tracekit.parsers.tables.log_owners import with_logged_process
from tracekit.parsers.tables.signposts import read_signposts

pytestmark = pytest.mark.slow

COLUMNS = {
    "time": "event-time",
    "thread": "thread",
    "process": "process",
    "message-type": "event-type",
    "format-string": "format-string",
    "subsystem": "subsystem",
    "category": "category",
    "message": "os-log-metadata",
}
APP, OTHER = (7, "App"), (9, "photoanalysisd")
THREAD = (31, "Worker", 7, "App")
ANE, ESPRESSO = "com.apple.ane", "com.apple.espresso"
DONE = "-----> processRequest: ANEProgramProcessRequestDirect() status=0x{:x} : statusType=0x0 : qos=0x21"
FAILED = (
    "ANEProgramProcessRequestDirect() Failed with status=0x{:x} : statusType=0x9: Program Inference error"
)


def line(
    time: int, message: Any, subsystem: str = ANE, process: Any = APP, form: str | None = None
) -> tuple[Any, ...]:
    return time, THREAD if process == APP else None, process, "Debug", form, subsystem, "common", message


def log(*rows: tuple[Any, ...]) -> str:
    return rows_of("os-log", COLUMNS, *rows)


def read(*documents: str, columns: tuple[str, ...] = ("time_ns", "kind", "status", "pid")) -> Any:
    tables = tables_of(*documents)
    frame, issues = read_engine_log(tables, read_signposts(tables)[0])
    return records(frame, *columns), issue_counts(issues)


def test_a_requests_line_has_its_process_and_its_status() -> None:
    rows, issues = read(
        log(
            line(30, [DONE.format(0)]), line(10, [DONE.format(29)]), line(20, [DONE.format(0)], process=OTHER)
        )
    )
    assert rows == [(10, "request", 29, 7), (20, "request", 0, 9), (30, "request", 0, 7)]
    assert issues == []


def test_the_error_of_a_request_is_no_request_of_its_own() -> None:
    error = f'Error Domain=com.apple.appleneuralengine Code=8 "processRequest: {FAILED.format(29)}"'
    rows, _ = read(
        log(line(10, [DONE.format(29)]), line(11, [error]), line(12, ["ANE Scheduling Error = ", error]))
    )
    assert rows == [(10, "request", 29, 7)]


def test_an_error_without_the_requests_line_is_the_trace_of_one_failure() -> None:
    rows, _ = read(
        log(line(10, [FAILED.format(22)]), line(11, [FAILED.format(22)]), line(9 * MS, [FAILED.format(22)]))
    )
    assert rows == [(10, "failure", 22, 7), (9 * MS, "failure", 22, 7)]
    rows, _ = read(log(line(10, [FAILED.format(22)]), line(11, [FAILED.format(22)], process=OTHER)))
    assert [row[3] for row in rows] == [7, 9]


def test_an_operator_that_the_planner_refused_has_its_reason() -> None:
    rows, issues = read(
        log(
            line(1, ["Unsupported op 12 (gather): Unsupported gather index type"], ESPRESSO),
            line(2, ['Unsupported MIL operation "lstm"'], ESPRESSO),
            line(3, ["ANECCompile() FAILED"], ESPRESSO),
        ),
        columns=("kind", "operator", "reason", "status"),
    )
    assert rows == [
        ("unsupported operator", "gather", "Unsupported gather index type", -1),
        ("unsupported operator", "lstm", "", -1),
        ("not loaded", "", "ANECCompile() FAILED", -1),
    ]
    assert issues == []


def test_an_error_of_the_engine_that_core_ml_passes_on_is_read_and_its_other_lines_are_not() -> None:
    load = "ANECF error: failed to load ANE model. Error=createProgramInstanceForModel:error:: Program load failure (0x20004)"
    rows, issues = read(
        log(
            line(1, [load], "com.apple.coreml"),
            line(2, ["ANECCompile(/var/mobile/Caches/x/) FAILED: err=(\n CompilationFailure\n)"], ESPRESSO),
            line(3, ["Error plan build: -1."], "com.apple.coreml"),
            line(4, [load], "org.example"),
        ),
        columns=("kind", "reason"),
    )
    assert rows == [("not loaded", "Program load failure (0x20004)"), ("not loaded", "ANECCompile() FAILED")]
    assert issues == []


def test_what_is_withheld_or_unknown_is_counted_and_claims_nothing() -> None:
    rows, issues = read(
        log(
            line(1, ["<private>"]),
            line(2, ["status of <private>"]),
            line(3, ["hello"]),
            line(4, ["ANEProgramProcessRequestDirect() status="]),
            line(5, ["ANEProgramProcessRequestDirect() status=0xZZ"]),
            line(6, None),
            line(7, [DONE.format(0)], "org.example"),
        )
    )
    assert rows == []
    assert issues == [("log-messages-private", 2), ("log-messages-unknown", 4)]


def test_forms_that_show_no_outcome_are_known() -> None:
    text = "lModel ANEProgramProcessRequestDirect() for lModel.string_id:0x00000001 waitForResults is 1"
    assert read(log(line(1, [text]), line(2, ["[CostModelFeature],conv,,convolution"], ESPRESSO))) == ([], [])


def test_a_line_of_two_tables_counts_once() -> None:
    document = log(line(10, [DONE.format(0)]))
    rows, issues = read(document, document)
    assert (len(rows), issues) == (1, [("log-lines-repeated", 1)])
    rows, _ = read(log(line(10, [DONE.format(0)]), line(10, [DONE.format(0)])))
    assert len(rows) == 2, "two lines of one table are two requests"


SIGNPOSTS_OF = {
    "time": "event-time",
    "thread": "thread",
    "process": "process",
    "event-type": "event-type",
    "scope": "string",
    "identifier": "os-signpost-identifier",
    "name": "signpost-name",
    "subsystem": "subsystem",
    "category": "category",
    "message": "os-log-metadata",
}


def signposts(*rows: tuple[int, str, str, Any]) -> str:
    full = [
        (time, THREAD, APP, kind, "Process", 1, name, ANE, "anef", message)
        for time, kind, name, message in rows
    ]
    return rows_of("os-signpost", SIGNPOSTS_OF, *full)


def test_a_signpost_around_an_evaluation_is_a_request_without_status() -> None:
    begin, end = (10, "Begin", "_ANEF_MODEL_EVALUATE", None), (30, "End", "_ANEF_MODEL_EVALUATE", None)
    assert read(signposts(begin, end)) == ([(30, "request", -1, 7)], [])
    assert read(signposts(begin))[0] == [], "an evaluation that did not end has no outcome"
    rows, issues = read(signposts((5, "Event", "Something", ["else"])))
    assert (rows, issues) == ([], [("log-messages-unknown", 1)])


def test_a_request_in_log_and_signposts_is_one() -> None:
    begin, end = (10, "Begin", "_ANEF_MODEL_EVALUATE", None), (30, "End", "_ANEF_MODEL_EVALUATE", None)
    assert read(signposts(begin, end), log(line(29, [DONE.format(0)])))[0] == [(29, "request", 0, 7)]


def test_an_evaluation_whose_error_is_reported_is_a_failure() -> None:
    """The debug line of a request is seldom recorded; its signpost and its error are."""
    name = "_ANEF_MODEL_EVALUATE"
    marks = [
        (10, "Begin"),
        (20, "End"),
        (40, "Begin"),
        (9 * MS, "End"),
        (9 * MS + 5, "Begin"),
        (9 * MS + 9, "End"),
    ]
    calls = signposts(*((time, kind, name, None) for time, kind in marks))
    served = [(20, "request", -1, 7), (9 * MS, "request", -1, 7), (9 * MS + 9, "request", -1, 7)]
    assert read(calls)[0] == served
    inside, after = line(8 * MS, [FAILED.format(22)]), line(9 * MS + 2, [FAILED.format(22)])
    assert read(calls, log(inside))[0] == [served[0], (8 * MS, "failure", 22, 7), served[2]]
    assert read(calls, log(after))[0] == [served[0], (9 * MS + 2, "failure", 22, 7), served[2]]
    assert read(calls, log(inside, after))[0] == [served[0], (8 * MS, "failure", 22, 7), served[2]]
    of_other = line(8 * MS, [FAILED.format(22)], process=OTHER)
    assert read(calls, log(of_other))[0] == [served[0], (8 * MS, "failure", 22, 9), *served[1:]]


def ane(*ends: int) -> pd.DataFrame:
    """Return one interval of 1 ms of the Neural Engine's table per end."""
    count = len(ends)
    fill = {"int64": -1, "int16": 0, "category": "", "str": ""}
    frame = pd.DataFrame({name: [fill[dtype]] * count for name, dtype in INTERVALS.required.items()})
    frame["end_ns"], frame["start_ns"] = ends, np.array(ends) - MS
    frame["source"], frame["engine"], frame["phase"] = "ane-hw-intervals", "ANE", "execute"
    return frame.astype(dict(INTERVALS.required))


def owners(ends: tuple[int, ...], *lines: tuple[int, tuple[int, str]]) -> Any:
    text = log(*(line(time, [DONE.format(0)], process=process) for time, process in lines))
    frame, _ = read_engine_log(tables_of(text), SIGNPOSTS.empty())
    found, issues = with_logged_process(ane(*ends), frame)
    return found["pid"].tolist(), issue_counts(issues)


def test_an_interval_is_of_the_process_whose_request_ends_with_it() -> None:
    pids, issues = owners((5 * MS, 10 * MS, 15 * MS), (5 * MS + 100_000, APP), (10 * MS + 100_000, OTHER))
    assert pids == [7, 9, -1]
    assert issues == [("ane-process-logged", 2)]


def test_intervals_back_to_back_take_their_lines_in_order() -> None:
    ends = (5 * MS, 5 * MS + 50_000, 5 * MS + 100_000)
    assert owners(ends, (5 * MS + 200_000, APP), (5 * MS + 250_000, OTHER), (5 * MS + 300_000, APP))[0] == [
        7,
        9,
        7,
    ]


def test_lines_that_fit_no_interval_name_no_process() -> None:
    late = tuple((5 * MS + 3 * MS * number, APP) for number in range(1, 5))
    assert owners((5 * MS, 60 * MS), *late, (5 * MS + 100_000, APP)) == ([-1, -1], [])


def test_a_line_without_an_interval_moves_no_other() -> None:
    lines = [(5 * MS * number + 100_000, APP) for number in range(1, 9)]
    ends = tuple(5 * MS * number for number in (1, 2, 3, 5, 6, 7, 8))
    assert owners(ends, *lines)[0] == [7] * 7
    assert owners((*ends, 60 * MS, 65 * MS), *lines)[0] == [7] * 7 + [-1, -1]


def test_a_process_without_lines_of_its_own_is_not_given_those_of_another() -> None:
    """The engine's rows of a silent process end just before the logged ones': either could own the line."""
    lines = [(20 * MS * number + 100_000, APP) for number in range(1, 6)]
    own = [20 * MS * number for number in range(1, 6)]
    silent = [20 * MS * number - 300_000 for number in (2, 4)]
    assert owners(tuple(sorted(own + silent)), *lines)[0] == [7, -1, -1, 7, -1, -1, 7]


def test_one_row_twice_is_one_interval() -> None:
    assert owners((5 * MS, 5 * MS), (5 * MS + 1000, APP))[0] == [7, 7]


def test_a_million_lines_are_read_by_column() -> None:
    """Python runs per distinct message and not per line."""

    def table(count: int) -> Table:
        cells = [((("narrative-text", DONE.format(status)),)) for status in (0, 29)]
        message = np.empty(count, object)
        message[:] = [cells[number % 2] for number in range(count)]
        forms = [DONE.format(0).replace("0x0", "0x%x"), "%s: tick"]
        rows = pd.DataFrame(
            {
                "time": pd.array(np.arange(count), "Int64"),
                "thread": np.zeros(count, np.int32),
                "format-string": pd.Categorical.from_codes(np.zeros(count, int), forms),
                "subsystem": pd.Categorical.from_codes(np.zeros(count, int), [ANE]),
                "message": message,
            }
        )
        kinds = {"time": "int", "thread": "thread", "message": "parts"}
        columns = tuple(Column(name, name, COLUMNS[name], kinds.get(name, "text")) for name in rows)
        threads = pd.DataFrame({"tid": [31], "name": ["Worker"], "pid": [7], "process": ["App"]})
        return Table(
            "os-log",
            columns,
            rows,
            threads.astype(dict(THREADS.required)),
            PROCESSES.empty(),
            StackTable.empty(),
        )

    def calls(count: int) -> int:
        big = table(count)
        return python_calls(
            lambda: read_engine_log(lambda schema: [big] if schema == "os-log" else [], SIGNPOSTS.empty())
        )

    assert calls(40_000) < 1.2 * calls(400)
