"""Issues about the files of symbols: names added, and files of another build, unused or unreadable."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.model.trace import Issue
from tracekit.parsers.limits import RAISE_OPTION
from tracekit.symbols.naming import NamedBinary, Namer
from tracekit.symbols.search import AnyBuild, SymbolFiles, get_binary_name, get_display_name
from tracekit.text import list_first, plural, printable

_MAX_LISTED = 5


def list_issues(namer: Namer, files: SymbolFiles) -> tuple[Issue, ...]:
    """Return the issues about the given files, after the tables were read."""
    return tuple(_iter_issues(namer, files))


def _iter_issues(namer: Namer, files: SymbolFiles) -> Iterator[Issue]:
    binaries_with_names = [binary for binary in namer.binaries.values() if binary.addresses_with_name]
    if binaries_with_names:
        yield _report_added_names(binaries_with_names)
    for name, count in list(namer.without_lines.items())[:_MAX_LISTED]:
        yield Issue(
            "info",
            "symbols-without-lines",
            f"the debug information of {printable(name)} was not read to its end, because it takes more steps"
            f" than are made for symbols: {_format_addresses(count)} got no source line and no inlined"
            f" functions. If you trust the file, add {RAISE_OPTION} 4",
            count,
        )
    of_other_builds = _find_other_builds(namer, files)
    other_build_ids = {id(build) for build, _ in of_other_builds}
    for build, binary in of_other_builds[:_MAX_LISTED]:
        yield Issue(
            "warning",
            "symbols-of-other-build",
            f"{printable(get_display_name(build.path))} is of another build of {printable(binary.name)}"
            f" and was not used: its UUID is {build.uuid}, the recording's is {binary.uuid or 'not known'}",
        )
    for name, reason in list(files.unreadable.items())[:_MAX_LISTED]:
        yield Issue("warning", "symbols-unreadable", f"{printable(name)} {printable(reason)}")
    used = {name for binary in binaries_with_names for name in binary.files}
    unused = {
        get_display_name(build.path): None
        for build in files.builds
        if id(build) not in other_build_ids and get_display_name(build.path) not in used
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


def _format_addresses(count: int) -> str:
    return f"{count:,} {'address' if count == 1 else 'addresses'}"


def _report_added_names(binaries: list[NamedBinary]) -> Issue:
    """Return the issue that says which names were not recorded but added, and from where."""
    count = sum(len(binary.addresses_with_name) for binary in binaries)
    lines = sum(len(binary.addresses_with_line) for binary in binaries)
    files = dict.fromkeys(name for binary in binaries for name in binary.files)
    names = list_first([printable(binary.name) for binary in binaries], _MAX_LISTED)
    sources = list_first([printable(name) for name in files], _MAX_LISTED)
    text = f"{_format_addresses(count)} of {names} got a name from {sources}, matched by UUID"
    if lines:
        text += f"; {lines:,} of them with the line in the source"
    return Issue("info", "symbols-added", text, count)


def _find_other_builds(namer: Namer, files: SymbolFiles) -> list[tuple[AnyBuild, NamedBinary]]:
    """Return files that have the name of a binary without symbols, and another UUID."""
    unnamed: dict[str, NamedBinary] = {}
    for binary in namer.binaries.values():
        if not binary.addresses_with_name:
            unnamed.setdefault(binary.name, binary)
    recorded = {binary.uuid for binary in namer.binaries.values()}
    matches = [(build, unnamed.get(get_binary_name(build))) for build in files.builds]
    return [(build, binary) for build, binary in matches if binary is not None and build.uuid not in recorded]
