"""The options of an analysis as one type: to and from objects, to arguments, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tracekit.analysis.windows.choose import WINDOW_SOURCES
from tracekit.cli import analysing, main
from tracekit.cli.analysis_options import NAMES, SOURCES, AnalysisOptions, hash_values
from tracekit.errors import UsageError

ALL: dict[str, Any] = {
    "compute-units": "cpuOnly",
    "markers": "rules.toml",
    "model": ["Encoder.mlpackage"],
    "offset": "-200ms",
    "plan": ["Encoder=analytics.mil", "plan.json"],
    "process": "App",
    "run": 2,
    "samples": "time-sample",
    "thread": "0x1f",
    "window": ["1ms-2ms", "3ms-4ms"],
    "windows-csv": "calls.csv",
    "with": ["app.log", "power.txt"],
}


def test_options_pass_through_an_object_unchanged() -> None:
    options = AnalysisOptions.from_values(ALL)
    assert options.values() == ALL
    assert AnalysisOptions.from_values(json.loads(json.dumps(options.values()))) == options


def test_defaults_and_empty_values_are_left_out() -> None:
    assert AnalysisOptions.from_values({"run": "", "window": [], "windows": "auto"}).values() == {}


def test_the_id_of_values_does_not_depend_on_their_order() -> None:
    assert hash_values(ALL) == hash_values(dict(reversed(ALL.items())))
    assert hash_values(ALL) != hash_values({**ALL, "run": 3})
    assert len(hash_values({})) == 16


def test_the_names_are_those_of_the_command_line() -> None:
    @click.command()
    @analysing.add_analysis_choices
    def command(options: AnalysisOptions) -> None:
        click.echo(json.dumps(options.values()))

    assert {name for option in command.params for name in option.opts} == {
        f"--{name}" for name in NAMES.values()
    }
    shown = CliRunner().invoke(command, AnalysisOptions.from_values(ALL).to_arguments())
    assert json.loads(shown.output) == ALL
    analyze = main.get_command(click.Context(main), "analyze")
    assert analyze is not None
    assert {f"--{name}" for name in NAMES.values()} <= {name for each in analyze.params for name in each.opts}


def test_the_sources_of_windows_are_those_of_the_analysis() -> None:
    assert SOURCES == WINDOW_SOURCES


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"runs": 1}, "'runs' is no option of an analysis. The options are compute-units, markers,"),
        ({"run": "0"}, "run is the number of a run, from 1 on, not '0'."),
        ({"run": True}, "not 'True'"),
        ({"run": "9" * 5_000}, "run is the number of a run"),
        ({"process": ["App"]}, "process is a text, not '['App']'."),
        ({"thread": "x" * 1_001}, "thread has 1,001 characters; it takes 1,000."),
        ({"thread": "a\0"}, "thread has a character that no name has."),
        ({"windows": "best"}, "windows is one of auto, coreml,"),
        ({"samples": "\x1b[31m"}, "samples is one of time-profile"),
        ({"window": ["5ms-1ms"]}, "does not end after it starts"),
        ({"window-signpost": ["a/b/c"] * 1_001}, "window-signpost is given 1,001 times"),
        ({"window": ["1ms-2ms"], "windows": "coreml"}, "Choose calls in one way"),
        ({"window-signpost": ["a/b/c"], "windows-csv": "x"}, "Choose calls in one way"),
    ],
)
def test_refused_values(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        AnalysisOptions.from_values(values)
    assert sentence in str(error.value)
    assert "\x1b" not in str(error.value)


def test_an_offset_is_a_time_with_a_sign() -> None:
    offsets = {"1.5s": 1_500_000_000, "-200ms": -200_000_000, "+2h": 7_200_000_000_000, "1m": 60_000_000_000}
    assert {text: AnalysisOptions(overlays=("a",), offset=text).offset_ns for text in offsets} == offsets
    for text in ("soon", "5", "1e3s", "9999999h", "--1s"):
        with pytest.raises(UsageError, match="--offset is a time such as"):
            AnalysisOptions(overlays=("a",), offset=text).check()
    with pytest.raises(UsageError, match="moves the texts of --with"):
        AnalysisOptions(offset="1s").check()
