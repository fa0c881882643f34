"""Fixtures that several folders of tests share."""

from __future__ import annotations

import gc
import os
import platform
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from functools import cache, wraps
from pathlib import Path
from typing import Any

import pytest
from browser_support import axe, browser  # noqa: F401 - fixtures
from documents_support import SHARED
from hypothesis import settings

# Where CI runs, the same few cases every time; elsewhere new ones, so that time finds what chance missed.
# TRACEKIT_EXAMPLES=1000 searches longer.
settings.register_profile(
    "tracekit",
    derandomize=bool(os.environ.get("CI")),
    deadline=None,
    max_examples=int(os.environ.get("TRACEKIT_EXAMPLES", "10" if os.environ.get("CI") else "20")),
)
settings.load_profile("tracekit")

platform.platform()  # journals name it; the first call runs uname, which no unit test may, and the result is kept


WORKER_FIXTURES = {"reading"}
"""Fixtures shared by several tests whose threads start processes: a test that uses one is an integration test."""

EXTRAS = {"browser", "consumers", "fuzz"}
"""Kinds that ``make extras`` runs, and no other target."""

WITH_PROCESSES = {"integration", *EXTRAS}
"""Kinds of tests that may start processes."""

KINDS = {"slow", *WITH_PROCESSES}

NO_UNIT_TESTS = re.compile(
    r"^pytestmark = \[?\s*pytest\.mark\.(integration|browser|consumers|slow)\b", re.MULTILINE
)
CALL_OF_ANALYSIS = re.compile(r"\banaly[sz]ed?(_\w+)?\(")
"""Of a module whose tests analyze recordings, which takes tens of milliseconds each."""
SIGN_OF_EXTRAS = re.compile(r"\b(browser|tab|opened): |\bmark\.(browser|consumers|fuzz)\b")


@cache
def may_have_extras(module: Path) -> bool:
    """Return whether a module's text has a fixture or a mark of the tests that ``make extras`` runs."""
    return SIGN_OF_EXTRAS.search(module.read_text("utf-8")) is not None


@cache
def has_analyses(module: Path) -> bool:
    """Return whether a module's tests analyze recordings."""
    return CALL_OF_ANALYSIS.search(module.read_text("utf-8")) is not None


def may_have_unit_tests(module: Path) -> bool:
    """Return whether a module's tests are neither slow by default nor all of another kind."""
    return not has_analyses(module) and NO_UNIT_TESTS.search(module.read_text("utf-8")) is None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules without a selected test: importing all takes 12 s in each process."""
    selected = set(re.findall(r"\w+", config.option.markexpr)) - {"or"}
    if collection_path.suffix != ".py" or collection_path.name == "conftest.py" or not selected:
        return None
    is_left_out = (selected <= EXTRAS and not may_have_extras(collection_path)) or (
        selected == {"unit"} and not may_have_unit_tests(collection_path)
    )
    return True if is_left_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its kind: a test without one is a unit test, unless its module analyzes recordings.

    A browser or another process may be late once on a busy machine, so their tests are run a second time before they
    fail; the summary lists them.

    Modules with more than unit tests come first, so that no process is left with a slow one at the end.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)
        if WORKER_FIXTURES.intersection(fixtures):
            item.add_marker(pytest.mark.integration)
        if item.get_closest_marker("integration") or item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if not any(item.get_closest_marker(kind) for kind in KINDS):
            item.add_marker(pytest.mark.slow if has_analyses(item.path) else pytest.mark.unit)
        if any(item.get_closest_marker(kind) for kind in EXTRAS) and not may_have_extras(item.path):
            raise pytest.UsageError(f"make extras would leave out {item.nodeid}: extend SIGN_OF_EXTRAS")
    mixed = {item.path for item in items if not item.get_closest_marker("unit")}
    items.sort(key=lambda item: item.path not in mixed)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the process of pytest-xdist send what it counts of a test that may run again without delay.

    pytest-rerunfailures sends two short messages before each such test. TCP holds the second one back until the
    first is acknowledged, 40 ms later: five minutes of all integration tests together.
    """
    if hasattr(session.config, "workerinput"):
        connection = getattr(session.config, "failures_db").sock  # noqa: B009 - no attribute that types declare
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def pytest_collection_finish() -> None:
    """Exempt the tests and modules from the collection of garbage: they stay until the end."""
    gc.freeze()


class ProcessGuard:
    """Fails tests that are to run in this process alone where they start another.

    No audit hook: CPython 3.11 refuses a thread's trace function, which debuggers set, while a hook written in
    Python runs for another thread's.
    """

    def __init__(self) -> None:
        self.is_armed = False
        for owner, name in ((subprocess.Popen, "__init__"), (os, "fork"), (os, "posix_spawn")):
            setattr(owner, name, self._guarded(getattr(owner, name)))

    def _guarded(self, start: Callable[..., object]) -> Callable[..., object]:
        """Return a function that starts a process unless such a test calls it.

        Only the test's own thread counts: a library that several tests share goes on starting its workers.
        """

        @wraps(start)
        def guarded(*arguments: object, **options: object) -> object:
            if self.is_armed and threading.current_thread() is threading.main_thread():
                raise AssertionError(
                    f"a test in this process alone started another ({arguments!r}): mark it as integration"
                )
            return start(*arguments, **options)

        return guarded


PROCESS_GUARD = ProcessGuard()

MAX_UNIT_CPU_S = 80
"""The CPU time of all unit tests together, in every process of a test run.

``make quick`` may cost 120 s, of which 35 are imports, collection and pytest's own; other programs lengthen it.
"""
MAX_UNIT_CPU_IN_ALL_S = 150
"""The same where all tests run: under coverage, three processes on two cores, it was 95 s of the reference."""
REFERENCE_LOOP_S = 0.04
"""The CPU time of ``LOOP`` on the machine whose seconds the limits are. Where cores are shared, it is half as
much again, and so are all tests."""
LOOP = range(1_000_000)
_TESTS_PER_LOOP = 400


class UnitCost:
    """The CPU time of unit tests, and how slow the machine was meanwhile."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.loops_s: list[float] = []
        self._tests = 0

    def count(self, cpu_s: float) -> None:
        """Add a test, and time the loop at every so many of them."""
        self.cpu_s += cpu_s
        if self._tests % _TESTS_PER_LOOP == 0:
            start_s = time.process_time()
            sum(number for number in LOOP)
            self.loops_s.append(time.process_time() - start_s)
        self._tests += 1

    @property
    def reference_s(self) -> float:
        """The CPU time in seconds of the reference."""
        if not self.loops_s:
            return 0.0
        return self.cpu_s * REFERENCE_LOOP_S * len(self.loops_s) / sum(self.loops_s)


UNIT_COST = UnitCost()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Arm the guard for a test in this process alone and its fixtures, and measure what unit tests cost."""
    is_unit = item.get_closest_marker("unit") is not None
    PROCESS_GUARD.is_armed = not any(map(item.get_closest_marker, WITH_PROCESSES))
    start_s = time.process_time()
    try:
        return (yield)
    finally:
        if is_unit:
            UNIT_COST.count(time.process_time() - start_s)
        PROCESS_GUARD.is_armed = False


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the cost that a process of pytest-xdist has measured."""
    output = getattr(node, "workeroutput", {})
    UNIT_COST.cpu_s += output.get("unit_cpu_s", 0.0)
    UNIT_COST.loops_s += output.get("loops_s", [])


def find_unit_limit(config: pytest.Config) -> int:
    """Return the most CPU time that the unit tests of this run may take, in seconds."""
    return MAX_UNIT_CPU_S if config.getoption("markexpr") == "unit" else MAX_UNIT_CPU_IN_ALL_S


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run whose unit tests cost too much."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput |= {"unit_cpu_s": UNIT_COST.cpu_s, "loops_s": UNIT_COST.loops_s}
    elif UNIT_COST.reference_s > find_unit_limit(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the unit tests cost, and what to do about too much."""
    limit = find_unit_limit(config)
    cost = f"{UNIT_COST.cpu_s:.0f} s of CPU time, {UNIT_COST.reference_s:.0f} on the reference machine"
    terminalreporter.write_line(f"unit tests: {cost}, at most {limit}")
    if UNIT_COST.reference_s > limit:
        terminalreporter.write_line(
            "Too much for `make quick`: make the slow ones quicker, or mark them as slow."
        )


@pytest.fixture
def shared() -> Path:
    """The collection of real recordings beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("no collection of real recordings beside the checkout")
    return SHARED
