"""Rules held against an asset that Apple's package for Linux writes; skipped where `make oracle` did not run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tracekit.mlmodels import read_model
from tracekit.mlmodels.rules.lint import lint_model
from tracekit.mlmodels.rules.rule_target import make_target

ORACLE = Path(__file__).resolve().parents[3] / ".venv-coreai" / "bin" / "python"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not ORACLE.is_file(), reason="`make oracle` installs the package that makes these models"
    ),
]


def write_asset(path: Path, lowest: float, stride: int) -> None:
    """Write an attention without heads, and a convolution behind which silu stands."""
    program = Path(__file__).with_name("make_attention_asset.py")
    command = [ORACLE, program, path, str(lowest), str(stride)]
    made = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr[-2000:]


@pytest.mark.parametrize(
    ("lowest", "stride", "ids"),
    [
        (float("-inf"), 5, ["OP12", "OP14", "SH06", "CV04", "CV06"]),
        (-40000.0, 4, ["OP14", "SH06", "CV04"]),
    ],
)
def test_masks_strides_and_kernels_are_read(
    tmp_path: Path, lowest: float, stride: int, ids: list[str]
) -> None:
    path = tmp_path / "Attention.aimodel"
    write_asset(path, lowest, stride)
    result = lint_model(read_model(path), make_target())
    assert [finding.rule.id for finding in result.findings] == ids
    places = [place for finding in result.findings for place in finding.places]
    sources = [place.source for place in places if place.role == "operation"]
    assert all(re.fullmatch(r"make_attention_asset\.py:\d+", source) for source in sources)
    assert result.unknown == {}
