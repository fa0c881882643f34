"""Templates, instruments and devices of this Xcode, from ``xctrace list``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from tracekit.errors import UsageError, XctraceError
from tracekit.frozen import frozen
from tracekit.xctrace.tool import Xctrace, explain_failure, run_command

_HEADING = re.compile(r"==\s*(.+?)\s*==\Z")
_DEVICE = re.compile(r"(.+?)\s+(?:\((\d+\.[\w.]+)\)\s+)?\(([0-9A-Fa-f-]{8,})\)\Z")
"""A name, which may hold brackets, the system's version (this Mac has none), the identifier."""

_MAX_LISTED = 20
_NO_DEVICE = "xctrace lists no device at all: run tracekit doctor to check the installation."


@frozen
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
    """Return the names in the output of ``xctrace list templates`` or ``instruments``, without headings."""
    lines = [line.strip() for line in text.splitlines()]
    return tuple(dict.fromkeys(line for line in lines if line and not _HEADING.match(line)))


def parse_devices(text: str) -> tuple[Device, ...]:
    """Return the devices in the output of ``xctrace list devices``, this Mac among them.

    A heading may come twice. A line that is not a device is skipped.
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
    """Return the names of the templates; raise ``XctraceError`` if xctrace does not list them."""
    return parse_names(_run_list(tool, "templates"))


def list_instruments(tool: Xctrace) -> tuple[str, ...]:
    """Return the names of the instruments; raise ``XctraceError`` if xctrace does not list them."""
    return parse_names(_run_list(tool, "instruments"))


def list_devices(tool: Xctrace) -> tuple[Device, ...]:
    """Return the devices; raise ``XctraceError`` if xctrace does not list them."""
    return parse_devices(_run_list(tool, "devices"))


def find_device(name: str, devices: Sequence[Device]) -> Device:
    """Return the device with that identifier or name ("iPhone 17", or with its system "iPhone 17 (26.2)").

    Raises ``UsageError`` if none or several match, and if the device is offline.
    """
    # From the strictest match to the loosest: identifier, name as typed, name in any case.
    matches = [device for device in devices if name.casefold() == device.udid.casefold()]
    for normalize in (_normalize_name, lambda text: _normalize_name(text).casefold()):
        matches = matches or [
            device for device in devices if normalize(name) in map(normalize, _list_names(device))
        ]
    matches = [device for device in matches if device.online] or matches
    matches = list({device.udid: device for device in matches}.values())  # a heading may come twice
    if not matches:
        lines = [f"{device}{'' if device.online else ' (offline)'}" for device in devices[:_MAX_LISTED]]
        raise UsageError(f"No device is called '{name}'. xctrace lists:" if devices else _NO_DEVICE, *lines)
    if len(matches) > 1:
        raise UsageError(
            f"Several devices are called '{name}'. Name one by its identifier:",
            *(str(device) for device in matches[:_MAX_LISTED]),
        )
    device = matches[0]
    if not device.online:
        raise UsageError(
            f"{device.name} is offline. Connect it by cable, unlock it, trust this Mac; this can wake it:",
            f"xcrun devicectl device info details --device {device.udid}",
        )
    return device


def _normalize_name(name: str) -> str:
    """Return a name as people type it: Apple's own have curly apostrophes and no-break spaces."""
    return name.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("\N{NO-BREAK SPACE}", " ")


def _list_names(device: Device) -> tuple[str, ...]:
    plain = device.name.removesuffix(" Simulator") if device.kind == "simulator" else device.name
    return tuple(f"{name}{os}" for name in (device.name, plain) for os in ("", f" ({device.os})"))


def _run_list(tool: Xctrace, kind: str) -> str:
    result = run_command([tool.path, "list", kind])
    if not result.ok:
        raise XctraceError(explain_failure(result))
    # Xcode 12 to 14 printed these lists to standard error (unconfirmed: some scripts read both).
    return result.output or result.error
