"""The program that publishes the error rates of changes, in small: the rule keeps what the docs promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
RATES = runpy.run_path(str(ROOT / "benchmarks" / "change_rates.py"))


def test_five_runs_at_two_percent_show_five_percent_within_two_builds() -> None:
    row = RATES["lengths_cell"](0.02, 5, series=150, builds=120)
    assert row["+5 % in 2"] >= 90
    assert row["false gauss"] <= 1
    assert row["false outliers"] <= 1


def test_one_run_at_five_percent_does_not_show_five_percent() -> None:
    row = RATES["lengths_cell"](0.05, 1, series=100, builds=60)
    assert row["+5 % in 5"] <= 20


@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_an_engine_that_changes_is_found_and_an_unknown_one_is_not(unknown: float) -> None:
    row = RATES["engines_cell"](1.0, 20, 5, unknown, series=50)
    assert (row["at its build"], row["false before"]) == (100, 0)
    small = RATES["engines_cell"](0.2, 20, 5, 0.5, series=50)
    assert small["at its build"] == 0


@pytest.mark.parametrize("pattern", ["step_function", "regression_fix", "multiple_changes"])
def test_the_steps_of_an_independent_generator_are_found(pattern: str) -> None:
    row = RATES["pattern_cell"](pattern, 20, 1.0)
    assert row["in 2"] >= 95
    assert row["other alarms per 1,000"] <= 2


@pytest.mark.parametrize("pattern", ["constant", "outlier", "noise_uniform"])
def test_an_independent_generator_without_steps_raises_few_alarms(pattern: str) -> None:
    assert RATES["pattern_cell"](pattern, 20, 1.0)["other alarms per 1,000"] <= 2


def test_the_docs_have_the_rates_of_the_program() -> None:
    text = (ROOT / "docs" / "statistics.md").read_text("utf-8")
    begin, end = "<!-- changes over builds: make calibrate -->", "<!-- end of changes over builds -->"
    tables = text.partition(begin)[2].partition(end)[0]
    assert all(title in tables for title in RATES["TITLES"].values())
    assert "| 2 | 5 |" in tables
