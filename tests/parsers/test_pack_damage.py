"""Packs that are damaged or hostile: nothing in one is trusted."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pack_support import TABLE, changed, in_memory, packed, read_all

from tracekit.detect import open_source
from tracekit.errors import InputError, UsageError
from tracekit.parsers.pack.format import MANIFEST


@pytest.fixture
def pack(tmp_path: Path) -> str:
    return packed(tmp_path, in_memory(TABLE))


def refused(path: str) -> str:
    with pytest.raises(InputError) as caught:
        read_all(path)
    assert caught.value.source == path
    return caught.value.problem


def column(name: str) -> Callable[[Any], Any]:
    def find(document: Any) -> Any:
        return next(c for c in document["runs"][0]["tables"][0]["columns"] if c["mnemonic"] == name)

    return find


def test_a_pack_that_is_cut_off(pack: str) -> None:
    Path(pack).write_bytes(Path(pack).read_bytes()[:-200])
    assert "is cut off or damaged" in refused(pack)


def test_a_member_that_is_missing(pack: str) -> None:
    assert refused(changed(pack, data_0=None)) == "data/0 is missing."


def test_a_manifest_that_is_no_json(pack: str) -> None:
    assert "is not valid JSON" in refused(changed(pack, **{MANIFEST: b"{"}))
    assert "is not valid JSON" in refused(changed(pack, **{MANIFEST: b"[" * 100_000}))
    assert "no object at manifest" in refused(changed(pack, **{MANIFEST: b"[]"}))


def test_a_newer_format_leads_to_the_advice_to_update(pack: str) -> None:
    problem = refused(changed(pack, manifest=lambda m: m.update(format="tracekit-pack/2")))
    assert problem == "is a pack of version 2; this tracekit reads version 1: update tracekit."


def test_members_of_the_same_name(pack: str) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(pack, "a") as archive:
        archive.writestr("data/0", b"x")
    assert "members of the same name" in refused(pack)


CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a run twice": (lambda m: m["runs"].append(m["runs"][0]), "lists a run twice"),
    "no runs": (lambda m: m.pop("runs"), "has no valid manifest.runs"),
    "a number for text": (lambda m: m["runs"][0]["info"].update(device=5), "info.device"),
    "true for a number": (lambda m: m["runs"][0]["info"].update(pid=True), "info.pid"),
    "a pid below 0": (lambda m: m["runs"][0]["info"].update(pid=-1), "info.pid"),
    "an unknown severity": (lambda m: m["runs"][0]["issues"][0].update(severity="bad"), "severity"),
    "an unknown kind": (lambda m: column("time")(m).update(kind="pickle"), "an unknown kind"),
    "another kind": (lambda m: column("time")(m).update(kind="float"), "another type than float64"),
    "a column twice": (lambda m: column("time")(m).update(mnemonic="id"), "or twice"),
    "rows that are not there": (lambda m: m["runs"][0]["tables"][0].update(rows=4), "lists other rows"),
    "tables that are not there": (lambda m: m["runs"][0].update(tables=[]), "lists other rows"),
    "other rows": (
        lambda m: (
            m["runs"][0]["tables"][0].update(rows=4),
            m["runs"][0]["contents"][0].update(row_count=4),
        ),
        "3 cells for 4 rows",
    ),
    "another count": (lambda m: column("share")(m)["values"].update(count=2), "bytes instead of 16"),
    "another type": (
        lambda m: column("share")(m)["values"].update(type="int64"),
        "another type than float64",
    ),
    "threads that are not there": (lambda m: m["runs"][0]["tables"][0].update(threads=7), "no threads 7"),
    "an unknown core": (
        lambda m: m["runs"][0]["tables"][0]["cores"][0].update(type="X"),
        "refers to an invalid value",
    ),
    "parts for a list": (lambda m: column("label")(m).update(kind="ints"), "refers to an invalid value"),
    "more cells than a pack may have": (
        lambda m: m["runs"][0].update(more=[{"type": "int64", "count": 2**30}]),
        "far more than a recording",
    ),
    "more text than a pack may have": (
        lambda m: m["runs"][0].update(more=[{"member": "data/0", "bytes": 2**30}]),
        "far more than a recording",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_of_another_shape(name: str, pack: str) -> None:
    change, problem = CHANGES[name]

    assert problem in refused(changed(pack, manifest=lambda document: change(document) and None))


def with_array(pack: str, find: Callable[[Any], Any], values: np.ndarray[Any, Any]) -> str:
    """Store other values for one array, plainly."""
    data = values.view(np.uint8).reshape(len(values), values.dtype.itemsize).T.tobytes()

    def point(document: Any) -> None:
        reference = find(document)
        reference.clear()
        reference.update(member="data/own", type=str(values.dtype), count=len(values))

    return changed(pack, manifest=point, data_own=data)


REFERENCES: dict[str, tuple[Callable[[Any], Any], list[int], str]] = {
    "a thread": (lambda m: column("thread")(m)["values"], [2, 0, 0], "refers to a value that does not exist"),
    "a process": (
        lambda m: column("process")(m)["values"],
        [0, 0, -2],
        "refers to a value that does not exist",
    ),
    "a stack": (lambda m: column("stack")(m)["values"], [0, 0, 2], "refers to a value that does not exist"),
    "a word": (lambda m: column("word")(m)["codes"], [0, 0, 2], "refers to a value that does not exist"),
    "a composite cell": (
        lambda m: column("label")(m)["codes"],
        [0, 9, 0],
        "refers to a value that does not exist",
    ),
    "a frame": (lambda m: m["stacks"][0]["frame_ids"], [0, 2], "frames or binaries that do not exist"),
    "no frame": (lambda m: m["stacks"][0]["frame_ids"], [0, -1], "frames or binaries that do not exist"),
    "a binary": (
        lambda m: m["stacks"][0]["frames"]["binary_id"]["values"],
        [0, 1],
        "binaries that do not exist",
    ),
    "a name": (lambda m: m["threads"][0]["name"]["codes"], [0, -1], "refers to an invalid value"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_an_invalid_reference(name: str, pack: str) -> None:
    find, values, problem = REFERENCES[name]
    assert problem in refused(with_array(pack, find, np.array(values, np.int32)))


@pytest.mark.parametrize("offsets", [[0, 3, 2], [1, 2, 2], [0, 2, 1], [0, -1, 2], []])
def test_stacks_that_do_not_follow_one_another(offsets: list[int], pack: str) -> None:
    path = with_array(pack, lambda m: m["stacks"][0]["offsets"], np.array(offsets, np.int64))
    assert "do not follow one another" in refused(path)


@pytest.mark.integration
def test_a_gigabyte_in_a_small_member_is_not_unpacked(pack: str) -> None:
    def point(document: Any) -> None:
        column("share")(document)["values"].update(member="data/own")

    assert "data/own has 200000000 bytes instead of 24" in refused(
        changed(pack, manifest=point, data_own=bytes(200_000_000))
    )


def test_a_long_name_in_many_rows_is_not_expanded(pack: str) -> None:
    rows = 1_000_000
    words = json.dumps(["x" * 100_000]).encode()

    def point(document: Any) -> None:
        zeros = {"member": "data/zeros", "type": "int64", "count": rows}
        codes = {"member": "data/codes", "type": "int32", "count": rows}
        text = {"codes": codes, "words": {"member": "data/words", "bytes": len(words)}}
        document["threads"][0] = {
            "tid": {"values": zeros},
            "name": text,
            "pid": {"values": zeros},
            "process": text,
        }

    path = changed(
        pack, manifest=point, data_zeros=bytes(8 * rows), data_codes=bytes(4 * rows), data_words=words
    )
    assert "far more text" in refused(path)


def test_a_composite_cell_that_is_nested_too_deep(pack: str) -> None:
    deep = ("[" + '[["a",' * 40 + "[]" + "]]" * 40 + "]").encode()

    def point(document: Any) -> None:
        column("label")(document)["cells"] = {"member": "data/own", "bytes": len(deep)}

    assert "refers to an invalid value" in refused(changed(pack, manifest=point, data_own=deep))


def test_a_pack_with_other_inputs_is_refused(pack: str) -> None:
    with pytest.raises(UsageError, match="is a pack: name it alone"):
        open_source([pack, pack])


@pytest.mark.integration
def test_a_pack_is_no_bundle(pack: str) -> None:
    with pytest.raises(UsageError, match=r"not a \.trace bundle"):
        open_source(pack, via="native")


def test_more_composite_cells_than_rows(pack: str) -> None:
    cells = b"[[],[],[],[]]"

    def point(document: Any) -> None:
        column("label")(document)["cells"] = {"member": "data/own", "bytes": len(cells)}

    assert "refers to an invalid value" in refused(changed(pack, manifest=point, data_own=cells))
