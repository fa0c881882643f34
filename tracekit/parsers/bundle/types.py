"""How a bundle stores the values of each engineering type, and what an export calls the type.

A type's identifier is ``XR<Name>TypeID``; an export's tag for it stands in the bundle's own ``open.creq``.
Sources of the forms: bundles of Xcode 13 to 26 compared with the exports made from them. A type that is in
none of the lists is read by what exports show under its tag, or given as the raw integer; what no export has
confirmed comes with an issue.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from tracekit.parsers.types import KIND_OF_TYPE


class Form(Enum):
    """What a stored value means."""

    INTEGER = "the value itself"
    TEXT = "number of a string"
    FIXED = "fixed point: value x 1e9 + (2^63 - 1)"
    PROCESS = "number of a list [pid, session]"
    THREAD = "number of a list [tid, process]"
    BACKTRACE = "number of a list of chunks (process << 32 | frames)"
    TAGGED = "number of a list [chunks, tag]"
    KPERF = "number of a list [callers, program counter, process, …]"
    INTEGERS = "number of a list of values"
    UUID = "number of a list of two big-endian halves"
    PARTS = "number of a list (type, value)*"
    ANY = "number of a list (type, value)"
    LOCATION = "(uuid << 32 | offset)"
    THREAD_NAME = "(string << 32 | thread)"
    UNKNOWN = "not known"


_CONFIRMED = {
    Form.TEXT: """ApplicationPeriod CPUArchName EventConcept FilePath GraphicsDriverName
        GraphicsDriverStatistic NarrativeText OSLogCategory OSLogEvent OSLogFormatString OSLogSubsystem
        PrototypeMediumLengthString PrototypeShortString PrototypeString RawString RegionOfInterestClass
        RegionOfInterestKind SignpostName ThermalState ThreadState""",
    Form.FIXED: "EventsPerSecond FramesPerSecond Percentage PercentageLoads SystemCPUPercentage",
    Form.INTEGER: """Boolean CPUCore ContainmentLayoutID CycleWeight DiskSizeInBytes Duration DurationOnCPU
        DurationWaiting EventCount GraphicsDriverCounter KDebugArgument KDebugClass KDebugCode KDebugFunction
        KDebugStringID KDebugSubclass LayoutID LibraryAddress MachOVMOffset NetworkSizeInBytes
        NetworkSizeInBytesPerSecond OSSignpostIdentifier PMCEvent PrivateValue ProcessGroupID ProcessID
        ProcessUID PrototypeValue RecordedEventTimestamp SampleTimestamp SizeInBytes
        SizeInBytesPerSecond SizeInPages StartTime ThreadID TimeSample TimeSampleWeight
        UnsignedIntegerHexLowercase VirtualMemoryAddress""",
    Form.PROCESS: "Process",
    Form.THREAD: "Thread",
    Form.BACKTRACE: "Backtrace",
    Form.INTEGERS: "CoreProfilePMCEventsArray",
    Form.KPERF: "CoreProfileCallstack",
    Form.UUID: "UUID",
    Form.PARTS: "NarrativeEntry OSLogMetadata",
    Form.ANY: "Any",
    Form.LOCATION: "ReturnLocation",
    Form.THREAD_NAME: "ThreadName",
}
# By another reader of bundles, microsoft/Microsoft-Performance-Tools-Apple, or by the sister types above.
_UNCONFIRMED = {Form.TAGGED: "TaggedBacktrace", Form.PARTS: "FormattedLabel"}

# Tags that do not follow from the name.
_IRREGULAR = """
    ApplicationPeriod=app-period CPUCore=core CPUState=core-state ContainmentLayoutID=containment-level
    CoreMLModelEvent=coreml-model-event CoreMLModelLevel=coreml-model-level
    CoreMLModelName=coreml-model-name CoreProfileCallstack=kperf-bt CoreProfilePMCEventsArray=pmc-events
    DiskIOOperation=diskio-operation DisplayedSurfaceSwapID=displayed-surface-swap
    DurationOnCPU=duration-on-core FileDescriptor=fd FramesPerSecond=fps GenericUInt32=uint32
    KDebugArgument=kdebug-arg KDebugFunction=kdebug-func KDebugStringID=kdebug-string
    MachOVMOffset=mach-o-vm-offset MetalEncodingNestingLevel=metal-nesting-level ModelerClock=clock
    NarrativeEntry=narrative NarrativeEntryCertainty=narrative-certainty
    NarrativeEntrySignificance=narrative-significance OSLogCategory=category OSLogEvent=event-type
    OSLogFormatString=format-string OSLogSubsystem=subsystem PackedID=packed-identifier
    Percentage=percent PercentageLoads=cpu-percent-loads PrivateValue=private ProcessGroupID=process-gid
    ProcessID=pid ProcessStatus=process-status-name PrototypeEvent=event
    PrototypeFixedDecimalValue=fixed-decimal PrototypeMediumLengthString=medium-length-string
    PrototypeShortString=short-string PrototypeString=string PrototypeUInt64Array=uint64-array
    PrototypeValue=uint64 PrototypeWordString=word-string RecordedEventTimestamp=event-time
    RegionOfInterestClass=roi-class RegionOfInterestKind=roi-kind RegionOfInterestScope=roi-scope
    RenderingBufferDepth=render-buffer-depth SampleTimestamp=sample-time SchedulingEvent=sched-event
    SchedulingPriority=sched-priority SystemCPUPercentage=system-cpu-percent
    SystemCallArgument=syscall-arg SystemCallName=syscall SystemCallReturnCode=syscall-return
    ThreadID=tid TimeSample=time-sample-kind TimeSampleWeight=weight
    UnsignedIntegerHexLowercase=uint64-hex-lowercase VFSVnode=vnode VMOperationName=vm-op
    VirtualMemoryAddress=address VisualConnectionUUID64=connection-uuid64"""

# All bits set mean no value in most types. In these, exports show 2^64-1 as a number and never a sentinel
# (collected exports: 14, 4 and 10 cells against none), or are they bits of the traced program's own.
_ANY_BITS = frozenset(
    {"KDebugArgument", "PrototypeValue", "SystemCallArgument", "VFSVnode", "VirtualMemoryAddress"}
)

_TYPE_ID = re.compile(r"XR(\w+?)TypeID\Z")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+")
_FORMS = {name: (form, True) for form, names in _CONFIRMED.items() for name in names.split()} | {
    name: (form, False) for form, names in _UNCONFIRMED.items() for name in names.split()
}


def short_name(type_id: str) -> str:
    """``XRBacktraceTypeID`` → ``Backtrace``; anything else stays as it is."""
    match = _TYPE_ID.match(type_id)
    return match[1] if match else type_id


def may_be_all_ones(type_id: str) -> bool:
    """Tell whether 2^64-1 is a value of this type; in other types it stands for none."""
    return short_name(type_id) in _ANY_BITS


def form_of(type_id: str, tag: str) -> tuple[Form, bool]:
    """Return how values of the type are stored, and whether an export has confirmed it.

    Of a type that is in no list, the tag tells whether exports show it as a number or as text.
    """
    known = _FORMS.get(short_name(type_id))
    if known is not None:
        return known
    by_kind = {"int": Form.INTEGER, "text": Form.TEXT}
    return by_kind.get(KIND_OF_TYPE.get(tag, ""), Form.UNKNOWN), False


_IRREGULAR_TAGS = dict(pair.split("=") for pair in _IRREGULAR.split())


@cache
def default_tag(type_id: str) -> str:
    """Return the export's tag for a type, where the bundle itself does not say."""
    name = short_name(type_id)
    if name in _IRREGULAR_TAGS:
        return _IRREGULAR_TAGS[name]
    tag = "-".join(word.lower() for word in _WORD.findall(name))
    return tag.replace("k-debug", "kdebug") or type_id
