"""The tables of evidence in the sample recordings agree with their truth, read without tracekit."""

import re
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from test_sample_traces_files import EXPORTS, RECORDINGS, SAMPLES, name_of, read, truth_of

WITH_INTERVALS = [folder for folder in RECORDINGS if truth_of(folder).get("intervals")]
MEASURED = [folder for folder in RECORDINGS if "measured" in truth_of(folder)]
INTERVAL_TABLES = {
    "ane-hw-intervals",
    "ane-hw-intervals-internal",
    "coreml-os-signpost",
    "ODIEProfile",
    "mps-hw-intervals",
    "metal-gpu-intervals",
    "ModelLoadingTable",
    "ModelInferenceTable",
    "RequestTable",
}
WRITTEN_BY_USERS = {
    "prompt",
    "response",
    "instruction",
    "instructions",
    "content",
    "first-prompt",
    "plot-label",
    "error-message",
}
PERIOD_NS = 1_000_000


def rows_of(path):
    """Return the rows as dicts from mnemonic to element; None for a null."""
    columns, rows, _, _ = read(path)
    cells = [[None if cell.tag == "sentinel" else cell for cell in row] for row in rows]
    return [dict(zip(columns, row, strict=True)) for row in cells]


def number(cell):
    return int(cell.text)


def span_of(row):
    return number(row["start"]), number(row["start"]) + number(row["duration"])


def depth_of(row):
    """Return how deep a row lies; all of Core AI's levels below the outermost count as one."""
    return (
        min(number(row["level"]), 1)
        if "level" in row
        else number(row.get("event-depth"))
        if row.get("event-depth") is not None
        else 0
    )


def tid_of(thread):
    return number(thread.find("tid"))


def pid_of(folder):
    """Return the recorded process."""
    root = ElementTree.parse(folder / "toc.xml").getroot()
    return int(root.find("run/info/target/process").get("pid"))


def covered(spans, start, end):
    """Count the nanoseconds of [start, end) that lie in any span, piece by piece between all edges."""
    spans = [(max(a, start), min(b, end)) for a, b in spans if a < end and b > start]
    edges = sorted({edge for span in spans for edge in span})
    pieces = pairwise(edges)
    return sum(b - a for a, b in pieces if any(start <= a and b <= end for start, end in spans))


def intervals_of(folder, **fields):
    """Return the truth's intervals with these values."""
    rows = truth_of(folder)["intervals"]
    return [row for row in rows if all(row[key] == value for key, value in fields.items())]


def spans(rows):
    return [(row["start_ns"], row["end_ns"]) for row in rows]


# Intervals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_every_interval_of_the_truth_is_a_row_and_every_row_an_interval(folder):
    paths = [path for path in folder.glob("*.xml") if path.stem in INTERVAL_TABLES]
    exported = [path for path in paths if path.stat().st_size > 65]
    assert ("intervals" in truth_of(folder)) == bool(exported)
    kinds = Counter((path.stem, *span_of(row), depth_of(row)) for path in exported for row in rows_of(path))
    stated = truth_of(folder).get("intervals", [])
    assert (
        Counter(
            (interval["source"], *span, interval["depth"])
            for interval, span in zip(stated, spans(stated), strict=True)
        )
        == kinds
    )


@pytest.mark.parametrize("folder", WITH_INTERVALS, ids=name_of)
def test_labels_name_model_and_phase(folder):
    words = {
        "execute": r"(AneInference|Neural Engine)( Prediction)?|ANE_region_0_\d+( Prediction)?",
        "load": "Load",
        "compile": "Compile",
    }
    tables = [path for path in folder.glob("ane-hw-intervals*.xml") if path.stat().st_size > 65]
    labels = {span_of(row): row["event-label"].get("fmt") for path in tables for row in rows_of(path)}
    stated = [row for row in intervals_of(folder, engine="ANE") if row["source"].startswith("ane-")]
    twins = spans(intervals_of(folder, engine="ANE", source="mps-hw-intervals"))
    for row, span in zip(stated, spans(stated), strict=True):
        assert (row["pid"] == -1) == ("log" not in truth_of(folder) and span not in twins)
        kinds = r"main__Op\d|[0-9a-f]{16} |[0-9A-F-]{36}_main_ANE_region"
        assert (
            "_ANE_region" in labels[span]
            if not row["model"]
            else re.match(rf"{row['model']}_({kinds})", labels[span])
        )
        assert re.search(rf"({words[row['phase']]})$", labels[span])


def test_a_row_may_be_there_twice():
    rows = spans(intervals_of(SAMPLES / "fallback-midway-ios27", engine="ANE", phase="load"))
    assert len(rows) == 2
    assert len(set(rows)) == 1


def test_core_ml_counts_the_copies_of_a_model():
    for name in ("fallback-midway-ios27", "concurrent-models-ios27"):
        models = {sample["label"] for sample in truth_of(SAMPLES / name)["inferences"]}
        rows = rows_of(SAMPLES / name / "coreml-os-signpost.xml")
        assert {row["model-name"].text for row in rows} == {f"{model}-1" for model in models}
        calls = Counter(span_of(row) for row in rows if row["event-label"].text == "Prediction")
        assert calls == Counter(spans(truth_of(SAMPLES / name)["inferences"]))


def test_each_copy_of_a_model_stays_on_its_engine():
    folder = SAMPLES / "two-copies-ios27"
    rows = rows_of(folder / "coreml-os-signpost.xml")
    calls = {span_of(row): row["model-name"].text for row in rows if row["event-label"].text == "Prediction"}
    inferences = truth_of(folder)["inferences"]
    assert calls == {span: call["copy"] for span, call in zip(spans(inferences), inferences, strict=True)}
    engines = {(call["copy"], call["engine"]) for call in inferences}
    assert engines == {("Captioner-1", "ANE"), ("Captioner-2", "CPU")}


def test_another_process_has_the_same_model_on_the_ane():
    folder = SAMPLES / "same-name-two-processes-macos27"
    truth = truth_of(folder)
    rows = intervals_of(folder, engine="ANE")
    labels = {row["event-label"].get("fmt") for row in rows_of(folder / "ane-hw-intervals.xml")}
    assert len(labels) == 1
    assert {(row["model"], row["by_app"]) for row in rows} == {("NoiseFilter", False)}
    assert {(call["label"], call["engine"]) for call in truth["inferences"]} == {("NoiseFilter", "CPU")}
    calls = spans(truth["inferences"])
    shared = [covered(calls, start, end) / (end - start) for start, end in spans(rows)]
    assert min(shared) == 0 < max(shared) == 1
    assert any(0 < share < 1 for share in shared)


def test_work_of_a_call_ends_inside_the_next_one_which_ran_elsewhere():
    folder = SAMPLES / "spill-into-next-call-macos27"
    calls, rows = truth_of(folder)["inferences"], intervals_of(folder, engine="ANE")
    assert [call["engine"] for call in sorted(calls, key=lambda call: call["start_ns"])] == 5 * ["ANE", "CPU"]
    for row in rows:
        own, following = calls[row["inference"]], calls[row["inference"] + 1]
        assert (own["engine"], following["engine"]) == ("ANE", "CPU")
        assert own["start_ns"] < row["start_ns"] < own["end_ns"] < following["start_ns"]
        assert 99_000 < row["end_ns"] - following["start_ns"] <= 100_000


def test_three_models_are_on_three_engines_at_the_same_time():
    calls = truth_of(SAMPLES / "concurrent-engines-macos27")["inferences"]
    engines = {call["label"]: call["engine"] for call in calls}
    assert engines == {"Detector": "ANE", "SequenceTagger": "CPU", "Upscaler": "GPU"}
    at_once = [
        {other["engine"] for other in calls if other["start_ns"] <= call["start_ns"] < other["end_ns"]}
        for call in calls
    ]
    assert {"ANE", "CPU", "GPU"} in at_once


def test_command_buffers_separate_the_model_from_pictures():
    folder = SAMPLES / "gpu-mpsgraph-macos15"
    mps, metal = (rows_of(folder / f"{name}-intervals.xml") for name in ("mps-hw", "metal-gpu"))
    assert all(row["process"] is None for row in mps)
    named = {int(re.search(r"CommandBuffer: 0x(\w+)", row["event-label"].get("fmt"))[1], 16) for row in mps}
    stated = {
        span: row["engine"]
        for row in intervals_of(folder)
        for span in spans([row])
        if row["source"][:3] == "met"
    }
    kinds = Counter()
    for row in metal:
        of_model = number(row["cmdbuffer-id"]) in named
        assert stated[span_of(row)] == ("GPU" if of_model else "GRAPHICS")
        kinds[of_model, number(row["process"].find("pid")), row["channel-name"].text] += 1
    assert {(pid, kind) for model, pid, kind in kinds if model} == {(4711, "Compute")}
    assert {(pid, kind) for model, pid, kind in kinds if not model} >= {
        (4711, "Vertex"),
        (4711, "Fragment"),
        (181, "Compute"),
        (181, "Fragment"),
    }


def test_intervals_nest_and_overlap():
    folder = SAMPLES / "gpu-mpsgraph-macos15"
    outer = spans(intervals_of(folder, source="metal-gpu-intervals", depth=0))
    inner = spans(intervals_of(folder, source="metal-gpu-intervals", depth=1))
    assert inner
    assert all(any(a <= start and end <= b for a, b in outer) for start, end in inner)
    assert any(after < end for (_, end), (after, _) in pairwise(sorted(outer)))


# What belongs to an inference -----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", MEASURED, ids=name_of)
def test_busy_time_is_the_union_of_the_models_intervals(folder):
    truth, own_pids = truth_of(folder), {-1, pid_of(folder)}
    models = {inference["label"] for inference in truth["inferences"]}
    executed = intervals_of(folder, phase="execute", depth=0)
    # Where models differ, a row without a name is of the one whose rows never have one.
    several, by_name = len(models) > 1, {row["model"] for row in executed}
    for index, (inference, measured) in enumerate(zip(truth["inferences"], truth["measured"], strict=True)):
        inside = inference["start_ns"], inference["end_ns"]
        assert measured["busy_ns"].keys() == {row["engine"] for row in executed}
        for engine, busy_ns in measured["busy_ns"].items():
            rows = [
                row
                for row in executed
                if (row["engine"], row["pid"] in own_pids) == (engine, True)
                and row["model"] in ("", inference["label"])
                and row.get("by_app", True)
                and row.get("inference", index) == index
                and not (several and not row["model"] and inference["label"] in by_name)
            ]
            assert busy_ns == covered(spans(rows), *inside) <= inside[1] - inside[0]
        foreign = [
            row
            for row in executed
            if row["engine"] == "ANE" and (row["model"] or inference["label"]) not in models
        ]
        foreign += [row for row in executed if not row.get("by_app", True)]
        assert measured["foreign_ns"] == covered(spans(foreign), *inside)
        assert inference["engine"] in (*measured["handoffs"], "MIXED" if measured["handoffs"] else "UNKNOWN")
        assert (len(set(measured["handoffs"])) > 1) == (inference["engine"] == "MIXED")


@pytest.mark.parametrize("folder", WITH_INTERVALS, ids=name_of)
def test_loading_is_apart_from_predicting(folder):
    truth = truth_of(folder)
    rows = [row for row in truth["intervals"] if row["phase"] in {"load", "compile"}]
    assert truth["load_ns"] == covered(spans(rows), 0, 1 << 62)
    for inference in truth["inferences"]:
        assert covered(spans(rows), inference["start_ns"], inference["end_ns"]) == 0


def test_another_apps_model_is_on_the_ane_while_this_one_is_on_the_cpu():
    truth = truth_of(SAMPLES / "fallback-midway-ios27")
    foreign = [index for index, measured in enumerate(truth["measured"]) if measured["foreign_ns"]]
    assert [truth["inferences"][index]["engine"] for index in foreign] == ["CPU"]
    assert [truth["measured"][index]["busy_ns"]["ANE"] for index in foreign] == [0]


def test_predictions_of_two_models_overlap():
    rows = intervals_of(SAMPLES / "concurrent-models-ios27", engine="ANE")
    by_model = {
        name: spans(row for row in rows if row["model"] == name) for name in ("Detector", "SpeechEncoder")
    }
    assert any(a < d and c < b for a, b in by_model["Detector"] for c, d in by_model["SpeechEncoder"])


@pytest.mark.parametrize("folder", MEASURED, ids=name_of)
def test_an_engine_keeps_no_sampler_rhythm(folder):
    rows = [row for row in truth_of(folder)["intervals"] if row["phase"] and row["engine"] != "RUNTIME"]
    assert all((end - start) % PERIOD_NS for start, end in spans(rows))


@pytest.mark.integration
def test_a_worker_is_off_the_cpu_while_the_ane_is_at_work():
    # Core AI has no worker: the calling thread itself is off the CPU, as on Core ML's old path.
    sends = (b"AneInferenceOperation::ExecuteSync", b"ANERuntimeEngine::compiler::__forward_segment")
    for folder in (folder for folder in MEASURED if not re.search("mpsgraph|coreai", folder.name)):
        models = {inference["label"] for inference in truth_of(folder)["inferences"]}
        rows = intervals_of(folder, engine="ANE", phase="execute")
        stacks = {
            (number(row["time"]), tid_of(row["thread"])): ElementTree.tostring(row["stack"])
            for row in rows_of(folder / "time-profile.xml")
            if row["stack"] is not None
        }
        workers = {tid for (_, tid), stack in stacks.items() if any(mark in stack for mark in sends)}
        own = (row for row in rows if row["model"] in models and row.get("by_app", True))
        for start, end in spans(own):
            seen = {tid for time, tid in stacks if start <= time < end}
            assert workers - seen


# Signposts, threads, tracks, counters ---------------------------------------------------------------------


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_signposts_are_counted(folder):
    path = folder / "os-signpost.xml"
    stated = truth_of(folder).get("signposts")
    assert path.exists() == (stated is not None)
    if stated:
        kinds = Counter(row["event-type"].text for row in rows_of(path))
        assert kinds["Begin"] == stated["intervals"] + stated["unpaired"]
        assert (kinds["End"], kinds["Event"]) == (stated["intervals"], stated["events"])


def test_threads_run_where_they_are_seen_and_wait_otherwise():
    folder = SAMPLES / "ane-intervals-macos26"
    truth = truth_of(folder)
    states = {}
    for row in rows_of(folder / "thread-state.xml"):
        core = None if row["core"] is None else number(row["core"])
        assert (row["state"].text == "Running") == (core is not None)
        states.setdefault(tid_of(row["thread"]), []).append((*span_of(row), core))
    caller, worker = states
    for tid, rows in states.items():
        assert rows[0][0] == 0
        assert all(before[1] == after[0] for before, after in pairwise(rows))
        expected = truth["thread_states"][str(tid)]
        assert expected["Blocked"] == sum(end - start for start, end, core in rows if core is None)
        assert sum(expected.values()) == rows[-1][1]
    for row in rows_of(folder / "time-profile.xml"):
        time, tid, core = number(row["time"]), tid_of(row["thread"]), number(row["core"])
        assert tid not in states or core in {on for start, end, on in states[tid] if start <= time < end}
    blocked = {tid: [row[:2] for row in rows if row[2] is None] for tid, rows in states.items()}
    for inference, measured in zip(truth["inferences"], truth["measured"], strict=True):
        assert inference["thread"] == caller
        window = inference["start_ns"], inference["end_ns"]
        assert measured["waiting_ns"] == covered(blocked[caller], *window) > 0
    for start, end in spans(intervals_of(folder, engine="ANE", phase="execute")):
        assert any(since <= start and end <= until for since, until in blocked[worker])


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_tracks_hold_their_values_for_as_long_as_stated(folder):
    values = {"Nominal": "0", "Fair": "1", "Idle": "0", "Active": "1"}
    tables = {
        "Thermal state": ("device-thermal-state-intervals", "thermal-state"),
        "GPU active": ("metal-gpu-state-intervals", "state"),
    }
    counts = {}
    for name, (schema, column) in tables.items():
        if (folder / f"{schema}.xml").exists():
            counts[name] = Counter()
            for row in rows_of(folder / f"{schema}.xml"):
                counts[name][values[row[column].text]] += number(row["duration"])
    assert truth_of(folder).get("tracks", {}) == counts


def test_the_gpu_is_active_while_it_works():
    folder = SAMPLES / "gpu-mpsgraph-macos15"
    work = spans(intervals_of(folder, source="metal-gpu-intervals", depth=0))
    assert truth_of(folder)["tracks"]["GPU active"]["1"] == covered(work, 0, 1 << 62)


def test_counters_grow_by_what_the_samples_add():
    folder = SAMPLES / "counters-cumulative-macos26"
    stated = truth_of(folder)["counter_deltas"]
    last, sums, seen = {}, [0, 0], set()
    for row in rows_of(folder / "kdebug-counters-with-time-sample.xml"):
        if row["thread-state"].text == "Blocked":
            assert row["core"] is row["pmc-events"] is None
            continue
        core, values = number(row["core"]), list(map(int, row["pmc-events"].text.split()))
        seen.add((number(row["time"]), tid_of(row["thread"]), core))
        for place, (before, now) in enumerate(zip(last.get(core, values), values, strict=True)):
            assert before <= now
            sums[place] += now - before
        last[core] = values
    assert sums == [sum(engines.values()) for engines in stated.values()]
    assert list(stated) == ["FIXED_CYCLES", "FIXED_INSTRUCTIONS"]
    samples = rows_of(folder / "time-profile.xml")
    assert seen == {(number(row["time"]), tid_of(row["thread"]), number(row["core"])) for row in samples}


# Privacy --------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_prompts_stand_where_users_write_and_nowhere_else():
    holding = set()
    for path in EXPORTS:
        if b"SECRETPROMPT" not in path.read_bytes():
            continue
        for row in rows_of(path):
            cells = {name: ElementTree.tostring(cell) for name, cell in row.items() if cell is not None}
            holding |= {name for name, text in cells.items() if b"SECRETPROMPT" in text}
    assert holding == WRITTEN_BY_USERS
    for path in (*SAMPLES.glob("*/toc.xml"), *SAMPLES.glob("*/truth.json")):
        assert "SECRETPROMPT" not in path.read_text(encoding="utf-8")
