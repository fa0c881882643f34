"""The recordings with tables of evidence: what instruments beside the sampler saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import (
    Evidence,
    Signpost,
    alternating,
    around_inferences,
    levels,
    thread_states,
    union,
)
from sample_generator.evidence_engines import (
    ane_span,
    ane_spans,
    answer_span,
    compiled_model,
    coreml_span,
    coreml_spans,
    foreign_span,
    label_26,
    label_27,
    loading_span,
    request_span,
)
from sample_generator.evidence_gpu import METAL, MPS, GpuTimeline
from sample_generator.predictions import (
    SEGMENTER,
    TRANSCRIBER,
    e5_in_three,
    e5_on_ane,
    e5_on_cpu,
    e5_on_gpu,
    encode,
    segment,
    user_interface,
)
from sample_generator.recording import Recording
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.recording_files import Files


def fallback_midway_ios27() -> Files:
    """A model that leaves the ANE: inferences 0 to 5 run there, 6 to 11 on the CPU.

    Another app's model is on the ANE twice: between two calls, and while this app's model is on the CPU.
    """
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
    recording.shows("compiled-in-run", "SpeechEncoder")
    recording.shows("fell-back", "SpeechEncoder", first_call=6)

    table, model = "ane-hw-intervals", "SpeechEncoder"
    load = ane_span(table, recording.span(12, 16), model, compiled_model(model, "Load"))
    between, inside = recording.inferences[2].end_ns, recording.inferences[8].start_ns
    spans = [
        ane_span(table, recording.span(9, 12), model, compiled_model(model, "Compile")),
        load,
        load,  # the very same row twice, as seen in public
        *ane_spans(recording, table, label_27),
        foreign_span(table, between + 2_104_333, 3_871_500),
        foreign_span(table, inside + 6_020_125, 4_433_958),
        coreml_span(recording, recording.span(0, 16), model, "Load", ("RUNTIME", "load")),
        *coreml_spans(recording),
    ]
    evidence = Evidence(interval_tables=(table, "coreml-os-signpost"), spans=spans)
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_ML_27), evidence)


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
    recording.shows("cold-first-call", first_call=0)
    return recording.finish()


def gpu_mpsgraph_macos15() -> Files:
    """The GPU recording as an export, with what MPS and the GPU report."""
    recording = gpu_mpsgraph()
    spans = GpuTimeline(recording).spans()
    busy = union((span.start_ns, span.end_ns) for span in spans if span.source == METAL and span.depth == 0)
    evidence = Evidence(
        interval_tables=(MPS, METAL), spans=spans, gpu_active=alternating(busy, recording.end_ns)
    )
    return files(recording, toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_GPU), evidence)


def ane_intervals_macos26() -> Files:
    """A partitioned model: ANE, CPU, ANE in every call but one, after a compile and two loads.

    The CPU's part is what the ANE cannot do; call 7 runs on the CPU altogether.
    """
    recording = Recording("ane-intervals-macos26", p.XCODE_26_5_MACOS_26)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    service = recording.lane("ANEServicesThread", "")

    caller.off(3)
    caller.on(ml.LOAD_PARSE, 8)
    caller.on(ml.LOAD_E5_ANE, 4)
    loading = caller.tick
    caller.off(188)  # the daemon compiles and loads
    loaded = caller.tick
    caller.on(ml.LOAD_E5_ANE, 3)
    service.wait_for(caller)
    service.on(ml.ANE_IDLE)
    for turn in range(13):
        caller.on(app.LOAD_AUDIO)
        caller.on(app.SPECTROGRAM)
        with recording.inference(caller, "SpeechEncoder", "CPU" if turn == 7 else "MIXED", worker):
            if turn == 7:
                e5_on_cpu(caller, worker, busy=38)
            else:
                e5_in_three(caller, worker, 3, 2 + turn % 2, after=24 if turn == 0 else 17 + turn % 3)
        caller.on(app.DECODE_TEXT)
        caller.off(5)
    caller.on(app.LOAD_AUDIO)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL], every=29)
    main.on(app.NO_STACK)
    recording.finish()
    recording.shows("compiled-in-run", "SpeechEncoder")
    recording.shows("came-back", "SpeechEncoder", first_call=7)
    recording.shows("partly-on-engine", "SpeechEncoder", first_call=0)

    table, model = "ane-hw-intervals-internal", "SpeechEncoder"
    spans = [
        ane_span(table, recording.span(loading, loading + 152), model, f"{model}_main__Op0 Compile"),
        ane_span(table, recording.span(loading + 152, loading + 184), model, f"{model}_main__Op0 Load"),
        ane_span(table, recording.span(loading + 171, loaded), model, f"{model}_main__Op2 Load"),
        *ane_spans(recording, table, label_26),
    ]
    ready_ns = recording.span(loaded, loaded + 1)[0]
    begun_ns = recording.span(caller.tick, caller.tick + 1)[0]
    evidence = Evidence(
        interval_tables=(table, "coreml-os-signpost"),
        spans=spans,
        signposts=[
            Signpost(ready_ns, "Event", caller, model, "loaded", "Inference"),
            *around_inferences(recording, "encode", "Inference"),
            Signpost(begun_ns, "Begin", caller, model, "encode", "Inference"),
        ],
        thread_states=thread_states(recording, caller, worker),
        thermal=levels(("Nominal", 401_208_333), ("Fair", recording.end_ns)),
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_SIGNPOSTS), evidence)


def concurrent_models_ios27() -> Files:
    """Two models at once on two threads, both on the ANE, which a third model of another app uses too."""
    recording = Recording("concurrent-models-ios27", p.XCODE_27_IOS_27, pid=412)
    main = recording.lane("Main Thread", app.MAIN_THREAD_IOS)
    detector = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Detector"))
    encoder = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    workers = [recording.lane(None, ml.E5RT_QUEUE) for _ in range(2)]
    for caller in (detector, encoder):
        caller.on(ml.LOAD_PARSE, 5)
        caller.on(ml.LOAD_E5_ANE, 4)
    for turn in range(8):
        detector.on(app.RESIZE_IMAGE, 2)
        with recording.inference(detector, "Detector", "ANE", workers[0]):
            e5_on_ane(detector, workers[0], busy=13 + turn % 3)
        detector.on(app.DRAW_MASK)
        detector.off(6)
    for turn in range(6):
        encoder.on(app.SPECTROGRAM, 3)
        with recording.inference(encoder, "SpeechEncoder", "ANE", workers[1]):
            e5_on_ane(encoder, workers[1], busy=21 + turn % 2)
        encoder.on(app.DECODE_TEXT, 2)
        encoder.off(7)
    user_interface(main, encoder, [app.UI_IOS, app.UI_INLINED], every=19)
    main.on(app.NO_STACK)
    recording.finish()

    recording.shows("engine-contention", "Detector", first_call=1)
    recording.shows("engine-contention", "SpeechEncoder", first_call=9)

    table, calls = "ane-hw-intervals", recording.inferences
    spans = [
        *ane_spans(recording, table, label_27),
        *(
            foreign_span(table, call.start_ns + 5_310_250, 2_977_083)
            for call in (calls[1], calls[4], calls[9])
        ),
        foreign_span(table, recording.end_ns - 30_520_000, 3_340_042),
        *coreml_spans(recording),
    ]
    evidence = Evidence(interval_tables=(table, "coreml-os-signpost"), spans=spans)
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)


def counters_cumulative_macos26() -> Files:
    """CPU counters as the kernel's samples hold them: what each core has counted since it was started."""
    recording = Recording(
        "counters-cumulative-macos26",
        p.XCODE_26_4_MACOS_26,
        counter_names=("FIXED_CYCLES", "FIXED_INSTRUCTIONS"),
    )
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SequenceTagger"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    for turn in range(6):
        caller.on(app.SPECTROGRAM, 2)
        with recording.inference(caller, "SequenceTagger", "CPU", worker):
            e5_on_cpu(caller, worker, busy=11 + turn % 3)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(6)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL])
    main.on(app.NO_STACK, 2)
    recording.finish()
    contents = toc.Contents(recording, "Time Profiler", toc.TIME_PROFILER_COUNTERS)
    return files(recording, contents, Evidence(cumulative_counters=True))


def foundation_models_macos27() -> Files:
    """An app that uses the system's language model in another process: three turns, one fails."""
    recording = Recording("foundation-models-macos27", p.XCODE_27_MACOS_27, pid=2207)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    asking = recording.lane(None, app.SERIAL_QUEUE)
    turns = []
    for turn in range(3):
        asking.on(app.WRITE_PROMPT, 3)
        first = asking.tick
        asking.off(140 + 25 * turn)
        turns.append((first, asking.tick))
        asking.on(app.SHOW_ANSWER, 4)
        asking.off(20)
    user_interface(main, asking, [app.UI_LAYOUT, app.UI_MODEL], every=23)
    recording.finish()

    loads = [("tokenizer", 4, 21), ("base", 9, 77), ("safety", 12, 40)]
    spans = [loading_span(recording.span(*ticks), asset, "unloaded", "loaded") for asset, *ticks in loads]
    for turn, (first, last) in enumerate(turns, 1):
        error = "SECRETPROMPT 3: the guardrail's words" if turn == 3 else ""
        spans.append(request_span(recording, recording.span(first, last), turn, answers=1))
        spans.append(answer_span(recording, recording.span(first + 3, last - 2), turn, error=error))
    evidence = Evidence(
        interval_tables=("ModelLoadingTable", "ModelInferenceTable", "RequestTable"), spans=spans
    )
    return files(recording, toc.Contents(recording, "Foundation Models", toc.FOUNDATION_MODELS), evidence)
