"""Random packs: every table is read back, and every damage ends in one sentence."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pack_support import TABLE, assert_equal, in_memory, read_all

from tracekit.detect import open_source
from tracekit.errors import TracekitError
from tracekit.load import open_trace
from tracekit.model.tables import Column, StackTable, Table
from tracekit.parsers.pack.format import MANIFEST
from tracekit.parsers.pack.pack_writer import write_pack

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
PACK = write_pack(in_memory(TABLE), "0.1")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LEAVES = st.none() | WORDS | st.integers(-(2**63), 2**64 - 1)
PARTS = st.recursive(
    st.lists(st.tuples(WORDS, LEAVES), max_size=3).map(tuple),
    lambda inner: st.lists(st.tuples(WORDS, LEAVES | inner), max_size=3).map(tuple),
    max_leaves=6,
)


def unreadable_or_read(path: Path) -> None:
    """Read everything; every error is a ``TracekitError``."""
    try:
        source = open_source(str(path))
        source.issues()
        read_all(str(path))
        open_trace(str(path))
    except TracekitError as error:
        assert str(error)


@pytest.mark.integration
@SAME_FOLDER
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=True),
            st.none() | WORDS,
            st.none() | PARTS,
            st.none() | st.lists(st.integers(-(2**63), 2**64 - 1), max_size=3).map(tuple),
        ),
        max_size=12,
    )
)
def test_any_table_comes_back(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    numbers, floats, words, parts, lists = zip(*rows, strict=True) if rows else ((),) * 5
    kinds = {"a": "int", "b": "float", "c": "text", "d": "parts", "e": "ints"}
    frame = pd.DataFrame(
        {
            "a": pd.array(list(numbers), dtype="Int64"),
            "b": np.array(floats, np.float64),
            "c": pd.Categorical(pd.Series(list(words), dtype="str")),
            "d": pd.Series([*parts], dtype=object),
            "e": pd.Series([*lists], dtype=object),
        }
    )
    columns = tuple(Column(name, name, "any", kind) for name, kind in kinds.items())  # type: ignore[arg-type]
    table = Table("time-profile", columns, frame, TABLE.threads, TABLE.processes, StackTable.empty())
    path = tmp_path / "X.tracekit.zip"
    path.write_bytes(write_pack(in_memory(table), "0.1"))
    (read,) = read_all(str(path))
    assert_equal(table, read)


@SAME_FOLDER
@given(st.lists(st.tuples(st.integers(0, len(PACK) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_bytes_that_were_changed(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(PACK)
    for position, byte in changes:
        data[position] = byte
    path = tmp_path / "X.tracekit.zip"
    path.write_bytes(bytes(data))
    unreadable_or_read(path)


@SAME_FOLDER
@given(st.integers(0, len(PACK)))
def test_a_pack_that_ends_anywhere(tmp_path: Path, size: int) -> None:
    path = tmp_path / "X.tracekit.zip"
    path.write_bytes(PACK[:size])
    unreadable_or_read(path)


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return every path in a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(path for key, child in inner for path in _places(child, (*place, key)))]


def rewritten(seed: int) -> bytes:
    """The pack with a whole zip around a few values of its manifest, or bytes of its members, by chance."""
    chance = random.Random(seed)
    with zipfile.ZipFile(io.BytesIO(PACK)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(content[MANIFEST])
    for _ in range(chance.randint(1, 3)):
        *outer, last = chance.choice(_places(manifest)[1:])
        target = manifest
        for key in outer:
            target = target[key]
        other_runs = [
            None,
            True,
            -1,
            0,
            1,
            3,
            2**31,
            2**63,
            2**70,
            1.5,
            "",
            "x",
            "int32",
            "uint8",
            [],
            {},
            [1],
            "data/1",
        ]
        target[last] = copy.deepcopy(chance.choice([*other_runs, chance.choice(list(manifest.values()))]))
    content[MANIFEST] = json.dumps(manifest).encode()
    for name in chance.sample(sorted(content), chance.randint(0, 2)):
        data = bytearray(content[name])
        if data and name != MANIFEST:
            data[chance.randrange(len(data))] = chance.randrange(256)
        content[name] = bytes(data)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in content.items():
            archive.writestr(name, member)
    return out.getvalue()


@SAME_FOLDER
@given(st.integers(0, 2**32))
def test_a_manifest_of_hostile_origin(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "X.tracekit.zip"
    path.write_bytes(rewritten(seed))
    unreadable_or_read(path)


@pytest.mark.integration
def test_most_random_changes_are_refused(tmp_path: Path) -> None:
    refused = 0
    for seed in range(60):
        path = tmp_path / f"{seed}.tracekit.zip"
        path.write_bytes(rewritten(seed))
        try:
            read_all(str(path))
        except TracekitError:
            refused += 1
    assert refused > 40
