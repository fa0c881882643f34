"""Definitions that cost little at import: ``frozen`` for classes of values, ``compile_later`` for patterns.

``dataclass(frozen=True)`` writes and compiles six methods for each class. That takes half a millisecond, and
``tracekit analyze`` imports 150 of them. With ``frozen`` they share the methods of this module. A regular
expression takes a tenth of a millisecond or more, and most recordings need few of the dozens there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, AnyStr, NoReturn, TypeAlias, TypeVar, cast, dataclass_transform, overload

__all__ = ["compile_later", "field", "frozen"]

_Class = TypeVar("_Class")


@overload
def frozen(cls: type[_Class], /) -> type[_Class]: ...
@overload
def frozen(*, eq: bool = True, kw_only: bool = False) -> Callable[[type[_Class]], type[_Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_Class] | None = None, /, *, eq: bool = True, kw_only: bool = False) -> Any:
    """Make ``cls`` a dataclass that cannot be changed; what it or its bases define of the methods stays.

    With ``eq``, two instances are equal when their fields are; without, when they are the same.
    """

    def add_methods(cls: type[_Class]) -> type[_Class]:
        cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclass inspects the signature for a docstring
        made: Any = dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        made.__frozen_fields__ = fields(made)
        for name, method in {**_METHODS, **(_COMPARISON if eq else {})}.items():
            if not any(name in vars(base) for base in cls.__mro__[:-1]):
                setattr(cls, name, method)
        return cls

    return add_methods if cls is None else add_methods(cls)


def _set_fields(self: Any, /, *values: Any, **named_values: Any) -> None:
    """Set the fields from the arguments and the defaults, as the ``__init__`` of a dataclass does."""
    cls = type(self)
    by_name = dict(zip(cls.__match_args__, values, strict=False))
    if len(by_name) < len(values) or not by_name.keys().isdisjoint(named_values):
        raise TypeError(f"{cls.__qualname__}() takes each field once, in this order: {cls.__match_args__}")
    by_name.update(named_values)
    for entry in self.__frozen_fields__:
        if entry.init and entry.name in by_name:
            self.__dict__[entry.name] = by_name.pop(entry.name)
        elif entry.default_factory is not MISSING:
            self.__dict__[entry.name] = entry.default_factory()
        elif entry.default is not MISSING:
            self.__dict__[entry.name] = entry.default
        elif entry.init:
            raise TypeError(f"{cls.__qualname__}() needs the field '{entry.name}'")
    if by_name:
        raise TypeError(f"{cls.__qualname__}() has no field '{next(iter(by_name))}'")


def _show_fields(self: Any) -> str:
    names = (entry.name for entry in self.__frozen_fields__ if entry.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _get_compared_values(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, entry.name) for entry in value.__frozen_fields__ if entry.compare)


def _has_equal_fields(self: Any, other: object) -> Any:
    if type(other) is type(self):
        return _get_compared_values(self) == _get_compared_values(other)
    return NotImplemented


def _hash_fields(self: Any) -> int:
    return hash(_get_compared_values(self))


def _refuse_change(_: Any, name: str, *_value: object) -> NoReturn:
    raise FrozenInstanceError(f"the field {name!r} cannot be changed")


_Methods: TypeAlias = dict[str, Callable[..., Any]]
_METHODS: _Methods = {
    "__init__": _set_fields,
    "__repr__": _show_fields,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}
_COMPARISON: _Methods = {"__eq__": _has_equal_fields, "__hash__": _hash_fields}


def compile_later(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what has the methods and attributes of the compiled pattern, but is no ``re.Pattern`` itself."""
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))


class _Pattern:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, value)  # found without this method from now on
        return value
