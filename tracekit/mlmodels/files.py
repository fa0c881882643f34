"""A path to a model → ``MLModel``: recognises a file or folder by its content, and adds its metadata."""

from __future__ import annotations

import json
import mmap
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracekit.errors import InputError
from tracekit.mlmodels.compiled_asset import CompiledAsset, is_compiled_asset, read_compiled_asset
from tracekit.mlmodels.coreai import add_asset_metadata, read_module
from tracekit.mlmodels.coreml import read_specification
from tracekit.mlmodels.counts import describe_disagreement
from tracekit.mlmodels.espresso import read_network
from tracekit.mlmodels.mil_text import read_program
from tracekit.mlmodels.mistaken_recordings import describe_recording
from tracekit.mlmodels.mlir_bytecode import MAGIC
from tracekit.mlmodels.program import Feature, MLModel, ValueType
from tracekit.mlmodels.protobuf_wire import DamagedModelError
from tracekit.mlmodels.unreadable import SAMPLE_BYTES, refuse_encrypted, refuse_packed

KINDS = ".mlmodel, .mlpackage, .mlmodelc, .aimodel, .aimodelx, .aimodelc"
"""The kinds of models that are read, for messages and help."""

_PACKAGES = (".mlpackage", ".mlmodelc", ".aimodel")
"""The endings of models that are folders."""

_PROGRAM = b"program("
"""How the text of an ML Program begins."""
_COMPILED = "coremldata.bin"

_MAX_TEXT_BYTES = 256 << 20
_MAX_JSON_BYTES = 64 << 20
_MAX_FILES = 20_000
_MAX_STAGES = 1_000


def read_model(path: str | os.PathLike[str]) -> MLModel:
    """Read a model file or folder. Weights are not read. Raises ``InputError``."""
    path = Path(path)
    try:
        model = _read_folder(path, 0) if path.is_dir() else _read_file(path)
        return replace(model, size_bytes=sum(_iter_sizes(path)))
    except DamagedModelError as error:
        problem, advice = describe_recording(path, "model") or (str(error), _ADVICE)
        raise InputError(str(path), f"{problem}.", advice) from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from error
    except RecursionError as error:
        raise InputError(str(path), "is nested too deep to be read.", _ADVICE) from error


_ADVICE = f"A model is one of {KINDS}; export or copy it again if it is damaged."


def is_model(path: Path) -> bool:
    """Return True for a file or folder that is a model by its first bytes, its files, or ``.mlmodel``."""
    try:
        if path.is_dir():
            named = any((path / name).is_file() for name in (*_FOLDERS, _COMPILED))
            return named or is_compiled_asset(path)
        if not path.is_file():  # a pipe is read once
            return False
        with path.open("rb") as file:
            return path.suffix == ".mlmodel" or file.read(len(_PROGRAM)).startswith((MAGIC, _PROGRAM))
    except OSError:
        return False


def find_enclosing_model(path: Path) -> Path:
    """Return the model that a path inside of it belongs to: the outermost of its folders that is a model's.

    A path that is in no model's folder is returned as it is.
    """
    folders = [folder for folder in path.parents if folder.suffix in _PACKAGES and folder.is_dir()]
    return folders[-1] if folders else path


def _read_file(path: Path) -> MLModel:
    require_regular_file(path)
    with path.open("rb") as file:
        # Not closed here: views of it are in the tables of a module, and the last of them closes it.
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if bytes(view[: len(MAGIC)]) == MAGIC:
        return read_module(view, path)
    if bytes(view[: len(_PROGRAM)]) == _PROGRAM:
        return MLModel(path, "ML Program", "text", functions=tuple(read_program(_read_text(path))))
    refuse_packed(view[:8].tobytes(), "")
    try:
        return read_specification(view, path)
    except DamagedModelError as error:
        refuse_encrypted(view[:SAMPLE_BYTES].tobytes(), "")
        if path.suffix == ".mlmodel":
            raise
        raise DamagedModelError(f"is no model; read as a Core ML specification, it {error}") from error


def _read_folder(path: Path, depth: int) -> MLModel:
    if depth > _MAX_DEPTH:
        raise DamagedModelError(f"has pipelines {depth} deep")
    for name, read in _FOLDERS.items():
        if _has_file(path, name):
            return read(path)
    if _has_file(path, _COMPILED):
        return _read_other_compiled(path, depth)
    if is_compiled_asset(path):
        return _read_compiled_asset(path)
    raise DamagedModelError(f"is no model: it holds none of {', '.join(_FOLDERS)}, {_COMPILED}")


# Packages ---------------------------------------------------------------------------------------------------


def _read_package(path: Path) -> MLModel:
    """Read a ``.mlpackage``: ``Manifest.json`` names the specification among its items."""
    manifest = _load_json(path / "Manifest.json")
    items = manifest.get("itemInfoEntries") if isinstance(manifest, dict) else None
    root = manifest.get("rootModelIdentifier") if isinstance(manifest, dict) else None
    item = items.get(root) if isinstance(items, dict) and isinstance(root, str) else None
    named = item.get("path") if isinstance(item, dict) else None
    if not isinstance(named, str):
        raise DamagedModelError("has a Manifest.json that names no model")
    inner = path / "Data" / named
    try:
        _refuse_link(inner)
        is_inside = inner.resolve().is_relative_to(path.resolve())
    except ValueError as error:  # a name that no file system has
        raise DamagedModelError("has a Manifest.json that names no file") from error
    if not is_inside:
        raise DamagedModelError("has a Manifest.json that names a file outside of the package")
    model = _read_file(inner)
    weights = sum(size for file, size in iter_files(path) if file != inner and file.parent != path)
    return replace(model, path=path, weight_file_bytes=weights, weight_folder=inner.parent)


# Compiled models --------------------------------------------------------------------------------------------


def _read_compiled_program(path: Path) -> MLModel:
    functions = tuple(read_program(_read_text(path / "model.mil")))
    return _add_metadata(MLModel(path, "ML Program", "compiled", functions=functions), path)


def _read_compiled_network(path: Path) -> MLModel:
    shapes = path / "model.espresso.shape" if _has_file(path, "model.espresso.shape") else None
    function = read_network(path / "model.espresso.net", shapes)
    return _add_metadata(MLModel(path, "neural network", "compiled", functions=(function,)), path)


def _read_other_compiled(path: Path, depth: int) -> MLModel:
    """Read a compiled pipeline, whose stages are folders in it, or a compiled model without operations."""
    stages = []
    for number in range(_MAX_STAGES):
        folder = path / f"model{number}"
        if not folder.is_dir():
            break
        _refuse_link(folder)
        stages.append((folder.name, _read_folder(folder, depth + 1)))
    limits = () if stages else ("What it computes is in coremldata.bin, which has no published form.",)
    form = "pipeline" if stages else "compiled model"
    return _add_metadata(MLModel(path, form, "compiled", stages=tuple(stages), limits=limits), path)


_MAX_DEPTH = 8


def _read_asset(path: Path) -> MLModel:
    """Read a ``.aimodel``: the program's bytecode, and metadata."""
    model = replace(_read_file(path / "main.mlirb"), path=path)
    has_metadata = _has_file(path, "metadata.json")
    return add_asset_metadata(model, _load_json(path / "metadata.json")) if has_metadata else model


def _read_compiled_asset(path: Path) -> MLModel:
    """Read a compiled Core AI model; it has operations where it holds bytecode beside the program."""
    files = sorted(iter_files(path))
    asset = read_compiled_asset(path, files)
    model = MLModel(path, "compiled Core AI program", "", is_compiled=True, compiled_asset=asset)
    bytecode = sorted(file for file, _ in files if file.parent == path and file.suffix == ".mlirb")
    for file in bytecode:
        _refuse_link(file)
    limits = [*asset.limits, *_describe_limits(asset)]
    if bytecode:
        source = _read_file(bytecode[0])
        model = replace(model, functions=source.functions, inputs=source.inputs, outputs=source.outputs)
        limits.append(
            f"The operations are those of {bytecode[0].name}; the compiled program may have others."
        )
    else:
        limits.append(
            "Its operations with their types are in a compiled program, whose form is not published: only"
            " the names of operations in it are listed."
        )
    return replace(model, limits=tuple(limits))


def _describe_limits(asset: CompiledAsset) -> Iterator[str]:
    regions = [region for delegate in asset.delegates for region in delegate.regions]
    if regions:
        yield "A region's engine is the one in its name: what it was compiled for, not where it ran."
    elif asset.delegates:
        yield "No name in its delegates is that of a region: which engines serve them is not shown."
    else:
        yield "It holds no delegates: no name in it is that of an engine."


_FOLDERS: Mapping[str, Callable[[Path], MLModel]] = {
    "Manifest.json": _read_package,
    "main.mlirb": _read_asset,
    "model.mil": _read_compiled_program,
    "model.espresso.net": _read_compiled_network,
}
"""What each kind of folder has, and its reader. Of a compiled model with both forms, the program is read."""


def _add_metadata(model: MLModel, path: Path) -> MLModel:
    """Return a compiled model with what ``metadata.json`` says of it: features, precisions, counts."""
    weights = sum(size for file, size in iter_files(path) if "weight" in str(file.relative_to(path)))
    model = replace(model, is_compiled=True, weight_file_bytes=weights, weight_folder=path)
    if not _has_file(path, "metadata.json"):
        return model
    loaded = _load_json(path / "metadata.json")
    entry = loaded[0] if isinstance(loaded, list) and loaded else loaded
    if not isinstance(entry, dict):
        return model
    histogram = entry.get("mlProgramOperationTypeHistogram") or entry.get("neuralNetworkLayerTypeHistogram")
    version = entry.get("specificationVersion")
    texts = {name: entry.get(key) for name, key in _METADATA.items()}
    model = replace(
        model,
        version=f"specification {version}, compiled" if isinstance(version, int) else model.version,
        inputs=tuple(_read_schema(entry.get("inputSchema"))),
        outputs=tuple(_read_schema(entry.get("outputSchema"))),
        states=tuple(_read_schema(entry.get("stateSchema"))),
        metadata={name: text for name, text in texts.items() if isinstance(text, str) and text},
        stated_counts=_read_counts(histogram),
    )
    disagreement = describe_disagreement(model)
    return replace(model, limits=(*model.limits, disagreement)) if disagreement else model


_METADATA = {
    "description": "shortDescription",
    "version": "version",
    "author": "author",
    "license": "license",
    "compute precision": "computePrecision",
    "storage precision": "storagePrecision",
}


def _read_counts(histogram: object) -> dict[str, int]:
    if not isinstance(histogram, dict):
        return {}
    return {str(kind): count for kind, count in histogram.items() if type(count) is int}


def _read_schema(schema: object) -> Iterator[Feature]:
    for entry in schema if isinstance(schema, list) else ():
        if isinstance(entry, dict):
            flexible = "range" if entry.get("hasShapeFlexibility") == "1" else ""
            if flexible and "enumerated" in str(entry.get("shapeFlexibility", "")).lower():
                flexible = "enumerated"
            shape = _read_shape(entry.get("shape"))
            dtype = _SCHEMA_DTYPES.get(
                str(entry.get("dataType")), str(entry.get("dataType") or entry.get("type") or "")
            )
            container = str(entry.get("type", "")).lower().replace("multiarray", "array")
            yield Feature(str(entry.get("name", "")), ValueType(dtype, shape, container), flexible)


_SCHEMA_DTYPES = {"Float16": "fp16", "Float32": "fp32", "Double": "fp64", "Int32": "int32", "Int8": "int8"}


def _read_shape(shape: object) -> tuple[int | None, ...] | None:
    try:
        loaded = json.loads(shape) if isinstance(shape, str) and shape else []
    except ValueError:
        return None
    return (
        tuple(size if isinstance(size, int) else None for size in loaded)
        if isinstance(loaded, list)
        else None
    )


# Files ------------------------------------------------------------------------------------------------------


def require_regular_file(path: Path) -> None:
    """Raise ``DamagedModelError`` for an empty file, a pipe and a device. Raises ``OSError``."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe is read once, and a device may have no end
        raise DamagedModelError("is no file; save what it holds to one, and name that")
    if status.st_size == 0:
        raise DamagedModelError("is empty")


def _has_file(folder: Path, name: str) -> bool:
    _refuse_link(folder / name)
    return (folder / name).is_file()


def _refuse_link(path: Path) -> None:
    """Raise ``DamagedModelError`` for a link in a model's folder, which can lead to any file."""
    if path.is_symlink():
        raise DamagedModelError(
            f"holds {path.name}, which is a link, and links are not followed; copy the folder with what its"
            " links lead to (cp -RL)"
        )


def iter_files(path: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files of a folder with their sizes; links are not followed. Raises ``OSError``."""

    def refuse(error: OSError) -> None:
        if error.filename == str(path):
            raise error
        name = Path(error.filename).relative_to(path)
        raise DamagedModelError(f"holds {name}, which cannot be read: {error.strerror}") from error

    count = 0
    for folder, _, names in os.walk(path, onerror=refuse):
        for name in sorted(names):
            count += 1
            if count > _MAX_FILES:
                raise DamagedModelError(f"holds more than {_MAX_FILES:,} files")
            file = Path(folder) / name
            yield file, file.lstat().st_size


def _iter_sizes(path: Path) -> Iterator[int]:
    if path.is_dir():
        yield from (size for _, size in iter_files(path))
    else:
        yield path.stat().st_size


def _read_text(path: Path, most_bytes: int = _MAX_TEXT_BYTES) -> str:
    size = path.stat().st_size
    if size > most_bytes:
        raise DamagedModelError(f"holds {path.name} of {size:,} bytes; at most {most_bytes:,} are read")
    data = path.read_bytes()
    refuse_packed(data, path.name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        refuse_encrypted(data, path.name)
        return data.decode("utf-8", "replace")


def _load_json(path: Path) -> Any:
    try:
        return json.loads(_read_text(path, _MAX_JSON_BYTES))
    except ValueError as error:
        raise DamagedModelError(f"holds {path.name}, which is no JSON") from error
