"""The columns of every table that is written, as (mnemonic, shown name, engineering type).

README.md lists those that no public export confirms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator.toc import DOCUMENTATION
from sample_generator.xml_writer import Schema

if TYPE_CHECKING:
    from sample_generator.recording import Recording

_BACKTRACE_TYPE = {
    "text-addresses": "backtrace",
    "backtrace": "backtrace",
    "tagged-inner": "tagged-backtrace",
    "tagged": "tagged-backtrace",
}
_WHO = (
    ("time", "Sample Time", "sample-time"),
    ("thread", "Thread", "thread"),
    ("process", "Process", "process"),
    ("core", "Core", "core"),
    ("thread-state", "State", "thread-state"),
)
_GPU_WORK = (
    ("frame-number", "Frame", "gpu-frame-number"),
    ("start-latency", "CPU to GPU Latency", "duration"),
    ("event-depth", "Depth", "metal-nesting-level"),
    ("event-label", "Label", "formatted-label"),
    ("state", "State", "gpu-state"),
    ("connection-UUID", "Connection UUID", "connection-uuid64"),
    ("color", "Color", "render-buffer-depth"),
    ("process", "Process", "process"),
)
_ANE_WORK = (
    ("start", "Creation", "start-time"),
    ("duration", "Duration", "duration"),
    ("channel-name", "Channel Name", "ane-event-name"),
    ("event-depth", "Depth", "metal-nesting-level"),
    ("event-label", "Label", "formatted-label"),
    ("state", "State", "gpu-state"),
    ("color", "Color", "render-buffer-depth"),
)
COLUMNS = {
    "time-profile": (*_WHO, ("weight", "Weight", "weight"), ("stack", "Backtrace", "STACK")),
    "cpu-profile": (*_WHO, ("weight", "Cycles", "cycle-weight"), ("stack", "Backtrace", "STACK")),
    "counters-profile": (
        *_WHO,
        ("stack", "Backtrace", "backtrace"),
        ("weight", "Weight", "any"),
        ("counters-array", "Counter Value Array", "pmc-events"),
    ),
    "time-sample": (
        ("time", "Timestamp", "sample-time"),
        ("thread", "Thread", "thread"),
        ("core-index", "Core Index", "core"),
        ("thread-state", "Thread State", "thread-state"),
        ("cp-kernel-callstack", "Kernel Callstack ID", "kperf-bt"),
        ("cp-user-callstack", "User Callstack ID", "kperf-bt"),
        ("sample-type", "Sample type", "time-sample-kind"),
    ),
    "os-signpost": (
        ("time", "Timestamp", "event-time"),
        ("thread", "Thread", "thread"),
        ("process", "Process", "process"),
        ("event-type", "Event Type", "event-type"),
        ("scope", "Scope", "string"),
        ("identifier", "Signpost identifier", "os-signpost-identifier"),
        ("name", "Name", "signpost-name"),
        ("format-string", "Format String", "format-string"),
        ("backtrace", "Backtrace", "text-backtrace"),
        ("subsystem", "Subsystem", "subsystem"),
        ("category", "Category", "category"),
        ("message", "Message", "os-log-metadata"),
        ("emit-location", "Emit Location", "return-location"),
    ),
    "os-log": (
        ("time", "Timestamp", "event-time"),
        ("thread", "Thread", "thread"),
        ("process", "Process", "process"),
        ("message-type", "Type", "event-type"),
        ("format-string", "Format String", "format-string"),
        ("backtrace", "Backtrace", "text-backtrace"),
        ("subsystem", "Subsystem", "subsystem"),
        ("category", "Category", "category"),
        ("message", "Message", "os-log-metadata"),
        ("emit-location", "Emit Location", "return-location"),
    ),
    "ane-hw-intervals": _ANE_WORK,
    "ane-hw-intervals-internal": _ANE_WORK,
    "coreml-os-signpost": (
        ("start", "Creation", "start-time"),
        ("duration", "Duration", "duration"),
        ("full-layout-id", "Full events view Layout ID", "layout-id"),
        ("event-label", "Event", "coreml-model-event"),
        ("model-name", "Model name", "coreml-model-name"),
        (
            "model-specific-track-model-name",
            "Model name to display in the model specific track disclosed view",
            "formatted-label",
        ),
        ("fully-qualified-model", "Model", "formatted-label"),
        ("parent-model-name", "Parent model name", "coreml-model-name"),
        ("model-level", "Model Level: top or sub", "coreml-model-level"),
        ("event-type", "Type of event", "string"),
        ("color", "Status Color", "event-concept"),
        ("graph-event-label", "Graph event label", "formatted-label"),
    ),
    "mps-hw-intervals": (
        ("start", "Creation", "start-time"),
        ("duration", "Duration", "duration"),
        ("channel-name", "Channel Name", "mps-event-name"),
        *_GPU_WORK,
        ("gpu", "Metal Device", "metal-device-name"),
        ("channel-subtitle", "Channel Subtitle", "metal-object-label"),
    ),
    "metal-gpu-intervals": (
        ("start", "Creation", "start-time"),
        ("duration", "Duration", "duration"),
        ("channel-name", "Channel Name", "gpu-channel-name"),
        *_GPU_WORK,
        ("gpu", "Metal Device", "metal-device-name"),
        ("channel-subtitle", "Channel Subtitle", "metal-object-label"),
        ("iosurface-accesses", "IOSurface Accesses", "formatted-label"),
        ("bytes", "Bytes", "size-in-bytes"),
        ("cmdbuffer-id", "Commmand Buffer Id", "metal-command-buffer-id"),  # with Apple's three m
        ("encoder-id", "Encoder Id", "metal-command-buffer-id"),
        ("gpu-submission-id", "GPU Submission Id", "uint64"),
    ),
    "metal-gpu-state-intervals": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("state", "State", "gpu-state"),
        ("label", "Label", "formatted-label"),
        ("color", "Color", "render-buffer-depth"),
        ("num-events", "Number of Events", "uint64"),
        ("gpu", "Metal Device", "metal-device-name"),
    ),
    "thread-state": (
        ("start", "Start Time", "start-time"),
        ("thread", "Thread", "thread"),
        ("state", "State", "thread-state"),
        ("duration", "Duration", "duration"),
        ("process", "Process", "process"),
        ("core", "Core", "core"),
        ("cputime", "Running Time", "duration-on-core"),
        ("waittime", "Wait Time", "duration-waiting"),
        ("priority", "Priority", "sched-priority"),
        ("note", "Note", "narrative"),
        ("summary", "Summary", "narrative"),
    ),
    "device-thermal-state-intervals": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("end", "End", "start-time"),
        ("thermal-state", "Thermal State", "thermal-state"),
        ("track-label", "Track", "string"),
        ("is-induced", "Is Induced", "boolean"),
        ("narrative", "Narrative", "narrative"),
    ),
    "kdebug-counters-with-time-sample": (
        ("time", "Timestamp", "sample-time"),
        ("thread", "Thread", "thread"),
        ("core", "Core", "core"),
        ("thread-state", "Thread State", "thread-state"),
        ("cp-user-callstack", "User Callstack ID", "kperf-bt"),
        ("pmc-events", "Counter Values", "pmc-events"),
    ),
    "ODIEProfile": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("model-name", "Model Name", "string"),
        ("base-function-name", "Base Function Name", "string"),
        ("function-name", "Function Name", "string"),
        ("phase", "Phase", "string"),
        ("category", "Category", "string"),
        ("color", "Color", "event-concept"),
        ("level", "Level", "uint64"),
        ("activity", "Activity", "string"),
    ),
    "ModelLoadingTable": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("request-id", "Request ID", "string"),
        ("asset-id", "Asset ID", "string"),
        ("from-state", "From State", "string"),
        ("to-state", "To State", "string"),
        ("transition", "Transition", "string"),
        ("transition-color", "Transition Color", "event-concept"),
    ),
    "ModelInferenceTable": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("model-request-id", "Model Request ID", "string"),
        ("turn-index", "Turn Index", "string"),
        ("session-index", "Session Index", "uint64"),
        ("plot-label", "Plot Label", "string"),
        ("agent-name", "Agent Name", "string"),
        ("prompt", "Prompt", "string"),
        ("response", "Response", "string"),
        ("instruction", "Instruction", "string"),
        ("instructions", "Instructions", "string"),
        ("tokens", "Tokens", "string"),
        ("model-information", "Model Information", "string"),
        ("content", "Content", "string"),
        ("total-tokens", "Total Tokens", "string"),
        ("prompt-tokens", "Prompt Tokens", "string"),
        ("response-tokens", "Response Tokens", "string"),
        ("cached-tokens", "Cached Tokens", "string"),
        ("resolve", "Resolve", "string"),
        ("error-count", "Error Count", "string"),
        ("error-message", "Error Message", "string"),
        ("color", "Color", "event-concept"),
    ),
    "RequestTable": (
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("first-prompt", "First Prompt", "string"),
        ("turn-id", "Turn ID", "string"),
        ("session", "Session", "string"),
        ("name", "Name", "string"),
        ("session-index", "Session Index", "uint64"),
        ("plot-label", "Plot Label", "string"),
        ("instructions", "Instructions", "uint64"),
        ("model-inferences", "Model Inferences", "uint64"),
        ("events", "Events", "uint64"),
        ("tokens", "Tokens", "uint64"),
        ("error-count", "Error Count", "uint64"),
    ),
}


def schema_of(recording: Recording, name: str) -> Schema:
    """Return a table's schema as this recording's Xcode writes it."""
    stack = _BACKTRACE_TYPE[recording.platform.shape]
    columns = tuple(
        (mnemonic, shown, stack if kind == "STACK" else kind) for mnemonic, shown, kind in COLUMNS[name]
    )
    return Schema(name, columns, DOCUMENTATION.get(name) if recording.platform.documented else None)
