"""Checks of everything that a recording needs; nothing is changed, and no password is requested."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace

from tracekit.installation import DISTRIBUTION, list_namesakes
from tracekit.record.doctor.machine_checks import MACHINE_CHECKS, MachineProbe, check_machine
from tracekit.record.doctor.outcome import Check, CheckState, skip
from tracekit.record.doctor.selection_checks import SELECTION_CHECKS, check_selection, is_any_selected
from tracekit.record.doctor.xctrace_checks import XCTRACE_CHECKS, check_xctrace

__all__ = ["NEEDS_MAC", "Check", "CheckState", "examine", "readers"]

NEEDS_MAC = "needs a Mac"
"""The finding of every check that is skipped on another system."""


def examine(
    version: str,
    xctrace: str | None = None,
    device: str | None = None,
    *,
    system: str = sys.platform,
    machine: MachineProbe | None = None,
) -> tuple[Check, ...]:
    """Return all checks in reading order; ``version`` is tracekit's.

    ``xctrace`` is the path of another xctrace than the selected one, which is examined on any system.
    ``device`` is a name or identifier. Raises ``UsageError`` if ``xctrace`` does not exist.
    """
    is_mac = system == "darwin"
    checks = (
        _describe_tracekit(version),
        Check("readers", "ok", "; ".join(list_readers())),
        _describe_system(is_mac),
    )
    xctrace_names = XCTRACE_CHECKS if device is None else (*XCTRACE_CHECKS, "device")
    if not is_mac and xctrace is None:
        return (*checks, *skip((*SELECTION_CHECKS, *xctrace_names, *MACHINE_CHECKS), NEEDS_MAC))
    selection = check_selection() if is_mac else skip(SELECTION_CHECKS, NEEDS_MAC)
    xctrace_checks = check_xctrace(xctrace, device, is_any_selected(selection))
    if any(check.name == "xctrace" and check.state == "ok" for check in xctrace_checks):
        # With a working xctrace, a wrong selection prevents nothing.
        selection = tuple(
            replace(check, state="warning") if check.state == "problem" else check for check in selection
        )
    return (
        *checks,
        *selection,
        *xctrace_checks,
        *(check_machine(machine or MachineProbe()) if is_mac else skip(MACHINE_CHECKS, NEEDS_MAC)),
    )


def _describe_tracekit(version: str) -> Check:
    finding = f"{version}, Python {platform.python_version()}"
    namesakes = list_namesakes()
    if not namesakes:
        return Check("tracekit", "ok", finding)
    advice = (
        "Another program has a package of this name; the files of the one installed last replace the others."
        f" Install this one where it is alone:\nuv tool install {DISTRIBUTION}"
    )
    return Check("tracekit", "warning", f"{finding}, in one environment with {', '.join(namesakes)}", advice)


def list_readers() -> tuple[str, ...]:
    """Return the reader of each kind of recording on this machine."""
    from lxml import etree

    from tracekit.parsers.xml.accelerator import choose_reader

    lxml = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))}"
    return (
        f"exports: {lxml}, with the compiled accelerator"
        if choose_reader() == "compiled"
        else f"exports: {lxml}, without the compiled accelerator",
        "bundles: Python",
    )


def _describe_system(is_mac: bool) -> Check:
    if is_mac:
        return Check("system", "ok", f"macOS {platform.mac_ver()[0] or 'of unknown version'}")
    return Check("system", "ok", platform.system())
