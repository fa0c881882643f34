"""Issue codes, each with the part of an analysis that it limits: the one list of the codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias, get_args

from tracekit.frozen import compile_later, frozen
from tracekit.model import schemas
from tracekit.model.vocabulary import Engine

REFUSED_RECORDING = "Could not set the recording priority"
"""Words of xctrace where the kernel refuses to record: tables without rows are saved.

Seen in a sandboxed shell, and with the template Core AI of Xcode 27.0.1 without privilege (silicon-ledger
EXP-028); other causes are not known.
"""


class Part(StrEnum):
    """Part of an analysis."""

    RUN = "run"
    """The whole answer."""
    CALLS = "calls"
    """The choice of windows: which calls are listed, and where each begins and ends."""
    LENGTHS = "lengths"
    """The windows' lengths, and the statistics of them."""
    VERDICTS = "verdicts"
    """The engines that served the windows."""
    BUSY = "busy"
    """An engine's measured busy time."""
    SAMPLES = "samples"
    """The numbers of host samples, and their weight."""
    COUNTERS = "counters"
    """Hardware counters and metrics."""
    LOG = "log"
    """Requests and refusals in the log."""
    RECORDING = "recording"
    """The circumstances of the recording: device, time, names, thermal state."""
    TABLES = "tables"
    """Tables and files on which no number of the analysis rests."""


@frozen
class Reach:
    """The part of an analysis that a condition limits, of one engine or of all."""

    part: Part
    engine: Engine | None = None


RUN, CALLS, LENGTHS, VERDICTS, BUSY, SAMPLES, COUNTERS, LOG, RECORDING, TABLES = map(Reach, Part)
ANE_BUSY, GPU_BUSY = Reach(Part.BUSY, Engine.ANE), Reach(Part.BUSY, Engine.GPU)
UNKNOWN_SAMPLES = Reach(Part.SAMPLES, Engine.UNKNOWN)
BY_TABLE = None
"""The reach is that of the table which the message names."""

_RunCode: TypeAlias = Literal[
    "ane-work-unclaimed",
    "attributes-damaged",
    "clocks-disagree",
    "contents-damaged",
    "document-damaged",
    "document-incomplete",
    "in-simulator",
    "no-symbols",
    "recording-issue",
    "recording-issues-cut",
    "recording-issues-damaged",
    "recording-issues-open",
    "recording-refused",
    "recording-unfinished",
    "redacted",
    "tables-share-no-process",
    "types-unconfirmed",
    "unknown-issue",
]
_CallsCode: TypeAlias = Literal[
    "calls-outside-windows",
    "core-ai-rows-overlap",
    "inference-outside-windows",
    "no-prediction-calls",
    "predictions-without-length",
    "windows-from-signposts",
    "windows-inferred",
    "windows-of-unknown-thread",
]
_LengthsCode: TypeAlias = Literal[
    "breakpoints-slow",
    "holes-bridged",
    "model-numbers-merged",
    "tick-rate-assumed",
    "windows-from-ane",
    "windows-from-stacks-too",
]
_VerdictsCode: TypeAlias = Literal[
    "ane-program-not-loaded",
    "ane-requests-failed",
    "operators-not-on-ane",
    "window-outside",
    "worker-samples-shared",
]
_BusyCode: TypeAlias = Literal["intervals-contested",]
_AneCode: TypeAlias = Literal[
    "ane-dispatch-without-interval",
    "ane-label-cut-off",
    "ane-label-unknown",
    "ane-labels-unmatched",
    "ane-process-logged",
    "ane-process-unknown",
    "ane-requests-of-others",
    "ane-work-of-others",
    "model-name-shared",
]
_GpuCode: TypeAlias = Literal[
    "gpu-process-unknown",
    "mps-engine-unknown",
    "mps-on-ane",
]
_SamplesCode: TypeAlias = Literal[
    "binaries-without-symbols",
    "callers-missing",
    "counts-disagree",
    "events-lost",
    "exception-stack",
    "hits-not-kept",
    "hits-not-recorded",
    "images-replaced",
    "lines-cut",
    "lines-unreadable",
    "no-samples",
    "samples-cut",
    "samples-not-used",
    "samples-repeated",
    "sampling-uneven",
    "symbols-damaged",
    "waiting-threads",
    "weight-assumed",
    "weight-unit-unknown",
]
_UnknownSamplesCode: TypeAlias = Literal[
    "null-stacks",
    "unsymbolicated-stacks",
]
_CountersCode: TypeAlias = Literal[
    "counter-names-unknown",
    "counter-resets",
    "counters-not-attached",
    "counters-repeated",
    "metrics-imprecise",
    "metrics-without-value",
    "null-counters",
    "other-counters",
]
_LogCode: TypeAlias = Literal[
    "log-clock-backwards",
    "log-clock-jumps",
    "log-entries-lost",
    "log-entries-repeated",
    "log-entries-damaged",
    "log-lines-repeated",
    "log-lines-unread",
    "log-lines-unrelated",
    "log-lines-without-time",
    "log-messages-private",
    "log-messages-unknown",
]
_RecordingCode: TypeAlias = Literal[
    "channels-silent",
    "gpu-counters-not-read",
    "laid-over",
    "laid-over-repeated",
    "names-damaged",
    "power-clock-backwards",
    "power-interval-unknown",
    "power-samples-damaged",
    "report-cause",
    "run-info-damaged",
    "thermal-state-unknown",
    "times-from-boot",
    "toc-mismatch",
]
_TablesCode: TypeAlias = Literal[
    "file-skipped",
    "files-ignored",
    "parts-unread",
    "query-without-match",
    "read-otherwise",
    "several-runs",
    "signpost-type-unknown",
    "signposts-overlapping",
    "signposts-repeated",
    "signposts-unpaired",
    "symbols-added",
    "symbols-of-other-build",
    "symbols-unreadable",
    "symbols-unused",
    "symbols-without-lines",
    "types-unknown",
]
_NamedTableCode: TypeAlias = Literal[
    "interval-backwards",
    "interval-kind-unknown",
    "interval-open",
    "interval-outside",
    "interval-state-unknown",
    "interval-without-duration",
    "interval-without-start",
    "null-values",
    "table-damaged",
    "table-exported-twice",
    "table-unreadable",
    "token-count-unreadable",
]
IssueCode: TypeAlias = (
    _RunCode
    | _CallsCode
    | _LengthsCode
    | _VerdictsCode
    | _BusyCode
    | _AneCode
    | _GpuCode
    | _SamplesCode
    | _UnknownSamplesCode
    | _CountersCode
    | _LogCode
    | _RecordingCode
    | _TablesCode
    | _NamedTableCode
)
"""The code of an issue: each stands in the group of those that limit the same part."""
_CODES: tuple[tuple[Reach | None, object], ...] = (
    (RUN, _RunCode),
    (CALLS, _CallsCode),
    (LENGTHS, _LengthsCode),
    (VERDICTS, _VerdictsCode),
    (BUSY, _BusyCode),
    (ANE_BUSY, _AneCode),
    (GPU_BUSY, _GpuCode),
    (SAMPLES, _SamplesCode),
    (UNKNOWN_SAMPLES, _UnknownSamplesCode),
    (COUNTERS, _CountersCode),
    (LOG, _LogCode),
    (RECORDING, _RecordingCode),
    (TABLES, _TablesCode),
    (BY_TABLE, _NamedTableCode),
)
REACH_OF_CODE: Mapping[IssueCode, Reach | None] = {
    code: reach for reach, codes in _CODES for code in get_args(codes)
}
ISSUE_CODES: tuple[IssueCode, ...] = tuple(sorted(REACH_OF_CODE))
DAMAGE: frozenset[IssueCode] = frozenset(
    {
        *(code for code in ISSUE_CODES if code.endswith("-damaged")),
        "document-incomplete",
        "recording-unfinished",
        "table-unreadable",
    }
)
"""Issues about data that could not be read: warnings, because the remaining data is still usable."""

_REACH_OF_TABLE: Mapping[str, Reach] = {
    **dict.fromkeys(schemas.SAMPLE_TABLES, SAMPLES),
    **dict.fromkeys((schemas.CUMULATIVE_COUNTERS, schemas.THREAD_METRICS), COUNTERS),
    **dict.fromkeys(schemas.ANE_TABLES, ANE_BUSY),
    **dict.fromkeys((*schemas.GPU_TABLES, schemas.COMMAND_BUFFER_OWNERS), GPU_BUSY),
    **dict.fromkeys(
        (
            schemas.CORE_ML,
            schemas.CORE_AI,
            schemas.MODEL_INFERENCE,
            schemas.MODEL_REQUEST,
            schemas.MODEL_LOADING,
        ),
        CALLS,
    ),
    schemas.OS_LOG: LOG,
    **dict.fromkeys(
        (
            *schemas.TRACK_TABLES,
            schemas.GPU_COUNTER_NAMES,
            schemas.GPU_COUNTER_VALUES,
            schemas.LIFE_CYCLE,
        ),
        RECORDING,
    ),
}
_QUOTED = compile_later(r"'([\w-]{1,100})'")


def parse_issue_code(text: str) -> IssueCode:
    """Return the code that a file states; ``unknown-issue`` where this version of tracekit has none such."""
    return next((code for code in ISSUE_CODES if code == text), "unknown-issue")


def find_reach(code: IssueCode, message: str = "") -> Reach:
    """Return what an issue limits.

    ``message`` is that of an issue of reading, which names its table in quotes: packs keep issues as text.
    """
    reach = REACH_OF_CODE[code]
    if reach is not BY_TABLE:
        return reach
    quoted = _QUOTED.findall(message)
    reaches = [_REACH_OF_TABLE[name] for name in quoted if name in _REACH_OF_TABLE]
    return reaches[0] if reaches else TABLES if quoted else RUN
