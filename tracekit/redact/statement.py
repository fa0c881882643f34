"""The statement in every redacted file about what was removed and what was not."""

from __future__ import annotations

from tracekit.model.trace import Issue

_REMOVED = (
    "the recording was redacted: other processes, home folders, users, volumes and the device's name were"
    " removed. Engine work of other processes remains only in tables that name no process"
)
NOT_REMOVED = (
    "the title, notes and link of a report, your rules, and the name of the file: they are your own words",
    "the app's own names (process, functions, threads, models), apart from a user's name in them",
    "paths in /System/Library and /usr/lib, times, amounts, hardware and versions of systems",
    "people, hosts, disks and processes that only a message names; nicknames, names that are cut off",
    "user names of up to 3 letters or that are ordinary words (max, mark), outside of paths; those of up to 7"
    " letters inside other words",
    "e-mail and IP addresses, UUIDs, serial numbers, bundle ids and tokens, apart from names in them",
    "names in Base64, hexadecimal digits or UTF-16, and in compressed or encrypted text",
)
"""Each is also an entry of the list in docs/redaction.md."""

ISSUE = Issue("info", "redacted", f"{_REMOVED}. Not removed, or not everywhere: {'; '.join(NOT_REMOVED)}")
