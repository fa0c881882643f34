"""``tracekit check`` as a CI drives it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from documents_support import strict
from jsonschema import Draft202012Validator

from tracekit import analyze
from tracekit.checks.check import check
from tracekit.checks.parser import parse_requirement
from tracekit.cli import main
from tracekit.load import open_trace
from tracekit.model.trace import Issue
from tracekit.report.checks.github import to_github
from tracekit.report.checks.json import to_json
from tracekit.report.checks.junit import to_junit
from tracekit.report.checks.text import to_text

pytestmark = pytest.mark.integration  # analyses recordings

ROOT = Path(__file__).resolve().parents[2]
FALLBACK = str(ROOT / "sample_traces" / "fallback-midway-ios27")
SCHEMA = json.loads((ROOT / "docs" / "tracekit-check-1.schema.json").read_text())


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", FALLBACK, *arguments])


def require(*texts: str) -> list[str]:
    return [part for text in texts for part in ("--require", text)]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["max <= 30ms"], 0),
        (["p90 <= 8ms"], 1),
        (["p90 <= 30ms"], 5),
        (["thermal <= fair"], 5),
        (["max <= 30ms", "thermal <= fair"], 5),
        (["p90 <= 30ms", "p90 <= 8ms"], 1),
        (["thermal <= fair", "p90 <= 8ms"], 1),
    ],
)
def test_exit_codes(texts: list[str], code: int) -> None:
    assert run(*require(*texts)).exit_code == code


def test_the_text_has_value_basis_windows_and_the_worst() -> None:
    result = run(
        *require("p90 <= 8ms", "calls >= 10", "thermal <= fair"), "--forbid", "CPU execute in SpeechEncoder"
    )
    assert result.stdout == (
        "fallback-midway-ios27, run 1: Of 4 requirements, 2 failed and 1 not measurable; 1 passed.\n\n"
        "FAILED          require p90 <= 8ms\n"
        "                  p90 is 29.900 ms, 25.641 ms or more at 95 % (measured, 12 calls); with an assumed\n"
        "                    spread between runs of 7 %; worst in call 9 of SpeechEncoder at 351.800 ms with\n"
        "                    29.900 ms\n"
        "FAILED          forbid CPU execute in SpeechEncoder\n"
        "                  seen in 6 of 12 calls (measured); first in call 7 of SpeechEncoder at 264.800 ms\n"
        "not measurable  require thermal <= fair\n"
        "                  the recording has no thermal state\n"
        "passed          require calls >= 10\n"
        "                  calls is 12 (measured, 12 calls)\n"
        "\n"
        "Limits of this recording\n"
        "  warning: 2 of 11 Neural Engine intervals (8.3 ms of inference) fit none of this app's Core ML\n"
        "    models by their labels: the work is another process's, or did not go through Core ML. They are\n"
        "    excluded. (ane-work-of-others)\n"
    )
    assert result.stderr == ""


def test_the_json_validates_and_carries_the_exit_code() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    texts = [
        "p90 <= 8ms",
        "windows >= 10",
        "thermal <= fair",
        "CPU busy <= 3ms",
        "ANE share >= 80%",
        "issues == 0",
    ]
    result = run(*require(*texts), "--forbid", "CPU", "--format", "json")
    document = json.loads(result.stdout)
    Draft202012Validator(strict(SCHEMA)).validate(document)
    assert document["exit_code"] == result.exit_code == 1
    assert [result["outcome"] for result in document["results"]] == [
        "failed",
        "passed",
        "not measurable",
        "failed",
        "open",
        "failed",
        "failed",
    ]
    actual = document["results"][0]["actual"]
    assert (round(actual["interval_low"]), actual["interval_high"], actual["confidence"]) == (
        25_640_750,
        None,
        0.95,
    )
    assert actual["runs"] == 1
    assert document["results"][0]["actual"]["low"] == 29_900_000
    assert document["results"][3]["actual"]["high"] is None  # six windows do not show it: no upper end
    assert document["results"][4]["actual"]["worst"]["window"] == 6


def test_junit_beside_the_text() -> None:
    result = run(*require("p90 <= 8ms", "windows >= 10", "thermal <= fair"), "--junit", "check.xml")
    assert result.exit_code == 1
    assert result.stdout.startswith("fallback-midway-ios27")
    root = ET.parse("check.xml").getroot()
    suite = root[0]
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    assert [(case.get("name"), case[0].tag) for case in suite.iter("testcase")] == [
        ("require p90 <= 8ms", "failure"),
        ("require windows >= 10", "system-out"),
        ("require thermal <= fair", "error"),
    ]
    assert run(*require("p90 <= 8ms"), "--junit", "check.xml").exit_code == 2  # exists
    assert run(*require("max <= 30ms"), "-o", "again.xml").exit_code == 0
    assert ET.parse("again.xml").getroot().tag == "testsuites"


def test_annotations_of_github() -> None:
    result = run(*require("p90 <= 8ms", "thermal <= fair", "windows >= 10"), "--format", "github")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(
        "::error title=require p90 <= 8ms::p90 is 29.900 ms, 25.641 ms or more at 95 %25 (measured, 12 calls); with"
    )
    assert (
        lines[1]
        == "::warning title=require thermal <= fair::not measurable: the recording has no thermal state"
    )
    assert lines[2].startswith("::notice title=tracekit check::")
    assert lines[3].startswith("::warning title=finding%3A fell-back::SpeechEncoder left the Neural Engine")
    assert lines[4].startswith("::notice title=recording%3A ane-work-of-others::2 of 11 Neural Engine")
    assert len(lines) == 5


DAMAGED = Issue("warning", "names-damaged", "x\n::error::y has a wrong CRC", 1)
DOUBTS = (
    *(Issue("warning", "null-values", f"doubt {number}") for number in range(11)),
    Issue("info", "redacted", "z"),
)


def test_the_warnings_of_the_recording_stand_beneath_damage_first() -> None:
    results = check(analyze(open_trace(FALLBACK)), [parse_requirement("max <= 1s")])
    text = to_text(results, "F", (*DOUBTS, DAMAGED)).splitlines()
    listed = text[text.index("Limits of this recording") + 1 :]
    assert len(listed) == 11
    assert listed[0] == "  warning: x\\n::error::y has a wrong CRC (names-damaged)"
    assert listed[-1] == "  … and 2 more warnings: tracekit analyze lists them"
    github = to_github(results, "F", (*DOUBTS, DAMAGED)).splitlines()
    assert github[1] == "::warning title=recording%3A names-damaged::x\\n::error::y has a wrong CRC"
    assert [line.partition(" ")[0] for line in github] == ["::notice", "::warning", *["::notice"] * 10]
    output = ET.fromstring(to_junit(results, "F", (*DOUBTS, DAMAGED)).encode())[0].find("system-out")
    assert output is not None
    assert (output.text or "").startswith("warning: x\\n::error::y has a wrong CRC [names-damaged]\n")
    assert len((output.text or "").splitlines()) == 12
    issues = json.loads(to_json(results, "F", (*DOUBTS, DAMAGED)))["issues"]
    assert (len(issues), issues[-1]["code"], issues[-1]["count"]) == (13, "names-damaged", 1)
    for write in (to_text, to_github, to_junit):
        assert "ecording%3A" not in write(results, "F")
        assert "Limits of this recording" not in write(results, "F")


def test_one_place_cannot_hold_two_results(tmp_path: Path) -> None:
    both = run(*require("p90 <= 1s"), "--junit", "-")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "Standard output can hold only one result" in both.stderr
    same = run(*require("p90 <= 1s"), "-o", "q.json", "--junit", "./q.json")
    assert same.exit_code == 2
    assert "q.json cannot hold both results" in same.stderr
    assert not (tmp_path / "q.json").exists()
    apart = run(*require("max <= 1s"), "-o", "q.json", "--junit", "-")
    assert apart.exit_code == 0
    assert apart.stdout.startswith("<?xml")


def test_warm_shares_count_warm_windows() -> None:
    assert run(*require("warm ANE share >= 45%"), "--confidence", "0").exit_code == 0
    result = run(*require("warm ANE share >= 46%"), "--confidence", "0")
    assert result.exit_code == 1
    assert "warm ANE share is 45.5 % (measured, 11 calls)" in result.stdout


HOSTILE = "a]]>&<b> \x00\x1b\x0b\ufffe\ud800 %0A::error::x,y\n::set-env name=A::B\u2028\u202e"


def test_hostile_text_is_shown_and_does_nothing() -> None:
    trace = open_trace(FALLBACK)
    analysis = analyze(trace)
    names = pd.Series([HOSTILE] * len(analysis.window_rows), dtype=object)
    windows = analysis.window_rows.assign(model=names, label=names)
    results = check(
        replace(analysis, window_rows=windows),
        [
            parse_requirement("p90 <= 8ms"),
            parse_requirement("p90 <= 1s in X*"),
            parse_requirement("p90 in '%:,' <= 1ms"),
        ],
    )
    xml = ET.fromstring(to_junit(results, HOSTILE).encode("utf-8"))
    failure = xml[0][0][0].get("message") or ""
    assert "a]]>&<b> \\x00\\x1b\\x0b\\ufffe\\ud800 %0A::error::x,y\\n::set-env" in failure
    lines = to_github(results, HOSTILE).splitlines()
    assert len(lines) == 4
    assert all(line.startswith(("::error title=", "::warning title=", "::notice title=")) for line in lines)
    assert "\\ud800 %250A::error::x,y\\n::set-env" in lines[0]
    assert lines[2].startswith("::warning title=require p90 in '%25%3A%2C' <= 1ms::")
    text = to_text(results, HOSTILE)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n::set-env" not in text


# tracekit.toml ----------------------------------------------------------------------------------------------


def config(tmp_path: Path, text: str, name: str = "tracekit.toml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_nearest_file_upward_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config(tmp_path, "[check]\nrequire = ['p90 <= 8ms']\nforbid = ['GPU']\n")
    inner = tmp_path / "app" / "src"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    result = run()
    assert result.exit_code == 1
    assert "Of 2 requirements, 1 failed; 1 passed." in result.stdout
    both = run(*require("max <= 1s"))
    assert "Of 3 requirements" in both.stdout
    assert run("--no-config", *require("max <= 1s")).exit_code == 0
    config(tmp_path / "app", "[check]\nrequire = ['max <= 1s']\n")
    assert run().exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[check]\nrequires = []",
            "has an unknown key 'check.requires'. Valid: 'check.require', 'check.forbid' and 'check.plan'.",
        ),
        ("[chek]\nrequire = []", "has an unknown key 'chek'. Valid: 'check'."),
        ("[check]\nrequire = 'p90 <= 8ms'", "'check.require' is not a list of strings."),
        ("[check]\nrequire = [8]", "'check.require' is not a list of strings."),
        ("check = 3", "'check' is not a table."),
        ("[check", "is not valid TOML: "),
        (f"[check]\nrequire = {'9' * 5_000}", "is not valid TOML: Exceeds the limit"),
        (f"{'a.' * 100_001}b = 1", "is larger than 200 kB."),
        ("[check]\nrequire = ['p90 <= 8']", "tracekit.toml: require[0]: a time with a unit is expected"),
        (
            "[check]\nforbid = ['GPU', 'CPU excute']",
            "tracekit.toml: forbid[1]: 'excute' is not a valid phase.",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    config(tmp_path, text)
    result = run()
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_a_folder_or_missing_or_binary(tmp_path: Path) -> None:
    (tmp_path / "tracekit.toml").mkdir()
    assert "is a folder." in run().stderr
    assert run("--config", "nowhere.toml").exit_code == 3
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert "is not valid TOML" in run("--config", "binary.toml").stderr
    assert run("--config", "a", "--no-config", *require("p90 <= 1s")).exit_code == 2


def test_without_a_requirement_nothing_is_checked(tmp_path: Path) -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "There are no requirements" in result.stderr
    config(tmp_path, "[check]\n")
    assert run().exit_code == 2


def test_a_typo_is_pointed_at_before_anything_is_read() -> None:
    result = CliRunner().invoke(main, ["check", "nowhere.trace", "--require", "p9O <= 8ms"])
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: --require: 'p9O' is not a valid metric. Did you mean 'p90'?\n  p9O <= 8ms\n  ^\n"
    )


def test_ten_thousand_requirements_of_a_file(tmp_path: Path) -> None:
    listed = ", ".join(f"'p90 <= {limit}ms'" for limit in range(10_000))
    config(tmp_path, f"[check]\nrequire = [{listed}]\n")
    result = run("--format", "json")
    assert result.exit_code == 1
    assert (
        json.loads(result.stdout)["sentence"] == "Of 10,000 requirements, 26 failed and 9,974 open; 0 passed."
    )


def test_a_further_run_of_the_program() -> None:
    other = str(ROOT / "sample_traces" / "concurrent-models-ios27")
    result = run(*require("p50 <= 1ms", "max <= 1s"), "--also", other)
    assert "concurrent" not in result.stdout.split("\n", maxsplit=1)[0]
    assert result.stdout.startswith("fallback-midway-ios27, run 1 and 1 more run: Of 2 requirements, 1 open")
    assert "run 1 of 2" in run(*require("max <= 20ms"), "--also", other).stdout
    assert "(at 265 ms); run 1 of 2" in run(*require("no finding fell-back"), "--also", other).stdout
    assert "2 runs)" in result.stdout


def test_a_spread_between_runs_is_given_as_in_compare() -> None:
    limit = require("p50 <= 1s")
    words = run(*limit, "--run-noise", "2%").stdout.split()
    assert "with the given spread between runs of 2 %" in " ".join(words)
    other = str(ROOT / "sample_traces" / "concurrent-models-ios27")
    for refused, message in (
        (("--run-noise", "2%", "--noise-from", other), "by --run-noise or by --noise-from, not both"),
        (("--noise-from", other), "--noise-from needs two recordings or more"),
        (("--run-noise", "2%", "--confidence", "0"), "--confidence 0 judges the recorded numbers alone"),
    ):
        result = run(*limit, *refused)
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.parametrize(("counts", "code"), [("pass", 0), ("fail", 1)])
def test_open_requirements_count_as_chosen(counts: str, code: int) -> None:
    result = run(*require("p90 <= 30ms"), "--open", counts, "--format", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"], document["results"][0]["outcome"]) == (
        code,
        code,
        "open",
    )


def test_what_is_open_is_an_error_of_junit_and_a_warning_of_github() -> None:
    junit = ET.fromstring(run(*require("p90 <= 30ms"), "--format", "junit").stdout)
    assert junit.get("errors") == "1"
    assert run(*require("p90 <= 30ms"), "--format", "github").stdout.startswith(
        "::warning title=require p90 <= 30ms::p90 is 29.900 ms, 25.641 ms or more at 95 %25"
    )


def test_windows_of_other_kinds_can_be_requested() -> None:
    result = run(*require("p90 <= 1s"), "--windows", "run")
    assert result.exit_code == 5
    assert "the only range is the whole run" in result.stdout.replace("\n", " ")
