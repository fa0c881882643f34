"""Exports of several recordings in one folder are told apart by the names of their tables of contents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.errors import InputError
from tracekit.fleet.content_hashes import digest_content
from tracekit.fleet.recording_inputs import RecordingInput, find_recordings
from tracekit.fleet.task import FleetTask, run_task

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces" / "text-addresses-ios16"


def folder_of(tmp_path: Path, names: dict[str, str]) -> list[RecordingInput]:
    """Return the recordings in a folder of files: tables of contents of a device, and exports ("")."""
    lab = tmp_path / "lab"
    lab.mkdir()
    for name, device in names.items():
        toc, export = ((SAMPLES / file).read_text() for file in ("toc.xml", "time-profile.xml"))
        (lab / name).write_text(toc.replace("Synthetic iPhone", device) if device else export)
    return find_recordings([str(lab)])


def parts(recordings: list[RecordingInput]) -> list[tuple[str, list[str]]]:
    return [(each.name, [Path(member).name for member in each.members]) for each in recordings]


def test_exports_belong_to_the_table_of_contents_whose_name_they_begin_with(tmp_path: Path) -> None:
    names = {
        "demo-toc.xml": "A", "demo-cpu.xml": "", "demo-cpu-2.xml": "", "demo_old.toc.xml": "B",
        "demo_old.cpu.xml": "", "toc.xml": "C", "time.xml": "",
    }  # fmt: skip
    recordings = folder_of(tmp_path, names)
    assert parts(recordings) == [
        ("demo-toc.xml", ["demo-cpu-2.xml", "demo-cpu.xml", "demo-toc.xml"]),
        ("demo_old.toc.xml", ["demo_old.cpu.xml", "demo_old.toc.xml"]),
        ("toc.xml", ["time.xml", "toc.xml"]),
    ]
    contents = {digest_content(Path(each.address), each.members) for each in recordings}
    assert len(contents) == 3
    assert {run_task(FleetTask(each)).state for each in recordings} == {"analyzed"}


def test_what_belongs_to_none_is_stated_and_never_read_as_a_recording(tmp_path: Path) -> None:
    names = {"a-toc.xml": "A", "a-cpu.xml": "", "b-toc.xml": "B", "cpu.xml": "", "time.xml": ""}
    recording, remaining = folder_of(tmp_path, names)
    assert parts([recording]) == [("a-toc.xml", ["a-cpu.xml", "a-toc.xml"])]
    assert remaining.address == str(tmp_path / "lab")
    with pytest.raises(InputError, match=r"belong to none .*: b-toc\.xml, cpu\.xml, time\.xml"):
        remaining.require_readable()
    assert "lab: holds exports of different recordings" in run_task(FleetTask(remaining)).reason


@pytest.mark.parametrize(
    "names",
    [
        {"a-toc.xml": "A", "a-cpu.xml": "", "b-toc.xml": "A", "b-time.xml": ""},
        {"a-toc.xml": "A", "cpu.xml": "", "time.xml": ""},
        {"cpu.xml": "", "time.xml": ""},
    ],
)
def test_a_folder_is_one_recording_unless_tables_of_contents_disagree(
    tmp_path: Path, names: dict[str, str]
) -> None:
    assert parts(folder_of(tmp_path, names)) == [("lab", sorted(names))]
