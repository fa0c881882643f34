"""The builds in the files and folders that a user names: dSYMs, binaries, archives of Xcode, symbol maps.

A folder is searched to the bottom, within limits: an archive of Xcode has some thousand files, and the
folder of all archives some hundred thousand. Links in it are not followed.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeAlias

from tracekit.errors import InputError
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.symbols.archive import unpack_files
from tracekit.symbols.macho import Build, is_macho, read_builds
from tracekit.symbols.symbol_file_names import DSYM, MAP_SUFFIX, ZIP_HEAD
from tracekit.symbols.symbol_map import MappedBuild, read_map
from tracekit.symbols.work_budget import SymbolFileError, WorkBudget

SymbolPath: TypeAlias = "str | os.PathLike[str]"
AnyBuild: TypeAlias = Build | MappedBuild

MAX_DEPTH = 24
MAX_ENTRIES = 500_000
MAX_FILES = 20_000
"""Files with symbols in the folders of one command."""

_PACKED_DSYM = ".dSYM.zip"
_PACKED_HEADS = (b"\x1f\x8b", b"BZh", b"\xfd7zX")


@dataclass
class SymbolFiles:
    """All builds by UUID, and the files that cannot be read: file → reason."""

    budget: WorkBudget = field(default_factory=WorkBudget)
    by_uuid: dict[str, list[AnyBuild]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def make_folder(self) -> Path:
        """Return a new folder for the files of an archive; it is removed with this object."""
        folder = mkdtemp(prefix="tracekit-symbols-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    @property
    def builds(self) -> Iterator[AnyBuild]:
        """All builds."""
        return (build for builds in self.by_uuid.values() for build in builds)


def find_builds(paths: Sequence[SymbolPath], limits: Limits = DEFAULT_LIMITS) -> SymbolFiles:
    """Return the builds in files and folders. Raises ``InputError`` for a path that does not exist."""
    found = SymbolFiles(WorkBudget(limits))
    entries_left = [MAX_ENTRIES]
    count = 0
    for symbol_path in paths:
        path = Path(os.fspath(symbol_path))
        if not os.path.exists(path):  # noqa: PTH110 - pathlib raises for names that are too long
            raise InputError(
                os.fspath(symbol_path), "does not exist.", "--symbols names a dSYM, a binary or a folder."
            )
        is_folder = path.is_dir()
        for file in _iter_files(path, found, entries_left) if is_folder else (path,):
            if is_folder and not _has_symbols(file):
                continue
            count += 1
            if count > MAX_FILES:
                found.unreadable[str(path)] = f"has more than {MAX_FILES:,} files with symbols"
                return found
            _add_file(found, file)
    return found


def get_display_name(path: Path) -> str:
    """Return the name under which a file of symbols is known: the dSYM around it, or its own."""
    bundle = next((parent for parent in path.parents if parent.name.endswith(DSYM)), path)
    return os.fsencode(bundle.name).decode("utf-8", "replace")


def get_binary_name(build: AnyBuild) -> str:
    """Return the name of the binary that a file of symbols belongs to."""
    name = build.path.name
    if isinstance(build, MappedBuild):
        return build.label.rpartition(") ")[2].rpartition("/")[2] or name.removesuffix(MAP_SUFFIX)
    return name


def _add_file(found: SymbolFiles, path: Path) -> None:
    try:
        if not path.is_file():
            raise SymbolFileError("is no file")  # noqa: TRY301
        with path.open("rb") as file:
            head = file.read(8)
        if head.startswith(ZIP_HEAD):
            _add_archive(found, path)
            return
        if head.startswith(_PACKED_HEADS):
            raise SymbolFileError("is packed: unpack it and name the folder")  # noqa: TRY301
        read: Callable[[Path, WorkBudget], tuple[AnyBuild, ...]] = read_builds if is_macho(head) else read_map
        builds = read(path, found.budget)
    except SymbolFileError as error:
        found.unreadable[get_display_name(path)] = str(error)
        return
    except OSError as error:
        found.unreadable[get_display_name(path)] = f"cannot be read: {error.strerror or error}"
        return
    for build in builds:
        if build.uuid:
            found.by_uuid.setdefault(build.uuid, []).append(build)
        else:
            found.unreadable[get_display_name(path)] = "has no UUID, so nothing shows which build it is"


def _add_archive(found: SymbolFiles, path: Path) -> None:
    count = 0
    for file in unpack_files(path, found.make_folder()):
        _add_file(found, file)
        count += 1
    if not count:
        raise SymbolFileError("is an archive without files of symbols")


def _iter_files(folder: Path, found: SymbolFiles, entries_left: list[int]) -> Iterator[Path]:
    """Yield the files below a folder, in the order of their names."""
    pending = [(folder, 0)]
    while pending:
        current, depth = pending.pop()
        try:
            with os.scandir(current) as listing:
                entries = sorted(_take_entries(listing, entries_left), key=lambda entry: entry.name)
        except OSError as error:
            found.unreadable[str(current)] = f"cannot be read: {error.strerror or error}"
            continue
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
        folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        if depth < MAX_DEPTH:
            pending += [(path, depth + 1) for path in reversed(folders)]
        if not entries_left[0]:
            found.unreadable[str(folder)] = f"holds more than {MAX_ENTRIES:,} files; name a folder in it"
            return


def _take_entries(listing: Iterator[os.DirEntry[str]], entries_left: list[int]) -> Iterator[os.DirEntry[str]]:
    for entry in listing:
        if not entries_left[0]:
            return
        entries_left[0] -= 1
        yield entry


def _has_symbols(path: Path) -> bool:
    """Return True for a file in a searched folder that is a Mach-O file or a symbol map, by name."""
    if path.name.endswith((MAP_SUFFIX, _PACKED_DSYM)):
        return True
    try:
        with path.open("rb") as file:
            return is_macho(file.read(4))
    except OSError:
        return False
