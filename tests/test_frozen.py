"""``frozen`` against ``dataclass(frozen=True)``: the same classes, made by both, behave alike."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import pytest

from tracekit.frozen import frozen


@dataclass(frozen=True)
class Compiled:
    """What ``frozen`` has to equal."""

    name: str
    count: int = 1
    texts: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)
    cache: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)


@frozen
class Shared:
    """The same fields."""

    name: str
    count: int = 1
    texts: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)
    cache: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def double(self) -> int:
        return 2 * self.count


@frozen
class Derived(Shared):
    """A field more."""

    end: int = 0


def test_arguments_and_defaults_are_those_of_a_dataclass() -> None:
    for values, named in ((("a",), {}), (("a", 2, ["b"]), {"note": "c"}), ((), {"count": 3, "name": "d"})):
        assert asdict(Shared(*values, **named)) == asdict(Compiled(*values, **named))
    assert Shared("a").texts is not Shared("a").texts
    assert asdict(Derived("a", 2, [], "c", 5)) == {**asdict(Compiled("a", 2, [], "c")), "end": 5}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        (("a",), {"name": "b"}),
        (("a", 1, [], "", 5), {}),
        (("a",), {"other": 1}),
        (("a",), {"cache": {}}),
    ],
)
def test_arguments_that_a_dataclass_refuses_are_refused(values: Any, named: Any) -> None:
    for cls in (Compiled, Shared):
        with pytest.raises(TypeError):
            cls(*values, **named)


def test_fields_decide_equality_hash_and_repr() -> None:
    assert Shared("a", note="b") == Shared("a", note="c") != Shared("a", 2)
    assert Shared("a") != Derived("a")
    assert repr(Shared("a", 2)) == repr(Compiled("a", 2)).replace("Compiled", "Shared")

    @frozen
    class Point:
        x: int
        y: int

    assert {Point(1, 2): "p"}[Point(1, 2)] == "p"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Shared("a"))


def test_nothing_can_be_assigned_or_deleted() -> None:
    value = Shared("a")
    assert value.double == 2
    for change in (lambda: setattr(value, "name", "b"), lambda: delattr(value, "name")):
        with pytest.raises(FrozenInstanceError, match="name"):
            change()
    assert value.name == "a"


def test_copies_and_replacements_equal_the_original() -> None:
    value = Derived("a", 2, ["b"], end=7)
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert replace(value, count=3) == Derived("a", 3, ["b"], end=7)
    assert [entry.name for entry in fields(Derived)] == [entry.name for entry in fields(Compiled)] + ["end"]


def test_methods_of_the_class_stay() -> None:
    @frozen(eq=False)
    class Identity:
        value: int

        def __repr__(self) -> str:
            return "an identity"

    assert Identity(1) != Identity(1)
    assert repr(Identity(1)) == "an identity"

    @frozen(kw_only=True)
    class ByName:
        value: int

    assert ByName(value=1).value == 1
    with pytest.raises(TypeError):
        ByName(1)  # type: ignore[misc]
