"""Templates, instruments and their options in each version of Xcode."""

from __future__ import annotations

import json

Build = tuple[int, str]
"""Major number and letter of a build: 17C529 → (17, "C"). The version alone is ambiguous: 26.4 calls itself 16.0."""
XCODE_26, XCODE_26_4, XCODE_26_5, XCODE_27 = (17, "A"), (17, "E"), (17, "F"), (27, "A")

_EVERYWHERE = (
    "Activity Monitor", "Allocations", "Animation Hitches", "App Launch", "Audio System Trace", "CPU Counters",
    "CPU Profiler", "Data Persistence", "File Activity", "Game Memory", "Game Performance",
    "Game Performance Overview", "Leaks", "Logging", "Metal System Trace", "Network", "Power Profiler",
    "Processor Trace", "RealityKit Trace", "Swift Concurrency", "SwiftUI", "System Trace", "Time Profiler",
)  # fmt: skip
TEMPLATES_26 = sorted((*_EVERYWHERE, "Core ML", "Tailspin"))
"""`xctrace list templates` of Xcode 26.3 (lucaf/rtk, skastr0/probe-cli)."""
TEMPLATES_27 = sorted((*_EVERYWHERE, "Core AI", "Foundation Models"))
"""The same of Xcode 27.0 (27A266a) (nhubbard/sort-visualizer-swift)."""

INSTRUMENTS = (
    "Activity Monitor", "Advanced Graphics Statistics", "Allocations", "Audio Client", "Audio Server",
    "Audio Statistics", "Core AI", "Core Animation Activity", "Core Animation Commits", "Core Animation FPS",
    "Core Animation Server", "Core ML", "CPU Counters", "CPU Profiler", "Data Faults", "Data Fetches",
    "Data Saves", "Disk I/O Latency", "Disk Usage", "Display", "dyld Activity", "Filesystem Activity",
    "Filesystem Suggestions", "Foundation Models", "Foveated Streaming Statistics", "Frame Lifetimes",
    "GCD Performance", "GPU", "Hangs", "Hitches", "HTTP Traffic", "Leaks", "Location Energy Model",
    "Metal Application", "Metal GPU Counters", "Metal Performance Overview", "Metal Resource Events",
    "Network Connections", "Neural Engine", "os_log", "os_signpost", "Points of Interest", "Power Profiler",
    "Processor Trace", "RealityKit Frames", "RealityKit Metrics", "Run Loops", "Sampler",
    "SceneKit Application", "stdout/stderr", "Swift Actors", "Swift Executors", "Swift Tasks", "SwiftUI",
    "System Call Trace", "System Load", "Thermal State", "Thread Activity", "Thread State Trace",
    "Time Profiler", "View Body (Legacy)", "View Properties (Legacy)", "Virtual Memory Trace", "VM Tracker",
)  # fmt: skip
"""`xctrace list instruments` of the Xcode 27.0 beta (sforteln/xctrace-query-mcp-server)."""

BUNDLED = {
    "Core ML": ("Core ML", "GPU", "Metal Application", "Neural Engine", "Time Profiler"),
    "Core AI": ("Core AI", "GPU", "Neural Engine", "Time Profiler"),
    "Foundation Models": ("Foundation Models",),
    "CPU Counters": ("CPU Counters", "Points of Interest", "Thread Activity", "Time Profiler"),
    "CPU Profiler": ("CPU Profiler", "Hangs", "Points of Interest", "Thermal State"),
    "Time Profiler": ("Hangs", "Points of Interest", "Thermal State", "Time Profiler"),
    "Metal System Trace": (
        "Display",
        "GPU",
        "Hangs",
        "Metal Application",
        "Metal Resource Events",
        "Thermal State",
        "Time Profiler",
    ),
    "Logging": ("os_log", "os_signpost"),
    "Allocations": ("Allocations",),
    "Network": ("Network Connections",),
}
"""Template → instruments (decoded by sforteln from Xcode 27's templates; the last two are invented)."""

_SAMPLING = {
    "contextSwitchSampling": False,
    "highFrequencySampling": False,
    "recordKernelStacks": False,
    "recordWaitingThreads": False,
}
RECORDING_OPTIONS: dict[str, dict[str, object]] = {
    "Time Profiler": _SAMPLING,
    "CPU Profiler": {"highFrequency": False, "recordKernelCallstacks": False},
    "CPU Counters": {
        "allEventsAndFormulas": [],
        "configurationType": {"guided": {}},
        "countingLevel": "EL0",
        "pmiEventAliasOrMnemonic": "",
        "pmiThreshold": 1000000,
        "processBucketSize": 10,
        "sampleByTime": True,
        "selectedCountingMode": {"analysisMode": "bottleneck", "countingMode": "bottlenecks"},
        "selectedCountingModeDisplayName": "CPU Bottlenecks",
        "useDebuggingInformation": False,
        "useHighFrequencyForGuidedMode": False,
        "useHighFrequencyForManualMode": False,
    },
    "Hangs": {"detectPriorityInversions": False, "hangsThreshold": 250},
    "Core AI": {"consolidateNumericFunctionSuffixes": True},
    "os_signpost": {"dynamicTracingEnabledSubsystems": [], "recordAllProcessesInSingleProcessMode": False},
    "os_log": {"recordAllProcessesInSingleProcessMode": False},
    "Points of Interest": {"excludeOSLogs": False},
}
"""Instrument → all its options; GPU and Neural Engine have none (`--show-recording-options` of Xcode 27.0)."""


def build_key(build: str) -> Build:
    """Return the leading number and letter, which distinguish versions."""
    digits = len(build) - len(build.lstrip("0123456789"))
    return int(build[:digits]), build[digits : digits + 1]


def instruments_of(template: str, added: tuple[str, ...]) -> list[str]:
    """Return the instruments of a recording, those of the template first."""
    return list(dict.fromkeys((*BUNDLED.get(template, ()), *added)))


def shown_options(template: str, added: tuple[str, ...]) -> str:
    """Return the output of `record --show-recording-options`; instruments without options are left out."""
    offered = {
        name: dict(RECORDING_OPTIONS[name])
        for name in instruments_of(template, added)
        if name in RECORDING_OPTIONS
    }
    if "Hangs" in offered and (template == "Metal System Trace" or "Hangs" not in BUNDLED.get(template, ())):
        offered["Hangs"]["hangsThreshold"] = 100
    return json.dumps(offered, indent=2)
