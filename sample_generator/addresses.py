"""The address space of a recording: made-up binaries, and an address for every call on a stack."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sample_generator.dice import Dice
    from sample_generator.notation import Call
    from sample_generator.platforms import Platform

_APP_IMAGES = 0x100000000
_SHARED_CACHE = 0x180000000
_ANONYMOUS = 0x300000000
_HOT_SPOTS = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4)
"""Samples hit the first instruction of interest in a leaf function most often."""


@dataclass(frozen=True)
class Binary:
    """A loaded image."""

    name: str
    uuid: str
    load_address: int
    path: str


@dataclass(frozen=True)
class Frame:
    """A call with its place in memory; `symbol` is None where Instruments would show an address."""

    symbol: str | None
    address: int
    function_start: int
    binary: Binary | None
    source: tuple[str, int] | None = None
    inlined: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of a frame: two frames with equal keys are the same frame of a stack."""
        return self.symbol, self.binary.name if self.binary else None, self.address


class AddressSpace:
    """Hands out load addresses and functions in order of first use, far enough apart."""

    def __init__(self, platform: Platform, dice: Dice) -> None:
        self._platform = platform
        self._dice = dice
        self._binaries: dict[str, Binary] = {}
        self._functions: dict[tuple[str | None, str], int] = {}
        self._next_image = {
            base: base + (0x100 + dice.below(0x1F00)) * 0x4000
            for base in (_APP_IMAGES, _SHARED_CACHE, _ANONYMOUS)
        }
        self._next_function: dict[str | None, int] = {None: self._next_image[_ANONYMOUS]}

    def place(self, calls: tuple[Call, ...]) -> tuple[Frame, ...]:
        """Return the frames of a stack, leaf first, sampled at one of the leaf's instructions.

        On arm64 the leaf's address is its PC plus one; a caller's is the return address, from Xcode 27 on
        minus one. An inlined call has no code of its own: it shows the address of the function around it.
        """
        frames: list[Frame] = []
        inlined: list[Call] = []
        callee: Call | None = None
        for call in reversed(calls):
            if call.inlined:
                inlined.append(call)
                continue
            start = self._function_start(call)
            if callee is None:
                hit = self._dice.choice(_HOT_SPOTS)
                address = start + 4 * (_digest(call.symbol) % 9 + 7 * hit) + 1
            else:
                address = start + 4 * (1 + _digest(call.symbol + callee.symbol) % 24)
                address -= self._platform.callers_minus_one
            binary = self.binary(call.binary) if call.binary else None
            for shown_call in [*inlined, call]:
                symbol = shown_call.symbol if shown_call.has_symbol else None
                frames.append(Frame(symbol, address, start, binary, shown_call.source, shown_call.inlined))
            inlined, callee = [], call
        return tuple(frames)

    def _function_start(self, call: Call) -> int:
        key = (call.binary, call.symbol)
        if key not in self._functions:
            if call.binary is not None and call.binary not in self._next_function:
                self._next_function[call.binary] = self.binary(call.binary).load_address + 0x1000
            self._functions[key] = self._next_function[call.binary]
            self._next_function[call.binary] += 0x100 + 0x10 * (_digest(call.symbol) % 0x60)
        return self._functions[key]

    def binary(self, name: str) -> Binary:
        if name not in self._binaries:
            of_app = name.startswith("Sample")
            base = _APP_IMAGES if of_app else _SHARED_CACHE
            build = f"{name} in {self._platform.os_version}"
            self._binaries[name] = Binary(name, made_up_uuid(build), self._next_image[base], self._path(name))
            self._next_image[base] += 0x40000 + 0x4000 * (_digest(build) % 0x200)
        return self._binaries[name]

    def _path(self, name: str) -> str:
        if name in {"SampleApp", "SampleTool"}:
            return self._platform.executable(name)
        if name == "dyld":
            return "/usr/lib/dyld"
        if name.startswith("AGXMetal"):
            return self._platform.in_bundle("/System/Library/Extensions", name, "bundle")
        if name in {"libBLAS.dylib", "libBNNS.dylib", "libvDSP.dylib"}:
            veclib = self._platform.in_bundle("/System/Library/Frameworks", "Accelerate", "framework")
            return f"{veclib.rsplit('/', 1)[0]}/Frameworks/vecLib.framework/{name}"
        if name.endswith(".dylib"):
            folder = {"libobjc.A.dylib": "", "libc++.1.dylib": "", "libswiftCore.dylib": "swift/"} | {
                "libswift_Concurrency.dylib": "swift/"
            }
            return f"/usr/lib/{folder.get(name, 'system/')}{name}"
        private = {"AppleNeuralEngine", "ANEServices", "Espresso", "GraphicsServices", "IOGPU", "UIKitCore"}
        below_core_ai = {"CoreAIRuntime", "CoreAIDelegates", "CoreAICompiler", "BNNSCoreAIDelegate"}
        root = "PrivateFrameworks" if name in private else "Frameworks"
        root = "SubFrameworks" if name in below_core_ai else root
        if name in {"MPSCore", "MPSNDArray", "MPSNeuralNetwork"}:
            around = self._platform.in_bundle(
                "/System/Library/Frameworks", "MetalPerformanceShaders", "framework"
            )
            return self._platform.in_bundle(f"{around.rsplit('/', 1)[0]}/Frameworks", name, "framework")
        return self._platform.in_bundle(f"/System/Library/{root}", name, "framework")


def made_up_uuid(seed: str) -> str:
    """Return a UUID that depends on nothing but its seed and belongs to no real binary."""
    digits = sha256(f"synthetic {seed}".encode()).hexdigest().upper()
    return f"{digits[:8]}-{digits[8:12]}-3{digits[13:16]}-A{digits[17:20]}-{digits[20:32]}"


def _digest(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")
