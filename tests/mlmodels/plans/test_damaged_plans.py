"""Plans that are damaged or hostile: a plan or a sentence, soon, and never a traceback."""

from __future__ import annotations

import json
import os
import plistlib
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from plan_support import ANALYTICS, problem_of, write
from test_read_core_ai_plans import OUTPUT, make_bundle, make_manifest
from test_read_core_ml_plans import LOG_ENTRY

from tracekit.errors import InputError
from tracekit.mlmodels.plans import read_plan
from tracekit.mlmodels.plans.plan_kinds import describe_plan
from tracekit.report.plans.document import build_plan
from tracekit.report.plans.json import to_json

pytestmark = pytest.mark.slow

OPERATION = {
    "op": "conv",
    "name": "a",
    "preferred": "ANE",
    "supported": ["CPU"],
    "weight": 0.5,
    "outputs": ["y"],
}
JSON_PLANS = {
    "own": {"schema": "tracekit-plan/1", "functions": {"main": [OPERATION, OPERATION]}},
    "coremltools": {"infos": [{"path": {"components": [{"programFunction": {"data": {"name": "f"}}}]}, "deviceUsage": {"preferred": {"cpu": {}}, "supported": [{"gpu": {}}]}, "estimatedCost": 1}]},
    "profiler": [{"operatorName": "conv", "preferred_device": "ANE", "supported_devices": "CPU", "cost": 1, "blocks": [{"operations": [{}]}]}],
    "cli": {"hardware": {}, "models": [{"model_name": "m", "results": [{"operations": [{"name": "a", "type": "b", "device": "ane", "cost_percent": 1, "detailed": {"validation_messages": {"ane": "x"}}}]}]}]},
    "costplan": {"total_cost": 1, "with_device": 1, "no_device": 0, "operations": [{"index": 1, "type": "conv", "cost": 1}]},
    "coreai": {"entries": [{"operation_id": 1, "devices": ["GPU"], "residency": "PLACED", "validation": ["x"]}], "device_histogram": {}, "operation_names": {"1": "coreai.cast"}, "operations_without_entry": [2]},
    "debug": [{"identifier": "odix", "operations": [{"sourceLocations": [{"fileName": "a.py", "line": 3}], "metadatas": [{"key": "op_id", "value": {"dictionary": {"_0": {"type": {"string": {"_0": "coreai"}}, "value": {"integer": {"_0": 4}}}}}}]}]}],
}  # fmt: skip
TABLE = 'DebugName, OpType, SelectedBackend, backend_0, est_time_0, invalid_0\na:1, conv, "ane", ane, 0.5,\n'
WHOLE: dict[str, bytes] = {
    **{name: json.dumps(document).encode() for name, document in JSON_PLANS.items()},
    "analytics": ANALYTICS.encode(),
    "log": LOG_ENTRY.format(kind="conv", index=1, output="c", device="ane", message='ane = "x";').encode(),
    "table": TABLE.encode(),
    "output": OUTPUT.encode(),
    "espresso": b"Unsupported op 3 (ios18.cast): int32\n[CostModelFeature],c,x,conv,gFlopCnt,1,Runtime,0.5\n",
    "xml": plistlib.dumps(make_manifest(binaries={})),
    "binary": plistlib.dumps(make_manifest(binaries={}), fmt=plistlib.FMT_BINARY),
}


def mutate(data: bytes, random: Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(random.choice((1, 2, 8))):
        position = random.randrange(len(mutated)) if mutated else 0
        match random.randrange(5):
            case 0:
                mutated[position : position + 1] = random.randbytes(1)
            case 1:
                mutated[position : position + random.randrange(20)] = b""
            case 2:
                mutated[position:position] = random.randbytes(random.randrange(20))
            case 3:
                other = random.randrange(len(mutated)) if mutated else 0
                mutated[position:position] = mutated[other : other + random.randrange(60)]
            case _:
                mutated = mutated[: position + 1]
    return bytes(mutated)


def mutate_value(value: object, random: Random) -> object:
    """Return a JSON value in which one part is of another type."""
    if random.random() < 0.2 or not isinstance(value, (dict, list)) or not value:
        return random.choice([None, True, -1, 1e308, 10**40, "x", "\x1b[31m", [], {}, [[]], {"_0": {}}])
    if isinstance(value, dict):
        key = random.choice(list(value))
        return {**value, key: mutate_value(value[key], random)}
    index = random.randrange(len(value))
    return [*value[:index], mutate_value(value[index], random), *value[index + 1 :]]


def read_or_refuse(path: Path) -> None:
    try:
        plan = read_plan(path)
    except InputError as error:
        assert error.problem.endswith(".")
    else:
        build_plan(plan)
        json.loads(to_json(plan))


@pytest.mark.parametrize("name", WHOLE)
def test_whole_files_are_read(tmp_path: Path, name: str) -> None:
    build_plan(read_plan(write(tmp_path, name, WHOLE[name])))


@pytest.mark.parametrize("name", WHOLE)
def test_any_damage_gives_a_plan_or_a_sentence(tmp_path: Path, name: str) -> None:
    random = Random(37)
    path = tmp_path / "damaged"
    for _ in range(300):
        path.write_bytes(mutate(WHOLE[name], random))
        read_or_refuse(path)


@pytest.mark.parametrize("name", JSON_PLANS)
def test_values_of_other_types_give_a_plan_or_a_sentence(tmp_path: Path, name: str) -> None:
    random = Random(37)
    path = tmp_path / "damaged.json"
    for _ in range(300):
        path.write_text(json.dumps(mutate_value(JSON_PLANS[name], random)))
        read_or_refuse(path)


def test_damaged_bundles_give_a_plan_or_a_sentence(tmp_path: Path) -> None:
    random = Random(37)
    root = make_bundle(tmp_path, b"ML\xefR\0main_x_0_ANE_region_0_0\0")
    files = [file for file in root.rglob("*") if file.is_file() and file.name != "main-this.odix"]
    wholes = [file.read_bytes() for file in files]
    for _ in range(300):
        for file, whole in zip(files, wholes, strict=True):
            file.write_bytes(mutate(whole, random))
        read_or_refuse(root)


def measure(call: Callable[[], object]) -> tuple[float, int]:
    """Return the seconds of CPU time and the bytes at the highest that a call takes."""
    tracemalloc.start()
    begun = time.process_time()
    call()
    seconds = time.process_time() - begun
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


def test_megabytes_of_warnings_are_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "stderr.txt"
    with path.open("wb") as file:
        file.write(OUTPUT.encode())
        for _ in range(20):
            file.write(b'warning: loc("model.py":290:12): ' + b"%tensor<1x16xf16> " * 50_000 + b"\n")
    seconds, peak = measure(lambda: read_plan(path))
    assert peak < 12 << 20  # of a file of 18 MB
    assert seconds < 5


@pytest.mark.integration
def test_a_text_of_nothing_but_messages_is_bounded(tmp_path: Path) -> None:
    line = '"ane_validation_message"("{}") "a.py":{}:0\n'
    text = "".join(line.format(number, number) for number in range(200_001))
    assert problem_of(write(tmp_path, "stderr.txt", text)) == "holds more than 200,000 different messages."


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"schema":"tracekit-plan/1","functions":{"main":' + "[" * 100_000,
        "9" * 100_000,
        ANALYTICS.replace("conv(", "conv(x = " + "[" * 100_000),
        "",
        "\0" * 1000,
        "program(",
    ],
    ids=["lists", "objects", "plan", "digits", "brackets", "empty", "zeros", "cut"],
)
def test_texts_that_are_no_plan_are_refused(tmp_path: Path, text: str) -> None:
    problem_of(write(tmp_path, "hostile", text))


def test_lists_within_operations_end(tmp_path: Path) -> None:
    entry: dict[str, object] = {"operatorName": "cond", "preferred_device": "CPU", "cost": 1}
    for _ in range(100):
        entry = {
            "operatorName": "cond",
            "preferred_device": "CPU",
            "cost": 1,
            "blocks": [{"operations": [entry]}],
        }
    assert problem_of(write(tmp_path, "plan.json", json.dumps([entry]))) == "has operations 65 deep."


def test_entities_of_a_manifest_are_refused(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    text = (
        f'<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a0 "Package Version">{entities}]>'
        "<plist><dict><key>Package Version</key><string>&a9;</string></dict></plist>"
    )
    seconds, peak = measure(
        lambda: problem_of(write(tmp_path, "manifest.plist", text)),
    )
    assert problem_of(tmp_path / "manifest.plist") == "is no property list that can be read."
    assert seconds < 1
    assert peak < 16 << 20


def test_a_binary_manifest_that_repeats_its_parts_is_refused(tmp_path: Path) -> None:
    """Lists of the list before, ten times each: ten objects in the file, 10^10 values where each is followed."""

    def entry(*numbers: int) -> bytes:
        return bytes([0xA0 | len(numbers), *numbers])

    key = b"_Package Version"
    objects = [b"\xd1\x01\x02", b"\x5f\x10\x0fPackage Version", b"\xd1\x03\x04", b"\x51v"]
    objects += [b"\xd1\x03\x05"]  # the package: one key, whose value is the first list
    objects += [entry(*[6 + level] * 10) for level in range(10)]
    objects += [b"\x51x"]
    body = b"bplist00"
    offsets = []
    for item in objects:
        offsets.append(len(body))
        body += item
    table = b"".join(offset.to_bytes(2, "big") for offset in offsets)
    trailer = (
        bytes(6) + bytes([2, 1]) + len(objects).to_bytes(8, "big") + bytes(8) + len(body).to_bytes(8, "big")
    )
    path = write(tmp_path, "manifest.plist", body + table + trailer)
    assert plistlib.loads(path.read_bytes())["Package Version"]["v"]  # it is well formed
    assert key.decode()[1:] in str(path.read_bytes())
    seconds, peak = measure(lambda: problem_of(path))
    assert problem_of(path) == "has more values than any manifest."
    assert seconds < 2
    assert peak < 32 << 20


def test_parts_of_a_binary_manifest_that_overlap_are_refused(tmp_path: Path) -> None:
    """Each of 100,000 strings is a megabyte of the same bytes: a copy of each would take 100 GB."""
    count = 100_000
    body = b"bplist00" + b"Package Version" + b"\x5f\x12\x00\x0f\x7f\x7f" * count + b"a" * (1 << 20)
    table = b"".join((23 + 6 * number).to_bytes(4, "big") for number in range(count))
    trailer = bytes(6) + bytes([4, 4]) + count.to_bytes(8, "big") + bytes(8) + len(body).to_bytes(8, "big")
    path = write(tmp_path, "manifest.plist", body + table + trailer)
    seconds, peak = measure(lambda: problem_of(path))
    assert problem_of(path) == "is no property list that can be read."
    assert seconds < 2
    assert peak < 32 << 20


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '[{"operatorName":"a","preferred_device":"b"},' + "{}," * 2_500_000 + "{}]"),
        ("mil", ANALYTICS.replace("conv(", "conv(y = [" + "1," * 5_000_000)),
        ("log", "BackendSupport =SelectedBackend =OpType =\n" + "x at / at /" * 1_000_000),
        ("failed", '"ane_validation_message"("x")\n' + "failed: " * 1_000_000),
        ("table", TABLE.splitlines()[0] + "\n" + "a,b,c,d,e,f\n" * 200_001),
    ],
)
def test_texts_of_megabytes_take_little(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    begun = time.process_time()
    read_or_refuse(path)
    assert time.process_time() - begun < 30


def test_lengths_beyond_a_binary_manifest_are_refused(tmp_path: Path) -> None:
    data = b"bplist00" + b"\x4f\x13" + (1 << 62).to_bytes(8, "big") + b"Package Version"
    trailer = bytes(6) + bytes([1, 1]) + (1).to_bytes(8, "big") + bytes(8) + len(data).to_bytes(8, "big")
    path = write(tmp_path, "manifest.plist", data + b"\x08" + trailer)
    assert problem_of(path) == "is no property list that can be read."


def test_a_manifest_of_megabytes_is_refused(tmp_path: Path) -> None:
    text = plistlib.dumps({"Package Version": {"1": {"x": "y" * (9 << 20)}}})
    assert "at most 8,388,608 are read" in problem_of(write(tmp_path, "manifest.plist", text))


@pytest.mark.integration
def test_bytecode_full_of_names_is_bounded(tmp_path: Path) -> None:
    names = b"".join(b"f%d_ANE_region_0_0\0" % number for number in range(120_000))
    assert problem_of(make_bundle(tmp_path, names)) == "names more than 100,000 regions."
    seconds, _ = measure(lambda: read_plan(make_bundle(tmp_path / "b", b"a" * (4 << 20))))
    assert seconds < 10


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    write(tmp_path, "analytics.mil", ANALYTICS)
    assert read_plan(tmp_path).form == "analytics.mil"


def test_pipes_devices_and_links_are_not_read(tmp_path: Path) -> None:
    for path in (tmp_path / "pipe", tmp_path / "folder" / "analytics.mil"):
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path)
    assert problem_of(tmp_path / "pipe") == "is no file; save what it holds to one, and name that."
    assert problem_of(Path("/dev/zero")) == "is no file; save what it holds to one, and name that."
    assert problem_of(tmp_path / "folder").startswith("is a folder without a plan")
    assert describe_plan(tmp_path / "pipe") == ""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "analytics.mil").symlink_to(write(tmp_path, "other.mil", ANALYTICS))
    assert problem_of(tmp_path / "linked").startswith("is a folder without a plan")
