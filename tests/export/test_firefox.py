"""The Firefox Profiler's format: literal tables, references that resolve, and profiler-cli where it is installed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evidence_support import ane, with_evidence
from export_support import (
    AWKWARD,
    RECORDINGS,
    as_json,
    awkward,
    npm_package,
    output_of,
    program,
    two_windows,
    window,
    with_tracks,
    written,
)
from fake_xctrace_support import until
from random_samples import random_analysis
from sample_recordings import sample_analysis
from trace_support import ANE, trace_of

from tracekit import Analysis, analyze
from tracekit.export import firefox
from tracekit.export.firefox import write_firefox
from tracekit.model.vocabulary import ENGINES, PHASES

pytestmark = pytest.mark.integration


def exported(analysis: Analysis) -> Any:
    return as_json(written(write_firefox, analysis))


def category_of(document: Any, node: int) -> tuple[str, str]:
    """A stack's category and subcategory by the rule of the profiler: its own frame's, else its caller's."""
    shared = document["shared"]
    while node is not None:
        frame = shared["stackTable"]["frame"][node]
        if shared["frameTable"]["category"][frame] is not None:
            category = document["meta"]["categories"][shared["frameTable"]["category"][frame]]
            return category["name"], category["subcategories"][shared["frameTable"]["subcategory"][frame]]
        node = shared["stackTable"]["prefix"][node]
    return "OTHER", "Other"


def names_of(document: Any, node: int) -> list[str]:
    """A stack's functions, leaf first."""
    shared, names = document["shared"], []
    while node is not None:
        function = shared["frameTable"]["func"][shared["stackTable"]["frame"][node]]
        names.append(shared["stringArray"][shared["funcTable"]["name"][function]])
        node = shared["stackTable"]["prefix"][node]
    return names


def samples(document: Any) -> list[tuple[str, float, float, tuple[str, str], list[str]]]:
    return [
        (thread["name"], time, weight, category_of(document, node), names_of(document, node))
        for thread in document["threads"]
        for time, weight, node in zip(
            *(thread["samples"][key] for key in ("time", "weight", "stack")), strict=True
        )
    ]


def test_samples_have_engines_as_categories_and_phases_as_subcategories() -> None:
    call = ["-[MLModel predictionFromFeatures:error:]", "main"]
    launch = "Espresso::BNNSEngine::convolution_kernel::__launch"
    ane = [
        "H11ANEProgramProcessRequestDirect",
        "Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        *call,
    ]
    document = exported(two_windows())
    assert samples(document) == [
        ("main (0x1)", 0.0, 1.0, ("OTHER", "Other"), ["-[NSView drawRect:]", "main"]),
        ("main (0x1)", 10.0, 1.0, ("ANE", "dispatch"), ane),
        ("main (0x1)", 11.0, 2.0, ("ANE", "wait"), ["semaphore_wait_trap", *ane]),
        ("main (0x1)", 20.0, 3.0, ("CPU", "execute"), ["BNNSFilterApply", launch, *call]),
        ("worker (0x2)", 20.0, 5.0, ("UNKNOWN", "Other"), ["[no stack]"]),
    ]
    assert {thread["samples"]["weightType"] for thread in document["threads"]} == {"tracing-ms"}
    functions = document["shared"]["funcTable"]
    assert len(set(functions["name"])) == functions["length"]  # a deciding frame does not tear its function


def test_the_deciding_frame_and_what_it_calls_have_the_engine_and_its_callers_have_not() -> None:
    document = exported(two_windows())
    node = document["threads"][0]["samples"]["stack"][2]
    rows = []
    while node is not None:
        rows.append((names_of(document, node)[0], category_of(document, node)[0]))
        node = document["shared"]["stackTable"]["prefix"][node]
    assert rows == [
        ("semaphore_wait_trap", "ANE"),
        ("H11ANEProgramProcessRequestDirect", "ANE"),
        ("Espresso::ANERuntimeEngine::compiler::__forward_segment(int)", "OTHER"),
        ("-[MLModel predictionFromFeatures:error:]", "OTHER"),
        ("main", "OTHER"),
    ]


def markers(document: Any) -> list[tuple[str, str, float, float | None, dict[str, Any]]]:
    texts = document["shared"]["stringArray"]
    return [
        (thread["name"], texts[name], start, end, data)
        for thread in document["threads"]
        for name, start, end, data in zip(
            *(thread["markers"][key] for key in ("name", "startTime", "endTime", "data")), strict=True
        )
    ]


def test_windows_intervals_signposts_and_tracks_are_markers() -> None:
    trace = with_tracks(with_evidence(trace_of([(10.0, "main", ANE)]), [ane(10, 14)]), "power")
    windows = markers(exported(analyze(trace, windows=[window(10, 15, "a")])))
    assert [(thread, name, start, end, data["type"]) for thread, name, start, end, data in windows] == [
        ("main (0x1)", "power", 1.0, 3.0, "Signpost"),
        ("Ranges", "range 1 (a)", 10.0, 15.0, "InferenceWindow"),
        ("ANE, ane-hw-intervals, measured", "Net_main__Op0_AneInference", 10.0, 14.0, "EngineInterval"),
        ("power", "power", 0.0, 5.0, "TrackValue"),
    ]
    data = windows[1][4]
    assert (data["verdict"], data["basis"]) == ("ANE", "given")
    assert "ANE busy_ns 4000000" in data["engines"]


def test_a_windows_marker_stands_on_its_thread() -> None:
    document = exported(sample_analysis("ane-espresso-macos13"))
    threads = {thread for thread, _, _, _, data in markers(document) if data["type"] == "InferenceWindow"}
    assert threads <= {thread["name"] for thread in document["threads"] if thread["samples"]["length"]}


@pytest.mark.parametrize("name", [*RECORDINGS, *AWKWARD])
def test_no_sample_is_lost_and_every_reference_resolves(name: str) -> None:
    analysis = awkward()[name] if name in AWKWARD else sample_analysis(name)
    document = exported(analysis)
    written_samples = samples(document)
    factor = 1e6 if analysis.trace.weight_unit == "ns" else 1
    assert len(written_samples) == len(analysis.trace.samples)
    assert (
        sum(round(weight * factor) for _, _, weight, _, _ in written_samples) == analysis.trace.weights.sum()
    )
    counted = Counter(category for _, _, _, category, _ in written_samples)
    labels = analysis.labels
    assert counted == Counter(
        (str(ENGINES[engine]), str(PHASES[phase]) if phase >= 0 else "Other")
        for engine, phase in zip(labels.engine.tolist(), labels.phase.tolist(), strict=True)
    )
    check_tables(document)


def check_tables(document: Any) -> None:
    """Columns have the length of their table; indexes stay within the table that they point into."""
    shared = document["shared"]
    tables = {name: table for name, table in shared.items() if name != "stringArray"}
    tables |= {f"samples {index}": thread["samples"] for index, thread in enumerate(document["threads"])}
    tables |= {f"markers {index}": thread["markers"] for index, thread in enumerate(document["threads"])}
    for name, table in tables.items():
        for key, column in table.items():
            assert key in ("length", "weightType") or len(column) == table["length"], (name, key)
    lengths = {name: table["length"] for name, table in tables.items()} | {"libs": len(document["libs"])}
    lengths |= {"stringArray": len(shared["stringArray"]), "categories": len(ENGINES)}
    points = [
        ("stackTable", "frame", "frameTable"),
        ("stackTable", "prefix", "stackTable"),
        ("frameTable", "func", "funcTable"),
        ("frameTable", "category", "categories"),
        ("funcTable", "name", "stringArray"),
        ("funcTable", "resource", "resourceTable"),
        ("funcTable", "source", "sources"),
        ("resourceTable", "lib", "libs"),
        ("resourceTable", "name", "stringArray"),
        ("sources", "filename", "stringArray"),
        *((name, "name", "stringArray") for name in tables if name.startswith("markers")),
        *((name, "category", "categories") for name in tables if name.startswith("markers")),
        *((name, "stack", "stackTable") for name in tables if name.startswith("samples")),
    ]
    for table, key, into in points:
        assert all(index is None or -1 <= index < lengths[into] for index in tables[table][key]), (table, key)
    prefixes = shared["stackTable"]["prefix"]
    assert all(prefix is None or prefix < index for index, prefix in enumerate(prefixes))
    schemas = {schema["name"] for schema in document["meta"]["markerSchema"]}
    assert {data["type"] for thread in document["threads"] for data in thread["markers"]["data"]} <= schemas
    greys = [category["name"] for category in document["meta"]["categories"] if category["color"] == "grey"]
    assert greys == ["OTHER"]


def is_listening(address: Path) -> bool:
    """Return whether a process accepts connections at the address."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(address)) == 0


def is_loaded(cli: Callable[..., str]) -> bool:
    """Return whether the daemon has read the profile."""
    try:
        return "This profile contains" in cli("profile", "info")
    except AssertionError:
        return False


@pytest.mark.consumers
@pytest.mark.parametrize(
    "name", ["fallback-midway-ios27", "gpu-mpsgraph-macos15", "cpu-profile-ane-macos26", "hostile"]
)
def test_the_profilers_own_code_loads_it(name: str, tmp_path: Path) -> None:
    script = npm_package("@firefox-devtools/profiler-cli") / "dist/profiler-cli.js"
    analysis = awkward()[name] if name in AWKWARD else sample_analysis(name)
    file = tmp_path / "x.profile.json"
    file.write_bytes(written(write_firefox, analysis))

    command = [program("node"), str(script)]
    environment = {"PROFILER_CLI_SESSION_DIR": str(tmp_path)}
    document = as_json(file.read_bytes())

    def cli(*arguments: str) -> str:
        return output_of([*command, *arguments, "--session", "x"], **environment).decode()

    # "load" starts this daemon, too, and gives it up after half a second, which is too short on a busy machine.
    daemon = subprocess.Popen(
        [*command, "--daemon", file, "--session", "x"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    try:
        until(
            lambda: is_listening(tmp_path / "x.sock")
        )  # a client that connects earlier deletes the daemon's files
        until(lambda: is_loaded(cli))
        assert f"This profile contains {len(document['threads'])} threads" in cli("profile", "info")
        for thread_index, thread in enumerate(document["threads"]):
            if not thread["samples"]["length"]:
                continue
            listing = cli("thread", "samples", "--include-idle", "--thread", f"t-{thread_index}")
            weights: Counter[str] = Counter()
            for _, _, weight, category, _ in samples({**document, "threads": [thread]}):
                weights[category[0]] += round(weight * 1000)
            shares = dict(re.findall(r"^  ([A-Z]+) +[█▏▎▍▌▋▊▉ ]*([\d,.]+) +[\d.]+%$", listing, re.MULTILINE))
            assert {
                engine: round(float(n.replace(",", "")) * 1000) for engine, n in shares.items()
            } == +weights
        if name == "fallback-midway-ios27":
            thread_index = next(
                index
                for index, t in enumerate(document["threads"])
                if t["name"] == "ANE, ane-hw-intervals, measured"
            )
            assert "11" in cli("thread", "markers", "--thread", f"t-{thread_index}")
    finally:
        daemon.terminate()
        daemon.wait(timeout=20)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_any_length_give_the_same_file(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = random_analysis(seed)
    whole = written(write_firefox, analysis)
    monkeypatch.setattr(firefox, "_BLOCK_SAMPLES", seed + 1)
    assert written(write_firefox, analysis) == whole
