"""Protocol buffers written by hand: an encoder of its own, so that tests need neither Apple's library nor ours."""

from __future__ import annotations

Field = tuple[int, "int | bytes | str"]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: Field) -> bytes:
    """Encode fields: numbers as varints, bytes and text with their length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def array_feature(name: str, dtype: int, *shape: int, more: bytes = b"") -> bytes:
    """An array of a description: 65552 is fp16, 65568 fp32."""
    array = message(*((1, size) for size in shape), (2, dtype)) + more
    return message((1, name), (3, message((5, array))))


def tensor_type(dtype: int, *shape: int | None) -> bytes:
    """A tensor type of a program: 10 is fp16, 11 fp32, 23 int32; None is an open dimension."""
    dimensions = [
        message((2, message((1, 0)))) if size is None else message((1, message((1, size)))) for size in shape
    ]
    return message((1, message((1, dtype), (2, len(shape)), *((3, item) for item in dimensions))))


def text_value(text: str) -> bytes:
    tensor = message((4, message((1, text))))
    return message((2, tensor_type(2)), (3, message((1, tensor))))


def ints_value(*values: int) -> bytes:
    packed = b"".join(varint(value) for value in values)
    tensor = message((2, message((1, packed))))
    return message((2, tensor_type(23, len(values))), (3, message((1, tensor))))


def operation(kind: str, output: tuple[str, bytes], name: str = "", **inputs: str | bytes) -> bytes:
    """An operation with one output; text inputs are names of values, bytes are values in place."""
    arguments = [
        message((1, key), (2, message((1, message((1, value) if isinstance(value, str) else (2, value))))))
        for key, value in inputs.items()
    ]
    attributes = [message((1, "name"), (2, text_value(name)))] if name else []
    return message(
        (1, kind),
        *((2, argument) for argument in arguments),
        (3, message((1, output[0]), (2, output[1]))),
        *((5, attribute) for attribute in attributes),
    )


def program(*operations: bytes, outputs: tuple[str, ...] = ("y",), opset: str = "CoreML7") -> bytes:
    block = message(*((2, name) for name in outputs), *((3, item) for item in operations))
    argument = message((1, "x"), (2, tensor_type(10, 1, 8, None)))
    function = message((1, argument), (2, opset), (3, message((1, opset), (2, block))))
    return message((1, 1), (2, message((1, "main"), (2, function))))


def model(kind: int, content: bytes, *description: Field, version: int = 8) -> bytes:
    return message((1, version), (2, message(*description)), (kind, content))
