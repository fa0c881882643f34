"""Call graphs of ``sample``: stacks, counts, threads and images, whatever happened to the text."""

from __future__ import annotations

import gzip
import io
import sys

import pytest
from text_support import EVIDENCE, codes, counted, per_thread, stack_of, trace_of_text, traces_of

import tracekit
from tracekit.errors import InputError
from tracekit.load import open_trace
from tracekit.parsers.text.kinds import identify_text
from tracekit.parsers.text.text_file import TextPlace

DUMPS = EVIDENCE / "stack_dumps"
real = pytest.mark.skipif(not DUMPS.is_dir(), reason="no collection of samples beside the checkout")

HEAD = """\
Analysis of sampling App (pid 42) every 1 millisecond
Process:         App [42]
Path:            /Applications/App.app/Contents/MacOS/App
Code Type:       ARM64

Date/Time:       2026-10-03 03:46:21.144 -0500
OS Version:      macOS 26.6.2 (25G83)
Report Version:  7

"""
GRAPH = """\
Call graph:
    10 Thread_1   DispatchQueue_1: com.apple.main-thread  (serial)
    + 10 start  (in dyld) + 6992  [0x18ce044e4]
    +   7 main  (in App) + 96  [0x1004]  main.swift:20
    +   ! 4 -[MLModel predictionFromFeatures:error:]  (in CoreML) + 88,100  [0x2004,0x2010]
    +   ! : 3 ???  (in Espresso)  load address 0x3000 + 0x10  [0x3010]
    +   ! 1 memmove  (in libsystem_platform.dylib) + 4  [0x4004]
    +   3 idle  (in App) + 4  [0x1010]
    5 Thread_2: worker   DispatchQueue_<multiple>
      5 thread_start  (in libsystem_pthread.dylib) + 8  [0x5008]
"""
REST = """
Total number in stack (recursive counted multiple, when >=5):
        10       start  (in dyld) + 0  [0x18ce044e0]

Sort by top of stack, same collapsed (when >= 5):
        thread_start  (in libsystem_pthread.dylib)        5

Binary Images:
           0x1000 -           0x1fff +com.example.App (1.0 - 1) <072957A7-0B68-3113-BA22-38410EBBDB49> /Applications/App.app/Contents/MacOS/App
           0x3000 -           0x3fff  com.apple.espresso (1.0) <0F050705-2258-3D40-B7BC-F3B35A44BBEA> /System/Library/PrivateFrameworks/Espresso.framework/Versions/A/Espresso
"""
STACKS = [
    (3, ("start", "main", "-[MLModel predictionFromFeatures:error:]", "0x3010")),
    (1, ("start", "main", "-[MLModel predictionFromFeatures:error:]")),
    (1, ("start", "main", "memmove")),
    (2, ("start", "main")),
    (3, ("start", "idle")),
    (5, ("thread_start",)),
]


def test_a_report_is_stacks_with_counts_and_what_follows_the_graph_is_not_counted(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + GRAPH + REST)
    assert sorted(counted(trace)) == sorted(STACKS)
    assert per_thread(trace) == {(1, "com.apple.main-thread"): 10, (2, "worker"): 5}
    assert (trace.info.process, trace.info.pid, trace.info.platform) == ("App", 42, "macOS")
    assert (trace.info.os, trace.info.start) == ("26.6.2 (25G83)", "2026-10-03T03:46:21.144-05:00")
    assert trace.weight_unit == "samples" and not trace.has_timeline
    assert codes(trace) == set()
    assert "waiting-threads" in {issue.code for issue in trace.issues}


def test_frames_have_their_source_and_their_binary_as_the_list_of_images_has_it(tmp_path):
    stacks = trace_of_text(tmp_path, HEAD + GRAPH + REST).stacks
    frames = stacks.frames.set_index(stacks.frames["symbol"].astype(str))
    assert (frames.at["main", "source_file"], frames.at["main", "source_line"]) == ("main.swift", 20)
    assert frames.at["-[MLModel predictionFromFeatures:error:]", "address"] == 0x2004
    binaries = stacks.binaries.set_index("name")
    assert binaries.at["App", "uuid"] == "072957A7-0B68-3113-BA22-38410EBBDB49"
    assert binaries.at["Espresso", "load_address"] == 0x3000
    assert binaries.at["Espresso", "path"].endswith("Espresso.framework/Versions/A/Espresso")
    assert binaries.at["CoreML", "uuid"] == ""
    assert (binaries.at["App", "load_address"], binaries.at["App", "arch"]) == (0x1000, "arm64")


@pytest.mark.parametrize(
    "text",
    [
        GRAPH,
        (HEAD + GRAPH + REST).replace("\n", "\r\n"),
        (HEAD + GRAPH + REST).encode("utf-16"),
        # An issue's quotation, and a system whose headings are translated.
        "".join(f"    {line}\n" for line in GRAPH.splitlines()),
        "".join(f"    {line}\n" for line in (HEAD + GRAPH + REST).splitlines()),
        (HEAD + GRAPH + REST).replace("Call graph:", "Graphe des appels :").replace("Total number", "Nombre"),
        GRAPH.replace("    5 Thread_2", "\n    5 Thread_2"),
    ],
    ids=["without a head", "CRLF", "UTF-16", "quoted", "quoted as a whole", "translated", "with blank lines"],
)
def test_the_graph_is_recognised_and_read_in_any_dress(tmp_path, text):
    trace = trace_of_text(tmp_path, text)
    assert sorted(counted(trace)) == sorted(STACKS)
    assert codes(trace) == set()


def test_standard_input_and_compressed_files_are_texts_too(tmp_path, monkeypatch):
    packed = gzip.compress((HEAD + GRAPH + REST).encode())
    assert sorted(counted(trace_of_text(tmp_path, packed))) == sorted(STACKS)
    piped = io.BufferedReader(io.BytesIO((HEAD + GRAPH + REST).encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped))
    trace = open_trace("-")
    assert sorted(counted(trace)) == sorted(STACKS)
    assert trace.info.name == "standard input"


def test_other_texts_are_no_call_graphs(tmp_path):
    others = [
        "# Notes\n\n1 Start the app (in Xcode)\n2 Steps: 3\nProcess: it takes 5 samples\n",
        '<?xml version="1.0"?>\n<trace-query-result>\n    5 Thread_1\n</trace-query-result>\n',
        '{"frames": [{"binary": "A", "symbol": "5 f  (in A) + 1  [0x1]"}]}\n',
        "0   CoreFoundation  0x00007ff813cb27b3 __exceptionPreprocess + 242\n",
        "2026-10-03 03:46:21.144 App[42:1] 12 rows (in table) at [0x10]\n",
        "Weight\tHeight\n5 kg\t3 m\n",
    ]
    for text in others:
        path = tmp_path / "other.txt"
        path.write_text(text)
        recognised = identify_text(TextPlace(str(path), "other.txt"))
        assert recognised is None or recognised[0].name not in ("sample", "spindump", "deep-copy"), text


def test_two_reports_in_one_file_are_two_runs(tmp_path):
    path = tmp_path / "both.txt"
    path.write_text(HEAD + GRAPH + REST + "\n" + HEAD.replace("42", "43") + GRAPH)
    first, second = traces_of(path)
    assert (first.info.pid, second.info.pid) == (42, 43)
    assert counted(first) == counted(second)


def test_a_skipped_level_has_a_caller_that_is_missing_and_keeps_the_count(tmp_path):
    text = HEAD + GRAPH.replace("    +   ! : 3 ???", "    +   ! :     3 ???") + REST
    trace = trace_of_text(tmp_path, text)
    assert codes(trace) == {"callers-missing"}
    assert int(trace.weights.sum()) == 15
    assert any("(callers missing)" in stack and count == 3 for count, stack in counted(trace))


def test_an_odd_column_changes_nothing(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + GRAPH.replace("+ 10 start", "+  10 start") + REST)
    assert sorted(counted(trace)) == sorted(STACKS)


@pytest.mark.parametrize("count", ["many", "9" * 5000, "-3"])
def test_a_count_that_is_no_number_is_an_issue_and_the_thread_keeps_its_samples(tmp_path, count):
    trace = trace_of_text(tmp_path, HEAD + GRAPH.replace("7 main", f"{count} main") + REST)
    assert codes(trace) == {"lines-unreadable", "callers-missing"}
    assert per_thread(trace) == {(1, "com.apple.main-thread"): 10, (2, "worker"): 5}


def test_more_samples_than_the_caller_has_are_left_out_and_reported(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + GRAPH.replace("3 idle", "300000000000 idle") + REST)
    assert codes(trace) == {"counts-disagree"}
    assert sorted(counted(trace)) == sorted(STACKS)


def test_lines_that_were_cut_out_leave_their_samples_without_an_engine(tmp_path):
    graph = GRAPH.replace("    +   ! : 3 ???", "[… lines cut …]\n    +   ! : | + 3 ???")
    trace = trace_of_text(tmp_path, HEAD + graph + REST)
    assert codes(trace) == {"lines-cut"}
    assert per_thread(trace) == {(1, "com.apple.main-thread"): 10, (2, "worker"): 5}
    stacks = {stack: count for count, stack in counted(trace)}
    call = "-[MLModel predictionFromFeatures:error:]"
    assert stacks["(callers missing)", "0x3010"] == 3
    assert stacks["start", "main", call, "(callees missing)"] == 1
    assert sum(count for stack, count in stacks.items() if "(callers missing)" in stack) == 7


def test_an_excerpt_without_a_head_counts_nothing_twice_where_lines_were_cut_out(tmp_path):
    text = "+ 10 a  (in A) + 1  [0x1]\n[…]\n+     4 c  (in A) + 1  [0x3]\n+ 2 d  (in A) + 1  [0x4]\n"
    stacks = {stack: count for count, stack in counted(trace_of_text(tmp_path, text))}
    assert stacks == {("a", "(callees missing)"): 6, ("(callers missing)", "c"): 4, ("d",): 2}


def test_a_text_that_ends_within_a_frame_is_read_up_to_there_and_marked(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + GRAPH[: GRAPH.index("  load address")])
    assert codes(trace) == {"document-incomplete"}
    assert int(trace.weights.sum()) == 10


def test_a_report_without_a_thread_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(InputError, match="without a call graph"):
        trace_of_text(tmp_path, HEAD + "Call graph:\n" + REST)


def test_names_of_any_length_and_ends_without_location_are_read(tmp_path):
    name = "f<" + "int, " * 5000 + "int>(…)"
    text = f"Call graph:\n    2 Thread_9\n      2 {name}  (in A (beta)) + 1  [0x1]\n        1 bare\n"
    trace = trace_of_text(tmp_path, text)
    assert sorted(counted(trace)) == [(1, (name,)), (1, (name, "bare"))]
    assert trace.stacks.binaries["name"].tolist() == ["A (beta)"]


@real
def test_stacks_are_those_that_inferno_folds_from_the_same_file():
    """The rows of one thread as inferno's tests state them; it leaves out samples that wait (``read``)."""
    (trace,) = traces_of(DUMPS / "sample_rg_macos10.14.txt")
    thread = trace.threads.index[trace.threads["tid"] == 15758535][0]
    rows = trace.samples[trace.samples["thread_id"] == thread]
    folded = [(stack_of(trace, row.stack_id)[-3:], row.samples) for row in rows.itertuples()]
    active = [(tuple(_short(name) for name in end), count) for end, count in folded if end[-1] != "read"]
    assert active == [
        (("open_c", "cvt_r", "__open"), 617),
        (("_open", "open", "open_c"), 1),
        (("fill", "roll", "_platform_memmove$VARIANT$Haswell"), 1),
        (("search_impl", "search_path", "__close_nocancel"), 57),
        (("open_c", "cvt_r", "__open"), 7),
        (("open_c", "cvt_r", "__open"), 5),
        (("open_c", "cvt_r", "__open"), 5),
        (("open_c", "cvt_r", "__open"), 2),
        (("readdir_r$INODE64", "_readdir_unlocked$INODE64", "__getdirentries64"), 8),
        (("readdir", "__opendir2$INODE64", "__open_nocancel"), 3),
        (("__opendir2$INODE64", "__opendir_common", "fstatfs$INODE64"), 1),
    ]
    assert set(per_thread(trace).values()) == {825}


def _short(symbol: str) -> str:
    parts = symbol.partition(" (")[0].split("::")
    return parts[-2] if len(parts) > 1 and parts[-1].startswith("h") and len(parts[-1]) == 17 else parts[-1]


@real
@pytest.mark.parametrize(
    ("name", "samples", "found"),
    [
        ("sample_inferno_odd-indentation.txt", 825, set()),
        ("sample_inferno_skipped-indentation.txt", 825, {"callers-missing", "counts-disagree"}),
        ("sample_inferno_invalid-samples-field.txt", 825, {"callers-missing", "lines-unreadable"}),
        ("sample_slotstream_mlx_excerpt.txt", 2088, {"callers-missing", "counts-disagree", "lines-cut"}),
        ("sample_voiceink_ane_thread_excerpt.txt", 2400, set()),
    ],
)
def test_damaged_and_quoted_samples_keep_their_counts_and_name_what_is_wrong(name, samples, found):
    (trace,) = traces_of(DUMPS / name)
    assert int(trace.weights.sum()) == samples
    assert codes(trace) == found


@real
def test_an_excerpt_shows_engines_only_as_far_as_its_lines_do():
    (trace,) = traces_of(DUMPS / "sample_slotstream_mlx_excerpt.txt")
    totals = {engine.engine: engine.weight for engine in tracekit.analyze(trace).engine_totals}
    # 413 wait for the GPU, 32 are in mlx::core::gpu::eval, 8 in its callers; the callees of main were cut out.
    assert {engine: weight for engine, weight in totals.items() if weight} == {
        "GPU": 445,
        "RUNTIME": 8,
        "UNKNOWN": 1635,
    }
    (trace,) = traces_of(DUMPS / "sample_voiceink_ane_thread_excerpt.txt")
    assert tracekit.analyze(trace).labels.is_ml.tolist() == [False]
