"""Answers to the commands that every recording begins with: a shell prints them in 2 ms, and Python needs 40 to start.

`answers.sh` is written anew with the settings. A command without an answer, or under another DEVELOPER_DIR, is run by
`program.main`.
"""

from __future__ import annotations

import json
import shlex

from fake_xctrace.machine import CapturedConsole, Machine, replace_file
from fake_xctrace.program import run_program

COMMANDS = (
    ("xctrace", "version"),
    ("xctrace", "list", "devices"),
    ("xctrace", "list", "instruments"),
    ("xctrace", "list", "templates"),
    ("xcrun", "--find", "xctrace"),
    ("xcode-select", "-p"),
    ("ps", "-axww", "-o", "pid=,comm="),
)
SCRIPT = """#!/bin/sh
name={name}
if [ -z "$DEVELOPER_DIR" ]; then . {folder}/answers.sh; fi
exec {python} -IS -c {code} "$@"
"""
_ANSWER = """{name})
printf '%s\\n' {call} >> {folder}/calls.jsonl
printf %s {output}
printf %s {error} >&2
exit {code};;
"""


def write_answers(machine: Machine) -> None:
    answers = "".join(_answer(machine, name, words) for name, *words in COMMANDS)
    replace_file(machine.folder / "answers.sh", f'case "$name $# $*" in\n{answers}esac\n')


def _answer(machine: Machine, name: str, words: list[str]) -> str:
    console = CapturedConsole()
    code = run_program(name, words, machine, console)
    call = {"argv": [name, *words], "pid": None, "born": None, "cwd": None, "DEVELOPER_DIR": None}
    return _ANSWER.format(
        name=shlex.quote(f"{name} {len(words)} {' '.join(words)}"),
        call=shlex.quote(json.dumps(call)),
        folder=shlex.quote(str(machine.folder.resolve())),
        output=shlex.quote(console.texts[1]),
        error=shlex.quote(console.texts[2]),
        code=code,
    )
