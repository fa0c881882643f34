"""The recordings: what each app does, thread by thread, and which tables were exported from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import app_work as app
import coreml_work as ml
import platforms as p
import toc
from bundle_recording import bundle
from exports import empty_table, sampling_table, signposts
from recording import Recording
from truth import Truth
from xml_writer import NO_MATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from notation import Work
    from recording import Lane

Files = dict[str, str | bytes]
"""Path → content, of one recording's folder."""

TRANSCRIBER = """
    SampleApp thunk for @escaping @callee_guaranteed @Sendable () -> ()
    SampleApp closure #1 in Transcriber.start() @ Transcriber.swift:58
"""
SEGMENTER = """
    SampleApp thunk for @escaping @callee_guaranteed () -> ()
    SampleApp closure #1 in Segmenter.run(on:) @ Segmenter.swift:36
"""


def encode(model: str) -> str:
    """Return the transcriber's call of a model; Xcode generates a class of the model's name."""
    return f"""
    SampleApp Transcriber.encode(_:) @ Transcriber.swift:91
    SampleApp {model}.prediction(input:) @ {model}.swift:214
    """


def segment(model: str) -> str:
    return f"""
    SampleApp Segmenter.segment(_:) @ Segmenter.swift:64
    SampleApp {model}.prediction(input:) @ {model}.swift:178
    """


def benchmark_step(model: str) -> str:
    return f"""
    SampleTool Benchmark.step(_:) @ Benchmark.swift:66
    SampleTool {model}.prediction(input:) @ {model}.swift:151
    """


# What happens in one prediction ---------------------------------------------------------------------------


def e5_begin(caller: Lane, worker: Lane, *, seen_waiting: bool = True) -> None:
    """Bind the inputs, hand the stream to E5RT's queue and wait for it."""
    caller.on(ml.E5_FEATURES)
    caller.on(ml.E5_BIND, 2)
    caller.on(ml.E5_SUBMIT)
    worker.wait_for(caller)
    if seen_waiting:
        caller.on(ml.E5_WAIT)


def e5_end(caller: Lane, worker: Lane) -> None:
    caller.wait_for(worker)
    caller.on(ml.E5_OUTPUT)


def e5_on_ane(caller: Lane, worker: Lane, busy: int) -> None:
    """Cast, send the request, be off the CPU while the ANE works, cast back."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    worker.on(ml.E5_ANE_PREPARE)
    worker.on(ml.E5_ANE_SEND)
    worker.off(busy)
    worker.on(ml.E5_ANE_WAIT)
    worker.on(ml.E5_CAST)
    e5_end(caller, worker)


def e5_on_cpu(caller: Lane, worker: Lane, busy: int) -> None:
    """Compute on the worker; the caller is blocked and not seen, but its worker is at every tick."""
    e5_begin(caller, worker, seen_waiting=False)
    worker.on(ml.E5_CAST)
    for step in range(busy):
        worker.on(ml.E5_BNNS_GEMM if step % 3 == 2 else ml.E5_BNNS_LSTM)
    e5_end(caller, worker)


def e5_on_gpu(caller: Lane, worker: Lane, busy: int) -> None:
    """Encode the graph, commit, wait until the command buffer has completed."""
    e5_begin(caller, worker)
    worker.on(ml.E5_MPSGRAPH_CONV, 3)
    worker.on(ml.E5_MPSGRAPH_SUBMIT)
    worker.on(ml.E5_MPSGRAPH_WAIT)
    worker.off(busy)
    worker.on(ml.E5_MPSGRAPH_WAIT)
    e5_end(caller, worker)


def nn_on_ane(caller: Lane, busy: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY, 2)
    caller.on(ml.NN_ANE_PREPARE)
    caller.on(ml.NN_ANE_SEND, 2)
    caller.off(busy)
    caller.on(ml.NN_ANE_WAIT)


def nn_on_gpu(caller: Lane, busy: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY)
    caller.on(ml.NN_MPS_IMAGE)
    caller.on(ml.NN_MPS_CONV, 6)
    caller.on(ml.NN_MPS_SUBMIT)
    caller.on(ml.NN_MPS_WAIT)
    caller.off(busy)
    caller.on(ml.NN_MPS_WAIT)
    caller.on(ml.NN_FEATURES)


def nn_on_cpu(caller: Lane, steps: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY)
    caller.on(ml.NN_BNNS_CONV, 2)
    for _ in range(steps):
        caller.on(ml.NN_BNNS_LSTM, 3)
        caller.on(ml.NN_BNNS_GEMM, 2)
        caller.on(ml.NN_ELEMENTWISE)
    caller.on(ml.NN_FEATURES)


def user_interface(main: Lane, until: Lane, frames_of_work: list[Work], every: int = 17) -> None:
    """Update the screen in steady rhythm until another thread is done."""
    step = 0
    while main.tick < until.tick:
        main.on(frames_of_work[step % len(frames_of_work)])
        main.on(frames_of_work[(step + 1) % len(frames_of_work)])
        main.off(every - 2)
        step += 1


# Recordings -----------------------------------------------------------------------------------------------


def ane_e5rt_macos26() -> Files:
    """An mlprogram on the ANE, new path: the caller predicts, E5RT's worker sends the request."""
    recording = Recording("ane-e5rt-macos26", p.XCODE_26_5_MACOS_26)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    service = recording.lane("ANEServicesThread", "")

    caller.off(20)
    caller.on(ml.LOAD_PARSE, 14)
    caller.on(ml.LOAD_E5_ANE, 6)
    caller.off(60)
    caller.on(ml.LOAD_E5_ANE, 3)
    service.wait_for(caller)
    service.on(ml.ANE_IDLE)
    for turn in range(12):
        caller.on(app.LOAD_AUDIO)
        caller.on(app.SPECTROGRAM, 3)
        with recording.inference(caller, "SpeechEncoder", "ANE", worker):
            e5_on_ane(caller, worker, busy=48 if turn == 0 else 18 + turn % 3)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(9)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL, app.UI_MODEL, app.UI_STRIPPED])
    main.on(app.NO_STACK, 2)
    main.on(app.UI_LAYOUT, weight_ms=40)
    service.wait_for(main)
    service.on(ml.ANE_IDLE, 2)
    recording.finish()

    contents = toc.Contents(recording, "Core ML", toc.CORE_ML)
    os_signpost = contents.indexes("os-signpost")
    return files(recording, contents) | {
        "os-signpost.xml": signposts(recording, os_signpost, rows_in=os_signpost[-1]),
        "ane-hw-intervals-internal.xml": empty_table(
            recording, "ane-hw-intervals-internal", contents.indexes("ane-hw-intervals-internal")
        ),
    }


def ane_espresso_macos13() -> Files:
    """A neuralnetwork on the ANE, old path: everything happens on the caller's thread."""
    recording = Recording("ane-espresso-macos13", p.XCODE_14_3_MACOS_13)
    main = recording.lane("Main Thread", app.MAIN_THREAD)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    service = recording.lane("H11ANEServicesThread", "")
    unknown = recording.lane(None, "")

    caller.on(ml.LOAD_PARSE, 10)
    caller.on(ml.LOAD_NN_PLAN, 8)
    caller.on(ml.LOAD_NN_ANE, 5)
    caller.off(40)
    service.wait_for(caller)
    service.on(ml.H11_ANE_IDLE)
    for turn in range(14):
        caller.on(app.LOAD_AUDIO)
        caller.on(app.SPECTROGRAM, 2)
        with recording.inference(caller, "SpeechEncoder", "ANE"):
            nn_on_ane(caller, busy=30 if turn == 0 else 14)
            if turn != 8:
                caller.on(ml.NN_FEATURES)
        if turn == 8:
            caller.off(300)  # the user pauses: the next call comes after a gap that nothing bridges
        else:
            caller.on(app.DECODE_TEXT, 2)
            caller.off(12)
        if turn == 5:
            unknown.wait_for(caller)
            unknown.on(app.NO_SYMBOLS, 4)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL, app.JIT_CODE, app.UI_STRIPPED], every=23)
    main.on(app.UI_LAYOUT, weight_ms=40)
    main.on(app.NO_STACK)
    service.wait_for(main)
    service.on(ml.H11_ANE_IDLE, 2)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def gpu_espresso_macos13() -> Files:
    """A dilated-convolution model on the GPU, old path, beside an app that draws with Metal itself."""
    recording = Recording("gpu-espresso-macos13", p.XCODE_14_3_MACOS_13)
    main = recording.lane("Main Thread", app.MAIN_THREAD)
    caller = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("DilatedConvNet"))
    completion = recording.lane(None, app.SERIAL_QUEUE)

    caller.on(ml.LOAD_PARSE, 8)
    caller.on(ml.LOAD_NN_PLAN, 6)
    caller.on(ml.LOAD_NN_GPU, 9)
    for turn in range(10):
        caller.on(app.RESIZE_IMAGE, 2)
        with recording.inference(caller, "DilatedConvNet", "GPU"):
            nn_on_gpu(caller, busy=34 if turn == 0 else 12)
        caller.on(app.DRAW_MASK, 2)
        completion.wait_for(caller)
        completion.on(app.METAL_COMPLETION)
        caller.off(8)
    user_interface(
        main, caller, [app.DRAW_DRAWABLE, app.DRAW_ENCODE, app.DRAW_SUBMIT, app.UI_LAYOUT, app.DRAW_ENCODE]
    )
    main.on(app.DRAW_ENCODE, weight_ms=40)
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def gpu_mpsgraph() -> Recording:
    """The same model as an mlprogram on the GPU: E5RT's worker encodes an MPSGraph and waits for it."""
    recording = Recording("gpu-mpsgraph-macos15", p.XCODE_26_3_MACOS_15)
    main = recording.lane("Main Thread", app.MAIN_THREAD)
    caller = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("DilatedConvNet"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    completion = recording.lane(None, app.SERIAL_QUEUE)

    caller.on(ml.LOAD_PARSE, 8)
    caller.on(ml.LOAD_E5_GPU, 16)
    for turn in range(12):
        caller.on(app.RESIZE_IMAGE, 2)
        with recording.inference(caller, "DilatedConvNet", "GPU", worker):
            e5_on_gpu(caller, worker, busy=40 if turn == 0 else 15 + turn % 2)
        caller.on(app.DRAW_MASK, 2)
        completion.wait_for(caller)
        completion.on(app.METAL_COMPLETION)
        caller.off(7)
    user_interface(main, caller, [app.DRAW_DRAWABLE, app.DRAW_ENCODE, app.DRAW_SUBMIT, app.UI_MODEL])
    main.on(app.NO_STACK)
    return recording.finish()


def gpu_mpsgraph_macos15() -> Files:
    """The GPU recording as an export."""
    recording = gpu_mpsgraph()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_26))


def gpu_mpsgraph_macos15_bundle() -> Files:
    """The GPU recording as the bundle that Instruments saves."""
    recording = gpu_mpsgraph()
    native = {f"recording.trace/{name}": content for name, content in bundle(recording).items()}
    return {**native, "truth.json": truth(recording)}


def cpu_espresso_lstm_macos13() -> Files:
    """An LSTM model on the CPU, old path, in a command line tool that calls from its main thread."""
    recording = Recording("cpu-espresso-lstm-macos13", p.XCODE_14_3_MACOS_13, process="SampleTool", pid=812)
    main = recording.lane("Main Thread", app.COMMAND_LINE, benchmark_step("SequenceTagger"))
    main.on(ml.LOAD_PARSE, 7)
    main.on(ml.LOAD_NN_PLAN, 11)
    for turn in range(9):
        main.on(app.TOOL_INPUT, 2)
        with recording.inference(main, "SequenceTagger", "CPU"):
            nn_on_cpu(main, steps=4 + turn % 3)
        main.on(app.TOOL_OUTPUT)
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def cpu_e5rt_lstm_macos27() -> Files:
    """The same model as an mlprogram on the CPU: BNNS graphs on two workers of E5RT in turn."""
    recording = Recording("cpu-e5rt-lstm-macos27", p.XCODE_27_MACOS_27)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SequenceTagger"))
    compiler = recording.lane(None, app.SERIAL_QUEUE)
    workers = [recording.lane(None, ml.E5RT_QUEUE) for _ in range(2)]

    caller.on(ml.LOAD_PARSE, 9)
    compiler.wait_for(caller)
    compiler.on(ml.COMPILE_BNNS, 22)
    caller.wait_for(compiler)
    for turn in range(10):
        if turn != 4:
            caller.on(app.SPECTROGRAM, 2)
        worker = workers[turn % 2]
        with recording.inference(caller, "SequenceTagger", "CPU", worker):
            e5_on_cpu(caller, worker, busy=12 + turn % 4)
        if turn == 3:
            caller.off(30)  # no sample of the app before the next call, only a gap
        else:
            caller.on(app.DECODE_TEXT, 2)
            caller.off(6)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL, app.JIT_CODE])
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_26))


def fallback_midway_ios27() -> Files:
    """A model that leaves the ANE: inferences 0 to 5 run there, 6 to 11 on the CPU."""
    recording = Recording("fallback-midway-ios27", p.XCODE_27_IOS_27, pid=390)
    main = recording.lane("Main Thread", app.MAIN_THREAD_IOS)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    service = recording.lane("ANEServicesThread", "")

    caller.on(ml.LOAD_PARSE, 9)
    caller.on(ml.LOAD_E5_ANE, 7)
    service.wait_for(caller)
    service.on(ml.ANE_IDLE)
    for turn in range(12):
        caller.on(app.LOAD_AUDIO)
        caller.on(app.SPECTROGRAM, 2)
        with recording.inference(caller, "SpeechEncoder", "ANE" if turn < 6 else "CPU", worker):
            if turn < 6:
                e5_on_ane(caller, worker, busy=16)
            else:
                e5_on_cpu(caller, worker, busy=22 + turn % 3)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(10)
    user_interface(main, caller, [app.UI_IOS, app.UI_INLINED], every=16)
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_26))


def counters_bnns_macos15() -> Files:
    """CPU counters, sampled by time, of a model on the CPU."""
    recording = Recording(
        "counters-bnns-macos15",
        p.XCODE_26_3_MACOS_15,
        table="counters-profile",
        counter_names=("CORE_ACTIVE_CYCLE", "INST_ALL", "INST_SIMD_ALU", "L1D_CACHE_MISS_LD"),
    )
    main = recording.lane("Main Thread", app.MAIN_THREAD)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SequenceTagger"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    for turn in range(9):
        caller.on(app.SPECTROGRAM, 3)
        with recording.inference(caller, "SequenceTagger", "CPU", worker):
            e5_on_cpu(caller, worker, busy=14 + turn % 3)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(6)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL])
    main.on(app.NO_STACK, 4)
    recording.finish()
    return files(recording, toc.Contents(recording, "CPU Counters", toc.CPU_COUNTERS))


def cpu_profile_ane_macos26() -> Files:
    """CPU Profiler: sampled by cycles instead of time, a model on the ANE."""
    recording = Recording("cpu-profile-ane-macos26", p.XCODE_26_5_MACOS_26, table="cpu-profile")
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    caller.on(ml.LOAD_PARSE, 9)
    caller.on(ml.LOAD_E5_ANE, 7)
    for turn in range(11):
        caller.on(app.SPECTROGRAM, 4)
        with recording.inference(caller, "SpeechEncoder", "ANE", worker):
            e5_on_ane(caller, worker, busy=20 + turn % 3)
        caller.on(app.DECODE_TEXT, 3)
        caller.off(8)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL, app.UI_STRIPPED])
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "CPU Profiler", toc.CPU_PROFILER))


def kperf_samples_macos26() -> Files:
    """The raw samples of kperf: addresses without symbols, so no engine can be told."""
    recording = Recording("kperf-samples-macos26", p.XCODE_26_4_MACOS_26, table="time-sample", symbols=False)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    events = recording.lane("com.apple.NSEventThread", "")
    recording.stackshot(
        {main: app.UI_MODEL, caller: app.LOAD_AUDIO, worker: ml.E5_CAST, events: app.EVENT_THREAD}
    )
    for turn in range(10):
        caller.on(app.SPECTROGRAM, 3)
        with recording.inference(caller, "SpeechEncoder", "ANE", worker):
            e5_on_ane(caller, worker, busy=17 + turn % 2)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(9)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL])
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_26))


def text_addresses_ios16() -> Files:
    """A time profile of an old Xcode: of each stack only the leaf's name and the addresses."""
    recording = Recording("text-addresses-ios16", p.XCODE_14_2_IOS_16, pid=266, symbols=False)
    main = recording.lane("Main Thread", app.MAIN_THREAD_IOS)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    for turn in range(14):
        caller.on(app.LOAD_AUDIO)
        with recording.inference(caller, "SpeechEncoder", "ANE"):
            caller.on(ml.NN_FEATURES)
            caller.on(ml.NN_COPY, 3)
            caller.on(ml.NN_ANE_SEND, 2)
            caller.off(15 + turn % 2)
            caller.on(ml.NN_ANE_WAIT)
        caller.on(app.DECODE_TEXT, 3)
        caller.off(8)
    user_interface(main, caller, [app.UI_IOS])
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def back_to_back_macos15() -> Files:
    """A loop of short predictions: stacks alone cannot tell where one ends and the next begins."""
    recording = Recording("back-to-back-macos15", p.XCODE_16_4_MACOS_15, process="SampleTool", pid=1530)
    main = recording.lane("Main Thread", app.COMMAND_LINE, benchmark_step("SequenceTagger"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    main.on(ml.LOAD_PARSE, 6)
    main.on(ml.LOAD_E5_ANE, 5)
    main.on(app.TOOL_INPUT, 3)
    for _ in range(24):
        with recording.inference(main, "SequenceTagger", "ANE", worker):
            e5_on_ane(main, worker, busy=2)
    main.on(app.TOOL_OUTPUT, 3)
    recording.finish()
    contents = toc.Contents(recording, "Core ML", toc.CORE_ML)
    return (
        files(recording, contents)
        | {
            name + ".xml": empty_table(recording, name, contents.indexes(name))
            for name in ("ane-hw-intervals-internal", "coreml-os-signpost")
        }
        | {"ane-hw-intervals.xml": NO_MATCH}
    )


def two_at_once_macos13() -> Files:
    """Two models at once on two threads: a detector on the ANE, a tagger on the CPU."""
    recording = Recording("two-at-once-macos13", p.XCODE_14_3_MACOS_13)
    main = recording.lane("Main Thread", app.MAIN_THREAD)
    detector = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Detector"))
    tagger = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SequenceTagger"))
    detector.on(ml.LOAD_NN_ANE, 5)
    tagger.on(ml.LOAD_NN_PLAN, 8)
    for turn in range(7):
        detector.on(app.RESIZE_IMAGE, 2)
        with recording.inference(detector, "Detector", "ANE"):
            nn_on_ane(detector, busy=21 + turn % 2)
            detector.on(ml.NN_FEATURES)
        detector.on(app.DRAW_MASK, 2)
        detector.off(7)
    for turn in range(7):
        tagger.on(app.SPECTROGRAM, 2)
        with recording.inference(tagger, "SequenceTagger", "CPU"):
            nn_on_cpu(tagger, steps=3 + turn % 2)
        tagger.on(app.DECODE_TEXT, 2)
        tagger.off(6)
    user_interface(main, detector, [app.UI_LAYOUT, app.UI_MODEL])
    main.on(app.NO_STACK)
    recording.finish()
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def files(recording: Recording, contents: toc.Contents) -> Files:
    """Return what every recording has: its table of contents, its sampling table and the truth."""
    (table_index,) = contents.indexes(recording.table)
    return {
        "toc.xml": contents.to_xml(),
        f"{recording.table}.xml": sampling_table(recording, table_index),
        "truth.json": truth(recording),
    }


def truth(recording: Recording) -> str:
    return json.dumps(Truth(recording).to_json(), indent=1) + "\n"


RECORDINGS: dict[str, Callable[[], Files]] = {
    play.__name__.replace("_", "-"): play
    for play in (
        ane_e5rt_macos26,
        ane_espresso_macos13,
        gpu_espresso_macos13,
        gpu_mpsgraph_macos15,
        gpu_mpsgraph_macos15_bundle,
        cpu_espresso_lstm_macos13,
        cpu_e5rt_lstm_macos27,
        fallback_midway_ios27,
        counters_bnns_macos15,
        cpu_profile_ane_macos26,
        kperf_samples_macos26,
        text_addresses_ios16,
        back_to_back_macos15,
        two_at_once_macos13,
    )
}
"""Folder name → the scenario that plays it."""
