"""The recording of an app that loses time around a model that runs where it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence
from sample_generator.evidence_engines import ane_spans, coreml_span, coreml_spans, foreign_span, label_27
from sample_generator.predictions import (
    SEGMENTER,
    TRANSCRIBER,
    e5_begin,
    e5_end,
    encode,
    segment,
    user_interface,
)
from sample_generator.recording import Recording
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.recording import Lane
    from sample_generator.recording_files import Files

_SHARED = (3, 4, 8)
"""The calls of the segmenter during which another app's model is on the ANE."""


def waiting_app_ios27() -> Files:
    """Three models on the ANE, one after the other, none of which is the reason why the app is slow.

    The segmenter has less work than the app does for it: the app makes, converts and filters each image
    anew. In three of ten calls the segmenter waits until another app's model has left the ANE. The tagger is
    loaded before each of its calls, and each waits for nothing in particular after the ANE is done. The
    classifier is called on the main thread.
    """
    recording = Recording("waiting-app-ios27", p.XCODE_27_IOS_27, pid=577)
    main = recording.lane("Main Thread", app.MAIN_THREAD_IOS, segment("Classifier"))
    segmenter = recording.lane(None, app.SERIAL_QUEUE + SEGMENTER, segment("Segmenter"))
    tagger = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("Tagger"))
    worker = recording.lane(None, ml.E5RT_QUEUE)

    segmenter.on(ml.LOAD_PARSE, 5)
    segmenter.on(ml.LOAD_E5_ANE, 4)
    waits = []
    for turn in range(10):
        segmenter.on(app.TAKE_BUFFER, 3)
        segmenter.on(app.RESIZE_IMAGE, 4)
        segmenter.on(app.FIND_EDGES, 36)
        with recording.inference(segmenter, "Segmenter", "ANE", worker):
            waits.append(_on_ane(segmenter, worker, 7 if turn in _SHARED else 0, busy=9 + turn % 2))
        segmenter.off(6)
    tagger.wait_for(segmenter)
    loads = []
    for turn in range(6):
        first = tagger.tick
        tagger.on(ml.LOAD_PARSE, 4)
        tagger.on(ml.LOAD_E5_ANE, 5)
        loads.append((first, tagger.tick))
        with recording.inference(tagger, "Tagger", "ANE", worker):
            _on_ane(tagger, worker, busy=8 + turn % 2, after=14)
        tagger.off(8)
    user_interface(main, tagger, [app.UI_IOS, app.UI_INLINED], every=21)
    for turn in range(5):
        with recording.inference(main, "Classifier", "ANE", worker):
            _on_ane(main, worker, busy=17 + turn % 2)
        main.on(app.UI_IOS, 2)
        main.off(12)
    recording.finish()
    for kind in ("allocations", "conversions", "work-beside-calls"):
        recording.shows(kind, "Segmenter")
    recording.shows("engine-contention", "Segmenter", first_call=_SHARED[0])
    recording.shows("gaps-in-calls", "Tagger", first_call=10)
    recording.shows("load-per-call", "Tagger", first_call=10)
    recording.shows("main-thread-blocked", "Classifier", first_call=16)

    table = "ane-hw-intervals"
    held = [recording.span(*waits[turn]) for turn in _SHARED]
    spans = [
        *ane_spans(recording, table, label_27),
        *(foreign_span(table, start_ns, end_ns - start_ns) for start_ns, end_ns in held),
        *(
            coreml_span(recording, recording.span(*ticks), "Tagger", "Load", ("RUNTIME", "load"))
            for ticks in loads
        ),
        *coreml_spans(recording),
    ]
    evidence = Evidence(interval_tables=(table, "coreml-os-signpost"), spans=spans)
    return files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence)


def _on_ane(caller: Lane, worker: Lane, before: int = 0, *, busy: int, after: int = 0) -> tuple[int, int]:
    """Run a call that waits before the ANE works, or after it; return when it waits before."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    worker.on(ml.E5_ANE_SEND)
    first = worker.tick
    worker.off(before)
    worker.off(busy, "ANE")
    worker.off(after)
    worker.on(ml.E5_ANE_WAIT)
    e5_end(caller, worker)
    return first, first + before
