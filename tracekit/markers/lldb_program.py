"""Counts the calls of an engine's functions in lldb. Written by ``tracekit lldb``; needs no tracekit.

    (lldb) command script import FILE      sets the breakpoints on the program that is loaded or attached
    (lldb) continue
    (lldb) tracekit-hits                   prints the counts so far
    (lldb) tracekit-start                  sets the breakpoints again, on another program

Each hit is a line of JSON; tracekit analyze reads the file. Works with Python 3.9, which Apple's lldb has.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import sys
import time
from datetime import datetime
from typing import Any

SETTINGS: dict[str, Any] = {}  # replaced by the settings of the script

_MAX_NAME_CHARACTERS = 1024
_COUNTS_INTERVAL_NS = 1_000_000_000
_LOG: _HitLog | None = None


class _BreakpointRule:
    """A breakpoint on one rule's functions."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.id: str = settings["id"]
        self.expression: str = settings["expression"]
        self.is_request: bool = settings["request"]
        self._pattern = re.compile(settings["pattern"])
        self._binaries = [re.compile(fnmatch.translate(name)) for name in settings["binaries"]]

    def matches(self, function: str, module: str) -> bool:
        """Return True if the rule itself matches: lldb's expression matches more than the rule."""
        plain = re.sub(r"\.(?:dylib|so|framework)$", "", module)
        if self._binaries and not any(binary.match(plain) for binary in self._binaries):
            return False
        return self._pattern.search(function) is not None


class _HitLog:
    """The file of hits: the first hits with their backtraces, and counts of all hits."""

    def __init__(self, path: str, target: Any) -> None:
        self.path = path
        self.rules = [_BreakpointRule(settings) for settings in SETTINGS["rules"]]
        self.by_breakpoint: dict[int, _BreakpointRule] = {}
        self.counts: dict[str, int] = {}
        self.kept = 0
        self.errors = 0
        self.has_stopped = False
        self._modules: dict[str, int] = {}
        self._start_ns = time.monotonic_ns()
        self._counted_ns = 0
        executable = target.GetExecutable().GetFilename() or ""
        self._append_record(
            {
                "tracekit": "lldb-hits",
                "version": 1,
                "start": datetime.now().astimezone().isoformat(),
                "process": executable,
                "pid": target.GetProcess().GetProcessID() if target.GetProcess().IsValid() else -1,
                "most_hits": SETTINGS["most_hits"],
                "frames": SETTINGS["frames"],
                "rules": [rule.id for rule in self.rules],
            }
        )

    def find_rule(self, function: str, module: str) -> _BreakpointRule | None:
        """Return the first rule that matches; several rules may have breakpoints on the same function."""
        return next((rule for rule in self.rules if rule.matches(function, module)), None)

    def add_hit(self, rule: _BreakpointRule, thread: Any) -> None:
        """Count a hit, and write it until the file has reached its maximum number of hits."""
        self.counts[rule.id] = self.counts.get(rule.id, 0) + 1
        time_ns = time.monotonic_ns() - self._start_ns
        is_kept = self.kept < SETTINGS["most_hits"]
        if is_kept:
            self.kept += 1
            self._append_record(
                {
                    "time": time_ns,
                    "rule": rule.id,
                    "tid": thread.GetThreadID(),
                    "number": thread.GetIndexID(),
                    "name": _clip_name(thread.GetName()),
                    "queue": _clip_name(thread.GetQueueName()),
                    "stack": self._read_stack(thread),
                }
            )
        if (
            is_kept and self.kept == SETTINGS["most_hits"]
        ) or time_ns - self._counted_ns > _COUNTS_INTERVAL_NS:
            self.write_counts(time_ns)

    def write_counts(self, time_ns: int = -1) -> None:
        """Write all counts: they include the hits that were not kept."""
        self._counted_ns = time.monotonic_ns() - self._start_ns if time_ns < 0 else time_ns
        self._append_record(
            {"time": self._counted_ns, "counts": self.counts, "kept": self.kept, "errors": self.errors}
        )

    def _read_stack(self, thread: Any) -> list[list[Any]]:
        """Return the innermost frames as [position of the module or -1, address, function, inlined]."""
        stack = []
        for number in range(SETTINGS["frames"]):
            # Not GetNumFrames, which would unwind the whole stack.
            frame = thread.GetFrameAtIndex(number)
            if not frame or not frame.IsValid():
                break
            module = self._record_module(frame.GetModule(), thread)
            stack.append([module, frame.GetPC(), _display_name(frame), bool(frame.IsInlined())])
        return stack

    def _record_module(self, module: Any, thread: Any) -> int:
        if not module or not module.IsValid():
            return -1
        path = str(module.GetFileSpec())
        if path not in self._modules:
            self._modules[path] = len(self._modules)
            header = module.GetObjectFileHeaderAddress()
            target = thread.GetProcess().GetTarget()
            address = header.GetLoadAddress(target) if header.IsValid() else 0
            self._append_record(
                {
                    "module": self._modules[path],
                    "name": module.GetFileSpec().GetFilename(),
                    "path": path,
                    "uuid": module.GetUUIDString() or "",
                    "arch": (module.GetTriple() or "").partition("-")[0],
                    "address": address if address < 2**64 - 1 else 0,
                }
            )
        return self._modules[path]

    def _append_record(self, record: dict[str, Any]) -> None:
        # Opened for each line: lldb may end at any time, and a breakpoint takes a thousand times as long.
        with open(self.path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(json.dumps(record) + "\n")


def count_hit(frame: Any, location: Any, _internal: Any) -> bool:
    """Count a hit. Return True to stop the program: at the first request, if the option is set."""
    log = _LOG
    if log is None:
        return False
    try:
        rule = log.by_breakpoint.get(location.GetBreakpoint().GetID())
        function = _display_name(frame)
        innermost_rule = log.find_rule(function, frame.GetModule().GetFileSpec().GetFilename() or "")
        if rule is None or innermost_rule is None or innermost_rule.id != rule.id:
            location.SetEnabled(False)
            return False
        log.add_hit(rule, frame.GetThread())
        if rule.is_request and SETTINGS["stop_on_first_request"] and not log.has_stopped:
            log.has_stopped = True
            _print_line(f"the first request to the Neural Engine: {function}. 'continue' counts on.")
            return True
    except Exception as error:  # noqa: BLE001 - a program under the debugger must go on
        log.errors += 1
        if log.errors == 1:
            _print_line(f"a hit was not recorded: {error}")
    return False


def set_breakpoints(debugger: Any, _command: str, _result: Any, _internal: Any) -> None:
    """Set the breakpoints on the selected target."""
    global _LOG  # noqa: PLW0603 - lldb calls functions of a module
    target = debugger.GetSelectedTarget()
    if not target or not target.IsValid():
        _print_line("no program. Load one (target create) or attach to one, then run tracekit-start.")
        return
    if _LOG is not None:
        _LOG.write_counts()
    log = _HitLog(_find_free_path(SETTINGS["hits"]), target)
    functions = 0
    for rule in log.rules:
        breakpoint_of_rule = target.BreakpointCreateByRegex(rule.expression)
        locations = breakpoint_of_rule.GetNumLocations()
        if locations > SETTINGS["most_functions"]:
            target.BreakpointDelete(breakpoint_of_rule.GetID())
            _print_line(f"{rule.id} is left out: {locations:,} functions match it.")
            continue
        functions += locations
        breakpoint_of_rule.SetScriptCallbackFunction(f"{__name__}.count_hit")
        # Where a hit may stop, the callback's result decides.
        stops = rule.is_request and SETTINGS["stop_on_first_request"]
        breakpoint_of_rule.SetAutoContinue(not stops)
        breakpoint_of_rule.AddName("tracekit")
        log.by_breakpoint[breakpoint_of_rule.GetID()] = rule
    _LOG = log
    _print_line(
        f"breakpoints on {functions:,} functions of {len(log.by_breakpoint)} rules, more as libraries load."
    )
    _print_line(f"hits go to {log.path}. Breakpoints slow the program: its times are no latency.")


def print_hits(_debugger: Any, _command: str, _result: Any, _internal: Any) -> None:
    """Print the counts, and write them to the file."""
    if _LOG is None:
        _print_line("no breakpoints. Run tracekit-start.")
        return
    _LOG.write_counts()
    for rule, count in sorted(_LOG.counts.items(), key=lambda entry: -entry[1]):
        _print_line(f"{count:>10,} {rule}")
    _print_line(f"{sum(_LOG.counts.values()):>10,} hits, {_LOG.kept:,} with a backtrace in {_LOG.path}")


def __lldb_init_module(debugger: Any, internal: Any) -> None:
    """Add the commands and set the breakpoints; lldb calls this when the file is imported."""
    for name, function in (("tracekit-start", "set_breakpoints"), ("tracekit-hits", "print_hits")):
        debugger.HandleCommand(f"command script add -o -f {__name__}.{function} {name}")
    set_breakpoints(debugger, "", None, internal)


def _display_name(frame: Any) -> str:
    """Return the function's name as a backtrace shows it, demangled for Swift."""
    return _clip_name(frame.GetDisplayFunctionName() or frame.GetFunctionName())


def _clip_name(name: Any) -> str:
    return str(name or "")[:_MAX_NAME_CHARACTERS]


def _find_free_path(path: str) -> str:
    """Return an unused path: ``hits-2.jsonl`` if ``hits.jsonl`` exists."""
    stem, end = os.path.splitext(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111, PTH122
    number, free = 1, f"{stem}{end}"
    while os.path.lexists(free):
        number += 1
        free = f"{stem}-{number}{end}"
    return free


def _print_line(text: str) -> None:
    sys.stdout.write(f"tracekit: {text}\n")
