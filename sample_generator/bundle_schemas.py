"""Columns of the tables that samples and tests use most, and the names of their types in exports."""

from __future__ import annotations

from sample_generator.bundle_tables import CATEGORY1, DURATION, TIME, Col

TAGS = {
    "XRBacktraceTypeID": "backtrace",
    "XRBooleanTypeID": "boolean",
    "XRCPUCoreTypeID": "core",
    "XRCoreProfileCallstackTypeID": "kperf-bt",
    "XRCoreProfilePMCEventsArrayTypeID": "pmc-events",
    "XRCycleWeightTypeID": "cycle-weight",
    "XRDurationTypeID": "duration",
    "XRHangTypeTypeID": "hang-type",
    "XROSLogCategoryTypeID": "category",
    "XROSLogEventTypeID": "event-type",
    "XROSLogFormatStringTypeID": "format-string",
    "XROSLogMetadataTypeID": "os-log-metadata",
    "XROSLogSubsystemTypeID": "subsystem",
    "XROSSignpostIdentifierTypeID": "os-signpost-identifier",
    "XRPercentageTypeID": "percent",
    "XRProcessIDTypeID": "pid",
    "XRProcessTypeID": "process",
    "XRPrototypeStringTypeID": "string",
    "XRPrototypeValueTypeID": "uint64",
    "XRRecordedEventTimestampTypeID": "event-time",
    "XRReturnLocationTypeID": "return-location",
    "XRSampleTimestampTypeID": "sample-time",
    "XRSignpostNameTypeID": "signpost-name",
    "XRStartTimeTypeID": "start-time",
    "XRTaggedBacktraceTypeID": "tagged-backtrace",
    "XRThreadIDTypeID": "tid",
    "XRThreadNameTypeID": "thread-name",
    "XRThreadStateTypeID": "thread-state",
    "XRThreadTypeID": "thread",
    "XRTimeSampleTypeID": "time-sample-kind",
    "XRTimeSampleWeightTypeID": "weight",
    "XRUUIDTypeID": "uuid",
}
"""Engineering type → tag of an export, as `open.creq` has them; `BundleWriter.tags` takes more."""

PROCESS_INFO = (
    Col("time", "Timestamp", "XRRecordedEventTimestampTypeID", TIME),
    Col("pid", "Process ID", "XRProcessIDTypeID", CATEGORY1),
    Col("unique-id", "Unique Process ID", "XRPrototypeValueTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("process-name", "Process Name", "XRPrototypeStringTypeID"),
)
THREAD_INFO = (
    Col("time", "Timestamp", "XRRecordedEventTimestampTypeID", TIME),
    Col("pid", "Process ID", "XRProcessIDTypeID", CATEGORY1),
    Col("tid", "Thread ID", "XRThreadIDTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("thread", "Thread", "XRThreadTypeID"),
    Col("name", "Thread Name", "XRThreadNameTypeID"),
    Col("main-thread", "Main Thread", "XRBooleanTypeID"),
)
_WHO = (
    Col("time", "Sample Time", "XRSampleTimestampTypeID", TIME),
    Col("thread", "Thread", "XRThreadTypeID", CATEGORY1),
    Col("process", "Process", "XRProcessTypeID"),
    Col("core", "Core", "XRCPUCoreTypeID"),
    Col("thread-state", "State", "XRThreadStateTypeID"),
)
TIME_PROFILE = (
    *_WHO,
    Col("weight", "Weight", "XRTimeSampleWeightTypeID"),
    Col("stack", "Backtrace", "XRBacktraceTypeID"),
)
CPU_PROFILE = (
    *_WHO,
    Col("weight", "Cycles", "XRCycleWeightTypeID"),
    Col("stack", "Backtrace", "XRBacktraceTypeID"),
)
TIME_SAMPLE = (
    Col("time", "Timestamp", "XRSampleTimestampTypeID", TIME),
    Col("thread", "Thread", "XRThreadTypeID", CATEGORY1),
    Col("core-index", "Core Index", "XRCPUCoreTypeID"),
    Col("thread-state", "Thread State", "XRThreadStateTypeID"),
    Col("cp-kernel-callstack", "Kernel Callstack ID", "XRCoreProfileCallstackTypeID"),
    Col("cp-user-callstack", "User Callstack ID", "XRCoreProfileCallstackTypeID"),
    Col("sample-type", "Sample type", "XRTimeSampleTypeID"),
)
HANGS = (
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("hang-type", "Hang Type", "XRHangTypeTypeID"),
    Col("thread", "Thread", "XRThreadTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
)
