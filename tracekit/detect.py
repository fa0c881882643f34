"""Detection of the kind of a file and of the parser that reads it: paths → ``Source``."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tracekit.errors import InputError, UsageError
from tracekit.parsers.bundle.container import is_archive, is_bundle_folder, open_bundle_files
from tracekit.parsers.pack.format import MANIFEST
from tracekit.parsers.pack.read import is_pack
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.xml.source import XmlFile, XmlSource
from tracekit.parsers.xml.stream import STDIN

if TYPE_CHECKING:
    from tracekit.xctrace.tool import Xctrace

Input: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
Via: TypeAlias = Literal["auto", "native", "xctrace"]
"""Reading of a bundle: natively and, if that fails, through xctrace; or only one of the two."""

EXPORT_ADVICE = (
    "Export a table of samples: xcrun xctrace export --input X.trace"
    """ --xpath '/trace-toc/run/data/table[@schema="time-profile"]' --output time-profile.xml"""
)

_ZIP = b"PK\x03\x04"
_EXPORTS = (".xml", ".xml.gz")
_BUNDLE_ARCHIVES = tuple(f".trace.{end}" for end in ("zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"))


def open_source(
    path: Input, progress: Progress | None = None, via: Via = "auto", schemas: Collection[str] = ()
) -> Source:
    """Open a bundle, a pack, an export, a folder of exports, or several exports; "-" is standard input.

    A bundle may be a folder, or a zip or tar of one. ``schemas`` are the tables that will be read: xctrace
    exports them at once, others on demand. Raises ``InputError`` for anything else, with what to do instead,
    and ``XctraceError`` when xctrace is required and fails.
    """
    paths = [os.fspath(path)] if isinstance(path, (str, os.PathLike)) else [os.fspath(part) for part in path]
    try:
        return _open(paths, progress, via, schemas)
    except OSError as error:
        raise InputError(
            str(error.filename or paths[0]), f"cannot be read: {error.strerror or error}."
        ) from error
    except RuntimeError as error:  # Path.resolve of Python 3.11 and 3.12
        if "ymlink loop" not in str(error):
            raise
        raise InputError(paths[0], "is a symbolic link that leads back to itself.") from error


def _open(paths: list[str], progress: Progress | None, via: Via, schemas: Collection[str]) -> Source:
    if not paths:
        raise UsageError("No input was named. Name a .trace, an exported .xml, a folder of them, or -.")
    bundle = _bundle_of(paths[0]) if len(paths) == 1 else ""
    if bundle:
        return _open_bundle(bundle, progress, via, schemas)
    if via != "auto":
        raise UsageError(f"{paths[0]} is not a .trace bundle: only a bundle can be read via {via}.")
    if len(paths) == 1:
        return _open_single(paths[0], progress)
    for name in paths:
        _require(name)
        if name != STDIN and (_is_pack(name) or _is_bundle(Path(name))):
            what = "pack" if _is_pack(name) else ".trace bundle"
            raise UsageError(
                f"{name} is a {what}: name it alone, because it holds all tables of its recording."
            )
    common = os.path.commonpath([Path(name).absolute() for name in paths])
    return XmlSource(_shown(common), [XmlFile(name, progress) for name in paths], parse_now=False)


def _open_single(path: str, progress: Progress | None) -> Source:
    if path == STDIN:
        _refuse_packed_input()
        return XmlSource("standard input", [XmlFile(path, progress)], parse_now=True)
    folder = Path(path)
    if _is_pack(path):
        from tracekit.parsers.pack.source import PackSource

        return PackSource(path, _shown(path))
    if not folder.is_dir():
        if path.endswith(".trace"):
            raise InputError(
                path, "is a file and not an archive; a .trace is a folder, or a zip or tar of one."
            )
        return XmlSource(_shown(path), [XmlFile(path, progress)], parse_now=True)
    if (folder / MANIFEST).is_file():
        raise InputError(
            path,
            "is an unpacked pack (browsers unpack downloads).",
            "Name the .tracekit.zip itself.",
        )
    exports = sorted(p for p in folder.iterdir() if p.name.endswith(_EXPORTS) and not p.name.startswith("."))
    if not exports:
        raise InputError(
            path, "is a folder without a .trace and without exports (*.xml or *.xml.gz).", EXPORT_ADVICE
        )
    source = XmlSource(_shown(path), [XmlFile(str(export), progress) for export in exports], parse_now=False)
    if not source.toc():
        raise InputError(path, "holds XML files, but no xctrace export.", EXPORT_ADVICE)
    return source


def _open_bundle(path: str, progress: Progress | None, via: Via, schemas: Collection[str]) -> Source:
    # These are a third of all imports, with libraries of their own: loaded for bundles only.
    from tracekit.parsers.bundle.source import BundleSource
    from tracekit.parsers.fallback import FallbackSource
    from tracekit.xctrace.source import XctraceSource
    from tracekit.xctrace.tool import find_xctrace, require_xctrace

    def exported(tool: Xctrace) -> Source:
        return XctraceSource(tool, path, _shown(path), schemas, progress)

    def exported_if_possible() -> Source | None:
        tool = find_xctrace() if via == "auto" and Path(path).is_dir() else None
        return exported(tool) if tool else None

    if via == "xctrace":
        tool = require_xctrace()
        if not Path(path).is_dir():
            raise UsageError(f"xctrace reads bundles as folders: unpack {path} and name the folder.")
        return exported(tool)
    try:
        native = BundleSource(open_bundle_files(path, _shown(path)), path)
    except InputError:
        fallback_source = exported_if_possible()
        if fallback_source is None:
            raise
        return fallback_source
    fallback = FallbackSource(native, exported_if_possible, "xctrace")
    for schema in native.unreadable.intersection(schemas):
        fallback.prefer_second(f"'{schema}' cannot be read natively")
    return fallback


def _bundle_of(path: str) -> str:
    """Return the bundle that a path names or, as a folder, holds; "" when it is something else."""
    if path == STDIN:
        return ""
    _require(path)
    place = Path(path)
    if _is_pack(path):
        return ""
    if _is_bundle(place):
        return path
    if not place.is_dir():
        return ""
    named = sorted(entry for entry in place.iterdir() if not entry.name.startswith("."))
    recordings = [entry for entry in named if entry.name.endswith((".trace", *_BUNDLE_ARCHIVES))]
    exports = [entry for entry in named if entry.name.endswith(_EXPORTS)]
    if len(recordings) > 1 or (recordings and exports):
        names = ", ".join(entry.name for entry in [*recordings, *exports][:5])
        raise InputError(path, f"holds more than one recording ({names}).", "Name one of them.")
    return str(recordings[0]) if recordings else ""


def _is_bundle(path: Path) -> bool:
    return is_bundle_folder(path) if path.is_dir() else path.is_file() and is_archive(path)


def _refuse_packed_input() -> None:
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    if peek is not None and peek(4)[:4] == _ZIP:
        raise InputError(
            "standard input",
            "is a zip archive, which cannot be read from a pipe.",
            "Save it to a file and name that.",
        )


def _is_pack(path: str) -> bool:
    return Path(path).is_file() and is_pack(Path(path))


def _shown(path: str) -> str:
    """Return the name of the file or folder, printable whatever bytes it has."""
    return os.fsencode(Path(path).resolve().name).decode("utf-8", "replace")


def _require(path: str) -> None:
    if path != STDIN and not os.path.lexists(path):
        raise InputError(path, "does not exist.", "Check the path.")
