"""The view that all exporters share: names that every consumer can hold, samples that are alike as one."""

from __future__ import annotations

import pytest
from export_support import HOSTILE, RECORDINGS, two_windows, window
from random_samples import random_analysis
from sample_recordings import sample_analysis
from trace_support import ANE, MS, UI, trace_of

from tracekit import analyze
from tracekit.errors import InputError, UsageError
from tracekit.export.export_view import MAX_NAME, ROOTS, ExportView, clean, find_sample_windows, parse_roots
from tracekit.model import combinations as model_combinations
from tracekit.model.vocabulary import ENGINES, PHASES

pytestmark = pytest.mark.integration


def test_alike_samples_become_one_group_with_their_weight() -> None:
    samples = [(0.0, "main", ANE), (1.0, "main", ANE, 4 * MS), (2.0, "main", UI), (3.0, "other", ANE)]
    groups = ExportView(analyze(trace_of(samples), windows=[window(0, 2, "a")])).groups
    engines = [ENGINES[code] for code in groups.engine]
    phases = [PHASES[code] if code >= 0 else None for code in groups.phase]
    rows = list(zip(groups.thread.tolist(), engines, phases, groups.window.tolist(), strict=True))
    assert list(zip(rows, groups.samples.tolist(), groups.weight.tolist(), strict=True)) == [
        ((0, "ANE", "dispatch", 0), 2, 5 * MS),
        ((0, "OTHER", None, -1), 1, MS),
        ((1, "ANE", "dispatch", -1), 1, MS),
    ]


def test_what_is_not_requested_does_not_tear_groups() -> None:
    view = ExportView(two_windows())
    assert len(view.group_samples(())) == 5
    assert len(view.group_samples(("window",))) == 5
    assert set(view.group_samples(("engine",)).window.tolist()) == {-1}
    assert view.group_samples(()).weight.sum() == view.trace.weights.sum()


def test_of_several_windows_a_sample_has_the_one_that_began_last() -> None:
    trace = trace_of([(1.0, "main", UI), (6.0, "main", UI), (9.0, "main", UI), (40.0, "main", UI)])
    windows = [window(0, 30, "outer"), window(5, 30, "long"), window(5, 8, "short")]
    analysis = analyze(trace, windows=windows)
    labels = analysis.window_rows["label"].tolist()
    window_ids = find_sample_windows(analysis).tolist()
    assert [labels[window_id] if window_id >= 0 else None for window_id in window_ids] == [
        "outer",
        "short",
        "long",
        None,
    ]


@pytest.mark.parametrize("name", RECORDINGS)
def test_groups_hold_every_sample_and_weight_by_engine(name: str) -> None:
    analysis = sample_analysis(name)
    groups = ExportView(analysis).groups
    assert (groups.samples.sum(), groups.weight.sum()) == (
        len(analysis.trace.samples),
        analysis.trace.weights.sum(),
    )
    for code, engine in enumerate(ENGINES):
        stated = analysis.totals.loc[analysis.totals["engine"] == engine, "weight"].sum()
        assert groups.weight[groups.engine == code].sum() == stated
    outside = analysis.members.find_outside(len(analysis.trace.samples))
    assert groups.samples[groups.window < 0].sum() == len(outside)


def test_names_are_printable_bounded_and_never_empty() -> None:
    assert clean(HOSTILE) == "</script>;\\n\\x1b[31m\\u202e\\x00 7"
    assert clean("\ud800") == "\\ud800"
    assert clean("") == "(no name)"
    assert clean("x" * 1_000_000) == "x" * (MAX_NAME - 1) + "…"
    assert clean("y" * MAX_NAME) == "y" * MAX_NAME


def test_weights_beyond_int64_are_an_error_and_not_a_wrong_sum() -> None:
    trace = trace_of([(0.0, "main", ANE, 2**62), (1.0, "main", ANE, 2**62)], "events")
    with pytest.raises(InputError, match="2\\^63"):
        ExportView(analyze(trace, windows="stacks"))


def test_roots() -> None:
    assert parse_roots("engine, window") == ("engine", "window")
    assert parse_roots("none") == ()
    for wrong in ("engine,fruit", "engine,engine", ""):
        with pytest.raises(UsageError):
            parse_roots(wrong)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("names", [("stack",), ("stack", "engine", "phase"), ROOTS[1:], ()])
def test_combinations_are_sorted_and_every_sample_has_its_own(
    seed: int, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = ExportView(random_analysis(seed))
    columns = view.sample_columns()
    rows = list(zip(*(columns[name].tolist() for name in names), strict=True)) or [()] * len(view.times)
    expected = sorted(set(rows))
    samples, number = view.combine_equal_samples(names)
    assert [rows[sample] for sample in samples.tolist()] == expected
    assert [expected[position] for position in number.tolist()] == rows
    monkeypatch.setattr(model_combinations, "_MAX_NUMBER", 8)  # as if 64 bits had no room for another column
    again = view.combine_equal_samples(names)
    assert [rows[sample] for sample in again[0].tolist()] == expected
    assert again[1].tolist() == number.tolist()
