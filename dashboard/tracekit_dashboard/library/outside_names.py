"""Names from outside: made safe for display, or, as paths of an uploaded folder, checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from tracekit.errors import InputError

_MAX_NAME = 200
_MAX_NOTE = 20_000
MAX_TAG_CHARACTERS = 60
MAX_TAGS = 30
_MAX_PART_BYTES = 240  # 255 on every file system of ours; some leave less
_MAX_PATH_BYTES = 900  # macOS has 1,024 for the whole path
_MAX_DEPTH = 24
_MAX_QUOTED_CHARACTERS = 80
# Of Windows: whatever extension follows, and in any case.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*')
_ADVICE = "Zip the recording (in the Finder: right-click, Compress) and upload the zip."


def make_display_name(name: str) -> str:
    """Return a file's name without folders, safe for one line of text; never empty."""
    base = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return make_one_line(base)[:_MAX_NAME] or "recording"


def clean_note(note: str) -> str:
    """Return a note of several lines without unprintable characters."""
    lines = note.replace("\r\n", "\n").split("\n")
    return "\n".join(_replace_unprintable(line) for line in lines)[:_MAX_NOTE].strip()


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags in their order, without those that differ only in case."""
    lines = (make_one_line(tag)[:MAX_TAG_CHARACTERS] for tag in tags)
    return tuple({line.casefold(): line for line in reversed(list(lines)) if line}.values())[::-1][:MAX_TAGS]


def make_one_line(text: str) -> str:
    """Return a text as one line without control characters and overrides of its direction."""
    return " ".join(_replace_unprintable(text).split())


def _replace_unprintable(text: str) -> str:
    # Lone surrogates are not printable either: UTF-8 cannot encode them. The joiner is part of emoji.
    return "".join(
        character
        if character.isprintable() or character == "\N{ZERO WIDTH JOINER}"
        else " "
        if character.isspace()
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def check_paths(folder: str, paths: Sequence[str]) -> None:
    """Raise ``InputError`` unless all are plain relative paths that can coexist on any file system.

    ``folder`` is the upload's name in messages.
    """
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        _check_path(folder, path)
        key = _make_collision_key(path)
        if key in files:
            raise _refuse_path(
                folder,
                path,
                f"stands beside {_quote_path(files[key])}, which many disks do not distinguish from it",
            )
        files[key] = path
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            if folders.setdefault(_make_collision_key(parent), parent) != parent:
                raise _refuse_path(
                    folder,
                    path,
                    f"differs from {_quote_path(folders[_make_collision_key(parent)])} in case only",
                )
    for key in files.keys() & folders.keys():
        raise _refuse_path(folder, files[key], "is a file and a folder at once")


def _check_path(folder: str, path: str) -> None:
    parts = path.split("/")
    if not path or path.startswith("/") or re.match(r"[A-Za-z]:", path):
        raise _refuse_path(folder, path, "is an absolute path or empty")
    if "\\" in path:
        raise _refuse_path(folder, path, "has a backslash")
    if any(part in ("", ".", "..") for part in parts):
        raise _refuse_path(folder, path, "leads out of its folder")
    if any(unicodedata.category(character) in ("Cc", "Cs") or character in _FORBIDDEN for character in path):
        raise _refuse_path(folder, path, "has a character that no file's name may have")
    if any(_RESERVED.fullmatch(part) or part[-1] in ". " for part in parts):
        raise _refuse_path(folder, path, "is a name that some systems reserve")
    if any(len(part.encode()) > _MAX_PART_BYTES for part in parts):
        raise _refuse_path(folder, path, "is too long")
    if len(path.encode()) > _MAX_PATH_BYTES or len(parts) > _MAX_DEPTH:
        raise _refuse_path(folder, path, "is too long or too deep")


def _make_collision_key(path: str) -> str:
    """Return a key that is equal for names that some file system does not distinguish."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _refuse_path(folder: str, path: str, why: str) -> InputError:
    return InputError(folder, f"the file {_quote_path(path)} in it {why}; nothing was taken.", _ADVICE)


def _quote_path(path: str) -> str:
    text = _replace_unprintable(path)
    return f"'{text if len(text) <= _MAX_QUOTED_CHARACTERS else text[: _MAX_QUOTED_CHARACTERS - 1] + '…'}'"
