"""The program that calls a Core AI model, run by Apple's own package (on its CPU)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tracekit.mlmodels import read_model
from tracekit.proof.trials import privilege_trial

pytestmark = pytest.mark.integration
ORACLE = Path(__file__).resolve().parents[2] / ".venv-coreai" / "bin" / "python"
PROGRAM = Path(privilege_trial.__file__).with_name("coreai_calls.py")
COMPILE = """
import sys
from pathlib import Path
from coreai.authoring import AIModelAsset
folder = Path(sys.argv[1])
(folder / "probe.aimodelx").mkdir()
AIModelAsset.load(folder / "probe.aimodel")._write_odix(folder / "probe.aimodelx")
"""


@pytest.mark.skipif(not ORACLE.is_file(), reason="`make oracle` installs coreai-core")
def test_it_makes_a_model_of_two_operations_and_calls_it(tmp_path: Path) -> None:
    folder = tmp_path / "coreai"
    run_oracle(PROGRAM, folder, "3")  # Linux loads compiled models only
    (function,) = read_model(folder / "probe.aimodel").functions
    assert [operation.kind.rpartition(".")[2].partition("_")[0] for operation in function.computing()] == [
        "relu",
        "softmax",
    ]
    run_oracle("-c", COMPILE, folder)
    assert run_oracle(PROGRAM, folder, "3").stdout.splitlines()[-1] == "3 calls"


def run_oracle(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ORACLE, *arguments], capture_output=True, text=True, timeout=120, check=False)
