"""A zip of dSYMs, as App Store Connect and crash reporters hand them out: its files, unpacked."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tracekit.parsers.limits import LimitError
from tracekit.parsers.zip_archive import BoundedZip, is_link
from tracekit.symbols.macho import is_macho
from tracekit.symbols.symbol_file_names import DSYM, MAP_SUFFIX
from tracekit.symbols.work_budget import SymbolFileError

MAX_ENTRIES = 50_000
_MAX_BYTES = 1 << 30
_SLACK_BYTES = 16 << 20
_MAX_UNPACKED_RATIO = 30
"""Debug information shrinks 4:1, symbol maps 10:1."""
_CHUNK_BYTES = 1 << 20
_MAX_NAME_CHARACTERS = 100
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"|?*\\/]')


def unpack_files(path: Path, folder: Path) -> Iterator[Path]:
    """Write the Mach-O files and symbol maps of a zip below ``folder``, and yield their paths.

    Of a member's path only the names of the file and of the dSYM around it are used. Raises
    ``SymbolFileError`` for an archive that is damaged or unpacks to more than files of symbols do.
    """
    bytes_left = min(_MAX_BYTES, _SLACK_BYTES + _MAX_UNPACKED_RATIO * path.stat().st_size)
    try:
        with BoundedZip(str(path), MAX_ENTRIES) as archive:
            for number, entry in enumerate(archive.infolist()):
                if entry.is_dir() or is_link(entry):
                    continue
                target = folder.joinpath(str(number), *_get_target_names(entry.filename))
                with archive.open(entry) as content:
                    data = content.read(4)
                    if not is_macho(data) and not entry.filename.endswith(MAP_SUFFIX):
                        continue
                    target.parent.mkdir(parents=True)
                    with target.open("wb") as file:
                        while data:
                            bytes_left -= len(data)
                            if bytes_left < 0:
                                raise SymbolFileError("unpacks to more than files of symbols do")
                            file.write(data)
                            data = content.read(_CHUNK_BYTES)
                yield target
    except LimitError as error:
        raise SymbolFileError(error.problem) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SymbolFileError("is a damaged zip, or has a password") from error


def _get_target_names(member: str) -> list[str]:
    """Return the name of the dSYM around a member, if there is one, and the member's own."""
    *folders, name = member.split("/")
    bundles = [folder for folder in folders if folder.endswith(DSYM)]
    plain = [_NOT_IN_NAMES.sub("_", part)[-_MAX_NAME_CHARACTERS:] for part in (*bundles[-1:], name)]
    return [part if part.strip(". ") else "symbols" for part in plain]
