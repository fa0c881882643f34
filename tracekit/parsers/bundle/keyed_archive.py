"""NSKeyedArchiver documents as plain values, decoded on demand.

An archive is a property list with ``$objects`` (every object once) and ``$top`` (named entries); objects
refer to each other by number:

    $top      {"root": Uid 1}
    $objects  [ "$null", {"$class": Uid 3, "NS.keys": [Uid 2], "NS.objects": [Uid 4]}, "name", {…}, … ]
                   0      1                                                              2      3

Beside the usual ``NS.keys``, ``NS.objects``, ``NS.string``, ``NS.data``, Instruments writes classes of its
own whose fields are positional (``$0``, ``$1``, …), and ``XRIntKeyedDictionary``: ``$0`` is the count, then
keys and values alternate. The latter two are known from bundles only; Apple documents neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tracekit.parsers.bundle.files import DamagedFileError
from tracekit.parsers.bundle.plist import BinaryPlist, PlistError, Ref, Refs, Uid

_MAX_DEPTH = 24
_MAX_VALUES = 10_000
_NO_ARCHIVE = "is not a keyed archive"


@dataclass(frozen=True)
class Archived:
    """One object: its class and its fields, which ``KeyedArchive`` follows by name."""

    class_name: str
    fields: dict[Any, Any] = field(repr=False)


Key: TypeAlias = "str | int | bytes"


@dataclass
class ValueBudget:
    """The number of values that may still be made of an archive: a few bytes can refer to one many times."""

    values_left: int


class KeyedArchive:
    """One archive. A *value* is a result of ``top`` or ``get``: plain data, or an ``Archived`` object.

    Every method raises ``DamagedFileError`` of the file ``name`` when the archive is damaged.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._values: dict[int, Any] = {}
        self._class_names: dict[int, str] = {}
        try:
            self._plist = BinaryPlist(data)
            self._entries = self._dict(self._plist.top)
            objects = self._plist.read(self._entries.get("$objects", Ref(-1)))
            self._top = self._dict(self._entries.get("$top", Ref(-1)))
        except (PlistError, OverflowError) as error:
            raise DamagedFileError(name, str(error)) from error
        if not isinstance(objects, Refs):
            raise DamagedFileError(name, _NO_ARCHIVE)
        self._objects: Refs = objects

    def top(self, name: str = "root") -> Any:
        """Return an entry of ``$top``; None for a missing one."""
        return self._guard(self._top.get(name))

    def get(self, value: Any, *path: Key) -> Any:
        """Follow fields or dictionary keys from a value; None as soon as one is missing."""
        for key in path:
            fields = self.items(value)
            value = self._guard(fields[key]) if key in fields else None
        return value

    def items(self, value: Any) -> dict[Any, Any]:
        """Return a dictionary's or object's entries, to be resolved with ``follow``; {} for other values."""
        if not isinstance(value, Archived):
            return {}
        fields = value.fields
        if value.class_name == "XRIntKeyedDictionary":
            return {self._key(key): item for key, item in _positional_pairs(fields)}
        if "NS.keys" in fields:
            keys, values = self._refs(fields["NS.keys"]), self._refs(fields.get("NS.objects"))
            return {self._key(key): item for key, item in zip(keys, values, strict=False)}
        return {key: item for key, item in fields.items() if key != "$class"}

    def follow(self, reference: Any) -> Any:
        """Return the value behind an entry of ``items``."""
        return self._guard(reference)

    def elements(self, value: Any) -> list[Any]:
        """Return the values of an array or set; [] for other values."""
        if isinstance(value, Refs):
            return [self._guard(item) for item in self._every(value)]
        if not isinstance(value, Archived) or "NS.objects" not in value.fields:
            return []
        return [self._guard(item) for item in self._refs(value.fields["NS.objects"])]

    def plain(self, value: Any, budget: ValueBudget | None = None) -> Any:
        """Return a value with everything in it as dicts, lists and scalars, as many as ``budget`` allows.

        Raises ``DamagedFileError`` for a value that is deeper or larger than any recording's, or that refers
        to itself.
        """
        return self._plain(value, 0, budget or ValueBudget(_MAX_VALUES))

    def _plain(self, value: Any, depth: int, budget: ValueBudget) -> Any:
        budget.values_left -= 1
        if depth > _MAX_DEPTH or budget.values_left < 0:
            raise DamagedFileError(self._name, "is nested deeper or larger than any recording's")
        if isinstance(value, Refs) or (isinstance(value, Archived) and _is_list(value)):
            return [self._plain(item, depth + 1, budget) for item in self.elements(value)]
        if isinstance(value, Archived):
            items = self.items(value).items()
            return {key: self._plain(self._guard(item), depth + 1, budget) for key, item in items}
        return value

    def _guard(self, reference: Any) -> Any:
        try:
            return self._resolve(reference)
        except (PlistError, OverflowError) as error:
            raise DamagedFileError(self._name, str(error)) from error

    def _resolve(self, reference: Any) -> Any:
        # Three levels: a Ref is an object of the property list; that may be a Uid, which is an object of
        # $objects; only the latter has a class. A plain dictionary without a class is given an empty one.
        value = self._plist.read(reference) if isinstance(reference, Ref) else reference
        if not isinstance(value, Uid):
            return Archived("", value) if isinstance(value, dict) else value
        if value.number not in self._values:
            self._values[value.number] = self._object(value.number)
        return self._values[value.number]

    def _object(self, number: int) -> Any:
        if number == 0:  # "$null"
            return None
        value = self._plist.read(self._plist.element(self._objects, number))
        if isinstance(value, Uid):
            raise PlistError("has a reference in place of an object")
        if not isinstance(value, dict):
            return value
        for key in ("NS.string", "NS.data", "NS.bytes", "NS.uuidbytes", "NS.time"):
            if key in value:
                inner = self._plist.read(value[key])
                return inner if not isinstance(inner, (Refs, dict, Uid)) else None
        class_name = self._class_name(value.get("$class"))
        return Archived(class_name, value) if class_name != "NSNull" else None

    def _class_name(self, reference: Any) -> str:
        uid = self._plist.read(reference) if isinstance(reference, Ref) else None
        if not isinstance(uid, Uid) or uid.number >= self._objects.count:
            return ""
        if uid.number not in self._class_names:
            description = self._plist.read(self._plist.element(self._objects, uid.number))
            name = description.get("$classname") if isinstance(description, dict) else None
            text = self._plist.read(name) if isinstance(name, Ref) else ""
            self._class_names[uid.number] = text if isinstance(text, str) else ""
        return self._class_names[uid.number]

    def _key(self, reference: Any) -> Any:
        key = self._guard(reference)
        return key if isinstance(key, (str, int, float, bytes)) else f"<{type(key).__name__}>"

    def _refs(self, reference: Any) -> list[Any]:
        value = self._guard(reference) if isinstance(reference, Ref) else reference
        return self._every(value) if isinstance(value, Refs) else []

    def _every(self, refs: Refs) -> list[Ref]:
        try:
            return self._plist.every(refs)
        except PlistError as error:
            raise DamagedFileError(self._name, str(error)) from error

    def _dict(self, ref: Ref) -> dict[Any, Any]:
        if ref.number < 0:
            raise PlistError(_NO_ARCHIVE)
        value = self._plist.read(ref)
        if not isinstance(value, dict):
            raise PlistError(_NO_ARCHIVE)
        return value


def _is_list(value: Archived) -> bool:
    return "NS.objects" in value.fields and "NS.keys" not in value.fields


def _positional_pairs(fields: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield (key, value) of an ``XRIntKeyedDictionary``: $1 and $2, $3 and $4, …"""
    number = 1
    while f"${number}" in fields and f"${number + 1}" in fields:
        yield fields[f"${number}"], fields[f"${number + 1}"]
        number += 2
