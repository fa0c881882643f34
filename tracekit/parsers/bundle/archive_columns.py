"""Objects of an archive decoded by columns: the list of 20,000 tables has 100,000 objects of a few shapes.

Objects have the same *shape* when they have the same keys in the same order. The archiver writes each key
once, so the keys of equal shapes have equal numbers, and one operation reads an entry of all the objects:

    {$class, NS.keys → [a b], NS.objects → [5 6]}              a: 5 7
    {$class, NS.keys → [a b], NS.objects → [7 8]}      →       b: 6 8

Everything else goes through ``KeyedArchive`` one by one: rare shapes, long containers, objects that wrap
one value, and damaged ones, for which it raises ``DamagedFileError``. Both ways give the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.keyed_archive import WRAPPERS, Key, KeyedArchive, ValueBudget
from tracekit.parsers.bundle.plist import ARRAYS, DICTIONARIES, PlistError

Numbers: TypeAlias = "npt.NDArray[np.int64]"

MISSING = -1
"""The value for a missing reference."""
_MIN_OBJECTS_PER_SHAPE = 16
"""For fewer objects, finding their common shape costs more than reading each."""
_NO_SHAPE = frozenset({*WRAPPERS, "$0"})
"""Objects with one of these fields wrap one value, or may have positional keys."""


@frozen
class _Shape:
    """Objects with the same keys: their positions among all, and a column of references for each key."""

    positions: Numbers
    items: dict[Any, Numbers]
    is_list: bool = False


class ArchiveColumns:
    """The values of many objects of one archive at once.

    *References* are the numbers that ``KeyedArchive.follow`` takes. Every method raises ``DamagedFileError``.
    """

    def __init__(self, archive: KeyedArchive) -> None:
        self._archive = archive
        self._plist = archive.plist
        self._uids = np.asarray(archive.plist.uids)
        beyond = np.uint64(len(self._uids))
        self._objects = np.minimum(np.array(archive.objects, np.uint64), beyond).astype(np.int64)

    def items(self, references: Sequence[int] | Numbers, keys: Sequence[Key]) -> list[Numbers]:
        """Return a column for each key: the entry of each object; ``MISSING`` for other values."""
        numbers = np.array(references, np.int64)
        shapes, other_positions = self._find_shapes(numbers)
        columns = [np.full(len(numbers), MISSING, np.int64) for _ in keys]
        for shape in shapes:
            for key, column in zip(keys, columns, strict=True):
                column[shape.positions] = shape.items.get(key, MISSING)
        for position, value in zip(
            other_positions.tolist(), self.values(numbers[other_positions]), strict=True
        ):
            items = self._archive.items(value)
            for key, column in zip(keys, columns, strict=True):
                column[position] = items.get(key, MISSING)
        return columns

    def values(self, references: Numbers) -> list[Any]:
        """Return the value of each reference; None for a missing one."""
        follow = self._archive.follow
        return [follow(number) if number != MISSING else None for number in references.tolist()]

    def plain(self, references: Numbers, budget: ValueBudget, depth: int = 0) -> list[Any]:
        """Return each value with everything in it; see ``KeyedArchive.plain``."""
        self._archive.require_values(len(references), budget, depth)
        shapes, other_positions = self._find_shapes(references)
        plain: list[Any] = [None] * len(references)
        for shape in shapes:
            budget.values_left -= len(shape.positions)
            columns = [self.plain(column, budget, depth + 1) for column in shape.items.values()]
            keys = None if shape.is_list else list(shape.items)
            for row, position in enumerate(shape.positions.tolist()):
                entries = [column[row] for column in columns]
                plain[position] = entries if keys is None else dict(zip(keys, entries, strict=True))
        for position, value in zip(
            other_positions.tolist(), self.values(references[other_positions]), strict=True
        ):
            plain[position] = self._archive.plain(value, budget, depth)
        return plain

    def _find_shapes(self, references: Numbers) -> tuple[list[_Shape], Numbers]:
        """Return the objects by shape, and the positions of everything else."""
        is_alone = np.ones(len(references), np.bool_)
        try:
            shapes = list(self._iter_shapes(self._find_objects(references)))
        except PlistError as error:
            raise DamagedFileError(self._archive.name, str(error)) from error
        for shape in shapes:
            is_alone[shape.positions] = False
        return shapes, np.flatnonzero(is_alone)

    def _iter_shapes(self, numbers: Numbers) -> Iterator[_Shape]:
        for positions, rows in self._plist.elements(numbers, DICTIONARIES):
            size = rows.shape[1] // 2
            for row_indices, keys in _iter_equal_rows(rows[:, :size]):
                names = [self._plist.key(key) for key in keys.tolist()]
                fields = dict(zip(names, rows[row_indices, size:].T, strict=True))
                if len(fields) < 2 or not _NO_SHAPE.isdisjoint(fields):  # alone, a class may mean null
                    continue
                if "NS.keys" in fields:
                    yield from self._with_keys(positions[row_indices], fields)
                elif "NS.objects" in fields:
                    yield from self._iter_lists(positions[row_indices], fields)
                else:
                    fields.pop("$class", None)
                    yield _Shape(positions[row_indices], fields)

    def _with_keys(self, positions: Numbers, fields: dict[Any, Numbers]) -> Iterator[_Shape]:
        """Yield the shapes of dictionaries: those with the same keys, which are objects."""
        if "NS.objects" not in fields:
            return
        for with_keys, keys in self._plist.elements(self._find_objects(fields["NS.keys"]), ARRAYS):
            values = self._find_objects(fields["NS.objects"][with_keys])
            for with_values, rows in self._plist.elements(values, ARRAYS):
                key_references = keys[with_values, : rows.shape[1]]
                key_objects = self._find_uids(key_references)
                for row_indices, objects in _iter_equal_rows(key_objects):
                    if np.any(objects < 0):
                        continue
                    names = [
                        self._archive.key(reference) for reference in key_references[row_indices[0]].tolist()
                    ]
                    items = dict(zip(names, rows[row_indices].T, strict=False))
                    yield _Shape(positions[with_keys[with_values[row_indices]]], items)

    def _iter_lists(self, positions: Numbers, fields: dict[Any, Numbers]) -> Iterator[_Shape]:
        """Yield the shapes of arrays and sets of equal length; the keys are the indices."""
        for row_indices, rows in self._plist.elements(self._find_objects(fields["NS.objects"]), ARRAYS):
            yield _Shape(positions[row_indices], dict(enumerate(rows.T)), is_list=True)

    def _find_objects(self, references: Numbers) -> Numbers:
        """Return the property list's numbers of the values; ``MISSING`` for null and for damaged ones."""
        uids = self._find_uids(references)
        is_object = (uids > 0) & (uids < len(self._objects))
        objects = self._objects[np.where(is_object, uids, 0)]
        return np.where(is_object, objects, np.where(uids < 0, references, MISSING))

    def _find_uids(self, references: Numbers) -> Numbers:
        """Return the number of the object that each reference refers to, -1 for none."""
        is_inside = (references >= 0) & (references < len(self._uids))
        return np.where(is_inside, self._uids[np.where(is_inside, references, 0)], -1)


def _iter_equal_rows(rows: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the ascending indices of many equal rows, and one of these rows; rare rows are left out."""
    if len(rows) < _MIN_OBJECTS_PER_SHAPE:
        return
    if (rows == rows[0]).all():
        yield np.arange(len(rows)), rows[0]
        return
    order = np.lexsort(rows.T)  # stable
    differs = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    for row_indices in np.split(order, np.flatnonzero(differs) + 1):
        if len(row_indices) >= _MIN_OBJECTS_PER_SHAPE:
            yield row_indices, rows[row_indices[0]]
