"""The messages and fields of pprof's profile.proto that tracekit writes."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tracekit.pprof"  # names no field on the wire, and clashes with no other copy of the file
# "*" is repeated. Names and numbers: proto/profile.proto in github.com/google/pprof.
_MESSAGES: dict[str, list[tuple[int, str, str]]] = {
    "Profile": [
        (1, "sample_type", "ValueType*"),
        (2, "sample", "Sample*"),
        (3, "mapping", "Mapping*"),
        (4, "location", "Location*"),
        (5, "function", "Function*"),
        (6, "string_table", "string*"),
        (9, "time_nanos", "int64"),
        (10, "duration_nanos", "int64"),
        (11, "period_type", "ValueType"),
        (12, "period", "int64"),
        (13, "comment", "int64*"),
        (14, "default_sample_type", "int64"),
    ],
    "ValueType": [(1, "type", "int64"), (2, "unit", "int64")],
    "Sample": [(1, "location_id", "uint64*"), (2, "value", "int64*"), (3, "label", "Label*")],
    "Label": [(1, "key", "int64"), (2, "str", "int64")],
    "Mapping": [
        (1, "id", "uint64"),
        (2, "memory_start", "uint64"),
        (3, "memory_limit", "uint64"),
        (5, "filename", "int64"),
        (6, "build_id", "int64"),
        (7, "has_functions", "bool"),
        (8, "has_filenames", "bool"),
        (9, "has_line_numbers", "bool"),
        (10, "has_inline_frames", "bool"),
    ],
    "Location": [
        (1, "id", "uint64"),
        (2, "mapping_id", "uint64"),
        (3, "address", "uint64"),
        (4, "line", "Line*"),
    ],
    "Line": [(1, "function_id", "uint64"), (2, "line", "int64")],
    "Function": [
        (1, "id", "uint64"),
        (2, "name", "int64"),
        (3, "system_name", "int64"),
        (4, "filename", "int64"),
    ],
}


def make_message_class(name: str) -> Any:
    """Return the class of a message."""
    return message_factory.GetMessageClass(
        _build_descriptor_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}")
    )


@cache
def _build_descriptor_pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="tracekit/pprof.proto", package=_PACKAGE, syntax="proto3")
    of = descriptor_pb2.FieldDescriptorProto
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for number, name, declared in fields:
            label = of.LABEL_REPEATED if declared.endswith("*") else of.LABEL_OPTIONAL
            field = described.field.add(name=name, number=number, label=label)
            kind = declared.rstrip("*")
            if kind in _MESSAGES:
                field.type, field.type_name = of.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.type = getattr(of, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool
