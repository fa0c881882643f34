"""Columns of texts: a run may have a hundred thousand windows, and a sentence about each.

A column is an Arrow array; a ``str`` stands in every row. A part that a row does not have is missing there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.model.columns import BoolArray, IntArray

Texts: TypeAlias = Any
"""An array of ``TEXT``; pyarrow has no types for mypy."""
TEXT = pa.large_string()
"""With 64-bit offsets: a block of long names may exceed 2 GiB."""


def texts_of(values: Sequence[str | None]) -> Texts:
    """Return a column of these texts."""
    return pa.array(values, TEXT)


def picked(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str | None]) -> Texts:
    """Return the column ``texts[code]``; missing where the code is -1."""
    return texts_of(texts).take(pa.array(codes, mask=codes < 0))


def pick_texts_from(columns: Sequence[Texts], positions: IntArray) -> Texts:
    """Return the texts at these positions of the columns one after another."""
    return pa.concat_arrays(columns).take(pa.array(positions))


def spelled(numbers: IntArray, spell: Callable[[int], str | None]) -> Texts:
    """Return numbers as texts, each distinct one spelled once."""
    codes, distinct = pd.factorize(numbers)
    return picked(codes, [spell(number) for number in distinct.tolist()])


def digits(numbers: npt.NDArray[Any]) -> Texts:
    """Return whole numbers as texts."""
    if numbers.dtype == object:  # beyond 64 bits
        return texts_of(list(map(str, numbers.tolist())))
    return pc.cast(pa.array(numbers), TEXT)


def joined(*parts: Texts | str) -> Texts:
    """Return the parts of each row one after another; missing where any of them is."""
    return pc.binary_join_element_wise(*map(_convert_part, parts), _convert_part(""))


def listed(parts: Sequence[Texts], separator: str) -> Texts:
    """Return those parts of each row that it has, with ``separator`` between them."""
    # Arrow 26 leaves out a row that has no part. An empty part goes before all, and its separator is cut off.
    texts = pc.binary_join_element_wise(
        _convert_part(""), *parts, _convert_part(separator), null_handling="skip"
    )
    return pc.utf8_slice_codeunits(texts, start=len(separator)) if separator else texts


def join_by_row(items: Texts, edges: IntArray, separator: str) -> Texts:
    """Return row r's items from ``edges[r]`` up to ``edges[r + 1]`` with ``separator`` between them."""
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(edges), items), _convert_part(separator))


def where(condition: BoolArray, texts: Texts | str, otherwise: Texts | str | None = None) -> Texts:
    """Return a column of the texts where the condition holds, else of the others; None is missing."""
    return pc.if_else(pa.array(condition), _convert_part(texts), _convert_part(otherwise))


def first_of(*cases: tuple[BoolArray, Texts | str], otherwise: Texts | str) -> Texts:
    """Return the texts of the first case that holds in each row."""
    result = otherwise
    for condition, texts in reversed(cases):
        result = where(condition, texts, result)
    return result


def rewritten(texts: Texts, pattern: str, rewrite: Callable[[str], str]) -> Texts:
    """Return a column with those texts rewritten that have the pattern, a regular expression, in them."""
    matches = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    if not pc.any(matches, min_count=0).as_py():
        return texts
    matching_texts = pc.filter(texts, matches).to_pylist()
    return pc.replace_with_mask(texts, matches, texts_of([rewrite(text) for text in matching_texts]))


def content(texts: Texts) -> bytes:
    """Return the texts of all rows of a new column one after another, as UTF-8; none of them is missing."""
    _, offsets, data = texts.buffers()
    end = int(np.frombuffer(offsets, np.int64)[len(texts)])
    return bytes(data.slice(0, end)) if end else b""


def _convert_part(part: Texts | str | None) -> Any:
    return pa.scalar(part, TEXT) if part is None or isinstance(part, str) else part
