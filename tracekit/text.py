"""Numbers, quantities and lines as text: the one place that decides how a value is written.

Nothing from a trace reaches a terminal unescaped, no spreadsheet takes it for a formula, no CI for a command:
``printable``, ``escape_lines`` (messages), ``escape_json``, ``escape_spreadsheet_cell``,
``without_commands``.
"""

from __future__ import annotations

import re
import shlex
import textwrap
import unicodedata
from collections.abc import Sequence

UNAVAILABLE = "–"
"""A value that does not exist or was not recorded, where a table would be blank otherwise."""

PARAGRAPH_WIDTH = 100
_HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_NOT_JSON_SYNTAX = re.compile("[^\n -~]+")
_FORMULA_SIGNS = "=+-@\N{MINUS SIGN}"
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")
_TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_CELL_BEGIN = re.compile(r"(?:^|(?<=;))(\s*)(\S)")
"""The first visible character of a cell. Where commas are decimal, a spreadsheet also divides at ``;``."""
_LINE_COMMAND = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)
"""GitHub Actions takes a line for a command that begins with ``::`` after any whitespace."""
_COMMAND_SIGN = re.compile(r"##(?=\w*\[)")
"""GitHub's older ``##[…]``, ``##vso[…]`` of Azure Pipelines and ``##teamcity[…]`` count anywhere in a line:
actions/runner, ActionCommand.cs; microsoft/azure-pipelines-agent, Command.cs."""


def printable(text: str) -> str:
    """Return ``text`` with control, bidirectional and line-breaking characters escaped (``\\x1b``).

    Noncharacters (``\\uffff``) are escaped too: no XML document may hold them.
    """
    if text.isprintable():
        return text
    return "".join(_escape(character) if _is_hidden(character) else character for character in text)


def escape_lines(text: str) -> str:
    """Return ``text`` with each of its lines printable."""
    return "\n".join(map(printable, text.split("\n")))


def without_commands(text: str) -> str:
    """Return finished lines of text with a ``\\`` in what a CI would take for a command: ``\\::error::x``.

    For whole lines, after the layout: wrapping can bring any part of a name to the beginning of a line.
    In Markdown the ``\\`` is an escape, which is not shown.
    """
    return _COMMAND_SIGN.sub(r"#\\#", _LINE_COMMAND.sub(r"\1\\", text))


def escape_json(document: str) -> str:
    """Return a JSON document of the same value whose strings show on a terminal as they are (``\\u202e``)."""
    # "#" occurs only inside strings. A line of JSON begins with no "::".
    if "##" in document:
        document = _COMMAND_SIGN.sub(r"#\\u0023", document)
    if document.isascii() and "\x7f" not in document:
        return document
    return _NOT_JSON_SYNTAX.sub(lambda match: _escape_json_text(match[0]), document)


def _escape_json_text(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(_escape_utf16(character) if _is_hidden(character) else character for character in text)


def _escape_utf16(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def escape_spreadsheet_cell(text: str) -> str:
    """Return ``text`` for a cell of a CSV: printable, ``'`` before what begins like a formula or a command.

    Full-width and other forms of the signs count, as spreadsheets of East Asian locales take them; a plain
    number stays a number.
    """
    if _NUMBER.fullmatch(text):
        return text
    return _COMMAND_SIGN.sub("#'#", _CELL_BEGIN.sub(_without_formula, printable(text)))


def _without_formula(match: re.Match[str]) -> str:
    sign = unicodedata.normalize("NFKC", match[2])[0]
    is_command = match.string.startswith("::", match.start(2))
    return f"'{match[0]}" if sign in _FORMULA_SIGNS or is_command else match[0]


def format_shell_command(words: Sequence[str]) -> str:
    """Return a command to paste into bash or zsh; a word with hidden characters is written ``$'\\x1b'``."""
    return " ".join(shlex.quote(word) if word.isprintable() else _escape_ansi_c(word) for word in words)


def _escape_ansi_c(word: str) -> str:
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in _encode_name(word)
    )
    return f"$'{escaped}'"


def _encode_name(word: str) -> bytes:
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which no file name holds
        return word.encode("utf-8", "surrogatepass")


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or _is_noncharacter(character)


def _is_noncharacter(character: str) -> bool:
    """Return True for U+FDD0…U+FDEF and the last two code points of each plane: never characters."""
    point = ord(character)
    return point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def clip(text: str, width: int) -> str:
    """Return ``text`` cut to ``width`` characters, an ellipsis showing the cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def list_first(names: Sequence[str], limit: int) -> str:
    """Return ``a, b and 3 more``."""
    names_listed = ", ".join(names[:limit])
    return f"{names_listed} and {len(names) - limit:,} more" if len(names) > limit else names_listed


def join_words(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def align(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], indent: str = ""
) -> str:
    """Return lines of two-space separated columns; ``right`` is True for right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        lines.append(f"{indent}{'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def wrap(text: str, indent: str, width: int = PARAGRAPH_WIDTH) -> str:
    """Return ``text`` wrapped to a width that terminals and tickets show well, with a hanging indent."""
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def plural(count: int, noun: str) -> str:
    """Return ``1 sample``, ``2 samples``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_ms(time_ns: float | None, digits: int = 3, missing: str = "") -> str:
    """Return ``1,234.500 ms``; ``missing`` for None."""
    return missing if time_ns is None else f"{time_ns / 1e6:,.{digits}f} ms"


def format_seconds(time_ns: float) -> str:
    """Return ``1.250 s``: a moment of a recording."""
    return f"{time_ns / 1e9:.3f} s"


def format_ms_or_us(time_ns: float, digits: int = 1) -> str:
    """Return ``2.0 ms``, or ``12.5 µs`` for less than a tenth of a millisecond."""
    if time_ns and abs(time_ns) < 100_000:
        return f"{time_ns / 1e3:,.1f} µs"
    return format_ms(time_ns, digits)


def format_rounded(time_ns: float | None) -> str:
    """Return ``250 ms`` or ``1.25 s``: three significant digits, as the page's script writes durations.

    "" for None, and from a minute on ``2 min 5.00 s``.
    """
    if time_ns is None:
        return ""
    if abs(time_ns) >= 59.995e9:
        minutes, remainder_ns = divmod(round(time_ns / 1e7) * 1e7, 60e9)
        return f"{minutes:.0f} min {_format_three_digits(remainder_ns / 1e9)} s"
    size, unit = next((entry for entry in _TIME_UNITS if abs(time_ns) >= entry[0] * 0.9995), _TIME_UNITS[-1])
    return f"{_format_three_digits(time_ns / size)} {unit}" if time_ns else "0"


def _format_three_digits(value: float) -> str:
    size = abs(value)
    return f"{value:.{0 if size >= 99.95 else 1 if size >= 9.995 else 2}f}"


def format_duration(length_ns: int) -> str:
    """Return a length of time with three digits in its own unit: ``12.5 ms``, ``1 min 5 s``."""
    if length_ns >= 60_000_000_000:
        minutes, seconds = divmod(round(length_ns / 1e9), 60)
        return f"{minutes:,} min {seconds} s"
    for unit, unit_ns in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        value = length_ns / unit_ns
        if value >= 1:
            # The limits are where rounding would add a digit: 9.995 is "10.0", not "10.00".
            decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{decimals}f} {unit}"
    return f"{length_ns} ns"


def format_size(count_bytes: int) -> str:
    """Return ``512 bytes``, ``1.5 kB``, ``123 MB``: decimal units, at most one decimal."""
    if count_bytes >= 10**15:
        return "more than 1,000,000 GB"
    value = float(count_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    raise AssertionError


def format_weight(amount: int, unit: str) -> str:
    """Return a weight of samples: ``12.0 ms host time``, or the sampled count (``12 cycles``)."""
    return f"{format_ms(amount, 1)} host time" if unit == "ns" else plural(amount, unit.removesuffix("s"))


def format_percent(fraction: float, digits: int = 0) -> str:
    """Return ``83 %`` for 0.83."""
    return f"{100 * fraction:.{digits}f} %"


def format_thread(name: str, tid: int) -> str:
    """Return ``Main Thread (0x1f)``; the name alone for a thread without a tid, which is -1.

    A name that ends with the tid's last digits, as in ``Main Thread …99b26``, is written without them.
    """
    if tid < 0:
        return name
    start, mark, digits = name.rpartition("…")
    is_tid = mark and digits and f"{tid:x}".endswith(digits.strip().lower())
    return f"{start.rstrip() if is_tid else name} (0x{tid:x})"
