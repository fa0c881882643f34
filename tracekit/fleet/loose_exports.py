"""Exports of several recordings that lie in one folder: their names tell which belong together.

demo-toc.xml  demo-time-profile.xml    a recording: the exports begin like its table of contents
old_toc.xml   old_cpu-profile.xml      another one
toc.xml       time-profile.xml         a third one: the exports that begin like none of the others
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

from tracekit.detect import open_source
from tracekit.errors import TracekitError
from tracekit.frozen import frozen

_TOC = re.compile(r"((?:.+[-_. ])?)toc\.xml(?:\.gz)?", re.IGNORECASE)
_MAX_LISTED_NAMES = 5


@frozen
class Exports:
    """The exports of one recording. ``toc`` is its table of contents, "" where it is the whole folder.

    With a ``problem``, they are those whose recording is not known.
    """

    members: tuple[str, ...]
    toc: str = ""
    problem: str = ""


def group_by_recording(paths: Sequence[str]) -> list[Exports]:
    """Return the exports of a folder, by recording.

    They are of one recording unless tables of contents disagree, which is what the reader of exports refuses.
    """
    tocs = {match[1]: path for path in paths if (match := _TOC.fullmatch(Path(path).name))}
    recordings = (
        {beginning: _read_recording_facts(path) for beginning, path in tocs.items()} if len(tocs) > 1 else {}
    )
    if len(set(recordings.values())) < 2:
        return [Exports(tuple(paths))]
    members: defaultdict[Hashable, list[str]] = defaultdict(list)
    for path in paths:
        beginnings = [beginning for beginning in tocs if Path(path).name.startswith(beginning)]
        members[recordings[max(beginnings, key=len)] if beginnings else None].append(path)
    remaining = members.pop(None, [])
    exports = []
    for recording in dict.fromkeys(recordings.values()):
        if set(members[recording]) <= set(tocs.values()):
            remaining += members[recording]
        else:
            toc_path = next(path for path in members[recording] if path in tocs.values())
            exports.append(Exports(tuple(members[recording]), toc_path))
    return [*exports, *([Exports(tuple(remaining), "", _describe_problem(remaining))] if remaining else [])]


def _read_recording_facts(toc: str) -> Hashable:
    """Return what a table of contents states of its recording; the path itself where it cannot be read."""
    try:
        return tuple(replace(run.info, name="") for run in open_source(toc).toc())
    except TracekitError:
        return toc


def _describe_problem(paths: Sequence[str]) -> str:
    names = [Path(path).name for path in sorted(paths)]
    name_list = ", ".join(names[:_MAX_LISTED_NAMES])
    more = f" and {len(names) - _MAX_LISTED_NAMES:,} more" if len(names) > _MAX_LISTED_NAMES else ""
    return (
        "holds exports of different recordings, and by their names these belong to none that can be"
        f" analyzed: {name_list}{more}."
    )
