"""The recordings: what each app does, thread by thread, and which tables were exported from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.bundle_recording import bundle
from sample_generator.coreai_scenarios import (
    coreai_and_coreml_ios27,
    coreai_gpu_fallback_macos27,
    coreai_one_region_ios27,
    coreai_thirteen_regions_macos27,
)
from sample_generator.evidence import Evidence, around_inferences
from sample_generator.evidence_scenarios import (
    ane_intervals_macos26,
    concurrent_models_ios27,
    counters_cumulative_macos26,
    fallback_midway_ios27,
    foundation_models_macos27,
    gpu_mpsgraph,
    gpu_mpsgraph_macos15,
)
from sample_generator.language_scenarios import (
    language_model_leaves_engine_macos27,
    language_model_macos27,
)
from sample_generator.log_scenarios import failing_requests_macos27
from sample_generator.model_scenarios import operators_leave_macos27
from sample_generator.ownership_scenarios import (
    concurrent_engines_macos27,
    same_name_two_processes_macos27,
    spill_into_next_call_macos27,
    two_copies_ios27,
)
from sample_generator.predictions import (
    SEGMENTER,
    TRANSCRIBER,
    benchmark_step,
    e5_on_ane,
    e5_on_cpu,
    encode,
    nn_on_ane,
    nn_on_cpu,
    nn_on_gpu,
    segment,
    user_interface,
)
from sample_generator.recording import Recording
from sample_generator.recording_files import files, truth
from sample_generator.waiting_scenarios import waiting_app_ios27
from sample_generator.xml_writer import NO_MATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from sample_generator.recording_files import Files


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
    recording.shows("cold-first-call", "SpeechEncoder", first_call=0)

    evidence = Evidence(
        interval_tables=("ane-hw-intervals-internal",),
        signposts=around_inferences(recording, "Inference", "PointsOfInterest"),
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML), evidence)


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
    recording.shows("cold-first-call", first_call=0)
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
    recording.shows("cold-first-call", first_call=0)
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_14))


def gpu_mpsgraph_macos15_bundle() -> Files:
    """The GPU recording as the bundle that Instruments saves."""
    recording = gpu_mpsgraph()
    native = {f"recording.trace/{name}": content for name, content in bundle(recording).items()}
    return {**native, "truth.json": truth(recording, Evidence())}


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
    recording.shows("compiled-in-run")
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
    """The raw samples of kperf: addresses without symbols, so no engine can be determined."""
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
    """A loop of short predictions: stacks alone do not separate one from the next."""
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
    recording.shows("copies-around-engine", first_call=0)
    contents = toc.Contents(recording, "Core ML", toc.CORE_ML)
    evidence = Evidence(interval_tables=("ane-hw-intervals-internal", "coreml-os-signpost"))
    return files(recording, contents, evidence) | {"ane-hw-intervals.xml": NO_MATCH}


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
        ane_intervals_macos26,
        concurrent_models_ios27,
        counters_cumulative_macos26,
        foundation_models_macos27,
        failing_requests_macos27,
        coreai_one_region_ios27,
        coreai_thirteen_regions_macos27,
        coreai_gpu_fallback_macos27,
        coreai_and_coreml_ios27,
        waiting_app_ios27,
        same_name_two_processes_macos27,
        two_copies_ios27,
        spill_into_next_call_macos27,
        concurrent_engines_macos27,
        operators_leave_macos27,
        language_model_macos27,
        language_model_leaves_engine_macos27,
    )
}
"""Folder name → the scenario that plays it."""
