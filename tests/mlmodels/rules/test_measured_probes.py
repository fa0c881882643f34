"""Rules scoped to M4 and macOS 27 against 210 probes that were planned there: each probe's verdict.

Most rules about M4 cite this study, so what is held is that they state what it measured, no more and no less.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from m4_probes import list_probes

from tracekit.mlmodels import read_model
from tracekit.mlmodels.mil_text import read_program
from tracekit.mlmodels.rules.match import match_message, match_rules

TABLE = Path(__file__).resolve().parents[4] / "shared" / "models" / "plans" / "m4_macos27" / "support.tsv"


def leaves(given: str, statements: str) -> bool:
    """Return whether a rule anticipates that an operation of a probe leaves the Neural Engine."""
    head = f"program(1.0) {{ func main<ios18>(tensor<{given}> x, tensor<fp16, [1, 64]> z, tensor<int32, [1, 4]> n)"
    (function,) = read_program(f"{head} {{ {statements} }} -> (y); }}")
    matches = match_rules(function, chip="M4", os="macOS 27")
    effects = {claim.effect for found in matches.values() for match in found for claim in match.claims}
    return bool(effects & {"leaves", "graph-leaves"})


@pytest.mark.skipif(not TABLE.is_file(), reason="the collected plans are not here")
def test_rules_agree_with_the_plans_of_all_probes() -> None:
    probes = list_probes()
    with TABLE.open(encoding="utf-8") as file:
        supported = {row["probe"]: row["ane"] == "1" for row in csv.DictReader(file, delimiter="\t")}
    assert set(supported) - set(probes) == set()
    assert {
        name for name, is_supported in supported.items() if leaves(*probes[name]) == is_supported
    } == set()
    assert len(supported) == 210


@pytest.mark.skipif(not TABLE.is_file(), reason="the collected plans are not here")
@pytest.mark.parametrize("name", ["conv_k17", "crop_resize", "gather_dyn", "max_pool_k15", "relu_w65537"])
def test_rules_match_where_the_plan_of_a_compiled_program_has_a_message(name: str) -> None:
    """The plans are Core ML's own: an operation has a message where the Neural Engine does not take it."""
    model = read_model(TABLE.with_name(f"{name}.mil"))
    matches = match_rules(model, chip="M4", os="macOS 27")
    (function,) = model.functions
    for position, operation in enumerate(function.operations):
        messages = operation.attributes.get("ValidationMessage")
        at_an_end = operation.kind in ("tensor_buffer_to_tensor", "tensor_to_tensor_buffer")
        ids = {match.rule.id for match in matches.get(position, ())}
        if at_an_end or operation.is_constant or not messages:
            assert not ids
        else:
            assert match_message(str(messages)) in ids | {"OP27"}  # of OP27, the cause is another operation
            assert ids
