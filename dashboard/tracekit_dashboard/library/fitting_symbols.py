"""Files of symbols against the recording that they are given to: one that names nothing in it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.errors import UsageError
from tracekit.text import list_first

_MOST_LISTED = 5


def require_fitting_symbols(path: Path, name: str, inventory: Mapping[str, Any]) -> None:
    """Raise ``UsageError`` for a zip of symbols none of which is of a build that the recording has.

    ``inventory`` is the recording's; one of an earlier version lists no builds, and any symbols fit. ``name``
    is that of the file as it was given.
    """
    from tracekit.symbols.search import find_builds  # imports pandas, which the server does without

    files = find_builds([path])
    uuids = list(files.by_uuid)
    if not uuids:
        reasons = dict.fromkeys(reason for reason in files.unreadable.values() if reason)
        reason = f": it {next(iter(reasons))}" if reasons else ""
        raise UsageError(f"{name} holds no symbols{reason}. Give a dSYM as a zip, a binary or a symbol map.")
    recorded = inventory.get("build_uuids")
    if not recorded or not isinstance(recorded, list) or not files.by_uuid.keys().isdisjoint(recorded):
        return
    wanted = [f"{binary} ({uuid})" for binary, uuid in inventory.get("unnamed_builds", ()) if uuid]
    needs = (
        f"The recording needs the symbols of {list_first(wanted, _MOST_LISTED)}."
        if wanted
        else "No build in the recording lacks symbols."
    )
    raise UsageError(
        f"{name} is of no build in this recording: its UUID is {list_first(uuids, _MOST_LISTED)}. {needs}"
    )
