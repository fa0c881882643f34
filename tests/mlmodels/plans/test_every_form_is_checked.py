"""Every form of plan, whole and damaged, is checked and compared; what a form does not list is unknown."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from plan_support import write
from test_damaged_plans import WHOLE, mutate
from test_read_core_ai_plans import make_bundle
from test_read_core_ml_plans import LOG_ENTRY

from tracekit.checks.plans.plan_check import check_plan
from tracekit.checks.plans.plan_parser import parse_plan_requirement
from tracekit.errors import InputError
from tracekit.mlmodels.plans import Plan, read_plan
from tracekit.mlmodels.plans.differences import compare_plans
from tracekit.report.checks.github import to_github
from tracekit.report.checks.json import to_json
from tracekit.report.checks.junit import to_junit
from tracekit.report.checks.text import to_text
from tracekit.report.checks.wording import reason
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.plans import differences_json
from tracekit.report.plans.differences_document import build_differences

REQUIREMENTS = [
    *(parse_plan_requirement(text) for text in ("ANE regions >= 1", "segments <= 3", "transitions == 0")),
    *(parse_plan_requirement(text) for text in ("ops off ANE <= 3", "ops on ANE >= 90%", "ops >= 1")),
    *(parse_plan_requirement(text) for text in ("cost on ANE >= 90%", "kind conv on ANE", "op a on ANE")),
    *(parse_plan_requirement(text) for text in ("failures == 0", "ops without engine == 0")),
    *(parse_plan_requirement(text, forbids=True) for text in ("GPU", "CPU in main", "kind '*' on CPU")),
]


def use(plan: Plan) -> None:
    results = check_plan(plan, REQUIREMENTS)
    for write_results in (to_text, to_json, to_junit, to_github):
        write_results(results, "plan")
    differences = compare_plans(plan, plan)
    assert not any(function.moved for function in differences.functions)
    print_text(build_differences(differences), Page(80))
    differences_json.to_json(differences)


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_every_form_whole_and_damaged(tmp_path: Path, name: str) -> None:
    use(read_plan(write(tmp_path, name, WHOLE[name])))
    random = Random(41)
    for _ in range(60):
        try:
            plan = read_plan(write(tmp_path, "damaged", mutate(WHOLE[name], random)))
        except InputError:
            continue
        use(plan)


@pytest.mark.parametrize(
    ("name", "unlisted"),
    [
        ("own", 0),
        ("analytics", 0),
        ("table", 0),
        ("coreai", 1),  # one operation of the program has no entry
        ("output", None),  # refusals alone
        ("espresso", None),
    ],
)
def test_what_a_form_does_not_list(tmp_path: Path, name: str, unlisted: int | None) -> None:
    plan = read_plan(write(tmp_path, name, WHOLE[name]))
    assert [function.unlisted for function in plan.functions] == [unlisted]


def test_regions_without_names_are_one_at_least(tmp_path: Path) -> None:
    plan = read_plan(make_bundle(tmp_path, b"ML\xefR\0placement.region_type<ANE>\0"))
    results = check_plan(plan, ["ANE regions >= 1", "ANE regions <= 1"])
    assert [result.outcome for result in results] == ["passed", "not measurable"]


def test_a_log_that_lost_an_operation_passes_no_upper_limit(tmp_path: Path) -> None:
    entries = [
        LOG_ENTRY.format(kind="conv", index=index, output=f"c{index}", device="ane", message='ane = "x";')
        for index in (0, 1, 3)
    ]
    plan = read_plan(write(tmp_path, "log.txt", "".join(entries)))
    (result,) = check_plan(plan, "ops off ANE <= 0")
    assert result.outcome == "not measurable"
    assert "the plan has no entry for 1 more operation" in reason(result)
    whole = read_plan(write(tmp_path, "log.txt", "".join(entries[:2])))
    assert check_plan(whole, "ops off ANE <= 0")[0].outcome == "passed"
