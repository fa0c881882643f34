"""Detection of the kind of a file and of the parser that reads it: paths → ``Source``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

from tracekit.errors import InputError, UsageError
from tracekit.frozen import frozen
from tracekit.model.trace import Issue
from tracekit.parsers.limits import DEFAULT_LIMITS, LimitError, Limits, require_at_most
from tracekit.parsers.progress import SeveralFiles
from tracekit.parsers.source import EXPORT_ADVICE, Progress, Source
from tracekit.parsers.xml.packed import ExportFile, PackedExport
from tracekit.parsers.xml.stream import STDIN, is_export, measure_size
from tracekit.parsers.xml.xml_source import XmlFile, XmlSource
from tracekit.text import format_shell_command

if TYPE_CHECKING:
    from tracekit.parsers.bundle.container import ArchiveFiles
    from tracekit.xctrace.tool import Xctrace

Input: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
Via: TypeAlias = Literal["auto", "native", "xctrace"]
"""Reading of a bundle: natively and, if that fails, through xctrace; or only one of the two."""


_TEXTS_ADVICE = (
    "Texts are analyzed one at a time; compare takes two of them, and --with lays them over a recording."
)
_MAX_INSPECTED_FILES = 20
"""Files of a folder without a recording that are opened to see whether they are texts."""
_BUNDLE_ARCHIVES = tuple(f".trace.{end}" for end in ("zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"))
_FOREIGN_ARCHIVES = {
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"xar!": "xar",
    b"AA01": "Apple Archive",
}
"""Archives that tracekit does not unpack, by their first bytes."""


@frozen
class _Options:
    """The arguments of ``open_source`` other than the input."""

    progress: Progress | None
    via: Via
    schemas: Collection[str]
    limits: Limits


def open_source(
    path: Input,
    progress: Progress | None = None,
    via: Via = "auto",
    schemas: Collection[str] = (),
    limits: Limits = DEFAULT_LIMITS,
    symbols: Sequence[str | os.PathLike[str]] = (),
    overlays: Sequence[str | os.PathLike[str]] = (),
    offset_ns: int = 0,
) -> Source:
    """Open a bundle, a pack, an export, a folder of exports, or several exports; "-" is standard input.

    A bundle and a folder of exports may be in a zip or a tar. ``schemas`` are the tables that will be read:
    xctrace exports them at once, others on demand; the rows of a bundle's other tables are not counted.
    ``symbols`` are files and folders with names for frames that have none (docs/symbols.md); ``overlays`` are
    texts that are laid over the recording by wall clock, each moved by ``offset_ns``
    (docs/evidence.md). Raises ``LimitError`` for an input that exceeds ``limits``, ``InputError`` for
    anything else that cannot be read, with what to do instead, and ``XctraceError`` when xctrace is required
    and fails.
    """
    paths = [os.fspath(path)] if isinstance(path, (str, os.PathLike)) else [os.fspath(part) for part in path]
    options = _Options(progress, via, schemas, limits)
    try:
        source = _open_one(paths[0], options) if len(paths) == 1 else _open_several(paths, options)
        source = _add_symbols(source, symbols, limits) if symbols else source
        return _add_overlays(source, overlays, offset_ns, options) if overlays else source
    except OSError as error:
        raise InputError(
            str(error.filename or paths[0]), f"cannot be read: {error.strerror or error}."
        ) from error
    except RuntimeError as error:  # Path.resolve of Python 3.11 and 3.12
        if "ymlink loop" not in str(error):
            raise
        raise InputError(paths[0], "is a symbolic link that leads back to itself.") from error


def _add_symbols(source: Source, symbols: Sequence[str | os.PathLike[str]], limits: Limits) -> Source:
    from tracekit.symbols.symbolicated_source import SymbolicatedSource

    return SymbolicatedSource(source, symbols, limits)


def _add_overlays(
    source: Source, overlays: Sequence[str | os.PathLike[str]], offset_ns: int, options: _Options
) -> Source:
    from tracekit.overlays.overlaid_source import OverlaidSource
    from tracekit.overlays.overlay_texts import open_texts

    return OverlaidSource(source, open_texts(overlays, options.limits, options.progress), offset_ns)


def _open_one(path: str, options: _Options) -> Source:
    """Open the input with the first reader that recognises it; see ``_READERS``."""
    if path != STDIN:
        _require_path(path)
    return next(reader for recognises, reader in _READERS if recognises(path))(path, options)


def _open_several(paths: list[str], options: _Options) -> Source:
    if not paths:
        raise UsageError("No input was named. Name a .trace, an exported .xml, a folder of them, or -.")
    _require_auto(paths[0], options)
    for name in paths:
        if name == STDIN:
            continue
        _require_path(name)
        if _is_export(name):
            continue
        if _is_pack(name) or _is_bundle(name):
            kind = "pack" if _is_pack(name) else ".trace bundle"
            raise UsageError(
                f"{name} is a {kind}: name it alone, because it holds all tables of its recording."
            )
        if _is_text(name):
            raise UsageError(f"{name} is a text, not an export of xctrace. {_TEXTS_ADVICE}")
    common = os.path.commonpath([Path(name).absolute() for name in paths])
    return _open_exports(_get_name(common), paths, options, parse_now=False)


def _open_exports(
    name: str,
    exports: Sequence[ExportFile],
    options: _Options,
    *,
    parse_now: bool,
    issues: Sequence[Issue] = (),
) -> XmlSource:
    """Return the exports of one recording."""
    require_at_most(name, len(exports), options.limits.documents, "documents")
    limits = options.limits.shared_by(len(exports))
    sizes = [measure_size(export) for export in exports]
    progress = SeveralFiles(options.progress, sizes) if options.progress else None
    files = [
        XmlFile(export, progress.make_progress(number) if progress else None, limits=limits)
        for number, export in enumerate(exports)
    ]
    return XmlSource(name, files, parse_now=parse_now, limits=options.limits, issues=issues)


def _open_standard_input(path: str, options: _Options) -> Source:
    from tracekit.parsers.bundle.container import is_archive_head

    _require_auto(path, options)
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    if peek is not None and is_archive_head(peek(1)):
        raise InputError(
            "standard input",
            "is an archive, which cannot be read from a pipe.",
            "Save it to a file and name that.",
        )
    if _is_text(path):
        return _open_text(path, options)
    return _open_exports("standard input", [path], options, parse_now=True)


def _open_text(path: str, options: _Options) -> Source:
    from tracekit.parsers.text.kinds import identify_text, open_text
    from tracekit.parsers.text.text_file import TextPlace

    _require_auto(path, options)
    place = TextPlace(path, "standard input" if path == STDIN else _get_name(path))
    recognised = identify_text(place)
    assert recognised is not None  # _is_text
    return open_text(place, recognised, options.limits, options.progress)


def _open_kernel_recording(path: str, options: _Options) -> Source:
    from tracekit.overlays.streams_with_logs import open_kernel_file

    _require_auto(path, options)
    return open_kernel_file(path, _get_name(path), options.limits)


def _open_pack(path: str, options: _Options) -> Source:
    from tracekit.parsers.pack.pack_source import PackSource

    _require_auto(path, options)
    return PackSource(path, _get_name(path), options.limits)


def _open_folder(path: str, options: _Options) -> Source:
    """Open the one bundle in a folder, or all its exports."""
    from tracekit.parsers.bundle.container import EXPORT_ENDINGS
    from tracekit.parsers.kdebug.device_files import is_device_folder
    from tracekit.parsers.pack.format import MANIFEST

    folder = Path(path)
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    recordings = [entry for entry in entries if entry.name.endswith((".trace", *_BUNDLE_ARCHIVES))]
    exports = [entry for entry in entries if entry.name.endswith(EXPORT_ENDINGS)]
    if len(recordings) > 1 or (recordings and exports):
        names = ", ".join(entry.name for entry in [*recordings, *exports][:5])
        raise InputError(path, f"holds more than one recording ({names}).", "Name one of them.")
    if recordings:
        return _open_bundle(str(recordings[0]), options)
    _require_auto(path, options)
    if is_device_folder(folder):
        from tracekit.overlays.streams_with_logs import open_device_recording

        return open_device_recording(folder, _get_name(path), options.limits, options.progress)
    if (folder / MANIFEST).is_file():
        raise InputError(
            path,
            "is an unpacked pack (browsers unpack downloads).",
            "Name the .tracekit.zip itself.",
        )
    if (folder / "timesync").is_dir() or folder.name.endswith(".logarchive"):
        command = format_shell_command(
            ["log", "show", "--archive", path, "--style", "ndjson", "--info", "--debug"]
        )
        raise InputError(
            path, "is a log archive, which macOS alone reads.", f"Export it there: {command} > log.ndjson"
        )
    texts = [entry.name for entry in entries[:_MAX_INSPECTED_FILES] if not exports and _is_text(str(entry))]
    if texts:
        raise InputError(path, f"is a folder of texts ({', '.join(texts[:3])}).", _TEXTS_ADVICE)
    if not exports:
        _refuse_other(path)
        raise InputError(
            path, "is a folder without a .trace and without exports (*.xml or *.xml.gz).", EXPORT_ADVICE
        )
    return _open_export_folder(path, _get_name(path), [str(export) for export in exports], options)


def _open_export_folder(
    path: str, name: str, exports: Sequence[ExportFile], options: _Options, issues: Sequence[Issue] = ()
) -> Source:
    source = _open_exports(name, exports, options, parse_now=False, issues=issues)
    if not source.toc():
        raise InputError(path, "holds XML files, but no xctrace export.", EXPORT_ADVICE)
    return source


def _open_archived_exports(path: str, files: ArchiveFiles, options: _Options) -> Source:
    """Return the folder of exports in an archive."""
    from tracekit.parsers.bundle.bundle_files import DamagedFileError

    def make_export(name: str) -> PackedExport:
        def open_member() -> BinaryIO:
            try:
                return files.open(name)
            except DamagedFileError as error:
                raise InputError(f"{path}/{name}", f"{error.problem}.") from error

        return PackedExport(f"{path}/{name}", open_member, files.size(name), files.unpacked_bytes(name))

    _require_auto(path, options)
    issues = [Issue("warning", "files-ignored", warning) for warning in files.warnings]
    return _open_export_folder(
        path, files.name, [make_export(name) for name in files.exports], options, issues
    )


def _refuse_archive(path: str, options: _Options) -> Source:  # noqa: ARG001 - a reader's arguments
    name = next(
        name for magic, name in _FOREIGN_ARCHIVES.items() if _read_archive_mark(path).startswith(magic)
    )
    raise InputError(
        path, f"is packed with {name}, which tracekit does not unpack.", "Unpack it and name what is in it."
    )


def _open_export(path: str, options: _Options) -> Source:
    _require_auto(path, options)
    if path.endswith(".trace"):
        raise InputError(path, "is a file and not an archive; a .trace is a folder, or a zip or tar of one.")
    return _open_exports(_get_name(path), [path], options, parse_now=True)


def _open_bundle(path: str, options: _Options) -> Source:
    # These are a third of all imports, with libraries of their own: loaded for bundles only.
    from tracekit.parsers.bundle.bundle_source import BundleSource
    from tracekit.parsers.bundle.container import ArchiveFiles, open_bundle_files
    from tracekit.parsers.fallback import FallbackSource
    from tracekit.xctrace.tool import find_xctrace, require_xctrace
    from tracekit.xctrace.xctrace_source import XctraceSource

    def open_with_xctrace(tool: Xctrace) -> Source:
        return XctraceSource(tool, path, _get_name(path), options.schemas, options.progress, options.limits)

    def try_xctrace() -> Source | None:
        tool = find_xctrace() if options.via == "auto" and Path(path).is_dir() else None
        return open_with_xctrace(tool) if tool else None

    if options.via == "xctrace":
        tool = require_xctrace()
        if not Path(path).is_dir():
            raise UsageError(f"xctrace reads bundles as folders: unpack {path} and name the folder.")
        return open_with_xctrace(tool)
    try:
        files = open_bundle_files(path, _get_name(path), options.limits)
        if isinstance(files, ArchiveFiles) and files.exports:
            return _open_archived_exports(path, files, options)
        if isinstance(files, ArchiveFiles) and files.kind == "device recording":
            from tracekit.overlays.streams_with_logs import open_archived_device_recording

            _require_auto(path, options)
            return open_archived_device_recording(path, files, options.limits, options.progress)
        native = BundleSource(files, path, options.limits, options.schemas)
    except LimitError:
        raise
    except InputError:
        fallback_source = try_xctrace()
        if fallback_source is None:
            raise
        return fallback_source
    fallback = FallbackSource(native, try_xctrace, "xctrace")
    for schema in native.unreadable.intersection(options.schemas):
        fallback.prefer_second(f"'{schema}' cannot be read natively")
    return fallback


# Each parser is imported only where a file may be of its kind: an export needs none of the others.


def _is_export(path: str) -> bool:
    return Path(path).is_file() and is_export(Path(path))


def _is_pack(path: str) -> bool:
    from tracekit.parsers.pack.pack_reader import is_pack

    return Path(path).is_file() and is_pack(Path(path))


def _is_bundle(path: str) -> bool:
    from tracekit.parsers.bundle.container import is_archive, is_bundle_folder

    place = Path(path)
    return is_bundle_folder(place) if place.is_dir() else place.is_file() and is_archive(place)


def _is_kernel_recording(path: str) -> bool:
    from tracekit.parsers.kdebug.kernel_file_heads import HEAD_BYTES, is_kernel_recording

    return Path(path).is_file() and is_kernel_recording(_read_head(path, HEAD_BYTES))


def _is_text(path: str) -> bool:
    from tracekit.parsers.text.kinds import identify_text
    from tracekit.parsers.text.text_file import TextPlace

    return (path == STDIN or Path(path).is_file()) and identify_text(TextPlace(path, path)) is not None


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()


def _is_foreign_archive(path: str) -> bool:
    return Path(path).is_file() and _read_archive_mark(path).startswith(tuple(_FOREIGN_ARCHIVES))


def _refuse_other(path: str) -> None:
    """Raise ``InputError`` for a plan or a model, and for a form that is known by its name alone."""
    from tracekit.mlmodels.files import is_model
    from tracekit.mlmodels.plans.plan_kinds import describe_plan
    from tracekit.parsers.foreign_forms import describe_foreign_form

    if words := describe_plan(Path(path)):
        command = format_shell_command(["tracekit", "plan", path])
        raise InputError(path, f"is a plan and no recording: {words}.", f"Show it: {command}")
    if is_model(Path(path)):
        command = format_shell_command(["tracekit", "model", path])
        raise InputError(
            path,
            "is a model and no recording.",
            f"List its operations: {command}; or hold it against a recording: tracekit analyze RECORDING"
            f" {format_shell_command(['--model', path])}",
        )
    if foreign := describe_foreign_form(path):
        raise InputError(path, *foreign)


def _open_other(path: str, options: _Options) -> Source:
    _refuse_other(path)
    return _open_export(path, options)


def _read_archive_mark(path: str) -> bytes:
    return _read_head(path, max(map(len, _FOREIGN_ARCHIVES)))


def _read_head(path: str, size_bytes: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(size_bytes)


_READERS: tuple[tuple[Callable[[str], bool], Callable[[str, _Options], Source]], ...] = (
    (STDIN.__eq__, _open_standard_input),
    (_is_export, _open_export),
    (_is_pack, _open_pack),
    (_is_bundle, _open_bundle),
    (_is_folder, _open_folder),
    (_is_foreign_archive, _refuse_archive),
    (_is_kernel_recording, _open_kernel_recording),
    (_is_text, _open_text),
    (lambda _: True, _open_other),
)
"""Each kind of input, by its content: the recogniser, and the reader. The first that fits reads it."""


def _require_path(path: str) -> None:
    if not os.path.lexists(path):
        raise InputError(path, "does not exist.", "Check the path.")


def _require_auto(path: str, options: _Options) -> None:
    """Raise ``UsageError`` if a reader of bundles was requested for another kind of input."""
    if options.via != "auto":
        raise UsageError(f"{path} is not a .trace bundle: only a bundle can be read via {options.via}.")


def _get_name(path: str) -> str:
    """Return the name of the file or folder, printable whatever bytes it has."""
    return os.fsencode(Path(path).resolve().name).decode("utf-8", "replace")
