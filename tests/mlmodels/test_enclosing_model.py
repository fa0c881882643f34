"""A path inside of a model stands for the model: the outermost folder with the ending of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.mlmodels import find_enclosing_model


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("A.mlpackage/Data/com.apple.CoreML/model.mlmodel", "A.mlpackage"),
        ("App/A.mlmodelc/model0/B.mlmodelc/model.mil", "App/A.mlmodelc"),
        ("A.mlpackage", "A.mlpackage"),
        ("App/C.mlmodel", "App/C.mlmodel"),
        ("E.aimodel/main.mlirb", "E.aimodel"),
        ("Absent.mlpackage/Manifest.json", "Absent.mlpackage/Manifest.json"),
        ("File.mlpackage/x", "File.mlpackage/x"),
    ],
)
def test_the_outermost_folder_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, model: str
) -> None:
    for folder in ("A.mlpackage/Data/com.apple.CoreML", "App/A.mlmodelc/model0/B.mlmodelc", "E.aimodel"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "File.mlpackage").write_text("no folder")
    monkeypatch.chdir(tmp_path)
    assert find_enclosing_model(Path(path)) == Path(model)
    assert find_enclosing_model(tmp_path / path) == tmp_path / model
