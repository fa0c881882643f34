"""``--model`` and ``--plan``, and what ``record`` notes beside a recording."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "operators-leave-macos27"
MODEL, PLAN = SAMPLE / "Encoder.mlmodelc", SAMPLE / "com.apple.e5rt.e5bundlecache"
BOTH = ("--model", str(MODEL), "--plan", str(PLAN))
SCHEMA = json.loads((ROOT / "docs" / "tracekit-analysis-1.schema.json").read_text())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_analyze_shows_the_operations() -> None:
    done = run("analyze", str(SAMPLE), *BOTH)
    assert done.exit_code == 0
    assert "Operations off the Neural Engine" in done.stdout
    assert "gather_12 (gather)" in done.stdout


def test_json_has_anticipated_and_observed() -> None:
    done = run("analyze", str(SAMPLE), *BOTH, "--format", "json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    (model,) = document["models"]
    assert [segment["anticipated"] for segment in model["segments"]] == ["ANE", "CPU", "ANE", "CPU", "ANE"]
    assert {segment["agreement"] for segment in model["segments"]} == {"agrees"}
    without = json.loads(run("analyze", str(SAMPLE), "--format", "json").stdout)
    jsonschema.validate(without, SCHEMA)
    assert without["models"] == []


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_report_has_the_operations(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"report{suffix}"
    assert run("report", str(SAMPLE), *BOTH, "-o", str(target)).exit_code == 0
    assert "Unsupported gather index type" in target.read_text()


def test_check_holds_a_requirement_about_the_finding() -> None:
    requirement = ("--require", "no finding operators-left")
    assert run("check", str(SAMPLE), *BOTH, *requirement).exit_code == 1
    assert run("check", str(SAMPLE), *requirement).exit_code == 5


@pytest.mark.parametrize(
    ("given", "begin", "options"),
    [
        ((), "Hold the model's file (.mlmodelc, .mlpackage or .aimodel) and its plan", "--model MODEL --plan PLAN"),
        (("--model", str(MODEL)), "Hold a plan of this model", f"--model {MODEL} --plan PLAN"),
        (("--model", f"Encoder={MODEL}"), "Hold a plan of this model", f"--model Encoder={MODEL} --plan PLAN"),
    ],
)  # fmt: skip
def test_the_step_asks_for_what_is_not_given(given: tuple[str, ...], begin: str, options: str) -> None:
    text = " ".join(run("analyze", str(SAMPLE), *given).stdout.split())
    assert f"{begin} against these calls: which operations" in text
    assert f"tracekit analyze {SAMPLE} {options} →" in text


def test_what_both_explain_has_no_step_that_asks_for_them() -> None:
    assert "--plan PLAN" not in run("analyze", str(SAMPLE), *BOTH).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--model", "nowhere.mlpackage"), 3, "nowhere.mlpackage: cannot be read"),
        (("--plan", str(SAMPLE / "toc.xml")), 3, "is a recording and no plan"),
        (("--model", f"Nut={MODEL}"), 2, "The recording has no model 'Nut'; it has 'Encoder'."),
        (("--model", str(MODEL), "--model", str(MODEL)), 2, "are both for the model 'Encoder'"),
    ],
)
def test_a_wrong_file_ends_in_a_sentence(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run("analyze", str(SAMPLE), *arguments)
    assert (done.exit_code, words in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.output


def test_a_plan_of_another_model_ends_in_a_sentence(tmp_path: Path) -> None:
    plan = tmp_path / "analytics.mil"
    text = (next(PLAN.rglob("analytics.mil"))).read_text()
    for kind in ("conv", "relu", "gather", "reduce_mean"):
        text = text.replace(f"= {kind}(", "= lstm(")
    plan.write_text(text)
    done = run("analyze", str(SAMPLE), "--model", str(MODEL), "--plan", str(plan))
    assert done.exit_code == 3
    assert "is a plan of another model than Encoder.mlmodelc" in " ".join(done.stderr.split())


# What the recorder notes ------------------------------------------------------------------------------------


def journal(bundle: Path, **content: object) -> None:
    bundle.with_suffix(".recording.json").write_text(json.dumps({"runs": [], **content}))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle with one model in all of its calls, whose name stacks do not show."""
    source = ROOT / "sample_traces" / "gpu-mpsgraph-macos15-bundle" / "recording.trace"
    return Path(shutil.copytree(source, tmp_path / "X.trace"))


def test_a_noted_model_is_joined(bundle: Path) -> None:
    journal(bundle, models=[str(MODEL)], plans=[str(PLAN)])
    done = run("analyze", str(bundle))
    assert done.exit_code == 0, done.output
    assert "operations of" in done.stdout
    assert "Operations off the Neural Engine" in done.stdout


@pytest.mark.parametrize(
    "content",
    [
        {"models": ["/nowhere/Net.mlpackage"]},
        {"models": [str(ROOT / "README.md")]},
        {"plans": [str(SAMPLE / "toc.xml")]},
    ],
)
def test_a_noted_model_that_is_gone_or_none_is_a_note(bundle: Path, content: dict[str, object]) -> None:
    journal(bundle, **content)
    done = run("analyze", str(bundle))
    assert done.exit_code == 0
    assert "The model that was noted with the recording is not joined" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "content",
    [{"models": "Net"}, {"models": [7, None]}, {"models": {"a": 1}}, {"models": ["//host/share/Net"]}],
)
def test_a_damaged_or_foreign_note_is_passed_over(bundle: Path, content: dict[str, object]) -> None:
    journal(bundle, **content)
    done = run("analyze", str(bundle))
    assert (done.exit_code, done.stderr) == (0, "")


def test_options_replace_what_was_noted(bundle: Path) -> None:
    journal(bundle, models=["/nowhere/Net.mlpackage"])
    assert run("analyze", str(bundle), *BOTH).stderr == ""


def test_redaction_covers_the_plans_words(tmp_path: Path) -> None:
    text = next(PLAN.rglob("analytics.mil")).read_text()
    plan = tmp_path / "analytics.mil"
    plan.write_text(text.replace("Unsupported gather index type", "see /Users/jane/net.py"))
    target = tmp_path / "public.html"
    done = run(
        "report", str(SAMPLE), "--model", str(MODEL), "--plan", str(plan), "--redact", "-o", str(target)
    )
    assert done.exit_code == 0, done.output
    assert "/Users/jane" not in target.read_text()
