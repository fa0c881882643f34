"""The commands of the tutorials and recipes run in their order, and print what the pages show.

A block ``console`` holds commands after ``$`` and what they print, with … for lines that are left out; a command
ends with 0 unless ``echo $?`` follows. A block ``toml`` is the file ``tracekit.toml`` from there on, ``python`` is
run, and a block ``sh`` holds commands for a Mac or a shell, whose options are checked.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from log_streams import SERVED, call
from thread_support import SAMPLE_TEXT

from tracekit.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/how-to.md"]
KINDS = {"console", "toml", "python", "sh", "text"}
LEFT_OUT = "…"
TEXTS = {
    "sample.txt": SAMPLE_TEXT,
    "power.jsonl": "".join(
        f'{{"timestamp":"2026-01-01T12:00:00.{number:02d}0Z","ane_power":0.5,"cpu_power":1.5,"gpu_power":0.1}}\n'
        for number in range(60)
    ),
    "saved.ndjson": b"".join(
        line
        for number in range(6)
        for line in call(
            number * 20_000,
            number * 20_000 + 5_000,
            *([(number * 20_000 + 4_000, SERVED)] if number < 5 else []),
        )
    ).decode(),
}
"""What other tools wrote, for the page of recipes."""


def read_blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(\S+)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def split_commands(block: str) -> Iterator[tuple[str, list[str]]]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield command, printed


def find_missing(printed: list[str], output: str) -> str:
    """Return the first lines of a page that the output lacks at that place; "" where it has all in their order."""
    place = 0
    is_next = True
    for piece in re.split(rf"^{LEFT_OUT}\n?", "".join(f"{line}\n" for line in printed), flags=re.MULTILINE):
        found = output.find(piece, place)
        if found < 0 or (is_next and found != place):
            return piece
        place, is_next = found + len(piece), False
    return "" if not printed or printed[-1] == LEFT_OUT or place == len(output) else output[place:]


def run_console(block: str) -> None:
    code = 0
    commands = list(split_commands(block))
    for number, (command, printed) in enumerate(commands):
        if command == "echo $?":
            assert printed == [str(code)], command
            continue
        name, *arguments = shlex.split(command)
        assert name == "tracekit"
        result = CliRunner(env={"COLUMNS": ""}).invoke(main, arguments)
        assert not find_missing(printed, result.stdout), f"{command}\n{result.output}"
        code = result.exit_code
        is_told = number + 1 < len(commands) and commands[number + 1][0] == "echo $?"
        assert is_told or code == 0, f"{command}\n{result.output}"


def check_options(command: str) -> None:
    """Raise for a command or an option that does not exist; nothing runs."""
    words = shlex.split(command, comments=True)
    if words[:1] != ["tracekit"]:
        return
    found: click.Command | None = main
    context = click.Context(main)
    words = words[1:]
    while isinstance(found, click.Group):
        found = found.get_command(context, words.pop(0))
    assert found is not None, command
    if not any(word.isupper() or "…" in word for word in words):
        found.make_context(found.name, list(words))
    options = {option for parameter in found.params for option in parameter.opts}
    assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options, command


@pytest.mark.integration
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sample_traces"
    shutil.copytree(ROOT / "sample_traces", folder)
    monkeypatch.chdir(folder)
    if page.stem == "how-to":
        for name, text in TEXTS.items():
            Path(name).write_text(text, "utf-8")
    names: dict[str, object] = {}
    for kind, block in read_blocks(page):
        if kind == "console":
            run_console(block)
        elif kind == "toml":
            Path("tracekit.toml").write_text(block, "utf-8")
        elif kind == "python":
            exec(compile(block, page.name, "exec"), names)
        elif kind == "sh":
            for line in block.splitlines():
                check_options(line)
        else:
            assert kind in KINDS, kind


def test_an_output_that_differs_is_found() -> None:
    output = "one\ntwo\nthree\n"
    assert find_missing(["one", LEFT_OUT, "three"], output) == ""
    assert find_missing(["two", LEFT_OUT], output) == "two\n"  # not at the start
    assert find_missing([LEFT_OUT, "two", "four"], output) == "two\nfour\n"
    assert find_missing(["one", "two"], output) == "three\n"
    assert find_missing([], output) == ""
