"""Versions of Instruments and systems: the differences between their recordings, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["text-addresses", "backtrace", "tagged-inner", "tagged"]
"""Backtraces of sampling tables: A, B, C and D of the format notes."""


@dataclass(frozen=True)
class Platform:
    """A version of Xcode and the system that it recorded on."""

    instruments: str
    os_version: str
    shape: Shape
    thread_fmt: str
    device: str = "macOS"
    model: str = "MacBook Pro"
    documented: bool = False
    """From 26.4 on, schemas and tables explain themselves in an attribute."""
    unnamed_as: Literal["address", "address-1", "function"] = "function"
    """The hexadecimal name of a frame without symbol."""
    callers_minus_one: int = 0
    """What is taken off a return address: 1 from Xcode 27 on."""

    @property
    def cores(self) -> range:
        """The cores that ran the app; the first four of a device are its efficiency cores."""
        return range(6) if self.device == "iOS" else range(3, 10)

    def executable(self, name: str) -> str:
        if name == "SampleTool":
            return "/opt/sample/SampleTool"
        if self.device == "iOS":
            return f"/private/var/containers/Bundle/Application/SYNTHETIC/{name}.app/{name}"
        return f"/Applications/{name}.app/Contents/MacOS/{name}"

    def in_bundle(self, folder: str, name: str, kind: str) -> str:
        """Return the path of a binary inside its framework or driver bundle."""
        on_macos = "Versions/A/" if kind == "framework" else "Contents/MacOS/"
        return f"{folder}/{name}.{kind}/{'' if self.device == 'iOS' else on_macos}{name}"


_TWO_SPACES = "{name}  {tid} ({process}, pid: {pid})"
_ONE_SPACE = "{name} {tid} ({process}, pid: {pid})"
_PARENTHESES = "{name} ({tid}) ({process}, pid: {pid})"

XCODE_14_2_IOS_16 = Platform(
    "14.2 (14C18)",
    "16.2 (20C65)",
    "text-addresses",
    _TWO_SPACES,
    device="iOS",
    model="iPhone 14",
    unnamed_as="address",
)
XCODE_14_3_MACOS_13 = Platform(
    "14.3.1 (14E300c)", "13.5 (22G74)", "backtrace", _TWO_SPACES, unnamed_as="address"
)
XCODE_16_4_MACOS_15 = Platform("16.0 (16F6)", "15.6 (24G84)", "backtrace", _ONE_SPACE, unnamed_as="address-1")
XCODE_26_3_MACOS_15 = Platform("26.0 (17C529)", "15.7.3 (24G419)", "backtrace", _ONE_SPACE)
XCODE_26_4_MACOS_26 = Platform(
    "16.0 (17E192)", "26.4 (25E246)", "tagged-inner", _PARENTHESES, documented=True
)
XCODE_26_5_MACOS_26 = Platform("16.0 (17F42)", "26.5 (25F71)", "tagged-inner", _PARENTHESES, documented=True)
XCODE_27_IOS_27 = Platform(
    "27.0 (27A266a)",
    "27.0 (24A300)",
    "tagged",
    _PARENTHESES,
    device="iOS",
    model="iPhone 17",
    documented=True,
    callers_minus_one=1,
)
XCODE_27_MACOS_27 = Platform(
    "27.0 (27A266a)", "27.0 (26A300)", "tagged", _PARENTHESES, documented=True, callers_minus_one=1
)
