"""The charts of a comparison: each difference at its place, with its interval, limits and direction in words."""

from __future__ import annotations

import re
from typing import Any

from tracekit.checks.requirements import ChangeRule
from tracekit.checks.results import ChangeResult
from tracekit.comparison.result import Difference, Group, Value
from tracekit.report.html.forest import charts


def difference(metric: str, base: float, new: float, judgement: Any = "higher", **more: Any) -> Difference:
    unit = more.pop("unit", "ns")
    low, high = more.pop("ends", (None, None))
    sides = [Value(value, 9, 9, "measured") for value in (base, new)]
    return Difference(metric, unit, *sides, new - base, low, high, judgement, **more)


def drawn(*rows: Difference, changes: tuple[ChangeRule, ...] = (), min_change: float = 0.01) -> str:
    group = Group("model", "Encoder", "", 9, 9, rows)
    results = [ChangeResult(change, "passed", "", group) for change in changes]
    return str(charts(group, rows, min_change, results) or "")


def texts(markup: str) -> list[str]:
    lines = re.findall(r"<li .*?</li>", markup)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", line)).strip() for line in lines]


def test_a_longer_time_is_worse_and_a_shorter_one_better() -> None:
    slower = difference("p50", 20.0, 22.0, relative_low=0.05, relative_high=0.15, ends=(1.0, 3.0))
    faster = difference("p90", 20.0, 19.0, "lower in these recordings")
    few, on_grid = (
        difference("p99", 20.0, 21.0, "too few to tell"),
        difference("warm p50", 16.7, 33.3, "on a grid"),
    )
    markup = drawn(slower, faster, few, on_grid)
    assert texts(markup) == [
        "p50 ▲ worse: +10.0 % (+5.0 … +15.0)",
        "p90 ▼ better in these recordings: -5.0 %",
    ]
    assert "left is shorter, better, right is longer, worse." in markup and "<span>+20 %</span>" in markup
    # An axis to ±20 %: +10 % is at three quarters, the interval from +5 % to +15 %.
    assert 'cx="75.00%"' in markup and 'x1="62.50%" x2="87.50%"' in markup
    assert 'class="forest-band" x="47.50%"' in markup  # ±1 %
    assert re.findall(r'<li class="forest-(\w+)"', markup) == ["more", "less"]
    assert "Too few independent calls for an interval: p99." in markup
    assert "Not tested, because lengths are on a grid: warm p50." in markup


def test_work_and_shares_have_no_worse_side() -> None:
    work = difference("CPU busy", 10.0, 40.0)
    share = difference("ANE busy share", 0.3, 0.73, unit="share", ends=(0.2, 0.6), relative_low=0.5)
    markup = drawn(work, difference("GPU busy", 0.0, 5.0), share)
    assert texts(markup) == [
        "ANE busy share ▲ larger: +43.0 pts (+20.0 … +60.0)",
        "CPU busy ▲ more: +300.0 %",
    ]
    assert "worse" not in markup and "BASE has none of: GPU busy." in markup
    assert 'cx="71.50%"' in markup  # of an axis from -100 to +100 points


def test_limits_are_lines_on_the_axis() -> None:
    wide = difference("p50", 100.0, 101.0, "within the noise", relative_low=-0.12, relative_high=0.18)
    relative = ChangeRule("p50 > 5 %", "p50", ">", 0.05, relative=True)
    absolute = ChangeRule("p50 > 4 ns", "p50", ">", 4.0, relative=False)
    markup = drawn(wide, changes=(relative, absolute))
    assert texts(markup) == ["p50 ○ may be chance: +1.0 % (-12.0 … +18.0), limit +5 %, limit +4 %"]
    assert markup.count('class="forest-limit"') == 2 and 'class="forest-limit" x1="62.50%"' in markup


def test_one_outlier_does_not_set_the_axis() -> None:
    lines = [difference(name, 20.0, 21.0, relative_low=0.01, relative_high=0.09) for name in ("p50", "p90")]
    compiled = difference("compile", 1.0, 21.0)
    long = difference("first", 20.0, 21.0, "within the noise", relative_low=-0.9, relative_high=3.0)
    markup = drawn(*lines, long, compiled)
    assert "<span>+10 %</span>" in markup
    assert 'cx="75.00%"' in markup and 'x1="55.00%" x2="95.00%"' in markup
    # The interval of the third goes on at both ends, the fourth is a point beyond the axis, with its number.
    assert markup.count('class="forest-beyond"') == 3 and markup.count("<circle") == 3
    assert texts(markup)[3] == "compile ▲ worse: +2,000.0 % (beyond the axis)"


def test_an_engine_that_is_gone_has_both_numbers() -> None:
    gone = difference("CPU busy", 11.5e6, 0.0, "lower", relative_low=-1.0, relative_high=0.0)
    assert texts(drawn(gone)) == ["CPU busy ▼ less: 11.500 ms → 0, -100.0 % (-100.0 … +0.0)"]


def test_equal_numbers_are_the_same_only_in_two_recordings() -> None:
    here, between = (
        difference("p50", 20.0, 20.0, "within the noise", relative_low=-0.0, relative_high=0.1, tested=tested)
        for tested in ("within these recordings", "between runs")
    )
    assert texts(drawn(here, between)) == [
        "p50 = the same in these recordings: +0.0 % (+0.0 … +10.0)",
        "p50 = no difference: +0.0 % (+0.0 … +10.0)",
    ]


def test_nothing_to_draw() -> None:
    assert drawn(difference("p50", 0.0, 5.0)) == ""
