"""Issue codes, each with the part of an analysis that it limits: the one list of the codes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tracekit.model import schemas
from tracekit.model.vocabulary import Engine


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


@dataclass(frozen=True)
class Reach:
    """The part of an analysis that a condition limits, of one engine or of all."""

    part: Part
    engine: Engine | None = None


RUN, CALLS, LENGTHS, VERDICTS, BUSY, SAMPLES, COUNTERS, LOG, RECORDING, TABLES = map(Reach, Part)
ANE_BUSY, GPU_BUSY = Reach(Part.BUSY, Engine.ANE), Reach(Part.BUSY, Engine.GPU)
UNKNOWN_SAMPLES = Reach(Part.SAMPLES, Engine.UNKNOWN)
BY_TABLE = None
"""The reach is that of the table which the message names."""

REACH_OF_CODE: Mapping[str, Reach | None] = {
    "ane-dispatch-without-interval": ANE_BUSY,
    "ane-label-cut-off": ANE_BUSY,
    "ane-label-unknown": ANE_BUSY,
    "ane-labels-unmatched": ANE_BUSY,
    "ane-process-logged": ANE_BUSY,
    "ane-process-unknown": ANE_BUSY,
    "ane-program-not-loaded": VERDICTS,
    "ane-requests-failed": VERDICTS,
    "ane-requests-of-others": ANE_BUSY,
    "ane-work-of-others": ANE_BUSY,
    "ane-work-unclaimed": RUN,
    "attributes-damaged": RUN,
    "binaries-without-symbols": SAMPLES,
    "breakpoints-slow": LENGTHS,
    "callers-missing": SAMPLES,
    "calls-outside-windows": CALLS,
    "clocks-disagree": RUN,
    "contents-damaged": RUN,
    "core-ai-rows-overlap": CALLS,
    "counter-names-unknown": COUNTERS,
    "counter-resets": COUNTERS,
    "counters-not-attached": COUNTERS,
    "counters-repeated": COUNTERS,
    "counts-disagree": SAMPLES,
    "document-damaged": RUN,
    "document-incomplete": RUN,
    "exception-stack": SAMPLES,
    "file-skipped": TABLES,
    "files-ignored": TABLES,
    "gpu-counters-not-read": RECORDING,
    "gpu-process-unknown": GPU_BUSY,
    "hits-not-kept": SAMPLES,
    "hits-not-recorded": SAMPLES,
    "holes-bridged": LENGTHS,
    "images-replaced": SAMPLES,
    "inference-outside-windows": CALLS,
    "interval-backwards": BY_TABLE,
    "interval-kind-unknown": BY_TABLE,
    "interval-open": BY_TABLE,
    "interval-outside": BY_TABLE,
    "interval-state-unknown": BY_TABLE,
    "interval-without-duration": BY_TABLE,
    "interval-without-start": BY_TABLE,
    "intervals-contested": BUSY,
    "laid-over": RECORDING,
    "laid-over-repeated": RECORDING,
    "lines-cut": SAMPLES,
    "lines-unreadable": SAMPLES,
    "log-clock-backwards": LOG,
    "log-entries-damaged": LOG,
    "log-lines-repeated": LOG,
    "log-lines-unread": LOG,
    "log-lines-unrelated": LOG,
    "log-lines-without-time": LOG,
    "log-messages-private": LOG,
    "log-messages-unknown": LOG,
    "metrics-imprecise": COUNTERS,
    "metrics-without-value": COUNTERS,
    "model-name-shared": ANE_BUSY,
    "model-numbers-merged": LENGTHS,
    "mps-engine-unknown": GPU_BUSY,
    "mps-on-ane": GPU_BUSY,
    "names-damaged": RECORDING,
    "no-prediction-calls": CALLS,
    "no-samples": SAMPLES,
    "no-symbols": RUN,
    "null-counters": COUNTERS,
    "null-stacks": UNKNOWN_SAMPLES,
    "null-values": BY_TABLE,
    "operators-not-on-ane": VERDICTS,
    "other-counters": COUNTERS,
    "power-clock-backwards": RECORDING,
    "power-interval-unknown": RECORDING,
    "power-samples-damaged": RECORDING,
    "predictions-without-length": CALLS,
    "query-without-match": TABLES,
    "read-otherwise": TABLES,
    "recording-issue": RUN,
    "recording-issues-cut": RUN,
    "recording-issues-damaged": RUN,
    "recording-issues-open": RUN,
    "recording-unfinished": RUN,
    "redacted": RUN,
    "report-cause": RECORDING,
    "run-info-damaged": RECORDING,
    "samples-not-used": SAMPLES,
    "samples-repeated": SAMPLES,
    "several-runs": TABLES,
    "signpost-type-unknown": TABLES,
    "signposts-repeated": TABLES,
    "signposts-unpaired": TABLES,
    "symbols-added": TABLES,
    "symbols-damaged": SAMPLES,
    "symbols-of-other-build": TABLES,
    "symbols-unreadable": TABLES,
    "symbols-unused": TABLES,
    "symbols-without-lines": TABLES,
    "table-damaged": BY_TABLE,
    "table-exported-twice": BY_TABLE,
    "table-unreadable": BY_TABLE,
    "tables-share-no-process": RUN,
    "thermal-state-unknown": RECORDING,
    "times-from-boot": RECORDING,
    "toc-mismatch": RECORDING,
    "types-unconfirmed": RUN,
    "types-unknown": TABLES,
    "unsymbolicated-stacks": UNKNOWN_SAMPLES,
    "waiting-threads": SAMPLES,
    "weight-assumed": SAMPLES,
    "weight-unit-unknown": SAMPLES,
    "window-outside": VERDICTS,
    "windows-from-ane": LENGTHS,
    "windows-from-signposts": CALLS,
    "windows-from-stacks-too": LENGTHS,
    "windows-inferred": CALLS,
    "windows-of-unknown-thread": CALLS,
    "worker-samples-shared": VERDICTS,
}
"""The reach of each code; a test compares the codes with the code that raises issues."""

ISSUE_CODES: tuple[str, ...] = tuple(REACH_OF_CODE)
DAMAGE: frozenset[str] = frozenset(
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
_QUOTED = re.compile(r"'([\w-]{1,100})'")


def find_reach(code: str, message: str = "") -> Reach:
    """Return what an issue limits; the whole answer, where that is not known.

    ``message`` is that of an issue of reading, which names its table in quotes: packs keep issues as text.
    """
    reach = REACH_OF_CODE.get(code, RUN)
    if reach is not BY_TABLE:
        return reach
    quoted = _QUOTED.findall(message)
    reaches = [_REACH_OF_TABLE[name] for name in quoted if name in _REACH_OF_TABLE]
    return reaches[0] if reaches else TABLES if quoted else RUN
