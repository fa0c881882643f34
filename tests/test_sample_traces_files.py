"""The sample recordings as files: spelt as Instruments does, and agreeing with their truth.

The reader here is tiny and knows nothing of tracekit: it resolves ids, nothing more.
"""

import json
import plistlib
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sample_generator import __main__ as generator

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_traces"
RECORDINGS = sorted(path.parent for path in SAMPLES.glob("*/toc.xml"))
BUNDLES = sorted(path.parent for path in SAMPLES.glob("*/recording.trace"))
EXPORTS = [path for folder in RECORDINGS for path in sorted(folder.glob("*.xml")) if path.name != "toc.xml"]


def name_of(path):
    return str(path.relative_to(SAMPLES))


def read(path):
    """Return the schema's columns, the rows of all nodes with every ref resolved, and the ids in order."""
    by_id, order, dangling = {}, [], []

    def resolve(element):
        if (ref := element.get("ref")) is not None:
            if ref not in by_id or by_id[ref].tag != element.tag or len(element) or element.text:
                dangling.append(ref)
            return by_id.get(ref)
        if (number := element.get("id")) is not None:
            by_id[number] = element
            order.append(int(number))
        element[:] = [resolve(child) for child in element]
        return element

    root = ElementTree.parse(path).getroot()
    columns = [col.findtext("mnemonic") for col in root.iterfind("node/schema/col")]
    rows = [[resolve(cell) for cell in row] for row in root.iterfind("node/row")]
    return columns, rows, order, dangling


def frames_of(stack):
    """Return a stack as (symbol, binary, address), leaf first; two shapes have addresses only."""
    if stack.tag == "kperf-bt":
        pc = int(stack.findtext("text-address"))
        addresses = list(map(int, stack.findtext("text-addresses").split()))
        callers = addresses[1:] if addresses[0] == pc else addresses[:-1]
        return tuple((None, None, address) for address in (pc, *callers))
    if stack.find("text-addresses") is not None:
        texts = " ".join(fragment.text for fragment in stack.iterfind("text-addresses"))
        return tuple((None, None, int(address)) for address in texts.split())
    inner = stack.find("backtrace")
    return tuple(
        (
            frame.get("name"),
            getattr(frame.find("binary"), "attrib", {}).get("path"),
            int(frame.get("addr"), 16),
        )
        for frame in (stack if inner is None else inner).iterfind("frame")
    )


def shape_of(stack):
    if stack.tag == "tagged-backtrace":
        return "C" if stack.find("backtrace") is not None else "D"
    if stack.tag == "backtrace":
        return "A" if stack.find("text-addresses") is not None else "B"
    return {"kperf-bt": "E", "text-backtrace": "F"}.get(stack.tag)


def truth_of(folder):
    return json.loads((folder / "truth.json").read_text(encoding="utf-8"))


def stacks_of(columns, rows):
    column = columns.index("cp-user-callstack" if "cp-user-callstack" in columns else "stack")
    return [row[column] for row in rows if row[column].tag != "sentinel"]


def count(engines):
    return sum(number for phases in engines.values() for number in phases.values())


@pytest.mark.integration
def test_the_generator_writes_what_is_here():
    command = [sys.executable, "-m", "sample_generator", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.integration
def test_changed_files_and_files_left_over_are_noticed(tmp_path, monkeypatch, capsys):
    names = {RECORDINGS[0].name, BUNDLES[0].name}
    scenarios = {name: play for name, play in generator.RECORDINGS.items() if name in names}
    monkeypatch.setattr(generator, "RECORDINGS", scenarios)
    assert generator.main([str(tmp_path)]) == 0
    assert generator.main([str(tmp_path), "--check"]) == 0
    (tmp_path / RECORDINGS[0].name / "toc.xml").write_text("changed", encoding="utf-8")
    bundle = tmp_path / BUNDLES[0].name / "recording.trace"
    (bundle / "symbols" / "left-over").write_bytes(b"")
    (bundle / "Trace1.run" / "RunIssues.storedata").write_bytes(b"no database")
    capsys.readouterr()
    assert generator.main([str(tmp_path), "--check"]) == 1
    messages = capsys.readouterr().err
    for name in ("toc.xml", "left-over", "RunIssues.storedata"):
        assert name in messages


def test_the_generator_does_not_import_the_analysis():
    for module in SAMPLES.glob("*.py"):
        assert not re.search(r"^\s*(import|from) tracekit", module.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_samples_stay_small():
    assert sum(path.stat().st_size for folder in RECORDINGS for path in folder.iterdir()) < 4_800_000
    for bundle in BUNDLES:
        assert sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) < 150_000


@pytest.mark.integration
@pytest.mark.parametrize("export", EXPORTS, ids=name_of)
def test_ids_are_dense_and_refs_resolve(export):
    columns, rows, order, dangling = read(export)
    assert order == list(range(1, len(order) + 1))
    assert not dangling
    assert all(len(row) == len(columns) for row in rows)


@pytest.mark.parametrize("export", EXPORTS, ids=name_of)
def test_a_row_is_a_line_and_its_table_is_in_the_contents(export):
    text = export.read_text(encoding="utf-8")
    assert text.startswith('<?xml version="1.0"?>\n<trace-query-result>\n')
    assert len(re.findall(r"</row>$", text, re.MULTILINE)) == text.count("<row>")
    tables = ElementTree.parse(export.parent / "toc.xml").getroot().findall("run/data/table")
    for index in re.findall(r"<node xpath='//trace-toc\[1\]/run\[1\]/data\[1\]/table\[(\d+)\]'>", text):
        assert tables[int(index) - 1].get("schema") == export.stem


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_the_sampling_table_agrees_with_the_truth(folder):
    truth = truth_of(folder)
    columns, rows, _, _ = read(folder / f"{truth['table']}.xml")
    stacks = stacks_of(columns, rows)
    assert len(rows) == truth["samples"]
    assert len(rows) - len(stacks) == truth["null_stacks"]
    assert len({frames_of(stack) for stack in stacks}) == truth["unique_stacks"]
    if "weight" in columns:
        assert sum(int(row[columns.index("weight")].text) for row in rows) == truth["weight"]
    else:
        assert truth["weight"] is None
    if "counters" in truth:
        values = [map(int, row[columns.index("counters-array")].text.split()) for row in rows]
        assert list(map(sum, zip(*values, strict=True))) == list(truth["counters"].values())


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_engines_and_phases_add_up(folder):
    truth = truth_of(folder)
    for quantity in ("samples", "weight"):
        if truth[quantity] is None:
            continue
        engines = truth["engines"].values()
        assert sum(engine[quantity] for engine in engines) == truth[quantity]
        for engine in engines:
            assert sum(phase[quantity] for phase in engine["phases"].values()) == engine[quantity]


@pytest.mark.integration
@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_inferences_hold_the_samples_of_their_time(folder):
    truth = truth_of(folder)
    columns, rows, _, _ = read(folder / f"{truth['table']}.xml")
    times = [int(row[columns.index("time")].text) for row in rows]
    assert times == sorted(times)
    for inference in truth["inferences"]:
        inside = sum(inference["start_ns"] <= time < inference["end_ns"] for time in times)
        assert count(inference["all_threads"]) == inside
        assert 0 < count(inference["engines"]) <= inside


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_stack_windows_cover_the_inferences(folder):
    """One window per inference where stacks part them, one in all where not, none without symbols."""
    truth = truth_of(folder)
    numbers = list(range(len(truth["inferences"])))
    covered = [window["inference_indexes"] for window in truth["stack_windows"]]
    if set(truth["engines"]) == {"UNKNOWN"}:
        assert covered == []
    elif folder.name.startswith("back-to-back"):
        assert covered == [numbers]
    else:
        assert sorted(covered) == [[number] for number in numbers]
        for window in truth["stack_windows"]:
            inference = truth["inferences"][window["inference_indexes"][0]]
            assert inference["start_ns"] <= window["start_ns"] < window["end_ns"]
            if not folder.name.startswith(("concurrent", "coreai-and")):
                assert window["engines"] == inference["engines"]


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_the_leaf_is_the_pc_plus_one(folder):
    columns, rows, _, _ = read(folder / f"{truth_of(folder)['table']}.xml")
    bias = 0 if "cp-user-callstack" in columns else 1
    assert {frames_of(stack)[0][2] % 4 for stack in stacks_of(columns, rows)} == {bias}


@pytest.mark.integration
def test_every_backtrace_shape_occurs():
    shapes = {shape_of(cell) for export in EXPORTS for row in read(export)[1] for cell in row}
    assert shapes >= set("ABCDEF")


def test_oddities_of_real_exports_occur():
    texts = {export: export.read_text(encoding="utf-8") for export in EXPORTS}
    everything = "".join(texts.values())
    assert 'inlined="true"' in everything
    assert "<source line=" in everything
    assert re.search(r'<frame id="\d+" name="0x[0-9a-f]+" addr="0x[0-9a-f]+"/>', everything)
    assert 'fmt="40.00 ms"' in everything
    assert any(text.count("<node ") > text.count("<schema ") == 1 for text in texts.values())
    assert any("<schema " in text and "<row>" not in text for text in texts.values())
    assert any(len(text) == 65 for text in texts.values())


@pytest.mark.parametrize("folder", RECORDINGS, ids=name_of)
def test_the_contents_are_marked_as_synthetic(folder):
    run = ElementTree.parse(folder / "toc.xml").getroot().find("run")
    assert run.find("info/target/device").get("name").startswith("Synthetic ")
    assert run.find("info/target/process").get("arguments") == f"--synthetic {folder.name}"
    assert "Synthetic" in run.findtext(".//intruments-recording-settings//value")
    assert len(run.findall("data/table")) > len(list(folder.glob("*.xml")))


@pytest.mark.parametrize("folder", BUNDLES, ids=name_of)
def test_a_bundle_is_the_recording_of_its_export(folder):
    """It has the same samples, and no other table of its export."""
    export = SAMPLES / folder.name.removesuffix("-bundle")
    assert export in RECORDINGS
    native, exported = truth_of(folder), truth_of(export)
    assert exported == exported | native
    assert exported.keys() - native.keys() <= {"intervals", "measured", "load_ns", "tracks"}


@pytest.mark.parametrize("folder", BUNDLES, ids=name_of)
def test_a_bundle_is_marked_as_synthetic(folder):
    strings = plistlib.loads((folder / "recording.trace" / "form.template").read_bytes())["$objects"]
    assert {"Synthetic Mac", f"--synthetic {folder.name.removesuffix('-bundle')}"} <= {
        string for string in strings if isinstance(string, str)
    }
