r"""Paths in texts: home folders and volumes, the folders that are the system's own, and the names of files.

Paths are found in spellings (``redact.spelling``): folded, their escapes decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracekit.redact.spelling import Spelling

HOMES = ("users", "home")
VOLUMES = "volumes"

_SLASHES = r"[/\\]+(?:\.[/\\]+)*"
_NAME = r"""[^/\\\0\s:;,"'’”»<>|()\[\]{}?&=#*$`!]+"""
# A longer name, with spaces or apostrophes, is recognised by the slash after it: "/Users/jo smith/x".
_LONG_NAME = rf"""{_NAME}[^/\\\0\n:;"<>|()\[\]{{}}?=#*$`]{{0,60}}[\w.-](?=[/\\])"""
_HOME = re.compile(rf"[/\\](?P<root>users|home){_SLASHES}(?:(?P<long>{_LONG_NAME})|(?P<name>{_NAME}))")
# Volumes of the system (/System/Volumes) and of simulators (CoreSimulator/Volumes/iOS_21A328) stay.
_VOLUME = re.compile(
    rf"(?<!system)(?<!coresimulator)[/\\]{VOLUMES}{_SLASHES}(?:(?P<long>{_LONG_NAME})|(?P<name>{_NAME}))"
)
# A text that consists of a volume's path: the name has no slash after it.
_ONLY_VOLUME = re.compile(rf"[/\\]{VOLUMES}{_SLASHES}(?P<name>[^/\\\0\n]+)\Z")
_FIRST_WORD = re.compile(_NAME)
_MAX_SPACES_IN_NAME = 3

_MAX_PATH_CHARACTERS = 1024
"""Characters of a path that are searched before a name in it."""
_IN_PATH = r"""[^\s"'<>|,;:()\[\]{}=\0]"""
_PATH_CHARACTERS = re.compile(f"{_IN_PATH}*")
_PATH_AFTER = re.compile(rf"{_IN_PATH}*[/\\]")
_ABSOLUTE = re.compile(r"[~.]{0,2}[/\\]")
_SYSTEM = re.compile(
    r"(?:.*[/\\](?:symbols|runtimeroot|cryptexes[/\\]+os))?[/\\]+(?:system[/\\]+library|usr[/\\]+lib)[/\\]"
)
_FILE_ENDING = re.compile(
    r"[\w+-]*\.(?:a|aimodel|app|appex|bundle|dylib|framework|metallib|mlmodelc?|mlpackage|o|so|tbd|xpc)(?![a-z0-9])"
)
_AFTER_COMPONENT = re.compile(rf"(?:\.[a-z0-9]{{1,12}})*(?:[/\\]|\Z|(?!{_IN_PATH}).)", re.DOTALL)


def iter_home_folders(spelling: Spelling) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and user of each home folder in a spelling; ``/Users/Shared`` has no user."""
    for match in _HOME.finditer(spelling.folded):
        root, end = match.span("root")[0], match.end()
        name = match["name"] or match["long"]
        if match["long"] and name.count(" ") > _MAX_SPACES_IN_NAME:  # a sentence, and a slash in it
            name = take_first_word(name)
            end = match.start("long") + len(name)
        # Linux distinguishes case, and "/Contents/Home/lib" is a part of Java.
        is_root = match["root"] == "users" or spelling.cased[root : root + 4] == "home"
        if is_root and name != "shared" and name.strip(".~"):
            yield match.start(), end, name


def iter_volumes(spelling: Spelling) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each volume in a spelling: the part after ``/Volumes/``."""
    if only := _ONLY_VOLUME.match(spelling.folded):
        yield *only.span("name"), only["name"]
    for match in _VOLUME.finditer(spelling.folded):
        kind = "name" if match["name"] else "long"
        yield *match.span(kind), match[kind]


def take_first_word(name: str) -> str:
    """Return a name up to its first space or punctuation."""
    match = _FIRST_WORD.match(name)
    return match[0] if match else name


def is_in_path(spelling: Spelling, start: int, end: int) -> bool:
    """Return True for a part of a path, or of a file name with a known extension."""
    path_before = _take_path_before(spelling, start)
    text_after = spelling.folded[end : end + _MAX_PATH_CHARACTERS]
    has_slash = "/" in path_before or "\\" in path_before or _has_leading_slash(spelling, start)
    return bool(has_slash or _PATH_AFTER.match(text_after) or _FILE_ENDING.match(text_after))


def is_in_absolute_path(spelling: Spelling, start: int) -> bool:
    """Return True for a part of ``/data/max/x``, not of ``min/max``."""
    is_absolute = _ABSOLUTE.match(_take_path_before(spelling, start)) is not None
    return is_absolute or _has_leading_slash(spelling, start)


def is_in_system_path(spelling: Spelling, start: int) -> bool:
    """Return True for a part of a path in ``/System/Library`` or ``/usr/lib``, also those of simulators."""
    return _SYSTEM.match(_take_path_before(spelling, start)) is not None


def is_system_library(path: str, name: str) -> bool:
    """Return True for the path of a binary of the system which has this name."""
    place = path.removesuffix(name)
    return place != path and is_in_system_path(Spelling(path.lower(), path), len(place))


def is_component(spelling: Spelling, start: int, end: int) -> bool:
    """Return True for a whole path component, apart from a ``lib`` prefix and an extension."""
    text_before = spelling.folded[max(start - 4, 0) : start].removesuffix("lib")
    is_first = text_before.endswith(("/", "\\")) or (start in (0, len("lib")) and not text_before)
    return is_first and _AFTER_COMPONENT.match(spelling.folded, end) is not None


def _has_leading_slash(spelling: Spelling, start: int) -> bool:
    """Return True in a text that begins with a slash: all of it is a path, including spaces."""
    is_near = start < _MAX_PATH_CHARACTERS and spelling.folded[:1] in ("/", "\\")
    return is_near and "\n" not in spelling.folded[:start]


def _take_path_before(spelling: Spelling, start: int) -> str:
    """Return the characters of a path that end at ``start``."""
    # Searched from behind: a search for the end of the text would try each of its characters as the first.
    backwards = spelling.folded[max(start - _MAX_PATH_CHARACTERS, 0) : start][::-1]
    match = _PATH_CHARACTERS.match(backwards)
    return match[0][::-1] if match else ""
