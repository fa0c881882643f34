"""Reading a recording in a worker: its results, and the message when it cannot be read."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from library_support import (
    BUNDLE_VERDICT,
    EXPORT_VERDICT,
    EXPORTS,
    EXPORTS_VERDICT,
    XML,
    opened,
    settled,
    upload,
)
from worker_support import EXPORT, ONE, RESULTS, Reading, Workers, left_of

import tracekit
from tracekit.parsers.limits import LimitError
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs.workers.failures import describe_failure
from tracekit_dashboard.library import reading_results


def unpacked(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def view_header(path: Path) -> Any:
    block = gzip.decompress(path.read_bytes())
    return json.loads(block[4 : 4 + int.from_bytes(block[:4], "little")])


@pytest.mark.integration
def test_a_local_bundle_is_read_where_it_lies(reading: Reading) -> None:
    recording = reading["local bundle"]
    assert (recording.state, recording.message, recording.progress) == ("ready", "", None)
    assert recording.verdict.startswith(BUNDLE_VERDICT)
    assert (recording.device, recording.system) == ("Synthetic Mac", "macOS 15.7.3 (24G419)")
    assert (recording.samples, recording.windows, recording.duration_ns) == (289, 12, 550_258_000)
    left = {"/".join(path.split("/")[:2]) for path in left_of(reading.library, recording)}
    assert left == {f"results/{name}" for name in RESULTS}


def test_the_length_is_the_recording_s_own_whatever_lies_behind_its_end() -> None:
    analysis = tracekit.analyze(tracekit.open_trace(EXPORTS))

    def duration(duration_ns: int | None) -> int:
        info = replace(analysis.trace.info, duration_ns=duration_ns)
        summary = b"".join(
            reading_results._build_summary(replace(analysis, trace=replace(analysis.trace, info=info)))
        )
        return int(json.loads(summary)["duration_ns"])

    assert duration(1_000) == 1_000
    assert duration(None) == 707_258_041  # the end of what lies last


def test_what_the_pages_need_is_there(reading: Reading) -> None:
    recording, library = reading["local exports"], reading.library
    assert recording.verdict.startswith(EXPORTS_VERDICT)
    header = view_header(library.find_view(recording.id))
    assert (header["format"], header["verdict"]) == ("tracekit-view/2", recording.verdict)
    assert header["samples"]["count"] == 311
    sections = unpacked(library.find_sections(recording.id))
    assert list(sections)[:3] == ["verdict", "findings", "windows"]
    assert "timeline" not in sections
    assert sections["verdict"].startswith('<section id="verdict"')


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Safari.trace", BUNDLE_VERDICT),
        ("holiday.jpg", BUNDLE_VERDICT),
        ("x.trace", EXPORT_VERDICT),
        ("x.csv", EXPORT_VERDICT),
        ("exports.zip", EXPORTS_VERDICT),
        ("bundle", BUNDLE_VERDICT),
        ("renamed", BUNDLE_VERDICT),
        ("zip", BUNDLE_VERDICT),
        ("exports", EXPORT_VERDICT),
    ],
)
def test_an_upload_is_read_whatever_its_names(reading: Reading, name: str, verdict: str) -> None:
    recording = reading[name]
    assert (recording.state, recording.message) == ("ready", "")
    assert recording.verdict.startswith(verdict)
    facts = view_header(reading.library.find_view(recording.id))["recording"]
    assert ["Input", f"{name}, run 1"] in facts


@pytest.mark.parametrize(
    ("name", "message"),
    [("zip", ["drop/notes.txt"]), ("exports", ["d/truth.json"]), ("renamed", []), ("x.csv", [])],
)
def test_what_was_uploaded_beside_it_and_not_read_is_reported(
    reading: Reading, name: str, message: list[str]
) -> None:
    issues = view_header(reading.library.find_view(reading[name].id))["issues"]
    prefix = "not read, because these files are no part of the recording: "
    messages = [issue["message"] for issue in issues if issue["code"] == "files-ignored"]
    assert messages == [f"{prefix}{name}" for name in message]


def test_a_recording_that_failed_is_named_once(reading: Reading) -> None:
    with pytest.raises(NotFound) as caught:
        reading.library.find_view(reading["cut.gz"].id)
    assert str(caught.value).startswith("cut.gz is not ready: is a damaged or cut-off gzip file")
    assert str(caught.value).count("cut.gz") == 1 and not str(caught.value).endswith("..")


@pytest.mark.integration
def test_a_real_bundle_that_was_uploaded_is_read(reading: Reading, shared: Path) -> None:
    place = shared / "traces" / "bundles" / "shadi-gamal__uniprof"
    bundle = (place / "test-simple.trace.zip").read_bytes()
    recording = settled(reading.library, upload(reading.library, "real", bundle), 60)
    exported = (place / "test-simple-export.xml").read_bytes().count(b"<row>")
    assert (recording.state, recording.samples) == ("ready", exported)


# What cannot be read --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "cut.zip",
            "cut.zip: cannot be unpacked: it is cut off or damaged. Make the archive again, or download it again",
        ),
        ("two.zip", "two.zip: holds 2 bundles"),
        ("outside.zip", "outside.zip: is an archive without"),
        ("absolute.zip", "absolute.zip: is an archive without"),
        ("bomb.zip", "bomb.zip"),
        ("bomb.tgz", "bomb.tgz: unpacks to more than"),
        ("linked.tar", "linked.tar"),
        ("damaged.zip", "recording.trace: holds no table that can be read"),
        ("empty.xml", "empty.xml: holds no table"),
        ("cut export.zip", "cut export.zip/time-profile.xml: ends in the middle of the document"),
        ("cut.gz", "cut.gz: is a damaged or cut-off gzip file"),
        ("two", "two: holds more than one recording (d/a, d/b). Add one at a time."),
        ("none", "none: is a folder without a recording. Add a .trace"),
    ],
)
def test_what_cannot_be_read_fails_with_a_sentence(reading: Reading, name: str, sentence: str) -> None:
    recording = reading[name]
    assert (recording.state, recording.verdict) == ("failed", "")
    assert recording.message.startswith(sentence), recording.message
    assert str(reading.library._store.folder) not in recording.message
    assert left_of(reading.library, recording) == []
    with pytest.raises(NotFound, match="is not ready"):
        reading.library.find_view(recording.id)


def test_the_limits_of_an_input_are_raised_on_the_command_line() -> None:
    error = LimitError("/library/1/big.xml", "holds more than 3 documents")
    assert describe_failure(error, "big.xml", Path("/library/1/big.xml")) == (
        "big.xml: holds more than 3 documents and was not read. If you trust the file, analyze it on the command"
        " line with --raise-limits 4."
    )


@pytest.mark.integration
def test_what_was_not_foreseen_leaves_a_log(workers: Workers, tmp_path: Path) -> None:
    workers.do("fail")
    with opened(tmp_path / "library", ONE) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert recording.state == "failed"
        assert recording.message.startswith(
            "Reading x.xml failed because of an error in tracekit (KeyError)."
        )
        log = (library._store.recording_folder(recording.id) / "worker.log").read_text()
        assert "no such thing" in log


@pytest.mark.integration
def test_workers_of_other_libraries_do_what_they_are_for(
    workers: Workers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The recordings of ``reading`` are read while other tests make workers fail."""
    workers.do("fail")
    with opened(tmp_path_factory.mktemp("other"), ONE) as library:
        assert settled(library, upload(library, "empty.xml", XML)).message.startswith(
            "empty.xml: holds no table"
        )


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process takes")
def test_a_worker_that_takes_too_much_memory_is_refused_it(workers: Workers, tmp_path: Path) -> None:
    workers.do("grow")
    with opened(tmp_path / "library", replace(ONE, job_memory_bytes=1 << 30)) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert recording.message == "x.xml needs more memory than a worker may use."


@pytest.mark.integration
def test_a_worker_that_takes_too_long_is_stopped(workers: Workers, tmp_path: Path) -> None:
    workers.do("hang")
    with opened(tmp_path / "library", replace(ONE, job_seconds=0.9)) as library:
        recording = settled(library, upload(library, "x.xml", EXPORT))
        assert (recording.state, left_of(library, recording)) == ("failed", [])
        assert "took longer than" in recording.message
