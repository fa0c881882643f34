"""What redaction removed and what it did not, as the redacted files state it: the one place of these words."""

from __future__ import annotations

from tracekit.model.trace import Issue

CODE = "redacted"
_REMOVED = (
    "the recording was redacted: other processes, home folders, users, volumes and the device's name were"
    " removed. Engine work of other processes remains only in tables that name no process"
)
NOT_REMOVED = (
    "the report's title, notes, link and rules, and the name of the file: they are your own",
    "the app's own names (process, functions, threads, models), apart from a user's name in them",
    "people, hosts, disks and processes that only a message names, nicknames, and names that are cut off",
    "user names of 1 or 2 letters and those that are ordinary words (max, mark), outside of paths;"
    " user names of up to 7 letters inside other words",
    "e-mail addresses, IP addresses, UUIDs, serial numbers, bundle ids and tokens, apart from names in them",
    "Base64, hexadecimal digits, UTF-16, compressed and encrypted text",
    "times, amounts, hardware and versions of systems",
)
"""Each is also an entry of the list in docs/guide.md."""

ISSUE = Issue("info", CODE, f"{_REMOVED}. Not removed: {'; '.join(NOT_REMOVED)}")
