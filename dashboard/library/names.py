"""Names that other people chose: made fit to be shown, or, as paths of an uploaded folder, checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from tracekit.errors import InputError

_LONGEST_NAME = 200
_LONGEST_NOTE = 20_000
LONGEST_TAG = 60
MOST_TAGS = 30
_LONGEST_PART_BYTES = 240  # 255 on every file system of ours; some leave less
_LONGEST_PATH_BYTES = 900  # macOS has 1,024 for the whole path
_DEEPEST = 24
_SHOWN = 80
# Of Windows: whatever extension follows, and in any case.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.IGNORECASE)
_FORBIDDEN = frozenset('<>:"|?*')
_ADVICE = "Zip the recording (in the Finder: right-click, Compress) and upload the zip."


def shown_name(name: str) -> str:
    """Return a file's own name, fit for a line of text; never empty."""
    own = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return one_line(own)[:_LONGEST_NAME] or "recording"


def note_text(note: str) -> str:
    """Return a note of several lines without what cannot be shown or kept."""
    lines = note.replace("\r\n", "\n").split("\n")
    return "\n".join(_printable(line) for line in lines)[:_LONGEST_NOTE].strip()


def tag_list(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags that differ in more than case, in their order."""
    lines = (one_line(tag)[:LONGEST_TAG] for tag in tags)
    return tuple({line.casefold(): line for line in reversed(list(lines)) if line}.values())[::-1][:MOST_TAGS]


def one_line(text: str) -> str:
    """Return a text as one line that can be kept and shown: no controls, no overrides of its direction."""
    return " ".join(_printable(text).split())


def _printable(text: str) -> str:
    # Not printable are halves of characters, too, which UTF-8 has no bytes for. The joiner makes emoji.
    return "".join(
        one
        if one.isprintable() or one == "\N{ZERO WIDTH JOINER}"
        else " "
        if one.isspace()
        else "\N{REPLACEMENT CHARACTER}"
        for one in text
    )


def check_paths(folder: str, paths: Sequence[str]) -> None:
    """Raise ``InputError`` unless all are plain relative paths that can lie beside each other on any system.

    ``folder`` is what the message calls the upload.
    """
    files: dict[str, str] = {}
    above: dict[str, str] = {}
    for path in paths:
        _check_path(folder, path)
        key = _same(path)
        if key in files:
            raise _refusal(folder, path, f"stands beside {_quoted(files[key])}, which many disks take for it")
        files[key] = path
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            if above.setdefault(_same(parent), parent) != parent:
                raise _refusal(folder, path, f"differs from {_quoted(above[_same(parent)])} in case only")
    for key in files.keys() & above.keys():
        raise _refusal(folder, files[key], "is a file and a folder at once")


def _check_path(folder: str, path: str) -> None:
    parts = path.split("/")
    if not path or path.startswith("/") or re.match(r"[A-Za-z]:", path):
        raise _refusal(folder, path, "is an absolute name or none")
    if "\\" in path:
        raise _refusal(folder, path, "has a backslash")
    if any(part in ("", ".", "..") for part in parts):
        raise _refusal(folder, path, "leads out of its folder")
    if any(unicodedata.category(one) in ("Cc", "Cs") or one in _FORBIDDEN for one in path):
        raise _refusal(folder, path, "has a character that no file's name may have")
    if any(_RESERVED.fullmatch(part) or part[-1] in ". " for part in parts):
        raise _refusal(folder, path, "is a name that some systems keep for themselves")
    if any(len(part.encode()) > _LONGEST_PART_BYTES for part in parts):
        raise _refusal(folder, path, "is too long")
    if len(path.encode()) > _LONGEST_PATH_BYTES or len(parts) > _DEEPEST:
        raise _refusal(folder, path, "is too long or too deep")


def _same(path: str) -> str:
    """Return what two names share that one disk or another takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _refusal(folder: str, path: str, why: str) -> InputError:
    return InputError(folder, f"the file {_quoted(path)} in it {why}; nothing was taken.", _ADVICE)


def _quoted(path: str) -> str:
    text = _printable(path)
    return f"'{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}'"
