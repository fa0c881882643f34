"""Issues about the files of symbols: what they named, which are of another build, unused or unreadable."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.model.trace import Issue
from tracekit.parsers.limits import RAISE_OPTION
from tracekit.symbols.naming import NamedBinary, Namer
from tracekit.symbols.search import AnyBuild, SymbolFiles, binary_name, shown_path
from tracekit.text import list_first, plural, printable

_MAX_LISTED = 5


def issues_of(namer: Namer, files: SymbolFiles) -> tuple[Issue, ...]:
    """Return what a user must know about the given files, after the tables were read."""
    return tuple(_issues(namer, files))


def _issues(namer: Namer, files: SymbolFiles) -> Iterator[Issue]:
    named = [binary for binary in namer.binaries.values() if binary.named]
    if named:
        yield _named(named)
    for name, count in list(namer.without_lines.items())[:_MAX_LISTED]:
        yield Issue(
            "info",
            "symbols-without-lines",
            f"the debug information of {printable(name)} was not read to its end, because it takes more steps"
            f" than are made for symbols: {_addresses(count)} got no source line and no inlined functions. If"
            f" you trust the file, add {RAISE_OPTION} 4",
            count,
        )
    of_other_builds = _of_other_builds(namer, files)
    others = {id(build) for build, _ in of_other_builds}
    for build, binary in of_other_builds[:_MAX_LISTED]:
        yield Issue(
            "warning",
            "symbols-of-other-build",
            f"{printable(shown_path(build.path))} is of another build of {printable(binary.name)} and was not"
            f" used: its UUID is {build.uuid}, the recording's is {binary.uuid or 'not known'}",
        )
    for name, reason in list(files.unreadable.items())[:_MAX_LISTED]:
        yield Issue("warning", "symbols-unreadable", f"{printable(name)} {printable(reason)}")
    used = {name for binary in named for name in binary.files}
    unused = {
        shown_path(build.path): None
        for build in files.builds
        if id(build) not in others and shown_path(build.path) not in used
    }
    if unused:
        names = list_first([printable(name) for name in unused], _MAX_LISTED)
        verb = "names" if len(unused) == 1 else "name"
        yield Issue(
            "info",
            "symbols-unused",
            f"{plural(len(unused), 'file')} of symbols {verb} no address of this recording: {names}",
            len(unused),
        )


def _addresses(count: int) -> str:
    return f"{count:,} {'address' if count == 1 else 'addresses'}"


def _named(binaries: list[NamedBinary]) -> Issue:
    """Return the issue that says which names were not recorded but added, and from where."""
    count = sum(len(binary.named) for binary in binaries)
    lines = sum(len(binary.with_line) for binary in binaries)
    files = dict.fromkeys(name for binary in binaries for name in binary.files)
    names = list_first([printable(binary.name) for binary in binaries], _MAX_LISTED)
    sources = list_first([printable(name) for name in files], _MAX_LISTED)
    text = f"{_addresses(count)} of {names} got a name from {sources}, matched by UUID"
    if lines:
        text += f"; {lines:,} of them with the line in the source"
    return Issue("info", "symbols-added", text, count)


def _of_other_builds(namer: Namer, files: SymbolFiles) -> list[tuple[AnyBuild, NamedBinary]]:
    """Return files that have the name of a binary without symbols, and another UUID."""
    lacking: dict[str, NamedBinary] = {}
    for binary in namer.binaries.values():
        if not binary.named:
            lacking.setdefault(binary.name, binary)
    recorded = {binary.uuid for binary in namer.binaries.values()}
    matches = [(build, lacking.get(binary_name(build))) for build in files.builds]
    return [(build, binary) for build, binary in matches if binary is not None and build.uuid not in recorded]
