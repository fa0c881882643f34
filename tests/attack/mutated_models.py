"""The kinds of model files that ``mutations`` changes; assets of Core AI where some are at hand."""

from __future__ import annotations

import json
import plistlib
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from mlmodels.proto_support import (
    array_feature,
    ints_value,
    message,
    model,
    operation,
    program,
    tensor_type,
    text_value,
)

from attack.mutated import Dice, Kind, changed, changed_value, of
from attack.runner import ROOT
from tracekit.mlmodels import MLModel, read_model
from tracekit.report.document.markdown_printer import print_markdown
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.models.document import build_model
from tracekit.report.models.json import to_json

PIPELINE, NETWORK, PROGRAM = 202, 500, 502
KERNEL = message((1, 8), (20, b"\x03\x03"), (40, b"\x02\x02"))
LAYERS = [
    message((1, "c"), (2, "x"), (3, "f"), (100, KERNEL)),
    message((1, "mine"), (2, "f"), (3, "y"), (500, message((10, "Swish")))),
]
WHOLE = model(
    PROGRAM,
    program(
        operation("const", ("k", tensor_type(23, 2)), val=ints_value(3, 3)),
        operation("conv", ("c", tensor_type(10, 1, None)), "conv_0", x="x", strides=ints_value(2, 2)),
        operation("cast", ("y", tensor_type(11, 1, 8)), x="c", dtype=text_value("fp32")),
    ),
    (1, array_feature("x", 65552, 1, 8, more=message((21, message((1, message((1, 8)))))))),
    (13, message((1, "cache"), (3, message((8, message((1, message((1, 64), (2, 65552))))))))),
)
NETWORKS = model(NETWORK, message(*((1, layer) for layer in LAYERS)), (1, array_feature("x", 65568, 3, 8, 8)))
SPECIFICATIONS = (WHOLE, NETWORKS, model(PIPELINE, message((1, WHOLE), (1, NETWORKS), (2, "a"), (2, "b"))))

TEXTS = (
    b"""program(1.0)
[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremlc-version", "3500.32.1"}})]
{
    func main<ios17>(tensor<fp16, [1, ?]> x, state<tensor<fp16, [1, 8]>> s) [FlexibleShape = tuple<string>(("a"))] {
            tensor<int32, [2]> k = const()[name = tensor<string, []>("s"), val = tensor<int32, [2]>([2, 2])];
            tensor<fp16, [4]> w = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("w.bin"), offset = uint64(64)))];
            tensor<fp16, [1, 8]> c = ios17.conv(strides = k, weight = w, x = x)[name = string("a \\"b\\"")];
            tensor<fp16, [1]> p, tensor<int32, [1]> q = topk(values = (c, s), k = int32(-3))[cost = fp64(0x1.8p+1)];
        } -> (p, q);
}
""",
)
NETWORK_FILES = {
    "model.espresso.net": {
        "format_version": 200,
        "layers": [{"name": "c", "type": "convolution", "bottom": "x,z", "top": "f", "K": 3, "weights": {"W": 1}}],
    },
    "model.espresso.shape": {"layer_shapes": {"f": {"n": 1, "k": 8, "h": 4, "w": 2}}},
    "metadata.json": [
        {
            "specificationVersion": 5,
            "neuralNetworkLayerTypeHistogram": {"Convolution": 1},
            "inputSchema": [{"name": "x", "type": "MultiArray", "shape": "[1, 8]", "hasShapeFlexibility": "1"}],
            "stateSchema": [],
        }
    ],
}  # fmt: skip
PACKAGE_LIST = {
    "itemInfoEntries": {"a": {"path": "com.apple.CoreML/model.mlmodel"}, "b": {"path": "com.apple.CoreML/weights"}},
    "rootModelIdentifier": "a",
}  # fmt: skip
DESCRIPTION = {
    "entryFunctionName": "main_x",
    "deviceDescriptor": [0, 40, "h17c"],
    "compilationDescriptor": {"preferredDevice": 2, "useANELLIR": True, "inputShapeRanges": None},
}
MODULE = {
    "File Name": "a.mpsgraph",
    "Entry Function Attributes": {"f": ["mps.x"]},
    "Used In Cache": [json.dumps(DESCRIPTION)],
}
PLIST = {
    "Package Version": {
        "7.0.63": {
            "ANERegionsHash": {"h17c": "A_B"},
            "Optimized Modules": {json.dumps([json.dumps(DESCRIPTION)]): MODULE},
            "Binary File Resources": {"0": {"File Name": "b"}},
        }
    }
}
PROGRAM_FILE = b"odix\0\0\5\0" + b"coreai.softmax\0" * 3 + b"main_x_ANE_region_0_0\0main_x_GPU_region_1\0"


def draw(read: MLModel, data: bytes) -> None:
    """Print one of the outputs."""
    match zlib.crc32(data) % 3:
        case 0:
            json.loads(to_json(read).encode(), parse_constant=_refuse)
        case 1:
            print_markdown(build_model(read)).encode()
        case _:
            print_text(build_model(read), Page(100)).encode()


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def read_as(
    name: str, folder_name: str = "", beside: dict[str, bytes] | None = None
) -> Callable[[bytes, Path], None]:
    """Return a reader of a file, or of a folder that holds it under ``name`` beside other files."""

    def read(data: bytes, folder: Path) -> None:
        root = folder / folder_name if folder_name else folder / name
        for inner, content in {**(beside or {}), name: data}.items():
            path = root / inner if folder_name else root
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        draw(read_model(root), data)

    return read


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def changed_json(value: object) -> Callable[[Dice], bytes]:
    """Other values in the JSON, or other bytes."""
    return lambda dice: (
        as_json(changed_value(dice, value)) if dice.random() < 0.7 else changed(dice, as_json(value))
    )


def changed_plist(dice: Dice) -> bytes:
    fmt = dice.choice((plistlib.FMT_XML, plistlib.FMT_BINARY))
    if dice.random() < 0.5:
        return changed(dice, plistlib.dumps(PLIST, fmt=fmt))
    for _ in range(20):
        try:
            return plistlib.dumps(changed_value(dice, PLIST), fmt=fmt)
        except (TypeError, OverflowError, ValueError, AttributeError):
            continue  # a value that no list holds
    return b""


@cache
def bytecode() -> tuple[bytes, ...]:
    """Programs of Core AI: those of the collected models, where they are."""
    folder = ROOT.parent / "shared" / "models" / "coreai"
    return tuple(path.read_bytes() for path in sorted(folder.glob("*.aimodel/main.mlirb")))


COMPILED = {name: as_json(value) for name, value in NETWORK_FILES.items()}
INNER_PACKAGE = "main-this-delegates/MPSGraph/x.mpsgraphpackage"
MODEL_KINDS: tuple[Kind, ...] = (
    Kind("model", of(lambda: SPECIFICATIONS), read_as("x.mlmodel")),
    Kind("model-text", of(lambda: TEXTS), read_as("model.mil", "x.mlmodelc")),
    *(
        Kind(name.replace("model.", "model-").replace("metadata", "model-metadata"), changed_json(value), read_as(name, "x.mlmodelc", COMPILED))
        for name, value in NETWORK_FILES.items()
    ),
    Kind(
        "model-package", changed_json(PACKAGE_LIST),
        read_as("Manifest.json", "x.mlpackage", {"Data/com.apple.CoreML/model.mlmodel": WHOLE}),
    ),
    Kind("model-plist", changed_plist, read_as(f"{INNER_PACKAGE}/manifest.plist", "x.aimodelx", {"main-this.odix": PROGRAM_FILE})),
    Kind("model-odix", of(lambda: (PROGRAM_FILE,)), read_as("main-this.odix", "x.aimodelx", {f"{INNER_PACKAGE}/a.mpsgraph": PROGRAM_FILE})),
    *((Kind("model-bytecode", of(bytecode), read_as("main.mlirb", "x.aimodel")),) if bytecode() else ()),
)  # fmt: skip
