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
# Volumes of the system (/System/Volumes) and of simulators (CoreSimulator/Volumes/iOS_21A328) name nobody.
_VOLUME = re.compile(
    rf"(?<!system)(?<!coresimulator)[/\\]{VOLUMES}{_SLASHES}(?:(?P<long>{_LONG_NAME})|(?P<name>{_NAME}))"
)
# A text that is nothing but the path of a volume: its name has no slash after it.
_ONLY_VOLUME = re.compile(rf"[/\\]{VOLUMES}{_SLASHES}(?P<name>[^/\\\0\n]+)\Z")
_FIRST_WORD = re.compile(_NAME)
_MOST_SPACES = 3

_REACH = 1024
"""Characters of a path that are looked at before a name in it."""
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


def home_folders(spelling: Spelling) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and user of each home folder in a spelling; ``/Users/Shared`` is nobody's."""
    for match in _HOME.finditer(spelling.folded):
        root, end = match.span("root")[0], match.end()
        name = match["name"] or match["long"]
        if match["long"] and name.count(" ") > _MOST_SPACES:  # a sentence, and a slash in it
            name = first_word(name)
            end = match.start("long") + len(name)
        # Linux distinguishes case, and "/Contents/Home/lib" is a part of Java.
        is_root = match["root"] == "users" or spelling.cased[root : root + 4] == "home"
        if is_root and name != "shared" and name.strip(".~"):
            yield match.start(), end, name


def volumes(spelling: Spelling) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of each volume in a spelling: the part after ``/Volumes/``."""
    if only := _ONLY_VOLUME.match(spelling.folded):
        yield *only.span("name"), only["name"]
    for match in _VOLUME.finditer(spelling.folded):
        kind = "name" if match["name"] else "long"
        yield *match.span(kind), match[kind]


def first_word(name: str) -> str:
    """Return a name up to its first space or punctuation."""
    match = _FIRST_WORD.match(name)
    return match[0] if match else name


def is_in_path(spelling: Spelling, start: int, end: int) -> bool:
    """Return True for a part of a path, and of a file's name that is known by its ending."""
    before = _path_before(spelling, start)
    after = spelling.folded[end : end + _REACH]
    has_slash = "/" in before or "\\" in before or _begins_with_slash(spelling, start)
    return bool(has_slash or _PATH_AFTER.match(after) or _FILE_ENDING.match(after))


def is_in_absolute_path(spelling: Spelling, start: int) -> bool:
    """Return True for a part of ``/data/max/x``, not of ``min/max``."""
    is_absolute = _ABSOLUTE.match(_path_before(spelling, start)) is not None
    return is_absolute or _begins_with_slash(spelling, start)


def is_in_system_path(spelling: Spelling, start: int) -> bool:
    """Return True for a part of a path in ``/System/Library`` or ``/usr/lib``, also those of simulators."""
    return _SYSTEM.match(_path_before(spelling, start)) is not None


def is_system_library(path: str, name: str) -> bool:
    """Return True for the path of a binary of the system which has this name."""
    place = path.removesuffix(name)
    return place != path and is_in_system_path(Spelling(path.lower(), path), len(place))


def is_component(spelling: Spelling, start: int, end: int) -> bool:
    """Return True for a component of a path as a whole, or one with nothing but ``lib`` and an ending."""
    before = spelling.folded[max(start - 4, 0) : start].removesuffix("lib")
    is_first = before.endswith(("/", "\\")) or (start in (0, len("lib")) and not before)
    return is_first and _AFTER_COMPONENT.match(spelling.folded, end) is not None


def _begins_with_slash(spelling: Spelling, start: int) -> bool:
    """Return True in a text that begins with a slash: it is a path, spaces and all."""
    is_near = start < _REACH and spelling.folded[:1] in ("/", "\\")
    return is_near and "\n" not in spelling.folded[:start]


def _path_before(spelling: Spelling, start: int) -> str:
    """Return the characters of a path that end at ``start``."""
    # Searched from behind: a search for the end of the text would try each of its characters as the first.
    backwards = spelling.folded[max(start - _REACH, 0) : start][::-1]
    match = _PATH_CHARACTERS.match(backwards)
    return match[0][::-1] if match else ""
