"""What there is to record here, asked in the background: ``xctrace list`` can take a minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import tracekit
from tracekit.errors import TracekitError
from tracekit.record.doctor import Check, examine
from tracekit.xctrace.host import Mac, Process
from tracekit.xctrace.listing import Device, list_devices, list_templates
from tracekit.xctrace.tool import require_xctrace
from tracekit.xctrace.version import read_version

_FRESH_SECONDS = 60.0
_NO_MAC = "xctrace comes with Xcode, on a Mac."


@dataclass(frozen=True)
class HostInventory:
    """``problem`` says why nothing can be recorded here, and ``checks`` what the doctor makes of it."""

    problem: str = ""
    checks: tuple[Check, ...] = ()
    version: str = ""
    templates: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    note: str = ""


def look() -> HostInventory:
    """Ask xctrace what it offers, and the doctor where there is none."""
    try:
        tool = require_xctrace()
        version = read_version(tool)
    except TracekitError as error:
        problem = str(error) if sys.platform == "darwin" else _NO_MAC
        return HostInventory(problem=problem, checks=examine(tracekit.__version__))
    try:
        templates, note = list_templates(tool), ""
    except TracekitError as error:
        templates, note = (), str(error)
    try:
        devices = list_devices(tool)
    except TracekitError as error:
        devices, note = (), str(error)
    return HostInventory("", (), f"{version}, of {version.xcode}", templates, devices, note)


class HostProbe:
    """Looks when somebody asks and what is known is old; one look at a time, whoever asks."""

    def __init__(self, look: Callable[[], HostInventory] = look) -> None:
        self._look = look
        self._mutex = threading.Lock()
        self._found: HostInventory | None = None
        self._looked = 0.0
        self._looking = False

    def found(self, anew: bool = False) -> HostInventory | None:
        """Return what is known, None where nothing is so far; return at once."""
        with self._mutex:
            if anew or time.monotonic() - self._looked > _FRESH_SECONDS:
                self._found = None  # devices come and go
            if self._found is None and not self._looking:
                self._looking = True
                threading.Thread(target=self._refresh, daemon=True).start()
            return self._found

    def _refresh(self) -> None:
        try:
            found = self._look()
        except Exception as error:  # noqa: BLE001 - the page says so and can ask again
            found = HostInventory(problem=f"This machine could not be examined: {error}")
        with self._mutex:
            self._found, self._looked, self._looking = found, time.monotonic(), False


def processes() -> tuple[Process, ...]:
    """Return what runs here, apps first, each group by name."""
    found = Mac().processes()
    return tuple(sorted(found, key=lambda one: (one.app is None, one.name.casefold(), one.pid)))
