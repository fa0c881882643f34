"""A recording of a model that leaves the ANE in some operations, with the model and its plan beside it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from sample_generator import app_work as app
from sample_generator import coreml_work as ml
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence
from sample_generator.evidence_engines import ane_spans, coreml_spans, label_27_operation
from sample_generator.model_files import Planned, model_text, plan_text
from sample_generator.predictions import TRANSCRIBER, e5_in_pieces, encode, user_interface
from sample_generator.recording import Recording
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.recording_files import Files

_MODEL = "Encoder"
_IMAGE, _WIDE = "fp16, [1, 64, 32, 32]", "fp32, [1, 64, 32, 32]"
_OPERATIONS = [
    Planned(_IMAGE, "conv_0", "conv", 'pad_type = string("same"), x = x'),
    Planned(_IMAGE, "relu_0", "relu", "x = conv_0"),
    Planned(_IMAGE, "conv_1", "conv", 'pad_type = string("same"), x = relu_0'),
    Planned(
        "fp16, [1, 16, 64, 32, 32]",
        "gather_12",
        "gather",
        "axis = int32(0), indices = tokens, x = conv_1",
        "bnns",
        "Unsupported gather index type",
        supported=False,
    ),
    Planned(_IMAGE, "reduce_0", "reduce_mean", "x = gather_12"),
    Planned(_IMAGE, "conv_2", "conv", 'pad_type = string("same"), x = reduce_0'),
    Planned(
        _WIDE,
        "cast_3",
        "cast",
        'dtype = string("fp32"), x = conv_2',
        "bnns",
        "Invalid output tensor format: fp32",
        supported=False,
    ),
    Planned(_WIDE, "softmax_7", "softmax", "axis = int32(1), x = cast_3", "bnns", supported=False),
    Planned(_IMAGE, "cast_4", "cast", 'dtype = string("fp16"), x = softmax_7', "bnns"),
    Planned(_IMAGE, "conv_3", "conv", 'pad_type = string("same"), x = cast_4'),
    Planned(_IMAGE, "relu_1", "relu", "x = conv_3"),
]
_CACHE = "com.apple.e5rt.e5bundlecache/26A300/5EC7E7/5EC7E7.bundle/H16G.bundle"
"""As in the caches of a process: the build of the system, hashes, the compiler's word for the chip."""


def operators_leave_macos27() -> Files:
    """A model of eleven operations, of which four are on the CPU in two places: ANE, CPU, ANE, CPU, ANE."""
    recording = Recording("operators-leave-macos27", p.XCODE_27_MACOS_27, pid=2318)
    main = recording.lane("Main Thread", app.MAIN_THREAD_26)
    caller = recording.lane(None, app.SERIAL_QUEUE + TRANSCRIBER, encode(_MODEL))
    worker = recording.lane(None, ml.E5RT_QUEUE)
    for turn in range(10):
        caller.on(app.SPECTROGRAM, 2)
        with recording.inference(caller, _MODEL, "MIXED", worker):
            e5_in_pieces(caller, worker, [6, 5 + turn % 2, 8], [2, 3])
        caller.on(app.DECODE_TEXT, 2)
        caller.off(5)
    user_interface(main, caller, [app.UI_LAYOUT, app.UI_MODEL], every=23)
    recording.finish()
    recording.shows("partly-on-engine", _MODEL, first_call=0)

    table = "ane-hw-intervals"
    spans = [*ane_spans(recording, table, label_27_operation), *coreml_spans(recording)]
    evidence = Evidence(interval_tables=(table, "coreml-os-signpost"), spans=spans)
    return {
        **files(recording, toc.Contents(recording, "Core ML", toc.CORE_ML_27), evidence),
        f"{_MODEL}.mlmodelc/model.mil": model_text(_OPERATIONS),
        f"{_CACHE}/analytics.mil": plan_text(_OPERATIONS),
        "model_truth.json": _model_truth(recording),
    }


def _model_truth(recording: Recording) -> str:
    """Return where the plan has each operation, and the gaps between the pieces of each call on the ANE."""
    gaps = []
    for inference in recording.inferences:
        pieces = sorted(
            (work.start_ns, work.end_ns)
            for work in recording.engine_work
            if work.inference is inference and work.engine == "ANE"
        )
        gaps.append([after[0] - before[1] for before, after in pairwise(pieces)])
    stated = {
        "synthetic": True,
        "model": _MODEL,
        "operations": [
            {
                "name": entry.name,
                "anticipated": "ANE" if entry.backend == "ane" else "CPU",
                "message": entry.message,
            }
            for entry in _OPERATIONS
        ],
        "gaps_ns": gaps,
    }
    return json.dumps(stated, indent=1) + "\n"
