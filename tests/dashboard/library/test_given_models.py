"""Models and plans in the library: kept with a further analysis, and joined with the recording by a worker."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from library_support import BUNDLE, ONE_READER, XML, opened, ready, settled, upload, wait_for, zipped

from tracekit.cli.analysis_options import AnalysisOptions
from tracekit.errors import UsageError
from tracekit_dashboard.command import _read_option_files
from tracekit_dashboard.jobs.workers.failures import describe_failure
from tracekit_dashboard.library import packed_files
from tracekit_dashboard.library.analyses import GivenFile
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.packed_files import wrap_file, zip_model_file
from tracekit_dashboard.library.variants import Variant

SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "operators-leave-macos27"
MODEL, PLAN = SAMPLE / "Encoder.mlmodelc", next(SAMPLE.rglob("analytics.mil"))
OTHER_PLAN = PLAN.read_bytes()
for kind in (b"conv", b"relu", b"gather", b"reduce_mean"):
    OTHER_PLAN = OTHER_PLAN.replace(b"= " + kind + b"(", b"= lstm(")
REASON = "Unsupported gather index type"


def packed(name: str, content: bytes) -> GivenFile:
    return GivenFile(name, wrap_file(name, BytesIO(content)))


def requested(library: Library, recording: str, **files: GivenFile) -> Variant:
    variant = library.analyses.request(recording, {}, files)
    assert variant is not None
    return variant


def made(library: Library, recording: str, **files: GivenFile) -> Variant:
    variant = requested(library, recording, **files)
    wait_for(lambda: library.analyses.find(recording, variant.id).state not in ("waiting", "reading"))
    return library.analyses.find(recording, variant.id)


def sections(library: Library, analysis: str) -> dict[str, str]:
    content: dict[str, str] = json.loads(gzip.decompress(library.find_sections(analysis).read_bytes()))
    return content


def test_an_analysis_keeps_its_model_and_its_plan(library: Library) -> None:
    recorded = ready(library, upload(library, "x", XML))
    model = zipped(MODEL)
    variant = requested(
        library, recorded, model=packed("../Encoder.zip", model), plan=packed("a.mil", b"text")
    )
    assert [variant.options[name]["name"] for name in ("model", "plan")] == ["Encoder.zip", "a.mil"]
    folder = library._store.variant(recorded, variant.id)
    assert (folder / "model.zip").read_bytes() == model
    assert library.build_arguments(variant.analysis) == [
        f"--model={folder / 'model.zip'}",
        f"--plan={folder / 'plan.zip'}",
    ]
    with pytest.raises(UsageError, match="model is a file: choose it"):
        library.analyses.request(recorded, {"model": ["/etc/passwd"]})
    library.analyses.remove(recorded, variant.id)
    assert not folder.exists()


@pytest.mark.integration
def test_a_worker_joins_them_with_the_recording(tmp_path: Path) -> None:
    with opened(tmp_path, ONE_READER) as library:
        recording = settled(library, library.add_file(SAMPLE)).id
        assert "operators" not in sections(library, recording)
        model = GivenFile("Encoder.zip", BytesIO(zipped(MODEL)))
        joined = made(library, recording, model=model, plan=packed("analytics.mil", PLAN.read_bytes()))
        assert (joined.state, joined.message) == ("ready", "")
        assert REASON in sections(library, joined.analysis)["operators"]
        alone = made(library, recording, plan=packed("analytics.mil", PLAN.read_bytes()))
        assert REASON in sections(library, alone.analysis)["operators"]
        refused = {
            "Encoder.zip: is a damaged zip, or has a password.": {
                "model": GivenFile("Encoder.zip", BytesIO(zipped(MODEL)[:-30]))
            },
            "Encoder: is no model": {"model": packed("Encoder", b"{}")},
            "plan.json: is no plan of a kind that tracekit reads.": {"plan": packed("plan.json", b"{}")},
            "analytics.mil: is a plan of another model than Encoder.mlmodelc": {
                "model": GivenFile("Encoder.zip", BytesIO(zipped(MODEL))),
                "plan": packed("analytics.mil", OTHER_PLAN),
            },
        }
        for sentence, files in refused.items():
            failed = made(library, recording, **files)
            assert failed.state == "failed"
            assert failed.message.startswith(sentence), failed.message
            assert str(tmp_path) not in failed.message
            assert "tracekit-model-" not in failed.message


@pytest.mark.integration
def test_the_files_noted_beside_a_local_recording_are_joined(tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(BUNDLE, tmp_path / "X.trace"))
    noted = {"runs": [], "models": [str(MODEL)], "plans": [str(PLAN)]}
    bundle.with_suffix(".recording.json").write_text(json.dumps(noted))
    with opened(tmp_path / "library", ONE_READER) as library:
        recording = settled(library, library.add_file(bundle))
        assert (recording.state, recording.message) == ("ready", "")
        assert REASON in sections(library, recording.id)["operators"]


def test_a_path_of_the_command_line_becomes_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Net.mlmodelc" / "weights").mkdir(parents=True)
    (tmp_path / "Net.mlmodelc" / "model.mil").write_bytes(b"program")
    (tmp_path / "Net.mlmodelc" / "weights" / "weight.bin").write_bytes(b"1234")
    folder = zip_model_file(str(tmp_path / "Net.mlmodelc"))
    with zipfile.ZipFile(BytesIO(folder)) as members:
        assert {name: members.read(name) for name in members.namelist()} == {
            "Net.mlmodelc/model.mil": b"program",
            "Net.mlmodelc/weights/weight.bin": b"1234",
        }
    (tmp_path / "Net.zip").write_bytes(folder)
    assert zip_model_file(str(tmp_path / "Net.zip")) == folder
    with pytest.raises(UsageError, match=r"missing cannot be read: No such file"):
        zip_model_file(str(tmp_path / "missing"))
    monkeypatch.setattr(packed_files, "MAX_LOCAL_BYTES", 10)
    with pytest.raises(UsageError, match="add it on the recording's page"):
        zip_model_file(str(tmp_path / "Net.mlmodelc"))


def test_the_command_line_gives_one_model_and_one_plan() -> None:
    files = _read_option_files(AnalysisOptions(models=(str(MODEL),), plans=(str(PLAN),)))
    assert {option: file.name for option, file in files.items()} == {
        "model": "Encoder.mlmodelc",
        "plan": "analytics.mil",
    }
    for models in ((f"Encoder={MODEL}",), (str(MODEL), str(MODEL))):
        with pytest.raises(UsageError, match="The dashboard takes one --model, a file that has the name"):
            _read_option_files(AnalysisOptions(models=models))


def test_a_file_without_a_model_s_name_is_to_be_renamed() -> None:
    error = UsageError(
        "a.mlmodel is of no model of the recording by its name; the recording has 'A' and 'B'."
        " Give it with the model's name: 'A=a.mlmodel'."
    )
    assert describe_failure(error, "x.trace", Path("/x.trace")) == (
        "a.mlmodel is of no model of the recording by its name; the recording has 'A' and 'B'."
        " Give the file the name of its model, such as 'A', and add it again."
    )
