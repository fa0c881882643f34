"""The model of a recording that a file is for: by name, or the only one; never a guess."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from evidence_support import ane, prediction, with_evidence
from join_support import CUT, FIRST, calls_of, join, model_of, plan_of
from trace_support import CALL, UI, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.model_join.given_files import GivenModelFile, split_name
from tracekit.errors import InputError, UsageError
from tracekit.model.trace import Trace


def two_models() -> Trace:
    rows = [prediction(0, 10, "Net"), prediction(20, 30, "Other"), ane(2, 8, FIRST)]
    return with_evidence(trace_of([(40, "a", UI)]), rows)


def pairs(analysis: Analysis) -> list[tuple[str, str, str]]:
    return [(joined.model, joined.model_file, joined.plan_file) for joined in analysis.joined_models]


def test_files_are_paired_by_their_names() -> None:
    models = [model_of(["conv"], "Other.mlpackage"), model_of(["conv"], "Net.mlmodelc")]
    analysis = analyze(two_models(), models=models)
    assert pairs(analysis) == [("Net", "Net.mlmodelc", ""), ("Other", "Other.mlpackage", "")]


def test_a_plan_is_paired_by_the_name_that_it_states_or_with_the_only_model_given() -> None:
    assert pairs(analyze(two_models(), plans=[plan_of("A", model="Other")])) == [("Other", "", "net.mil")]
    analysis = analyze(two_models(), models=[model_of(["conv"], "Other.mlpackage")], plans=[plan_of("A")])
    assert pairs(analysis) == [("Other", "Other.mlpackage", "net.mil")]


def test_a_compiled_model_gives_its_program_its_name() -> None:
    program = model_of(["conv"], "folder/Other.mlmodelc/model.mil")
    assert pairs(analyze(two_models(), models=[program])) == [("Other", "model.mil", "")]


def test_a_name_before_the_file_decides(tmp_path: Path) -> None:
    file = GivenModelFile(model_of(["conv"], "version-7.mlpackage"), "Net")
    assert pairs(analyze(two_models(), models=[file])) == [("Net", "version-7.mlpackage", "")]
    assert split_name("Net=x/y=z.mlpackage") == ("Net", "x/y=z.mlpackage")
    odd = tmp_path / "a=b.mlmodel"
    odd.write_bytes(b"")
    assert split_name(str(odd)) == ("", str(odd))


def test_a_file_of_no_models_name_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        analyze(two_models(), models=[model_of(["conv"], "version-7.mlpackage")])
    assert str(raised.value) == (
        "version-7.mlpackage is of no model of the recording by its name; the recording has 'Net' and 'Other'."
        " Give it with the model's name: 'Net=version-7.mlpackage'."
    )


def test_a_name_that_the_recording_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="The recording has no model 'Nut'; it has 'Net' and 'Other'"):
        analyze(two_models(), models=[GivenModelFile(model_of(["conv"]), "Nut")])


def test_two_files_for_a_model_are_refused() -> None:
    with pytest.raises(UsageError, match="are both for the model 'Net'"):
        analyze(two_models(), plans=[plan_of("A", model="Net"), plan_of("C", model="Net")])


def test_the_only_model_takes_a_file_of_another_name_and_a_limit_states_it() -> None:
    analysis = calls_of(CUT, models=[model_of(["conv"], "version-7.mlpackage")])
    assert join(analysis).limits == ("no-plan", "name-differs")


def test_a_recording_without_calls_or_with_calls_of_several_functions_has_nothing_to_join() -> None:
    with pytest.raises(UsageError, match="no calls of a model"):
        analyze(with_evidence(trace_of([(40, "a", UI)]), []), plans=[plan_of("A")])
    samples = [(float(tick), thread, CALL) for tick in range(20) for thread in ("a", "b")]
    with pytest.raises(UsageError, match="names no model"):
        analyze(trace_of(samples), plans=[plan_of("A")])


def test_a_plan_of_another_model_is_refused() -> None:
    model = model_of(["lstm", "gru", "conv", "lstm"])
    with pytest.raises(InputError) as raised:
        calls_of(CUT, models=[model], plans=[plan_of("ACA")])
    assert str(raised.value) == (
        "net.mil: is a plan of another model than Net.mlmodelc: of the plan's 3 operations and the model's 4,"
        " 1 have the same kinds. Give the plan of this model, or the plan alone."
    )


def test_a_plan_that_differs_in_part_is_limited() -> None:
    model = model_of(["conv", "relu", "lstm"], sources={1: "net.py:12"})
    joined = join(calls_of(CUT, models=[model], plans=[plan_of("ACA")]))
    assert joined.limits == ("plan-differs",)
    assert [operation.source for operation in joined.operations] == ["", "net.py:12", ""]


def test_a_plan_of_another_chip_build_or_setting_is_limited() -> None:
    plan = plan_of("ACA", chip="H16G", os_build="25A1", compute_units="cpuOnly")
    trace = calls_of(CUT, on_cpu=[8]).trace
    info = replace(trace.info, model="Mac14,2", os="26.5 (25F71)", platform="macOS")
    joined = join(analyze(replace(trace, info=info), plans=[plan], compute_units="all"))
    assert joined.limits == ("other-build", "other-chip", "other-units")
    assert joined.matched_calls == 4
    info = replace(info, model="Mac16,1", os="26.5 (25A1)")
    assert join(analyze(replace(trace, info=info), plans=[plan], compute_units="cpuOnly")).limits == ()


def test_the_layout_of_buffers_is_no_operation_of_the_model() -> None:
    plan = plan_of("CACAC")
    (function,) = plan.functions
    first, *inner, last = function.operations
    operations = (
        replace(first, kind="tensor_buffer_to_tensor"),
        *inner,
        replace(last, kind="tensor_to_tensor_buffer<ios17>"),
    )
    joined = join(calls_of(CUT, plans=[replace(plan, functions=(replace(function, operations=operations),))]))
    assert [operation.name for operation in joined.operations] == ["op_1", "op_2", "op_3"]
    assert joined.matched_calls == 4


def test_one_model_in_two_processes_is_joined_twice() -> None:
    rows = [
        prediction(0, 10, pid=7),
        prediction(20, 30, pid=8),
        ane(2, 8, FIRST, pid=7),
        ane(22, 28, FIRST, pid=8),
    ]
    trace = with_evidence(trace_of([(40, "a", UI)]), rows)
    joined = analyze(trace, plans=[plan_of("A")]).joined_models
    assert sorted((entry.pid, entry.calls) for entry in joined) == [(7, 1), (8, 1)]


def test_one_path_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="models and plans are lists"):
        analyze(two_models(), models="Net.mlpackage")


def test_a_target_that_is_not_stated_is_a_limit() -> None:
    assert join(calls_of(CUT, plans=[plan_of("ACA", os_build="")])).limits == ("target-unknown",)
