"""Bundles through `xctrace`, of which a script plays the part: it prints exports that lie beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from bundle_support import SAMPLES, small_bundle
from click.testing import CliRunner
from documents_support import document, node, schema

from sample_generator.bundle_writer import write_folder, zipped
from tracekit.cli import main

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """#!{python} -IS
import os, pathlib, sys, time
home = pathlib.Path(__file__).parent
arguments = dict(zip(sys.argv[2:], sys.argv[3:]))
assert sys.argv[1] == "export" and os.path.isdir(arguments["--input"]) and "--output" not in arguments
assert os.listdir(os.environ["TMPDIR"]) == []
query = "toc" if "--toc" in sys.argv else arguments["--xpath"]
with open(home / "log", "a") as log:
    log.write(query + "\\n")
{behaviour}
sys.stdout.write((home / ("toc.xml" if query == "toc" else "table.xml")).read_text())
"""
TOC = """<?xml version="1.0"?>
<trace-toc><run number="1"><info><target><device platform="macOS" model="MacBook Pro" name="Mac"
 os-version="15.5 (24F74)" uuid="U"/><process type="launched" name="SampleApp" pid="4711"/></target>
<summary><start-date>2026-01-01T12:00:00.000Z</start-date><duration>1.000000</duration>
<template-name>Core ML</template-name></summary></info><data><table schema="process-info"/>
<table schema="time-profile" target-pid="SINGLE"/></data></run></trace-toc>
"""
COLUMNS = (("time", "sample-time"), ("thread", "thread"), ("weight", "weight"))
TABLE = document(
    node(
        schema("time-profile", COLUMNS)
        + '<row><sample-time id="1">77</sample-time><thread id="2" fmt="Main Thread (0x1f) (App, pid: 7)">'
        '<tid id="3">31</tid><process id="4" fmt="App (7)"><pid id="5">7</pid></process></thread>'
        '<weight id="6">5</weight></row>',
        table=2,
    )
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake xctrace, which is the only one, and beside it one for temporary files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "toc.xml").write_text(TOC)
    (folder / "table.xml").write_text(TABLE)
    (tmp_path / "tmp").mkdir()
    install(folder)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def install(home: Path, behaviour: str = "pass") -> None:
    script = home / "xctrace"
    script.write_text(SCRIPT.format(python=sys.executable, behaviour=behaviour))
    script.chmod(0o755)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_folder(small_bundle().files(), tmp_path / "x.trace")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A bundle whose samples cannot be read."""
    return write_folder(small_bundle().files() | {SAMPLES: b"garbage"}, tmp_path / "y.trace")


@pytest.fixture
def unopened(tmp_path: Path) -> Path:
    """A bundle with unreadable columns of its samples, as a future Xcode may write it."""
    schema = SAMPLES.replace("bulkstore", "schema.xml")
    return write_folder(small_bundle().files() | {schema: b"garbage"}, tmp_path / "z.trace")


def start(*arguments: object, warnings: str = "ignore::ResourceWarning") -> subprocess.Popen[str]:
    """Start tracekit in a process of its own."""
    command = [sys.executable, "-W", warnings, "-m", "tracekit", *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)


def run(home: Path, *arguments: object) -> tuple[int, str, str]:
    """Return exit code, standard output and error; nothing temporary is left."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert list((home.parent / "tmp").iterdir()) == []
    return result.exit_code, result.stdout, result.stderr


def queries(home: Path) -> list[str]:
    log = home / "log"
    return log.read_text().splitlines() if log.exists() else []


def test_only_through_xctrace(home: Path, bundle: Path) -> None:
    code, output, error = run(home, "analyze", bundle, "--via", "xctrace", "--format", "json")
    assert (code, error) == (0, "")
    analysis = json.loads(output)
    assert analysis["input"] == {"name": "x.trace", "kind": "xctrace-xml", "run": 1}
    assert (analysis["samples"]["count"], analysis["recording"]["template"]) == (1, "Core ML")
    assert queries(home) == ["toc", '/trace-toc/run[@number="1"]/data/table[2]']


@pytest.mark.usefixtures("home")
def test_nothing_is_left_open(bundle: Path) -> None:
    process = start("tables", bundle, "--via", "xctrace", warnings="default::ResourceWarning")
    _, error = process.communicate(timeout=60)
    assert "ResourceWarning" not in error


def test_a_whole_bundle_needs_no_xctrace(home: Path, bundle: Path) -> None:
    code, output, _ = run(home, "analyze", bundle, "--format", "json")
    analysis = json.loads(output)
    assert (code, analysis["input"]["kind"], analysis["samples"]["count"]) == (0, "trace-bundle", 20)
    assert queries(home) == []


def test_a_damaged_table_is_read_through_xctrace_and_reported(home: Path, damaged: Path) -> None:
    code, output, error = run(
        home, "tables", damaged, "--schema", "time-profile", "--columns", "time", "--format", "csv"
    )
    assert (code, output, error.count("\n")) == (0, "time\n77\n", 1)
    assert error.startswith(f"warning: 'time-profile' cannot be read: {SAMPLES} ")
    code, output, _ = run(home, "analyze", damaged, "--format", "json")
    (issue,) = (issue for issue in json.loads(output)["issues"] if issue["code"] == "read-otherwise")
    assert issue["severity"] == "warning"
    assert issue["message"].startswith(f"'time-profile' cannot be read: {SAMPLES} ")
    assert issue["message"].endswith("; it was read through xctrace instead")


def test_a_damaged_table_without_leave_to_use_xctrace(home: Path, damaged: Path) -> None:
    code, output, error = run(home, "analyze", damaged, "--via", "native")
    assert (code, output) == (3, "")
    assert f"'time-profile' cannot be read: {SAMPLES} " in error
    assert queries(home) == []


def test_a_bundle_that_is_not_read_natively_at_all(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.trace"
    empty.mkdir()
    code, output, _ = run(home, "tables", empty)
    assert (code, output.splitlines()[0]) == (0, "Run 1 of empty.trace (Core ML, 15.5 (24F74), SampleApp)")
    assert queries(home) == ["toc"]


def test_an_archive_is_not_for_xctrace(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(small_bundle().files()))
    code, _, error = run(home, "tables", path, "--via", "xctrace")
    assert (code, error) == (
        2,
        f"Error: xctrace reads bundles as folders: unpack {path} and name the folder.\n",
    )


FAILING = 'print("Export failed: Document Missing Template Error", file=sys.stderr); sys.exit(10)'


@pytest.mark.parametrize("command", [("analyze",), ("tables", "--schema", "time-profile")])
def test_a_table_that_cannot_be_opened_is_read_otherwise(
    home: Path, unopened: Path, command: tuple[str, ...]
) -> None:
    code, output, _ = run(home, command[0], unopened, *command[1:], "--format", "json")
    assert (code, len(queries(home)) > 1) == (0, True)
    document = json.loads(output)
    if command == ("analyze",):
        assert document["samples"]["count"] == 1
        messages = [issue["message"] for issue in document["issues"] if issue["code"] == "read-otherwise"]
        assert messages == ["'time-profile' cannot be read natively; it was read through xctrace instead"]
    else:
        assert len(document["rows"]) == 1


def test_without_xctrace_the_error_explains_the_missing_samples(
    unopened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for command in (["analyze"], ["tables", "--schema", "time-profile"]):
        result = CliRunner().invoke(main, [command[0], str(unopened), *command[1:]])
        assert result.exit_code == 3
        assert "schema.xml is not well-formed XML; the table 'time-profile' cannot be read" in result.stderr


def test_the_message_of_a_failing_xctrace(home: Path, bundle: Path) -> None:
    install(home, FAILING)
    code, output, error = run(home, "analyze", bundle, "--via", "xctrace")
    assert (code, output, error.count("\n")) == (4, "", 1)
    assert error.startswith(
        f"Error: xctrace could not export {bundle}: Export failed: Document Missing Template Error. The command was: {home}/xctrace export"
    )


def test_one_table_that_xctrace_refuses_stops_nothing(home: Path, bundle: Path) -> None:
    contents = TOC.replace('<table schema="process-info"/>', '<table schema="ane-hw-intervals"/>')
    (home / "toc.xml").write_text(contents)
    install(home, "if 'table[1]' in query: sys.exit('Export failed: the table is broken')")
    code, output, _ = run(home, "analyze", bundle, "--via", "xctrace")
    assert code == 0
    words = " ".join(output.split())
    assert "1 from time-profile" in words
    assert "'ane-hw-intervals' could not be exported: " in words
    assert "the table is broken" in words


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("sys.exit(0)", "it wrote nothing, with exit code 0"),
        ("sys.exit(3)", "exit code 3"),
        (
            "sys.stdout.write('<trace-toc>'); sys.exit(0)",
            "it stopped in the middle of a document, with exit code 0",
        ),
        ("sys.stdout.flush(); os.kill(os.getpid(), 5)", "ended by SIGTRAP"),
    ],
)
def test_an_xctrace_with_truncated_output(home: Path, bundle: Path, behaviour: str, words: str) -> None:
    install(home, behaviour)
    code, _, error = run(home, "analyze", bundle, "--via", "xctrace")
    assert (code, error.count("\n")) == (4, 1)
    assert (
        f"could not export {bundle}: {words}. The command was: {home}/xctrace export --input {bundle} --toc"
        in error
    )


def test_an_xctrace_that_writes_something_else(home: Path, bundle: Path) -> None:
    (home / "toc.xml").write_text("<html>")
    code, _, error = run(home, "analyze", bundle, "--via", "xctrace")
    assert (code, error.count("\n")) == (3, 1)


def test_a_damaged_table_and_a_failing_xctrace(home: Path, damaged: Path) -> None:
    install(home, FAILING)
    code, _, error = run(home, "analyze", damaged)
    assert code in (3, 4)
    assert "Document Missing Template Error" in error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_no_process_and_no_files(
    home: Path, bundle: Path, number: signal.Signals
) -> None:
    install(home, '(home / "pid").write_text(str(os.getpid())); time.sleep(100)')
    process = start("analyze", bundle, "--via", "xctrace")
    while not (home / "pid").exists() or not (home / "pid").read_text():
        assert process.poll() is None
        time.sleep(0.01)
    assert list((home.parent / "tmp").iterdir()) == []
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    assert process.returncode not in (0, 3, 4)
    assert "Traceback" not in error or number == signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(int((home / "pid").read_text()), 0)
    assert list((home.parent / "tmp").iterdir()) == []
