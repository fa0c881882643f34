"""No command overwrites its input, even with --force; a command that is stopped leaves nothing half-written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracekit.cli import main

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
FALLBACK = SAMPLES / "fallback-midway-ios27"
BUNDLE = SAMPLES / "gpu-mpsgraph-macos15-bundle"
READING = [
    ["analyze", "{input}", "--format", "json"],
    ["report", "{input}", "--format", "html"],
    ["export", "{input}", "--to", "csv"],
    ["compare", "{input}", str(FALLBACK), "--format", "html"],
    ["compare", str(FALLBACK), "{input}", "--format", "json"],
    ["check", "{input}", "--no-config", "--require", "windows >= 1", "--format", "json"],
    ["tables", "{input}", "--format", "json"],
    ["pack", "{input}"],
]


def refused(command: list[str], given: Path, output: Path, option: str = "-o") -> None:
    words = [word.format(input=given) for word in command]
    result = CliRunner().invoke(main, [*words, option, str(output), "--force"])
    assert result.exit_code == 2, result.output
    assert f"{output} is part of the input" in result.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FALLBACK, tmp_path / "own"))


@pytest.mark.parametrize("command", READING, ids=lambda words: " ".join(words[:2]))
def test_a_file_of_the_input_is_no_output(command: list[str], exports: Path) -> None:
    before = contents(exports)
    refused(command, exports, exports / "time-profile.xml")
    refused(command, exports / "time-profile.xml", exports / "time-profile.xml")
    assert contents(exports) == before


def test_nor_is_one_by_another_name(exports: Path, tmp_path: Path) -> None:
    table = exports / "time-profile.xml"
    (tmp_path / "symbolic.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    before = table.read_bytes()
    for name in ("symbolic.csv", "hard.csv"):
        refused(["export", "{input}", "--to", "csv"], table, tmp_path / name)
    refused(["export", "{input}", "--to", "csv"], exports, tmp_path / "symbolic.csv")
    assert table.read_bytes() == before


def test_nothing_is_put_into_a_bundle(tmp_path: Path) -> None:
    (trace,) = BUNDLE.glob("*.trace")
    bundle = Path(shutil.copytree(trace, tmp_path / "own.trace"))
    before = contents(bundle)
    refused(["report", "{input}", "--format", "html"], bundle, bundle / "report.html")
    refused(
        ["check", "{input}", "--no-config", "--require", "windows >= 1"],
        bundle,
        bundle / "new.xml",
        "--junit",
    )
    assert contents(bundle) == before


def test_options_name_inputs_too(exports: Path, tmp_path: Path) -> None:
    windows = tmp_path / "windows.csv"
    windows.write_text("start_ns,end_ns,label\n0,1000000,a\n")
    refused(["report", "{input}", "--windows-csv", str(windows), "--format", "html"], exports, windows)
    assert windows.read_text().startswith("start_ns")


@pytest.mark.integration
def test_a_new_file_beside_exports_is_fine(exports: Path) -> None:
    """Only bundles are closed: people keep a report with the exports that it is of, and write it anew."""
    for _ in range(2):
        words = ["report", str(exports), "-o", str(exports / "report.html"), "--force", "--title", "."]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output


def test_an_empty_name_is_no_file() -> None:
    result = CliRunner().invoke(main, ["report", str(FALLBACK), "-o", ""])
    assert (result.exit_code, "The name of the output is empty" in result.stderr) == (2, True)


def start(*words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tracekit", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ["check", str(FALLBACK), "--no-config", "--require", "p90 <= 1 s"],
        ["export", str(FALLBACK), "--to", "csv"],
        ["analyze", str(FALLBACK)],
    ],
    ids=lambda words: words[0],
)
def test_a_reader_that_has_gone_is_no_failed_requirement(words: list[str]) -> None:
    process = start(*words)
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (128 + signal.SIGPIPE, b"")


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")
def test_an_interrupt_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.xml")
    process = start("analyze", str(tmp_path / "slow.xml"))
    with (tmp_path / "slow.xml").open("wb", buffering=0) as pipe:
        pipe.write(
            b"<trace-query-result>" + b"\n" * (1 << 17)
        )  # more than a pipe holds: the command is reading
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, b"Interrupted.\n")
