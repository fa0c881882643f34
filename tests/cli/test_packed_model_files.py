"""Models and plans in a zip: what of it is read, and what is refused."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from tracekit.analysis.model_join.given_files import GivenModelFile
from tracekit.cli import packed_model_files
from tracekit.cli.packed_model_files import read_packed
from tracekit.errors import InputError
from tracekit.mlmodels import MLModel, read_model
from tracekit.mlmodels.plans import read_plan

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "operators-leave-macos27"
PROGRAM = (SAMPLE / "Encoder.mlmodelc" / "model.mil").read_bytes()
CACHE = SAMPLE / "com.apple.e5rt.e5bundlecache"


def pack(path: Path, members: dict[str, bytes], mode: int = 0) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return str(path)


def read_given(entry: str) -> GivenModelFile[MLModel]:
    (given,) = read_packed([entry], read_model)
    assert isinstance(given, GivenModelFile)
    return given


@pytest.mark.parametrize(
    ("members", "path"),
    [
        (["Encoder.mlmodelc/model.mil"], "Encoder.mlmodelc"),
        (["Encoder.mlmodelc/model.mil", "__MACOSX/Encoder.mlmodelc/._model.mil"], "Encoder.mlmodelc"),
        (["build/models/Encoder.mlmodelc/model.mil", "build/.DS_Store"], "build/models/Encoder.mlmodelc"),
        (["model.mil"], "model.mil"),
        (["../../Encoder.mlmodelc/model.mil"], "Encoder.mlmodelc"),
        (["/Encoder.mlmodelc//./model.mil"], "Encoder.mlmodelc"),
        (["model.mil", "analytics/x"], "Packed.mlmodelc"),
    ],
)
def test_the_model_in_a_zip_is_found(tmp_path: Path, members: list[str], path: str) -> None:
    entry = pack(tmp_path / "Packed.mlmodelc.zip", dict.fromkeys(members, PROGRAM))
    given = read_given(entry)
    assert (given.content.path, given.model) == (Path(path), "")
    assert len(given.content.functions[0].operations) == 11
    assert sorted(tmp_path.iterdir()) == [Path(entry)]


def test_a_name_before_the_zip_is_kept(tmp_path: Path) -> None:
    entry = f"Encoder={pack(tmp_path / 'x.zip', {'model.mil': PROGRAM})}"
    assert read_given(entry).model == "Encoder"


def test_what_is_no_zip_passes_as_it_is(tmp_path: Path) -> None:
    entries = [str(CACHE), "nowhere.zip", f"A={tmp_path}", "a\0b"]
    assert list(read_packed(entries, read_plan)) == entries


def test_a_cache_s_folders_are_the_plan_s_place(tmp_path: Path) -> None:
    files = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in CACHE.rglob("*.mil")}
    (given,) = read_packed([pack(tmp_path / "cache.zip", files)], read_plan)
    assert isinstance(given, GivenModelFile)
    assert (given.content.chip, given.content.os_build) == ("H16G", "26A300")


@pytest.mark.parametrize(
    ("members", "source", "problem"),
    [
        ({}, "x.zip", "is no model: it holds none of"),
        ({"Net": b"{}"}, "Net", "is no model; read as a Core ML specification"),
        ({"a.mlmodel": PROGRAM, "b.mlmodel": PROGRAM}, "x.zip", "is no model: it holds none of"),
        ({"a": PROGRAM, "a/b": PROGRAM}, "x.zip", "cannot be unpacked: "),
        ({"a/b": PROGRAM, "a//b": PROGRAM}, "x.zip", "cannot be unpacked: File exists."),
        ({"n" * 300: PROGRAM}, "x.zip", "cannot be unpacked: File name too long."),
    ],
)
def test_what_is_refused(
    tmp_path: Path,
    members: dict[str, bytes],
    source: str,
    problem: str,
) -> None:
    entry = pack(tmp_path / "x.zip", members)
    with pytest.raises(InputError) as error:
        list(read_packed([entry], read_model))
    assert error.value.source.endswith(source)
    assert error.value.problem.startswith(problem), error.value.problem
    assert "tracekit-model-" not in str(error.value)


def test_a_zip_that_unpacks_to_more_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = pack(tmp_path / "x.zip", {"model.mil": PROGRAM, "weights": bytes(1000)})
    monkeypatch.setattr(packed_model_files, "_MAX_BYTES", len(PROGRAM) + 1000)
    assert read_given(entry).content.path == Path("x")
    monkeypatch.setattr(packed_model_files, "_MAX_BYTES", len(PROGRAM) + 999)
    with pytest.raises(InputError, match=r"x\.zip: unpacks to far more than a model does\."):
        list(read_packed([entry], read_model))


def test_links_are_left_out(tmp_path: Path) -> None:
    entry = pack(tmp_path / "x.zip", {"Net.mlmodel": b"/etc/passwd"}, stat.S_IFLNK | 0o777)
    with pytest.raises(InputError, match="is no model: it holds none of"):
        list(read_packed([entry], read_model))


@pytest.mark.integration
def test_a_damaged_zip_and_one_with_too_many_files(tmp_path: Path) -> None:
    cut = tmp_path / "cut.zip"
    cut.write_bytes(Path(pack(tmp_path / "x.zip", {"model.mil": PROGRAM})).read_bytes()[:-30])
    with pytest.raises(InputError, match=r"cut\.zip: is a damaged zip, or has a password"):
        list(read_packed([str(cut)], read_model))
    many = pack(tmp_path / "many.zip", {str(number): b"" for number in range(20_001)})
    with pytest.raises(InputError, match="20,000 files"):
        list(read_packed([many], read_model))
