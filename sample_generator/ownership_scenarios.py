"""The recordings whose tables hold several users of an engine: whose work each row is, and of which call."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence
from sample_generator.evidence_engines import ane_span, ane_spans, compiled_model, coreml_spans, label_27
from sample_generator.evidence_gpu import METAL, MPS, GpuTimeline
from sample_generator.predictions import (
    SEGMENTER,
    TRANSCRIBER,
    e5_begin,
    e5_on_ane,
    e5_on_cpu,
    e5_on_gpu,
    encode,
    nn_on_ane,
    nn_on_cpu,
    segment,
    user_interface,
)
from sample_generator.recording import Recording, on_clock
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.evidence import Span
    from sample_generator.recording import Lane
    from sample_generator.recording_files import Files

_ANE = "ane-hw-intervals"


def same_name_two_processes_macos27() -> Files:
    """An app's model on the CPU, and the very same model on the ANE in another process.

    An app and its extension hold the same compiled model, so that their rows of the ANE's table have one
    label. The extension's calls keep a rhythm of their own: some of its rows lie in calls of the app, some
    between two, some over an edge.
    """
    recording = Recording("same-name-two-processes-macos27", p.XCODE_27_MACOS_27)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("NoiseFilter"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    caller.on(ml.LOAD_PARSE, 9)
    for turn in range(7):
        caller.on(app.SPECTROGRAM, 2)
        with recording.inference(caller, "NoiseFilter", "CPU", worker):
            e5_on_cpu(caller, worker, busy=13 + turn % 3)
        caller.on(app.DECODE_TEXT)
        caller.off(11)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL], every=29)
    recording.finish()

    rhythm = range(21_304_167, recording.end_ns - 50_000_000, 23_500_000)
    evidence = Evidence(
        interval_tables=(_ANE, "coreml-os-signpost"),
        spans=[*(_of_extension("NoiseFilter", start_ns) for start_ns in rhythm), *coreml_spans(recording)],
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)


def _of_extension(model: str, start_ns: int) -> Span:
    """Return a row of the app's extension."""
    span = on_clock(start_ns), on_clock(start_ns + 6_208_333)
    return ane_span(_ANE, span, model, compiled_model(model, "Prediction"), by_app=False)


def two_copies_ios27() -> Files:
    """A model that an app loads twice: its importer for the ANE, its preview for the CPU."""
    recording = Recording("two-copies-ios27", p.XCODE_27_IOS_27, pid=498)
    main = recording.lane("Main Thread", app.MAIN_THREAD_IOS)
    importer = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("Captioner"))
    preview = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Captioner"))
    workers = [recording.lane(None, ml.E5RT_QUEUE) for _ in range(2)]
    importer.on(ml.LOAD_PARSE, 5)
    importer.on(ml.LOAD_E5_ANE, 4)
    preview.wait_for(importer)
    preview.on(ml.LOAD_PARSE, 5)
    for turn in range(5):
        importer.wait_for(preview)
        importer.on(app.RESIZE_IMAGE, 2)
        with recording.inference(importer, "Captioner", "ANE", workers[0], copy=1):
            e5_on_ane(importer, workers[0], busy=12 + turn % 3)
        importer.on(app.DECODE_TEXT)
        preview.wait_for(importer)
        preview.on(app.RESIZE_IMAGE)
        with recording.inference(preview, "Captioner", "CPU", workers[1], copy=2):
            e5_on_cpu(preview, workers[1], busy=16 + turn % 2)
        preview.on(app.DRAW_MASK)
        preview.off(6)
    user_interface(main, preview, [app.UI_IOS, app.UI_INLINED], every=29)
    recording.finish()
    recording.shows("differs-by-copy", "Captioner")
    evidence = Evidence(
        interval_tables=(_ANE, "coreml-os-signpost"),
        spans=[*ane_spans(recording, _ANE, label_27), *coreml_spans(recording)],
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)


def spill_into_next_call_macos27() -> Files:
    """A model on the ANE in every second call; its rows end later than the calls, 0.1 ms inside the next.

    An actor makes the calls, on two threads in turn and without a pause: while one thread decodes a result,
    the other is in the next call. Long windows of sound have a shape that the ANE does not take.
    """
    recording = Recording("spill-into-next-call-macos27", p.XCODE_27_MACOS_27)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    short = recording.lane(None, app.CONCURRENT_QUEUE + TRANSCRIBER, encode("KeywordSpotter"))
    long = recording.lane(None, app.CONCURRENT_QUEUE + TRANSCRIBER, encode("KeywordSpotter"))
    workers = [recording.lane(None, ml.E5RT_QUEUE) for _ in range(2)]
    short.on(ml.LOAD_PARSE, 6)
    short.on(ml.LOAD_E5_ANE, 4)
    for turn in range(5):
        short.wait_for(long)
        with recording.inference(short, "KeywordSpotter", "ANE", workers[0]):
            _returning_at_once(short, workers[0], busy=14 + turn % 2)
        long.wait_for(short)
        with recording.inference(long, "KeywordSpotter", "CPU", workers[1]):
            e5_on_cpu(long, workers[1], busy=13 + turn % 3)
        short.on(app.DECODE_TEXT, 2)
    long.on(app.DECODE_TEXT, 2)
    user_interface(main, long, [app.UI_LAYOUT, app.UI_MODEL], every=29)
    recording.finish()
    recording.shows("alternates", "KeywordSpotter")

    calls = recording.inferences
    following = {call.index: after.start_ns for call, after in pairwise(calls)}
    on_ane = [
        replace(span, end_ns=on_clock(following[span.inference.index] + 100_000))
        for span in ane_spans(recording, _ANE, label_27)
        if span.inference
    ]
    evidence = Evidence(
        interval_tables=(_ANE, "coreml-os-signpost"), spans=[*on_ane, *coreml_spans(recording)]
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)


def _returning_at_once(caller: Lane, worker: Lane, busy: int) -> None:
    """Run a call on the ANE whose worker is not seen after the ANE has answered."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    worker.on(ml.E5_ANE_SEND)
    worker.off(busy, "ANE")
    caller.wait_for(worker)
    caller.on(ml.E5_OUTPUT)


def concurrent_engines_macos27() -> Files:
    """Three models at once on three threads, each on another engine: ANE, CPU and GPU."""
    recording = Recording("concurrent-engines-macos27", p.XCODE_27_MACOS_27)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    detector = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Detector"))
    tagger = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SequenceTagger"))
    upscaler = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Upscaler"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    for turn in range(4):
        detector.on(app.RESIZE_IMAGE, 2)
        with recording.inference(detector, "Detector", "ANE"):
            nn_on_ane(detector, busy=13 + turn % 3)
            detector.on(ml.NN_FEATURES)
        detector.on(app.DRAW_MASK)
        detector.off(7)
    for turn in range(4):
        tagger.on(app.SPECTROGRAM, 3)
        with recording.inference(tagger, "SequenceTagger", "CPU"):
            nn_on_cpu(tagger, steps=2)
        tagger.on(app.DECODE_TEXT)
        tagger.off(8 + turn)
    for turn in range(3):
        upscaler.on(app.RESIZE_IMAGE, 4)
        with recording.inference(upscaler, "Upscaler", "GPU", worker):
            e5_on_gpu(upscaler, worker, busy=17 + turn % 2)
        upscaler.off(7)
    user_interface(main, upscaler, [app.UI_LAYOUT, app.UI_MODEL], every=29)
    recording.finish()
    evidence = Evidence(
        interval_tables=(_ANE, MPS, METAL, "coreml-os-signpost"),
        spans=[
            *ane_spans(recording, _ANE, label_27),
            *GpuTimeline(recording).spans(),
            *coreml_spans(recording),
        ],
    )
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)
