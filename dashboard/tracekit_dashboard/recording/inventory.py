"""Inventory of this host for recording, taken in the background: ``xctrace list`` can take a minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import tracekit
from tracekit.errors import TracekitError
from tracekit.record.doctor import Check, examine
from tracekit.xctrace.mac_host import Mac, Process
from tracekit.xctrace.tool import require_xctrace
from tracekit.xctrace.version import read_version
from tracekit.xctrace.xctrace_list import Device, list_devices, list_templates
from tracekit_dashboard.jobs.queue import Job, JobKind, JobQueue

_FRESH_SECONDS = 60.0
_INVENTORY = JobKind("inventory", "Examining this machine", at_once=1, priority=0, is_live=True)
_NO_MAC = "Recording needs a Mac with Xcode. Reading, reports and the library work here."


@dataclass(frozen=True)
class HostInventory:
    """The devices and templates to choose from.

    ``problem`` is the reason why recording is not possible here, ``checks`` are the doctor's findings."""

    problem: str = ""
    checks: tuple[Check, ...] = ()
    version: str = ""
    templates: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    note: str = ""


def take_inventory() -> HostInventory:
    """List templates and devices by xctrace, or run the doctor's checks if there is none."""
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
    """Takes the inventory on request if the last one is old; one at a time."""

    def __init__(self, queue: JobQueue, take: Callable[[], HostInventory] = take_inventory) -> None:
        self._queue, self._take = queue, take
        self._mutex = threading.Lock()
        self._inventory: HostInventory | None = None
        self._taken_at = 0.0

    def find_inventory(self, refresh: bool = False) -> HostInventory | None:
        """Return the last inventory, None if there is none yet; return at once."""
        with self._mutex:
            if refresh or time.monotonic() - self._taken_at > _FRESH_SECONDS:
                self._inventory = None  # devices come and go
            if self._inventory is None:  # pages poll until it is there: all of them join one job
                self._queue.submit(_INVENTORY, ("host",), self._refresh_inventory)
            return self._inventory

    def _refresh_inventory(self, _job: Job) -> None:
        try:
            inventory = self._take()
        except Exception as error:  # noqa: BLE001 - the page says so and can ask again
            inventory = HostInventory(problem=f"This machine could not be examined: {error}")
        with self._mutex:
            self._inventory, self._taken_at = inventory, time.monotonic()


def list_processes() -> tuple[Process, ...]:
    """Return the processes of this machine, apps first, each group by name."""
    running = Mac().processes()
    return tuple(
        sorted(running, key=lambda process: (process.app is None, process.name.casefold(), process.pid))
    )
