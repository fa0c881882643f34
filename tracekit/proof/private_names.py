"""Names of this user and this computer, which nothing that is sent may hold."""

from __future__ import annotations

import getpass
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tracekit.frozen import frozen
from tracekit.redact.common_words import COMMON, RESERVED
from tracekit.xctrace.tool import run_command

_LEAST_CHARACTERS = 4
"""Characters of a name below which it is part of other words (``redact.statement``)."""
_PATH = re.compile(r"(?<![\w.])[~/][^\s'\"():;,]*/[^\s'\"():;,]*")
_IDENTIFIER = re.compile(r"\b[0-9A-Fa-f]{8}-(?:(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16})\b")


@frozen
class PrivateName:
    """A name, and its kind in words."""

    kind: str
    text: str

    @property
    def pattern(self) -> str:
        """A regular expression of the whole name."""
        return rf"(?<![\w-]){re.escape(self.text)}(?![\w-])"


def list_private_names() -> tuple[PrivateName, ...]:
    """Return the home folder, and the names of user and computer that are no ordinary words."""
    return tuple(dict.fromkeys(_iter_names()))


def _iter_names() -> Iterator[PrivateName]:
    if len(Path.home().parts) > 2:
        yield PrivateName("the home folder", str(Path.home()))
    computer = run_command(["scutil", "--get", "ComputerName"]).output.strip()
    host = socket.gethostname().partition(".")[0]
    for kind, name in (
        ("the user's name", getpass.getuser()),
        ("the computer's name", computer),
        ("the computer's name", host),
    ):
        if len(name) >= _LEAST_CHARACTERS and name.casefold() not in COMMON | RESERVED:
            yield PrivateName(kind, name)


def remove_private_names(text: str, names: tuple[PrivateName, ...]) -> str:
    """Return a text without these names, paths, and identifiers of devices."""
    text = text.replace(tempfile.gettempdir(), "PATH")
    text = _IDENTIFIER.sub("IDENTIFIER", _PATH.sub("PATH", text))
    for name in names:
        text = re.sub(name.pattern, "NAME", text)
    return text
