"""What this Xcode offers: templates, instruments and devices, from ``xctrace list``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracekit.errors import UsageError, XctraceError
from tracekit.xctrace.tool import Xctrace, failure_reason, run_command

_HEADING = re.compile(r"==\s*(.+?)\s*==\Z")
_DEVICE = re.compile(r"(.+?)\s+(?:\((\d+\.[\w.]+)\)\s+)?\(([0-9A-Fa-f-]{8,})\)\Z")
"""A name, which may hold brackets, the system's version (this Mac has none), the identifier."""

_MOST_LISTED = 20
_NO_DEVICE = "xctrace lists no device at all: tracekit doctor may tell why."


@dataclass(frozen=True)
class Device:
    """One line of ``xctrace list devices``."""

    name: str
    os: str
    udid: str
    kind: Literal["mac", "device", "simulator"]
    online: bool = True

    def __str__(self) -> str:
        return f"{self.name} ({self.os}) {self.udid}" if self.os else f"{self.name} {self.udid}"


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names that ``xctrace list templates`` or ``instruments`` prints, without its headings."""
    lines = [line.strip() for line in text.splitlines()]
    return tuple(dict.fromkeys(line for line in lines if line and not _HEADING.match(line)))


def parse_devices(text: str) -> tuple[Device, ...]:
    """Return the devices that ``xctrace list devices`` prints, this Mac among them.

    A heading may come twice. A line that is no device is passed over.
    """
    heading = ""
    devices = []
    for raw in text.replace("\N{NO-BREAK SPACE}", " ").splitlines():
        line = raw.strip()
        if match := _HEADING.match(line):
            heading = match[1]
        elif match := _DEVICE.match(line):
            simulated = heading == "Simulators"
            kind: Literal["mac", "device", "simulator"] = "mac"
            if simulated or match[2]:
                kind = "simulator" if simulated else "device"
            devices.append(Device(match[1], match[2] or "", match[3], kind, "Offline" not in heading))
    return tuple(devices)


def list_templates(tool: Xctrace) -> tuple[str, ...]:
    """Return the names of the templates; raise ``XctraceError`` when xctrace does not tell."""
    return parse_names(_list(tool, "templates"))


def list_instruments(tool: Xctrace) -> tuple[str, ...]:
    """Return the names of the instruments; raise ``XctraceError`` when xctrace does not tell."""
    return parse_names(_list(tool, "instruments"))


def list_devices(tool: Xctrace) -> tuple[Device, ...]:
    """Return the devices; raise ``XctraceError`` when xctrace does not tell."""
    return parse_devices(_list(tool, "devices"))


def find_device(wanted: str, devices: Sequence[Device]) -> Device:
    """Return the device of that identifier or name ("iPhone 17", or with its system "iPhone 17 (26.2)").

    Raises ``UsageError`` for none, for several, and for one that is offline.
    """
    found = [one for one in devices if wanted.casefold() == one.udid.casefold()]
    for spelt in (_spelt, lambda name: _spelt(name).casefold()):
        found = found or [one for one in devices if spelt(wanted) in map(spelt, _names(one))]
    found = [one for one in found if one.online] or found
    found = list({one.udid: one for one in found}.values())  # a heading may come twice
    if not found:
        listed = [f"{one}{'' if one.online else ' (offline)'}" for one in devices[:_MOST_LISTED]]
        raise UsageError(
            f"No device is called '{wanted}'. xctrace knows:" if devices else _NO_DEVICE, *listed
        )
    if len(found) > 1:
        raise UsageError(
            f"Several devices are called '{wanted}'. Name one by its identifier:",
            *(str(one) for one in found[:_MOST_LISTED]),
        )
    if not found[0].online:
        raise UsageError(
            f"{found[0].name} is offline. Connect it by cable, unlock it, trust this Mac; this can wake it:",
            f"xcrun devicectl device info details --device {found[0].udid}",
        )
    return found[0]


def _spelt(name: str) -> str:
    """Return a name as people type it: Apple's own hold curly apostrophes and no-break blanks."""
    return name.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\N{NO-BREAK SPACE}", " ")


def _names(device: Device) -> tuple[str, ...]:
    plain = device.name.removesuffix(" Simulator") if device.kind == "simulator" else device.name
    return tuple(f"{name}{os}" for name in (device.name, plain) for os in ("", f" ({device.os})"))


def _list(tool: Xctrace, what: str) -> str:
    answer = run_command([tool.path, "list", what])
    if not answer.ok:
        raise XctraceError(failure_reason(answer))
    # Xcode 12 to 14 printed these lists to standard error (unconfirmed: some scripts read both).
    return answer.output or answer.error
