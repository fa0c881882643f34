"""The groups of calls whose lengths are stated apart."""

from __future__ import annotations

from typing import Any

from view_support import MS, UI, analyze, prediction, trace_of, with_evidence

from tracekit import Analysis
from tracekit.report.analysis.lengths import lengths_of_groups
from tracekit.report.analysis.markdown import to_markdown
from tracekit.report.analysis.text import to_text


def calls_of_length(*lengths: tuple[str, float]) -> Analysis:
    """Return a run with a call of each model and length in ms, "" for no model."""
    rows: list[Any] = [
        prediction(100 * index, 100 * index + length, model) for index, (model, length) in enumerate(lengths)
    ]
    return analyze(with_evidence(trace_of([(0.0, "main", UI), (900.0, "main", UI)]), rows))


def test_calls_without_a_model_are_a_group_beside_a_model() -> None:
    analysis = calls_of_length(("Enc", 20), ("", 67), ("Enc", 20), ("Enc", 20))
    groups = lengths_of_groups(analysis)
    assert {name: (group.windows, group.p99_ns) for name, group in groups.items()} == {
        "Enc": (3, 20 * MS),
        "calls without a model": (1, 67 * MS),
    }
    assert "p99 67" not in to_text(analysis)
    assert "calls without a model" in to_text(analysis)
    assert "| calls without a model | 1 | 67.0 ms" in to_markdown(analysis)


def test_a_single_group_is_not_stated_twice() -> None:
    assert lengths_of_groups(calls_of_length(("Enc", 20), ("Enc", 30))) == {}
    assert lengths_of_groups(calls_of_length(("", 20), ("", 30))) == {}
    assert list(lengths_of_groups(calls_of_length(("B", 20), ("A", 30)))) == ["A", "B"]
