"""Models that are damaged or hostile: a sentence, soon, and never a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proto_support import array_feature, ints_value, message, model, operation, program, tensor_type, varint

from tracekit.errors import InputError
from tracekit.mlmodels import read_model

PROGRAM, PIPELINE = 502, 202
WHOLE = model(
    PROGRAM,
    program(
        operation("conv", ("c", tensor_type(10, 1, None)), "conv_0", x="x", strides=ints_value(2, 2)),
        operation("relu", ("y", tensor_type(11, 1, 8)), x="c"),
    ),
    (1, array_feature("x", 65552, 1, 8)),
)


def refuse(folder: Path, data: bytes) -> str:
    path = folder / "Tagger.mlmodel"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_model(path)
    return caught.value.problem


def test_lengths_beyond_the_file_are_refused(tmp_path: Path) -> None:
    assert refuse(tmp_path, varint(502 << 3 | 2) + varint(1 << 63) + b"x") == "ends within a field."
    assert refuse(tmp_path, b"\xff" * 40) == "has an integer of more than ten bytes."
    assert refuse(tmp_path, b"") == "is empty."
    assert refuse(tmp_path, message((1, 8))) == "is no Core ML specification: it has no version, or no model."


def test_pipelines_within_pipelines_end(tmp_path: Path) -> None:
    data = model(PROGRAM, program())
    for _ in range(40):
        data = model(PIPELINE, message((1, data)))
    assert refuse(tmp_path, data) == "has pipelines 8 deep."


def test_types_within_types_end(tmp_path: Path) -> None:
    declared = tensor_type(10, 1)
    for _ in range(500):
        declared = message((2, message((1, declared))))
    assert "deep" in refuse(tmp_path, model(PROGRAM, program(operation("relu", ("y", declared), x="x"))))


def test_operations_within_operations_end(tmp_path: Path) -> None:
    inner = operation("cond", ("y", tensor_type(10, 1)))
    for _ in range(500):
        inner = operation("cond", ("y", tensor_type(10, 1))) + message((4, message((3, inner))))
    assert "deep" in refuse(tmp_path, model(PROGRAM, program(inner)))


def test_brackets_within_brackets_of_a_text_end(tmp_path: Path) -> None:
    folder = tmp_path / "Deep.mlmodelc"
    folder.mkdir()
    head = "program(1.0)\n{ func main<ios17>(fp16 x) { fp16 y = relu(x = "
    for text in (head + "[" * 100_000, head + "(" * 100_000, head.replace("fp16 x", "list<" * 100_000)):
        (folder / "model.mil").write_text(text)
        with pytest.raises(InputError):
            read_model(folder)


@given(st.integers(0, 1 << 32))
def test_any_damage_gives_a_model_or_a_sentence(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = Random(seed)
    data = bytearray(WHOLE)
    for _ in range(random.choice((1, 2, 8))):
        position = random.randrange(len(data)) if data else 0
        match random.randrange(4):
            case 0:
                data[position : position + 1] = random.randbytes(1)
            case 1:
                data[position : position + random.randrange(20)] = b""
            case 2:
                data[position:position] = random.randbytes(random.randrange(20))
            case _:
                data = data[: position + 1]
    path = tmp_path_factory.getbasetemp() / "damaged.mlmodel"
    path.write_bytes(data)
    try:
        read_model(path)
    except InputError as error:
        assert error.problem.endswith(".")
