"""The version of xctrace, by its build.

The version number does not identify the version: it is 16.0 in Xcode 16.2 to 16.4 and 16.0 again in Xcode
26.4 to 26.6. The build grows throughout: 16F6 is Xcode 16.4, 17C529 is 26.3, 17F42 is 26.5, 27A266a is 27.0.
"""

from __future__ import annotations

import re

from tracekit.errors import XctraceError
from tracekit.frozen import frozen
from tracekit.xctrace.tool import CommandResult, Xctrace, explain_failure, run_command

_VERSION = re.compile(r"xctrace version (\S+) \((\d+)([A-Z])(\d+)([a-z]?)\)")
_XCODE_MAJOR = {17: 26}
"""Xcode 26 followed 16; the other builds begin with their Xcode's number."""


@frozen
class Version:
    """An xctrace's version string, and its build: (17, "F", 42, "") of 17F42."""

    number: str
    key: tuple[int, str, int, str]

    @property
    def build(self) -> str:
        """The build as Apple writes it."""
        return "".join(str(part) for part in self.key)

    @property
    def xcode(self) -> str:
        """The Xcode that it belongs to, from the build's first number."""
        return f"Xcode {_XCODE_MAJOR.get(self.key[0], self.key[0])}"

    def is_since(self, family: str) -> bool:
        """Return True for builds of a family such as "17E", and later ones."""
        match = re.fullmatch(r"(\d+)([A-Z])", family)
        assert match is not None
        return self.key[:2] >= (int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number} ({self.build})"


def parse_version(text: str) -> Version | None:
    """Return the version in the output of ``xctrace version``, None if there is none."""
    match = _VERSION.search(text)
    return Version(match[1], (int(match[2]), match[3], int(match[4]), match[5])) if match else None


def read_version(tool: Xctrace) -> Version:
    """Return the version of an xctrace; raise ``XctraceError`` if it does not work."""
    result = run_command([tool.path, "version"])
    version = parse_version(result.output)
    if version is None:
        raise XctraceError(_explain_missing_version(result, tool))
    return version


def _explain_missing_version(result: CommandResult, tool: Xctrace) -> str:
    if result.ok:
        return f"{tool.path} prints no version: '{result.last_lines}'. Is it xctrace?"
    return explain_failure(result)
