"""The whole view: its numbers are those of the JSON of the same analysis."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    UI,
    Signpost,
    View,
    analyze,
    ane,
    gpu,
    manual,
    prediction,
    replace,
    sample_rows,
    trace_of,
    view_of,
    with_evidence,
    with_tracks,
)

import tracekit
from tracekit import Analysis
from tracekit.analysis import Window
from tracekit.errors import TracekitError
from tracekit.load import open_trace
from tracekit.model.columns import THREADS
from tracekit.model.vocabulary import Basis
from tracekit.report.analysis.json import to_dict
from tracekit.report.viewmodel.view import Extras, measure_duration, view_block

pytestmark = pytest.mark.integration

NOT_INFERENCE = ("compile", "load", "idle")
REAL = [
    "xml/jonhoo__inferno/basic.xml",
    "xml/CharlesWiltgen__Axiom/cpu-profile.xml",
    "xml/robtaylor__apple-profiler/real_finder_cpu_profile.xml",
    "xml/fzhinkin__xctraceprof/counters-profile.xml",
]


def column(view: View, name: str) -> list[Any]:
    return [None if isinstance(v, float) and math.isnan(v) else v for v in view.arrays[name].tolist()]


def serving_samples(engine: dict[str, Any]) -> int:
    left_out = sum(engine["phases"].get(name, {}).get("samples", 0) for name in NOT_INFERENCE)
    return int(engine["samples"] - left_out)


def agrees(analysis: Analysis, view: View) -> None:
    """Hold the view against the JSON of the same analysis."""
    header, document = view.header, json.loads(json.dumps(to_dict(analysis)))
    assert header["format"] == "tracekit-view/2"
    assert header["tracekit"] == tracekit.__version__
    assert header["verdict"] == document["summary"]["sentence"]
    assert header["unit"] == document["samples"]["weight_unit"]
    windows_agree(view, document["windows"])
    for row in header["engine_rows"]:
        engine = document["engines"][row["engine"]]
        assert (row["samples"], row["weight"]) == (engine["samples"], engine["weight"])
        assert row["busy_ns"] == engine["busy_ns"]
        assert row["phases"] == {p: n["samples"] for p, n in engine["phases"].items() if n["samples"]}
    seen = {name for name, sums in document["engines"].items() if sums["samples"]}
    assert seen <= {row["engine"] for row in header["engine_rows"]}
    assert [row["source"] for row in header["evidence"]] == [row["source"] for row in document["evidence"]]
    assert header["issues"] == document["issues"]
    assert {name: document["summary"][name] for name in header["latency"] if name != "models"} == {
        name: value for name, value in header["latency"].items() if name != "models"
    }
    samples_agree(analysis, view)
    tree_holds(view)


def windows_agree(view: View, documents: list[dict[str, Any]]) -> None:
    windows = view.header["windows"]
    assert windows["count"] == len(documents)
    assert column(view, windows["start"]) == [window["start_ns"] for window in documents]
    assert column(view, windows["end"]) == [window["end_ns"] for window in documents]
    assert column(view, windows["first"]) == [int(window["first"]) for window in documents]
    for name in ("label", "source", "basis", "verdict", "why"):
        assert view.texts(windows[name]) == [window[name] for window in documents]
    assert view.texts(windows["model"]) == [window["model"] or "" for window in documents]
    for engine in ("ANE", "GPU", "CPU"):
        numbers = [window["engines"][engine] for window in documents]
        for name, expected in {
            f"{engine}_samples": [
                serving_samples(each) if each["samples"] is not None else None for each in numbers
            ],
            f"{engine}_busy_ns": [each["busy_ns"] for each in numbers],
            f"{engine}_waiting_ns": [each["waiting_ns"] for each in numbers],
        }.items():
            if any(value is not None for value in expected):
                assert column(view, windows["values"][name]) == expected, name
            else:
                assert name not in windows["values"]


def samples_agree(analysis: Analysis, view: View) -> None:
    header, rows = view.header, sample_rows(view)
    lanes, weight, number = np.array(rows.lane), np.array(rows.weight), np.array(rows.number)
    assert weight.sum() == analysis.trace.weights.sum()
    assert number.sum() == len(analysis.trace.samples)
    assert len(rows.time) == header["samples"]["count"]
    kinds = view.arrays[header["stacks"]["kind"]]
    kind = kinds[rows.stack]
    for index, lane in enumerate(header["lanes"]):
        assert number[lanes == index].sum() == lane["samples"]
        assert weight[lanes == index].sum() == lane["weight"]
        assert len(view.arrays[lane["occupancy"]]) == len(lane["engines"]) * header["bins"]
        assert set((kind[lanes == index] >> 4).tolist()) == set(lane["engines"])
    labels = analysis.labels
    expected = {
        (header["engines"][engine], header["phases"][phase])
        for engine, phase in zip(labels.engine.tolist(), labels.phase.tolist(), strict=True)
    }
    assert {(header["engines"][each >> 4], header["phases"][each & 15]) for each in kinds} == expected
    assert view.arrays[header["stacks"]["node"]].max(initial=-1) < header["nodes"]["count"]
    assert max(rows.time, default=-1) < header["duration_ns"]


def tree_holds(view: View) -> None:
    nodes = view.header["nodes"]
    parent = view.arrays[nodes["parent"]]
    assert (parent < np.arange(len(parent))).all()
    assert (parent >= -1).all()
    for name in ("name", "binary"):
        assert max(view.arrays[nodes[name]].tolist(), default=-1) < len(view.header["strings"])
        assert len(view.arrays[nodes[name]]) == nodes["count"]
    assert len(view.arrays[nodes["flags"]]) == nodes["count"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_view_agrees_with_the_analysis(name: str) -> None:
    analysis = sample_analysis(name)
    agrees(analysis, view_of(analysis))


@pytest.mark.parametrize("name", ["ane-intervals-macos26", "counters-bnns-macos15", "fallback-midway-ios27"])
@pytest.mark.parametrize("windows", ["run", "stacks"])
def test_windows_of_another_kind_agree_as_well(name: str, windows: Any) -> None:
    analysis = analyze(sample_analysis(name).trace, windows=windows)
    agrees(analysis, view_of(analysis))


@pytest.mark.parametrize("path", REAL)
def test_a_real_recordings_view_agrees_with_its_analysis(path: str, shared: Path) -> None:
    try:
        trace = open_trace(shared / "traces" / path)
    except TracekitError as error:  # pragma: no cover
        pytest.fail(str(error))
    analysis = analyze(trace)
    agrees(analysis, view_of(analysis))


def test_the_same_analysis_gives_the_same_bytes() -> None:
    analysis = analyze(open_trace_again())
    assert view_block(analysis) == view_block(analyze(open_trace_again()))


def open_trace_again() -> Any:
    from view_support import SAMPLES

    return open_trace(SAMPLES / "concurrent-models-ios27")


# Literal --------------------------------------------------------------------------------------------------


def literal() -> Analysis:
    """Window 0 has ANE work that a table measured, window 1 CPU work; a sample of the interface lies outside."""
    trace = trace_of(
        [
            (0, "ui", UI, 4 * MS),
            (10, "main", ANE),
            (12, "main", ANE),
            (30, "main", BNNS, 3 * MS),
            (40, "ui", None),
        ]
    )
    trace = with_evidence(
        trace,
        [ane(10, 14), gpu(60, 61, pid=88), prediction(10, 20), prediction(30, 40)],
        [Signpost(1, 2, "org.app/ui/draw")],
    )
    return analyze(with_tracks(trace, [(0, 1.5), (50 * MS, float("nan"))]))


def test_lanes_samples_and_nodes_fit_together() -> None:
    view = view_of(literal())
    header, rows = view.header, sample_rows(view)
    assert [
        (view.text(lane["label"]), view.text(lane["process"]), lane["weight"]) for lane in header["lanes"]
    ] == [
        ("main (0x2)", "App7 (7)", 5.0 * MS),
        ("ui (0x1)", "App7 (7)", 5.0 * MS),
    ]
    assert [header["lanes"][0]["engines"], header["lanes"][1]["engines"]] == [[0, 2], [5, 6]]
    assert rows.lane == [0, 0, 0, 1, 1]
    names = view.texts(header["nodes"]["name"])
    leaves = view.arrays[header["stacks"]["node"]][rows.stack].tolist()
    assert [names[leaf] if leaf >= 0 else None for leaf in leaves] == [
        "H11ANEProgramProcessRequestDirect",
        "H11ANEProgramProcessRequestDirect",
        "BNNSFilterApply",
        "-[NSView drawRect:]",
        None,
    ]
    binaries = view.texts(header["nodes"]["binary"])
    assert binaries[names.index("BNNSFilterApply")] == "libBNNS.dylib"


def test_windows_have_what_was_measured_and_what_is_not_known() -> None:
    view = view_of(literal())
    windows = view.header["windows"]
    assert windows["count"] == 2
    values = windows["values"]
    assert column(view, values["ANE_busy_ns"]) == [4 * MS, 0]
    assert column(view, values["GPU_busy_ns"]) == [0, 0]
    assert column(view, values["ANE_samples"]) == [2, 0]
    assert column(view, values["CPU_samples"]) == [0, 1]
    assert column(view, windows["first"]) == [1, 0]


def test_spans_signposts_and_tracks_are_in_it() -> None:
    view = view_of(literal())
    spans = {view.text(lane["label"]): lane for lane in view.header["spans"]}
    lane = spans["Neural Engine"]
    assert (column(view, lane["start"]), column(view, lane["end"])) == ([10 * MS], [14 * MS])
    assert (column(view, lane["own"]), view.texts(lane["name"])) == ([1], ["Net_main__Op0_AneInference"])
    assert column(view, spans["GPU"]["own"]) == [0]
    (mark,) = view.header["signposts"]
    assert (view.text(mark["label"]), view.texts(mark["name"])) == ("org.app/ui", ["draw"])
    (track,) = view.header["tracks"]
    assert (view.text(track["name"]), view.text(track["unit"])) == ("Power", "W")
    assert column(view, track["value"]) == [1.5, None]


def test_system_libraries_are_marked() -> None:
    analysis = literal()
    stacks = analysis.trace.stacks
    paths = [
        "/System/Library/Frameworks/CoreML.framework/CoreML" if n == "CoreML" else "/Applications/App"
        for n in stacks.binaries["name"]
    ]
    binaries = stacks.binaries.assign(path=pd.Series(paths, dtype="str"))
    view = view_of(
        replace(analysis, trace=replace(analysis.trace, stacks=replace(stacks, binaries=binaries)))
    )
    nodes = view.header["nodes"]
    flags = dict(zip(view.texts(nodes["binary"]), view.arrays[nodes["flags"]].tolist(), strict=True))
    assert {name: flag & 1 for name, flag in flags.items()} == {name: int(name == "CoreML") for name in flags}


def test_what_was_cut_off_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.report.viewmodel.samples._DETAILS", ((4_096, 1),))
    view = view_of(literal())
    nodes = view.header["nodes"]
    assert set((view.arrays[nodes["flags"]] & 2).tolist()) == {0, 2}
    assert nodes["count"] < 4


def test_a_window_of_a_thread_without_samples_is_on_no_lane() -> None:
    trace = trace_of([(0, "main", ANE), (1, "other", ANE)])
    idle = pd.DataFrame({"tid": [99], "name": ["idle"], "pid": [7], "process": ["App7"]}).astype(
        dict(THREADS.required)
    )
    trace = replace(
        trace, threads=pd.concat([trace.threads, idle], ignore_index=True).astype(dict(THREADS.required))
    )
    windows = [
        Window(index * 5 * MS, index * 5 * MS + 1, "call", "manual", Basis.GIVEN, thread)
        for index, thread in enumerate([1, 2, -1])
    ]
    view = view_of(analyze(trace, windows=windows))
    labels = [view.text(lane["label"]) for lane in view.header["lanes"]]
    assert column(view, view.header["windows"]["lane"]) == [labels.index("other (0x2)"), -1, -1]


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//evil.example"]
)
def test_a_link_that_is_none_of_the_webs_is_no_part_of_the_view(link: str) -> None:
    assert view_of(literal(), extras=Extras(link=link)).header["link"] == ""


def test_the_writers_words_are_in_it() -> None:
    extras = Extras("Slow", "since 4.2\n\ud83d", "https://example.com/1", ("xctrace record --template x",))
    header = view_of(literal(), extras=extras).header
    assert (header["title"], header["note"]) == ("Slow", "since 4.2\n\ud83d")
    assert header["link"] == "https://example.com/1"
    assert header["commands"] == ["xctrace record --template x"]


def test_with_full_every_sample_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.report.viewmodel.samples.MOST_EXACT", 2)
    analysis = literal()
    assert view_of(analysis).header["exact"] is False
    assert view_of(analysis).header["bin_ns"] > 0
    full = view_of(analysis, full=True).header
    assert (full["exact"], full["bin_ns"], full["samples"]["count"]) == (True, 0, 5)


@pytest.mark.parametrize("missing_part", ["nothing", "windows only", "no stacks", "no windows"])
def test_a_recording_that_lacks_things_has_a_view(missing_part: str) -> None:
    analysis = {
        "nothing": lambda: analyze(trace_of([])),
        "windows only": lambda: analyze(with_evidence(trace_of([]), [prediction(0, 5)])),
        "no stacks": lambda: analyze(trace_of([(0, "main", None)])),
        "no windows": lambda: analyze(trace_of([(0, "main", UI)]), windows=[]),
    }[missing_part]()
    view = view_of(analysis)
    agrees(analysis, view)
    for name in view.header["windows"], view.header["samples"]:
        assert isinstance(name["count"], int)
    lanes = len(view.header["lanes"])
    assert all(-1 <= lane < lanes for lane in column(view, view.header["windows"]["lane"]))


def test_a_run_is_as_long_as_what_lies_in_it() -> None:
    trace = trace_of([(0, "main", UI)])
    assert measure_duration(analyze(trace)) == MS
    assert measure_duration(analyze(replace(trace, info=replace(trace.info, duration_ns=7 * MS)))) == 7 * MS
    assert measure_duration(analyze(with_evidence(trace, [ane(0, 90)]))) == 90 * MS
    assert measure_duration(analyze(trace, windows=[manual(1, 30)])) == 30 * MS
    assert measure_duration(analyze(trace_of([]), windows=[])) >= 1
