"""Deep Copies of Instruments: own weights as samples, whatever version, unit and locale wrote them."""

from __future__ import annotations

import pytest
from text_support import codes, counted, per_thread, trace_of_text, traces_of

from tracekit.errors import InputError

XCODE_16 = """\
Weight\tSelf Weight\tSymbol Names
4.93 s  100.0%\t0 s\t   start
4.93 s  99.9%\t0 s\t    main
2.45 s   0.0%\t1.24 s\t     delta()
1.20 s   0.0%\t846.00 ms\t      -[MLModel predictionFromFeatures:error:]
354.00 ms   0.0%\t354.00 ms\t       small_malloc_from_free_list
11.00 ms   0.0%\t11.00 ms\t      nanov2_malloc_type
2.48 s   0.0%\t2.48 s\t     gamma()
"""
XCODE_11 = (
    "Weight\tSelf Weight\t\tSymbol Name\n"
    "10.00 ms  100.0%\t0 s\t \tMain Process (123)\n"
    "5.00 ms  50.0%\t0 s\t \t Thread 1  0x1ee7\n"
    "5.00 ms  50.0%\t0 s\t \t  foo\n"
    "2.00 ms  20.0%\t2.00 ms\t \t   bar1\n"
    "3.00 ms  30.0%\t1.00 ms\t \t   bar2\n"
    "2.00 ms  20.0%\t2.00 ms\t \t    baz\n"
    "5.00 ms  50.0%\t0 s\t \t Thread 2 (0x7ee1)\n"
    "5.00 ms  50.0%\t5.00 ms\t \t  spin\n"
)
STACKS = [(2, ("foo", "bar1")), (1, ("foo", "bar2")), (2, ("foo", "bar2", "baz")), (5, ("spin",))]


def test_own_weights_are_samples_of_the_interval_that_they_are_multiples_of(tmp_path):
    trace = trace_of_text(tmp_path, XCODE_16)
    call = "-[MLModel predictionFromFeatures:error:]"
    assert sorted(counted(trace)) == [
        (11, ("start", "main", "delta()", "nanov2_malloc_type")),
        (354, ("start", "main", "delta()", call, "small_malloc_from_free_list")),
        (846, ("start", "main", "delta()", call)),
        (1240, ("start", "main", "delta()")),
        (2480, ("start", "main", "gamma()")),
    ]
    (assumed,) = [issue.message for issue in trace.issues if issue.code == "weight-assumed"]
    assert assumed == "the copy has weights instead of samples: 1 ms counts as one sample"
    assert codes(trace) == {"weight-assumed"}
    assert not trace.has_timeline


def test_processes_and_threads_are_the_first_levels_where_they_are_separated(tmp_path):
    trace = trace_of_text(tmp_path, XCODE_11)
    assert sorted(counted(trace)) == sorted(STACKS)
    assert per_thread(trace) == {(0x1EE7, "Thread 1"): 5, (0x7EE1, "Thread 2"): 5}
    assert (trace.info.process, trace.info.pid) == ("Main Process", 123)


@pytest.mark.parametrize(
    "text",
    [
        XCODE_11.replace("\n", "\r\n"),
        "In the trace I see:\n\n" + XCODE_11 + "\n\n",
        XCODE_11.partition("\n")[2],
        XCODE_11.replace(".00", ",00")
        .replace(".0%", ",0 %")
        .replace("Weight\tSelf Weight", "Gewicht\tEigenes"),
        XCODE_11.replace("Weight\tSelf Weight", "Running Time\tSelf (ms)").replace(".00 ms\t \t", "\t \t"),
    ],
    ids=["CRLF", "in a mail", "without a header", "in another locale", "self in milliseconds"],
)
def test_a_copy_is_recognised_in_any_dress(tmp_path, text):
    assert sorted(counted(trace_of_text(tmp_path, text))) == sorted(STACKS)


def test_a_copy_without_own_weights_has_what_callees_leave(tmp_path):
    text = (
        "# Samples\tSymbol Name\n34\tMyApp (637)\n28\t Main Thread  0x12daf\n28\t  start\n20\t   UIApplicationMain\n"
        "6\t Worker  0x12db0\n6\t  thread_start\n"
    )
    trace = trace_of_text(tmp_path, text)
    assert counted(trace) == [(20, ("start", "UIApplicationMain")), (8, ("start",)), (6, ("thread_start",))]
    assert codes(trace) == set()


def test_cycles_count_by_the_million_and_none_is_lost(tmp_path):
    text = (
        "Weight\tSelf Weight\t\tSymbol Name\n96.08 Gc  100.0%\t-\t \texample_app (40414)\n96.08 Gc  100.0%\t-\t \t start\n"
        "96.08 Gc  100.0%\t96.08 Gc\t \t  mach_absolute_time\n532 cycles    0.0%\t532 cycles\t \t  print\n"
    )
    trace = trace_of_text(tmp_path, text)
    assert counted(trace) == [(96_080, ("start", "mach_absolute_time")), (1, ("start", "print"))]


def test_two_copies_in_one_file_are_two_runs(tmp_path):
    path = tmp_path / "both.txt"
    path.write_text(XCODE_16 + "\n" + XCODE_11)
    assert [int(trace.weights.sum()) for trace in traces_of(path)] == [4931, 10]


def test_rows_that_a_plain_copy_left_out_are_unknown_callees(tmp_path):
    trace = trace_of_text(tmp_path, XCODE_11.replace("2.00 ms  20.0%\t2.00 ms\t \t    baz\n", ""))
    assert codes(trace) == {"weight-assumed", "lines-cut"}
    assert (2, ("foo", "bar2", "(callees missing)")) in counted(trace)
    assert int(trace.weights.sum()) == 10


def test_a_skipped_level_and_a_row_that_is_none_are_reported(tmp_path):
    trace = trace_of_text(tmp_path, XCODE_11.replace("    baz", "      baz") + "many\t0 s\t \t  lost\n")
    assert codes(trace) == {"weight-assumed", "callers-missing", "lines-unreadable"}
    assert (2, ("foo", "bar2", "(callers missing)", "baz")) in counted(trace)


def test_copies_that_cannot_be_counted_are_refused_with_a_sentence(tmp_path):
    inverted = "".join(f"5.00 ms  50.0%\t5.00 ms\t \t{' ' * level}f{level}\n" for level in range(6))
    with pytest.raises(InputError, match=r"inverted call tree has\. Turn off"):
        trace_of_text(tmp_path, "Weight\tSelf Weight\t\tSymbol Name\n" + inverted)
    allocations = "Bytes Used\tCount\t\tSymbol Name\n   9.75 KB     100.0%\t56\t \t_pthread_start\n"
    with pytest.raises(InputError, match="Deep Copy of allocations"):
        trace_of_text(tmp_path, allocations)
    with pytest.raises(InputError, match="without a row"):
        trace_of_text(tmp_path, "Weight\tSelf Weight\tSymbol Names\n")
