"""The energy of a call between runs: literal samples of power in, differences out."""

from __future__ import annotations

import pytest
from compare_support import row
from energy_support import BACK_TO_BACK, priced

from tracekit import Analysis, compare
from tracekit.checks.changes import check_changes
from tracekit.checks.parser import parse_change
from tracekit.report.comparison.decision import decide_outcome

pytestmark = pytest.mark.integration


def runs(watts: float, rail: str = "ANE", **facts: str) -> list[Analysis]:
    """Three runs of the same calls but for the last; the power of the device differs by 1 %."""
    return [
        priced([*BACK_TO_BACK, (1100, 1100 + level)], [1000 * level * watts] * 10, rail=rail, **facts)
        for level in (0.99, 1.0, 1.01)
    ]


def test_energy_is_compared_between_runs_by_a_factor() -> None:
    comparison = compare(runs(1.0), runs(1.2))
    energy = row(comparison, "ANE energy")
    # 1 W for the 20 ms from call to call; Student's t with 4 degrees of freedom: 2.776 × 1 % × sqrt(2/3).
    assert (energy.unit, energy.base.value, energy.new.value) == (
        "mJ",
        pytest.approx(19.98, abs=0.01),
        pytest.approx(23.98, abs=0.01),
    )
    assert (energy.judgement, energy.tested, energy.base.basis) == (
        "higher",
        "between runs",
        "inferred from powermetrics",
    )
    assert energy.relative_low == pytest.approx(0.173, abs=0.001)
    results = check_changes(
        comparison, [parse_change(text) for text in ("ANE energy > +10%", "ANE energy > +25%")]
    )
    assert [result.outcome for result in results] == ["failed", "passed"]
    assert decide_outcome(comparison) == "changed"
    text = " ".join(comparison.to_text().split())
    assert (
        "Energy of a call: Net ANE energy 23.975 mJ against 19.979 mJ (+20.0 %, 99.2 % interval +15.3 … +24.9 %)."
        in text
    )


def test_energy_of_one_side_or_one_run_is_not_tested() -> None:
    without = compare(runs(1.0), runs(1.0, rail="GPU"))
    assert not any(compared.unit == "mJ" for compared in without.groups[0].rows)
    single = compare(runs(1.0)[:1], runs(1.2)[:1])
    energy = row(single, "ANE energy")
    assert (energy.judgement, energy.low) == ("too few to tell", None)
    (result,) = check_changes(single, [parse_change("ANE energy > +10%")])
    assert result.reason == "too few for an interval: 1 run on a side"


def test_estimates_of_different_tools_are_not_subtracted() -> None:
    energy = row(compare(runs(1.0), runs(1.2, tool="macmon")), "ANE energy")
    assert (energy.difference, energy.judgement) == (None, "not measurable")
    assert energy.base.missing.startswith(
        "inferred from powermetrics in BASE and inferred from macmon in NEW"
    )
