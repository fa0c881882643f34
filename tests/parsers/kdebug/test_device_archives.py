"""Recordings of ``record --via`` in archives: as from the folder, and damaged ones named as such."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from kdebug_files import write_device_folder

from tracekit.api import open_trace
from tracekit.errors import InputError
from tracekit.fleet.recording_inputs import find_recordings
from tracekit.parsers.limits import LimitError, Limits

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
@pytest.mark.parametrize("whole_folder", [True, False])
def test_an_archive_is_read_like_the_folder(tmp_path: Path, kind: str, whole_folder: bool) -> None:
    folder = write_device_folder(tmp_path / "x.device")
    inside = folder.name if whole_folder else None
    archive = shutil.make_archive(
        str(tmp_path / "packed"), kind, tmp_path if whole_folder else folder, inside
    )
    packed, plain = open_trace(archive), open_trace(folder)
    assert packed.samples.equals(plain.samples)
    assert packed.threads.values.tolist() == [[7, "render", 42, "MyApp"]]
    assert packed.info.start == plain.info.start == "2026-09-21T14:13:20.000000+00:00"
    assert {issue.code for issue in packed.issues} == {issue.code for issue in plain.issues}
    assert packed.info.name == ("x.device" if whole_folder else Path(archive).name)


def test_what_unpacks_to_much_more_is_refused(tmp_path: Path) -> None:
    folder = write_device_folder(tmp_path / "x.device")
    with (folder / "stream.ktrace").open("ab") as stream:
        stream.write(bytes(30 << 20))
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, folder.name)
    with pytest.raises(LimitError, match="unpacks to more than"):
        open_trace(archive, limits=Limits(unpacked_slack_bytes=1 << 20))


def test_several_recordings_are_named(tmp_path: Path) -> None:
    (tmp_path / "both").mkdir()
    for name in ("a.device", "b.device"):
        write_device_folder(tmp_path / "both" / name)
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "both")
    with pytest.raises(InputError, match=r"holds 2 device recordings \(a\.device, b\.device\)"):
        open_trace(archive)


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    folder = write_device_folder(tmp_path / "x.device")
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, folder.name))
    with zipfile.ZipFile(archive) as packed:
        start = packed.getinfo("x.device/stream.ktrace").header_offset + 100
    content = bytearray(archive.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    archive.write_bytes(content)
    with pytest.raises(InputError, match="cannot be unpacked"):
        open_trace(archive)


def test_a_folder_of_recordings_has_each_once(tmp_path: Path) -> None:
    for name in ("a.device", "b.device"):
        write_device_folder(tmp_path / name)
    assert [Path(found.address).name for found in find_recordings([str(tmp_path)])] == [
        "a.device",
        "b.device",
    ]
