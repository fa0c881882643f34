"""A trace as users handle it: frames with missing values, equality, pickling, one line of text."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_support import rows_of, tables_of
from trace_support import ANE, BNNS, trace_of

from tracekit.errors import UsageError
from tracekit.model.columns import NULLABLE, with_missing
from tracekit.model.content import is_same_content
from tracekit.model.tables import StackTable
from tracekit.model.trace import FRAME_NAMES, Trace


@pytest.fixture
def trace() -> Trace:
    return trace_of([(0.0, "main", ANE), (1.0, "worker", BNNS), (2.0, "main", None)])


# Frames ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FRAME_NAMES)
def test_frames_have_missing_values_and_never_minus_one(trace: Trace, name: str) -> None:
    frame = trace.frame(name)
    for column in NULLABLE & set(frame.columns):
        assert str(frame[column].dtype).startswith("Int")
        assert not (frame[column] == -1).any()


def test_a_sample_without_stack_and_core_has_missing_values(trace: Trace) -> None:
    samples = trace.frame("samples")
    assert samples["stack_id"].isna().tolist() == [False, False, True]
    assert samples["core"].isna().all()
    assert samples["thread_id"].tolist() == trace.samples["thread_id"].tolist()
    assert samples["time_ns"].tolist() == trace.samples["time_ns"].tolist()


def test_a_frame_is_a_copy(trace: Trace) -> None:
    before = trace.samples["thread_id"].tolist()
    frame = trace.frame("samples")
    frame["thread_id"] = 7
    frame.loc[0, "stack_id"] = 5
    assert trace.samples["thread_id"].tolist() == before
    assert trace.frame("samples")["stack_id"][0] != 5


def test_other_numbers_below_zero_stay() -> None:
    frame = pd.DataFrame({"pid": [-1, 3], "value": [-1, -1], "start_ns": [-1, 0]})
    converted = with_missing(frame)
    assert converted["pid"].isna().tolist() == [True, False]
    assert converted[["value", "start_ns"]].equals(frame[["value", "start_ns"]])


def test_an_unknown_frame_is_refused_with_the_names_of_all(trace: Trace) -> None:
    with pytest.raises(UsageError, match=r"no frame 'sample'\. Its frames are samples, threads, intervals"):
        trace.frame("sample")


# Equality and pickling ------------------------------------------------------------------------------------


def test_a_pickled_trace_comes_back_equal(trace: Trace) -> None:
    assert trace.weights.sum() > 0  # computed and cached
    copy = pickle.loads(pickle.dumps(trace))
    assert copy == trace
    assert copy.weights.tolist() == trace.weights.tolist()
    assert "weights" not in pickle.loads(pickle.dumps(trace)).__dict__


def test_one_changed_value_makes_traces_differ(trace: Trace) -> None:
    times = trace.samples["time_ns"].to_numpy().copy()
    times[1] += 1
    assert trace != replace(trace, samples=trace.samples.assign(time_ns=times))
    assert trace != replace(trace, info=replace(trace.info, run=2))
    assert trace != replace(trace, stacks=StackTable.empty())
    assert trace != replace(trace, samples=trace.samples.iloc[:2])
    assert trace != "trace"


def test_two_readings_of_the_same_samples_are_equal(trace: Trace) -> None:
    assert trace == trace_of([(0.0, "main", ANE), (1.0, "worker", BNNS), (2.0, "main", None)])


def test_stack_tables_compare_and_pickle(trace: Trace) -> None:
    stacks = trace.stacks
    assert len(stacks.symbols)  # cached
    assert pickle.loads(pickle.dumps(stacks)) == stacks
    assert stacks != StackTable.empty()
    assert StackTable.empty() == StackTable.empty()
    assert stacks != replace(stacks, frame_ids=stacks.frame_ids[::-1].copy())


def test_tables_compare_and_pickle() -> None:
    columns = {"time": "start-time", "process": "process", "message": "narrative"}
    text = rows_of("odd", columns, (1, (7, "App"), ["a", 5]), (2, None, None))
    table, again = next(tables_of(text)("odd")), next(tables_of(text)("odd"))
    assert table == again
    assert pickle.loads(pickle.dumps(table)) == table
    assert table != next(
        tables_of(rows_of("odd", columns, (1, (7, "App"), ["a", 6]), (2, None, None)))("odd")
    )
    assert table != replace(table, attributes={"target-pid": "7"})
    assert repr(table) == "<Table odd, run 1: 2 rows, 3 columns>"


def test_missing_values_and_unused_categories_are_equal() -> None:
    left = pd.DataFrame({"a": pd.Categorical(["x", None], ["x", "y"]), "b": pd.array([1, None], "Int64")})
    right = pd.DataFrame({"a": pd.Categorical(["x", None], ["x"]), "b": pd.array([1, None], "Int64")})
    assert is_same_content(left, right)
    assert not is_same_content(left, right.assign(b=pd.array([1, 2], "Int64")))
    assert not is_same_content(left, left[["b", "a"]])
    assert is_same_content({"a": np.array([np.nan])}, {"a": np.array([np.nan])})
    assert not is_same_content(np.zeros(2), np.zeros(3))
    assert not is_same_content(np.zeros(2), [0.0, 0.0])
    assert not is_same_content(left, None)


# Text -----------------------------------------------------------------------------------------------------


def test_a_trace_is_one_line(trace: Trace) -> None:
    text = repr(trace)
    assert "\n" not in text
    assert text.startswith(f"<Trace {trace.info.name}, run 1: 3 samples")
    assert text.endswith("2 threads, 0 intervals, 0 signposts>")
    named = replace(trace, info=replace(trace.info, name="a\nb\x1b[2J"))
    assert repr(named).startswith("<Trace a\\nb\\x1b[2J, run 1")


def test_stacks_are_one_line(trace: Trace) -> None:
    stacks = trace.stacks
    assert repr(StackTable.empty()) == "<StackTable: 0 stacks, 0 frames, 0 binaries>"
    assert repr(stacks).startswith(f"<StackTable: {len(stacks)} stacks, {len(stacks.frames)} frames, ")


def test_stacks_are_built_from_binaries_and_symbols() -> None:
    stacks = StackTable.from_stacks(
        [[("libBNNS.dylib", "BNNSFilterApply"), ("App", "main")], [], [("", "0x10"), ("App", "main")]]
    )
    assert stacks.offsets.tolist() == [0, 2, 2, 4]
    assert [stacks.symbols[frame] for frame in stacks.stack(2)] == ["0x10", "main"]
    assert [stacks.binary_names[frame] for frame in stacks.stack(2)] == ["", "App"]
    assert len(stacks.frames) == 3
    assert len(StackTable.from_stacks([])) == 0
