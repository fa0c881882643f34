"""Requirements on the energy of a call: literal samples of power in, outcomes out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import pytest
from energy_support import BACK_TO_BACK, priced

from tracekit import Analysis
from tracekit.checks.check import check
from tracekit.checks.parser import parse_requirement
from tracekit.checks.requirements import Condition, Metric
from tracekit.checks.results import choose_exit_code
from tracekit.errors import UsageError
from tracekit.report.checks.json import to_json
from tracekit.report.checks.text import to_text

SCHEMA = Path(__file__).parents[2] / "docs" / "tracekit-check-1.schema.json"
pytestmark = pytest.mark.integration


def run(watts: float = 1.0) -> Analysis:
    """50 calls of a model, one each 20 ms, while the engine draws this power: 20 mJ a call at 1 W."""
    last = (1100.0, 1100.0 + watts)  # so that runs are not copies
    return priced([*BACK_TO_BACK, last], [1000 * watts] * 10)


@pytest.mark.parametrize(
    "text", ["ANE energy <= 12mJ", "ane energy per call <= 0.012 J", "ANE energy<=12mJ in Net"]
)
def test_the_language(text: str) -> None:
    rule = parse_requirement(text).rule
    assert rule == Condition(Metric("energy", "ANE"), "<=", 12.0, "Net" if "Net" in text else "")
    assert rule.metric.name == "ANE energy"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ANE energy <= 12", "an energy with a unit is expected here: mJ or J"),
        ("ANE energy <= 12ms", "an energy with a unit is expected here: mJ or J"),
        ("ANE energy per <= 12mJ", "'call' is missing after 'per'"),
        ("p90 ANE energy <= 12mJ", "metric of ANE"),
    ],
)
def test_mistakes_are_pointed_at(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_requirement(text)


def test_one_run_is_judged_as_if_runs_differed() -> None:
    texts = ["ANE energy <= 25mJ", "ANE energy <= 21mJ in Net", "ANE energy <= 15mJ"]
    results = check(run(), texts)
    assert [result.outcome for result in results] == ["passed", "open", "failed"]
    energy = results[0].actual
    assert (energy.kind, energy.basis) == ("energy", "inferred from powermetrics")
    assert energy.low == pytest.approx(19.98, abs=0.01)
    reach = math.exp(1.959964 * 0.05)
    assert energy.interval == pytest.approx((energy.low / reach, energy.low * reach))
    text = " ".join(to_text(results, "literal").split())
    assert "ANE energy is 19.980 mJ, 18.115 to 22.037 mJ at 95 % (inferred from powermetrics" in text
    assert check(run(), "ANE energy <= 20mJ", 0)[0].outcome == "passed"


def test_several_runs_show_how_the_energy_spreads() -> None:
    (result,) = check([run(watts) for watts in (0.8, 1.0, 1.25)], "ANE energy <= 40mJ")
    # Student's t with two degrees of freedom of the logarithms -0.223, 0, 0.223.
    half = 4.30265 * math.log(1.25) / math.sqrt(3)
    assert result.outcome == "passed"
    assert result.actual.interval == pytest.approx((19.98 / math.exp(half), 19.98 * math.exp(half)), rel=1e-3)
    (steady,) = check([run(watts) for watts in (0.999, 1.0, 1.001)], "ANE energy <= 21mJ")
    assert (steady.outcome, "an assumed spread" in steady.actual.note) == ("open", True)


@pytest.mark.parametrize(
    ("analysis", "requirement", "reason"),
    [
        (run, "GPU energy <= 1mJ", "nothing shows the power of GPU"),
        (lambda: priced(BACK_TO_BACK, [0.0] * 10), "ANE energy <= 1mJ", "the rail reads zero"),
        (run, "ANE energy in Nix <= 1mJ", "no call has the model or label 'Nix'"),
        (
            lambda: priced(BACK_TO_BACK, [1000.0] * 10, other_calls=((1100, 1110),)),
            "ANE energy <= 1mJ",
            "a call's energy is of one model: add 'in' and one of Net, Other",
        ),
        (
            lambda: priced(BACK_TO_BACK, [1000.0], step=2000),
            "ANE energy <= 1mJ",
            "no sample lies inside of a run of calls",
        ),
    ],
)
def test_what_no_recording_shows_is_not_measurable(analysis, requirement: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    (result,) = check(analysis(), requirement)
    assert result.outcome == "not measurable"
    assert reason in result.actual.missing
    assert choose_exit_code([result.outcome]) == 5


def test_json_has_the_energy() -> None:
    document = json.loads(to_json(check(run(), "ANE energy <= 25mJ"), "literal"))
    jsonschema.validate(document, json.loads(SCHEMA.read_text("utf-8")))
    assert document["results"][0]["actual"]["unit"] == "mJ"
