"""The recordings with a log: requests that the Neural Engine refused, and whose they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence, around_inferences
from sample_generator.evidence_engines import ane_spans, foreign_span, label_27
from sample_generator.evidence_logs import (
    app_line,
    error_lines,
    refusal_line,
    request_line,
    unknown_line,
    withheld_line,
)
from sample_generator.predictions import TRANSCRIBER, e5_begin, e5_end, e5_on_ane, encode, user_interface
from sample_generator.recording import Recording
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.recording import Lane
    from sample_generator.recording_files import Files

_OTHER = ("photoanalysisd", 211, 0x7A1)
_FAILING = {3: 0x1D, 7: 0x1D, 8: 0x12}
"""The calls whose request fails, and its status."""


def failing_requests_macos27() -> Files:
    """A model on the ANE whose requests fail in three of ten calls, which then return zeros without an error.

    Core ML's own table is empty, so only the log names the process of the engine's rows; another process's
    model is on the ANE, too.
    """
    recording = Recording("failing-requests-macos27", p.XCODE_27_MACOS_27)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode("SpeechEncoder"))
    worker = recording.lane(None, ml.E5RT_QUEUE)

    caller.on(ml.LOAD_PARSE, 9)
    loading = caller.tick
    caller.on(ml.LOAD_E5_ANE, 7)
    for turn in range(10):
        caller.on(app.SPECTROGRAM, 2)
        engine = "UNKNOWN" if turn in _FAILING else "ANE"
        with recording.inference(caller, "SpeechEncoder", engine, worker):
            if turn in _FAILING:
                _refused(caller, worker)
            else:
                e5_on_ane(caller, worker, busy=16)
        caller.on(app.DECODE_TEXT, 2)
        caller.off(10)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL])
    recording.finish()
    # Calls that fail have no row in the engine's table: the app's signposts show them.
    recording.shows("requests-failed", "SpeechEncoder", first_call=3)
    recording.shows("engine-contention", "SpeechEncoder")
    recording.shows("operators-refused")

    table, calls = "ane-hw-intervals", recording.inferences
    own = [replace(span, pid=recording.pid) for span in ane_spans(recording, table, label_27)]
    foreign = [
        replace(foreign_span(table, start_ns, 2_481_250), pid=_OTHER[1])
        for start_ns in (
            calls[2].end_ns + 3_104_333,
            calls[5].start_ns + 1_020_125,
            calls[7].end_ns + 4_000_000,
        )
    ]
    lines = [
        refusal_line(loading * 1_000_000, caller, 12, "gather", "Unsupported gather index type"),
        refusal_line(loading * 1_000_000 + 41_000, caller, 31, "gather", "Unsupported gather index type"),
        refusal_line(loading * 1_000_000 + 87_000, caller, 40, "topk", "Cannot support dynamic k"),
        withheld_line(loading * 1_000_000 + 90_000, caller),
        withheld_line(loading * 1_000_000 + 95_000, caller),
        unknown_line(loading * 1_000_000 + 99_000, caller),
        app_line(calls[1].start_ns + 2_000_000, main),
        *(request_line(span.end_ns, _OTHER) for span in foreign),
    ]
    served = [call for call in calls if call.index not in _FAILING]
    for call, span in zip(served, own, strict=True):
        lines.append(request_line(span.end_ns, worker, inference=call))
    for index, status in _FAILING.items():
        failed = request_line(calls[index].end_ns - 2_400_000, worker, status, calls[index])
        lines += [failed, *error_lines(failed)]
    evidence = Evidence(
        interval_tables=(table, "coreml-os-signpost"),
        spans=[*own, *foreign],
        signposts=around_inferences(recording, "encode", "Inference"),
        log=lines,
    )
    return files(recording, toc.Contents(recording, "Blank", toc.CORE_ML_LOG), evidence)


def _refused(caller: Lane, worker: Lane) -> None:
    """Send a request that comes back at once."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    worker.on(ml.E5_ANE_PREPARE)
    worker.on(ml.E5_ANE_SEND)
    worker.on(ml.E5_CAST)
    e5_end(caller, worker)
