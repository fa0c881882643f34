"""Binaries without symbols as English: a row each, and where their symbols are."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.analysis.missing_symbols import BinaryWithoutSymbols
from tracekit.text import clip, printable

SYMBOLS_HEADER = ("binary", "UUID", "addresses", "samples", "where its symbols are")
_NO_BINARY = "(no binary recorded)"
_LONGEST_NAME = 60
MOST_BINARIES = 20


def symbols_rows(binaries: Sequence[BinaryWithoutSymbols]) -> list[list[str]]:
    """Return the cells of a table of these binaries, in the order of ``SYMBOLS_HEADER``."""
    return [
        [
            binary.name or _NO_BINARY,
            binary.uuid,
            f"{binary.addresses:,}",
            f"{binary.samples:,}",
            _locate_binary(binary),
        ]
        for binary in binaries[:MOST_BINARIES]
    ]


def symbols_notes(binaries: Sequence[BinaryWithoutSymbols]) -> list[str]:
    """Return what to do about these binaries; nothing without one that has a name."""
    identified = [binary for binary in binaries if binary.uuid]
    notes = []
    if len(binaries) > MOST_BINARIES:
        notes.append(f"… and {len(binaries) - MOST_BINARIES:,} more: see the JSON output.")
    if identified:
        notes.append(
            "--symbols PATH names their functions on any system: a dSYM, a binary of the same build, a symbol"
            " map, or a folder of them."
        )
    own = [binary for binary in identified if not binary.is_system]
    if own:
        notes.append(f'On a Mac, this finds a dSYM: mdfind "com_apple_xcode_dsym_uuids == {own[0].uuid}"')
    return notes


def format_binary(name: str, uuid: str) -> str:
    """Return a binary as sentences name it."""
    short_name = clip(printable(name), _LONGEST_NAME)
    return f"{short_name} ({uuid})" if uuid else short_name


def _locate_binary(binary: BinaryWithoutSymbols) -> str:
    if not binary.name:
        return "nowhere: the recording does not say whose code it is"
    if not binary.uuid:
        return "not to be found: the recording has no UUID"
    if binary.is_system:
        return (
            "with the system: ~/Library/Developer/Xcode/iOS DeviceSupport, or the file itself on a Mac with"
            " the same system"
        )
    return (
        "with the build: its dSYM in ~/Library/Developer/Xcode/Archives, in the folder of the build, or from"
        " App Store Connect"
    )
