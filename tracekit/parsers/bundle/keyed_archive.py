"""NSKeyedArchiver documents as plain values, decoded on demand.

An archive is a property list with ``$objects`` (every object once) and ``$top`` (named entries); objects
refer to each other by number:

    $top      {"root": Uid 1}
    $objects  [ "$null", {"$class": Uid 3, "NS.keys": [Uid 2], "NS.objects": [Uid 4]}, "name", {…}, … ]
                   0      1                                                              2      3

In addition to the usual ``NS.keys``, ``NS.objects``, ``NS.string``, ``NS.data``, Instruments writes its own
classes whose fields are positional (``$0``, ``$1``, …), and ``XRIntKeyedDictionary``: ``$0`` is the count,
then keys and values alternate. The latter two are known from bundles only; Apple documents neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.plist import BinaryPlist, PlistError, Uid

_MAX_DEPTH = 24
_MAX_VALUES = 10_000
WRAPPERS = ("NS.string", "NS.data", "NS.bytes", "NS.uuidbytes", "NS.time")
"""The fields of an object that wraps one value."""
_INT_KEYED = "XRIntKeyedDictionary"
_NO_ARCHIVE = "is not a keyed archive"


# Not frozen, although nothing changes it: an archive has tens of thousands, and a frozen one takes four times
# as long to create.
@dataclass(slots=True)
class Archived:
    """One object: its fields, which ``KeyedArchive`` follows by name."""

    fields: dict[Any, int] = field(repr=False)


Key: TypeAlias = "str | int | bytes"


@dataclass
class ValueBudget:
    """The number of values that may still be read: few bytes can refer to one value many times."""

    values_left: int


class KeyedArchive:
    """One archive. A *value* is a result of ``top`` or ``get``: plain data, or an ``Archived`` object.

    A tuple is an array, whose elements are undecoded. Every method raises ``DamagedFileError`` of the file
    ``name`` when the archive is damaged.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self._values: dict[int, Any] = {}
        self._class_names: dict[int, str] = {}
        try:
            self.plist = BinaryPlist(data)
            entries = self._read_dict(self.plist.top)
            objects = self.plist.read(entries.get("$objects", -1))
            self._top = self._read_dict(entries.get("$top", -1))
        except (PlistError, OverflowError) as error:
            raise DamagedFileError(name, str(error)) from error
        if not isinstance(objects, tuple):
            raise DamagedFileError(name, _NO_ARCHIVE)
        self.objects = objects

    def top(self, name: str = "root") -> Any:
        """Return an entry of ``$top``; None for a missing one."""
        return self.follow(self._top.get(name))

    def get(self, value: Any, *path: Key) -> Any:
        """Follow fields or dictionary keys from a value; None as soon as one is missing."""
        for key in path:
            value = self.follow(self.items(value).get(key))
        return value

    def class_name(self, value: Any) -> str:
        """Return the class of an object; "" for other values."""
        try:
            return self._read_class_name(value.fields) if isinstance(value, Archived) else ""
        except (PlistError, OverflowError) as error:
            raise DamagedFileError(self.name, str(error)) from error

    def items(self, value: Any) -> dict[Any, int]:
        """Return a dictionary's or object's entries, to be resolved with ``follow``; {} for other values."""
        if not isinstance(value, Archived):
            return {}
        fields = value.fields
        if "NS.keys" in fields:
            keys, values = self._read_array(fields["NS.keys"]), self._read_array(fields.get("NS.objects"))
            return {self.key(key): item for key, item in zip(keys, values, strict=False)}
        if "$0" in fields and self.class_name(value) == _INT_KEYED:
            return {self.key(key): item for key, item in _iter_positional_pairs(fields)}
        return {key: item for key, item in fields.items() if key != "$class"}

    def values(self, value: Any) -> Iterable[int]:
        """Return the entries of ``items`` without their keys."""
        if isinstance(value, Archived) and self.class_name(value) == _INT_KEYED:
            return (item for _, item in _iter_positional_pairs(value.fields))
        return self.items(value).values()

    def follow(self, reference: int | None) -> Any:
        """Return the value of an entry of ``items``; None for a missing one."""
        if reference is None:
            return None
        # Three levels: a number is an object of the property list; that may be a Uid, which is an object of
        # $objects; only the latter has a class.
        try:
            number = self._find_uid(reference)
            value = self._read_value(number) if number >= 0 else self._without_uid(reference)
        except (PlistError, OverflowError) as error:
            raise DamagedFileError(self.name, str(error)) from error
        return Archived(value) if isinstance(value, dict) else value

    def elements(self, value: Any) -> list[Any]:
        """Return the values of an array or set; [] for other values."""
        if isinstance(value, Archived):
            value = self._read_array(value.fields.get("NS.objects"))
        return [self.follow(item) for item in value] if isinstance(value, tuple) else []

    def plain(self, value: Any, budget: ValueBudget | None = None, depth: int = 0) -> Any:
        """Return a value with everything in it as dicts, lists and scalars, as many as ``budget`` allows.

        Raises ``DamagedFileError`` for a value that is deeper or larger than any recording's, or that refers
        to itself.
        """
        return self._read_plain(value, depth, budget or ValueBudget(_MAX_VALUES))

    def require_values(self, count: int, budget: ValueBudget, depth: int) -> None:
        """Raise ``DamagedFileError`` if ``count`` values exceed the depth or number that ``plain`` allows."""
        if count and (depth > _MAX_DEPTH or budget.values_left < count):
            raise DamagedFileError(self.name, "is nested deeper or larger than any recording's")

    def _read_plain(self, value: Any, depth: int, budget: ValueBudget) -> Any:
        self.require_values(1, budget, depth)
        budget.values_left -= 1
        if isinstance(value, tuple) or (isinstance(value, Archived) and _is_list(value)):
            return [self._read_plain(item, depth + 1, budget) for item in self.elements(value)]
        if isinstance(value, Archived):
            items = self.items(value).items()
            return {key: self._read_plain(self.follow(item), depth + 1, budget) for key, item in items}
        return value

    def _read_value(self, number: int) -> Any:
        """Return the value of an object; one with fields as their dict."""
        if number in self._values:
            return self._values[number]
        value = self._unwrap(number)
        if not isinstance(value, dict):  # names and the like, which many objects refer to
            self._values[number] = value
        return value

    def _unwrap(self, number: int) -> Any:
        if number == 0:  # "$null"
            return None
        value = self._read_object(number)
        if not isinstance(value, dict):
            return value
        for key in WRAPPERS:
            if key in value:
                inner = self.plist.read(value[key])
                return inner if not isinstance(inner, (tuple, dict, Uid)) else None
        is_null = len(value) == 1 and self._read_class_name(value) == "NSNull"
        return None if is_null else value

    def _read_class_name(self, fields: dict[Any, int]) -> str:
        number = self._find_uid(fields["$class"]) if "$class" in fields else -1
        if number < 0:
            return ""
        if number not in self._class_names:
            description = self._read_object(number)
            name = description.get("$classname") if isinstance(description, dict) else None
            text = self.plist.read(name) if name is not None else ""
            self._class_names[number] = text if isinstance(text, str) else ""
        return self._class_names[number]

    def _find_uid(self, reference: int) -> int:
        """Return the number of the object that a Uid refers to, -1 for an object of another kind."""
        uids = self.plist.uids
        return uids[reference] if reference < len(uids) else -1

    def _read_object(self, number: int) -> Any:
        """Return an entry of ``$objects`` as the property list has it."""
        if number >= len(self.objects):
            raise PlistError("refers to an object beyond its end")
        return self._without_uid(self.objects[number])

    def _without_uid(self, number: int) -> Any:
        """Return an object of the property list that must not be a Uid."""
        value = self.plist.read(number)
        if isinstance(value, Uid):
            raise PlistError("has a reference in place of an object")
        return value

    def key(self, reference: int) -> Any:
        """Return a key of ``items`` by its reference."""
        key = self.follow(reference)
        return key if isinstance(key, (str, int, float, bytes)) else f"<{type(key).__name__}>"

    def _read_array(self, reference: int | None) -> tuple[int, ...]:
        value = self.follow(reference)
        return value if isinstance(value, tuple) else ()

    def _read_dict(self, number: int) -> dict[Any, int]:
        value = self.plist.read(number)
        if not isinstance(value, dict):
            raise PlistError(_NO_ARCHIVE)
        return value


def _is_list(value: Archived) -> bool:
    return "NS.objects" in value.fields and "NS.keys" not in value.fields


def _iter_positional_pairs(fields: dict[Any, int]) -> Iterator[tuple[int, int]]:
    """Yield (key, value) of an ``XRIntKeyedDictionary``: $1 and $2, $3 and $4, …"""
    for number in count(1, 2):
        key, value = fields.get(f"${number}"), fields.get(f"${number + 1}")
        if key is None or value is None:
            return
        yield key, value
