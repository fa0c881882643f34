"""Template and instruments: every preset against the lists of real Xcodes, copied literally."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.errors import UsageError, XctraceError
from tracekit.record.expected_evidence import predict_evidence
from tracekit.record.recording_plan import (
    PRESETS,
    InstrumentCatalog,
    InstrumentPlan,
    Preset,
    make_plan,
)
from tracekit.xctrace.version import parse_version

# Xcode 26.3 (17C529): lucaf/rtk and skastr0/probe-cli.
TEMPLATES_26_3 = (
    "Activity Monitor,Allocations,Animation Hitches,App Launch,Audio System Trace,CPU Counters,CPU Profiler,Core ML,"
    "Data Persistence,File Activity,Game Memory,Game Performance,Game Performance Overview,Leaks,Logging,"
    "Metal System Trace,Network,Power Profiler,Processor Trace,RealityKit Trace,Swift Concurrency,SwiftUI,"
    "System Trace,Tailspin,Time Profiler"
)
# Xcode 27.0 (27A266a): nhubbard/sort-visualizer-swift.
TEMPLATES_27 = (
    "Activity Monitor,Allocations,Animation Hitches,App Launch,Audio System Trace,CPU Counters,CPU Profiler,Core AI,"
    "Data Persistence,File Activity,Foundation Models,Game Memory,Game Performance,Game Performance Overview,Leaks,"
    "Logging,Metal System Trace,Network,Power Profiler,Processor Trace,RealityKit Trace,Swift Concurrency,SwiftUI,"
    "System Trace,Time Profiler"
)
# A beta of Xcode 27: sforteln/xctrace-query-mcp-server. No other list of instruments is public.
INSTRUMENTS_27 = (
    "Activity Monitor,Advanced Graphics Statistics,Allocations,Audio Client,Audio Server,Audio Statistics,Core AI,"
    "Core Animation Activity,Core Animation Commits,Core Animation FPS,Core Animation Server,Core ML,CPU Counters,"
    "CPU Profiler,Data Faults,Data Fetches,Data Saves,Disk I/O Latency,Disk Usage,Display,dyld Activity,"
    "Filesystem Activity,Filesystem Suggestions,Foundation Models,Foveated Streaming Statistics,Frame Lifetimes,"
    "GCD Performance,GPU,Hangs,Hitches,HTTP Traffic,Leaks,Location Energy Model,Metal Application,Metal GPU Counters,"
    "Metal Performance Overview,Metal Resource Events,Network Connections,Neural Engine,os_log,os_signpost,"
    "Points of Interest,Power Profiler,Processor Trace,RealityKit Frames,RealityKit Metrics,Run Loops,Sampler,"
    "SceneKit Application,stdout/stderr,Swift Actors,Swift Executors,Swift Tasks,SwiftUI,System Call Trace,System Load,"
    "Thermal State,Thread Activity,Thread State Trace,Time Profiler,View Body (Legacy),View Properties (Legacy),"
    "Virtual Memory Trace,VM Tracker"
)
INSTRUMENTS = tuple(INSTRUMENTS_27.split(","))
XCODE_26 = InstrumentCatalog(tuple(TEMPLATES_26_3.split(",")), INSTRUMENTS)
XCODE_27 = InstrumentCatalog(tuple(TEMPLATES_27.split(",")), INSTRUMENTS)
OLD = InstrumentCatalog(
    ("Counters", "Core ML", "Time Profiler"),
    ("Core ML", "Counters", "GPU", "Neural Engine", "os_signpost", "Points of Interest", "Time Profiler"),
)
BARE = InstrumentCatalog((), INSTRUMENTS)

# What each template brings, as decoded from Xcode 27's (sforteln/xctrace-query-mcp-server).
BUNDLED = {
    "CPU Counters": {"CPU Counters", "Points of Interest", "Thread Activity", "Time Profiler"},
    "Core ML": {"Core ML", "GPU", "Metal Application", "Neural Engine", "Time Profiler"},
    "Time Profiler": {"Hangs", "Points of Interest", "Thermal State", "Time Profiler"},
}
ENGINES = {"Time Profiler", "Core ML", "Neural Engine", "GPU", "os_signpost", "Points of Interest"}


def options(*words: str, template: str = "") -> list[str]:
    return (["--template", template] if template else []) + [
        w for name in words for w in ("--instrument", name)
    ]


# Presets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "catalog", "expected"),
    [
        (
            "counters",
            XCODE_26,
            options("Core ML", "Neural Engine", "GPU", "os_signpost", template="CPU Counters"),
        ),
        (
            "counters",
            XCODE_27,
            options("Core ML", "Core AI", "Neural Engine", "GPU", "os_signpost", template="CPU Counters"),
        ),
        (
            "counters",
            OLD,
            options("Time Profiler", "Core ML", "Neural Engine", "GPU", "os_signpost", template="Counters"),
        ),
        ("coreml", XCODE_26, options("os_signpost", "Points of Interest", template="Core ML")),
        (
            "coreml",
            XCODE_27,
            options(
                "Time Profiler",
                "Core ML",
                "Core AI",
                "Neural Engine",
                "GPU",
                "os_signpost",
                "Points of Interest",
            ),
        ),
        (
            "coreai",
            XCODE_27,
            options("Core ML", "os_signpost", "Points of Interest", "os_log", template="Core AI"),
        ),
        ("minimal", XCODE_26, options(template="Time Profiler")),
        ("minimal", XCODE_27, options(template="Time Profiler")),
        ("minimal", BARE, options("Time Profiler")),
        (
            "counters",
            BARE,
            options(
                "CPU Counters",
                "Time Profiler",
                "Core ML",
                "Neural Engine",
                "GPU",
                "os_signpost",
                "Points of Interest",
            ),
        ),
    ],
)
def test_a_preset_takes_what_this_xcode_offers(
    preset: Preset, catalog: InstrumentCatalog, expected: list[str]
) -> None:
    assert make_plan(catalog, preset).build_options() == expected


@pytest.mark.parametrize("catalog", [XCODE_26, XCODE_27, BARE], ids=["26.3", "27.0", "no templates"])
@pytest.mark.parametrize("preset", ["counters", "coreml"])
def test_every_engine_is_recorded_once(catalog: InstrumentCatalog, preset: Preset) -> None:
    plan = make_plan(catalog, preset)
    bundled = BUNDLED[plan.template] if plan.template else set()
    assert bundled | set(plan.instruments) >= ENGINES | ({"CPU Counters"} if preset == "counters" else set())
    assert not bundled & set(plan.instruments)
    assert len(set(plan.instruments)) == len(plan.instruments)


def test_counters_is_the_default_preset() -> None:
    assert make_plan(XCODE_26) == make_plan(XCODE_26, "counters")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("catalog", [XCODE_26, XCODE_27, OLD, BARE])
def test_every_word_of_the_command_line_has_a_reason(preset: Preset, catalog: InstrumentCatalog) -> None:
    plan = make_plan(catalog, preset)
    assert [name for name, _ in plan.reasons] == [w for w in plan.build_options() if not w.startswith("--")]
    assert all(why for _, why in plan.reasons)


def test_a_missing_core_ml_template_is_noted() -> None:
    assert make_plan(XCODE_27, "coreml").notes == (
        "This Xcode has no template Core ML: the instruments are recorded without one.",
    )
    assert make_plan(XCODE_27, "counters").notes == ()


def test_without_counters_the_core_ml_template_is_taken_and_the_lack_is_noted() -> None:
    catalog = InstrumentCatalog(("Core ML",), tuple(name for name in INSTRUMENTS if name != "CPU Counters"))
    plan = make_plan(catalog, "counters")
    assert plan.template == "Core ML"
    assert "This Xcode has no Counters template or instrument. Not recorded: CPU counters." in plan.notes


def test_a_counters_instrument_without_its_template_comes_beside_the_core_ml_template() -> None:
    plan = make_plan(InstrumentCatalog(("Core ML",), INSTRUMENTS), "counters")
    assert (plan.template, plan.instruments[0]) == ("Core ML", "CPU Counters")


def test_an_instrument_that_is_missing_is_left_out_and_noted() -> None:
    catalog = InstrumentCatalog(("CPU Counters",), ("CPU Counters", "Core ML", "GPU", "os_signpost"))
    plan = make_plan(catalog, "counters")
    assert plan.instruments == ("Core ML", "GPU", "os_signpost")
    assert plan.notes == (
        "This Xcode has no instrument Neural Engine. Not recorded: busy times of the Neural Engine (system-wide).",
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_an_xcode_without_anything_useful_is_an_error(preset: Preset) -> None:
    with pytest.raises(XctraceError, match="has none of the instruments that tracekit records with"):
        make_plan(InstrumentCatalog((), ("Leaks",)), preset)


# Named templates and instruments --------------------------------------------------------------------------------------------


def test_a_named_template_is_used_alone() -> None:
    assert make_plan(XCODE_26, None, "System Trace") == InstrumentPlan(
        "System Trace", (), (("System Trace", "requested"),)
    )


def test_named_instruments_stand_alone() -> None:
    plan = make_plan(XCODE_26, None, None, ["GPU", "Hangs", "GPU"])
    assert plan.build_options() == options("GPU", "Hangs")


def test_instruments_come_beside_a_named_template() -> None:
    plan = make_plan(XCODE_26, None, "System Trace", ["GPU"])
    assert plan.build_options() == options("GPU", template="System Trace")


def test_instruments_come_on_top_of_a_preset_once() -> None:
    named = ["Hangs", "Time Profiler", "GPU", "Hangs"]
    plan = make_plan(XCODE_26, "counters", None, named)
    assert plan.build_options() == options(
        "Core ML", "Neural Engine", "GPU", "os_signpost", "Hangs", template="CPU Counters"
    )
    assert plan.reasons[-1] == ("Hangs", "requested")


def test_preset_and_template_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--preset or --template, not both"):
        make_plan(XCODE_26, "minimal", "Core ML")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("time profiler", "Time Profiler"), ("CORE ML", "Core ML"), ("Time Profilr", "Time Profiler")],
)
def test_a_typo_in_a_template_gets_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_plan(XCODE_26, None, name)
    assert f"This Xcode has no template called '{name}'. Did you mean {suggestion}" in str(caught.value)
    assert "xcrun xctrace list templates" in str(caught.value)


def test_a_typo_in_an_instrument_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"no instrument called 'gpu'\. Did you mean GPU.* list instruments"):
        make_plan(XCODE_26, "coreml", None, ["gpu"])


def test_the_core_ml_template_in_xcode_27_leads_to_the_preset() -> None:
    with pytest.raises(UsageError, match="Xcode 27 has only the instrument: --preset coreml"):
        make_plan(XCODE_27, None, "Core ML")


def test_without_a_list_from_xctrace_any_name_is_accepted() -> None:
    plan = make_plan(InstrumentCatalog((), ()), None, "Anything", ["Something"])
    assert plan.build_options() == options("Something", template="Anything")


def test_a_file_of_a_template_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "Mine.tracetemplate"
    file.touch()
    assert make_plan(XCODE_26, None, str(file)).build_options() == ["--template", str(file)]


@pytest.mark.parametrize(
    "name", ["Mine.tracetemplate", "./Mine", "/" + "a" * 5000], ids=["name", "path", "too long"]
)
def test_a_file_of_a_template_must_be_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="there is no such file"):
        make_plan(XCODE_26, None, name)


# The evidence that a plan will yield -------------------------------------------------------------------------


def shown(plan: InstrumentPlan, version: str = "27.0 (27A266a)", is_device: bool = False) -> dict[str, str]:
    """Return subject → text; what will not be shown begins with "not: "."""
    evidence = predict_evidence(plan, parse_version(f"xctrace version {version}"), is_device)
    return {row.subject: row.text if row.is_shown else f"not: {row.text}" for row in evidence}


def test_each_preset_states_what_its_recording_will_show() -> None:
    assert shown(make_plan(XCODE_27, "coreai")) == {
        "calls": "exact, from Core ML's predictions, Core AI's inferences and your app's own signposts",
        "Neural Engine": "busy time, of all processes without naming one; requests with their process and"
        " status, if the system logs them",
        "GPU": "busy time, by process",
        "CPU": "samples with stacks",
    }
    assert shown(make_plan(XCODE_26, "counters"), "16.0 (17F42)") == {
        "calls": "exact, from Core ML's predictions (its table was empty in Xcode 26.5) and your app's own signposts",
        "Neural Engine": "busy time, of all processes without naming one",
        "GPU": "busy time, by process",
        "CPU": "samples with stacks, with hardware counters",
    }
    assert shown(make_plan(XCODE_26, "minimal")) == {
        "calls": "inferred from stacks: calls without a sample between them are one",
        "Neural Engine": "not: calls to it on stacks, not how long it works",
        "GPU": "not: calls to it on stacks, not how long it works",
        "CPU": "samples with stacks",
    }


def test_evidence_of_templates_and_instruments_by_name() -> None:
    foundation = shown(make_plan(XCODE_27, None, "Foundation Models"))
    assert foundation["calls"] == "exact, from requests to Foundation Models"
    assert foundation["CPU"] == "not: nothing"
    assert "Neural Accelerators" in shown(make_plan(XCODE_27, None, None, ["Metal GPU Counters"]))["GPU"]
    power = make_plan(XCODE_27, None, "Power Profiler")
    assert shown(power)["power"] == "not: nothing: Power Profiler records devices only"
    assert shown(power, is_device=True)["power"] == "recorded, and not read by tracekit"
    assert shown(make_plan(XCODE_27, None, "SwiftUI")) == {
        "evidence": "not: not known: the template SwiftUI is not one that tracekit knows"
    }


def test_an_instrument_that_a_named_template_holds_is_not_recorded_twice() -> None:
    plan = make_plan(XCODE_27, None, "Core AI", ["GPU", "os_log"])
    assert plan.build_options() == options("os_log", template="Core AI")


def test_the_core_ai_template_came_with_xcode_27() -> None:
    with pytest.raises(UsageError, match="It came with Xcode 27"):
        make_plan(XCODE_26, None, "Core AI")
