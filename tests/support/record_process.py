"""A ``tracekit record`` in a process of its own, beside a fake xctrace."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from xctrace_support import FakeXctrace, install


@dataclass(frozen=True)
class Ended:
    code: int
    output: str
    error: str
    folder: Path
    xctrace: FakeXctrace

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def left_nothing(self) -> bool:
        return self.xctrace.running() == [] and self.xctrace.temporary_files() == []


class Running:
    """A `tracekit record` in a process of its own, whose output goes to files, to be read at any time."""

    def __init__(
        self,
        home: Path,
        arguments: Sequence[str],
        *,
        own_session: bool = False,
        output: IO[bytes] | int | None = None,
        error: IO[bytes] | int | None = None,
        **settings: object,
    ) -> None:
        self.xctrace = install(home / "bin", **settings)
        self.folder = home / "work"
        self.folder.mkdir()
        self._output, self._error = home / "output", home / "error"
        with self._output.open("wb") as output_file, self._error.open("wb") as error_file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tracekit", "record", *arguments],
                cwd=self.folder,
                env=self.xctrace.environment(),
                stdin=subprocess.PIPE,
                stdout=output_file if output is None else output,
                stderr=error_file if error is None else error,
                text=True,
                start_new_session=own_session,
            )

    def output(self) -> str:
        return self._output.read_text()

    def error(self) -> str:
        return self._error.read_text()

    def wait_for(self, condition: Callable[[], object], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None and time.monotonic() < deadline, self.error()
            time.sleep(0.02)

    def wait_for_message(self, text: str) -> None:
        self.wait_for(lambda: text in self.error())

    def wait_for_recording(self, name: str = "*") -> None:
        """Wait until xctrace has begun to write its bundle."""
        self.wait_for(lambda: any(self.folder.glob(f"{name}.trace")))

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def interrupt_until_killed(self) -> None:
        """Interrupt three times: stop, a warning, and the request that kills xctrace."""
        self.interrupt()
        self.wait_for_message("Stopping and saving …")
        self.interrupt()
        self.wait_for_message("Ctrl-C again within")
        self.interrupt()

    def press_enter(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> Ended:
        self.process.communicate(timeout=60)
        return Ended(self.process.returncode, self.output(), self.error(), self.folder, self.xctrace)
