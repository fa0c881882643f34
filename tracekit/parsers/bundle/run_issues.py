"""``Trace<N>.run/RunIssues.storedata``: what went wrong while recording, which no export tells.

A Core Data store in SQLite with a table ``ZISSUE(ZTYPE, ZSUBTYPE, ZCOUNT, ZRELATIVETIMESTAMP, ZMESSAGE)``.
The types are not documented: 2 has been seen with a message of no consequence, which stands in most
recordings and is left out, 1 with a warning. Everything but that one message is given as a warning.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tracekit.model.trace import Issue
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import read_file
from tracekit.text import format_seconds

_QUERY = "SELECT ZMESSAGE, ZCOUNT, ZRELATIVETIMESTAMP FROM ZISSUE ORDER BY ZRELATIVETIMESTAMP LIMIT 201"
_MOST_ISSUES = 200
_HARMLESS = "Data stream: Time Mapping"
_MOST_STEPS = 1000
_STEP_OPERATIONS = 10_000
_MOST_TEXT = 1000
_JOURNAL_MODE_AT = slice(18, 20)


def read_run_issues(files: BundleFiles, run: int) -> list[Issue]:
    """Return the recorder's own warnings. Raises ``DamagedFileError``."""
    name = f"Trace{run}.run/RunIssues.storedata"
    if files.size(name) < 0:
        return []
    data = bytearray(read_file(files, name))
    # A store that was last written through a journal says so here, and then cannot be held in memory.
    data[_JOURNAL_MODE_AT] = b"\x01\x01"
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            steps = iter(range(_MOST_STEPS))
            database.set_progress_handler(lambda: int(next(steps, None) is None), _STEP_OPERATIONS)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(data), 1 << 20))
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            database.deserialize(bytes(data))
            database.execute("PRAGMA trusted_schema = OFF")
            rows = database.execute(_QUERY).fetchall()
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        raise DamagedFileError(name, f"is no readable list of recording problems ({error})") from error
    issues = [_issue(*row) for row in rows[:_MOST_ISSUES] if row[0] != _HARMLESS]
    if len(rows) > _MOST_ISSUES:
        text = f"Instruments reported more problems while recording than the {_MOST_ISSUES} that are listed"
        issues.append(Issue("warning", "recording-issues-cut", text))
    if files.size(f"{name}-wal") > 0:
        text = "the list of recording problems was not closed: later problems may be missing from it"
        issues.append(Issue("info", "recording-issues-open", text))
    return issues


def _issue(message: object, count: object, time_ns: object) -> Issue:
    text = str(message)[:_MOST_TEXT] if message is not None else "(no message)"
    at = f" (at {format_seconds(time_ns)})" if isinstance(time_ns, int) and time_ns > 0 else ""
    number = count if isinstance(count, int) and 0 < count < 2**62 else 1
    times = f" ({number} times)" if number > 1 else ""
    text = f"Instruments reported while recording: {text}{times}{at}"
    return Issue("warning", "recording-issue", text, number)
