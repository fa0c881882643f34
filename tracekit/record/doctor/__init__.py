"""Can this machine record, and if not, why? Looks only: nothing is changed, nothing asks for a password."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace

from tracekit.record.doctor.check import Check, State, skip
from tracekit.record.doctor.machine_checks import MACHINE, MachineProbe, check_machine
from tracekit.record.doctor.selection_checks import SELECTION, check_selection, is_any_selected
from tracekit.record.doctor.xctrace_checks import OFFER, check_offer

__all__ = ["Check", "State", "examine", "readers"]

NEEDS_MAC = "recording needs a Mac"


def examine(
    version: str,
    xctrace: str | None = None,
    device: str | None = None,
    *,
    system: str = sys.platform,
    machine: MachineProbe | None = None,
) -> tuple[Check, ...]:
    """Return every check, in the order in which to read them; ``version`` is tracekit's.

    ``xctrace`` names another than the selected one, and has it examined on any system. ``device`` is a name
    or identifier. Raises ``UsageError`` where ``xctrace`` is not there.
    """
    is_mac = system == "darwin"
    checks = (
        Check("tracekit", "ok", f"{version}, Python {platform.python_version()}"),
        Check("readers", "ok", "; ".join(readers())),
        _system(is_mac),
    )
    offer = OFFER if device is None else (*OFFER, "device")
    if not is_mac and xctrace is None:
        return (*checks, *skip((*SELECTION, *offer, *MACHINE), NEEDS_MAC))
    selection = check_selection() if is_mac else skip(SELECTION, NEEDS_MAC)
    offered = check_offer(xctrace, device, is_any_selected(selection))
    if any(check.name == "xctrace" and check.state == "ok" for check in offered):
        selection = tuple(
            replace(one, state="warning") if one.state == "problem" else one for one in selection
        )
    return (
        *checks,
        *selection,
        *offered,
        *(check_machine(machine or MachineProbe()) if is_mac else skip(MACHINE, NEEDS_MAC)),
    )


def readers() -> tuple[str, ...]:
    """Return what reads each kind of recording here."""
    from lxml import etree

    from tracekit.parsers.xml.accelerator import reader_in_use

    lxml = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))}"
    return (
        f"exports: compiled scanner, {lxml} for what it leaves"
        if reader_in_use() == "compiled"
        else f"exports: {lxml}, without the compiled scanner",
        "bundles: Python",
    )


def _system(is_mac: bool) -> Check:
    if is_mac:
        return Check("system", "ok", f"macOS {platform.mac_ver()[0] or 'of unknown version'}")
    return Check("system", "ok", f"{platform.system()}: {NEEDS_MAC}; reading works here")
