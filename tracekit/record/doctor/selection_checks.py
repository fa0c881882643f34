"""Checks of the selected Xcode: ``xcode-select``, and ``DEVELOPER_DIR``, which overrides it."""

from __future__ import annotations

import os
from pathlib import Path

from tracekit.record.doctor.outcome import SELECT_XCODE, Check
from tracekit.xctrace.tool import CommandResult, run_command

SELECTION_CHECKS = ("xcode-select", "DEVELOPER_DIR")
_NONE = "no Xcode is selected"
_CONTENTS = Path("Contents/Developer")
_CHOOSE = "Unset it, or name an Xcode:\nunset DEVELOPER_DIR\nexport DEVELOPER_DIR=/Applications/Xcode.app"


def check_selection() -> tuple[Check, ...]:
    """Check both selections."""
    override = os.environ.get("DEVELOPER_DIR", "")
    # xcode-select obeys DEVELOPER_DIR, too (man xcode-select): without it, it prints what other shells get.
    result = run_command(["/usr/bin/env", "-u", "DEVELOPER_DIR", "xcode-select", "-p"])
    return (
        _check_xcode_select(result),
        _check_developer_dir(override, result.output.strip() if result.ok else ""),
    )


def is_any_selected(checks: tuple[Check, ...]) -> bool:
    """Return True if xcrun may run: where nothing is selected, macOS opens a dialog to install tools."""
    return bool(os.environ.get("DEVELOPER_DIR")) or not checks[0].finding.startswith(_NONE)


def _check_xcode_select(result: CommandResult) -> Check:
    name = SELECTION_CHECKS[0]
    folder = result.output.strip()
    if result.code is None:
        return Check(name, "skipped", result.last_lines)
    if not result.ok or not folder:
        return Check(name, "problem", f"{_NONE}: {result.last_lines}", SELECT_XCODE)
    if Path(folder).name == "CommandLineTools":
        return Check(name, "problem", "the Command Line Tools, which have no xctrace", SELECT_XCODE)
    return Check(name, "ok", folder)


def _check_developer_dir(value: str, selected: str) -> Check:
    name = SELECTION_CHECKS[1]
    if not value:
        return Check(name, "ok", "not set")
    folder = _find_developer_folder(value)
    if not folder.is_dir():
        return Check(name, "problem", f"does not exist: {value}", _CHOOSE)
    if not (folder / "usr/bin/xctrace").exists():
        return Check(name, "problem", f"has no xctrace: {value}", _CHOOSE)
    if selected and folder.resolve() != _find_developer_folder(selected).resolve():
        advice = "If that is not intended:\nunset DEVELOPER_DIR"
        return Check(name, "warning", f"{value} overrides the Xcode of xcode-select", advice)
    return Check(name, "ok", value)


def _find_developer_folder(path: str) -> Path:
    """Return the developer folder of a path, which may be an Xcode.app (man xcode-select)."""
    bundle_folder = Path(path) / _CONTENTS
    return bundle_folder if bundle_folder.is_dir() else Path(path)
