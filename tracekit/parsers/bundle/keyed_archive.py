"""NSKeyedArchiver documents as plain values, followed only where they are asked for.

An archive is a property list with ``$objects`` (every object once) and ``$top`` (named entries); objects
refer to each other by number. Beside the usual ``NS.keys``, ``NS.objects``, ``NS.string``, ``NS.data``
Instruments writes classes of its own whose fields are positional (``$0``, ``$1``, …), and
``XRIntKeyedDictionary``: ``$0`` is the count, then keys and values take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.plist import BinaryPlist, PlistError, Ref, Refs, Uid

_MOST_DEPTH = 24
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class Archived:
    """One object: its class and its fields, which ``KeyedArchive`` follows by name."""

    class_name: str
    fields: dict[Any, Any] = field(repr=False)


Key: TypeAlias = "str | int | bytes"


class KeyedArchive:
    """One archive. A *value* is what ``top`` or ``get`` returned: plain data, or an ``Archived`` object.

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
            raise DamagedFileError(name, "is no keyed archive")
        self._objects: Refs = objects

    def top(self, name: str = "root") -> Any:
        """Return an entry of ``$top``; None when there is none."""
        return self._guard(self._top.get(name))

    def get(self, value: Any, *path: Key) -> Any:
        """Follow fields or dictionary keys from a value; None where one is missing."""
        for key in path:
            fields = self.items(value)
            value = self._guard(fields[key]) if key in fields else None
        return value

    def items(self, value: Any) -> dict[Any, Any]:
        """Return a dictionary's or object's entries, to be followed with ``follow``; {} for anything else."""
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
        """Return the values of an array or set; [] for anything else."""
        if isinstance(value, Refs):
            return [self._guard(item) for item in self._every(value)]
        if not isinstance(value, Archived) or "NS.objects" not in value.fields:
            return []
        return [self._guard(item) for item in self._refs(value.fields["NS.objects"])]

    def plain(self, value: Any, most_values: int = _MOST_VALUES) -> Any:
        """Return a value with everything in it as dicts, lists and scalars, ``most_values`` at most.

        Raises ``DamagedFileError`` for what is deeper or larger than any recording's (or refers to itself).
        """
        budget = [most_values]
        return self._plain(value, 0, budget)

    def _plain(self, value: Any, depth: int, budget: list[int]) -> Any:
        budget[0] -= 1
        if depth > _MOST_DEPTH or budget[0] < 0:
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
        value = self._plist.read(reference) if isinstance(reference, Ref) else reference
        if not isinstance(value, Uid):
            return Archived("", value) if isinstance(value, dict) else value
        if value.at not in self._values:
            self._values[value.at] = self._object(value.at)
        return self._values[value.at]

    def _object(self, at: int) -> Any:
        if at == 0:
            return None
        value = self._plist.read(self._plist.element(self._objects, at))
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
        if not isinstance(uid, Uid) or uid.at >= self._objects.count:
            return ""
        if uid.at not in self._class_names:
            described = self._plist.read(self._plist.element(self._objects, uid.at))
            name = described.get("$classname") if isinstance(described, dict) else None
            text = self._plist.read(name) if isinstance(name, Ref) else ""
            self._class_names[uid.at] = text if isinstance(text, str) else ""
        return self._class_names[uid.at]

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
        if ref.at < 0:
            raise PlistError("is no keyed archive")
        value = self._plist.read(ref)
        if not isinstance(value, dict):
            raise PlistError("is no keyed archive")
        return value


def _is_list(value: Archived) -> bool:
    return "NS.objects" in value.fields and "NS.keys" not in value.fields


def _positional_pairs(fields: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    at = 1
    while f"${at}" in fields and f"${at + 1}" in fields:
        yield fields[f"${at}"], fields[f"${at + 1}"]
        at += 2
