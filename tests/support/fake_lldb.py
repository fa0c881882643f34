"""A small lldb for the script of ``tracekit lldb``: the documented calls of its Python API that the script makes.

Breakpoints match functions with the C library's extended expressions, as lldb's own do: what Python alone would
understand matches nothing here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any


class PosixPattern:
    """An extended expression of the C library."""

    def __init__(self, expression: str) -> None:
        self._library = ctypes.CDLL(None)
        self._compiled = ctypes.create_string_buffer(1024)  # regex_t
        code = self._library.regcomp(self._compiled, expression.encode(), 1)
        assert code == 0, f"no extended expression ({code}): {expression}"

    def search(self, text: str) -> bool:
        return self._library.regexec(self._compiled, text.encode(), 0, None, 0) == 0


@dataclass
class FileSpec:
    path: str

    def GetFilename(self) -> str:
        return self.path.rpartition("/")[2]

    def __str__(self) -> str:
        return self.path


@dataclass
class Address:
    value: int

    def IsValid(self) -> bool:
        return True

    def GetLoadAddress(self, _target: object) -> int:
        return self.value


@dataclass
class Module:
    path: str
    functions: list[str]
    uuid: str = "42FD89F7-30BE-3AC5-A40A-4C1A99438DFB"
    start: int = 0x1000

    def IsValid(self) -> bool:
        return True

    def GetFileSpec(self) -> FileSpec:
        return FileSpec(self.path)

    def GetUUIDString(self) -> str:
        return self.uuid

    def GetTriple(self) -> str:
        return "arm64e-apple-macosx26.0.0"

    def GetObjectFileHeaderAddress(self) -> Address:
        return Address(self.start)


@dataclass
class Frame:
    module: Module
    function: str
    thread: Thread
    is_valid: bool = True

    def IsValid(self) -> bool:
        return self.is_valid

    def GetModule(self) -> Module:
        return self.module

    def GetFunctionName(self) -> str:
        return self.function

    def GetDisplayFunctionName(self) -> str | None:
        return None

    def GetPC(self) -> int:
        return self.module.start + 4 * (self.module.functions.index(self.function) + 1)

    def IsInlined(self) -> bool:
        return False

    def GetThread(self) -> Thread:
        return self.thread


@dataclass
class Thread:
    process: Process
    tid: int
    number: int
    name: str | None
    queue: str | None
    frames: list[Frame] = field(default_factory=list)

    def GetThreadID(self) -> int:
        return self.tid

    def GetIndexID(self) -> int:
        return self.number

    def GetName(self) -> str | None:
        return self.name

    def GetQueueName(self) -> str | None:
        return self.queue

    def GetFrameAtIndex(self, number: int) -> Frame:
        if number < len(self.frames):
            return self.frames[number]
        return Frame(self.frames[0].module, "", self, is_valid=False)

    def GetProcess(self) -> Process:
        return self.process


@dataclass
class Process:
    target: Target
    pid: int

    def IsValid(self) -> bool:
        return self.pid >= 0

    def GetProcessID(self) -> int:
        return self.pid

    def GetTarget(self) -> Target:
        return self.target


@dataclass
class Location:
    breakpoint: Breakpoint
    function: str
    is_enabled: bool = True

    def GetBreakpoint(self) -> Breakpoint:
        return self.breakpoint

    def SetEnabled(self, enabled: bool) -> None:
        self.is_enabled = enabled


@dataclass
class Breakpoint:
    number: int
    locations: dict[str, Location] = field(default_factory=dict)
    callback: Callable[[Frame, Location, dict[str, Any]], bool | None] | None = None
    continues: bool = False
    names: list[str] = field(default_factory=list)

    def GetID(self) -> int:
        return self.number

    def GetNumLocations(self) -> int:
        return len(self.locations)

    def SetScriptCallbackFunction(self, name: str) -> None:
        module, _, function = name.rpartition(".")
        self.callback = getattr(sys.modules[module], function)

    def SetAutoContinue(self, continues: bool) -> None:
        self.continues = continues

    def AddName(self, name: str) -> bool:
        self.names.append(name)
        return True


@dataclass
class Target:
    modules: list[Module]
    pid: int = 4242
    breakpoints: dict[int, Breakpoint] = field(default_factory=dict)
    is_valid: bool = True

    def IsValid(self) -> bool:
        return self.is_valid

    def GetExecutable(self) -> FileSpec:
        return FileSpec("/Applications/App.app/App")

    def GetProcess(self) -> Process:
        return Process(self, self.pid)

    def BreakpointCreateByRegex(self, expression: str) -> Breakpoint:
        pattern = PosixPattern(expression)
        result = Breakpoint(len(self.breakpoints) + 1)
        for module in self.modules:
            for function in filter(pattern.search, module.functions):
                result.locations[function] = Location(result, function)
        self.breakpoints[result.number] = result
        return result

    def BreakpointDelete(self, number: int) -> bool:
        return self.breakpoints.pop(number, None) is not None

    def call(
        self, functions: Sequence[str], tid: int = 7, name: str | None = None, queue: str | None = None
    ) -> int:
        """Call the first of the functions, below the others; return how often the program stopped."""
        module_of = {function: module for module in self.modules for function in module.functions}
        thread = Thread(self.GetProcess(), tid, tid, name, queue)
        thread.frames = [Frame(module_of[function], function, thread) for function in functions]
        stops = 0
        for breakpoint_hit in list(self.breakpoints.values()):
            location = breakpoint_hit.locations.get(functions[0])
            if location is None or not location.is_enabled:
                continue
            result = (
                breakpoint_hit.callback(thread.frames[0], location, {}) if breakpoint_hit.callback else None
            )
            # Only False goes on; a breakpoint that continues by itself goes on whatever its callback returns.
            stops += result is not False and not breakpoint_hit.continues
        return stops


@dataclass
class Debugger:
    target: Target
    commands: list[str] = field(default_factory=list)

    def GetSelectedTarget(self) -> Target:
        return self.target

    def HandleCommand(self, command: str) -> None:
        self.commands.append(command)


def import_script(path: Path, debugger: Debugger) -> ModuleType:
    """Do what ``command script import`` does."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    module.__lldb_init_module(debugger, {})
    return module
