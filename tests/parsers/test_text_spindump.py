"""Reports of spindump: threads, states, counts and images of every format, and what is no part of a stack."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from macho_support import LOADED, UUID_OF_APP, dsym
from text_support import EVIDENCE, codes, counted, per_thread, stack_of, trace_of_text, traces_of

import tracekit
from tracekit.errors import InputError
from tracekit.load import open_trace

DUMPS = EVIDENCE / "stack_dumps"
real = pytest.mark.skipif(not DUMPS.is_dir(), reason="no collection of spindumps beside the checkout")

HEAD = """\
Date/Time:        2025-12-17 19:00:41.615 -0500
End time:         2025-12-17 19:00:48.846 -0500
OS Version:       macOS 26.2 (Build 25C56)
Architecture:     arm64e
Report Version:   67

Data Source:      Stackshots

Command:          App
PID:              42

Event:            hang
Duration:         7.23s (process was unresponsive for 2 seconds before sampling)
Steps:            10 (10ms sampling interval)

Hardware model:   Mac16,5

------------------------------------------------------------
Heavy format: stacks are sorted by count
------------------------------------------------------------

Heaviest stack for the main thread of the target process:
  10  start + 462 (dyld + 21806) [0x1004]
  7   main + 9 (App + 16) [0x2010]
 *7   mach_msg_receive + 0 (kernel + 16) [0xffffff8000000010]


"""
APP = """\
Process:          App [42]
UUID:             70CFDCC9-8CE5-37C8-B428-9C01403E01D8
Path:             /Applications/App.app/Contents/MacOS/App
Footprint:        60.25 MB -> 61.25 MB (+1 MB)
Num samples:      10 (1-10)
Note:             5 idle work queue threads omitted

  Thread 0xa1    DispatchQueue "com.apple.main-thread"(1)    10 samples (1-10)    priority 47 (base 47)    cpu time 0.091s
  <process frontmost, thread QoS user interactive (requested user interactive), IO tier 0>
  10  start + 462 (dyld + 21806) [0x1004]
    7   main + 9 (App.swift:31,1 in App + 16) [0x2010]
     *6   mach_msg_receive + 0 (kernel + 16) [0xffffff8000000010]
     *1   thread_set_pri + 0 (kernel + 32) [0xffffff8000000020] (running, p-core)
    3   ??? (<B87012E0-CA14-37BD-AFD2-ED47ECE1D92D> + 32) [0x3020] (blocked by turnstile waiting for Other [7] thread 0xb1)

  Thread 0xa2    Thread name "pool, 12 samples"    4 samples (2-5)    priority 31 (base 31)
  4  ??? [0]

  Thread 0xa3,0xa4    DispatchQueue "work"(13)    2 samples (4,9)    priority 31 (base 31)
  2  work (App + 64) [0x2040] (runnable)

  Binary Images:
           0x1000 -           0x1fff  dyld (1335)                 <0F050705-2258-3D40-B7BC-F3B35A44BBEA>  /usr/lib/dyld
           0x2000 -                ???  com.example.App 1.0 (1)   <70CFDCC9-8CE5-37C8-B428-9C01403E01D8>  /Applications/App.app/Contents/MacOS/App
           0x3000 -                ???  ???                       <B87012E0-CA14-37BD-AFD2-ED47ECE1D92D>
   *0xffffff8000000000 - 0xffffff8000001fff  kernel (12377.61.12) <B3B9C89A-5728-31D0-8065-3C50623191AE>__TEXT_EXEC  /System/Library/Kernels/kernel


"""
OTHER = """\
Process:          Other (com.example.Other) [7] (suspended)
Num samples:      10 (1-10)

  Thread 0xb1    1 sample (3)    priority 31 (base 31)    last ran 324.825s ago
  1  start + 462 (dyld + 21806) [0x1004]

  Binary Images:
           0x1000 -           0x1fff  dyld (1335)                 <0F050705-2258-3D40-B7BC-F3B35A44BBEA>  /usr/lib/dyld


"""
TAIL = """\
Kextstat:
Index Refs Address            Size       Wired      Name (Version) UUID <Linked Against>
    1  124 0xffff [0x10]     0          0          com.apple.kpi.bsd (22.1.0) BF7C9676 <>

Custom Output:

Process:         App [42]
Parent Process:  launchd [1]

Date/Time:       2025-12-17 19:00:49.000 -0500
OS Version:      macOS 26.2 (25C56)
Analysis Tool:   /usr/bin/heap
----

  5 blocks (64 bytes)
"""
STACKS = [
    (6, ("start", "main", "mach_msg_receive")),
    (1, ("start", "main", "thread_set_pri")),
    (3, ("start", "0x3020")),
    (4, ("0x0",)),
    (2, ("work",)),
    (1, ("start",)),
]


def test_a_report_is_the_counted_stacks_of_its_processes(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + APP + OTHER + TAIL)
    assert sorted(counted(trace)) == sorted(STACKS)
    assert codes(trace) == set()
    assert per_thread(trace) == {
        (0xA1, "com.apple.main-thread"): 10,
        (0xA2, "pool, 12 samples"): 4,
        (-1, "work"): 2,
        (0xB1, ""): 1,
    }
    assert set(zip(trace.threads["process"], trace.threads["pid"], strict=True)) == {
        ("App", 42),
        ("Other (com.example.Other)", 7),
    }


def test_the_facts_of_the_report_are_those_of_the_recording(tmp_path):
    info = trace_of_text(tmp_path, HEAD + APP).info
    assert (info.process, info.pid, info.model) == ("App", 42, "Mac16,5")
    assert (info.platform, info.os) == ("macOS", "26.2 (25C56)")
    assert (info.start, info.end) == ("2025-12-17T19:00:41.615-05:00", "2025-12-17T19:00:48.846-05:00")
    assert info.duration_ns == 7_230_000_000
    assert trace_of_text(tmp_path, HEAD.replace("PID:              42\n", "") + APP).info.pid == 42
    system_wide = HEAD.replace("Command:          App\nPID:              42\n", "")
    info = trace_of_text(tmp_path, system_wide + APP + OTHER).info
    assert (info.process, info.pid) == ("", None)


def test_states_are_those_of_the_samples_that_end_in_a_frame(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + APP)
    states = {stack_of(trace, row.stack_id)[-1]: row.state for row in trace.samples.itertuples()}
    assert states["thread_set_pri"] == "Running"
    assert states["0x3020"] == "Blocked"
    assert states["work"] == "Runnable"
    assert trace.samples["state"].isna().sum() == 2


def test_binaries_have_uuid_path_and_load_address_of_their_process(tmp_path):
    stacks = trace_of_text(tmp_path, HEAD + APP + OTHER).stacks
    binaries = stacks.binaries.set_index("name")
    assert binaries["uuid"].to_dict() == {
        "dyld": "0F050705-2258-3D40-B7BC-F3B35A44BBEA",
        "App": "70CFDCC9-8CE5-37C8-B428-9C01403E01D8",
        "<B87012E0-CA14-37BD-AFD2-ED47ECE1D92D>": "B87012E0-CA14-37BD-AFD2-ED47ECE1D92D",
        "kernel": "B3B9C89A-5728-31D0-8065-3C50623191AE",
    }
    # The kernel's entry is the address of a segment, from which no function can be looked up.
    assert (binaries.at["App", "load_address"], binaries.at["kernel", "load_address"]) == (0x2000, 0)
    main = stacks.frames[stacks.frames["symbol"] == "main"].iloc[0]
    assert (main["source_file"], main["source_line"], main["address"]) == ("App.swift", 31, 0x2010)


def test_symbols_name_the_frames_of_a_report(tmp_path):
    frames = "".join(f"  1  ??? (App + {at}) [{LOADED + at:#x}]\n" for at in range(0, 0x10000, 16))
    image = f"  Binary Images:\n  {LOADED:#x} - ???  App <{UUID_OF_APP}>  /Apps/App\n"
    path = tmp_path / "report.txt"
    path.write_text(f"Process:          App [42]\n\n  Thread 0x1    4096 samples (1-4096)\n{frames}\n{image}")
    names = set(open_trace(path, symbols=[dsym(tmp_path)]).stacks.frames["symbol"])
    assert {"predict", "main"} <= names


@pytest.mark.parametrize(("arch", "more"), [("arm64e", 0), ("x86_64", 1), ("", 1)])
def test_a_leaf_is_a_program_counter_which_is_looked_up_where_it_is(tmp_path, arch, more):
    heading = f"Architecture:     {arch}\nFootprint:"
    frames = trace_of_text(tmp_path, HEAD + APP.replace("Footprint:", heading)).stacks.frames
    addresses = {symbol: set(rows["address"]) for symbol, rows in frames.groupby("symbol", observed=True)}
    assert (addresses["main"], addresses["work"]) == ({0x2010}, {0x2040 + more})


def test_the_timeline_format_has_the_same_counts_and_no_times(tmp_path):
    timeline = re.sub(r"^( +\*?(\d+) .*\[0.*)$", r"\1 1-\2", HEAD + APP + OTHER, flags=re.MULTILINE)
    trace = trace_of_text(tmp_path, timeline.replace("Heavy format", "Timeline format"))
    assert sorted(counted(trace)) == sorted(STACKS)
    assert not trace.has_timeline
    assert Counter(trace.samples["state"].dropna()) == {"Running": 1, "Blocked": 1, "Runnable": 1}


@pytest.mark.parametrize("text", [APP, APP.replace("\n", "\r\n"), APP[APP.index("  Thread 0xa1") :]])
def test_a_quotation_of_a_report_is_read_as_far_as_it_goes(tmp_path, text):
    trace = trace_of_text(tmp_path, text)
    assert sorted(counted(trace)) == sorted(STACKS[:-1])


def test_a_report_that_is_quoted_as_a_whole_keeps_its_facts(tmp_path):
    trace = trace_of_text(
        tmp_path, "".join(f"    {line}\n" for line in (HEAD + APP + OTHER + TAIL).splitlines())
    )
    assert sorted(counted(trace)) == sorted(STACKS)
    assert (trace.info.process, trace.info.os) == ("App", "26.2 (25C56)")
    assert codes(trace) == set()


def test_two_reports_in_one_file_are_two_runs(tmp_path):
    path = tmp_path / "both.txt"
    path.write_text(HEAD + APP + TAIL + HEAD.replace("26.2", "26.3") + OTHER)
    first, second = traces_of(path)
    assert (first.info.os, second.info.os) == ("26.2 (25C56)", "26.3 (25C56)")
    assert (int(first.weights.sum()), int(second.weights.sum())) == (16, 1)


MICROSTACKSHOTS = """\
{"bug_type":"202","os_version":"iPhone OS 26.0 (23A5276f)","name":"App"}
Date/Time:        2025-06-30 11:09:04.038 +0200
OS Version:       iPhone OS 26.0 (Build 23A5276f)
Data Source:      Microstackshots

Command:          App
PID:              42

Event:            cpu usage
Duration:         51680.83s
Steps:            4401 (10 gigacycles/step, 30 samples lost, 10.49 MB/step)

Hardware model:   iPhone12,3

Heaviest stack for the target process:
  5  start + 4 (App + 16) [0x2010]


Powerstats for:   App (Application) [42]
UUID:             70CFDCC9-8CE5-37C8-B428-9C01403E01D8
Num samples:      9 (100%)
Primary state:    4 samples Frontmost App, Non-Suppressed, User mode
User Activity:    0 samples Idle, 9 samples Active
  6  start + 4 (App + 16) [0x2010]
    5  work + 4 (App + 32) [0x2020]
      3  <Kernel mode, Effective Thread QoS User Interactive>
      2  <on behalf of nsurlsessiond [149] (originated by nsurlsessiond [149])>
  3  thread_start + 4 (libsystem_pthread.dylib + 16) [0x4010]

  Binary Images:
           0x2000 -                ???  App   <70CFDCC9-8CE5-37C8-B428-9C01403E01D8>  /var/App


Powerstats for:   Helper
Num samples:      2 (1%)
  2  start + 4 (Helper + 16) [0x5010]
"""


def test_microstackshots_are_one_tree_per_process_and_circumstances_are_no_frames(tmp_path):
    trace = trace_of_text(tmp_path, MICROSTACKSHOTS)
    expected = [(1, ("start",)), (2, ("start",)), (3, ("thread_start",)), (5, ("start", "work"))]
    assert sorted(counted(trace)) == expected
    assert trace.threads["process"].tolist() == ["App (Application)", "Helper"]
    assert (trace.info.platform, trace.info.process, trace.info.pid) == ("iOS", "App", 42)
    assert trace.info.kind == "microstackshots"
    assert "waiting-threads" not in {issue.code for issue in trace.issues}
    # Microstackshots are taken of threads that run.
    answer = tracekit.analyze(trace).to_text()
    assert "Only threads that ran were sampled" in answer
    assert "(threads are not separated)" in answer and "only thread" not in answer
    assert ", a report of microstackshots" in answer


def test_the_format_of_2015_has_no_offset_in_the_binary(tmp_path):
    text = (
        "Date/Time:       2015-03-05 05:19:21 -0500\nOS Version:      10.9.5 (Build 13F34)\n\n"
        "Powerstats for:  QQ [8363]\nMicrostackshots: 19 samples (13%)\n"
        "  10 thread_start + 34 (libsystem_pthread.dylib) [0x949f6cf2]\n"
        "    10 _pthread_start + 130 (libsystem_pthread.dylib) [0x949f1485]\n"
    )
    trace = trace_of_text(tmp_path, text)
    assert counted(trace) == [(10, ("thread_start", "_pthread_start")), (9, ())]
    assert (trace.info.platform, trace.info.os) == ("macOS", "10.9.5 (13F34)")
    assert trace.stacks.binaries["name"].tolist() == ["libsystem_pthread.dylib"]


def test_a_thread_keeps_its_count_where_its_lines_have_more_or_less(tmp_path):
    less = trace_of_text(tmp_path, HEAD + APP.replace("4  ??? [0]", "3  ??? [0]"))
    assert per_thread(less) == per_thread(trace_of_text(tmp_path, HEAD + APP))
    assert "null-stacks" in codes(less)
    more = trace_of_text(tmp_path, HEAD + APP.replace("4  ??? [0]", "400  ??? [0]"))
    assert per_thread(more) == per_thread(less)
    assert codes(more) == {"counts-disagree"}


def test_a_report_that_ends_within_a_frame_is_read_up_to_there_and_marked(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + APP[: APP.index(" in App + 16")])
    assert codes(trace) == {"document-incomplete", "lines-unreadable"}
    assert counted(trace) == [(10, ("start",))]


def test_a_count_that_is_no_number_and_a_line_that_was_cut_out_are_reported(tmp_path):
    trace = trace_of_text(tmp_path, HEAD + APP.replace("    7   main", "    x   main"))
    assert {"lines-unreadable", "callers-missing"} <= codes(trace)
    trace = trace_of_text(tmp_path, HEAD + APP.replace("  10  start", "[...]\n  10  start"))
    assert codes(trace) == {"lines-cut"}
    assert int(trace.weights.sum()) == 16


def test_a_report_without_symbols_has_no_engine(tmp_path):
    bare = re.sub(r"\d  +[a-z_]+(?: \+ \d+)? \(", "1  ??? (", HEAD + APP)
    engines = {
        total.engine
        for total in tracekit.analyze(trace_of_text(tmp_path, bare)).engine_totals
        if total.weight
    }
    assert engines <= {"UNKNOWN", "OTHER"}


def test_a_report_without_a_thread_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(InputError, match=r"without a single stack\. Take another one"):
        trace_of_text(tmp_path, HEAD + "No samples\n" + TAIL)


def test_numbers_that_no_report_has_are_bounded(tmp_path):
    huge = APP.replace("App.swift:31", "App.swift:99999999999").replace("0xa1 ", "0xffffffffffffffff ")
    trace = trace_of_text(tmp_path, HEAD + huge.replace("[42]", f"[{'9' * 30}]"))
    assert int(trace.weights.sum()) == 16
    assert trace.stacks.frames["source_line"].max() == -1
    assert trace.threads["tid"].min() == -1


def test_the_answer_states_that_waiting_threads_count(tmp_path):
    text = tracekit.analyze(trace_of_text(tmp_path, HEAD + APP)).to_text()
    assert "Waiting threads are counted like running ones" in text


def test_a_thread_with_several_queues_is_one_thread(tmp_path):
    more = APP.replace("0xa2    Thread", "0xa1    Thread").replace("0xa3,0xa4", "0xa1,0xa4")
    analysis = tracekit.analyze(trace_of_text(tmp_path, HEAD + more + OTHER))
    work = analysis.thread_work
    assert work.count == 3  # 0xa1, the queue that two threads served, and that of the other process
    assert [entry.threads for entry in work.processes] == [2, 1]
    assert "None of 3 threads in 2 processes" in analysis.to_text().replace("\n ", "")
    assert "17 of 3 threads, without times" in analysis.to_text()


def test_queues_of_one_name_that_other_threads_served_are_apart(tmp_path):
    queue = APP[APP.index("  Thread 0xa3") : APP.index("  Binary Images")]
    trace = trace_of_text(
        tmp_path, HEAD + APP.replace(queue, queue + queue.replace("0xa3,0xa4", "0xa5,0xa6"))
    )
    per_queue = {name: count for (tid, name), count in per_thread(trace).items() if tid < 0}
    assert per_queue == {"work": 2, "work (0xa5, 0xa6)": 2}


def test_threads_that_older_systems_do_not_list_are_one_queue(tmp_path):
    text = APP.replace("0xa3,0xa4", "<multiple>")
    trace = trace_of_text(tmp_path, HEAD + text)
    assert per_thread(trace)[-1, "work"] == 2
    assert int(trace.weights.sum()) == 16
    assert codes(trace) == set()
    without_queue = trace_of_text(tmp_path, HEAD + text.replace('DispatchQueue "work"(13)', ""))
    assert per_thread(without_queue)[-1, "several threads"] == 2
    excerpt = "  Thread <multiple>    DispatchQueue 37    2 samples (1-2)\n  2  f (App + 1) [0x1]\n"
    assert per_thread(trace_of_text(tmp_path, excerpt)) == {(-1, "DispatchQueue 37"): 2}


def test_one_sample_of_each_thread_is_no_pause(tmp_path):
    text = "  Thread 0x1    1 sample (3)\n  1  -[_ANEClient evaluateWithModel:] + 4 (AppleNeuralEngine + 8) [0x1004]\n"
    answer = tracekit.analyze(trace_of_text(tmp_path, text)).to_text()
    assert answer.startswith("Of 1 sample of the only thread") and "pause" not in answer


@real
def test_threads_and_samples_of_a_whole_system_are_those_that_its_heads_state():
    text = (DUMPS / "spindump_ventura_shutdownstall.txt").read_text(errors="replace")
    (trace,) = traces_of(DUMPS / "spindump_ventura_shutdownstall.txt")
    stated: Counter[tuple[str, int]] = Counter()
    process = ""
    for line in text.splitlines():
        if line.startswith("Process:          "):
            process = line.split(maxsplit=1)[1]
        if match := re.match(r"  Thread (0x\w+)(,\S+)? .*? (\d+) samples? \(", line):
            stated[process, -1 if match[2] else int(match[1], 16)] += int(match[3])
    assert len(stated) > 200 and sum(stated.values()) == 20573
    read: Counter[tuple[str, int]] = Counter()
    for row in trace.samples.itertuples():
        thread = trace.threads.iloc[row.thread_id]
        read[f"{thread['process']} [{thread['pid']}]", int(thread["tid"])] += int(row.samples)
    assert read == stated
    # A thread is an id, or the one queue that several served; 226 headings are of a thread and a queue.
    work = tracekit.analyze(trace).thread_work
    assert work.count == sum(entry.threads for entry in work.processes) == len(stated) == 215
    assert work.unlisted_count + work.listed_count == work.count
    running = sum(int(count) for count in re.findall(r"^ +\*?(\d+) .*\] \(running\)$", text, re.MULTILINE))
    assert int(trace.samples.loc[trace.samples["state"] == "Running", "samples"].sum()) == running
    assert codes(trace) == set()
    # Every frame with a binary finds it in the list of its process.
    assert (trace.stacks.binaries["uuid"] != "").all()
    assert (trace.info.model, trace.info.os, trace.info.pid) == ("MacBookAir7,1", "13.0 (22A380)", None)


@real
def test_a_system_without_work_on_the_neural_engine_or_the_gpu_shows_none():
    (trace,) = traces_of(DUMPS / "spindump_ventura_shutdownstall.txt")
    analysis = tracekit.analyze(trace)
    working = {total.engine for total in analysis.engine_totals if total.weight}
    # mediaanalysisd recognises text with BNNS and Espresso; nothing else in it is ML.
    assert working == {"CPU", "RUNTIME", "OTHER", "UNKNOWN"}
    assert len(analysis.windows) == 0
    ml = trace.samples[analysis.labels.is_ml]
    assert set(trace.threads.iloc[ml["thread_id"]]["process"]) == {"mediaanalysisd"}


@real
def test_a_whole_system_without_ml_has_no_engine(tmp_path):
    text = (DUMPS / "spindump_ventura_shutdownstall.txt").read_text(errors="replace")
    begin = text.index("Process:          mediaanalysisd")
    trace = trace_of_text(tmp_path, text[:begin] + text[text.index("Process:", begin + 8) :])
    analysis = tracekit.analyze(trace)
    assert {total.engine for total in analysis.engine_totals if total.weight} == {"OTHER", "UNKNOWN"}
    assert not analysis.labels.is_ml.any()
    assert len(set(trace.threads["pid"])) == 11
