"""Files that are added to a recording (symbols, texts, a model, a plan): each is kept as a zip."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tracekit.errors import UsageError
from tracekit.symbols.symbol_file_names import DSYM, MACHO_HEADS, MAP_SUFFIX, ZIP_HEAD

MAX_BYTES = 4_000_000_000
"""Of all files together: the debug information of the largest apps has one or two gigabytes."""
MAX_LOCAL_BYTES = 256 << 20
"""Of the files that the command line names, which are packed in memory."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)


def wrap_symbols(name: str, content: IO[bytes]) -> IO[bytes]:
    """Return a zip as it is, and any other file as the only member of one: it keeps the file's name.

    The same file gives the same bytes. They are never in memory as a whole.
    """
    head = _read_head(content)
    if head.startswith(ZIP_HEAD):
        return content
    is_map = not head.startswith(MACHO_HEADS)
    member = name if not is_map or name.endswith(MAP_SUFFIX) else f"{name}{MAP_SUFFIX}"
    return _wrap(member or "symbols", content)


def zip_symbols(paths: Sequence[str]) -> bytes:
    """Return a zip of the files of symbols in files and folders.

    Raises ``InputError`` for a path that does not exist, and ``UsageError`` for more than the library keeps.
    """
    from tracekit.symbols.search import find_builds, get_display_name
    from tracekit.symbols.symbol_map import MappedBuild

    files = find_builds(paths)
    names = {}
    for build in files.builds:
        bundle = get_display_name(build.path)
        folder = f"{bundle}/" if bundle.endswith(DSYM) else ""
        names[build.path] = f"{folder}{build.path.name}{MAP_SUFFIX if isinstance(build, MappedBuild) else ''}"
    if sum(path.stat().st_size for path in names) > MAX_LOCAL_BYTES:
        raise UsageError(
            f"--symbols names more than {MAX_LOCAL_BYTES >> 20} MB: name only those of the recorded build."
        )
    return _pack_members([(f"{n}/{name}", path.read_bytes()) for n, (path, name) in enumerate(names.items())])


def wrap_file(name: str, content: IO[bytes]) -> IO[bytes]:
    """Return a zip as it is, and any other file as the only member of one."""
    return content if _read_head(content).startswith(ZIP_HEAD) else _wrap(name or "file", content)


def _read_head(content: IO[bytes]) -> bytes:
    head = content.read(8)
    content.seek(0)
    return head


def _wrap(name: str, content: IO[bytes]) -> IO[bytes]:
    packed = tempfile.TemporaryFile()  # noqa: SIM115 - the caller reads it
    entry = zipfile.ZipInfo(name, _FIRST_DATE)
    with zipfile.ZipFile(packed, "w") as archive, archive.open(entry, "w", force_zip64=True) as member:
        shutil.copyfileobj(content, member)
    packed.seek(0)
    return packed


def zip_texts(paths: Sequence[str]) -> bytes:
    """Return a zip of the texts of ``--with``, each under its name.

    Raises ``InputError`` for a path that cannot be read or is no text that can be laid over a recording, and
    ``UsageError`` for more than the library keeps.
    """
    from tracekit.overlays.overlay_texts import iter_text_places

    members = []
    for number, place in enumerate(place for path in paths for place in iter_text_places(path)):
        with place.open() as file:
            content = file.read(MAX_LOCAL_BYTES + 1)
        members.append((f"{number}/{place.name}", content))
        if sum(len(content) for _, content in members) > MAX_LOCAL_BYTES:
            raise UsageError(
                f"--with names more than {MAX_LOCAL_BYTES >> 20} MB: cut the text to the recorded time."
            )
    return _pack_members(members)


def zip_model_file(path: str) -> bytes:
    """Return a zip of a model or plan, a file or a folder, under its name.

    Raises ``UsageError`` for a path that cannot be read, and for more than the library keeps.
    """
    root = Path(path).absolute()
    files = sorted(file for file in root.rglob("*") if file.is_file()) if root.is_dir() else [root]
    try:
        if sum(file.stat().st_size for file in files) > MAX_LOCAL_BYTES:
            raise UsageError(
                f"{path} has more than {MAX_LOCAL_BYTES >> 20} MB: add it on the recording's page."
            )
        if root.is_file() and root.read_bytes()[: len(ZIP_HEAD)] == ZIP_HEAD:
            return root.read_bytes()
        members = [(file.relative_to(root.parent).as_posix(), file.read_bytes()) for file in files]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    return _pack_members(members)


def _pack_members(members: Sequence[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, _FIRST_DATE), content)
    return packed.getvalue()
