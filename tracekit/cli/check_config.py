"""``tracekit.toml``: a file of requirements beside a project's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli

from tracekit.errors import InputError
from tracekit.frozen import frozen
from tracekit.text import join_words

NAME = "tracekit.toml"
TABLES = {"check": ("require", "forbid", "plan"), "check.plan": ("require", "forbid")}
"""The tables with their keys: requirements on recordings, and on plans."""
_MAX_BYTES = 200_000  # the time for parsing TOML grows with the square of a key's parts


@frozen
class Config:
    """The requirements of one table, as written; ``path`` is None where there is no ``tracekit.toml``."""

    path: Path | None = None
    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()


def find_nearest_config(folder: Path) -> Path | None:
    """Return the ``tracekit.toml`` of a folder, or of the nearest one around it."""
    for candidate in (folder, *folder.parents):
        if (candidate / NAME).exists():
            return candidate / NAME
    return None


def read_config(path: Path, table: str = "check") -> Config:
    """Read the requirements of a table. Raises ``InputError`` for any content that is not valid there."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise InputError(str(path), "is larger than 200 kB.", "Requirements take far less.")
        document = tomli.loads(content.decode("utf-8-sig"))
    except IsADirectoryError as error:
        raise InputError(str(path), "is a folder.", f"Name a file such as {NAME}.") from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:  # ValueError: also for an integer of too many digits
        raise InputError(str(path), f"is not valid TOML: {error}.") from error
    _check_keys(path, "", document, ("check",))
    configs = {}
    parent = document
    for name, keys in TABLES.items():
        parent = _read_table(path, name, parent)
        _check_keys(path, f"{name}.", parent, keys)
        configs[name] = Config(
            path, *(_read_texts(path, parent, f"{name}.", key) for key in ("require", "forbid"))
        )
    return configs[table]


def _read_table(path: Path, name: str, parent: dict[str, Any]) -> dict[str, Any]:
    table = parent.get(name.rpartition(".")[2], {})
    if not isinstance(table, dict):
        raise InputError(str(path), f"'{name}' is not a table.", f"Write [{name}] above the requirements.")
    return table


def _check_keys(path: Path, prefix: str, table: dict[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            valid = join_words([f"'{prefix}{name}'" for name in keys])
            raise InputError(str(path), f"has an unknown key '{prefix}{key}'.", f"Valid: {valid}.")


def _read_texts(path: Path, table: dict[str, Any], prefix: str, key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(
            str(path), f"'{prefix}{key}' is not a list of strings.", f"Write {key} = ['p90 <= 8ms']."
        )
    return tuple(value)
