"""The facts of `form.template` and of the recording's parameters: literal in, literal out."""

from __future__ import annotations

from typing import Any

import pytest
from bundle_support import APP, CLOCK, InMemory, codes, issues_of, source_of, with_strings_changed

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_writer import BundleWriter, Files
from tracekit.errors import InputError
from tracekit.model.trace import TraceInfo
from tracekit.parsers.bundle.bundle_source import BundleSource

INFO = RunInfo(
    instruments="16.0 (16F6)",
    template="Core ML",
    start=1_767_268_800.8794,
    duration=2.5,
    end_reason="Time limit reached",
    recording_mode="Windowed (10 seconds)",
    time_limit="3 seconds",
    process="SampleApp",
    pid=4711,
    device="Café",
    model="Mac16,1",
    platform="macOS",
    os_version="15.5 (24F74)",
)
PARAMETERS = "corespace/run1/core/core-config/exposedTableInfo.plist"


def files_of(info: RunInfo = INFO, **settings: Any) -> Files:
    bundle = BundleWriter()
    run = bundle.run(info)
    run.settings.update(settings)
    run.table("t", (CLOCK,), [(0,)])
    return bundle.files()


def info_of(files: Files) -> TraceInfo:
    (run,) = source_of(files).toc()
    return run.info


def in_zone(zone: Any, info: RunInfo = INFO) -> TraceInfo:
    files = files_of(info)
    files["form.template"] = with_strings_changed(files["form.template"], {"Etc/UTC": zone})
    return info_of(files)


def unfinished(*attachments: str, info: RunInfo = INFO, **settings: Any) -> Files:
    files = files_of(info, **settings)
    del files["form.template"]
    return files | dict.fromkeys(attachments, b"raw")


def test_all_contents_of_a_document() -> None:
    assert info_of(files_of()) == TraceInfo(
        name="recording.trace",
        kind="trace-bundle",
        run=1,
        device="Café",
        model="Mac16,1",
        platform="macOS",
        os="15.5 (24F74)",
        template="Core ML",
        instruments="16.0 (16F6)",
        start="2026-01-01T12:00:00.879Z",
        end="2026-01-01T12:00:03.379Z",
        end_reason="Time limit reached",
        recording_mode="Windowed (10 seconds)",
        time_limit="3 seconds",
        duration_ns=2_500_000_000,
        process="SampleApp",
        pid=4711,
    )


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("Etc/UTC", "2026-01-01T12:00:00.879Z"),
        ("Europe/Berlin", "2026-01-01T13:00:00.879+01:00"),
        ("America/Los_Angeles", "2026-01-01T04:00:00.879-08:00"),
        ("Asia/Kolkata", "2026-01-01T17:30:00.879+05:30"),
        ("", "2026-01-01T12:00:00.879Z"),
        ("Nowhere/Land", "2026-01-01T12:00:00.879Z"),
        ("../../../etc/hostname", "2026-01-01T12:00:00.879Z"),
        ("/etc/hostname", "2026-01-01T12:00:00.879Z"),
        ("America", "2026-01-01T12:00:00.879Z"),
        ("Etc/\0UTC", "2026-01-01T12:00:00.879Z"),
        ("x" * 5000, "2026-01-01T12:00:00.879Z"),
        (5, "2026-01-01T12:00:00.879Z"),
    ],
)
def test_dates_are_in_the_time_zone_of_the_recorded_machine(zone: Any, start: str) -> None:
    assert in_zone(zone).start == start


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (1_767_268_800.0004, "2026-01-01T12:00:00.000Z"),
        (1_767_268_800.9996, "2026-01-01T12:00:01.000Z"),
        (0.0, ""),
        (-5.0, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (1e300, ""),
    ],
)
def test_dates_round_to_milliseconds_and_impossible_ones_are_left_out(seconds: float, shown: str) -> None:
    assert info_of(files_of(RunInfo(more={"_rawStartTime": seconds}))).start == shown


def test_the_end_of_time() -> None:
    """A date that fits in UTC may not fit further east."""
    last = RunInfo(more={"_rawStartTime": 253_402_300_798.0})
    assert in_zone("Asia/Tokyo", last).start in ("", "9999-12-31T23:59:58.000Z")


@pytest.mark.parametrize(
    ("seconds", "duration_ns"),
    [
        (0.0, 0),
        (1.0000004, 1_000_000_000),
        (1.0000006, 1_000_001_000),
        (-1.0, None),
        (float("nan"), None),
        (1e18, None),
    ],
)
def test_durations_round_to_microseconds(seconds: float, duration_ns: int | None) -> None:
    assert info_of(files_of(RunInfo(more={"_rawDuration": seconds}))).duration_ns == duration_ns


@pytest.mark.parametrize(
    ("written", "pid"),
    [
        ("0", 0),
        (" 12 ", 12),
        ("", None),
        (None, None),
        ("all", None),
        ("-3", None),
        ("9" * 30, None),
        (7, None),
    ],
)
def test_pids(written: Any, pid: int | None) -> None:
    assert info_of(files_of(RunInfo(more={"_targetProcessPid": written}))).pid == pid


def test_a_pid_in_digits_of_another_script() -> None:
    assert info_of(files_of(RunInfo(more={"_targetProcessPid": "²"}))).pid is None


def test_missing_fields_stay_empty() -> None:
    nothing = dict.fromkeys(["_targetName", "_templateName", "_endReason", "_rawStartTime", "_rawDuration"])
    info = info_of(files_of(RunInfo(process=None, pid=None, more=nothing)))
    assert (info.device, info.template, info.end_reason, info.start, info.process) == ("", "", "", "", "")
    assert (info.duration_ns, info.pid) == (None, None)


def test_texts_that_are_something_else() -> None:
    odd = {"_targetName": {"a": 1}, "_templateName": [1, 2], "_timeLimit": 5, "_endReason": b"bytes"}
    info = info_of(files_of(RunInfo(more=odd)))
    assert (info.device, info.template, info.time_limit, info.end_reason) == ("", "", "", "")


def test_each_run_has_its_own_document_and_its_processes() -> None:
    bundle = BundleWriter()
    for template in ("Core ML", "Time Profiler"):
        run = bundle.run(RunInfo(template=template, pid=4711))
        run.load_nothing(APP)
        run.table("t", (CLOCK,), [(0,)])
    first, second = source_of(bundle).toc()
    assert [run.info.template for run in (first, second)] == ["Core ML", "Time Profiler"]
    assert first.pids == {4711}


# Without a document ---------------------------------------------------------------------------------------


def test_an_unfinished_recording_names_the_command_that_recovers_it() -> None:
    source = source_of(unfinished("Trace1.run/Attachments/trace-data.atrc"))
    assert issues_of(source, "recording-unfinished") == [
        "the recording was not finished (xctrace reports: Document Missing Template Error). Its tables are read"
        " without symbols and run info. On a Mac, recover it: xcrun xctrace import --input"
        " recording.trace/Trace1.run/Attachments/trace-data.atrc --template 'Time Profiler' --output Recovered.trace"
        " (name the template that it was recorded with)."
    ]
    assert codes(source.issues()) == ["recording-unfinished"]


def test_the_command_works_for_a_name_with_a_space() -> None:
    files = InMemory(unfinished("Trace1.run/Attachments/trace-data.atrc"))
    files.name = "My App.trace"
    (text,) = issues_of(BundleSource(files, "My App.trace"), "recording-unfinished")
    assert "--input 'My App.trace/Trace1.run/Attachments/trace-data.atrc' --template" in text


def test_an_unfinished_recording_without_raw_data() -> None:
    (text,) = issues_of(source_of(unfinished("Trace1.run/Attachments/notes.txt")), "recording-unfinished")
    assert text.endswith("It holds no raw data to recover it from: record again.")


def test_an_unfinished_recording_without_tables() -> None:
    name = "Trace1.run/Attachments/trace-data.atrc"
    with pytest.raises(InputError, match="the recording was not finished") as caught:
        source_of({name: b"raw", "open.creq": b""})
    assert f"xcrun xctrace import --input recording.trace/{name} --template" in str(caught.value)


def test_a_bundle_of_another_kind() -> None:
    files = {name: content for name, content in files_of().items() if not name.startswith("corespace/run")}
    with pytest.raises(InputError, match="holds no recorded tables that tracekit reads"):
        source_of(files)


@pytest.mark.parametrize(
    ("info", "system", "platform"),
    [
        (RunInfo(os_version="15.7.3 (24G419)", pid=4711), "15.7.3", "macOS"),
        (RunInfo(os_version="26.0 (25A354)", pid=4711), "26.0", "macOS"),
        (RunInfo(os_version="18.1 (22B83)", platform="iOS", pid=4711), "18.1", "iOS"),
    ],
)
def test_without_a_document_the_parameters_name_the_system(info: RunInfo, system: str, platform: str) -> None:
    actual = info_of(unfinished(info=info))
    assert (actual.os, actual.platform, actual.pid) == (system, platform, 4711)
    assert (actual.instruments, actual.template, actual.start, actual.process) == ("", "", "", "")


@pytest.mark.parametrize("damaged", [b"", b"bplist00", b"\x78\x9c", b"x" * 1000])
def test_damaged_parameters_are_ignored(damaged: bytes) -> None:
    actual = info_of(unfinished() | {PARAMETERS: damaged})
    assert (actual.os, actual.platform, actual.pid) == ("", "", None)


@pytest.mark.parametrize("damaged", [b"", b"bplist00", b"<plist/>", b"x" * 1000])
def test_a_damaged_document_is_an_issue(damaged: bytes) -> None:
    source = source_of(files_of() | {"form.template": damaged})
    assert issues_of(source, "document-damaged")[0].endswith(
        "there are no symbols and no run info. Copy the recording again; on a Mac, xctrace may be able to export it"
    )
    assert source.toc()[0].info.os == "15.5"


def test_a_damaged_document_without_tables_is_no_wrong_template() -> None:
    with pytest.raises(InputError) as caught:
        source_of({"form.template": b"damaged"})
    assert (caught.value.problem, caught.value.advice) == (
        "holds no recorded tables, and form.template is not a binary property list.",
        "It is incomplete: copy the whole recording again.",
    )
