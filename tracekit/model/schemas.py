"""Names of the Instruments tables that tracekit reads: each is written in this module only.

An Instruments table is named by its schema, as ``xctrace export --toc`` lists it. Tables that Instruments
renamed between Xcode versions are in one group.
"""

TIME_PROFILE = "time-profile"
COUNTERS_PROFILE = "counters-profile"
CPU_PROFILE = "cpu-profile"
TIME_SAMPLE = "time-sample"
"""Raw samples: an export holds their addresses only, without symbols."""
CUMULATIVE_COUNTERS = "kdebug-counters-with-time-sample"
"""Hardware counters per core at each sampling tick, counted since the start."""
STACK_COUNTS = "stack-counts"
"""Stacks of a text (``sample``, spindump, crash report) with the number of samples of each; no times."""
LLDB_HITS = "breakpoint-hits"
"""Hits of the breakpoints that ``tracekit lldb`` sets, each with a time, a thread and a short stack."""
SAMPLE_TABLES = (
    TIME_PROFILE,
    COUNTERS_PROFILE,
    CPU_PROFILE,
    TIME_SAMPLE,
    CUMULATIVE_COUNTERS,
    STACK_COUNTS,
    LLDB_HITS,
)
"""In the order of preference."""

ANE_INTERVALS = "ane-hw-intervals"
ANE_INTERVALS_INTERNAL = "ane-hw-intervals-internal"
ANE_TABLES = (ANE_INTERVALS, ANE_INTERVALS_INTERNAL)
MPS_INTERVALS = "mps-hw-intervals"
"""Programs of MPSGraph, on the GPU or through the Neural Engine."""
GPU_INTERVALS = "metal-gpu-intervals"
"""Everything that the GPU did, for every process, graphics included."""
GPU_TABLES = (MPS_INTERVALS, GPU_INTERVALS)
GPU_STATE = "metal-gpu-state-intervals"
GPU_COUNTER_NAMES = "gpu-counter-info"
GPU_COUNTER_VALUES = "gpu-counter-value"
"""Samples of all counters of the GPU, up to a million in a second."""
PROCESS_USAGE = "engine-memory"
"""Samples of the memory that processes hold on the Neural Engine; of a text as well."""
ENGINE_PRESENCE = "engine-floors"
"""How long the power manager held bandwidth floors for the Neural Engine; of a text as well."""
THERMAL_STATE = "device-thermal-state-intervals"
POWER_RAILS = "power-rails"
"""Samples of the power that a tool estimates for the whole system, by rail; of a text, not of Instruments."""
ANE_POWER_STATE = "ane-power-state"
"""When the kernel's log has the Neural Engine powered on or off; of a text as well."""
LIFE_CYCLE = "life-cycle-period"
"""An app's launch, and whether it is in the foreground: circumstances, nothing to analyze by themselves."""

METAL_CALLS = "metal-application-intervals"
METAL_ENCODERS = "metal-application-encoders-list"
METAL_SUBMISSIONS = "metal-application-command-buffer-submissions"
METAL_EVENTS = "metal-application-event-interval"
METAL_COMPLETIONS = "metal-command-buffer-completed"
METAL_APPLICATION_TABLES = (
    METAL_CALLS,
    METAL_ENCODERS,
    METAL_SUBMISSIONS,
    METAL_EVENTS,
    METAL_COMPLETIONS,
)
"""An app's encoding and submitting of GPU work, not the GPU's own time."""
COMMAND_BUFFER_OWNERS = "metal-gpu-submission-to-command-buffer-id"
"""The process of each command buffer; it holds no interval itself."""

CORE_ML = "coreml-os-signpost"
CORE_AI = "ODIEProfile"
CORE_AI_LANGUAGE_MODELS = "com.apple.coreai-models.performance"
"""The subsystem of the signposts of Apple's package of language models (apple/coreai-models)."""
MODEL_INFERENCE = "ModelInferenceTable"
MODEL_REQUEST = "RequestTable"
MODEL_LOADING = "ModelLoadingTable"
"""The three tables of Foundation Models."""

SIGNPOST_EVENTS = "os-signpost"
SIGNPOST_INTERVALS = "os-signpost-interval"
SIGNPOST_INTERVALS_NAMED = "OSSignpostIntervals"
REGIONS_OF_INTEREST = "region-of-interest"
POINTS_OF_INTEREST = "PointsOfInterestEvents"
SIGNPOST_INTERVAL_TABLES = (
    SIGNPOST_INTERVALS,
    SIGNPOST_INTERVALS_NAMED,
    REGIONS_OF_INTEREST,
    POINTS_OF_INTEREST,
)
SIGNPOST_TABLES = (SIGNPOST_EVENTS, *SIGNPOST_INTERVAL_TABLES)

OS_LOG = "os-log"
"""Messages of the unified log: of an app, and of the frameworks that it uses."""
THREAD_STATE = "thread-state"
THREAD_METRICS = "MetricAggregationForThread"
"""Sums of hardware counters per thread: CPU Counters' guided modes, Xcode 26."""

INTERVAL_TABLES = (
    *ANE_TABLES,
    MPS_INTERVALS,
    *METAL_APPLICATION_TABLES,
    GPU_INTERVALS,
    CORE_ML,
    MODEL_INFERENCE,
    MODEL_REQUEST,
    MODEL_LOADING,
    CORE_AI,
)
TEXT_TABLES = (STACK_COUNTS, POWER_RAILS, ANE_POWER_STATE, PROCESS_USAGE, ENGINE_PRESENCE)
"""Of texts that other tools than Instruments write."""
TRACK_TABLES = (GPU_STATE, THERMAL_STATE, POWER_RAILS, ANE_POWER_STATE, PROCESS_USAGE, ENGINE_PRESENCE)
STANDALONE_TABLES = (
    *INTERVAL_TABLES,
    *SIGNPOST_TABLES,
    OS_LOG,
    THREAD_STATE,
    *TRACK_TABLES,
    THREAD_METRICS,
)
"""The tables that can be analyzed without any sample."""
NON_SAMPLE_TABLES = (*STANDALONE_TABLES, COMMAND_BUFFER_OWNERS, GPU_COUNTER_NAMES, LIFE_CYCLE)
READ_TABLES = (*SAMPLE_TABLES, *NON_SAMPLE_TABLES)
"""Every table that becomes a part of a ``Trace``; others are listed, counted and exported only."""
TABLES_ON_DEMAND = (GPU_COUNTER_VALUES,)
"""Read only where another table shows that they hold something of use; no pack holds them."""
