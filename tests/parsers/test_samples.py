"""Samples from every table in which Instruments records them: rows and weights stay, units stay apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import THREAD, TIME_PROFILE, document, node, one_table, schema, write
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import InputError, UsageError
from tracekit.load import open_trace
from tracekit.model.columns import SAMPLES
from tracekit.model.trace import Trace

STACK = '<backtrace id="{}"><frame id="{}" name="{}" addr="0x10"/></backtrace>'
COUNTERS = (*TIME_PROFILE[:5], ("stack", "backtrace"), ("weight", "any"), ("counters-array", "pmc-events"))
KPERF = (
    ("time", "sample-time"),
    ("thread", "thread"),
    ("core-index", "core"),
    ("thread-state", "thread-state"),
    ("cp-kernel-callstack", "kperf-bt"),
    ("cp-user-callstack", "kperf-bt"),
    ("sample-type", "time-sample-kind"),
)


def codes(trace: Trace) -> list[str]:
    return [issue.code for issue in trace.issues]


def test_time_profile(tmp_path: Path) -> None:
    text = one_table(
        "time-profile",
        TIME_PROFILE,
        f'<sample-time id="1">2000000</sample-time>{THREAD}<process ref="4"/><core id="6" fmt="CPU 3 (P Core)">3</core>'
        f'<thread-state id="7">Running</thread-state><weight id="8">1000000</weight>{STACK.format(9, 10, "f")}',
        '<sample-time id="11">1000000</sample-time><thread ref="2"/><process ref="4"/><sentinel/><thread-state ref="7"/>'
        '<weight id="12">40000000</weight><sentinel/>',
    )
    trace = open_trace(write(tmp_path, text))
    samples = SAMPLES.check(trace.samples, "samples")
    # In time order; a row without a stack keeps its weight; a 40 ms row weighs 40 ms.
    assert samples.drop(columns="state").to_dict("records") == [
        {"time_ns": 1_000_000, "weight_ns": 40_000_000, "thread_id": 0, "core": -1, "stack_id": -1},
        {"time_ns": 2_000_000, "weight_ns": 1_000_000, "thread_id": 0, "core": 3, "stack_id": 0},
    ]
    assert samples["state"].tolist() == ["Running", "Running"]
    assert (trace.weight_unit, trace.weights.tolist()) == ("ns", [40_000_000, 1_000_000])
    assert trace.threads.to_dict("records") == [
        {"tid": 31, "name": "Main Thread", "pid": 7, "process": "App"}
    ]
    assert codes(trace) == ["null-stacks"]
    assert trace.issues[0].message == "samples without a stack: 1 of 2 (their weight is included)"


def test_time_of_waiting_threads_is_reported_as_off_the_cpu(tmp_path: Path) -> None:
    row = (
        f'<sample-time id="1">1</sample-time>{THREAD}<process ref="4"/><sentinel/><thread-state id="7">Blocked'
        '</thread-state><weight id="8">1000000</weight><sentinel/>'
    )
    trace = open_trace(write(tmp_path, one_table("time-profile", TIME_PROFILE, row)))
    assert "waiting-threads" in codes(trace)


def test_cpu_profile_counts_cycles_and_claims_no_time(tmp_path: Path) -> None:
    columns = [(m, "cycle-weight" if m == "weight" else t) for m, t in TIME_PROFILE]
    row = '<sample-time id="1">5</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><cycle-weight id="2" fmt="837.2 k">837200</cycle-weight><sentinel/>'
    trace = open_trace(write(tmp_path, one_table("cpu-profile", columns, row)))
    assert trace.weight_unit == "cycles"
    assert trace.samples["weight_ns"].isna().all()
    assert trace.samples["cycles"].tolist() == [837200]
    assert trace.samples["thread_id"].tolist() == [-1]


def counters(kind: str, toc_events: str | None = '"A" "B"') -> dict[str, str]:
    row = (
        '<sample-time id="1">5</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><sentinel/>'
        f'<{kind} id="2">1000000</{kind}><pmc-events id="3" fmt="(120.029), (7)">120029 7</pmc-events>'
    )
    again = f'<sample-time id="4">6</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><sentinel/><{kind} ref="2"/><sentinel/>'
    files = {"counters.xml": one_table("counters-profile", COUNTERS, row, again)}
    if toc_events is not None:
        quoted = toc_events.replace('"', "&quot;")
        files["toc.xml"] = (
            f'<trace-toc><run number="1"><data><table schema="counters-profile" pmc-events="{quoted}"/></data></run></trace-toc>'
        )
    return files


def open_files(folder: Path, files: dict[str, str]) -> Trace:
    for name, text in files.items():
        write(folder, text, name)
    return open_trace(folder)


def test_counters_are_named_by_the_table_of_contents(tmp_path: Path) -> None:
    trace = open_files(tmp_path, counters("weight"))
    assert trace.weight_unit == "ns"
    assert trace.counters.to_dict("list") == {"A": [120029, 0], "B": [7, 0]}
    assert "null-counters" in codes(trace)


def test_tables_that_count_other_events_do_not_mix(tmp_path: Path) -> None:
    first, second = (
        counters("weight")["counters.xml"].replace("table[1]", f"table[{number}]") for number in (1, 2)
    )
    toc = "".join(
        f'<table schema="counters-profile" pmc-events="&quot;{event}&quot; &quot;C&quot;"/>' for event in "AB"
    )
    contents = f'<trace-toc><run number="1"><data>{toc}</data></run></trace-toc>'
    trace = open_files(tmp_path, {"a.xml": first, "b.xml": second, "toc.xml": contents})
    assert list(trace.counters.columns) == ["A", "C"]
    assert len(trace.samples) == 2
    (issue,) = [issue for issue in trace.issues if issue.code == "other-counters"]
    assert issue.count == 2


def test_counters_that_are_words_are_an_error(tmp_path: Path) -> None:
    files = counters("weight")
    files["counters.xml"] = files["counters.xml"].replace(">120029 7<", ">120029 x<")
    with pytest.raises(InputError, match="the counters of 'counters-profile' are not lists of numbers"):
        open_files(tmp_path, files)


def test_counters_without_names_are_numbered(tmp_path: Path) -> None:
    trace = open_files(tmp_path, counters("weight", None))
    assert list(trace.counters.columns) == ["counter-1", "counter-2"]
    assert "counter-names-unknown" in codes(trace)


def test_event_triggered_counters_weigh_events_not_time(tmp_path: Path) -> None:
    trace = open_files(tmp_path, counters("pmc-event"))
    assert trace.weight_unit == "events"
    assert trace.samples["weight_ns"].isna().all()
    assert trace.weights.tolist() == [1_000_000, 1_000_000]


def test_kperf_samples_have_addresses_and_an_assumed_weight(tmp_path: Path) -> None:
    backtrace = '<kperf-bt id="{}" fmt="PC"><text-addresses id="{}">{} 0</text-addresses><text-address id="{}">{}</text-address><register-content id="{}">1</register-content></kperf-bt>'
    text = one_table(
        "time-sample",
        KPERF,
        '<sample-time id="1">5</sample-time><sentinel/><core id="2">8</core><thread-state id="3">Running</thread-state>'
        + backtrace.format(4, 5, 17, 6, 16, 7)
        + backtrace.format(8, 9, 33, 10, 32, 11)
        + '<time-sample-kind id="12">0</time-sample-kind>',
        '<sample-time id="13">6</sample-time><sentinel/><sentinel/><thread-state id="14">Blocked</thread-state><sentinel/>'
        '<kperf-bt ref="8"/><time-sample-kind id="15">3</time-sample-kind>',
    )
    trace = open_trace(write(tmp_path, text))
    symbols = trace.stacks.symbols
    stacks = [symbols[trace.stacks.stack(stack)].tolist() for stack in trace.samples["stack_id"]]
    # The kernel's frames stand above the user's; a thread that waited has no weight.
    assert stacks == [["0x10", "0x11", "0x20", "0x21"], ["0x20", "0x21"]]
    assert trace.samples["core"].tolist() == [8, -1]
    assert trace.weights.tolist() == [1_000_000, 0]
    assert codes(trace) == ["weight-assumed", "no-symbols"]


def profile(name: str, table: int, *times: int, unit: str = "weight") -> str:
    rows = "".join(
        f"<row><sample-time>{time}</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><{unit}>1000000</{unit}><sentinel/></row>"
        for time in times
    )
    columns = [(m, unit if m == "weight" else t) for m, t in TIME_PROFILE]
    return node(schema(name, columns) + rows, table=table)


def test_one_table_is_chosen_and_the_others_are_named(tmp_path: Path) -> None:
    text = document(profile("cpu-profile", 1, 1, 2, 3, unit="cycle-weight"), profile("time-profile", 2, 1, 2))
    path = write(tmp_path, text)
    trace = open_trace(path)
    assert (trace.samples_source, len(trace.samples)) == ("time-profile", 2)
    assert "samples-not-used" in codes(trace)
    assert open_trace(path, samples="cpu-profile").samples_source == "cpu-profile"


def test_a_table_with_rows_goes_before_an_empty_one(tmp_path: Path) -> None:
    text = document(profile("time-profile", 1), profile("cpu-profile", 2, 1, unit="cycle-weight"))
    assert open_trace(write(tmp_path, text)).samples_source == "cpu-profile"


def test_rows_that_a_second_table_repeats_count_once(tmp_path: Path) -> None:
    text = document(profile("time-profile", 1, 1, 2, 3), profile("time-profile", 2, 2, 3, 4))
    trace = open_trace(write(tmp_path, text))
    assert trace.samples["time_ns"].tolist() == [1, 2, 3, 4]
    (issue,) = [issue for issue in trace.issues if issue.code == "samples-repeated"]
    assert issue.count == 2


def test_equal_rows_of_one_table_all_count(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, document(profile("time-profile", 1, 5, 5, 5))))
    assert len(trace.samples) == 3


@pytest.mark.integration
@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), max_size=30))
def test_rows_and_weights_are_preserved(rows: list[tuple[int, int]]) -> None:
    import tempfile

    cells = [
        f"<sample-time>{time}</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><weight>{weight}</weight><sentinel/>"
        for time, weight in rows
    ]
    with tempfile.TemporaryDirectory() as folder:
        trace = open_trace(write(Path(folder), one_table("time-profile", TIME_PROFILE, *cells)))
    samples = zip(trace.samples["time_ns"].tolist(), trace.weights.tolist(), strict=True)
    assert sorted(samples) == sorted(rows)
    assert trace.samples["time_ns"].is_monotonic_increasing


def test_runs_are_chosen_by_number(tmp_path: Path) -> None:
    run_2 = profile("time-profile", 1, 7, 8).replace("run[1]", "run[2]")
    path = write(tmp_path, document(profile("time-profile", 1, 1), run_2))
    assert len(open_trace(path).samples) == 1
    assert "several-runs" in codes(open_trace(path))
    assert len(open_trace(path, run=2).samples) == 2
    with pytest.raises(UsageError, match="has no run 3; its runs are 1, 2"):
        open_trace(path, run=3)


@pytest.mark.parametrize("missing", ["time", "thread"])
def test_without_times_or_threads_there_are_no_samples(tmp_path: Path, missing: str) -> None:
    columns = [column for column in TIME_PROFILE if column[0] != missing]
    row = "".join("<sentinel/>" if m != "time" else "<sample-time>1</sample-time>" for m, _ in columns)
    with pytest.raises(InputError, match=f"'time-profile' has no column '{missing}'"):
        open_trace(write(tmp_path, one_table("time-profile", columns, row)))


def test_other_columns_may_be_missing(tmp_path: Path) -> None:
    text = one_table("time-profile", TIME_PROFILE[:2], "<sample-time>1</sample-time><sentinel/>")
    trace = open_trace(write(tmp_path, text))
    assert trace.samples["stack_id"].tolist() == [-1]
    assert trace.weights.tolist() == [1_000_000]
    assert "weight-assumed" in codes(trace)


def test_no_such_table_of_samples(tmp_path: Path) -> None:
    path = write(tmp_path, document(profile("time-profile", 1, 1)))
    with pytest.raises(UsageError, match="holds no table 'cpu-profile'; it holds time-profile"):
        open_trace(path, samples="cpu-profile")
    with pytest.raises(UsageError, match="'nonsense' is not a table of samples"):
        open_trace(path, samples="nonsense")


def test_a_recording_without_samples_cannot_be_helped_by_an_export(tmp_path: Path) -> None:
    toc = '<trace-toc><run number="1"><data><table schema="os-signpost"/></data></run></trace-toc>'
    with pytest.raises(InputError, match="no table of samples: record again with"):
        open_trace(write(tmp_path, toc))


@pytest.mark.parametrize(
    ("column", "message"),
    [("time", "column 'time' of 'time-profile' holds a value that is not"), ("weight", "column 'weight' of")],
)
def test_words_where_numbers_belong_are_an_error(tmp_path: Path, column: str, message: str) -> None:
    cells = {"time": "<sample-time>5</sample-time>", "weight": "<weight>1000000</weight>"}
    cells[column] = cells[column].replace(">5<", ">soon<").replace(">1000000<", ">1.5 ms<")
    row = f"{cells['time']}<sentinel/><sentinel/><sentinel/><sentinel/>{cells['weight']}<sentinel/>"
    with pytest.raises(InputError, match=message):
        open_trace(write(tmp_path, one_table("time-profile", TIME_PROFILE, row)))
