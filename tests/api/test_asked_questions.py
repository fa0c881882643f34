"""Questions to a recording from Python: the list as a frame, and one reply as a notebook shows it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import tracekit
from tracekit import Analysis
from tracekit.cli import main
from tracekit.errors import NotMeasurableError, UsageError

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "waiting-app-ios27"


@cache
def waiting() -> Analysis:
    return tracekit.analyze(tracekit.open_trace(SAMPLE))


def test_the_frame_has_an_answer_or_a_reason_for_each_question() -> None:
    frame = waiting().recipes().set_index("recipe")
    assert list(frame.columns) == ["question", "answer", "reason", "step"]
    assert (frame["answer"].isna() == frame["reason"].notna()).all()
    assert frame.loc["slow-call", "answer"].startswith("Call 4 of Segmenter took 24.9 ms")
    assert frame.loc["requested-engine", "step"] == "Name what the app requests with --compute-units."
    assert frame.loc["energy", "reason"] == "nothing in it measures power"
    assert pd.isna(frame.loc["energy", "step"])


@pytest.mark.parametrize("arguments", [["engines"], ["slow-call", "--call", "Tagger/3"], ["idle"]])
def test_a_reply_is_the_text_of_the_command(arguments: list[str]) -> None:
    name, *options = arguments
    reply = waiting().ask(name, call="Tagger/3" if options else "")
    written = CliRunner().invoke(main, ["recipe", name, str(SAMPLE), *options]).output
    assert words_of(reply.to_text())[:30] == words_of(written)[:30]
    assert repr(reply) == reply.to_text()
    assert reply.to_markdown().startswith(f"**{reply.to_text()[:15]}")


def words_of(text: str) -> list[str]:
    return text.split()


def test_a_notebook_shows_a_reply_in_a_frame_without_scripts() -> None:
    html = waiting().ask("slow-call")._repr_html_()
    assert html.startswith("<iframe sandbox srcdoc=")
    assert "Call 4 of Segmenter took 24.9 ms" in html


def test_another_recording_is_the_base_of_a_change() -> None:
    assert waiting().ask("slower", base=waiting()).to_text().startswith("BASE and NEW are the same recording")


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("energy", {}, NotMeasurableError, "nothing in it measures power"),
        ("slower", {}, NotMeasurableError, "it takes a second recording"),
        ("egnines", {}, UsageError, "Similar names: engines"),
        ("engines", {"call": "Tagger/1"}, UsageError, "takes no call"),
        ("slow-call", {"call": "Tagger/99"}, UsageError, "its calls are 1 to 6"),
    ],
)
def test_a_question_without_a_reply_raises_the_reason(
    name: str, options: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        waiting().ask(name, **options)
