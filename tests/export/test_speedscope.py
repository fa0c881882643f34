"""speedscope's JSON: literal files, its own schema, its own importer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from export_support import AWKWARD, RECORDINGS, as_json, awkward, node, npm_package, two_windows, written
from random_samples import random_analysis
from sample_recordings import sample_analysis
from trace_support import ANE, MS, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.export import speedscope
from tracekit.export.speedscope import write_speedscope

IMPORT = r"""
const fs = require('fs'), path = require('path'), vm = require('vm');
const [folder, ...files] = process.argv.slice(2);
const bundle = fs.readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
let code = fs.readFileSync(path.join(folder, bundle), 'utf8');
const importer = /Importing as speedscope json file"\),([\w$]+)\(/.exec(code)[1];
const stub = new Proxy(function () {}, { get: (_, key) => (key === Symbol.toPrimitive ? () => '' : stub),
  apply: () => stub, construct: () => stub, set: () => true });
for (const name of ['document', 'window', 'location', 'localStorage']) globalThis[name] = stub;
globalThis.requestAnimationFrame = () => {};
console.log = () => {};
const inside = code.indexOf('{') + 1;
code = `${code.slice(0, inside)}globalThis.importer = (...given) => ${importer}(...given);${code.slice(inside)}`;
try { vm.runInThisContext(code); } catch { /* it wants a page to draw on, after all else is there */ }
const read = (file) => {
  const group = globalThis.importer(JSON.parse(fs.readFileSync(file, 'utf8')));
  const profiles = group.profiles.map((profile) => ({
    name: profile.getName(), unit: profile.getWeightUnit(), weight: profile.getTotalNonIdleWeight(),
    length: profile.getTotalWeight(),
    roots: Object.fromEntries(profile.getGroupedCalltreeRoot().children.map((c) => [c.frame.name, c.getTotalWeight()])),
  }));
  return { shown: group.indexToView, profiles };
};
fs.writeSync(1, JSON.stringify(files.map(read)));
"""
"""The importer is not exported by the package: it is cut out of the bundle by the words that it logs."""


def exported(analysis: Analysis, **options: Any) -> Any:
    return as_json(written(write_speedscope, analysis, **options))


def stacks(document: Any, profile: int) -> list[tuple[list[str], int]]:
    names = [frame["name"] for frame in document["shared"]["frames"]]
    samples_of = document["profiles"][profile]
    return [
        ([names[frame] for frame in sample], weight)
        for sample, weight in zip(samples_of["samples"], samples_of["weights"], strict=True)
    ]


def weight(document: Any) -> int:
    return sum(w for p in document["profiles"] for s, w in zip(p["samples"], p["weights"], strict=True) if s)


def test_one_profile_per_thread_in_order_of_time_with_holes_left_free() -> None:
    document = exported(two_windows())
    call = ["App`main", "CoreML`-[MLModel predictionFromFeatures:error:]"]
    ane = [
        *("[range 1 (a)]", "[ANE]"),
        *call,
        "Espresso`Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        "ANEServices`H11ANEProgramProcessRequestDirect",
    ]
    bnns = ["Espresso`Espresso::BNNSEngine::convolution_kernel::__launch", "libBNNS.dylib`BNNSFilterApply"]
    assert [(p["name"], p["unit"]) for p in document["profiles"]] == [
        ("App7 (7) › main (0x1)", "nanoseconds"),
        ("App7 (7) › worker (0x2)", "nanoseconds"),
    ]
    assert stacks(document, 0) == [
        (["[no range]", "[OTHER]", "App`main", "AppKit`-[NSView drawRect:]"], MS),
        ([], 9 * MS),
        ([*ane[:2], "[dispatch]", *ane[2:]], MS),
        ([*ane[:2], "[wait]", *ane[2:], "libsystem_kernel.dylib`semaphore_wait_trap"], 2 * MS),
        ([], 7 * MS),
        (["[range 2 (b)]", "[CPU]", "[execute]", *call, *bnns], 3 * MS),
    ]
    assert stacks(document, 1) == [(["[range 2 (b)]", "[UNKNOWN]", "[no stack]"], 5 * MS)]
    assert (document["profiles"][0]["startValue"], document["profiles"][0]["endValue"]) == (0, 23 * MS)
    assert document["activeProfileIndex"] == 0


def test_samples_that_come_a_little_late_leave_no_hole_until_half_a_weight_is_missing() -> None:
    samples = [(index * 1.1, "main", UI) for index in range(4)] + [(14.4, "main", UI)]
    written_stacks = stacks(exported(analyze(trace_of(samples), windows="stacks"), root=()), 0)
    assert [weight for _, weight in written_stacks] == [MS] * 4 + [10_400_000, MS]
    assert written_stacks[4][0] == []


def test_early_samples_never_make_time_run_backwards() -> None:
    early = [(20 + index / 10, "main", UI) for index in range(10)]
    samples = [(0.0, "main", UI), *early, (22.5, "main", UI), (60.0, "main", UI)]
    written_stacks = stacks(exported(analyze(trace_of(samples), windows="stacks"), root=()), 0)
    assert [weight for names, weight in written_stacks if not names] == [19 * MS, 29 * MS]


def test_a_function_is_one_frame_whatever_its_addresses() -> None:
    analysis = sample_analysis("gpu-mpsgraph-macos15")
    frames = exported(analysis)["shared"]["frames"]
    named = [(frame["name"], frame.get("file")) for frame in frames]
    assert len(named) == len(set(named))
    assert len(named) < len(analysis.trace.stacks.frames)


def test_cycles_have_no_time_axis() -> None:
    document = exported(analyze(trace_of([(0.0, "main", ANE, 5), (9.0, "main", ANE, 6)], "cycles")))
    (profile,) = document["profiles"]
    assert (profile["unit"], profile["weights"], profile["name"]) == (
        "none",
        [5, 6],
        "App7 (7) › main (0x1), cycles",
    )


@pytest.mark.parametrize("name", RECORDINGS)
def test_no_weight_is_lost(name: str) -> None:
    analysis = sample_analysis(name)
    assert weight(exported(analysis)) == analysis.trace.weights.sum()


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_traces_give_valid_files(name: str) -> None:
    analysis = awkward()[name]
    assert weight(exported(analysis)) == analysis.trace.weights.sum()


@pytest.mark.consumers
@pytest.mark.parametrize("name", [*RECORDINGS, *AWKWARD])
def test_files_fit_the_schema_of_speedscope(name: str) -> None:
    schema = json.loads((npm_package("speedscope") / "dist/release/file-format-schema.json").read_text())
    document = exported(awkward()[name] if name in AWKWARD else sample_analysis(name))
    jsonschema.Draft7Validator(schema).validate(document)


@pytest.mark.consumers
def test_speedscope_imports_every_weight(tmp_path: Path) -> None:
    """One process imports all files: speedscope's bundle takes longer to load than any file."""
    folder = npm_package("speedscope") / "dist/release"
    analyses = {**{name: sample_analysis(name) for name in RECORDINGS}, **awkward()}
    files = [tmp_path / f"{number}.json" for number in range(len(analyses))]
    for file, analysis in zip(files, analyses.values(), strict=True):
        file.write_bytes(written(write_speedscope, analysis, root=("engine",)))
    imports = as_json(node(tmp_path, IMPORT, folder, *files))
    for (name, analysis), imported in zip(analyses.items(), imports, strict=True):
        profiles = imported["profiles"]
        for engine, weight_ in analysis.totals.groupby("engine", observed=True)["weight"].sum().items():
            assert sum(profile["roots"].get(f"[{engine}]", 0) for profile in profiles) == nearly(weight_), (
                name
            )
        assert sum(profile["weight"] for profile in profiles) == nearly(analysis.trace.weights.sum()), name


def nearly(weight: int) -> Any:
    """JavaScript's numbers are exact up to 2^53."""
    return pytest.approx(weight, rel=1e-14 if weight > 2**53 else 0, abs=0)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_any_length_give_the_same_file(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = random_analysis(seed)
    whole = written(write_speedscope, analysis)
    monkeypatch.setattr(speedscope, "_BLOCK_SAMPLES", seed + 1)
    assert written(write_speedscope, analysis) == whole
    threads = analysis.trace.samples["thread_id"]
    for thread, profile in zip(sorted(set(threads)), as_json(whole)["profiles"], strict=True):
        rows = (threads == thread).to_numpy()
        times, weights = (
            analysis.trace.samples["time_ns"][rows].tolist(),
            analysis.trace.weights[rows].tolist(),
        )
        expected = with_free_time(times, weights) if analysis.trace.weight_unit == "ns" else weights
        assert profile["weights"] == expected
        assert profile["endValue"] - profile["startValue"] == sum(expected)


def with_free_time(times: list[int], weights: list[int]) -> list[int]:
    """The weights of a thread's samples, with the time before each that is free, one by one."""
    amounts, end, before, free = [], times[0], 0, 0
    for time, weight in zip(times, weights, strict=True):
        behind = max(free, time - times[0] - before)
        if 2 * (time - end) >= max(weight, 1) and behind > free:
            amounts.append(behind - free)
            free = behind
        amounts.append(weight)
        before += weight
        end = time + weight
    return amounts
