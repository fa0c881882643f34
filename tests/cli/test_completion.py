"""Completion of shells and editors: scripts, candidates, and the schema of requirements."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from tracekit.checks.parser import parse_requirement
from tracekit.checks.plans.plan_parser import parse_plan_requirement
from tracekit.cli import main
from tracekit.cli.check_config import read_config
from tracekit.errors import InputError
from tracekit.samples import SAMPLE_RECORDINGS

ROOT = Path(__file__).resolve().parents[2]
FALLBACK = ROOT / "sample_traces" / "fallback-midway-ios27"
SPEECH = SAMPLE_RECORDINGS[0].path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one recording."""
    shutil.copy(SPEECH, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complete(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the candidates for the end of a line, as bash asks for them; a file is "file"."""
    from tracekit.cli.bash_completion import register

    register()
    monkeypatch.setenv("COMP_LINE", line)
    result = CliRunner().invoke(main, [], prog_name="tracekit", env={"_TRACEKIT_COMPLETE": "bash_complete"})
    kinds = [row.split(",", 1) for row in result.stdout.splitlines() if row]
    return [value if kind == "plain" else kind for kind, value in kinds]


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("tracekit comp", ["compare", "completion"]),
        ("tracekit analyze ", ["file"]),
        ("tracekit analyze x --form", ["--format"]),
        ("tracekit recipe slow", ["slow-call", "slower"]),
        ("tracekit explain fell", ["fell-back"]),
        ("tracekit rules ane.services-r", ["ane.services-request"]),
        (f"tracekit tables {FALLBACK} --schema ", ["ane-hw-intervals", "coreml-os-signpost", "time-profile"]),
        ("tracekit tables SpeechEncoder.tkpack --schema coreml", ["coreml-os-signpost"]),
        ("tracekit recipe slow-call SpeechEncoder.tkpack --call SpeechEncoder/1",
         ["SpeechEncoder/1", "SpeechEncoder/10", "SpeechEncoder/11", "SpeechEncoder/12"]),
        ("tracekit show call:SpeechEncoder/9", ["call:SpeechEncoder/9"]),
        ("tracekit show model:", ["model:SpeechEncoder"]),
        ("tracekit show finding:f", ["finding:fell-back"]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_the_end_of_a_line(line: str, candidates: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = complete(line, monkeypatch)
    if "--schema " in line:
        assert set(candidates) <= set(found)
    else:
        assert found == candidates


def test_without_a_recording_kinds_and_known_tables_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complete("tracekit show ", monkeypatch) == ["call:", "finding:", "limit:", "model:", "table:"]
    assert "time-profile" in complete("tracekit tables gone.trace --schema time", monkeypatch)


def test_large_and_damaged_recordings_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "SpeechEncoder.tkpack").open("r+b") as file:
        file.truncate(20_000_001)  # a hole, which takes no space
    assert complete("tracekit show call:", monkeypatch) == ["call:"]
    (folder / "SpeechEncoder.tkpack").write_bytes(b"PK\x03\x04 damaged")
    assert complete("tracekit show call:", monkeypatch) == []


@pytest.mark.integration
@pytest.mark.usefixtures("folder")
def test_bash_replaces_what_follows_a_colon() -> None:
    script = """
        source <(tracekit completion bash)
        COMP_LINE='tracekit show call:SpeechEncoder/1'; COMP_POINT=${#COMP_LINE}
        _tracekit_completion tracekit 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == [f"SpeechEncoder/{number}" for number in (1, 10, 11, 12)]


@pytest.mark.integration
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_valid(shell: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_TRACEKIT_COMPLETE" in result.stdout
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(result.stdout)
    subprocess.run([program, "-n", tmp_path / "script"], check=True)


def config_schema() -> dict[str, object]:
    result = CliRunner().invoke(main, ["completion", "tracekit.toml"])
    schema: dict[str, object] = json.loads(result.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize(
    "text",
    [
        '[check]\nrequire = ["p90 <= 8ms"]\nforbid = ["GPU execute"]\n[check.plan]\nrequire = ["ANE regions >= 1"]\n',
        "",
        "[check]\nrequires = []\n",
        "[check]\nrequire = 'p90 <= 8ms'\n",
        "[check]\nrequire = [8]\n",
        "[checks]\n",
        "[check.plan]\nplan = []\n",
        "check = 1\n",
    ],
)
def test_the_schema_accepts_what_the_command_accepts(text: str, tmp_path: Path) -> None:
    (tmp_path / "tracekit.toml").write_text(text)
    try:
        read_config(tmp_path / "tracekit.toml")
    except InputError:
        is_read = False
    else:
        is_read = True
    assert jsonschema.Draft202012Validator(config_schema()).is_valid(tomllib.loads(text)) is is_read


def test_every_example_of_the_schema_is_a_requirement() -> None:
    from tracekit.cli.check_schema import EXAMPLES

    assert set(EXAMPLES) == {"check.require", "check.forbid", "check.plan.require", "check.plan.forbid"}
    for place, examples in EXAMPLES.items():
        parse = parse_plan_requirement if ".plan." in place else parse_requirement
        for text in examples:
            parse(text, place.endswith("forbid"))
