"""The conditions of a search in the catalog."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, or_, select

from tracekit.errors import UsageError
from tracekit_dashboard.library.catalog_tables import RECORDINGS, TAGS

_ROW = RECORDINGS.c
_MAX_WORDS = 30
"""Words of a search: each reads the texts of all recordings, at every poll of a page."""


def build_conditions(words: str, tag: str, deleted: bool) -> list[ColumnElement[bool]]:
    """Return the conditions of the recordings with all words in their texts or tags.

    Raises ``UsageError`` for more words than a search takes.
    """
    conditions: list[ColumnElement[bool]] = [
        _ROW.deleted_us.is_not(None) if deleted else _ROW.deleted_us.is_(None)
    ]
    if tag:
        conditions.append(_ROW.id.in_(select(TAGS.c.recording).where(TAGS.c.tag == _make_valid(tag))))
    distinct = dict.fromkeys(_make_valid(words).split())
    if len(distinct) > _MAX_WORDS:
        raise UsageError(f"A search takes {_MAX_WORDS} words, and this one has {len(distinct):,}. Use fewer.")
    return conditions + [_match_word(word) for word in distinct]


def _make_valid(text: str) -> str:
    """Return text that SQLite takes: a request can have half of a UTF-16 pair."""
    return text.encode("utf-8", "replace").decode()


def _match_word(word: str) -> ColumnElement[bool]:
    def has(text: ColumnElement[str]) -> ColumnElement[bool]:
        return func.instr(func.casefold(text), word.casefold()) > 0

    tagged = _ROW.id.in_(select(TAGS.c.recording).where(has(TAGS.c.tag)))
    # One call of Python per row; no word has a line feed, so none is found across two columns.
    columns = (_ROW.name, _ROW.app, _ROW.verdict, _ROW.note, _ROW.device, _ROW.system, _ROW.message)
    texts: ColumnElement[str] = columns[0]
    for column in columns[1:]:
        texts = texts + "\n" + column
    return or_(has(texts), tagged)
