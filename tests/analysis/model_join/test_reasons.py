"""Why an operation is off the Neural Engine: the plan's message, then a rule, then what it follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from join_support import CUT, calls_of, join, model_of, plan_of

from tracekit.analysis.model_join.joined_model import JoinedModel, OperationReason
from tracekit.mlmodels.plans import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.program import Value, ValueType
from tracekit.model.vocabulary import Engine


def reasons(joined: JoinedModel) -> list[list[tuple[str, str, int | None]]]:
    return [[(r.origin, r.text, r.followed) for r in operation.reasons] for operation in joined.operations]


def test_a_message_about_the_engine_is_the_reason_word_for_word() -> None:
    joined = join(calls_of(CUT, plans=[plan_of("ACCA", {1: 'Unsupported MIL operation "lstm"'})]))
    assert reasons(joined) == [
        [],
        [("plan", 'Unsupported MIL operation "lstm"', None)],
        [("follows", "", 1)],
        [],
    ]


def test_a_message_about_another_device_is_no_reason() -> None:
    operation = PlannedOperation(
        "conv", "a", Engine.CPU, messages=(PlanMessage("too small", "mps_graph"), PlanMessage("no ANE"))
    )
    plan = Plan(Path("p"), "analytics.mil", "Core ML", (PlannedFunction("main", (operation,)),))
    assert reasons(join(calls_of(CUT, plans=[plan]))) == [[("plan", "no ANE", None)]]


def test_what_follows_names_the_start_of_the_chain() -> None:
    joined = join(calls_of(CUT, plans=[plan_of("ACCCA", {1: "no"})]))
    assert [entry.reasons for entry in joined.operations][3] == (OperationReason("", "follows", followed=1),)


def test_nothing_follows_across_the_engine_or_without_a_value() -> None:
    assert reasons(join(calls_of(CUT, plans=[plan_of("ACACA", {1: "no"})])))[3] == []
    plan = plan_of("ACCA", {1: "no"})
    (function,) = plan.functions
    cut = tuple(replace(entry, inputs=()) for entry in function.operations)
    unlinked = replace(plan, functions=(replace(function, operations=cut),))
    assert reasons(join(calls_of(CUT, plans=[unlinked])))[2] == []


def test_a_message_on_the_engine_is_no_reason() -> None:
    assert reasons(join(calls_of(CUT, plans=[plan_of("ACA", {0: "slow"})])))[0] == []


def wide_model() -> object:
    """A model whose second operation gives 32-bit floats."""
    model = model_of(["conv", "relu", "add"])
    (function,) = model.functions
    first, second, third = function.operations
    wide = replace(second, outputs=(Value("op_1", ValueType("fp32", (1, 8))),))
    return replace(model, functions=(replace(function, operations=(first, wide, third)),))


def test_a_rule_is_the_reason_where_the_plan_is_silent() -> None:
    joined = join(calls_of(CUT, models=[wide_model()], plans=[plan_of("ACA")]))
    (reason,) = joined.operations[1].reasons
    assert (reason.origin, reason.rule) == ("rule", "DT01")


def test_a_rule_that_the_message_states_is_not_repeated() -> None:
    plan = plan_of("ACA", {1: "Invalid output tensor format: fp32"})
    (reason,) = join(calls_of(CUT, models=[wide_model()], plans=[plan])).operations[1].reasons
    assert (reason.origin, reason.rule) == ("plan", "DT01")


def test_without_a_plan_rules_are_all_that_is_known() -> None:
    joined = join(calls_of(CUT, models=[wide_model()]))
    assert [bool(operation.reasons) for operation in joined.operations] == [False, True, False]
    assert (joined.list_leaving(), joined.limits, joined.pieces) == ([], ("no-plan",), 2)


def test_a_plan_that_lists_the_engine_as_possible() -> None:
    plan = plan_of("ACA")
    (function,) = plan.functions
    both = frozenset({Engine.ANE, Engine.CPU})
    listed = tuple(replace(entry, supported=both) for entry in function.operations)
    joined = join(calls_of(CUT, plans=[replace(plan, functions=(replace(function, operations=listed),))]))
    assert [operation.is_supported for operation in joined.operations] == [True] * 3
