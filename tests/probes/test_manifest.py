"""Manifests of probes: written, read back, and refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tracekit.errors import InputError
from tracekit.probes.probe_manifest import ProbeManifest, format_manifest, read_manifest
from tracekit.probes.probe_question import list_probes

PROBES = list_probes(["max_pool:kernel=2+13", "softmax:dtype=fp32", "gather_runtime"])
MANIFEST = ProbeManifest(
    PROBES, ("all", "cpuOnly"), 20, {probe.name: "ab" * 32 for probe in PROBES}, {"tracekit": "0.1.0"}
)
Change = Callable[[dict[str, Any]], Any]


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "probes.json").write_text(format_manifest(MANIFEST))
    assert read_manifest(tmp_path) == MANIFEST
    assert read_manifest(tmp_path / "probes.json") == MANIFEST


def first(document: dict[str, Any], **values: Any) -> None:
    document["probes"][1] |= values


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda document: document.update(schema="tracekit-model/1"), "its schema is 'tracekit-model/1'"),
        (lambda document: document.pop("schema"), "its schema is missing or no text"),
        (lambda document: document.update(probes=[]), "does not list between 1 and 200 probes"),
        (lambda document: document.update(probes={"a": 1}), "does not list between 1 and 200 probes"),
        (lambda document: document.update(probes=[[]]), "has a probe that is no object"),
        (lambda document: document.update(settings=["everything"]), "has other settings than all, cpuAndGPU"),
        (lambda document: document.update(settings=[[]]), "has other settings than"),
        (lambda document: document.update(calls=1 << 70), "does not state between 1 and 1,000 calls"),
        (lambda document: document.update(calls=True), "does not state between 1 and 1,000 calls"),
        (lambda document: document["probes"].pop(0), "has no control for max_pool_kernel2_stride1_fp16_128x64x64"),
        (lambda document: document["probes"].append(document["probes"][1]), "has two probes of one name"),
        (lambda document: first(document, name="../../etc"), "has a probe with the name '../../etc'"),
        (lambda document: first(document, name="x" * 500), "letters, digits and _ are a name"),
        (lambda document: first(document, name="\x1b[31m"), r"the name '\x1b[31m'"),
        (lambda document: first(document, operator="lstm"), "with the unknown operation 'lstm'"),
        (lambda document: first(document, operator=[]), "with the unknown operation missing or no text"),
        (lambda document: first(document, shape=[1, 2]), "without channels, height and width"),
        (lambda document: first(document, shape=[1, 2, -3]), "without channels, height and width"),
        (lambda document: first(document, parameters={"kernel": 2}), "with other parameters than kernel, stride"),
        (lambda document: first(document, parameters={"kernel": "2", "stride": 1}), "with a kernel that is not between 1 and 64"),
        (lambda document: first(document, parameters={"kernel": 2, "stride": 0}), "with a stride that is not between 1 and 16"),
        (lambda document: first(document, shape=[1, 2, 1 << 40]), "without channels, height and width"),
        (lambda document: first(document, dtype=["fp16"]), "with a data type that is none of fp16, fp32"),
    ],
)  # fmt: skip
def test_another_manifest_is_a_sentence(tmp_path: Path, change: Change, sentence: str) -> None:
    document = json.loads(format_manifest(MANIFEST))
    change(document)
    (tmp_path / "probes.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_manifest(tmp_path)
    assert sentence in caught.value.problem


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b'"x"', b"{}"])
def test_other_files_are_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "probes.json").write_bytes(content)
    with pytest.raises(InputError, match=r"probes\.json: is no (JSON|manifest of probes)"):
        read_manifest(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path / "absent.json")


def test_mutated_manifests_are_read_or_refused(tmp_path: Path) -> None:
    random, text = Random(3), format_manifest(MANIFEST).encode()
    path = tmp_path / "probes.json"
    read = 0
    for _ in range(2_000):
        data = bytearray(text)
        for _ in range(random.choice((1, 3))):
            position = random.randrange(len(data))
            data[position : position + random.randrange(3)] = random.choice(
                (b"", b"0", b"[]", b"null", b"\xff", b"-1", b'"')
            )
        path.write_bytes(data)
        try:
            read_manifest(path)
            read += 1
        except InputError as error:
            assert error.problem.endswith(".")
    assert read > 20
