"""Probes that coremltools makes, read with our own reader: each asks what its name states, and nothing else."""

from __future__ import annotations

import hashlib
import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tracekit.mlmodels import Operation, read_model
from tracekit.probes.probe_manifest import read_manifest
from tracekit.probes.probe_question import Probe
from tracekit.probes.probed_operators import OPERATORS
from tracekit.probes.runner import CATEGORY, PROGRAM_NAME, SIGNPOST, SUBSYSTEM, read_program

ROOT = Path(__file__).resolve().parents[2]
ORACLE = ROOT / ".venv-coreai" / "bin" / "python"
QUESTIONS = [
    *OPERATORS,
    "max_pool:kernel=13,stride=2,shape=16x32x32",
    "softmax:dtype=fp32",
    "conv:kernel=5,dilation=2",
]
PROGRAM = """
import json, sys
from pathlib import Path
from tracekit.probes.probe_question import list_probes
from tracekit.probes.sandwich import write_probes
write_probes(Path(sys.argv[1]), list_probes(json.loads(sys.argv[2])), ("all", "cpuOnly"), 7)
"""
SIDE = ["conv", "relu", "conv", "relu"]

needs_coremltools = pytest.mark.skipif(not ORACLE.is_file(), reason="`make oracle` installs coremltools")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "probes"
    command = [ORACLE, "-c", PROGRAM, folder, json.dumps(QUESTIONS)]
    made = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    return folder


def operations_of(folder: Path, probe: Probe) -> list[Operation]:
    (function,) = read_model(folder / f"{probe.name}.mlpackage").functions
    return list(function.computing())


@needs_coremltools
@pytest.mark.integration
def test_each_probe_is_its_operation_between_convolutions(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert len(manifest.probes) == len(OPERATORS) + 3 + 2
    for probe in manifest.probes:
        operations = operations_of(folder, probe)
        kinds = [operation.kind for operation in operations]
        asked = [] if probe.is_control else [OPERATORS[probe.operator].kind]
        casts = ["cast"] * (probe.dtype == "fp32")
        assert kinds == [*SIDE, *casts, *asked, *casts, *SIDE], probe.name
        for before, after in pairwise(operations):
            assert before.outputs[0].name in [name for _, name in after.inputs], probe.name


@needs_coremltools
@pytest.mark.integration
def test_the_operation_has_the_numbers_that_were_asked(folder: Path) -> None:
    for probe in read_manifest(folder).probes:
        question = next((item for item in operations_of(folder, probe) if item.name == "question"), None)
        if probe.is_control:
            assert question is None
            continue
        assert question is not None, probe.name
        output = question.outputs[0].type
        assert output is not None
        assert output.dtype == probe.dtype
        (function,) = read_model(folder / f"{probe.name}.mlpackage").functions
        constants = {item.outputs[0].name: item for item in function.operations if item.is_constant}
        inputs = dict(question.inputs)
        for name, parameter in OPERATORS[probe.operator].parameters.items():
            value = probe.parameters[name]
            if parameter.numbers:
                given = constants[inputs[parameter.numbers]].attributes["val"]
                assert given in (value, (value, value)), probe.name
            else:
                weight = constants[inputs["weight"]].outputs[0].type
                assert weight is not None and weight.shape is not None
                assert weight.shape[2:] == (value, value)


@needs_coremltools
@pytest.mark.integration
def test_inputs_are_those_of_the_shape_and_packages_are_small_and_hashed(folder: Path) -> None:
    manifest = read_manifest(folder)
    for probe in manifest.probes:
        package = folder / f"{probe.name}.mlpackage"
        model = read_model(package)
        assert model.metadata["tracekit.probe"] == probe.name
        assert model.inputs[0].type.shape == (1, *probe.shape)
        assert [item.name for item in model.inputs[1:]] == ["indices"] * (probe.operator == "gather_runtime")
        assert model.size_bytes < (400_000 if probe.operator != "conv" else 1_500_000)
        digest = hashlib.sha256()
        for path in sorted(path for path in package.rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(package).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
        assert manifest.sha256[probe.name] == digest.hexdigest()
    assert manifest.made_with.keys() == {"tracekit", "coremltools"}
    assert (folder / PROGRAM_NAME).read_text() == read_program()


def test_the_program_has_the_words_by_which_its_calls_are_found() -> None:
    """Nothing here compiles Swift; what the reader relies on is held word for word."""
    program = read_program()
    assert f'OSSignposter(subsystem: "{SUBSYSTEM}", category: "{CATEGORY}")' in program
    assert f'beginInterval(\n                "{SIGNPOST}", id: signposter.makeSignpostID(),' in program
    message = r'"\(probe, privacy: .public) \(setting, privacy: .public) \(number, privacy: .public)")'
    assert message in program
    assert f'endInterval("{SIGNPOST}", interval)' in program
    assert 'environment["TRACEKIT_COMPUTE_UNITS"]' in program
    for key in ("name", "file", "settings", "calls", "probes"):
        assert f"let {key}: " in program
    imports = [line for line in program.splitlines() if line.startswith("import ")]
    assert imports == ["import CoreML", "import Foundation", "import os"]
    assert hashlib.sha256(program.encode()).hexdigest()[:16] == "b84198ab72ba0f0a"
