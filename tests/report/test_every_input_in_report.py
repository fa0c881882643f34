"""The report of every kind of input starts in a browser, whatever it has: times, calls, samples, or none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from every_input import INPUTS, TEXTS
from page_support import Opened

import tracekit
from tracekit.parsers.text.kinds import KINDS


def test_there_is_an_input_of_each_kind_of_text() -> None:
    assert set(TEXTS) == {kind.name for kind in KINDS}


@pytest.mark.parametrize("kind", INPUTS)
def test_the_report_of_an_input_starts(kind: str, opened: Opened, tmp_path: Path) -> None:
    analysis = tracekit.analyze(tracekit.open_trace(INPUTS[kind](tmp_path)))
    tab = opened(text=analysis.to_html())
    tab.wait_for_selector("html[data-ready]", timeout=20_000)
    assert tab.locator(".problem:visible").count() == 0
    assert tab.get_by_text("Loading …").count() == 0
