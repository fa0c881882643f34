"""Requirements on plans: the language, each quantity, and what unstated engines leave open."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.checks.plans.plan_check import check_plan
from tracekit.checks.plans.plan_parser import parse_plan_requirement
from tracekit.checks.plans.plan_requirements import PlanCondition, PlanMetric, RequiredPlacement
from tracekit.checks.plans.plan_values import bound_runs, bound_segments
from tracekit.checks.results import CheckResult
from tracekit.errors import UsageError
from tracekit.mlmodels.plans import (
    Plan,
    PlanMessage,
    PlannedFunction,
    PlannedOperation,
    PlannedRegion,
)
from tracekit.model.vocabulary import Engine
from tracekit.report.checks.wording import reason

ANE, GPU, CPU = Engine.ANE, Engine.GPU, Engine.CPU
ENGINES = {"A": ANE, "G": GPU, "C": CPU, "?": None}


def plan(*functions: PlannedFunction, **facts: object) -> Plan:
    return replace(Plan(Path("x"), "analytics.mil", "Core ML", functions), **facts)  # type: ignore[arg-type]


def function(engines: str, name: str = "main", *, unlisted: int | None = 0) -> PlannedFunction:
    """Return a function of operations ``op0``, ``op1``, … by their engines, such as ``AAGC?``."""
    operations = (
        PlannedOperation("ios17.conv" if index % 2 == 0 else "gather", f"op{index}", ENGINES[letter])
        for index, letter in enumerate(engines)
    )
    constant = PlannedOperation("const", "weight", is_constant=True)
    return PlannedFunction(name, (constant, *operations), unlisted=unlisted)


def check(subject: Plan | str, text: str) -> CheckResult:
    """Check a requirement, or ``forbid …``."""
    checked = plan(function(subject)) if isinstance(subject, str) else subject
    forbids = text.startswith("forbid ")
    (result,) = check_plan(checked, [parse_plan_requirement(text.removeprefix("forbid "), forbids)])
    return result


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ANE regions >= 1", PlanCondition(PlanMetric("regions", ANE), ">=", 1)),
        ("ane segments<=2 in main", PlanCondition(PlanMetric("segments", ANE), "<=", 2, "main")),
        ("segments in 'a b' == 1", PlanCondition(PlanMetric("segments"), "==", 1, "a b")),
        ("hand-offs <= 2", PlanCondition(PlanMetric("transitions"), "<=", 2)),
        ("transitions <= 2", PlanCondition(PlanMetric("transitions"), "<=", 2)),
        ("ops off ANE <= 3", PlanCondition(PlanMetric("ops", ANE, "off"), "<=", 3)),
        ("ops on GPU == 0", PlanCondition(PlanMetric("ops", GPU, "on"), "==", 0)),
        ("ops on ANE >= 95%", PlanCondition(PlanMetric("ops", ANE, "on", is_share=True), ">=", 0.95)),
        ("cost on ANE >= 0.9", PlanCondition(PlanMetric("cost", ANE, "on", is_share=True), ">=", 0.9)),
        ("cost off ANE <= 5 %", PlanCondition(PlanMetric("cost", ANE, "off", is_share=True), "<=", 0.05)),
        ("ops >= 100", PlanCondition(PlanMetric("ops"), ">=", 100)),
        ("ops without engine == 0", PlanCondition(PlanMetric("ops without engine"), "==", 0)),
        ("failures == 0", PlanCondition(PlanMetric("failures"), "==", 0)),
        ("op gather_12 on ANE", RequiredPlacement("op", "gather_12", ANE)),
        ("op '/layer 1/conv' on GPU in main", RequiredPlacement("op", "/layer 1/conv", GPU, "main")),
        ("kind conv* on ANE", RequiredPlacement("kind", "conv*", ANE)),
    ],
)
def test_the_language(text: str, rule: PlanCondition | RequiredPlacement) -> None:
    assert parse_plan_requirement(text).rule == rule


def test_what_is_forbidden() -> None:
    assert parse_plan_requirement("GPU in main", forbids=True).rule == RequiredPlacement(
        "all", "", GPU, "main"
    )
    assert parse_plan_requirement("ANE regions >= 3", forbids=True).rule == PlanCondition(
        PlanMetric("regions", ANE), ">=", 3
    )


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("ANE share >= 80%", "'share' is not a valid metric of ANE. Valid: regions, segments.", 4),
        ("ops of ANE <= 3", "a comparison is expected here: <=, <, >=, >, == or !=.", 4),
        ("ops off NPU <= 3", "'NPU' is not a valid engine of a plan. Did you mean 'GPU'?", 8),
        ("ops off ANE", "a comparison is missing here, such as '<= 3'.", 11),
        ("ops off ANE <= 3ms", "'ops off ANE' is a count and takes no unit.", 16),
        ("ops >= 50%", "'ops' is a count and takes no unit.", 9),
        ("cost on ANE >= 90", "a share is at most 1: write 90% or a fraction.", 15),
        ("op on ANE", "'on' and an engine are expected here, such as 'on ANE'.", 6),
        ("kind conv", "'on' and an engine are expected here, such as 'on ANE'.", 9),
        ("p90 <= 8ms", "'p90' is not a valid metric of a plan.", 0),
        ("ops off ANE <= 3 in", "the name of a function is missing after 'in'.", 19),
        ("failures == 0 in main", "'failures' applies to the whole plan: remove 'in'.", 0),
        ("regions ANE >= 1", "a comparison is expected here: <=, <, >=, >, == or !=.", 8),
    ],
)
def test_a_mistake_is_pointed_at(text: str, message: str, column: int) -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan_requirement(text)
    assert message in str(caught.value)
    assert caught.value.lines[1].index("^") == column


@pytest.mark.parametrize(
    ("engines", "text", "outcome"),
    [
        # Regions and segments are runs on one engine, counted in the order of the plan.
        ("AAGGA", "ANE regions == 2", "passed"),
        ("GGGG", "ANE regions >= 1", "failed"),
        ("GG?G", "ANE regions >= 1", "not measurable"),
        ("GA?G", "ANE regions >= 1", "passed"),
        ("A?A", "ANE segments <= 1", "not measurable"),
        ("AGA", "segments <= 3", "passed"),
        ("AGA", "segments <= 2", "failed"),
        ("A?A", "segments <= 3", "passed"),
        ("A?A", "segments <= 2", "not measurable"),
        ("AAGA", "transitions <= 1", "failed"),
        ("AAGA", "transitions <= 2", "passed"),
        ("AA?A", "transitions == 0", "not measurable"),
        # Operations: the three cases of the bound.
        ("AAAGC??", "ops off ANE <= 1", "failed"),
        ("AAAGC??", "ops off ANE <= 3", "not measurable"),
        ("AAAGC??", "ops off ANE <= 4", "passed"),
        ("AAAGC??", "ops on ANE >= 3", "passed"),
        ("AAAGC??", "ops on ANE >= 4", "not measurable"),
        ("AAAGC??", "ops on ANE >= 6", "failed"),
        ("AAAG", "ops on ANE >= 75%", "passed"),
        ("AAAG", "ops off ANE <= 20%", "failed"),
        ("AAA?", "ops on ANE >= 80%", "not measurable"),
        ("AA?", "ops without engine == 0", "failed"),
        ("AAG", "ops without engine == 0", "passed"),
        ("AAG", "ops >= 3", "passed"),
        ("AAG", "ops >= 4", "failed"),
        # By name and by kind, with its operator set or without.
        ("AGA", "op op0 on ANE", "passed"),
        ("AGA", "op op1 on ANE", "failed"),
        ("A?A", "op op1 on ANE", "not measurable"),
        ("A?A", "op missing on ANE", "not measurable"),
        ("AGA", "kind conv on ANE", "passed"),
        ("AGA", "kind ios17.conv on ANE", "passed"),
        ("AGG", "kind conv on ANE", "failed"),
        ("?GG", "kind conv on ANE", "failed"),
        ("AG?", "kind conv on ANE", "not measurable"),
        ("AGA", "kind softmax on ANE", "not measurable"),
        ("AAA", "forbid GPU", "passed"),
        ("AGA", "forbid GPU", "failed"),
        ("A?A", "forbid GPU", "not measurable"),
        ("AGA", "forbid kind conv on GPU", "passed"),
        ("AAG", "forbid kind conv on GPU", "failed"),
        ("?GA", "forbid kind conv on GPU", "not measurable"),
        ("AGA", "forbid ops off ANE > 3", "passed"),
        ("AG?", "forbid ops off ANE > 1", "not measurable"),
    ],
)
def test_each_quantity(engines: str, text: str, outcome: str) -> None:
    assert check(engines, text).outcome == outcome


def with_costs(engines: str, *shares: float | None) -> Plan:
    operations = [
        PlannedOperation("conv", f"op{index}", ENGINES[letter], cost_share=share)
        for index, (letter, share) in enumerate(zip(engines, shares, strict=True))
    ]
    return plan(PlannedFunction("main", tuple(operations)))


@pytest.mark.parametrize(
    ("checked", "text", "outcome"),
    [
        (with_costs("AG", 0.9, 0.1), "cost on ANE >= 90%", "passed"),
        (with_costs("AG", 0.9, 0.1), "cost off ANE <= 5%", "failed"),
        (with_costs("A?", 0.9, 0.1), "cost on ANE >= 95%", "not measurable"),
        (with_costs("A?", 0.9, 0.1), "cost on ANE >= 90%", "passed"),
        # An operation without an estimate may cost anything: off the engine it can only lower the share on it.
        (with_costs("AG", 1.0, None), "cost on ANE >= 90%", "not measurable"),
        (with_costs("AGA", 0.5, 0.5, None), "cost on ANE >= 50%", "passed"),
        (with_costs("AGC", 0.5, 0.5, None), "cost on ANE >= 60%", "failed"),
        (with_costs("AG", None, None), "cost on ANE >= 0%", "not measurable"),
        (with_costs("AAAAAA", 0.1, 0.2, 0.3, 0.1, 0.2, 0.1), "cost on ANE == 100%", "passed"),
        # Shares are those of the function: of two, each may have half of the model's.
        (with_costs("AA", 0.25, 0.25), "cost on ANE >= 100%", "passed"),
    ],
)
def test_shares_of_the_estimated_cost(checked: Plan, text: str, outcome: str) -> None:
    assert check(checked, text).outcome == outcome


def test_each_function_must_meet_a_requirement() -> None:
    checked = plan(function("AAAA", "prefill"), function("AGGG", "decode"), function("AGAA", "rerank"))
    assert check(checked, "ops off ANE <= 3").outcome == "passed"
    result = check(checked, "ops off ANE <= 0")
    assert result.outcome == "failed"
    assert reason(result) == (
        "ops off ANE is 3 (anticipated, 4 operations of decode); the furthest from the requirement of 3"
        " functions: gather op1 (GPU), ios17.conv op2 (GPU), gather op3 (GPU)"
    )
    assert check(checked, "ops off ANE == 0 in prefill").outcome == "passed"
    assert check(checked, "ops off ANE == 0 in 'pre*'").outcome == "passed"
    missing = check(checked, "ops off ANE == 0 in embed")
    assert missing.outcome == "not measurable"
    assert reason(missing) == "the plan has no function 'embed'; it has prefill, decode, rerank"
    # A function without the operation is none that breaks the requirement.
    assert check(checked, "op op3 on ANE in decode").outcome == "failed"


def test_a_function_that_only_has_constants_is_left_out() -> None:
    assert check(plan(function("AA"), function("", "tables")), "ANE regions >= 1").outcome == "passed"


def test_a_plan_that_lists_some_operations_only_passes_no_upper_limit() -> None:
    partial = plan(function("?", unlisted=None), limits=("The text names what was refused.",))
    result = check(partial, "ops off ANE <= 3")
    assert result.outcome == "not measurable"
    assert reason(result).endswith("ios17.conv op0 (no engine stated). The text names what was refused.")
    listed = plan(function("AAG", unlisted=None))
    assert check(listed, "ops off ANE <= 0").outcome == "failed"
    assert check(listed, "ANE regions >= 1").outcome == "passed"
    assert check(listed, "ops on ANE >= 50%").outcome == "not measurable"
    assert check(listed, "kind conv on ANE").outcome == "failed"
    assert check(plan(function("AGA", unlisted=None)), "kind conv on ANE").outcome == "not measurable"
    assert check(plan(function("AGA", unlisted=None)), "op op0 on ANE").outcome == "passed"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("ops off ANE <= 2", "passed"),
        ("ops off ANE <= 1", "not measurable"),
        ("ops off ANE <= 0", "failed"),
        ("ops on ANE >= 75%", "not measurable"),  # 3 of 5, or 4
        ("ops on ANE >= 60%", "passed"),
        ("ops on ANE >= 90%", "failed"),
        ("ANE regions <= 3", "passed"),
        ("ANE regions <= 2", "not measurable"),
        ("ANE regions >= 2", "passed"),
        ("segments <= 5", "passed"),
        ("segments <= 4", "not measurable"),
        ("ops without engine == 0", "not measurable"),
        ("op op0 on ANE", "passed"),
        ("kind gather on ANE", "not measurable"),
        ("kind conv on ANE", "failed"),
        ("forbid CPU", "not measurable"),
        ("forbid GPU", "failed"),
        ("cost on ANE >= 0%", "not measurable"),
    ],
)
def test_an_operation_without_an_entry_may_be_anywhere(text: str, outcome: str) -> None:
    assert check(plan(function("AAGA", unlisted=1)), text).outcome == outcome


def test_an_operation_without_a_kind_may_be_of_any() -> None:
    operations = (PlannedOperation("conv", "a", ANE), PlannedOperation("", "b", GPU))
    assert check(plan(PlannedFunction("main", operations)), "kind conv on ANE").outcome == "not measurable"
    assert check(plan(PlannedFunction("main", operations)), "forbid kind conv on GPU").outcome == (
        "not measurable"
    )


def regions(*engines: Engine, ane_regions: int | None) -> Plan:
    named = tuple(PlannedRegion(f"region_{index}", engine) for index, engine in enumerate(engines))
    return plan(PlannedFunction("main", regions=named), ane_regions=ane_regions)


@pytest.mark.parametrize(
    ("checked", "text", "outcome"),
    [
        (regions(GPU, ane_regions=0), "ANE regions >= 1", "failed"),
        (regions(ane_regions=0), "ANE regions >= 1", "failed"),
        (plan(ane_regions=0), "ANE regions >= 1", "failed"),
        (regions(ane_regions=None), "ANE regions >= 1", "not measurable"),
        (regions(ANE, GPU, ane_regions=1), "ANE regions >= 1", "passed"),
        (regions(ANE, GPU, ane_regions=1), "ANE segments <= 1", "passed"),
        (regions(ANE, GPU, ane_regions=1), "GPU regions <= 1", "not measurable"),
        (regions(ANE, GPU, ane_regions=1), "forbid GPU", "failed"),
        (regions(ANE, ane_regions=1), "forbid GPU", "not measurable"),
        (regions(GPU, ane_regions=0), "forbid ANE", "passed"),
        (regions(ANE, GPU, ane_regions=1), "transitions <= 9", "not measurable"),
        (regions(ANE, GPU, ane_regions=1), "ops off ANE <= 99", "not measurable"),
        (regions(ANE, GPU, ane_regions=1), "op a on ANE", "not measurable"),
        (plan(), "ANE regions >= 0", "not measurable"),
    ],
)
def test_a_plan_of_regions(checked: Plan, text: str, outcome: str) -> None:
    assert check(checked, text).outcome == outcome


def test_failures_are_absent_only_where_the_text_would_show_them() -> None:
    failed = plan(form="specialization output", messages=(PlanMessage("ANECCompile() FAILED", count=2),))
    assert check(failed, "failures == 0").outcome == "failed"
    assert check(failed, "failures == 0").actual.low == 2
    refused = plan(function("?", "", unlisted=None), form="specialization output")
    assert check(refused, "failures == 0").outcome == "passed"
    # The cache keeps a later specialization silent, and no other form of plan has failures.
    assert check(plan(form="specialization output"), "failures == 0").outcome == "not measurable"
    assert check("AA", "failures == 0").outcome == "not measurable"


def test_the_reason_quotes_the_plan_about_the_engine() -> None:
    operation = PlannedOperation(
        *("ios17.gather", "gather_12", CPU),
        messages=(PlanMessage("indices are not constant", "ane"), PlanMessage("no kernel", "mps_graph")),
        source="model.py:290",
    )
    checked = plan(PlannedFunction("main", (operation,)))
    assert reason(check(checked, "ops off ANE == 0")) == (
        "ops off ANE is 1 (anticipated, 1 operation of main): ios17.gather gather_12 (CPU, model.py:290);"
        " the plan states about ios17.gather gather_12 'indices are not constant'"
    )
    assert reason(check(checked, "op gather_12 on ANE")).startswith(
        "0 of 1 operation of main is anticipated on ANE: ios17.gather gather_12"
    )


def test_an_upper_limit_names_the_operations_that_it_counts() -> None:
    assert reason(check("AGA", "ops on GPU == 0")) == (
        "ops on GPU is 1 (anticipated, 3 operations of main): gather op1 (GPU)"
    )


# Bounds hold for every completion ---------------------------------------------------------------------------

REQUIREMENTS = [
    *("{e} regions {o} {n}", "segments {o} {n}", "transitions {o} {n}", "ops on {e} {o} {n}"),
    *("ops off {e} {o} {n}", "ops on {e} {o} {p}%", "cost on {e} {o} {p}%", "cost off {e} {o} {p}%"),
    *("op op1 on {e}", "kind conv on {e}", "kind gather on {e}"),
]
FORBIDDEN = ["forbid {e}", "forbid kind conv on {e}", "forbid op op0 on {e}", "forbid ops on {e} {o} {n}"]


@given(
    engines=st.lists(st.sampled_from("AGC?"), min_size=1, max_size=6),
    template=st.sampled_from([*REQUIREMENTS, *FORBIDDEN]),
    engine=st.sampled_from([ANE, GPU, CPU]),
    operator=st.sampled_from(["<=", "<", ">=", ">", "==", "!="]),
    number=st.integers(0, 6),
    percent=st.integers(0, 100),
)
def test_a_decided_outcome_holds_for_every_completion(
    engines: list[str], template: str, engine: Engine, operator: str, number: int, percent: int
) -> None:
    text = template.format(e=engine, o=operator, n=number, p=percent)
    costs = [1 / 2 ** (index + 1) for index in range(len(engines))]

    def outcome(letters: str) -> str:
        operations = (
            replace(operation, cost_share=share)
            for operation, share in zip(function(letters).computing(), costs, strict=True)
        )
        return check(plan(PlannedFunction("main", tuple(operations))), text).outcome

    choices = ["AGC" if letter == "?" else letter for letter in engines]
    of_completions = {outcome("".join(letters)) for letters in itertools.product(*choices)}
    decided = outcome("".join(engines))
    if decided != "not measurable":
        assert of_completions == {decided}


@given(st.lists(st.sampled_from([ANE, GPU, CPU, None]), max_size=7))
def test_bounds_of_runs_are_reached(engines: list[Engine | None]) -> None:
    completions = list(
        itertools.product(*([ANE, GPU, CPU] if engine is None else [engine] for engine in engines))
    )
    runs = [[run for run, _ in itertools.groupby(completion)] for completion in completions]
    low, high = bound_segments(engines)
    assert high == max(map(len, runs))
    # An operation may be on no engine at all: a plan of such operations alone can have no segment.
    assert low == (0 if all(engine is None for engine in engines) else min(map(len, runs)))
    counts = [run.count(ANE) for run in runs]
    assert bound_runs(engines, ANE) == (min(counts), max(counts))
