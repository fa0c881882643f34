"""Labels of recordings: from names by a pattern, from a file beside the recording, from a CSV, or for all.

A label has one value. Where two sources give a recording different ones, nothing is analyzed before that is
settled: which one is right cannot be deduced.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Self, TypeAlias

from tracekit.errors import InputError, UsageError
from tracekit.fleet import stores
from tracekit.fleet.recording_inputs import RecordingInput
from tracekit.frozen import frozen
from tracekit.text import clip, list_first, plural, printable

Labels: TypeAlias = Mapping[str, str]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MAX_VALUE_CHARACTERS, _MAX_LABELS = 200, 50
_MAX_BYTES = 1_000_000
_MAX_SHOWN_NAMES = 5
_ENDINGS = re.compile(
    r"(\.trace|\.tracekit)?(\.zip|\.tar|\.tar\.gz|\.tgz|\.tar\.bz2|\.tar\.xz|\.gz)?$"
    r"|\.(xml|txt|log|ndjson|ips|crash|json)(\.gz)?$"
)
"""What the name of a recording ends with; it is no part of a label."""
_KEYS = ("path", "recording")


@frozen
class NamePattern:
    """A pattern such as ``{app}-{build}-{device}``; its fields are the labels, all else stands for itself.

    With slashes, it is of the last parts of the path: ``{device}/{app}-{build}``.
    """

    text: str
    shortest: re.Pattern[str]
    longest: re.Pattern[str]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the pattern of a text. Raises ``UsageError`` where its fields are not clear."""
        pieces = re.split(r"\{([^{}]*)\}", text)
        names = pieces[1::2]
        wrong = [name for name in names if _NAME.fullmatch(name) is None or not name.isidentifier()]
        if not names or wrong or len(set(names)) < len(names) or "" in pieces[2:-1:2]:
            raise UsageError(
                f"--labels-from-name: '{_quote_text(text)}' is no pattern. Name each label once, with text"
                " between them: {app}-{build}-{device}."
            )
        return cls(text, _compile_pieces(pieces, "+?"), _compile_pieces(pieces, "+"))

    def match_labels(self, recording: RecordingInput) -> dict[str, str] | None:
        """Return the labels in a recording's name; None where it does not fit, or fits in several ways."""
        parts = [part for part in recording.address.replace(os.sep, "/").split("/") if part]
        name = _ENDINGS.sub("", "/".join(parts[-1 - self.text.count("/") :]))
        match, other = self.shortest.fullmatch(name), self.longest.fullmatch(name)
        if match is None or other is None or match.groupdict() != other.groupdict():
            return None
        return match.groupdict()


def _compile_pieces(pieces: Sequence[str], repeat: str) -> re.Pattern[str]:
    return re.compile(
        "".join(
            f"(?P<{piece}>[^/]{repeat})" if number % 2 else re.escape(piece)
            for number, piece in enumerate(pieces)
        )
    )


@frozen
class LabelSources:
    """Where labels come from: a pattern of names, a CSV, and labels of all recordings."""

    pattern: NamePattern | None = None
    table: str = ""
    given: Labels = field(default_factory=dict)


@frozen
class Labelled:
    """The labels of each recording, in order; ``notes`` are sentences about names and rows without use."""

    labels: tuple[Labels, ...]
    notes: tuple[str, ...] = ()


def collect_labels(recordings: Sequence[RecordingInput], sources: LabelSources) -> Labelled:
    """Return the labels of each recording.

    Raises ``UsageError`` where two sources contradict each other, ``InputError`` for a damaged file.
    """
    rows, notes = (
        _match_table_rows(recordings, sources.table) if sources.table else ([{}] * len(recordings), [])
    )
    labels: list[Labels] = []
    contradictions: list[str] = []
    misfits: list[str] = []
    for recording, row in zip(recordings, rows, strict=True):
        of_name = sources.pattern.match_labels(recording) if sources.pattern else {}
        if of_name is None:
            misfits.append(recording.name)
        given = {
            "the name": of_name or {},
            recording.sidecar or "the file beside it": _read_sidecar_labels(recording.sidecar),
            sources.table or "the table": row,
            "--label": sources.given,
        }
        labels.append(_merge_labels(recording, given, contradictions))
    require_agreement(contradictions)
    if misfits and sources.pattern:
        misfit_list = list_first([_quote_text(name) for name in misfits], _MAX_SHOWN_NAMES)
        notes.append(
            f"{plural(len(misfits), 'recording')} without labels of the name: not of the form"
            f" {_quote_text(sources.pattern.text)}, or in more than one way ({misfit_list})."
        )
    return Labelled(tuple(labels), tuple(notes))


def require_agreement(contradictions: Sequence[str]) -> None:
    """Raise ``UsageError`` with the first contradictions, if there are any."""
    if contradictions:
        more = len(contradictions) - _MAX_SHOWN_NAMES
        raise UsageError(
            f"Labels contradict each other in {plural(len(contradictions), 'place')}. Correct them: nothing"
            " was analyzed.",
            *contradictions[:_MAX_SHOWN_NAMES],
            *([f"and {more:,} more"] if more > 0 else []),
        )


def _merge_labels(
    recording: RecordingInput, given: Mapping[str, Labels], contradictions: list[str]
) -> dict[str, str]:
    merged: dict[str, str] = {}
    source_of: dict[str, str] = {}
    for source, labels in given.items():
        for name, value in labels.items():
            if merged.setdefault(name, value) != value:
                contradictions.append(
                    f"{printable(recording.address)}: {name} is '{_quote_text(merged[name])}' by"
                    f" {printable(source_of[name])}, '{_quote_text(value)}' by {printable(source)}"
                )
            source_of.setdefault(name, source)
    return merged


def parse_labels(texts: Sequence[str]) -> dict[str, str]:
    """Return the labels of texts such as ``branch=main``. Raises ``UsageError`` for any other form."""
    labels: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or labels.setdefault(name, value) != value:
            raise UsageError(f"--label is NAME=VALUE, each name once, not '{_quote_text(text)}'.")
    return validate_labels("--label", labels)


def validate_labels(source: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Return labels as texts. Raises ``InputError`` for names or values that are none."""
    checked: dict[str, str] = {}
    for name, value in labels.items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            problem = f"'{_quote_text(str(name))}' is no name of a label: letters, digits, _ . and -."
            raise InputError(printable(source), problem)
        is_plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        if not is_plain or len(str(value)) > _MAX_VALUE_CHARACTERS:
            problem = f"the label {name} is no text of at most {_MAX_VALUE_CHARACTERS} characters."
            raise InputError(printable(source), problem)
        if str(value):
            checked[name] = printable(str(value))
    if len(checked) > _MAX_LABELS:
        raise InputError(printable(source), f"has more than {_MAX_LABELS} labels.")
    return checked


def _read_sidecar_labels(address: str) -> dict[str, str]:
    if not address:
        return {}
    document = _parse_json(address, _read_content(address))
    if not isinstance(document, dict):
        raise InputError(printable(address), 'holds no labels: {"build": "1.4", "branch": "main"}.')
    return validate_labels(address, document)


def _parse_json(address: str, data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(printable(address), "is not JSON.") from error


def _read_content(address: str) -> bytes:
    if stores.is_address(address):
        return stores.read(address, _MAX_BYTES)
    try:
        with Path(address).open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise InputError(printable(address), f"cannot be read: {error.strerror or error}.") from error


# A table of labels ------------------------------------------------------------------------------------------


def _match_table_rows(recordings: Sequence[RecordingInput], path: str) -> tuple[list[Labels], list[str]]:
    """Return the labels that a CSV has for each recording, and notes about rows without a recording."""
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for number, recording in enumerate(recordings):
        by_key[recording.address].append(number)
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for number, recording in enumerate(recordings):
        by_name[recording.name].append(number)
    labels: list[dict[str, str]] = [{} for _ in recordings]
    unused = 0
    for line, key, of_row in _read_table(path):
        numbers = by_name[key] if line.is_name else by_key[_make_absolute(key, path)]
        if line.is_name and len(numbers) > 1:
            raise UsageError(
                f"{printable(path)}, line {line.number}: '{_quote_text(key)}' is the name of"
                f" {plural(len(numbers), 'recording')}. Use a column path instead of recording."
            )
        unused += not numbers
        for number in numbers:
            for name, value in of_row.items():
                if labels[number].setdefault(name, value) != value:
                    raise UsageError(
                        f"{printable(path)}, line {line.number}: {name} of '{_quote_text(key)}' is"
                        f" '{_quote_text(value)}', above it is '{_quote_text(labels[number][name])}'."
                        " Correct it."
                    )
    notes = [f"{printable(path)}: {plural(unused, 'row')} of recordings that are not among the inputs."]
    return list(labels), notes if unused else []


@frozen
class _CsvLine:
    number: int
    is_name: bool
    """The row names a recording, not its path."""


def _read_table(path: str) -> Iterator[tuple[_CsvLine, str, dict[str, str]]]:
    """Yield the rows of a CSV: the line, the recording's path or name, and its labels."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(printable(path), "is not UTF-8.") from error
    except OSError as error:
        raise UsageError(f"--labels: {printable(path)} cannot be read: {error.strerror or error}.") from error
    reader = csv.DictReader(io.StringIO(text, newline=None))  # a cell in quotes may have lines
    names = reader.fieldnames or []
    keys = [name for name in _KEYS if name in names]
    if len(keys) != 1 or len(set(names)) < len(names):
        raise UsageError(
            f"--labels: {printable(path)} needs one column path or recording, and a name for each label."
        )
    try:
        for row in reader:
            if None in row or None in row.values():
                raise InputError(printable(path), f"line {reader.line_num} has another number of cells.")
            key = row.pop(keys[0]).strip()
            yield _CsvLine(reader.line_num, keys[0] == "recording"), key, validate_labels(path, row)
    except csv.Error as error:
        raise InputError(printable(path), f"is no CSV: {error}.") from error


def _make_absolute(key: str, table: str) -> str:
    return key if stores.is_address(key) else os.path.normpath(Path(table).absolute().parent / key)


def _quote_text(text: str) -> str:
    return clip(printable(text), 80)
