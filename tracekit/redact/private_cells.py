"""Hiding of private text in a table: prompts, answers, instructions, tool calls.

The Foundation Models tables of Xcode 27 hold it in plain text (columns: sforteln/xctrace-query-mcp-server).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracekit.model.composite_cells import format_parts
from tracekit.model.schemas import CORE_AI_LANGUAGE_MODELS
from tracekit.model.tables import Column, Table

_SCHEMAS = "FMEventTable InstructionsTable ModelInferenceTable RequestTable SessionTable ToolTable"
# Columns of these tables that stay readable. Columns that a later Xcode adds are hidden until reviewed.
_HARMLESS = """agent-name cached-tokens color error-count model-information model-request-id name
prompt-tokens request-id resolve response-tokens session session-id sub-synthesized-ids synthesized-id tokens
tool-id tool-name total-tokens track turn-id turn-index"""
# A table of any other schema has private text if it has one of these columns: then _PRIVATE is hidden too.
_INDICATORS = "prompt response"
_PRIVATE = """argument-json arguments content error-message first-prompt instruction instructions output
plot-label result-json"""
# The framework logs the same text under this subsystem (assumed: no such log has been seen).
_SUBSYSTEM = "foundationmodels"
_ANSWER_EVENT = "TokenGeneration"
_HIDDEN = re.compile(r"<private, \d+ characters?>")
_LOGGED = "message start-message end-message signature value"


def hide_private(table: Table) -> tuple[Table, tuple[str, ...]]:
    """Return the table with private text hidden, and the names of the columns that contained any.

    Such a cell becomes ``<private, 23 characters>``; null, empty text and numbers stay. Columns keep their
    kind, but lists of numbers become text. In a table of logs or signposts this concerns the messages of
    Foundation Models only.
    """
    private_columns = [column for column in table.columns if _is_private(table, column)]
    rows = np.ones(len(table), np.bool_)
    if not private_columns:
        private_columns = [column for column in table.columns if column.mnemonic in _LOGGED.split()]
        rows = _is_logged_by_framework(table)
    hidden = {
        column.mnemonic: _mask_cells(table.rows[column.mnemonic], column, rows) for column in private_columns
    }
    hidden = {name: cells for name, cells in hidden.items() if cells is not None}
    columns = tuple(
        replace(column, kind="text") if column.mnemonic in hidden and column.kind != "parts" else column
        for column in table.columns
    )
    return replace(table, rows=table.rows.assign(**hidden), columns=columns), tuple(hidden)


def _is_private(table: Table, column: Column) -> bool:
    if table.schema in _SCHEMAS.split():
        return column.mnemonic not in _HARMLESS.split()
    indicators = _INDICATORS.split()
    has_private_text = any(sibling.mnemonic in indicators for sibling in table.columns)
    return has_private_text and column.mnemonic in indicators + _PRIVATE.split()


def _is_logged_by_framework(table: Table) -> npt.NDArray[np.bool_]:
    """Return True for rows of a log or of signposts whose message may hold a prompt or an answer.

    They come from Foundation Models, or are the tokens of an answer that Apple's package of language models
    marks one by one (``logTokenGeneration`` in its ``InstrumentsProfiler.swift``).
    """
    if _SUBSYSTEM in table.attributes.get("subsystem", "").lower():
        return np.ones(len(table), np.bool_)
    if "subsystem" not in table.rows.columns:
        return np.zeros(len(table), np.bool_)
    cells = table.rows["subsystem"]
    is_private = cells.isin(
        [subsystem for subsystem in cells.unique() if _SUBSYSTEM in str(subsystem).lower()]
    ).to_numpy(np.bool_)
    if "name" in table.rows.columns:
        is_token = (table.rows["name"] == _ANSWER_EVENT) & (cells == CORE_AI_LANGUAGE_MODELS)
        is_private = is_private | is_token.fillna(False).to_numpy(np.bool_)
    return is_private


def _mask_cells(cells: pd.Series[Any], column: Column, rows: npt.NDArray[np.bool_]) -> pd.Series[Any] | None:
    """Return the cells with the text in ``rows`` hidden, or None if they have no text."""
    if pd.api.types.is_numeric_dtype(cells.dtype):  # a count, or a thread, process or stack
        return None
    codes, distinct = pd.factorize(cells)
    clear = list(distinct)
    # Codes: 0…n-1 the clear values, n…2n-1 the same values hidden, 2n null. Hiding a row adds n to its code.
    values_by_code = [*clear, *(_hide(value, column) for value in clear), None]
    codes = np.where(codes < 0, len(values_by_code) - 1, np.where(rows, codes + len(clear), codes))
    if all(
        values_by_code[code] is values_by_code[code - len(clear)]
        for code in np.unique(codes[rows & cells.notna()])
    ):
        return None
    values = np.empty(len(values_by_code), dtype=object)
    values[:] = values_by_code
    if column.kind == "parts":
        return pd.Series(values[codes], cells.index, dtype=object)
    names, texts = pd.factorize(values)
    masked = pd.Categorical.from_codes(names[codes], categories=pd.Index(texts, dtype="str"))
    return pd.Series(masked.remove_unused_categories(), cells.index)


def _hide(value: Any, column: Column) -> Any:
    """Return the replacement for a value, or the value itself if it contains no text."""
    if isinstance(value, tuple):
        words = format_parts(value) if column.kind == "parts" else " ".join(map(str, value))
    else:
        words = value if isinstance(value, str) else ""
    if not words or _HIDDEN.fullmatch(words):  # hidden before, in a redacted pack
        return value
    note = f"<private, {len(words)} character{'s' if len(words) > 1 else ''}>"
    return (("string", note),) if column.kind == "parts" else note
