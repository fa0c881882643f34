"""Requests in the log: a served one shows the engine, a failed one is an error on its window."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from verdict_support import verdicts_of

from tracekit import Analysis, analyze
from tracekit.analysis.engines.requests import find_logged_requests
from tracekit.load import open_trace
from tracekit.model.columns import ENGINE_LOG
from tracekit.model.trace import Trace
from tracekit.report.wording import issues, log_lines

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "failing-requests-macos27"
FAILED = [3, 7, 8]


@cache
def analysis(*tables: str) -> Analysis:
    """Return the sample's analysis, with only these tables beside its samples (all of them without any)."""
    paths = [SAMPLE / f"{table}.xml" for table in ("toc", "time-profile", "os-signpost", *tables)]
    return analyze(open_trace(paths if tables else SAMPLE), signposts=["Inference/encode"])


def messages(of: Analysis) -> dict[str, str]:
    return {issue.code: f"{issue.severity}: {issue.message}" for issue in issues(of.diagnostics)}


def test_a_failed_request_is_an_error_on_its_window() -> None:
    failed = analysis()
    assert messages(failed)["ane-requests-failed"] == (
        "error: 3 of 10 requests to the Neural Engine failed in 3 of 10 calls (status 0x12 or 0x1d)."
        " The runtime may return zeros without an error: check the results of these calls."
    )
    assert [row for row, why in enumerate(failed.windows["why"]) if "failed (status 0x" in why] == FAILED
    assert failed.headline.endswith("3 requests to the Neural Engine failed, in 3 of 10 calls.")


def test_host_work_for_a_failed_request_names_no_engine() -> None:
    verdicts = analysis().verdicts
    assert [row for row, name in enumerate(verdicts.names) if name == "UNKNOWN"] == FAILED
    assert [verdict.verdict for verdict in verdicts_of(analysis())] == verdicts.names


def test_a_served_request_shows_the_engine_where_no_table_does() -> None:
    by_log = analysis("os-log")
    assert by_log.verdicts.names == ["UNKNOWN" if row in FAILED else "ANE" for row in range(10)]
    assert "1 request to the ANE served (by the log)" in by_log.windows["why"][0]
    without = analysis("coreml-os-signpost")
    assert set(without.verdicts.names) == {"ANE"}, "without the log, the attempt is all that is seen"


def test_the_log_names_the_process_of_the_engines_rows() -> None:
    frame = analysis().trace.intervals
    of_engine = frame[frame["source"] == "ane-hw-intervals"]
    assert of_engine["pid"].value_counts().to_dict() == {4711: 7, 211: 3}
    assert "ane-process-unknown" not in messages(analysis())
    assert "ane-process-unknown" in messages(analysis("ane-hw-intervals"))
    assert analysis().times["foreign_ns"].sum() == 2_481_250


def test_a_failure_that_the_log_explains_is_no_riddle() -> None:
    assert "ane-dispatch-without-interval" not in messages(analysis())
    assert "ane-dispatch-without-interval" in messages(analysis("ane-hw-intervals"))


def test_the_log_in_words() -> None:
    assert log_lines(analysis().requests) == [
        "SampleApp (4711): 10 requests to the Neural Engine, 7 served, 3 failed (status 0x12 or 0x1d)",
        "photoanalysisd (211), another process: 3 requests to the Neural Engine, 3 served",
        "operator not on the Neural Engine: gather (Unsupported gather index type, 2 times)",
        "operator not on the Neural Engine: topk (Cannot support dynamic k)",
    ]
    for text in (analysis().to_text(), analysis().to_html(), analysis().to_markdown()):
        assert "photoanalysisd" in text
        assert "Unsupported gather index type" in text


def with_lines(*lines: tuple[int, str, int, int], thread: int = -1) -> Trace:
    """Return a trace with these lines: time, kind, status, process; of its thread with this row number."""
    rows = pd.DataFrame(lines, columns=["time_ns", "kind", "status", "pid"])
    texts = {"operator": "", "reason": "", "subsystem": "com.apple.ane", "source": "os-log"}
    trace = open_trace(SAMPLE / "time-profile.xml")
    tid = int(trace.threads["tid"].iloc[thread]) if thread >= 0 else -1
    frame = rows.assign(tid=tid, **texts)[list(ENGINE_LOG.required)].astype(dict(ENGINE_LOG.required))
    return Trace(
        **{**{name: getattr(trace, name) for name in trace.__dataclass_fields__}, "engine_log": frame}
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ((15, "request", 0, 1), ([1, 0], [0, 0])),
        ((20, "request", 0, 1), ([1, 0], [0, 0])),  # just after the end: the client wakes up late
        ((20 + 1_000_000, "request", 0, 1), ([0, 0], [0, 0])),
        ((5_000_010, "request", 29, 1), ([0, 0], [0, 1])),
        ((5_000_010, "failure", -1, 1), ([0, 0], [0, 1])),
        ((15, "request", -1, 1), ([1, 0], [0, 0])),
        ((15, "request", 0, 2), ([0, 0], [0, 0])),
        ((15, "request", 29, -1), ([0, 0], [1, 0])),
        ((5, "request", 0, 1), ([0, 0], [0, 0])),
    ],
)
def test_the_window_of_a_line(line: tuple[int, str, int, int], expected: tuple[list[int], list[int]]) -> None:
    windows = pd.DataFrame(
        {"start_ns": [10, 5_000_000], "end_ns": [20, 5_000_020], "pid": [1, 1], "thread_id": -1}
    )
    requests = find_logged_requests(with_lines(line), windows, frozenset([1]))
    assert (requests.served.tolist(), requests.failed.tolist()) == expected


@pytest.mark.parametrize(
    ("time", "thread", "failed"),
    [
        (3_500_000, -1, [0, 0, 0]),  # inside of both: either may have sent it
        (3_500_000, 0, [1, 0, 0]),
        (3_500_000, 1, [0, 1, 0]),
        (4_500_000, -1, [1, 0, 0]),  # the second has ended, the first goes on
        (5_000_100, 1, [1, 0, 0]),  # after both: of the last that ended
        (8_000_000, -1, [0, 0, 1]),
    ],
)
def test_a_line_in_several_calls_at_once_is_of_its_thread_or_of_none(
    time: int, thread: int, failed: list[int]
) -> None:
    starts, ends = [10, 15, 7_000_000], [5_000_000, 4_000_000, 9_000_000]
    windows = pd.DataFrame({"start_ns": starts, "end_ns": ends, "pid": 1, "thread_id": [0, 1, -1]})
    requests = find_logged_requests(
        with_lines((time, "request", 29, 1), thread=thread), windows, frozenset([1])
    )
    assert requests.failed.tolist() == failed
    assert requests.failures == 1, "the process has it in any case"


def test_a_log_without_anything_else_is_evidence() -> None:
    alone = analyze(open_trace([SAMPLE / "toc.xml", SAMPLE / "os-log.xml"]))
    assert alone.headline == (
        "The log has 10 requests of this app to the Neural Engine; nothing else shows a model running."
        " 3 requests to the Neural Engine failed."
    )
