"""The table of contents: what was recorded, on what, and which tables there are – many more than exported."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sample_generator.addresses import made_up_uuid
from sample_generator.dice import Dice
from sample_generator.xml_writer import DECLARATION, Element, pretty

if TYPE_CHECKING:
    from sample_generator.recording import Recording

_TICK = (
    "Provides modelers with a regular reference time for modeling fixed time-based statistics. The "
    "ticks are evenly spaced with a configurable frequency specifying the number of events to generate "
    "per second, so a tick schema with a frequency of 10 will generate a row every 100ms."
)
_PROFILE = (
    "When combined with other {} samples, creates a statistical picture of where your application is "
    "spending its time."
)
DOCUMENTATION = {
    "cpu-profile": _PROFILE.format("cpu-profile"),
    "kdebug": "Tracing the kernel and some system frameworks.",
    "kdebug-strings": "Associates numeric arguments with strings in kdebug trace points.",
    "life-cycle-period": "Identifies where an application is in its lifecycle.",
    "os-log": "Holds a message from the OS's Unified Logging and Tracing component.",
    "os-signpost": "Holds a signpost event from the OS's Unified Logging and Tracing component.",
    "process-info": "Associates processes with their process names.",
    "thread-info": "Associates threads with their owning process.",
    "tick": _TICK,
    "time-profile": _PROFILE.format("time-profile"),
    "time-sample": "Holds a raw CPU profiling sample.",
}

# One table a line: the schema, then attributes. Instruments writes attributes in no fixed order.
_COMMON = """
    tick frequency=10
    tick frequency=1
    life-cycle-period target-pid=SINGLE
    dyld-library-load target-pid=SINGLE
    kdebug codes='"0x1f,0x7"' target=SINGLE
    kdebug codes='"0x07,0x00" "0x1f,0x05"' target=SINGLE
    kdebug codes='"0x2b,0xd8"' target=SINGLE
    kdebug codes='"0x2d,*"' target=SINGLE callstack=user
    kdebug codes='"0x31,0xca"' target=SINGLE
    kdebug-strings codes='"0x1f,0x05"' target=SINGLE
"""
_TIME_PROFILE = """
    time-profile target-pid=SINGLE context-switch-sampling=0 high-frequency-sampling=0 \
needs-kernel-callstack=0 record-waiting-threads=0
    time-sample target=SINGLE callstack=user sample-rate-micro-seconds=1000 all-thread-states=NO
"""
_POINTS_OF_INTEREST = """
    os-signpost category=InduceCondition subsystem='"com.apple.ConditionInducer.LowSeverity"'
    os-signpost category=DynamicTracing subsystem='"com.apple.coreml"'
    os-signpost category=coreml subsystem='"com.apple.coreml"'
    os-signpost category=PointsOfInterest dynamic-tracing-enabled-subsystems='"com.apple.neappprivacy"'
"""
TIME_PROFILER_14 = f"""
    kdebug codes='"33,0x11"' target=SINGLE
    developer-thread-name-update
    {_COMMON}
    potential-hangs target-pid=SINGLE hangs-threshold=250
    {_TIME_PROFILE}
"""
TIME_PROFILER_26 = f"""
    process-info
    thread-info
    {_COMMON}
    device-thermal-state-intervals
    os-log category=PointsOfInterest
    os-signpost category=PointsOfInterest dynamic-tracing-enabled-subsystems='"com.apple.neappprivacy"'
    potential-hangs target-pid=SINGLE hangs-threshold=250
    hang-risks target-pid=SINGLE detect-priority-inversions=0
    runloop-events target-pid=SINGLE
    {_TIME_PROFILE}
    gcd-perf-event target-pid=SINGLE
"""
CORE_ML = f"""
    kdebug codes='"0x06,0x1b" "0x2b,0x24"'
    kdebug codes='"0x85,0x92" "0x85,0x93" "0x85,0xae"'
    {_COMMON}
    metal-gpu-intervals target-pid=SINGLE
    ane-hw-intervals-internal
    process-info
    thread-info
    {_POINTS_OF_INTEREST}
    coreml-os-signpost target-pid=SINGLE
    {_TIME_PROFILE}
    mps-hw-intervals target-pid=SINGLE
    metal-gpu-state-intervals
    time-info
"""
CORE_ML_27 = CORE_ML.replace("ane-hw-intervals-internal", "ane-hw-intervals")
CORE_ML_SIGNPOSTS = f"""
    {CORE_ML}
    thread-state target-pid=SINGLE
    device-thermal-state-intervals
    os-signpost category=Inference subsystem='"org.example.SampleApp"'
"""
CORE_ML_LOG = f"""
    {CORE_ML_27}
    os-signpost category=Inference subsystem='"org.example.SampleApp"'
    os-log target-pid=ALL
"""
TIME_PROFILER_ML_27 = f"""
    {TIME_PROFILER_26}
    ane-hw-intervals
    coreml-os-signpost target-pid=SINGLE
"""
TIME_PROFILER_GPU = f"""
    {TIME_PROFILER_26}
    mps-hw-intervals target-pid=SINGLE
    metal-gpu-intervals target-pid=SINGLE
    metal-gpu-state-intervals
"""
TIME_PROFILER_COUNTERS = f"""
    {TIME_PROFILER_26}
    kdebug-counters-with-time-sample pmc-events=EVENTS sample-rate-micro-seconds=1000 \
callstack=user target=SINGLE
"""
FOUNDATION_MODELS = f"""
    {TIME_PROFILER_26}
    ModelLoadingTable
    ModelInferenceTable target-pid=SINGLE
    RequestTable target-pid=SINGLE
    InstructionsTable target-pid=SINGLE
    SessionTable target-pid=SINGLE
"""
CORE_AI = f"""
    {TIME_PROFILER_26}
    ODIEProfile target-pid=SINGLE
    ane-hw-intervals
    mps-hw-intervals target-pid=SINGLE
    metal-gpu-intervals target-pid=SINGLE
    metal-gpu-state-intervals
"""
CORE_AI_SIGNPOSTS = f"""
    {CORE_AI}
    os-signpost category=performance subsystem='"com.apple.coreai-models.performance"'
"""
CORE_AI_AND_CORE_ML = f"""
    {CORE_AI}
    coreml-os-signpost target-pid=SINGLE
"""
CPU_PROFILER = f"""
    thread-info
    process-info
    kdebug-counters-with-kdebug-sample codes='"0x1,0x40,0x20"' pmc-events='"CORE_ACTIVE_CYCLE"' target=SINGLE
    {_COMMON}
    kdebug-counters-with-pmi-sample callstack=user pmc-events='' pmi-event='"CORE_ACTIVE_CYCLE"' \
pmi-threshold=1000000 target=SINGLE
    cpu-profile target-pid=SINGLE high-frequency-sampling=0 needs-kernel-callstack=0
"""
CPU_COUNTERS = f"""
    process-info
    thread-info
    kdebug-counters-with-time-sample pmc-events=EVENTS sample-rate-micro-seconds=1000 \
callstack=user target=SINGLE
    counters-profile pmc-events=EVENTS trigger=time sample-rate-micro-seconds=1000 target-pid=SINGLE \
needs-kernel-callstack=0
    {_COMMON}
"""


@dataclass(frozen=True)
class Table:
    schema: str
    attributes: dict[str, str] = field(default_factory=dict)


class Contents:
    """The table of contents of one recording."""

    def __init__(self, recording: Recording, template: str, tables: str) -> None:
        self._recording = recording
        self._template = template
        self._tables = list(_parse(tables, recording))

    def indexes(self, schema: str) -> list[int]:
        """Return the positions of the tables of a schema, counted from 1 as XPath does."""
        return [index for index, table in enumerate(self._tables, 1) if table.schema == schema]

    def to_xml(self) -> str:
        run = _tag("run", self._info(), self._processes(), self._data(), _tag("tracks"), number="1")
        return f"{DECLARATION}\n{pretty(_tag('trace-toc', run))}"

    def _info(self) -> Element:
        recording, platform = self._recording, self._recording.platform
        model = platform.model
        device = _tag(
            "device",
            platform=platform.device,
            model=model,
            name=f"Synthetic {'iPhone' if platform.device == 'iOS' else 'Mac'}",
            **{"os-version": platform.os_version},
            uuid=made_up_uuid(f"device {model}"),
        )
        launched = {} if platform.instruments.startswith("14") else {"type": "launched"}
        process = _tag(
            "process",
            **launched,
            **{"return-exit-status": "0"},
            name=recording.process,
            pid=str(recording.pid),
            arguments=f"--synthetic {recording.name}",
            **{"termination-reason": "exit(0)"},
        )
        duration_ns = recording.end_ns
        summary = {
            "start-date": "2026-01-01T12:00:00.000Z",
            "end-date": f"2026-01-01T12:00:{duration_ns // 10**9:02}.{duration_ns // 10**6 % 1000:03}Z",
            "duration": f"{duration_ns / 10**9:.6f}",
            "end-reason": "Target app exited",
            "instruments-version": platform.instruments,
            "template-name": self._template,
            "recording-mode": "Deferred",
            "time-limit": "12 hours",
        }
        return _tag(
            "info",
            _tag("target", device, process),
            _tag("summary", *(Element(tag, text=text) for tag, text in summary.items()), self._settings()),
        )

    def _settings(self) -> Element:
        """Return the recording settings under Apple's misspelt tag; the free text marks it as synthetic."""
        key = _tag(
            "key", Element("value", text="Synthetic: written by a program, not recorded"), name="Notes"
        )
        instrument = _tag("instrument", _tag("array", _tag("dictionary", key)), name=self._template)
        return _tag("intruments-recording-settings", instrument)

    def _processes(self) -> Element:
        recording = self._recording
        path = recording.platform.executable(recording.process)
        return _tag(
            "processes",
            _tag("process", name=recording.process, pid=str(recording.pid), path=path),
            _tag("process", name="kernel", pid="0", path="kernel"),
        )

    def _data(self) -> Element:
        dice = Dice(f"attributes of {self._recording.name}")
        tables = []
        for table in self._tables:
            attributes = dice.shuffled([("schema", table.schema), *table.attributes.items()])
            if self._recording.platform.documented and table.schema in DOCUMENTATION:
                attributes.append(("documentation", DOCUMENTATION[table.schema]))
            tables.append(_tag("table", **dict(attributes)))
        return _tag("data", *tables)


def _parse(tables: str, recording: Recording) -> list[Table]:
    events = " ".join(f'"{name}"' for name in recording.counter_names)
    parsed = []
    for line in filter(None, map(str.strip, tables.splitlines())):
        schema, *pairs = shlex.split(line)
        attributes = dict(pair.split("=", 1) for pair in pairs)
        if attributes.get("pmc-events") == "EVENTS":
            attributes["pmc-events"] = events
        parsed.append(Table(schema, attributes))
    return parsed


def _tag(tag: str, *children: Element, **attributes: str) -> Element:
    return Element(tag, children=children, attributes=tuple(attributes.items()))
