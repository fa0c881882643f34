"""Packed and encrypted models: named in a sentence by their bytes, whatever they are called."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from random import Random

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import read_model

ENCRYPTED = Random(7).randbytes(20_000)
SENTENCE = r"in an encrypted or compressed form \(all bytes are about as frequent\), which is not read"


def folder(path: Path, **files: bytes) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name.replace("__", ".")).write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["Tagger.mlmodel", "tagger.bin"])
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"pbze\0\0\0\0....", r"is in a packed form \(pbze\), which is not read"),
        (b"bvx2....", r"is in a packed form \(LZFSE\)"),
        (ENCRYPTED, f"is {SENTENCE}"),
        (zlib.compress(Random(1).randbytes(9_000)), f"is {SENTENCE}"),
    ],
)
def test_a_file_is_named_as_packed_or_encrypted(
    tmp_path: Path, name: str, data: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=sentence):
        read_model(tmp_path / name)


@pytest.mark.parametrize("file", ["model__mil", "model__espresso__net"])
def test_a_compiled_model_names_the_file(tmp_path: Path, file: str) -> None:
    plain = file.replace("__", ".")
    with pytest.raises(InputError, match=rf"holds {plain} in a packed form \(pbze\)"):
        read_model(folder(tmp_path / "a.mlmodelc", **{file: b"pbze...."}))
    with pytest.raises(InputError, match=rf"holds {plain} {SENTENCE}"):
        read_model(folder(tmp_path / "b.mlmodelc", **{file: ENCRYPTED, "coremldata__bin": b"x"}))


@pytest.mark.parametrize(
    "data", [b"x" * 5_000, bytes(5_000), json.dumps(list(range(3_000))).encode(), ENCRYPTED[:500]]
)
def test_text_zeros_and_short_files_are_not_called_encrypted(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.mlmodel").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_model(tmp_path / "x.mlmodel")
    assert "encrypted" not in caught.value.problem
