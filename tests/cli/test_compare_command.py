"""``tracekit compare`` as a user drives it, and its outputs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from documents_support import TIME_PROFILE, one_table, strict, write
from jsonschema import Draft202012Validator

from tracekit import analyze, compare
from tracekit.cli import main
from tracekit.load import open_trace
from tracekit.report.comparison.json import to_json
from tracekit.report.comparison.markdown import to_markdown
from tracekit.report.comparison.text import to_text

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
FALLBACK = str(SAMPLES / "fallback-midway-ios27")
ANE = str(SAMPLES / "ane-intervals-macos26")
SCHEMA = json.loads((ROOT / "docs" / "tracekit-compare-1.schema.json").read_text())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


def test_a_recording_and_itself() -> None:
    result = run(FALLBACK, FALLBACK)
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "? No change in these recordings. BASE and NEW are the same recording. In these recordings\n"
        "  SpeechEncoder p50 is the same: 25.900 ms. Every engine has the same share of the calls."
    )
    assert "  No function differs.\n" in result.stdout
    assert "one run per side" in result.stdout
    assert "fallback-midway-ios27, run 1; Synthetic iPhone; iOS 27.0 (24A300); Time Profiler" in result.stdout


def test_the_text_fits_a_terminal() -> None:
    text = run(FALLBACK, ANE).stdout
    assert max(len(line) for line in text.splitlines()) <= 115
    assert "different devices: Synthetic iPhone in BASE, Synthetic Mac in NEW (different-device)" in text
    assert "not measurable, calls come from coreml-os-signpost in BASE and from signpost in NEW" in text
    assert "SpeechEncoder, from coreml-os-signpost: only in BASE, 12 calls" in text


def write_plans(folder: Path) -> list[str]:
    """Write two plans of a model whose second operation moves to the CPU; return their paths."""
    paths = []
    for name, device in (("old", "ANE"), ("new", "CPU")):
        operations = [
            {"op": kind, "name": f"{name}_{kind}", "preferred": preferred, "inputs": [value]}
            | {"outputs": [kind]}
            for kind, preferred, value in (("conv", "ANE", "image"), ("gather", device, "conv"))
        ]
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"schema": "tracekit-plan/1", "functions": {"main": operations}}))
        paths.append(str(path))
    return paths


def test_plans_show_what_moved_beside_the_lengths(tmp_path: Path) -> None:
    plans = write_plans(tmp_path)
    text = run(FALLBACK, FALLBACK, "--plans", *plans).stdout
    assert text.startswith("? No change in these recordings.")
    moved = text.index("1 of 2 operations in both plans moved: 1 from the Neural Engine to the CPU.")
    assert text.index("Parts of a call") < moved < text.index("Findings: gone, new and remaining")
    assert "gather new_gather: Neural Engine → CPU; no reason stated" in text
    assert "Nothing shows that the recordings ran by these plans." in text
    document = json.loads(run(FALLBACK, FALLBACK, "--plans", *plans, "--format", "json").stdout)
    Draft202012Validator(strict(SCHEMA)).validate({**document, "plans": None})
    schema = json.loads((ROOT / "docs" / "tracekit-plan-differences-1.schema.json").read_text())
    Draft202012Validator(strict(schema)).validate(document["plans"])
    assert [pair["moved"] for pair in document["plans"]["functions"][0]["matched"]] == [False, True]
    for file_format in ("markdown", "html"):
        output = run(FALLBACK, FALLBACK, "--plans", *plans, "--format", file_format).stdout
        assert "1 of 2 operations in both plans moved" in output


def test_a_plan_that_cannot_be_read_ends_before_the_recordings(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("something else")
    result = run("missing.trace", "missing.trace", "--plans", *[str(tmp_path / "other")] * 2)
    assert result.exit_code == 3
    assert "is no plan of a kind that tracekit reads" in result.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--fail-on", "p90 > +0%"], 5),
        (["--fail-on", "mean > +0%", "--open", "pass"], 0),
        (["--fail-on", "mean > +0%", "--open", "fail"], 1),
        (["--fail-on", "MIXED share > +10 points", "--run-noise", "2%"], 1),
        (["--fail-on", "MIXED share < -10 points", "--run-noise", "2"], 0),
        (["--fail-on", "p90 > +10%", "--run-noise", "2%", "--open", "pass"], 5),
    ],
)
def test_exit_codes(options: list[str], code: int) -> None:
    new = FALLBACK if {"p90 > +0%", "mean > +0%"} & {*options} else ANE
    assert run(FALLBACK, new, *options).exit_code == code


def test_deadlines_are_compared_and_required() -> None:
    result = run(FALLBACK, FALLBACK, "--deadline", "26.5ms", "--deadline", "500us", "--format", "json")
    document = json.loads(result.stdout)
    late = {row["metric"]: row for row in document["groups"][0]["rows"] if row["metric"].startswith("calls")}
    assert {name: row["base"]["value"] for name, row in late.items()} == {
        "calls > 0.5ms": 1.0,
        "calls > 26.5ms": 0.5,
    }
    required = ("--fail-on", "calls > 27ms > +30 points", "--run-noise", "1%")
    assert run(FALLBACK, FALLBACK, *required).exit_code == 5
    assert run(FALLBACK, FALLBACK, *required, "--open", "pass").exit_code == 0
    wrong = run(FALLBACK, FALLBACK, "--deadline", "soon")
    assert (wrong.exit_code, "'soon' is not a time such as 16.7ms or 500us." in wrong.stderr) == (2, True)


def test_the_energy_of_texts_beside_the_recordings(tmp_path: Path) -> None:
    moments = [f"2026-01-01T12:00:00.{10 * number:03d}000+00:00" for number in range(1, 60)]
    inputs = []
    for name, watts in (("base", 1.0), ("new", 1.5)):
        shutil.copytree(SAMPLES / "coreai-thirteen-regions-macos27", tmp_path / name)
        lines = [f'{{"timestamp": "{moment}", "ane_power": {watts}}}\n' for moment in moments]
        (tmp_path / f"{name}.power.txt").write_text("".join(lines))
        inputs.append(str(tmp_path / name))
    document = json.loads(run(*inputs, "--with-companions", "--format", "json").stdout)
    (energy,) = [row for row in document["groups"][0]["rows"] if row["metric"] == "ANE energy"]
    assert energy["new"]["value"] == pytest.approx(1.5 * energy["base"]["value"])
    (tmp_path / "new.power.txt").unlink()
    missing = run(*inputs, "--with-companions")
    assert missing.exit_code == 3
    assert (
        "new.power.txt or new.log.ndjson or new.usage.ndjson or new.presence.ndjson is missing"
        in missing.stderr
    )


def test_recordings_show_the_noise() -> None:
    names = ("concurrent-models-ios27", "fallback-midway-ios27")
    noise = [part for name in names for part in ("--noise-from", str(SAMPLES / name))]
    document = json.loads(run(FALLBACK, ANE, *noise, "--format", "json").stdout)
    assert document["noise_runs"] == 2
    assert "noise-recordings" in [caution["code"] for caution in document["cautions"]]
    (share,) = [row for row in document["groups"][0]["rows"] if row["metric"] == "MIXED share"]
    assert share["tested"] == "between runs"


GPU = str(SAMPLES / "gpu-espresso-macos13")
SILENT = str(SAMPLES / "foundation-models-macos27")


def test_a_share_of_windows_of_unknown_engine_is_not_measurable() -> None:
    result = run(GPU, SILENT, SILENT, "--fail-on", "CPU share > +5 points")
    assert result.exit_code == 5
    assert "NEW: no call has a known engine" in result.stdout


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_how_many_windows_a_number_rests_on_is_shown(format_: str) -> None:
    result = run(FALLBACK, FALLBACK, "--fail-on", "CPU busy > +1%", "--format", format_)
    assert result.exit_code == 5
    assert (
        "6 of 12 calls in BASE and 6 of 12 in NEW show it, and the number covers only these" in result.stdout
    )


def test_the_run_that_lacks_a_table_is_named() -> None:
    new = str(SAMPLES / "concurrent-models-ios27")
    result = run(FALLBACK, FALLBACK, "--base", new, "--fail-on", "CPU busy > +1%")
    assert result.exit_code == 5
    assert "BASE: concurrent-models-ios27, run 1: no table measured the CPU" in result.stdout


def test_a_recording_that_is_given_twice_is_a_caution_on_stderr_beside_a_file(tmp_path: Path) -> None:
    result = run(FALLBACK, FALLBACK, "--fail-on", "p90 > +1%", "-o", str(tmp_path / "out.json"))
    assert result.exit_code == 5
    assert "caution: the same recording is given twice or more: fallback-midway-ios27, run 1" in result.stderr


def test_reasons_of_a_gate_stand_first_and_on_stderr_beside_a_file(tmp_path: Path) -> None:
    gate = ("--fail-on", "MIXED share > +10 points", "--run-noise", "2%")
    text = run(FALLBACK, ANE, *gate).stdout
    assert "FAILED          MIXED share > +10 points\n" in text.split("BASE  ")[0]
    output = str(tmp_path / "out.md")
    result = run(FALLBACK, ANE, *gate, "-o", output)
    assert result.exit_code == 1
    assert result.stderr.endswith("failed: MIXED share > +10 points\n")
    assert Path(output).read_text().startswith("## Comparison\n")


def test_several_runs_are_repetitions() -> None:
    other = str(SAMPLES / "concurrent-models-ios27")
    document = json.loads(run(FALLBACK, ANE, ANE, "--base", other, "--format", "json").stdout)
    assert [len(document[side]["runs"]) for side in ("base", "new")] == [2, 1]  # a copy counts once
    codes = [caution["code"] for caution in document["cautions"]]
    assert "one-run-on-one-side" in codes
    assert "one-run" not in codes


def test_runs_of_one_bundle_can_be_compared() -> None:
    missing = run(FALLBACK, FALLBACK, "--new-run", "2")
    assert missing.exit_code == 2
    assert run(FALLBACK, FALLBACK, "--base-run", "1", "--new-run", "1").exit_code == 0


def test_the_json_validates() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(strict(SCHEMA))
    for new in (FALLBACK, ANE):
        arguments = [
            FALLBACK,
            new,
            "--fail-on",
            "p90>+10%",
            "--fail-on",
            "p50 in Other > +1%",
            "--format",
            "json",
        ]
        document = json.loads(run(*arguments).stdout)
        validator.validate(document)
        assert [result["outcome"] for result in document["fail_on"]][1] == "not measurable"
    for name in ("cpu-profile-ane-macos26", "foundation-models-macos27", "concurrent-models-ios27"):
        validator.validate(json.loads(run(FALLBACK, str(SAMPLES / name), "--format", "json").stdout))


def test_no_path_of_the_machine_is_in_the_output() -> None:
    for name in ("text", "markdown", "json"):
        assert str(ROOT) not in run(FALLBACK, ANE, "--format", name).stdout


HOSTILE = "a|b @someone #12 [x](http://e.vil) www.e.vil <img onerror=x> `c` **d**\n## e\x1b\u202e\ud800"


def test_hostile_text_is_shown_and_does_nothing() -> None:
    analysis = analyze(open_trace(FALLBACK))
    names = pd.Series([HOSTILE] * len(analysis.window_rows), dtype=object)
    evil = replace(
        analysis,
        window_rows=analysis.window_rows.assign(model=names, label=names),
        trace=replace(analysis.trace, info=replace(analysis.trace.info, name=HOSTILE, device=HOSTILE)),
    )
    comparison = compare([evil], [evil])
    markdown = to_markdown(comparison)
    assert "<img" not in markdown
    assert "@someone" not in markdown
    assert "http:" not in markdown
    assert "www." not in markdown
    assert "\n## e" not in markdown
    assert "&lt;img onerror=x&gt;" in markdown
    assert re.search(r"(?<!\\)\*\*d", markdown) is None
    explained = compare([evil], [analysis])  # the hostile device stands in a caution
    for text in (markdown, to_text(comparison), to_text(explained), to_markdown(explained)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        text.encode("utf-8")
    assert json.loads(to_json(comparison))["base"]["runs"][0]["name"] == HOSTILE


def test_a_table_of_markdown_keeps_its_columns() -> None:
    lines = run(FALLBACK, ANE, "--format", "markdown").stdout.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    counts = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert counts == {9, 8, 7}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-", "-"], 2, "Standard input can be one of the recordings, not several."),
        ([FALLBACK, "nowhere.trace"], 3, "nowhere.trace"),
        (
            [FALLBACK, FALLBACK, "--fail-on", "p90 > 10%"],
            2,
            "a change needs a sign: +10% or -10%.\n  p90 > 10%\n        ^",
        ),
        ([FALLBACK, FALLBACK, "--strict"], 2, "--strict needs --fail-on"),
        ([FALLBACK, FALLBACK, "--open", "pass"], 2, "--open needs --fail-on"),
        ([FALLBACK, FALLBACK, "--run-noise", "two"], 2, "'two' is not a percentage such as 2%."),
        ([FALLBACK, FALLBACK, "--run-noise", "p90=two"], 2, "'two' is not a percentage such as 2%."),
        ([FALLBACK, FALLBACK, "--run-noise", "max=2%"], 2, "another percentile or mean, not of 'max'"),
        (
            [FALLBACK, FALLBACK, "--run-noise", "2%", "--run-noise", "p50=3%"],
            2,
            "one spread for each percentile",
        ),
        ([FALLBACK, FALLBACK, "--min-change=-1%"], 2, "'-1%' is not between 0% and 100%."),
        ([FALLBACK, FALLBACK, "--noise-from", ANE], 2, "--noise-from needs two recordings or more"),
        ([FALLBACK, FALLBACK, "--noise-from", "nowhere"], 3, "nowhere: does not exist. Check the path."),
        ([FALLBACK, FALLBACK, "--noise-from", "n" * 999], 3, "n: does not exist. Check the path."),
        ([FALLBACK, ANE, "--noise-from", ANE, "--run-noise", "1"], 2, "by --run-noise or by --noise-from"),
        (
            [FALLBACK, FALLBACK, "--fail-on", "ANE share < -5"],
            2,
            "write '5 points' or a fraction.\n  ANE share < -5\n              ^",
        ),
        ([FALLBACK, FALLBACK, "-o", "x.docx"], 2, "the extension names no format"),
        ([FALLBACK], 2, "Missing argument"),
    ],
)
def test_bad_input(arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_recordings_without_windows_or_samples() -> None:
    result = run(
        str(SAMPLES / "text-addresses-ios16"), str(SAMPLES / "text-addresses-ios16"), "--windows", "run"
    )
    assert result.exit_code == 0
    assert "the only range is the whole run, so no call has a length" in result.stdout.replace(
        "\n  ", " "
    ).replace("\n    ", " ")


@pytest.mark.parametrize(
    ("sides", "subject"),
    [
        (("empty", "full"), "BASE has"),
        (("full", "empty"), "NEW has"),
        (("empty", "empty"), "BASE and NEW have"),
    ],
)
def test_a_side_without_windows_is_named(sides: tuple[str, str], subject: str, tmp_path: Path) -> None:
    empty = write(tmp_path, one_table("time-profile", TIME_PROFILE))
    inputs = {"empty": empty, "full": FALLBACK}
    result = run(*(inputs[side] for side in sides))
    assert result.stdout.startswith(
        f"? No difference shown. Inferences cannot be compared: {subject} no calls."
    )
