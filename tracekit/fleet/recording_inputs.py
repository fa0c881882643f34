"""The recordings that the inputs of a run name: files, folders, globs, lists, and addresses of object stores.

A folder is searched: a bundle in it is a recording, so is an archive, a pack or a text, and the exports that
lie in one folder are one recording, as ``tracekit analyze FOLDER`` reads them, or several
(``loose_exports``).
"""

from __future__ import annotations

import glob
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from tracekit.errors import InputError, UsageError
from tracekit.fleet import stores
from tracekit.fleet.manifest import MARKER
from tracekit.frozen import frozen
from tracekit.parsers.bundle.container import EXPORT_ENDINGS, is_archive, is_bundle_folder
from tracekit.parsers.kdebug.device_files import is_device_folder
from tracekit.text import printable

SIDECAR = ".labels.json"
"""The ending of a file with labels, behind the name of the recording that it belongs to."""
_NOT_SEARCHED = (".dSYM", ".xcresult", ".xcarchive", ".app", ".framework", ".logarchive")
_NO_RECORDING = (SIDECAR, ".recording.json", ".parquet")
_NAMED = (".trace.zip", ".tracekit.zip")
"""Endings of recordings, whatever the file holds: one that is empty was not uploaded yet, and is named."""
_MAX_OBJECTS = 1_000_000


@frozen
class RecordingInput:
    """A recording to analyze: one task.

    ``address`` is a path or the address of an object; rows have it as ``path``. ``members`` are the files of
    a recording that is a folder of files: its exports, or the objects of a bundle in a store; without any,
    the address is opened itself. Where a folder holds exports of several recordings, the address of each is
    its table of contents. ``sidecar`` is a file with labels, "" for none. ``problem`` is why it cannot be
    analyzed, where that is known from the names.
    """

    address: str
    members: tuple[str, ...] = ()
    sidecar: str = ""
    problem: str = ""

    def require_readable(self) -> None:
        """Raise ``InputError`` where the names show that it cannot be read."""
        if self.problem:
            advice = "Put the exports of each recording into a folder, with its table of contents."
            raise InputError(printable(self.address), printable(self.problem), advice)

    @property
    def is_remote(self) -> bool:
        """True where it is in an object store."""
        return stores.is_address(self.address)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.address.replace(os.sep, "/")).name


def find_recordings(inputs: Sequence[str]) -> list[RecordingInput]:
    """Return the recordings of the inputs, each once, in their order.

    ``@LIST`` is a file with an input per line, relative to the list. Raises ``UsageError`` for an input that
    does not exist or names no recording: a mistyped name shall not pass as an empty fleet.
    """
    recordings: dict[str, RecordingInput] = {}
    for name in _expand_lists(inputs):
        matches = _find_at_address(name) if stores.is_address(name) else _find_in_path(name)
        if not matches:
            raise UsageError(
                f"{printable(name)} holds no recording: no .trace, pack, export of xctrace, or text that"
                " tracekit reads."
            )
        for recording in matches:
            recordings.setdefault(_identify_recording(recording), recording)
    return list(recordings.values())


def _identify_recording(recording: RecordingInput) -> str:
    return recording.address if recording.is_remote else os.path.realpath(recording.address)


def _expand_lists(inputs: Sequence[str]) -> Iterator[str]:
    """Yield inputs, with those of lists in place of the lists."""
    for name in inputs:
        if not name.startswith("@"):
            yield name
            continue
        path = Path(name[1:])
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"The list {printable(str(path))} cannot be read: {problem}.") from error
        for line in map(str.strip, lines):
            if line and not line.startswith("#"):
                yield line if stores.is_address(line) else str(path.parent / line)


# Files ------------------------------------------------------------------------------------------------------


def _find_in_path(name: str) -> list[RecordingInput]:
    if os.path.lexists(name):
        return list(_iter_existing(Path(name)))
    if not glob.has_magic(name):
        raise UsageError(f"{printable(name)} does not exist. Check the path.")
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - the name may be absolute
    return [found for match in matches for found in _iter_existing(Path(match))]


def _iter_existing(path: Path) -> Iterator[RecordingInput]:
    """Yield the recordings of a path; a file that is named is a recording, whatever it holds."""
    if not path.is_dir() or _is_recording_folder(path):
        address = os.path.abspath(path)  # noqa: PTH100 - without ".."
        yield RecordingInput(address, sidecar=_find_sidecar(address, os.path.isfile))
        return
    for place, folders, files in os.walk(os.path.abspath(path)):  # noqa: PTH100
        folder = Path(place)
        if MARKER in files:  # a dataset of results
            folders.clear()
            continue
        bundles = sorted(name for name in folders if _is_recording_folder(folder / name))
        folders[:] = sorted(
            name
            for name in set(folders) - {*bundles}
            if not name.startswith((".", "__")) and _is_searched(name)
        )
        whole = [name for name in sorted(files) if _is_whole(folder / name)]
        names = [os.path.join(place, name) for name in (*bundles, *whole)]  # noqa: PTH118 - many names
        exports = [str(folder / name) for name in sorted(files) if _is_export(name)]
        yield from _iter_whole_recordings(names, os.path.isfile)
        yield from _iter_exports(place, exports)


def _iter_exports(folder: str, paths: list[str]) -> Iterator[RecordingInput]:
    """Yield the recordings whose exports lie in a folder."""
    from tracekit.fleet.loose_exports import group_by_recording

    for exports in group_by_recording(paths) if paths else ():
        address = exports.toc or folder
        yield RecordingInput(
            address, exports.members, _find_sidecar(address, os.path.isfile), exports.problem
        )


def _is_recording_folder(path: Path) -> bool:
    return is_bundle_folder(path) or is_device_folder(path)


def _is_searched(name: str) -> bool:
    return not name.endswith(_NOT_SEARCHED)


def _is_export(name: str) -> bool:
    return name.endswith(EXPORT_ENDINGS) and not name.startswith(".")


def _is_whole(path: Path) -> bool:
    """Return True for a file that is a recording by itself: an archive, a pack, or a text."""
    if path.name.startswith(".") or path.name.endswith((*EXPORT_ENDINGS, *_NO_RECORDING)):
        return False
    with suppress(OSError):
        return path.is_file() and (path.name.endswith(_NAMED) or is_archive(path) or _is_text(path))
    return False


def _is_text(path: Path) -> bool:
    from tracekit.parsers.text.kinds import identify_text
    from tracekit.parsers.text.text_file import TextPlace

    return identify_text(TextPlace(str(path), path.name)) is not None


def _iter_whole_recordings(
    addresses: Iterable[str], exists: Callable[[str], bool]
) -> Iterator[RecordingInput]:
    for address in addresses:
        yield RecordingInput(address, sidecar=_find_sidecar(address, exists))


def _find_sidecar(address: str, exists: Callable[[str], bool]) -> str:
    return f"{address}{SIDECAR}" if exists(f"{address}{SIDECAR}") else ""


# Object stores ----------------------------------------------------------------------------------------------

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_TEXTS = (".txt", ".log", ".ndjson", ".ips", ".crash", ".spindump", ".sample")
"""Endings of texts in stores, whose objects are not opened to see what they hold."""


def _find_at_address(address: str) -> list[RecordingInput]:
    """Return the recordings of an address: of an object, of all that a folder or a pattern has."""
    objects = stores.list_objects(address, _MAX_OBJECTS)
    if objects == [address]:
        return [RecordingInput(address, sidecar=_find_sidecar(address, stores.object_exists))]
    listed_objects = frozenset(objects)
    bundles: defaultdict[str, list[str]] = defaultdict(list)
    exports: defaultdict[str, list[str]] = defaultdict(list)
    whole: list[str] = []
    for name in objects:
        bundle = _find_bundle(name)
        if bundle:
            bundles[bundle].append(name)
        elif _is_export(name.rpartition("/")[2]):
            exports[name.rpartition("/")[0]].append(name)
        elif name.endswith((*_ARCHIVES, *_TEXTS)):
            whole.append(name)
    found = [
        RecordingInput(name, tuple(members), _find_sidecar(name, listed_objects.__contains__))
        for name, members in [*bundles.items(), *exports.items()]
    ]
    found += _iter_whole_recordings(whole, listed_objects.__contains__)
    return sorted(found, key=lambda recording: recording.address)


def _find_bundle(name: str) -> str:
    """Return the address of the bundle around an object, "" for none."""
    head, separator, _ = name.partition(".trace/")
    return f"{head}.trace" if separator else ""
