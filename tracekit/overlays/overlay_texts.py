"""The texts of ``--with``: files, or a zip of them."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracekit.errors import InputError
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits, require_at_most
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.text.kinds import identify_text, open_text
from tracekit.parsers.text.text_file import STDIN, TextPlace

_MAX_TEXTS = 100
_ADVICE = "--with takes the output of log show, log stream, powermetrics, macmon pipe, sample and spindump."


def open_texts(
    paths: Sequence[str | os.PathLike[str]], limits: Limits, progress: Progress | None = None
) -> list[Source]:
    """Read each text. Raises ``InputError`` for any other file, and ``LimitError`` for too many."""
    texts = []
    for path in paths:
        for place in iter_text_places(os.fspath(path)):
            recognised = identify_text(place)
            if recognised is None:
                raise InputError(place.name, "is no text that can be laid over a recording.", _ADVICE)
            texts.append(open_text(place, recognised, limits, progress))
    return texts


def open_readable_texts(paths: Sequence[Path]) -> tuple[list[Source], list[str]]:
    """Read the texts that can be laid over a recording; return a sentence about each of the others."""
    texts: list[Source] = []
    problems = []
    for path in paths:
        try:
            texts += open_texts([path], DEFAULT_LIMITS)
        except InputError as error:
            problems.append(str(error))
    return texts, problems


def iter_text_places(path: str) -> Iterator[TextPlace]:
    """Yield the file, or each file of a zip; raises ``InputError`` if the path is not a file."""
    if path == STDIN:
        yield TextPlace(path, "standard input")
        return
    # Before anything is read: a device has no end, and a pipe may have no beginning.
    if not Path(path).is_file():
        raise InputError(path, *_describe_non_file(path))
    name = Path(path).name
    if not zipfile.is_zipfile(path):
        yield TextPlace(path, name)
        return
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
    members = [member for member in members if not member.startswith("__MACOSX/")]
    require_at_most(name, len(members), _MAX_TEXTS, "texts")
    yield from (TextPlace(path, Path(member).name, member) for member in members)


def _describe_non_file(path: str) -> tuple[str, str]:
    """Return a description of a path that does not lead to a file, and the advice."""
    if not Path(path).exists():
        return "does not exist.", _ADVICE
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        return "is a folder.", _ADVICE
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    return f"is {kind}, not a file.", "Save the text to a file, or pipe it to tracekit and name it as -."
