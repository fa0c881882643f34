"""An output that cannot be written ends in a sentence and leaves nothing behind."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from documents_support import THREAD, document, node, one_table, schema, write

from tracekit.cli import main, output
from tracekit.errors import InputError, TracekitError, UsageError

STACKS = '{"frames": [{"binary": "libBNNS.dylib", "symbol": "BNNSFilterApplyBatch"}]}\n'
INPUT = document(
    node(
        schema("time-profile", [("time", "sample-time"), ("thread", "thread"), ("weight", "weight")])
        + f'<row><sample-time id="1">5</sample-time>{THREAD}<weight id="6">1000000</weight></row>'
    )
)
COMMANDS = [
    ["analyze", "INPUT"],
    ["check", "INPUT", "--no-config", "--require", "windows >= 1"],
    ["check", "INPUT", "--no-config", "--require", "windows >= 1", "--junit"],
    ["classify", "STACKS"],
    ["compare", "INPUT", "INPUT"],
    ["doctor"],
    ["export", "INPUT", "--to", "csv"],
    ["pack", "INPUT"],
    ["report", "INPUT", "--format", "markdown"],
    ["tables", "INPUT"],
]


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    return {"INPUT": write(tmp_path, INPUT), "STACKS": write(tmp_path, STACKS, "stacks.jsonl")}


def run(words: list[str], inputs: dict[str, str], target: str) -> Result:
    named = [inputs.get(word, word) for word in words]
    result = CliRunner().invoke(main, [*named, *([] if words[-1] == "--junit" else ["-o"]), target])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.output
    return result


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_into_a_folder_that_does_not_exist(words: list[str], inputs: dict[str, str], tmp_path: Path) -> None:
    target = str(tmp_path / "gone" / "out")
    result = run(words, inputs, target)
    assert (result.exit_code, result.stderr) == (
        2,
        f"Error: {target} cannot be written: its folder does not exist. Create it first.\n",
    )


@pytest.mark.parametrize("words", [*COMMANDS, ["record", "--app", "MyApp"]], ids=" ".join)
def test_in_a_current_folder_that_was_deleted(
    words: list[str], inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shutil.rmtree(tmp_path / "here")
    result = run(words, inputs, "out")
    assert result.exit_code in {2, 4}
    if words[0] != "record":  # without Xcode, it fails earlier
        assert result.stderr == "Error: The current folder was deleted. Change to another folder.\n"


def test_a_current_folder_that_was_deleted_does_not_matter_with_full_paths(
    inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shutil.rmtree(tmp_path / "here")
    result = CliRunner().invoke(main, ["analyze", inputs["INPUT"], "-o", str(tmp_path / "out.txt")])
    assert (result.exit_code, (tmp_path / "out.txt").exists()) == (0, True)


@pytest.mark.parametrize("command", ["report", "pack", "verify-native"])
def test_the_name_of_the_default_output_needs_no_current_folder(
    command: str, inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shutil.rmtree(tmp_path / "here")
    result = CliRunner().invoke(main, [command, inputs["INPUT"]])
    assert result.stderr == "Error: The current folder was deleted. Change to another folder.\n"


def test_into_a_folder_that_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.os, "access", lambda *_: False)  # as root, every folder is writable
    with pytest.raises(UsageError, match="its folder is not writable"):
        output.check_output(str(tmp_path / "out"), force=False)
    output.check_output(os.devnull, force=False)  # a device is written to, its folder is not


@pytest.mark.parametrize("replacement", [None, "a file"])
def test_a_folder_that_is_deleted_while_it_is_written_to(tmp_path: Path, replacement: str | None) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    with (
        pytest.raises(UsageError, match=r"out\.html cannot be written: "),
        output.open_output(str(folder / "out.html")) as file,
    ):
        file.write(b"half")
        shutil.rmtree(folder)
        if replacement:
            folder.write_text(replacement)
    assert not (folder / "out.html").exists()


STREAMED = [
    ["tables", "INPUT", "--schema", "time-profile", "--format", "csv"],
    ["tables", "INPUT", "--schema", "time-profile", "--format", "json"],
    ["tables", "INPUT", "--schema", "time-profile", "--format", "parquet"],
    ["export", "INPUT", "--to", "csv"],
    ["export", "INPUT", "--to", "parquet"],
]


@pytest.mark.parametrize("words", STREAMED, ids=" ".join)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_disk_that_is_full_or_an_interrupt_leaves_no_half_table(
    words: list[str],
    error: BaseException,
    inputs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Filling(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() + len(data) > 20:
                super().write(data[:20])
                raise error
            return super().write(data)

    monkeypatch.setattr(output.os, "fdopen", Filling)
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "file"
    named = [inputs.get(word, word) for word in words]
    result = CliRunner().invoke(main, [*named, "-o", str(target)])
    assert list(target.parent.iterdir()) == []
    if isinstance(error, OSError):
        assert (result.exit_code, "cannot be written: No space left on device." in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), InputError("x.trace", "is cut off.")]
)
def test_a_result_that_ends_while_it_is_made_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    def pieces() -> Iterator[str]:
        yield "half"
        raise error

    target = tmp_path / "out.json"
    with pytest.raises(TracekitError):
        output.write_pieces(pieces(), str(target), force=False)
    assert list(tmp_path.iterdir()) == []
    target.write_text("before")
    with pytest.raises(TracekitError):
        output.write_pieces(pieces(), str(target), force=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.json", "before")]


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Any other failure of a disk is a sentence, too."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", "/Volumes/Stick/x.xml")

    monkeypatch.setattr("tracekit.detect.open_source", fail)
    result = CliRunner().invoke(main, ["tables", write(tmp_path, one_table("odd", []))])
    assert (result.exit_code, result.stderr) == (3, "Error: /Volumes/Stick/x.xml: Input/output error.\n")
