"""The recordings of apps that use Core AI: in one region, in thirteen, on the GPU, and beside Core ML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreai_work as ai
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence
from sample_generator.evidence_coreai import (
    ODIE,
    call_spans,
    preparing_spans,
    region,
    region_of_model,
    region_spans,
)
from sample_generator.evidence_engines import ane_span, ane_spans, coreml_spans, label_27_operation
from sample_generator.evidence_gpu import METAL, MPS, GpuTimeline
from sample_generator.predictions import SEGMENTER, ai_on_ane, ai_on_gpu, e5_on_ane, segment, user_interface
from sample_generator.recording import Recording, on_clock
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.evidence import Span
    from sample_generator.platforms import Platform
    from sample_generator.recording import Lane
    from sample_generator.recording_files import Files

_ANE = "ane-hw-intervals"
_SCENE = "Scene"


def _prepared(
    name: str, platform: Platform, pid: int
) -> tuple[Recording, Lane, Lane, tuple[int, int, int, int]]:
    """Return a recording whose model has been prepared, its threads, and the ticks of the preparation."""
    recording = Recording(name, platform, pid=pid)
    root = app.MAIN_THREAD_IOS if platform.device == "iOS" else app.MAIN_THREAD_26
    main = recording.lane("Main Thread", root)
    task = recording.lane(None, ai.TASK, ai.ENCODE_SCENE)
    recording.shows("compiled-in-run", _SCENE)
    task.on(ai.SPECIALIZE, 2)
    task.off(40)  # another process compiles
    task.on(ai.SPECIALIZE)
    specialized = task.tick
    task.on(ai.LOAD, 4)
    loaded = task.tick
    task.on(ai.LOAD, 2)
    return recording, main, task, (0, specialized, loaded, task.tick)


def _other_apps(labels: dict[str, tuple[int, int]]) -> list[Span]:
    """Return rows of another app's models on the ANE: label → start and length."""
    spans = []
    for label, (start_ns, about_ns) in labels.items():
        model, _, operation = label.partition("_main__Op")
        span = on_clock(start_ns), on_clock(start_ns + about_ns)
        spans.append(ane_span(_ANE, span, model if operation else "", label, by_app=False))
    return spans


def coreai_one_region_ios27() -> Files:
    """A model that runs on the ANE in one piece; MPS rows show whose the ANE's rows are."""
    recording, main, task, ticks = _prepared("coreai-one-region-ios27", p.XCODE_27_IOS_27, 518)
    for turn in range(8):
        task.on(app.RESIZE_IMAGE)
        with recording.inference(task, _SCENE, "ANE"):
            ai_on_ane(task, 14 + turn % 3)
        task.on(app.DRAW_MASK)
        task.off(5)
    user_interface(main, task, [app.UI_IOS, app.UI_INLINED], every=16)
    recording.finish()
    recording.shows("engine-contention", _SCENE, first_call=5)
    calls = recording.inferences
    spans = [
        *preparing_spans(recording, _SCENE, "main", ticks),
        *call_spans(recording, {_SCENE: "main"}),
        *region_spans(recording, region("main"), [_SCENE], names_model=False, twins=GpuTimeline(recording)),
        # The same function's name, in another app: once between two calls, once beside one.
        *_other_apps({"main_ANE_region_0_1": (calls[2].end_ns + 812_500, 2_204_167)}),
        *_other_apps({"detect_ANE_region_0_0": (calls[5].start_ns + 6_020_833, 3_110_417)}),
    ]
    evidence = Evidence(interval_tables=(ODIE, _ANE, MPS), spans=spans)
    return files(recording, toc.Contents(recording, "Core AI", toc.CORE_AI), evidence)


def coreai_thirteen_regions_macos27() -> Files:
    """A model that is cut into thirteen regions, so that MPSGraph on the CPU takes a third of each call."""
    recording, main, task, ticks = _prepared("coreai-thirteen-regions-macos27", p.XCODE_27_MACOS_27, 2304)
    for turn in range(6):
        task.on(app.RESIZE_IMAGE)
        with recording.inference(task, _SCENE, "ANE"):
            ai_on_ane(task, 2 + turn % 2, regions=12 if turn == 4 else 13)
        task.on(app.DRAW_MASK)
        task.off(6)
    user_interface(main, task, [app.UI_LAYOUT, app.UI_MODEL], every=23)
    recording.finish()
    recording.shows("partly-on-engine", _SCENE, first_call=0)
    spans = [
        *preparing_spans(recording, _SCENE, "main", ticks),
        *call_spans(recording, {_SCENE: "main"}),
        *region_spans(recording, region_of_model("main"), [_SCENE], names_model=True),
    ]
    evidence = Evidence(interval_tables=(ODIE, _ANE), spans=spans)
    return files(recording, toc.Contents(recording, "Core AI", toc.CORE_AI), evidence)


def coreai_gpu_fallback_macos27() -> Files:
    """A model that leaves the ANE: inferences 0 to 3 run there, 4 to 8 on the GPU, all through MPSGraph."""
    recording, main, task, ticks = _prepared("coreai-gpu-fallback-macos27", p.XCODE_27_MACOS_27, 2311)
    for turn in range(9):
        task.on(app.RESIZE_IMAGE)
        with recording.inference(task, _SCENE, "ANE" if turn < 4 else "GPU"):
            if turn < 4:
                ai_on_ane(task, 12 + turn % 2)
            else:
                ai_on_gpu(task, 19 + turn % 3)
        task.on(app.DRAW_MASK)
        task.off(6)
    user_interface(main, task, [app.UI_LAYOUT, app.UI_MODEL], every=23)
    recording.finish()
    recording.shows("fell-back", _SCENE, first_call=4)
    timeline = GpuTimeline(recording)
    spans = [
        *preparing_spans(recording, _SCENE, "main", ticks),
        *call_spans(recording, {_SCENE: "main"}),
        *region_spans(recording, region("main"), [_SCENE], names_model=False, twins=timeline),
        *timeline.spans(),
    ]
    evidence = Evidence(interval_tables=(ODIE, _ANE, MPS, METAL), spans=spans)
    return files(recording, toc.Contents(recording, "Core AI", toc.CORE_AI), evidence)


def coreai_and_coreml_ios27() -> Files:
    """An app with both runtimes at once: a detector of Core ML in one segment, a scene of Core AI in two.

    Another app uses the ANE through both runtimes, too.
    """
    recording, main, task, ticks = _prepared("coreai-and-coreml-ios27", p.XCODE_27_IOS_27, 533)
    caller = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Detector"))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    caller.off(5)
    caller.on(ml.LOAD_PARSE, 3)
    caller.on(ml.LOAD_E5_ANE, 3)
    caller.wait_for(task)
    caller.off(10)
    for turn in range(6):
        task.on(app.RESIZE_IMAGE)
        with recording.inference(task, _SCENE, "ANE"):
            ai_on_ane(task, 6 + turn % 2, regions=2, between=2)
        task.off(7)
    for turn in range(7):
        caller.on(app.RESIZE_IMAGE, 2)
        with recording.inference(caller, "Detector", "ANE", worker):
            e5_on_ane(caller, worker, busy=9 + turn % 3)
        caller.on(app.DRAW_MASK)
        caller.off(5)
    user_interface(main, caller, [app.UI_IOS, app.UI_INLINED], every=19)
    recording.finish()
    recording.shows("partly-on-engine", _SCENE, first_call=0)
    recording.shows("engine-contention", _SCENE, first_call=2)
    recording.shows("engine-contention", "Detector", first_call=8)
    recording.shows("conversions", "Detector")
    scene, detector = recording.inferences[2], recording.inferences[8]
    spans = [
        *preparing_spans(recording, _SCENE, "encode", ticks),
        *call_spans(recording, {_SCENE: "encode"}),
        *region_spans(recording, region("encode"), [_SCENE], names_model=False, segment="encode region 0."),
        *(span for span in ane_spans(recording, _ANE, label_27_operation) if span.model == "Detector"),
        *(span for span in coreml_spans(recording) if span.model == "Detector"),
        *_other_apps({"main_ANE_region_0_0": (scene.start_ns + 4_110_417, 2_708_333)}),
        *_other_apps(
            {"PersonSegmenter_main__Op1_AneInference Prediction": (detector.start_ns + 7_104_167, 1_902_083)}
        ),
    ]
    evidence = Evidence(interval_tables=(ODIE, "coreml-os-signpost", _ANE), spans=spans)
    return files(recording, toc.Contents(recording, "Core AI", toc.CORE_AI_AND_CORE_ML), evidence)
