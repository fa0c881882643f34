"""Compiled neural networks: ``model.espresso.net`` and ``model.espresso.shape``, two JSON files.

The form is not published; what is read here is what public files and descriptions agree on: ``layers`` have
a ``name``, a ``type`` and the names of values in ``bottom`` and ``top``, separated by commas;
``layer_shapes`` has the sizes ``n``, ``k``, ``h`` and ``w`` of each value. System models may hold a
compressed form, which is not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.mlmodels.program import Constant, Function, Operation, Value, ValueType
from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.mlmodels.unreadable import refuse_encrypted, refuse_packed

_MAX_BYTES = 256 << 20


def read_network(network: Path, shapes: Path | None) -> Function:
    """Read a compiled network; ``shapes`` may be absent. Raises ``DamagedModelError``."""
    loaded = _load(network)
    layers = loaded.get("layers")
    if not isinstance(layers, list):
        raise DamagedModelError(f"holds {network.name}, which lists no layers")
    types = _read_shapes(_load(shapes)) if shapes else {}
    operations = tuple(_read_layer(layer, types) for layer in layers if isinstance(layer, dict))
    produced = {value.name for operation in operations for value in operation.outputs}
    used = [name for operation in operations for _, name in operation.inputs]
    inputs = tuple(Value(name, types.get(name)) for name in dict.fromkeys(used) if name not in produced)
    outputs = tuple(sorted(produced - set(used)))
    return Function("main", inputs, outputs, operations)


def _read_layer(layer: Mapping[str, Any], types: Mapping[str, ValueType]) -> Operation:
    attributes: dict[str, Constant] = {
        str(name): value
        for name, value in layer.items()
        if name not in ("name", "type", "bottom", "top") and isinstance(value, bool | int | float | str)
    }
    return Operation(
        str(layer.get("type", "")),
        str(layer.get("name", "")),
        tuple(("", name) for name in _split(layer.get("bottom"))),
        tuple(Value(name, types.get(name)) for name in _split(layer.get("top"))),
        attributes,
    )


def _split(names: object) -> list[str]:
    return [name for name in names.split(",") if name] if isinstance(names, str) else []


def _read_shapes(loaded: Mapping[str, Any]) -> dict[str, ValueType]:
    shapes = loaded.get("layer_shapes")
    if not isinstance(shapes, dict):
        return {}
    return {
        str(name): ValueType("", tuple(_read_size(shape.get(axis)) for axis in "nkhw"))
        for name, shape in shapes.items()
        if isinstance(shape, dict)
    }


def _read_size(size: object) -> int | None:
    return size if type(size) is int else None


def _load(path: Path) -> Mapping[str, Any]:
    if path.stat().st_size > _MAX_BYTES:
        raise DamagedModelError(f"holds {path.name} of more than {_MAX_BYTES:,} bytes")
    data = path.read_bytes()
    refuse_packed(data, path.name)
    try:
        loaded = json.loads(data)
    except ValueError as error:
        refuse_encrypted(data, path.name)
        raise DamagedModelError(f"holds {path.name}, which is no JSON") from error
    return loaded if isinstance(loaded, dict) else {}
