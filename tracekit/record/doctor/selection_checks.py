"""Which Xcode is selected: ``xcode-select``, and ``DEVELOPER_DIR``, which wins over it."""

from __future__ import annotations

import os
from pathlib import Path

from tracekit.record.doctor.check import SELECT_XCODE, Check
from tracekit.xctrace.tool import CommandResult, run_command

SELECTION = ("xcode-select", "DEVELOPER_DIR")
_NONE = "no Xcode is selected"
_CONTENTS = Path("Contents/Developer")
_CHOOSE = "Unset it, or name an Xcode:\nunset DEVELOPER_DIR\nexport DEVELOPER_DIR=/Applications/Xcode.app"


def check_selection() -> tuple[Check, ...]:
    """Look at both."""
    override = os.environ.get("DEVELOPER_DIR", "")
    # xcode-select heeds DEVELOPER_DIR too (man xcode-select): without it, it tells what other shells get.
    answer = run_command(["/usr/bin/env", "-u", "DEVELOPER_DIR", "xcode-select", "-p"])
    return (
        _selected(answer),
        _override(override, answer.output.strip() if answer.ok else ""),
    )


def is_any_selected(checks: tuple[Check, ...]) -> bool:
    """Return whether xcrun may be asked: where nothing is selected, macOS opens a dialog to install tools."""
    return bool(os.environ.get("DEVELOPER_DIR")) or not checks[0].found.startswith(_NONE)


def _selected(answer: CommandResult) -> Check:
    name = SELECTION[0]
    folder = answer.output.strip()
    if answer.code is None:
        return Check(name, "skipped", answer.gist)
    if not answer.ok or not folder:
        return Check(name, "problem", f"{_NONE}: {answer.gist}", SELECT_XCODE)
    if Path(folder).name == "CommandLineTools":
        return Check(name, "problem", "the Command Line Tools, which have no xctrace", SELECT_XCODE)
    return Check(name, "ok", folder)


def _override(value: str, selected: str) -> Check:
    name = SELECTION[1]
    if not value:
        return Check(name, "ok", "not set")
    folder = _developer_folder(value)
    if not folder.is_dir():
        return Check(name, "problem", f"leads nowhere: {value}", _CHOOSE)
    if not (folder / "usr/bin/xctrace").exists():
        return Check(name, "problem", f"holds no xctrace: {value}", _CHOOSE)
    if selected and folder.resolve() != _developer_folder(selected).resolve():
        advice = "Where that is not meant:\nunset DEVELOPER_DIR"
        return Check(name, "warning", f"{value} is used, not what xcode-select says", advice)
    return Check(name, "ok", value)


def _developer_folder(path: str) -> Path:
    """Return what is meant: the tools take an Xcode.app as well (man xcode-select)."""
    inside = Path(path) / _CONTENTS
    return inside if inside.is_dir() else Path(path)
