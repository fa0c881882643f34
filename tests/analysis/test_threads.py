"""The answer of a trace without times: samples are counted, and each thread's work has its deciding frame."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from thread_support import ELSEWHERE, ON_ANE, ON_CPU, SERVICE, WITHOUT_SYMBOLS, Thread, text_trace

import tracekit
from tracekit import Analysis
from tracekit.analysis.threads import ThreadAnswer, ThreadWork
from tracekit.errors import UsageError
from tracekit.model.vocabulary import Engine, Phase
from tracekit.report.wording.threads import list_threads_limits

SHARED = Path(__file__).resolve().parents[3] / "shared"
STACKS = SHARED / "stacks" / "stacks.jsonl"


def analysed(*threads: Thread) -> Analysis:
    return tracekit.analyze(text_trace(*threads))


def work_of(analysis: Analysis) -> ThreadWork:
    assert analysis.thread_work is not None
    return analysis.thread_work


SAMPLED = (Thread("Main", ON_ANE, 413), Thread("Worker", ON_CPU, 87), Thread("Other", ELSEWHERE, 1500))


def test_engines_add_up_to_the_samples_and_not_to_the_rows() -> None:
    analysis = analysed(*SAMPLED)
    assert {str(row.engine): row.samples for row in analysis.engine_totals if row.samples} == {
        "ANE": 413,
        "CPU": 87,
        "OTHER": 1500,
    }
    assert sum(row.samples for row in analysis.engine_totals) == analysis.trace.count_samples() == 2000
    assert int(work_of(analysis).samples.sum()) == 2000


def test_a_thread_has_its_engine_phase_samples_and_deciding_frame() -> None:
    first, second = work_of(analysed(*SAMPLED)).answers(10)
    assert (first.name, first.samples, first.process, first.pid) == ("Main", 413, "MyApp", 412)
    (work,) = first.works
    assert work.engine is Engine.ANE
    assert work.frame is not None
    assert (work.frame.symbol, work.frame.binary) == (ON_ANE[1][0], "Espresso")
    assert (second.name, second.works[0].engine) == ("Worker", Engine.CPU)


def test_a_thread_that_did_several_things_has_a_row_for_each() -> None:
    trace = text_trace(Thread("Main", ON_ANE, 30), Thread("Main", ELSEWHERE, 70))
    samples = trace.samples.assign(thread_id=trace.samples["thread_id"] * 0)
    (answer,) = work_of(tracekit.analyze(replace(trace, samples=samples))).answers(10)
    assert [(work.engine, work.samples) for work in answer.works] == [(Engine.ANE, 30), (Engine.OTHER, 70)]
    assert answer.samples == 100


def test_one_pause_is_a_sentence_with_the_frame_and_its_limit() -> None:
    analysis = analysed(Thread("Main", ON_ANE), Thread("a", ELSEWHERE), Thread("b", ELSEWHERE))
    assert analysis.headline.startswith("At this moment 1 of 3 threads of MyApp was ")
    assert "the Neural Engine (E5RT::Ops::AneInferenceOperation::ExecuteSync())" in analysis.headline
    assert analysis.headline.endswith("; a single moment shows no rate and no latency.")


def test_a_pause_without_ml_code_names_all_threads() -> None:
    analysis = analysed(Thread("Main", ELSEWHERE), Thread("a", ELSEWHERE))
    expected = "At this moment none of 2 threads of MyApp was in an ML engine or an ML runtime"
    assert analysis.headline.startswith(expected)


def test_counted_samples_are_a_sentence_of_counts() -> None:
    headline = analysed(*SAMPLED).headline
    assert headline.startswith("Of 2,000 samples of 3 threads of MyApp, 413 ")
    assert "87 ran ML kernels on the CPU" in headline


def test_a_text_of_the_whole_system_names_the_process() -> None:
    other = Thread("t", ELSEWHERE, 10, process="launchd", pid=1)
    analysis = analysed(Thread("vision", ON_CPU, 12, process="mediaanalysisd", pid=9), other)
    assert analysis.headline == (
        "Of 22 samples of 2 threads in 2 processes, 12 ran ML kernels on the CPU, all in mediaanalysisd (9)."
    )
    assert [entry.process for entry in work_of(analysis).processes] == ["mediaanalysisd", "launchd"]
    assert analysed(other, Thread("u", ELSEWHERE, 3)).headline == (
        "None of 2 threads in 2 processes was in an ML engine or an ML runtime."
    )


def test_a_service_thread_of_the_neural_engine_is_idle_and_no_work() -> None:
    analysis = analysed(Thread("H11ANEServicesThread", SERVICE), Thread("Main", ELSEWHERE))
    idle = "In MyApp the Neural Engine's service thread is idle: the engine was opened, which does not mean that it worked."
    assert idle in analysis.headline
    work = work_of(analysis)
    assert int(work.ml_samples.sum()) == 0
    (answer,) = work.answers(10)
    assert answer.is_idle
    assert answer.works[0].phase is Phase.IDLE
    assert "none of 2 threads" in analysis.headline


def test_an_idle_thread_of_a_runtimes_pool_is_no_trace_of_the_neural_engine() -> None:
    pool = (
        ("mlx::core::scheduler::StreamThread::thread_fn()", "libmlx.dylib"),
        ("__psynch_cvwait", "libsystem_kernel.dylib"),
    )
    analysis = analysed(Thread("stream", pool[::-1], 100), Thread("Main", ELSEWHERE, 100))
    assert analysis.headline == "None of 2 threads of MyApp was in an ML engine or an ML runtime."
    assert not any("Neural Engine" in limit for limit in list_threads_limits(work_of(analysis)))
    (process,) = work_of(analysis).processes
    assert (process.idle_threads, process.service_threads) == (1, 0)
    both = analysed(Thread("stream", pool[::-1], 100), Thread("H11ANEServicesThread", SERVICE, 100))
    assert "In MyApp the Neural Engine's service thread is idle" in both.headline


def test_the_kernel_is_recorded_with_all_processes() -> None:
    driver = (("H11ANEIn::MemoryPressureMonitorThread(void*)", "AppleH11ANEInterface"),)
    text = analysed(Thread("", driver, 11, process="kernel_task", pid=0)).to_text()
    assert "tracekit record --all-processes --preset coreml" in text
    assert "--app kernel_task" not in text


def test_a_service_thread_known_by_its_name_alone_has_no_deciding_frame() -> None:
    (answer,) = work_of(analysed(Thread("H11ANEServicesThread", WITHOUT_SYMBOLS))).answers(10)
    assert (answer.works[0].phase, answer.works[0].frame) == (Phase.IDLE, None)


def test_the_thread_that_crashed_is_named_with_what_it_did() -> None:
    outside = analysed(Thread("Main", ON_ANE), Thread("Reader", ELSEWHERE, state="Crashed"))
    assert "Thread Reader (0x2) crashed outside ML code, in __pthread_kill." in outside.headline
    inside = analysed(Thread("Main", ON_CPU, state="Crashed"))
    assert "crashed while running ML kernels on the CPU." in inside.headline


def test_a_report_of_a_hang_is_not_called_a_crash() -> None:
    headline = analysed(Thread("Main", ELSEWHERE, state="Triggered")).headline
    assert (
        "The report was written because of Main (0x1), which was outside ML code, in __pthread_kill."
        in headline
    )
    assert "crash" not in headline


def test_a_driver_thread_in_the_kernel_serves_no_request() -> None:
    driver = (("H11ANEIn::MemoryPressureMonitorThread(void*)", "AppleH11ANEInterface"),)
    headline = analysed(Thread("", driver, 11, process="kernel_task", pid=0)).headline
    assert "In kernel_task the Neural Engine's driver thread is idle: it serves no request." in headline


def test_lines_that_are_missing_in_the_text_are_not_called_missing_symbols() -> None:
    analysis = analysed(Thread("a", (("(callers missing)", ""),), 30), Thread("b", ON_ANE, 10))
    assert "no-symbols" not in {finding.kind for finding in analysis.findings}
    assert "unsymbolicated-stacks" not in {entry.code for entry in analysis.diagnostics}


def test_stacks_without_symbols_identify_no_engine() -> None:
    analysis = analysed(Thread("a", WITHOUT_SYMBOLS, 3), Thread("b", WITHOUT_SYMBOLS, 4))
    assert analysis.headline == (
        "None of the 7 samples of MyApp has a stack with symbols, so engines cannot be identified."
    )


def test_stacks_with_missing_lines_do_have_names() -> None:
    cut = Thread("a", (("__ulock_wait", "libsystem_kernel.dylib"), ("(callers missing)", "")), 5)
    assert "has a stack with symbols" in analysed(cut).headline


def test_the_count_of_a_debuggers_pauses_is_no_time() -> None:
    pauses, counted = (
        " ".join(
            list_threads_limits(work_of(tracekit.analyze(text_trace(Thread("a", ON_ANE, 2), kind=kind))))
        )
        for kind in ("lldb", "sample")
    )
    assert pauses.startswith("A count is the number of pauses in which a thread stood there")
    assert "elapsed time" not in pauses
    assert "a count is elapsed time of a thread" in counted


def test_nothing_about_calls_time_or_other_tables_is_found() -> None:
    analysis = analysed(*SAMPLED)
    assert not len(analysis.window_rows)
    assert [finding.kind for finding in analysis.findings] == []
    assert [row.source for row in analysis.evidence] == ["stack-counts"]
    assert all(row.waiting_ns is None for row in analysis.engine_totals)


@pytest.mark.parametrize("options", [{"windows": "stacks"}, {"windows": "run"}, {"signposts": "a/b/c"}])
def test_windows_are_refused_in_a_sentence(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"dump\.txt has no times"):
        tracekit.analyze(text_trace(*SAMPLED), **options)  # type: ignore[arg-type]


def test_windows_of_the_user_are_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"dump\.txt has no times"):
        tracekit.analyze(text_trace(*SAMPLED), windows=["1ms-2ms"])


def test_a_process_or_thread_is_selected() -> None:
    trace = text_trace(*SAMPLED, Thread("t", ELSEWHERE, 10, process="launchd", pid=1))
    assert tracekit.analyze(trace, process="launchd").trace.count_samples() == 10
    assert work_of(tracekit.analyze(trace, thread="Worker")).count == 1


def test_no_thread_at_all_is_a_sentence() -> None:
    assert analysed().headline == "This text shows no thread with a stack."


def test_the_analysis_is_pickled_with_its_threads() -> None:
    analysis = analysed(*SAMPLED)
    assert pickle.loads(pickle.dumps(analysis)).headline == analysis.headline


@pytest.mark.skipif(not STACKS.exists(), reason="no labelled stacks beside the project")
def test_labelled_stacks_as_threads_have_the_engine_that_a_person_gave_them() -> None:
    stacks = [json.loads(line) for line in STACKS.read_text(encoding="utf-8").splitlines()]
    threads = [
        Thread(
            f"{number}: {stack['thread_name']}",
            [(frame["symbol"], frame["binary"]) for frame in stack["frames"]],
            samples=number + 1,
        )
        for number, stack in enumerate(stacks)
    ]
    work = work_of(tracekit.analyze(text_trace(*threads)))
    assert work.samples[:-1].tolist() == [thread.samples for thread in threads]
    answers = {int(answer.name.split(":")[0]): answer for answer in work.answers(len(threads))}
    decidable = [(number, stack["label"]) for number, stack in enumerate(stacks) if stack["decidable"]]
    right = [number for number, label in decidable if _label(answers.get(number)) == label]
    assert len(right) >= 0.95 * len(decidable)
    assert not [
        number for number, label in decidable if label == "OTHER" and _label(answers.get(number)) == "ANE"
    ]


def _label(answer: ThreadAnswer | None) -> str:
    engine = str(answer.works[0].engine) if answer is not None else "OTHER"
    return engine if engine in ("ANE", "GPU", "CPU") else "OTHER"
