"""Compiled Core AI models: folders written here in the form of public descriptions of a Mac's cache."""

from __future__ import annotations

import json
import plistlib
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import MLModel, read_model
from tracekit.mlmodels.bundle_manifest import BundleManifest, CompiledModule, read_manifest
from tracekit.mlmodels.regions import Region
from tracekit.model.vocabulary import Engine
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.models.document import build_model
from tracekit.report.models.json import to_json

REAL = (
    Path(__file__).resolve().parents[3] / "shared" / "models" / "coreai_plan" / "manifest_h17c_gpu_only.plist"
)
DESCRIPTION = json.dumps(
    {
        "entryFunctionName": "main_x",
        "deviceDescriptor": [0, 40, "h17c"],
        "compilationDescriptor": {"preferredDevice": 2, "useANELLIR": True, "inputShapeRanges": None},
    }
)
PACKAGE = "main-this-delegates/MPSGraph/mpsExecutable.mpsgraphpackage"


def plist(modules: Any) -> dict[str, Any]:
    package = {
        "ANERegionsHash": {"h17c": "BDE3_E3B0"},
        "GPU adapter present": "NO",
        "Optimized Modules": modules,
        "Binary File Resources": {"0": {"File Name": "binary_0.llir.bundle", "Type": 2}},
    }
    return {"Package Version": {"7.0.63": package}}


MODULES = {
    json.dumps([DESCRIPTION]): {
        "File Name": "specialized_model_1.mpsgraph",
        "Entry Function Attributes": {"main_x_0": ["mps.aneAlignedIO", "mps.disableNDX"]},
    }
}


def write(folder: Path, **files: bytes) -> Path:
    """Write files whose names have ``/`` and ``.`` spelled out by the caller's mapping."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def mixed(folder: Path, binary: bool = False) -> MLModel:
    """A model as a Mac's cache has it: two regions for the engine, one that only a symbol names, for the GPU."""
    fmt = plistlib.FMT_BINARY if binary else plistlib.FMT_XML
    region = f"{PACKAGE}/binary_0.llir.bundle/main_x_ANE_region_0_0.bc/h17c/main_x_ANE_region_0_0.mlir.bc"
    files = {
        "main-this.odix": b"odix\0\0\5\0....coreai.softmax\0..coreai.softmax\0coreai.odie-build\0",
        f"{PACKAGE}/manifest.plist": plistlib.dumps(plist(MODULES), fmt=fmt),
        f"{PACKAGE}/specialized_model_1.mpsgraph": b"ML\xefR..\0main_x_GPU_region_0\0main_x_ANE_region_10_0\0",
        region: bytes(300),
        f"{PACKAGE}/binary_0.llir.bundle/main_x_ANE_region_10_0.bc/h17c/main_x_ANE_region_10_0.mlir.bc": bytes(
            50
        ),
        "main-this-delegates/BNNS/bnns.ir": bytes(7),
    }
    return read_model(write(folder / "model.aimodelx", **files))


@pytest.mark.parametrize("binary", [False, True], ids=["xml", "binary"])
def test_a_compiled_model_shows_delegates_regions_and_the_list_of_its_package(
    tmp_path: Path, binary: bool
) -> None:
    model = mixed(tmp_path, binary)
    asset = model.compiled_asset
    assert asset is not None
    assert asset.targets == ("this", "h17c")
    assert asset.symbols == ("coreai.softmax",)
    assert [(part.name, part.files, len(part.regions)) for part in asset.delegates] == [
        ("BNNS", 1, 0),
        ("MPSGraph", 4, 3),
    ]
    # A region is a folder, a file in it and a symbol: one region, with the bytes of its file.
    assert asset.delegates[1].regions == (
        Region("main_x_ANE_region_0_0", Engine.ANE, 300),
        Region("main_x_ANE_region_10_0", Engine.ANE, 50),
        Region("main_x_GPU_region_0", Engine.GPU, 0),
    )
    module = CompiledModule(
        "specialized_model_1.mpsgraph",
        "main_x",
        "h17c",
        ("mps.aneAlignedIO", "mps.disableNDX"),
        {"preferredDevice": 2, "useANELLIR": True, "inputShapeRanges": None},
    )
    assert asset.packages == (
        (PACKAGE, BundleManifest("7.0.63", ("h17c",), (module,), "NO", ("binary_0.llir.bundle",))),
    )


def test_text_and_json_have_what_the_folder_shows_and_what_it_does_not(tmp_path: Path) -> None:
    model = mixed(tmp_path)
    text = print_text(build_model(model), Page(100))
    assert (
        "Compiled Core AI program with 2 delegates, 2 regions for the Neural Engine and 1 region for the GPU."
        in text
    )
    assert "preferredDevice 2, useANELLIR true" in text
    assert "what it was compiled for, not where it ran" in text
    document = json.loads(to_json(model))["compiled_asset"]
    assert document["targets"] == ["this", "h17c"]
    assert document["delegates"][1]["regions"][0] == {
        "name": "main_x_ANE_region_0_0",
        "engine": "ANE",
        "size_bytes": 300,
    }


@pytest.mark.skipif(not REAL.is_file(), reason="the collected models are not here")
def test_a_real_list_is_read() -> None:
    manifest = read_manifest(REAL)
    assert (manifest.version, manifest.architectures, manifest.gpu_adapter) == ("7.0.63", ("h17c",), "NO")
    (module,) = manifest.modules
    assert module.file_name == "specialized_model_0.mpsgraph"
    assert module.attributes == ("mps.aneAlignedIO", "mps.disablePreAllocate", "mps.disableNDX")
    assert (module.options["preferredDevice"], module.options["allowedComputeDevices"]) == (2, 7)
    assert len(module.options) == 31


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "which is no property list that can be read"),
        (b"<plist><dict>", "which is no property list that can be read"),
        (plistlib.dumps([1, 2]), "which describes no package"),
        (plistlib.dumps({"Package Version": {"7": "x"}}), "which describes no package"),
        (
            plistlib.dumps({"Package Version": [1]}, fmt=plistlib.FMT_BINARY)[:-40],
            "which is no property list that can be read",
        ),
    ],
)
def test_a_damaged_list_is_a_limit_of_what_else_is_read(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    model = read_model(write(tmp_path / "x.aimodelx", **{f"{PACKAGE}/manifest.plist": content}))
    assert any(sentence in limit for limit in model.limits)


def test_lists_within_lists_and_parts_of_lists_that_overlap_end(tmp_path: Path) -> None:
    nested: Any = "x"
    for _ in range(200):
        nested = [nested]
    data = plistlib.dumps({"Package Version": nested}, fmt=plistlib.FMT_BINARY)
    # 20,000 texts of 60,000 bytes, which are the same bytes: a gigabyte, if each is read as a copy.
    texts = 20_000
    body = b"\x5f\x11" + (60_000).to_bytes(2) + b"a" * 60_000
    array = b"\xaf\x12" + texts.to_bytes(4) + b"".join(number.to_bytes(2) for number in range(1, texts + 1))
    starts = [8 + len(body), *[8] * texts]
    table = b"".join(start.to_bytes(4) for start in starts)
    trailer = (
        bytes(6)
        + bytes([4, 2])
        + len(starts).to_bytes(8)
        + bytes(8)
        + (8 + len(body) + len(array)).to_bytes(8)
    )
    overlapping = b"bplist00" + body + array + table + trailer
    for number, content in enumerate((data, overlapping)):
        model = read_model(write(tmp_path / f"{number}.aimodelx", **{f"{PACKAGE}/manifest.plist": content}))
        assert model.limits[0].startswith("It holds manifest.plist, which "), model.limits


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.plist"
    secret.write_bytes(plistlib.dumps(plist(MODULES)))
    folder = write(tmp_path / "x.aimodelx", **{"main-this.odix": b"odix"})
    package = folder / PACKAGE
    package.mkdir(parents=True)
    (package / "manifest.plist").symlink_to(secret)
    (package / "a.mpsgraph").symlink_to("/dev/zero")
    (folder / "b.odix").symlink_to("/dev/zero")
    asset = read_model(folder).compiled_asset
    assert asset is not None
    assert (asset.packages, asset.symbols) == ((), ())


def test_a_program_that_begins_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds main-this.odix, which is no compiled program"):
        read_model(write(tmp_path / "x.aimodelx", **{"main-this.odix": b"ODIX...."}))


@pytest.mark.integration
def test_long_runs_of_letters_take_no_quadratic_time(tmp_path: Path) -> None:
    content = b"A" * 2_000_000 + b"_ANE_region_0" * 150_000
    model = read_model(write(tmp_path / "x.aimodelx", **{f"{PACKAGE}/a.mpsgraph": content}))
    assert model.compiled_asset is not None
    assert 1 <= len(model.compiled_asset.delegates[0].regions) <= 10_000
