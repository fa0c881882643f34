"""Assets that Apple's package makes here, against that package's own summaries of them: an oracle of another maker."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tracekit.mlmodels import MLModel, ValueType, read_model

ROOT = Path(__file__).resolve().parents[2]
ORACLE = ROOT / ".venv-coreai" / "bin" / "python"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not ORACLE.is_file(), reason="`make oracle` installs the package that makes these models"
    ),
]
WORDS = {
    "fp16": "Float16", "fp32": "Float32", "bf16": "BFloat16", "int32": "Int32", "uint32": "UInt32", "bool": "Bool",
    "int64": "Int64", "uint64": "UInt64",
}  # fmt: skip


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all assets; the package runs in a process of its own."""
    folder = tmp_path_factory.mktemp("assets")
    program = Path(__file__).with_name("make_coreai_assets.py")
    made = subprocess.run([ORACLE, program, folder], check=False, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-2000:]
    return folder


def describe(value_type: ValueType) -> str:
    """Spell a type as the package's summary does."""
    assert value_type.shape is not None
    return f"NDArray ({WORDS[value_type.dtype]}, {' × '.join(map(str, value_type.shape))})"


def summarize(model: MLModel) -> dict[str, Any]:
    return {
        "functions": [function.name for function in model.functions],
        "inputs": [[feature.name, describe(feature.type)] for feature in model.inputs],
        "outputs": [[feature.name, describe(feature.type)] for feature in model.outputs],
        "counts": dict(Counter(item.kind for function in model.functions for item in function.operations)),
    }


def test_every_asset_reads_as_the_package_summarizes_it(assets: Path) -> None:
    summaries = json.loads((assets / "summaries.json").read_text())
    operations = {name.rpartition("-")[0] for name in summaries}
    assert len(operations) >= 40
    assert all(Counter(name.rpartition("-")[0] for name in summaries)[name] == 3 for name in operations)
    for name, expected in summaries.items():
        assert summarize(read_model(assets / f"{name}.aimodel")) == expected, name


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("relu-fp16", "coreai.decomposable.broadcasting_maximum"),
        ("softmax-fp16", "coreai.softmax"),
        ("concat-fp16", "coreai.concat"),
    ],
)
def test_a_compiled_asset_names_its_operations_and_states_what_it_does_not_show(
    assets: Path, name: str, symbol: str
) -> None:
    model = read_model(assets / f"{name}.aimodelx")
    assert model.compiled_asset is not None
    assert (model.is_compiled, model.functions) == (True, ())
    assert model.compiled_asset.targets == ("universal",)
    assert model.compiled_asset.symbols == (symbol,)
    assert model.limits[0] == "It holds no delegates: no name in it is that of an engine."
