"""The issues of a bundle: those of reading it, and those that Instruments recorded.

``Trace<N>.run/RunIssues.storedata`` holds the recorder's own problems, such as lost events; no export
contains them. It is a Core Data store in SQLite with a table ``ZISSUE(ZTYPE, ZSUBTYPE, ZCOUNT,
ZRELATIVETIMESTAMP, ZMESSAGE)``. The types are not documented: in the bundles seen, 2 came with a harmless
message that most recordings have, and 1 with a warning. That one message is left out; every other one
becomes a warning.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tracekit.model.issue_codes import REFUSED_RECORDING, IssueCode
from tracekit.model.trace import Issue, Severity
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError, read_file
from tracekit.parsers.bundle.types import shorten_name
from tracekit.text import format_seconds

_QUERY = "SELECT ZMESSAGE, ZCOUNT, ZRELATIVETIMESTAMP FROM ZISSUE ORDER BY ZRELATIVETIMESTAMP LIMIT 201"
_MAX_ISSUES = 200
_HARMLESS = "Data stream: Time Mapping"
_MAX_STEPS = 1000
_STEP_OPERATIONS = 10_000
_MAX_CHARACTERS = 1000
_JOURNAL_MODE = slice(18, 20)
"""Bytes of the SQLite header, the versions for writing and reading: 2 means a write-ahead log, 1 means
none."""


class IssueLog:
    """Collects issues, each once, in order of occurrence; run 0 means all runs."""

    def __init__(self) -> None:
        self._issues: dict[tuple[int, str, str], Issue] = {}
        self._types: dict[int, dict[str, bool]] = {}

    def add(self, run: int, severity: Severity, code: IssueCode, message: str, count: int = 1) -> None:
        """Add an issue; a second one with the same text is the same."""
        self.put(run, Issue(severity, code, message, count))

    def put(self, run: int, issue: Issue) -> None:
        """Add an existing issue."""
        self._issues.setdefault((run, issue.code, issue.message), issue)

    def add_damage(self, run: int, code: IssueCode, error: DamagedFileError, consequence: str) -> None:
        """Add an unreadable file, and the consequence of that."""
        self.add(run, "warning", code, f"{error.file} {error.problem}; {consequence}")

    def add_unconfirmed_type(self, run: int, type_id: str, *, is_known: bool) -> None:
        """Add a type that no export has confirmed; its values are raw numbers unless ``is_known``."""
        self._types.setdefault(run, {})[shorten_name(type_id)] = is_known

    def list_issues(self, run: int | None) -> tuple[Issue, ...]:
        """Return the issues of a run and of the whole bundle; of every run for None."""
        issues = [issue for (of, _, _), issue in self._issues.items() if run is None or of in (0, run)]
        types = {
            name: is_known
            for of, names in self._types.items()
            if run in (None, of)
            for name, is_known in names.items()
        }
        return (*issues, *_make_type_issues(types))


def _make_type_issues(types: dict[str, bool]) -> list[Issue]:
    texts: dict[bool, tuple[IssueCode, str]] = {
        True: (
            "types-unconfirmed",
            "have a layout that no export of xctrace has confirmed yet. On a Mac, check them with: tracekit"
            " verify-native",
        ),
        False: ("types-unknown", "have an unknown layout and are shown as the raw numbers that are stored"),
    }
    issues = []
    for expected, (code, text) in texts.items():
        names = sorted(name for name, is_known in types.items() if is_known is expected)
        if names:
            issues.append(Issue("warning", code, f"values of type {', '.join(names)} {text}", len(names)))
    return issues


def read_run_issues(files: BundleFiles, run: int) -> list[Issue]:
    """Return the recorder's own warnings. Raises ``DamagedFileError``."""
    name = f"Trace{run}.run/RunIssues.storedata"
    if files.size(name) < 0:
        return []
    data = bytearray(read_file(files, name))
    # SQLite cannot open a store in memory whose header names a write-ahead log. Its pages are complete all
    # the same, up to the log's last checkpoint.
    data[_JOURNAL_MODE] = b"\x01\x01"
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            # A hostile store could hold a view that never ends: the handler stops it after a limited
            # number of operations.
            steps = iter(range(_MAX_STEPS))
            database.set_progress_handler(lambda: int(next(steps, None) is None), _STEP_OPERATIONS)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(len(data), 1 << 20))
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            database.deserialize(bytes(data))
            database.execute("PRAGMA trusted_schema = OFF")
            rows = database.execute(_QUERY).fetchall()
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        raise DamagedFileError(name, f"is not a readable list of recording problems ({error})") from error
    issues = [_make_recorder_issue(*row) for row in rows[:_MAX_ISSUES] if row[0] != _HARMLESS]
    if len(rows) > _MAX_ISSUES:
        text = f"Instruments reported more than {_MAX_ISSUES} problems while recording; the first are listed"
        issues.append(Issue("warning", "recording-issues-cut", text))
    if files.size(f"{name}-wal") > 0:
        text = "Instruments did not close its list of recording problems: later problems may be missing here"
        issues.append(Issue("info", "recording-issues-open", text))
    return issues


def _make_recorder_issue(message: object, count: object, time_ns: object) -> Issue:
    text = str(message)[:_MAX_CHARACTERS] if message is not None else "(no message)"
    time = f" (at {format_seconds(time_ns)})" if isinstance(time_ns, int) and time_ns > 0 else ""
    number = count if isinstance(count, int) and 0 < count < 2**62 else 1
    times = f" ({number} times)" if number > 1 else ""
    text = f"Instruments reported while recording: {text}{times}{time}"
    if REFUSED_RECORDING in text:
        return Issue("error", "recording-refused", text, number)
    return Issue("warning", "recording-issue", text, number)
