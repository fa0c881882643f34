"""Work for the workers of a pool, which import it by name: each recording's name is what happens."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tracekit.fleet.schema import ANALYZED
from tracekit.fleet.task import FleetTask, TaskOutcome, make_failure


def act(task: FleetTask) -> TaskOutcome:
    name = task.recording.name
    marker = Path(task.recording.address)
    if name == "crash" or (name == "crash once" and not marker.exists()):
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "sleep":
        marker.write_text(str(os.getpid()))
        time.sleep(600)
    if name == "memory":
        try:
            return TaskOutcome(task, str(len(bytearray(2 << 30))), ANALYZED, {})
        except MemoryError:
            return make_failure(task, "memory")
    return TaskOutcome(task, name, ANALYZED, {}, str(os.getpid()))
