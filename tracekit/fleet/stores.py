"""Object stores by their addresses (``s3://bucket/folder``), through fsspec: listings and copies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from tracekit.errors import InputError, UsageError
from tracekit.installation import format_install_command
from tracekit.text import format_size, printable

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK_BYTES = 4 << 20
MAX_BYTES = 8 << 30
"""The size of a recording in a store that is copied; ``--raise-limits`` multiplies it."""


def is_address(text: str) -> bool:
    """Return True for an address with a scheme; anything else is a path."""
    return _ADDRESS.match(text) is not None


def list_objects(address: str, max_objects: int) -> list[str]:
    """Return the addresses of an object, or of those below a folder or matching a pattern, in order.

    Raises ``UsageError`` where the store cannot be reached, or has nothing there.
    """
    try:
        files, path = _open_store(address)
        if any(sign in path for sign in "*?["):
            paths = [found for match in files.glob(path) for found in _find_below(files, match)]
        else:
            paths = _find_below(files, path)
    except UsageError:
        raise
    except Exception as error:  # each store raises errors of its own library
        raise UsageError(f"{printable(address)} cannot be listed: {_explain_reason(error)}.") from error
    if not paths:
        raise UsageError(f"{printable(address)} does not exist. Check the address.")
    if len(paths) > max_objects:
        raise UsageError(f"{printable(address)} has more than {max_objects:,} objects. Name a folder in it.")
    scheme = address.partition("://")[0]
    return sorted({f"{scheme}://{name.lstrip('/') if scheme not in _LOCAL else name}" for name in paths})


_LOCAL = ("file", "local")
"""Schemes whose paths begin with a slash that belongs to them."""


def object_exists(address: str) -> bool:
    """Return whether there is such an object; False where the store does not answer."""
    try:
        files, path = _open_store(address)
        return bool(files.isfile(path))
    except Exception:  # noqa: BLE001 - see ``list_objects``
        return False


def read_version(address: str) -> str:
    """Return a text that changes with an object's content, as its store has it; "" where it has none."""
    try:
        files, path = _open_store(address)
        info = files.info(path)
    except Exception:  # noqa: BLE001 - see ``list_objects``
        return ""
    marks = [
        str(info[name])
        for name in ("ETag", "etag", "md5Hash", "LastModified", "mtime", "created")
        if name in info
    ]
    return "|".join([str(info.get("size", "")), *marks]) if marks else ""


def read(address: str, most_bytes: int) -> bytes:
    """Return the content of a small object. Raises ``InputError`` where it is larger or cannot be read."""
    try:
        files, path = _open_store(address)
        with files.open(path, "rb") as file:
            data: bytes = file.read(most_bytes + 1)
    except Exception as error:  # see ``list_objects``
        raise InputError(printable(address), f"cannot be read: {_explain_reason(error)}.") from error
    if len(data) > most_bytes:
        raise InputError(printable(address), f"has more than {format_size(most_bytes)}.")
    return data


def copy_to(folder: Path, address: str, members: Sequence[str], most_bytes: int) -> Path:
    """Copy an object, or those of a folder, and return the copy, which has the address's last name.

    Raises ``InputError`` for a name that leads out of the folder, for more than ``most_bytes``, and where an
    object cannot be read.
    """
    target = folder / PurePosixPath(address).name
    remaining = most_bytes
    for member in members or [address]:
        relative_path = member.removeprefix(address).strip("/")
        path = target / relative_path if relative_path else target
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(printable(member), "has a name that leads out of its folder.")
        path.parent.mkdir(parents=True, exist_ok=True)
        remaining -= _copy(member, path, remaining)
        if remaining < 0:
            raise InputError(
                printable(address),
                f"has more than {format_size(most_bytes)}.",
                "Copy it and name the copy, or raise the limit with --raise-limits.",
            )
    return target


def _copy(address: str, path: Path, most_bytes: int) -> int:
    """Copy an object and return its size; stops behind ``most_bytes``."""
    count = 0
    try:
        files, place = _open_store(address)
        with files.open(place, "rb") as source, path.open("wb") as target:
            while count <= most_bytes and (block := source.read(_BLOCK_BYTES)):
                count += target.write(block)
    except Exception as error:  # see ``list_objects``
        raise InputError(printable(address), f"cannot be read: {_explain_reason(error)}.") from error
    return count


def _find_below(files: Any, path: str) -> list[str]:
    found: list[str] = list(files.find(path)) if files.isdir(path) else [path] if files.exists(path) else []
    return found


def _open_store(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise UsageError(
            f"{printable(address)} is an address: reading it needs fsspec."
            f" Install it with: {format_install_command('fleet')}"
        ) from error
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{printable(address)} cannot be opened: {_explain_reason(error)}.") from error
    return files, str(path)


def _explain_reason(error: Exception) -> str:
    text = printable(str(error)).strip() or type(error).__name__
    return text.rstrip(".")
