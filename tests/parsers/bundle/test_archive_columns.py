"""Objects decoded by columns: as each of them alone gives, in regular archives and in damaged ones."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator
from random import Random
from typing import Any, cast
from unittest.mock import patch

import pytest

from sample_generator.keyed_archive import NULL, Boxed, Mutable, Object, archive, int_keyed
from tracekit.parsers.bundle import archive_columns, table_list
from tracekit.parsers.bundle.bundle_files import BundleFiles, DamagedFileError
from tracekit.parsers.bundle.keyed_archive import KeyedArchive, ValueBudget
from tracekit.parsers.bundle.table_list import TableSpec, format_attributes, read_table_list

pytestmark = pytest.mark.integration

MAX_VALUES = 3_000


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_columns, "_MIN_OBJECTS_PER_SHAPE", 2)
    monkeypatch.setattr(table_list, "_MAX_ATTRIBUTE_VALUES", MAX_VALUES)


def by_columns(data: bytes) -> dict[int, TableSpec]:
    with patch.object(table_list, "read_file", lambda files, name: data):
        return read_table_list(cast(BundleFiles, None), "run1")


def one_by_one(data: bytes) -> dict[int, TableSpec]:
    """The same list without columns."""
    opened = KeyedArchive("x", data)
    details = opened.get(opened.top(), "tableDetails")
    budget = ValueBudget(MAX_VALUES)
    specs: dict[int, TableSpec] = {}
    if not hasattr(details, "fields"):
        raise DamagedFileError("x", "lists no tables")
    for reference in opened.values(details):
        detail = opened.follow(reference)
        path = opened.get(detail, "storeSubpath")
        match = re.match(r"run1/core/stores/indexed-store-(\d+)\Z", path) if isinstance(path, str) else None
        if match and int(match[1]) not in specs:
            spec = opened.get(detail, "spec")
            schema = opened.get(spec, "schemaName")
            plain = opened.plain(opened.get(spec, "attributes"), budget)
            specs[int(match[1])] = TableSpec(
                schema if isinstance(schema, str) else "",
                format_attributes(plain) if isinstance(plain, dict) else {},
            )
    return specs


VALUES: list[Any] = [
    "ALL", 7, 2.5, True, NULL, None, [], ["0x1"], ["0x1", "a b", 3], [[1, 2], {"x": [3]}], {"a": 1, "b": ["c"]},
    Mutable(["0x2"]), Mutable({"q": 1}), Mutable("text"), Boxed("boxed"), list(range(40)), {str(n): n for n in range(20)},
]  # fmt: skip


def list_of_tables(random: Random, tables: int = 12) -> dict[str, Any]:
    """Return the property list of tables with attributes of some shapes."""
    shapes = [random.sample(["codes", "target", "pid", "all"], random.randrange(4)) for _ in range(3)]
    details = []
    for number in range(tables):
        attributes = {key: random.choice(VALUES) for key in random.choice(shapes)}
        spec = Object("Spec", {"schemaName": f"t{number % 3}", "attributes": Mutable(attributes)})
        path = f"run1/core/stores/indexed-store-{number}"
        details += [{"storeSubpath": path, "side": side, "spec": spec} for side in (0, 1)]
    return cast(
        "dict[str, Any]", plistlib.loads(archive({"tableDetails": int_keyed(dict(enumerate(details)))}))
    )


def changed(plist: dict[str, Any], random: Random) -> None:
    """Let an object refer to another one, lose a part, or become something else."""
    objects = plist["$objects"]
    number = random.randrange(1, len(objects))
    part = objects[number]
    uid = plistlib.UID(random.randrange(len(objects) + 1))
    if not isinstance(part, (dict, list)) or not part or random.random() < 0.2:
        objects[number] = random.choice(
            [objects[random.randrange(len(objects))], 3, uid, [uid], {"a": uid}, {}]
        )
        return
    if isinstance(part, dict):
        key = random.choice(list(part))
        if isinstance(part[key], list) and part[key]:
            part, key = part[key], random.randrange(len(part[key]))
    else:
        key = random.randrange(len(part))
    choice = random.randrange(4)
    if choice == 0:
        del part[key]
    else:
        part[key] = [uid, random.choice([1, "x", {}, [uid], {"b": uid}]), uid][choice - 1]


def archives(count: int) -> Iterator[bytes]:
    for seed in range(count):
        random = Random(seed)
        plist = list_of_tables(random)
        for _ in range(seed % 4):
            changed(plist, random)
        data = bytearray(plistlib.dumps(plist, fmt=plistlib.FMT_BINARY, sort_keys=seed % 2 == 0))
        if seed % 5 == 4:
            for _ in range(3):
                data[random.randrange(8, len(data))] = random.randrange(256)
        yield bytes(data)


def test_a_list_by_columns_is_the_list_one_by_one() -> None:
    read = damaged = 0
    for data in archives(100):
        try:
            expected = one_by_one(data)
        except DamagedFileError:
            damaged += 1
            with pytest.raises(DamagedFileError):
                by_columns(data)
        else:
            read += 1
            specs = by_columns(data)
            assert list(specs.items()) == list(expected.items())
            assert [list(spec.attributes) for spec in specs.values()] == [
                list(spec.attributes) for spec in expected.values()
            ]
    assert read > 50
    assert damaged > 10


def test_a_regular_list_takes_few_decodings_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    follow = KeyedArchive.follow

    def counted(self: KeyedArchive, reference: int | None) -> Any:
        nonlocal calls
        calls += 1
        return follow(self, reference)

    monkeypatch.setattr(KeyedArchive, "follow", counted)
    details = [
        {
            "storeSubpath": f"run1/core/stores/indexed-store-{number}",
            "spec": Object("Spec", {"schemaName": "t", "attributes": Mutable({"codes": [f"{number:x}"]})}),
        }
        for number in range(200)
    ]
    specs = by_columns(archive({"tableDetails": int_keyed(dict(enumerate(details)))}))
    assert specs[199] == TableSpec("t", {"codes": '"c7"'})
    assert calls < 5 * 200
