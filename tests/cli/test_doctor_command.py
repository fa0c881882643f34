"""``tracekit doctor`` as it is called: text, JSON, exit codes."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from documents_support import strict
from jsonschema import Draft202012Validator
from short_tools import answer_in_process
from xctrace_support import FakeXctrace, install

from tracekit.cli import main
from tracekit.cli.doctor import _to_text
from tracekit.record.doctor import Check

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "tracekit-doctor-1.schema.json").read_text())
elsewhere = pytest.mark.skipif(sys.platform == "darwin", reason="for machines other than a Mac")


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments])


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeXctrace:
    fake = install(tmp_path / "mac")
    monkeypatch.setenv("PATH", str(fake.folder))
    answer_in_process(monkeypatch)
    return fake


@elsewhere
def test_reading_works_without_a_mac_which_is_no_failure() -> None:
    result = doctor()
    assert result.exit_code == 0
    assert " ".join(result.output.split()).endswith(
        f"Recording needs a Mac with Xcode; this is {platform.system()}. Reading, reports and the dashboard"
        " work here."
    )
    assert "–        15 others  need a Mac\n" in result.output
    assert result.output.count("a Mac") == 2
    checks = json.loads(doctor("--format", "json").output)["checks"]
    assert len([check for check in checks if check["found"] == "needs a Mac"]) == 15


@pytest.mark.parametrize("arguments", [[], ["--device", "no such device"]])
def test_the_json_validates(mac: FakeXctrace, arguments: list[str]) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    result = doctor("--format", "json", "--xctrace", str(mac.folder / "xctrace"), *arguments)
    document = json.loads(result.output)
    Draft202012Validator(strict(SCHEMA)).validate(document)
    states = {check["name"]: check["state"] for check in document["checks"]}
    assert states["xctrace"] == "ok"
    assert states.get("device", "problem") == "problem"


@elsewhere
def test_a_problem_is_exit_code_4(mac: FakeXctrace) -> None:
    xctrace = ["--xctrace", str(mac.folder / "xctrace")]
    assert doctor(*xctrace).exit_code == 0
    assert doctor(*xctrace, "--device", "Test Mac").exit_code == 0
    result = doctor(*xctrace, "--device", "no such device")
    assert result.exit_code == 4
    assert "\nPROBLEM  device           xctrace lists no device 'no such device'\n" in result.output
    assert result.output.endswith("until each PROBLEM is solved.\n")


def test_a_wrong_path_is_wrong_usage() -> None:
    result = doctor("--xctrace", "/nowhere/xctrace")
    assert (result.exit_code, "/nowhere/xctrace: there is no such file." in result.stderr) == (2, True)


def test_the_format_follows_the_extension(tmp_path: Path) -> None:
    doctor("-o", str(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text())["schema"] == "tracekit-doctor/1"


def test_lines_fit_80_columns_and_commands_are_never_broken() -> None:
    command = "xcrun devicectl device info details --device 00008101-000D482C1E78001E" + "0" * 40
    check = Check("xctrace", "warning", "a long finding " * 20, f"{'some advice ' * 20}\n{command}")
    lines = _to_text([check]).splitlines()
    assert f"      {command}" in lines
    assert max(len(line) for line in lines if command not in line) <= 80
    assert lines[0].startswith("note     xctrace  a long finding")


def test_names_of_devices_cannot_drive_the_terminal() -> None:
    check = Check("xctrace", "warning", "iPhone \x1b[2J\u202e", "Do:\nuse \x1b]0;x\x07")
    text = _to_text([check])
    assert "iPhone \\x1b[2J\\u202e" in text
    assert "\x1b" not in text
