"""Files of symbols that a visitor adds to a recording: kept as one zip, whatever was sent."""

from __future__ import annotations

import io
import zipfile

from tracekit.symbols.file_names import MACHO_HEADS, MAP_SUFFIX, ZIP_HEAD

MOST_BYTES = 11 << 20
"""Of a file: a request has 16 MB, in which it stands as base64."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)


def as_zip(name: str, content: bytes) -> bytes:
    """Return a zip as it is, and any other file as the only member of one: it keeps the file's name.

    The same file gives the same bytes.
    """
    if content.startswith(ZIP_HEAD):
        return content
    is_map = not content.startswith(MACHO_HEADS)
    member = name if not is_map or name.endswith(MAP_SUFFIX) else f"{name}{MAP_SUFFIX}"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(member or "symbols", _FIRST_DATE), content)
    return packed.getvalue()
