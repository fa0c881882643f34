"""The stored encoding of each engineering type, and the type's tag in an export.

A type's identifier is ``XR<Name>TypeID``; the bundle's own ``open.creq`` maps it to an export's tag.
Encodings are known from bundles of Xcode 13 to 26 compared with the exports made from them. A type in none
of the lists is read as exports show its tag, or returned as the raw integer; an issue names every type that
no export has confirmed.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from tracekit.parsers.engineering_types import KIND_OF_TYPE


class Encoding(Enum):
    """The meaning of a stored value. A *list* is a list of integers in the run's intern pool."""

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
    Encoding.TEXT: """ApplicationPeriod CPUArchName EventConcept FilePath GraphicsDriverName
        GraphicsDriverStatistic NarrativeText OSLogCategory OSLogEvent OSLogFormatString OSLogSubsystem
        PrototypeMediumLengthString PrototypeShortString PrototypeString RawString RegionOfInterestClass
        RegionOfInterestKind SignpostName ThermalState ThreadState""",
    Encoding.FIXED: "EventsPerSecond FramesPerSecond Percentage PercentageLoads SystemCPUPercentage",
    Encoding.INTEGER: """Boolean CPUCore ContainmentLayoutID CycleWeight DiskSizeInBytes Duration
        DurationOnCPU DurationWaiting EventCount GraphicsDriverCounter KDebugArgument KDebugClass
        KDebugCode KDebugFunction KDebugStringID KDebugSubclass LayoutID LibraryAddress
        MachOVMOffset NetworkSizeInBytes NetworkSizeInBytesPerSecond OSSignpostIdentifier PMCEvent
        PrivateValue ProcessGroupID ProcessID ProcessUID PrototypeValue RecordedEventTimestamp
        SampleTimestamp SizeInBytes SizeInBytesPerSecond SizeInPages StartTime ThreadID TimeSample
        TimeSampleWeight UnsignedIntegerHexLowercase VirtualMemoryAddress""",
    Encoding.PROCESS: "Process",
    Encoding.THREAD: "Thread",
    Encoding.BACKTRACE: "Backtrace",
    Encoding.INTEGERS: "CoreProfilePMCEventsArray",
    Encoding.KPERF: "CoreProfileCallstack",
    Encoding.UUID: "UUID",
    Encoding.PARTS: "NarrativeEntry OSLogMetadata",
    Encoding.ANY: "Any",
    Encoding.LOCATION: "ReturnLocation",
    Encoding.THREAD_NAME: "ThreadName",
}
# From another reader of bundles (microsoft/Microsoft-Performance-Tools-Apple) or from similar types above: no
# bundle with these types and its export was available to confirm them.
_UNCONFIRMED = {Encoding.TAGGED: "TaggedBacktrace", Encoding.PARTS: "FormattedLabel"}

# Tags that cannot be derived from the name, as exports write them.
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

# In most types, all bits set mean null. In these, exports show 2^64-1 as a number and never a sentinel
# (collected exports: 14, 4 and 10 cells against none), or the bits belong to the traced program itself.
_ANY_BITS = frozenset(
    {"KDebugArgument", "PrototypeValue", "SystemCallArgument", "VFSVnode", "VirtualMemoryAddress"}
)

_TYPE_ID = re.compile(r"XR(\w+?)TypeID\Z")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+")
_ENCODINGS = {name: (encoding, True) for encoding, names in _CONFIRMED.items() for name in names.split()} | {
    name: (encoding, False) for encoding, names in _UNCONFIRMED.items() for name in names.split()
}
_IRREGULAR_TAGS = dict(pair.split("=") for pair in _IRREGULAR.split())


def shorten_name(type_id: str) -> str:
    """Return ``Backtrace`` for ``XRBacktraceTypeID``; any other identifier unchanged."""
    match = _TYPE_ID.match(type_id)
    return match[1] if match else type_id


def may_be_all_ones(type_id: str) -> bool:
    """Return whether 2^64-1 is a value of this type; in other types it means null."""
    return shorten_name(type_id) in _ANY_BITS


def find_encoding(type_id: str, tag: str) -> tuple[Encoding, bool]:
    """Return the encoding of a type's values, and whether an export has confirmed it.

    For a type in no list, the tag decides: exports show it as a number or as text.
    """
    encoding = _ENCODINGS.get(shorten_name(type_id))
    if encoding is not None:
        return encoding
    by_kind = {"int": Encoding.INTEGER, "text": Encoding.TEXT}
    return by_kind.get(KIND_OF_TYPE.get(tag, ""), Encoding.UNKNOWN), False


@cache
def make_default_tag(type_id: str) -> str:
    """Return the export's tag for a type that ``open.creq`` omits: ``SizeInBytes`` → size-in-bytes."""
    name = shorten_name(type_id)
    if name in _IRREGULAR_TAGS:
        return _IRREGULAR_TAGS[name]
    tag = "-".join(word.lower() for word in _WORD.findall(name))
    return tag.replace("k-debug", "kdebug") or type_id
