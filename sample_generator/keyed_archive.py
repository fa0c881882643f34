"""Python values as an NSKeyedArchiver property list, the container of most files in a `.trace` bundle.

    {"$top": {"root": UID(1)}, "$objects": ["$null", {"NS.keys": [UID(2)], …, "$class": UID(4)}, …]}

An element of a collection is always an object of its own. A field of a class may hold a number directly, as
`encodeInt:` writes it, or refer to one, as `encodeObject:` does; `Boxed` requests the latter.
"""

from __future__ import annotations

import plistlib
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

_FOUNDATION = {
    "NSArray": ("NSArray", "NSObject"),
    "NSData": ("NSData", "NSObject"),
    "NSDate": ("NSDate", "NSObject"),
    "NSDictionary": ("NSDictionary", "NSObject"),
    "NSMutableArray": ("NSMutableArray", "NSArray", "NSObject"),
    "NSMutableData": ("NSMutableData", "NSData", "NSObject"),
    "NSMutableDictionary": ("NSMutableDictionary", "NSDictionary", "NSObject"),
    "NSMutableSet": ("NSMutableSet", "NSSet", "NSObject"),
    "NSMutableString": ("NSMutableString", "NSString", "NSObject"),
    "NSNull": ("NSNull", "NSObject"),
    "NSSet": ("NSSet", "NSObject"),
    "NSUUID": ("NSUUID", "NSObject"),
}


@dataclass(frozen=True, eq=False)
class Object:
    """An instance of any class; fields keep their order."""

    classname: str
    fields: dict[str, Any] = field(default_factory=dict)
    bases: tuple[str, ...] = ("NSObject",)


@dataclass(frozen=True, eq=False)
class Mutable:
    """A dict, list, set, str or bytes of the mutable class."""

    value: Any


@dataclass(frozen=True, eq=False)
class Boxed:
    """A number in a field of an `Object` that is referred to and not written directly."""

    value: float


@dataclass(frozen=True, eq=False)
class Date:
    """Seconds since 2001-01-01."""

    seconds: float


NULL = Object("NSNull")
"""The null value inside a collection; None is a nil reference."""


def int_keyed(entries: dict[int, Any]) -> Object:
    """Return Apple's dictionary with integer keys: `$0` is the number of entries, then keys and values."""
    fields: dict[str, Any] = {"$0": len(entries)}
    for position, (key, value) in enumerate(entries.items()):
        fields[f"${2 * position + 1}"] = key
        fields[f"${2 * position + 2}"] = _boxed(value)
    return Object("XRIntKeyedDictionary", fields)


def archive(root: Any) -> bytes:
    """Return the binary property list of one object graph."""
    return archive_top({"root": root})


def archive_top(top: dict[str, Any]) -> bytes:
    """Return the binary property list of several named object graphs, which may share objects."""
    archiver = _Archiver()
    references = {name: archiver.field(value) for name, value in top.items()}
    document = {
        "$version": 100000,
        "$archiver": "NSKeyedArchiver",
        "$top": references,
        "$objects": archiver.objects,
    }
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY, sort_keys=False)


def _boxed(value: Any) -> Any:
    return Boxed(value) if isinstance(value, bool | int | float) else value


class _Archiver:
    """Numbers objects in order of first use; equal strings and equal numbers share one."""

    def __init__(self) -> None:
        self.objects: list[Any] = ["$null"]
        self._known: dict[Any, plistlib.UID] = {}
        self._alive: list[Any] = []  # an id may come again once its object is gone

    def field(self, value: Any) -> Any:
        """Return the content of a field of a class: numbers directly, everything else by reference."""
        return value if isinstance(value, bool | int | float) else self.reference(value)

    def reference(self, value: Any) -> plistlib.UID:
        if value is None:
            return plistlib.UID(0)
        if isinstance(value, Boxed):
            value = value.value
        key = (type(value), value) if isinstance(value, bool | int | float | str) else id(value)
        if key not in self._known:
            self._alive.append(value)
            self._known[key] = plistlib.UID(len(self.objects))
            place = len(self.objects)
            self.objects.append(None)
            self.objects[place] = self._encode(value)
        return self._known[key]

    def _encode(self, value: Any) -> Any:
        match value:
            case bool() | int() | float() | str():
                return value
            case Object():
                return self._object(value)
            case UUID():
                return {"NS.uuidbytes": value.bytes, "$class": self._class("NSUUID")}
            case Date():
                return {"NS.time": value.seconds, "$class": self._class("NSDate")}
            case Mutable():
                return self._collection(value.value, "NSMutable")
            case _:
                return self._collection(value, "NS")

    def _object(self, value: Object) -> dict[str, Any]:
        fields = {name: self.field(item) for name, item in value.fields.items()}
        return {**fields, "$class": self._class(value.classname, value.bases)}

    def _collection(self, value: Any, prefix: str) -> dict[str, Any]:
        encoded: dict[str, Any]
        match value:
            case dict():
                keys, values = list(map(self.reference, value)), list(map(self.reference, value.values()))
                encoded, kind = {"NS.keys": keys, "NS.objects": values}, "Dictionary"
            case list() | tuple():
                encoded, kind = {"NS.objects": list(map(self.reference, value))}, "Array"
            case set() | frozenset():
                encoded, kind = {"NS.objects": list(map(self.reference, sorted(value)))}, "Set"
            case bytes():
                encoded, kind = {"NS.data": value}, "Data"
            case str():
                encoded, kind = {"NS.string": value}, "String"
            case _:
                raise TypeError(f"{type(value).__name__} has no place in a keyed archive")
        return {**encoded, "$class": self._class(prefix + kind)}

    def _class(self, name: str, bases: tuple[str, ...] = ("NSObject",)) -> plistlib.UID:
        key = ("class", name)
        if key not in self._known:
            self._known[key] = plistlib.UID(len(self.objects))
            chain = list(_FOUNDATION.get(name, (name, *bases)))
            self.objects.append({"$classname": name, "$classes": chain})
        return self._known[key]
