"""Chains of transforms, as ``transforms.js`` writes them: ``focus:1x2y3z~drop:k0a~system``.

A step names a function or a library by a checksum of its texts, so that it means the same after the recording
was read with other options. tests/transform_cases.json tests both sides.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from tracekit.errors import UsageError

_FUNCTION, _LIBRARY, _PATH = "function", "library", "path"
_ARGUMENTS = {
    "focus": _FUNCTION,
    "subtree": _PATH,
    "self": _FUNCTION,
    "drop": _FUNCTION,
    "charge": _FUNCTION,
    "charge-lib": _LIBRARY,
    "collapse-lib": _LIBRARY,
    "recursion": _FUNCTION,
    "flat": None,
    "system": None,
}
_STEP = re.compile(r"([a-z-]+)(?::([0-9a-z]{1,7})(?:\.([0-9a-z]{1,7}))?)?")
_MOST_STEPS = 32
_KEYS = 1 << 32
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Step:
    """A transform; ``key`` is that of its function or library, ``path`` that of a path, None without one."""

    text: str
    kind: str
    key: int | None
    path: int | None

    @property
    def is_of_library(self) -> bool:
        """True if the key is a library's."""
        return _ARGUMENTS[self.kind] == _LIBRARY


def parse_chain(text: str) -> tuple[Step, ...]:
    """Return the steps of a chain; raise ``UsageError`` for a text that is none."""
    if not text:
        return ()
    parts = text.split("~", _MOST_STEPS)
    if len(parts) > _MOST_STEPS:
        raise UsageError(f"A chain has no more than {_MOST_STEPS} transforms.")
    return tuple(map(_step, parts))


def function_key(symbol: str, binary: str) -> int:
    """Return the key of a function."""
    return zlib.crc32(_bytes(f"{symbol}\0{binary}"))


def library_key(binary: str) -> int:
    """Return the key of a library."""
    return zlib.crc32(_bytes(f"\0{binary}"))


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, for which browsers encode U+FFFD
        return _SURROGATE.sub("\ufffd", text).encode()


def _step(text: str) -> Step:
    match = _STEP.fullmatch(text)
    kind = match[1] if match else ""
    if match is None or kind not in _ARGUMENTS:
        raise UsageError(f"transforms has no step such as {text[:40]!r}; steps are {', '.join(_ARGUMENTS)}.")
    argument = _ARGUMENTS[kind]
    if (match[2] is None) != (argument is None) or (match[3] is None) != (argument != _PATH):
        raise UsageError(f"The transform {kind} takes {_takes(argument)}.")
    key, path = (None if part is None else int(part, 36) for part in (match[2], match[3]))
    if max(key or 0, path or 0) >= _KEYS:
        raise UsageError(f"The key of {text!r} is beyond 32 bits.")
    return Step(text, kind, key, path)


def _takes(argument: str | None) -> str:
    if argument is None:
        return "no key"
    return "the keys of a function and of its path" if argument == _PATH else f"the key of a {argument}"
