"""Models and plans in a zip, as the Finder packs folders: unpacked for as long as they are used."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

from tracekit.analysis.model_join.given_files import GivenModelFile, split_name
from tracekit.errors import InputError
from tracekit.mlmodels.plans import Plan
from tracekit.mlmodels.program import MLModel
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError
from tracekit.parsers.zip_archive import BoundedZip, is_link

Content = TypeVar("Content", MLModel, Plan)

_HEADS = (b"PK\x03\x04", b"PK\x05\x06")
_MAX_FILES = 20_000
_MAX_BYTES = 8 << 30
_CHUNK_BYTES = 1 << 20
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"|?*\\]')
_NOT_OF_MODELS = ("__MACOSX", ".DS_Store")
_ADVICE = "Zip one model or one plan (in the Finder: right-click, Compress)."


class _TooLargeError(Exception):
    """A zip unpacks to more than its size allows."""


def read_packed(
    entries: Iterable[str], read: Callable[[Path], Content]
) -> Iterator[str | GivenModelFile[Content]]:
    """Yield the entries, each ``[NAME=]FILE``; of a zip, what is in it. Raises ``InputError``."""
    for entry in entries:
        name, path = split_name(entry)
        yield _read_zip(Path(path), name, read) if _is_zip(Path(path)) else entry


def _is_zip(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe is read once
            return False
        with path.open("rb") as file:
            return file.read(4) in _HEADS
    except (OSError, ValueError):
        return False


def _read_zip(path: Path, name: str, read: Callable[[Path], Content]) -> GivenModelFile[Content]:
    """Return the model or plan in a zip; its path is the one within the zip."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-model-"))
    try:
        _unpack(path, folder)
        content = read(_find_content(folder))
        place = content.path.relative_to(folder)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, InputError) and Path(error.source).is_relative_to(folder):
            place = Path(error.source).relative_to(folder)
            raise InputError(str(place) if place.name else str(path), error.problem, error.advice) from error
        raise
    given = GivenModelFile(replace(content, path=place if place.name else Path(path.stem)), name)
    weakref.finalize(
        given, shutil.rmtree, folder, ignore_errors=True
    )  # weights are read when they are needed
    return given


def _unpack(path: Path, folder: Path) -> None:
    try:
        with BoundedZip(str(path), _MAX_FILES) as archive:
            bytes_left = min(_MAX_BYTES, DEFAULT_LIMITS.unpacked_bytes(path.stat().st_size))
            for entry in archive.infolist():
                names = _list_names(entry.filename)
                if entry.is_dir() or is_link(entry) or not names:
                    continue
                target = folder.joinpath(*names)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as content, target.open("xb") as file:
                    bytes_left -= _copy(content, file, bytes_left)
    except LimitError as error:
        raise InputError(str(path), error.problem, _ADVICE) from error
    except _TooLargeError as error:
        raise InputError(str(path), "unpacks to far more than a model does.", _ADVICE) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(str(path), "is a damaged zip, or has a password.", _ADVICE) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it has names that no file can have"
        raise InputError(str(path), f"cannot be unpacked: {reason}.", _ADVICE) from error


def _copy(content: IO[bytes], file: IO[bytes], max_bytes: int) -> int:
    """Copy and return the number of bytes. The size that the zip states is not used: it may be wrong."""
    copied_bytes = 0
    while data := content.read(_CHUNK_BYTES):
        copied_bytes += len(data)
        if copied_bytes > max_bytes:
            raise _TooLargeError
        file.write(data)
    return copied_bytes


def _list_names(member: str) -> list[str]:
    """Return the names of a member's folders and its own, none of which leads out of a folder."""
    names = [name for name in member.split("/") if name not in ("", ".", "..")]
    if any(name in _NOT_OF_MODELS for name in names):
        return []
    return [_NOT_IN_NAMES.sub("_", name) for name in names]


def _find_content(folder: Path) -> Path:
    """Return the only file or folder of a folder, also below folders around it; else the folder itself."""
    while not folder.suffix:
        entries = list(folder.iterdir())
        if len(entries) != 1:
            break
        (folder,) = entries
        if folder.is_file():
            break
    return folder
