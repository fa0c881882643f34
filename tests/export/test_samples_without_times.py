"""Samples without times in the formats of other tools: counts stay counts, and no time is invented."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner
from thread_support import ELSEWHERE, ON_ANE, SAMPLE_TEXT, Thread, text_trace

import tracekit
from tracekit import Analysis
from tracekit.cli import main
from tracekit.errors import UsageError
from tracekit.export.firefox import write_firefox
from tracekit.export.flat_tables import write_csv
from tracekit.export.folded import write_folded
from tracekit.export.perfetto import write_perfetto
from tracekit.export.speedscope import write_speedscope


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return tracekit.analyze(text_trace(Thread("Main", ON_ANE, 413), Thread("Other", ELSEWHERE, 1000)))


def written(write: Callable[..., None], analysis: Analysis, **options: Any) -> str:
    out = io.BytesIO()
    write(analysis, out, **options)
    return out.getvalue().decode()


def test_folded_stacks_have_the_samples_as_weights(analysis: Analysis) -> None:
    weights = [line.rsplit(" ", 1)[1] for line in written(write_folded, analysis).splitlines()]
    assert sorted(weights) == ["1000", "413"]


def test_speedscope_has_counts_and_no_unit_of_time(analysis: Analysis) -> None:
    profiles = json.loads(written(write_speedscope, analysis))["profiles"]
    assert {profile["unit"] for profile in profiles} == {"none"}
    assert sorted(sum(profile["weights"]) for profile in profiles) == [413, 1000]


def test_csv_has_the_samples_of_each_row_and_no_time(analysis: Analysis) -> None:
    header, *rows = (line.split(",") for line in written(write_csv, analysis).splitlines())
    assert header[:2] == ["time_ns", "samples"]
    assert sorted((row[0], row[1]) for row in rows) == [("", "1000"), ("", "413")]


@pytest.mark.parametrize("write", [write_perfetto, write_firefox])
def test_formats_that_draw_over_time_are_refused_in_a_sentence(
    write: Callable[[Analysis, IO[bytes]], None], analysis: Analysis
) -> None:
    out = io.BytesIO()
    with pytest.raises(UsageError, match=r"dump\.txt has no times, and .*Choose folded"):
        write(analysis, out)
    assert out.getvalue() == b""


def test_there_is_no_timeline_to_draw(analysis: Analysis) -> None:
    with pytest.raises(UsageError, match="has no times, so there is no timeline"):
        analysis.timeline()


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "MyApp.txt"
    path.write_text(SAMPLE_TEXT)
    return str(path)


@pytest.mark.parametrize("options", [(), ("--redact",)])
def test_a_pack_of_a_text_has_the_same_answer(options: tuple[str, ...], text: str, tmp_path: Path) -> None:
    pack = str(tmp_path / "p.tracekit.zip")
    result = CliRunner().invoke(main, ["pack", text, "-o", pack, *options])
    assert result.exit_code == 0, result.output
    original, packed = (tracekit.analyze(tracekit.open_trace(path)) for path in (text, pack))
    assert packed.headline == original.headline
    assert original.headline.startswith("Of 1,000 samples of 2 threads of MyApp, 413 waited for the Neural")
    assert packed.thread_work == original.thread_work


@pytest.mark.parametrize(
    "requirement",
    ["p50 < 20ms", "ANE used share == 100%", "no finding no-model-seen", "no finding fell-back"],
)
def test_requirements_about_calls_are_not_measurable(requirement: str, text: str) -> None:
    result = CliRunner().invoke(main, ["check", text, "--require", requirement])
    assert (result.exit_code, "not measurable" in result.output) == (5, True)


@pytest.mark.parametrize("options", [("--window", "1ms-2ms"), ("--windows", "stacks")])
def test_windows_are_refused_with_exit_code_2(options: tuple[str, ...], text: str) -> None:
    result = CliRunner().invoke(main, ["analyze", text, *options])
    assert result.exit_code == 2
    assert "MyApp.txt has no times, so no call in it has a beginning or an end." in result.output


def test_a_notebook_shows_the_threads(analysis: Analysis) -> None:
    shown = analysis._repr_html_()
    assert "ExecuteSync() in Espresso" in shown
    assert "1,413 samples of stack-counts" in repr(analysis.trace)
