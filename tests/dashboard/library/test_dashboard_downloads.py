"""Files made of a recording: by a process of their own, once, and never of something else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from library_support import (
    BUNDLE,
    EXPORTS,
    QUIET,
    ROOT,
    environment,
    is_alive,
    opened,
    ready,
    removed,
    upload,
    wait_for,
)

import tracekit
from tracekit.errors import UsageError
from tracekit_dashboard.errors import Busy, Conflict, NoSpace, NotFound
from tracekit_dashboard.jobs import process
from tracekit_dashboard.jobs.download_formats import FORMATS, choose_format, list_available
from tracekit_dashboard.jobs.download_jobs import DownloadFailed
from tracekit_dashboard.library import reading_results
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.reading_results import PROCESSES

pytestmark = pytest.mark.integration

EXPORT = (EXPORTS / "time-profile.xml").read_bytes()
HTML, MARKDOWN, WINDOWS = FORMATS["html"], FORMATS["markdown"], FORMATS["windows"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has another program than Python make things; the file that it should write is in $OUT."""

    def use(script: str) -> None:
        path = tmp_path / "program"
        path.write_text(
            f'#!/bin/sh\nALL="$*"\nwhile [ $# -gt 0 ]; do if [ "$1" = -o ]; then OUT=$2; fi; shift; done\n{script}\n'
        )
        path.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(path))

    return use


def left(library: Library, recording: str) -> list[str]:
    """Return the files of a recording's folder, without its input and a worker's results."""
    folder = library._store.recording_folder(recording)
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    kept_files = ("about.json", "input", "results/summary.json")
    return sorted(path for path in paths if not path.startswith(kept_files))


def no_longer_alive(pids: Path) -> bool:
    wait_for(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))
    return True


# What is made ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "begins", "holds"),
    [
        ("html", b"<!doctype html>", b"recording.trace"),
        ("markdown", b"", b"GPU"),
        ("png", b"\x89PNG\r\n", b"IEND"),
        ("svg", b"<svg", b"</svg>"),
        ("windows", b"window_id,", b"\n"),
        ("samples", b"time_ns,", b"\n"),
        ("speedscope", b"{", b"speedscope.app/file-format-schema.json"),
        ("perfetto", b"\n", b"GPU"),
        ("pprof", b"\x1f\x8b", b""),
        ("json", b"{", b"tracekit-analysis/1"),
    ],
)
def test_a_sample_recording_in_every_format(name: str, begins: bytes, holds: bytes, library: Library) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    made = library.downloads.find_or_make(recording, choose_format(name, False))
    content = made.read_bytes()
    assert content.startswith(begins) and holds in content
    assert made.parent == library._store.results(recording) / "downloads"
    assert left(library, recording) == ["results", "results/downloads", f"results/downloads/{made.name}"]


def test_a_redacted_report_is_another_file(library: Library) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    made = library.downloads
    plain, redacted = (made.find_or_make(recording, MARKDOWN, redact) for redact in (False, True))
    assert (plain.name, redacted.name) == ("markdown.md", "markdown.redacted.md")
    document = json.loads(made.find_or_make(recording, FORMATS["json"], redact=True).read_bytes())
    assert "redacted" in [issue["code"] for issue in document["issues"]]


def test_a_recording_of_all_processes_is_redacted_to_the_one_that_is_chosen(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    (library.find_results(recording) / PROCESSES).write_text('[[751, "Finder"], [42, "App"]]')
    program(f'echo "$ALL" > "$OUT"; echo made >> {tmp_path}/times')
    for pid, problem in (
        ("", "is a recording of all processes. Choose the one to keep on its page"),
        ("43", "offers no choice of"),
    ):
        with pytest.raises(UsageError, match=problem):
            library.downloads.find_or_make(recording, MARKDOWN, True, pid)
    paths = [
        library.downloads.find_or_make(recording, MARKDOWN, True, process) for process in ("751", "42", "42")
    ]
    assert [path.name for path in paths] == [
        "markdown.redacted-751.md", "markdown.redacted-42.md", "markdown.redacted-42.md",
    ]  # fmt: skip
    assert "--redact --process 751 " in paths[0].read_text()
    assert (tmp_path / "times").read_text() == "made\nmade\n"


def test_who_did_most_is_offered_first() -> None:
    trace = tracekit.open_trace(BUNDLE)
    busiest = trace.samples["thread_id"].value_counts().idxmax()
    threads = trace.threads.assign(pid=42, process="The app")
    threads.loc[(busiest + 1) % len(threads), ["pid", "process"]] = [7, "Finder"]
    of_all = replace(trace, info=replace(trace.info, pid=None, process=""), threads=threads)
    assert offered(of_all) == [[42, "The app"], [7, "Finder"]]
    assert offered(replace(of_all, info=replace(of_all.info, pid=42))) == []
    assert offered(replace(of_all, info=replace(of_all.info, process="The app"))) == []
    assert offered(replace(of_all, threads=threads.assign(pid=7))) == []


def test_the_processes_of_a_log_are_offered(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    done = "ANEProgramProcessRequestDirect() status=0x0 : statusType=0x0"
    lines = [
        f"2026-01-01 12:00:0{pid - 103}.000000+0000 0x{pid:x} Default 0x0 {pid} 0 {name}: (Lib) [com.apple.ane:x] {done}\n"
        for name, pid in (("MyApp", 103), ("Other", 104))
    ]
    log.write_text("".join(lines))
    assert offered(tracekit.open_trace(log)) == [[103, "MyApp"], [104, "Other"]]
    log.write_text(lines[0])
    assert offered(tracekit.open_trace(log)) == [[103, "MyApp"]]


def offered(trace: tracekit.Trace) -> Any:
    return json.loads(b"".join(reading_results._list_processes(tracekit.analyze(trace))))


def test_what_was_made_is_kept_until_the_recording_is_read_anew(
    library: Library, program: Callable[[str], None]
) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    program('echo first > "$OUT"')
    assert library.downloads.find_or_make(recording, WINDOWS).read_text() == "first\n"
    program('echo second > "$OUT"')
    assert library.downloads.find_or_make(recording, WINDOWS).read_text() == "first\n"
    ready(library, library.retry(recording))
    assert library.downloads.find_or_make(recording, WINDOWS).read_text() == "second\n"
    removed(library, recording)
    assert list(library._store.recordings.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Camera ‘1’.trace.xml", "Camera ‘1’"), ("--force.xml", "--force"), ("...xml", None), ("é" * 200, None)],
)
def test_an_upload_is_called_by_its_name_whatever_that_is(
    name: str, shown: str | None, library: Library
) -> None:
    recording = ready(library, upload(library, name, EXPORT))
    text = library.downloads.find_or_make(recording, HTML).read_text("utf-8")
    assert shown is None or f"<title>{shown}" in text
    assert str(library._store.folder) not in text


def test_only_what_is_installed_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [format_.name for format_ in list_available()] == list(FORMATS)
    for module in ("PIL", "google", "perfetto"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    assert {format_.name for format_ in FORMATS.values()} - {
        format_.name for format_ in list_available()
    } == {
        "png",
        "perfetto",
        "pprof",
    }
    with pytest.raises(UsageError, match="needs a package that is not installed"):
        choose_format("png", False)


def test_nothing_is_handed_out_as_redacted_that_is_not() -> None:
    with pytest.raises(UsageError, match="cannot be redacted"):
        choose_format("samples", True)
    with pytest.raises(NotFound):
        choose_format("../html", False)


# Several at once ------------------------------------------------------------------------------------------


def test_two_requests_at_once_make_it_once(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    made, go = library.downloads, tmp_path / "go"
    program(f'echo x >> {tmp_path}/started; until [ -e {go} ]; do sleep 0.05; done; echo it > "$OUT"')
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(made.find_or_make, recording, HTML) for _ in range(3)]
        wait_for(lambda: made._joined == 2)
        with pytest.raises(Busy):  # each that waits holds a thread of the server
            made.find_or_make(recording, HTML)
        go.touch()
        assert {future.result().read_text() for future in futures} == {"it\n"}
    assert (tmp_path / "started").read_text() == "x\n"


def test_a_third_is_refused_with_a_time_to_retry(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    made, go = library.downloads, tmp_path / "go"
    program(f'until [ -e {go} ]; do sleep 0.05; done; echo it > "$OUT"')
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(made.find_or_make, recording, window) for window in (HTML, WINDOWS)]
        wait_for(lambda: len(library.queue.list_unfinished(made.kind)) == 2)
        with pytest.raises(Busy, match="Try again in a moment"):
            made.find_or_make(recording, MARKDOWN)
        go.touch()
        assert all(future.result().is_file() for future in futures)
    assert made.find_or_make(recording, MARKDOWN).is_file()


# What goes wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Camera.xml", "recording"])
def test_a_failure_is_a_sentence_without_folders_and_leaves_nothing(
    name: str, library: Library, tmp_path: Path
) -> None:
    uploaded = ready(library, upload(library, name, EXPORT[: len(EXPORT) // 2].replace(b"<node>", b"<")))
    local = tmp_path / name
    local.write_bytes(b"<?xml version='1.0'?>\n<nothing/>")
    for recording in (uploaded, ready(library, library.add_file(local))):
        with pytest.raises(DownloadFailed) as failure:
            library.downloads.find_or_make(recording, HTML)
        assert str(failure.value).startswith(name.removesuffix(".xml"))
        assert str(tmp_path) not in str(failure.value) and "\n" not in str(failure.value)
        assert left(library, recording) == ["results"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo half > $OUT; echo 'Traceback: /secret' >&2; exit 1", "failed"),
        ("kill -KILL $$", "was killed (signal 9)"),
        ("exit 0", "No such file"),
    ],
)
def test_a_maker_that_breaks_down_leaves_nothing(
    script: str, message: str, library: Library, program: Callable[[str], None]
) -> None:
    recording = ready(library, library.add_file(BUNDLE))
    program(script)
    made = library.downloads
    with pytest.raises(DownloadFailed) as failure:
        made.find_or_make(recording, HTML)
    assert message in str(failure.value) and "/secret" not in str(failure.value)
    assert left(library, recording) == ["results"]
    program('echo it > "$OUT"')
    assert made.find_or_make(recording, HTML).is_file()


def test_one_that_takes_too_long_is_ended_with_all_that_it_started(
    program: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE_SECONDS", 0.2)
    program(f"trap '' TERM; sleep 60 & echo $$ $! > {tmp_path}/pids; wait; sleep 60")
    with opened(tmp_path / "library", replace(QUIET, download_seconds=0.5)) as library:
        recording = ready(library, library.add_file(BUNDLE))
        with pytest.raises(DownloadFailed, match="took longer than"):
            library.downloads.find_or_make(recording, HTML)
        assert no_longer_alive(tmp_path / "pids")
        assert left(library, recording) == ["results"]


@pytest.mark.parametrize("ends", ["delete", "purge", "close"])
def test_with_the_recording_or_the_server_ends_what_is_being_made_of_it(
    ends: str, program: Callable[[str], None], tmp_path: Path
) -> None:
    program(f"sleep 60 & echo $$ $! > {tmp_path}/pids; wait")
    with opened(tmp_path / "library") as library, ThreadPoolExecutor(1) as pool:
        recording = ready(library, library.add_file(BUNDLE))
        future = pool.submit(library.downloads.find_or_make, recording, HTML)
        wait_for(
            lambda: (
                len((tmp_path / "pids").read_text().split()) == 2 if (tmp_path / "pids").exists() else False
            )
        )
        end = {"close": library.close, "delete": lambda: library.delete(recording)}
        end.get(ends, lambda: removed(library, recording))()
        assert no_longer_alive(tmp_path / "pids")
        with pytest.raises(Conflict if ends == "close" else NotFound):
            future.result()
        folder = library._store.recording_folder(recording)
        assert left(library, recording) == ([] if ends == "purge" else ["results"])
        assert folder.exists() == (ends != "purge")


def test_what_is_made_of_another_goes_on(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    first, second = (ready(library, upload(library, name, EXPORT)) for name in ("a.xml", "b.xml"))
    go = tmp_path / "go"
    program(f'until [ -e {go} ]; do sleep 0.05; done; echo it > "$OUT"')
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(library.downloads.find_or_make, second, HTML)
        wait_for(lambda: len(library.queue.list_unfinished(library.downloads.kind)) == 1)
        removed(library, first)
        go.touch()
        assert future.result().read_text() == "it\n"


def test_a_maker_that_needs_too_much_memory_is_reported(tmp_path: Path) -> None:
    with opened(tmp_path / "library", replace(QUIET, download_memory_bytes=32 << 20)) as library:
        recording = ready(library, library.add_file(BUNDLE))
        with pytest.raises(DownloadFailed):
            library.downloads.find_or_make(recording, HTML)
        assert left(library, recording) == ["results"]


def test_as_many_are_made_at_once_as_the_settings_allow(
    program: Callable[[str], None], tmp_path: Path
) -> None:
    program(f'until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo it > "$OUT"')
    with opened(tmp_path / "library", replace(QUIET, downloads=1)) as library, ThreadPoolExecutor(1) as pool:
        recording = ready(library, library.add_file(BUNDLE))
        future = pool.submit(library.downloads.find_or_make, recording, HTML)
        wait_for(lambda: len(library.queue.list_unfinished(library.downloads.kind)) == 1)
        with pytest.raises(Busy):
            library.downloads.find_or_make(recording, WINDOWS)
        (tmp_path / "go").touch()
        future.result()


def test_a_maker_ends_with_the_server(tmp_path: Path) -> None:
    pipe = tmp_path / "endless.xml"
    os.mkfifo(pipe)
    command = [
        sys.executable,
        "-P",
        "-m",
        "tracekit_dashboard.jobs.workers.tracekit_command",
        "analyze",
        str(pipe),
    ]
    maker = subprocess.Popen(
        command, stdin=subprocess.PIPE, env=environment(), cwd=ROOT, start_new_session=True
    )
    errors: list[Any] = []
    writing = threading.Thread(target=lambda: errors.append(pipe.open("wb")), daemon=True)
    writing.start()
    writing.join(20)  # the maker has opened its input and waits for more
    with errors[0]:
        assert maker.poll() is None
        maker.stdin.close()  # type: ignore[union-attr]
        assert maker.wait(20) != 0


def test_of_a_file_that_changed_nothing_new_is_made(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    local = tmp_path / "Camera.xml"
    local.write_bytes(EXPORT)
    recording = ready(library, library.add_file(local))
    program('echo it > "$OUT"')
    library.downloads.find_or_make(recording, HTML)
    local.write_bytes(EXPORT + b" ")
    assert library.downloads.find_or_make(recording, HTML).read_text() == "it\n"  # of what the page shows
    with pytest.raises(Conflict, match="has changed since it was read"):
        library.downloads.find_or_make(recording, WINDOWS)


@pytest.mark.parametrize("becomes", ["changed", "read anew", "deleted", "purged"])
def test_what_changes_meanwhile_is_not_handed_out(
    becomes: str, library: Library, tmp_path: Path, program: Callable[[str], None]
) -> None:
    local, go = tmp_path / "Camera.xml", tmp_path / "go"
    local.write_bytes(EXPORT)
    recording = ready(library, library.add_file(local))
    program(f'touch {tmp_path}/began; until [ -e {go} ]; do sleep 0.05; done; echo it > "$OUT"')
    changes: dict[str, Callable[[], Any]] = {
        "changed": lambda: local.write_bytes(EXPORT + b" "),
        "read anew": lambda: ready(library, library.retry(recording)),
        "deleted": lambda: library.delete(recording),
        "purged": lambda: removed(library, recording),
    }
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(library.downloads.find_or_make, recording, HTML)
        wait_for((tmp_path / "began").exists)
        changes[becomes]()
        go.touch()
        with pytest.raises(Conflict if becomes in ("changed", "read anew") else NotFound):
            future.result()
    folder = library._store.recording_folder(recording)
    assert folder.exists() == (becomes != "purged")
    assert not folder.exists() or left(library, recording) == ["results"]


def test_a_full_disk_is_reported_before_anything_is_begun(tmp_path: Path) -> None:
    with opened(tmp_path / "library", replace(QUIET, free_disk_bytes=1 << 62)) as library:
        recording = ready(library, library.add_file(BUNDLE))
        with pytest.raises(NoSpace):
            library.downloads.find_or_make(recording, HTML)
        assert left(library, recording) == ["results"]
