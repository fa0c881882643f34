"""What a path to a model may be, and what its folder may hold: no pipe, no device, no link."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.mlmodels import read_model, regions
from tracekit.mlmodels.plans import read_plan

PROGRAM = 'program(1.3)\n{\n  func main<ios17>(tensor<fp16, [1]> x) {\n    tensor<fp16, [1]> y = relu(x = x)[name = string("r")];\n  } -> (y);\n}\n'
NETWORK = json.dumps({"layers": [{"name": "a", "type": "relu", "bottom": "x", "top": "y"}]})
PACKAGE = json.dumps(
    {"rootModelIdentifier": "A", "itemInfoEntries": {"A": {"path": "com.apple.CoreML/model.mlmodel"}}}
)


def write_files(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def replace_by_link(file: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    if file.exists():
        file.rename(target)
    else:
        target.write_text("{}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)


@pytest.mark.parametrize("read", [read_model, read_plan])
def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is no file; save what it holds to one"):
            read(path)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("files", "linked"),
    [
        ({"model__mil": PROGRAM}, "model.mil"),
        ({"model__mil": PROGRAM}, "metadata.json"),
        ({"model__espresso__net": NETWORK}, "model.espresso.net"),
        ({"model__espresso__net": NETWORK}, "model.espresso.shape"),
        ({"coremldata__bin": "x"}, "coremldata.bin"),
        ({"coremldata__bin": "x"}, "metadata.json"),
        ({"Manifest__json": PACKAGE}, "Manifest.json"),
        ({"Manifest__json": PACKAGE}, "Data/com.apple.CoreML/model.mlmodel"),
        ({"main__mlirb": "x"}, "main.mlirb"),
        ({"main-h17c__odix": "odix"}, "main-h17c.mlirb"),
    ],
)
def test_links_in_a_model_are_named_and_not_followed(
    tmp_path: Path, files: dict[str, str], linked: str
) -> None:
    model = write_files(tmp_path / "Net.folder", **files)
    replace_by_link(model / linked, tmp_path / "elsewhere" / "file")
    with pytest.raises(InputError, match=rf"holds {Path(linked).name}, which is a link, .*\(cp -RL\)"):
        read_model(model)


def test_a_stage_of_a_pipeline_is_no_link(tmp_path: Path) -> None:
    stage = write_files(tmp_path / "elsewhere", model__mil=PROGRAM)
    model = write_files(tmp_path / "Net.mlmodelc", coremldata__bin="x")
    (model / "model0").symlink_to(stage)
    with pytest.raises(InputError, match="holds model0, which is a link"):
        read_model(model)


def test_a_link_to_a_model_is_what_the_user_named(tmp_path: Path) -> None:
    model = write_files(tmp_path / "Net.mlmodelc", model__mil=PROGRAM)
    (tmp_path / "latest").symlink_to(model)
    assert [item.kind for item in read_model(tmp_path / "latest").functions[0].operations] == ["relu"]


@pytest.mark.parametrize(
    ("closed", "problem"),
    [
        ("", "cannot be read: Permission denied."),
        ("26A1", "holds 26A1, which cannot be read: Permission denied."),
    ],
)
def test_a_folder_that_may_not_be_read_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str, problem: str
) -> None:
    (tmp_path / "26A1").mkdir()
    scan = os.scandir

    def refuse(path: str) -> object:
        if Path(path) == tmp_path / closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError) as caught:
        read_plan(tmp_path)
    assert caught.value.problem == problem


@pytest.mark.parametrize("read", [read_model, read_plan])
def test_regions_that_are_mentioned_too_often_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: object
) -> None:
    monkeypatch.setattr(regions, "_MAX_MENTIONS", 2)
    package = tmp_path / "Net.aimodelx" / "x.mpsgraphpackage"
    package.mkdir(parents=True)
    module = package / "specialized_model_0.mpsgraph"
    module.write_bytes(b"ML\xefR" + b"main_ANE_region_0 " * 2)
    read(tmp_path / "Net.aimodelx")  # type: ignore[operator]
    module.write_bytes(b"ML\xefR" + b"main_ANE_region_0 " * 3)
    with pytest.raises(InputError, match="mentions regions more than 2 times"):
        read(tmp_path / "Net.aimodelx")  # type: ignore[operator]
