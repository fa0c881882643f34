"""The launched target: a real process on the host, pretended on a device."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fake_xctrace.machine import log_target
from fake_xctrace.plan import Plan

if TYPE_CHECKING:
    import subprocess


class Target:
    """A process in a session of its own, so that Ctrl-C in the terminal does not reach it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    @classmethod
    def of(cls, plan: Plan, folder: Path) -> Target | None:
        """Launch the program of the plan; None if there is none on this host."""
        if plan.kind != "launch" or plan.device.kind != "host":
            return None
        import subprocess

        variables = dict(variable.partition("=")[::2] for variable in plan.variables)
        with (
            _stream(plan.standard_input, os.O_RDONLY, 0) as stdin,
            _stream(plan.standard_output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 1) as stdout,
        ):
            child = subprocess.Popen(
                plan.command,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **variables},
                start_new_session=True,
            )
        log_target(folder, child.pid)
        return cls(child)

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def kill(self) -> None:
        """Kill it as xctrace does at the end of a recording, with SIGKILL."""
        self._child.kill()
        self._child.wait()


def _stream(name: str | None, flags: int, own_stream: int) -> io.RawIOBase:
    """Open the file of a redirection; `-` is xctrace's own stream."""
    descriptor = os.dup(own_stream) if name == "-" else os.open(name or os.devnull, flags, 0o644)
    return io.FileIO(descriptor, "rb" if flags == os.O_RDONLY else "wb")
