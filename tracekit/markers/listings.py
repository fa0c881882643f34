"""Listings of symbols → functions by library: of lldb, of ``nm``, plain ones, differences, and Mach-O files.

    Symtab, file = /System/…/Espresso, num_symbols = 3:             image dump symtab Espresso
    [    0]      1   X Code  0x… 0x… 0x… 0x000f0000 Espresso::net::__forward(int)
    0000000100003f24 T -[_ANEClient evaluateWithModel:]             nm
    + -[_ANEClient compiledModelExistsInCacheFor:]                  a difference: + or -, and a blank

Only functions are kept: data, imported names and names of classes cannot stand on a stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.analysis.classification.frame_names import normalize_binary
from tracekit.errors import InputError
from tracekit.parsers.bundle.demangle import Demangler
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.text.text_file import STDIN, TextFile, TextPlace, detect_encoding
from tracekit.symbols.budget import Budget, SymbolFileError
from tracekit.symbols.macho import is_macho, read_builds
from tracekit.symbols.symbol_table import read_function_table

_SYMTAB = re.compile(r"^Symtab, file = (.*?), num_symbols = \d+")
_SYMTAB_ROW = re.compile(r"^\[ *\d+\]\s+\d+ (?:[D ][S ][X ]|\S{0,3}) *([A-Z]\w+)\s")
_SYMTAB_NAME = re.compile(r"\s0x[0-9a-fA-F]{8} +(\S.*)$")
_FUNCTION_TYPES = ("Code", "Resolver")
_NM = re.compile(r"^(?:[0-9a-fA-F]{8,16}|\s{8,17}) (?:([A-Za-z?-])|\(([^()]*)\)) (\S.*)$")
_NM_WORDS = re.compile(r"^(?:\[[^\]]*\] )?(?:weak |private )?(?:non-)?external (?:\([^()]*\) )?")
_NM_FILE = re.compile(r"^(\S.*?)(?: \(for architecture \w+\))?:$")
_CHANGE = re.compile(r"^([+-])\s+(\S.*)$")
_HEADING = re.compile(r"^([A-Za-z][A-Za-z ]{2,40}):\s*$")
_QUOTED = re.compile(r'^"|^```|^#|^>')
_MACHO_NAMES = re.compile(r"^_\w+$")
_NAMES = re.compile(r"^\w+$")
_MANGLED = ("_Z", "__Z", "___Z", "_$s", "$s", "_$S", "$S", "_R", "__R", "_T0", "__T0")
_NO_FUNCTION = re.compile(
    r"^_*(?:OBJC_|l?_?OBJC_|GCC_except_table|l_\.|\.L|ltmp)|^(?:vtable|typeinfo|guard variable) "
)
_PROSE = re.compile(
    r"(?!.*\b(?:metadata|witness|outlined|accessor|thunk|descriptor|closure|getter|setter)\b)"
    r"[A-Z\"'(]?[a-z]*(?:[ ,;:'’-]+[A-Za-z]+){2,}[.,;:!?)]*$"
)
"""Words as in a sentence: of a list of names, few lines are so. Swift's own functions have names of words."""
_SECTION = "__TEXT,__text"
_MOST_NAME = 4096


@dataclass
class Listing:
    """The functions of one file by library; "" is a library that the file does not name.

    Of a difference, ``added`` and ``removed`` are filled and ``functions`` is empty.
    """

    name: str
    functions: dict[str, set[str]] = field(default_factory=dict)
    added: dict[str, set[str]] = field(default_factory=dict)
    removed: dict[str, set[str]] = field(default_factory=dict)
    left_out: int = 0
    """Symbols that are no functions."""

    @property
    def is_difference(self) -> bool:
        """True for a list of changes between two systems."""
        return bool(self.added or self.removed)


def read_listing(path: str, library: str = "", limits: Limits = DEFAULT_LIMITS) -> Listing:
    """Read a listing or a Mach-O file; ``library`` names the library where the listing does not.

    Raises ``InputError`` for a file without a function.
    """
    place = TextPlace(path, "standard input" if path == STDIN else path)
    if path != STDIN and not Path(path).is_file():
        raise InputError(path, "does not exist, or is a folder.", "Name a listing of symbols, or a binary.")
    head = place.read_head()
    if path != STDIN and is_macho(head):
        listing = _of_macho(Path(path), library)
    else:
        text = TextFile(place, detect_encoding(head), limits)
        listing = _Reader(place.name, library).read(text.iter_lines())
    if not (listing.functions or listing.is_difference):
        raise InputError(
            place.name,
            "lists no function.",
            "Save what lldb's 'image dump symtab LIBRARY' or 'nm' prints.",
        )
    return listing


def _of_macho(path: Path, library: str) -> Listing:
    demangler, budget = Demangler(), Budget()
    names: set[str] = set()
    try:
        for build in read_builds(path, budget):
            table = read_function_table(build, budget)
            names |= {demangler.demangle(table.name_of(row))[:_MOST_NAME] for row in range(len(table))}
    except SymbolFileError as error:
        raise InputError(str(path), f"{error}.") from error
    names.discard("")
    return Listing(str(path), {normalize_binary(library or path.name): names} if names else {})


class _Reader:
    """Reads the lines of one listing."""

    def __init__(self, name: str, library: str) -> None:
        self._listing = Listing(name)
        self._library = self._given = normalize_binary(library)
        self._demangler = Demangler()
        self._plain: list[str] = []
        self._changes: list[tuple[str, str]] = []
        self._section = ""

    def read(self, lines: Iterable[str]) -> Listing:
        """Return the functions of all lines."""
        for line in lines:
            self._add(line.rstrip())
        if self._listing.functions or self._listing.left_out:
            return self._listing  # a table: its other lines are headings
        is_symbols = any(section == "symbols" for section, _ in self._changes)
        changes = [change for section, change in self._changes if not is_symbols or section == "symbols"]
        # A difference marks every line; a listing has methods of classes, which begin with + or -, too.
        if changes and len(changes) >= len(self._plain):
            self._add_changes(changes)
        else:
            names = [*self._plain, *changes]
            if 2 * sum(_PROSE.match(name) is not None for name in names) > len(names):
                return self._listing
            self._keep(self._listing.functions, self._functions(names))
            self._listing.left_out += len(names) - len(set(self._functions(names)))
        return self._listing

    def _add(self, line: str) -> None:
        if match := _SYMTAB.match(line):
            self._library = self._given or normalize_binary(match[1])
        elif match := _SYMTAB_ROW.match(line):
            name = _SYMTAB_NAME.search(line)
            if name and match[1] in _FUNCTION_TYPES and not _NO_FUNCTION.match(name[1]):
                self._keep(self._listing.functions, [self._readable(name[1], is_macho=False)])
            else:
                self._listing.left_out += 1
        elif match := _NM.match(line):
            is_function = match[1] in ("T", "t") if match[1] else match[2] == _SECTION
            name_text = _NM_WORDS.sub("", match[3])
            if is_function and not _NO_FUNCTION.match(name_text):
                self._keep(self._listing.functions, [self._readable(name_text, is_macho=True)])
            else:
                self._listing.left_out += 1
        elif match := _HEADING.match(line):
            self._section = match[1].lower()
        elif match := _NM_FILE.match(line):
            self._library = self._given or normalize_binary(match[1])
        elif match := _CHANGE.match(line):
            self._changes.append((self._section, line))
        elif line.strip() and not _QUOTED.match(line) and not line.startswith("(lldb)"):
            self._plain.append(line.strip())

    def _add_changes(self, changes: list[str]) -> None:
        for sign, kept in (("+", self._listing.added), ("-", self._listing.removed)):
            names = [match[2] for line in changes if (match := _CHANGE.match(line)) and match[1] == sign]
            functions = list(self._functions(names))
            self._listing.left_out += len(names) - len(functions)
            self._keep(kept, functions)

    def _functions(self, names: list[str]) -> Iterator[str]:
        """Yield the functions; names of C have the underscore of Mach-O where most names have one."""
        words = [name for name in names if _NAMES.match(name)]
        is_macho_name = 2 * sum(_MACHO_NAMES.match(name) is not None for name in words) > len(words)
        for name in names:
            if not name.startswith('"') and not _NO_FUNCTION.match(name):
                yield self._readable(name, is_macho=is_macho_name)

    def _readable(self, name: str, *, is_macho: bool) -> str:
        if is_macho or name.startswith(_MANGLED):
            return self._demangler.demangle(name)[:_MOST_NAME]
        return name[:_MOST_NAME]

    def _keep(self, kept: dict[str, set[str]], names: Iterable[str]) -> None:
        new = {name for name in names if name}
        if new:
            kept.setdefault(self._library, set()).update(new)
