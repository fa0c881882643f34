"""pprof: the message decoded, and `go tool pprof` where it is installed."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_support import AWKWARD, RECORDINGS, awkward, output_of, program, two_windows, written
from sample_recordings import sample_analysis
from trace_support import MS, trace_of

from tracekit import Analysis, analyze

pytest.importorskip("google.protobuf", reason="protobuf is not installed: pip install -e '.[dev]'")

from tracekit.export.pprof import write_pprof
from tracekit.export.pprof_message import make_message_class

pytestmark = pytest.mark.integration


def decoded(analysis: Analysis) -> Any:
    return make_message_class("Profile").FromString(gzip.decompress(written(write_pprof, analysis)))


def samples(profile: Any) -> list[tuple[list[str], list[int], dict[str, str]]]:
    texts = profile.string_table
    functions = {function.id: texts[function.name] for function in profile.function}
    lines = {
        location.id: [functions[line.function_id] for line in location.line] for location in profile.location
    }
    return [
        (
            [name for location_id in sample.location_id for name in lines[location_id]],
            list(sample.value),
            {texts[label.key]: texts[label.str] for label in sample.label},
        )
        for sample in profile.sample
    ]


def test_leaf_first_with_labels_and_both_values() -> None:
    profile = decoded(two_windows())
    thread = {"process": "App7 (7)", "thread": "main (0x1)"}
    launch = "Espresso::BNNSEngine::convolution_kernel::__launch"
    call = ["-[MLModel predictionFromFeatures:error:]", "main"]
    ane = [
        "H11ANEProgramProcessRequestDirect",
        "Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        *call,
    ]
    window = {"window": "range 1 (a)"}
    assert samples(profile) == [
        (["-[NSView drawRect:]", "main"], [1, MS], {**thread, "engine": "OTHER"}),
        (ane, [1, MS], {**thread, "engine": "ANE", "phase": "dispatch", **window}),
        (["semaphore_wait_trap", *ane], [1, 2 * MS], {**thread, "engine": "ANE", "phase": "wait", **window}),
        (
            ["BNNSFilterApply", launch, *call],
            [1, 3 * MS],
            {**thread, "engine": "CPU", "phase": "execute", "window": "range 2 (b)"},
        ),
        (
            ["[no stack]"],
            [1, 5 * MS],
            {"process": "App7 (7)", "thread": "worker (0x2)", "engine": "UNKNOWN", "window": "range 2 (b)"},
        ),
    ]
    texts = profile.string_table
    kinds = [(texts[kind.type], texts[kind.unit]) for kind in profile.sample_type]
    assert kinds == [("samples", "count"), ("time", "nanoseconds")]
    assert texts[profile.default_sample_type] == "time"


def test_what_is_inlined_at_one_address_is_one_location() -> None:
    trace = trace_of([(0.0, "main", ("App | inner", "App | outer", "App | caller", "App | main"))])
    frames = trace.stacks.frames.assign(
        address=np.array([16, 16, 32, 48], np.uint64),
        inlined=[True, False, True, False],
        source_line=np.array([5, 6, -1, 8], np.int32),
    )
    frames = frames.assign(source_file=frames["source_file"].astype("str").where(frames.index != 0, "a.c"))
    profile = decoded(analyze(replace(trace, stacks=replace(trace.stacks, frames=frames)), windows="stacks"))
    names = {function.id: profile.string_table[function.name] for function in profile.function}
    locations = [
        (location.address, [(names[line.function_id], line.line) for line in location.line])
        for location in profile.location
    ]
    assert locations == [(16, [("inner", 5), ("outer", 6)]), (32, [("caller", 0)]), (48, [("main", 8)])]
    (mapping,) = profile.mapping
    assert (mapping.has_inline_frames, mapping.has_filenames) == (True, True)
    assert samples(profile)[0][0] == ["inner", "outer", "caller", "main"]


def test_recursion_at_one_address_stays_as_deep_as_it_is() -> None:
    profile = decoded(
        analyze(trace_of([(0.0, "main", ("App | f", "App | f", "App | main"))]), windows="stacks")
    )
    assert [names for names, _, _ in samples(profile)] == [["f", "f", "main"]]
    assert len(profile.sample[0].location_id) == 3


def test_binaries_are_mappings_with_build_ids_and_the_program_is_the_first() -> None:
    analysis = sample_analysis("fallback-midway-ios27")
    profile, stacks = decoded(analysis), analysis.trace.stacks
    texts = profile.string_table
    mappings = {
        texts[mapping.filename]: (texts[mapping.build_id], mapping.memory_start)
        for mapping in profile.mapping
    }
    rows = stacks.binaries.to_dict("records")
    assert mappings == {row["path"]: (row["uuid"], row["load_address"]) for row in rows}
    assert texts[profile.mapping[0].filename].endswith("/SampleApp")
    owner = {mapping.id: texts[mapping.filename] for mapping in profile.mapping}
    names = {function.id: texts[function.name] for function in profile.function}
    expected = set(
        zip(
            stacks.symbols, (rows[binary_id]["path"] for binary_id in stacks.frames["binary_id"]), strict=True
        )
    )
    assert {
        (names[location.line[0].function_id], owner[location.mapping_id])
        for location in profile.location
        if location.mapping_id
    } <= expected


@pytest.mark.parametrize("name", [*RECORDINGS, *AWKWARD])
def test_no_sample_and_no_weight_is_lost(name: str) -> None:
    analysis = awkward()[name] if name in AWKWARD else sample_analysis(name)
    written_samples = samples(decoded(analysis))
    assert sum(value[0] for _, value, _ in written_samples) == len(analysis.trace.samples)
    assert sum(value[1] for _, value, _ in written_samples) == analysis.trace.weights.sum()


def test_the_same_trace_gives_the_same_bytes() -> None:
    assert written(write_pprof, two_windows()) == written(write_pprof, two_windows())


@pytest.mark.integration
@pytest.mark.parametrize("name", [*RECORDINGS, *(name for name in AWKWARD if name != "nothing")])
def test_go_tool_pprof_counts_engines_as_we_do(name: str, tmp_path: Path) -> None:
    go = program("go")
    analysis = awkward()[name] if name in AWKWARD else sample_analysis(name)
    file = tmp_path / "x.pb.gz"
    file.write_bytes(written(write_pprof, analysis))
    place = {"HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path), "GOFLAGS": "-mod=mod"}
    unit = ["-unit=ns"] if analysis.trace.weight_unit == "ns" else []
    tags = output_of([go, "tool", "pprof", "-tags", *unit, file], **place).decode()
    counted = re.search(r"^ *engine: Total [^\n]*\n(.*?)\n *\n", tags, re.DOTALL | re.MULTILINE)
    assert counted
    shares = dict(re.findall(r"\( *([\d.]+)%\): (\w+)", counted[1]))
    totals = analysis.totals.groupby("engine", observed=True)["weight"].sum()
    whole = int(analysis.trace.weights.sum())
    assert {engine: float(share) for share, engine in shares.items()} or whole == 0
    for engine, weight in totals[totals > 0].items():
        line = re.search(rf"\( *([\d.]+)%\): {engine}$", counted[1], re.MULTILINE)
        assert line
        assert float(line[1]) == pytest.approx(100 * weight / whole, abs=0.01)
    top = output_of([go, "tool", "pprof", "-top", "-nodecount=3", file], **place).decode()
    assert "flat%" in top
