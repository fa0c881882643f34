"""Comparisons of two recordings: made by a process of their own, kept, and gone with either recording."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from library_support import BUNDLE, EXPORTS, QUIET, is_alive, opened, ready, removed, tree, upload, wait_for

import tracekit
from tracekit import compare
from tracekit.errors import UsageError
from tracekit.report.comparison.json import to_json
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.jobs import comparisons as module
from tracekit_dashboard.jobs.queue import JobStatus, QueueFull
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.jobs.workers import compare as worker
from tracekit_dashboard.library.library import Library

pytestmark = pytest.mark.integration

EXPORT = (EXPORTS / "time-profile.xml").read_bytes()
FOLDER = """$(echo "$task" | sed 's/.*"folder": "\\([^"]*\\)".*/\\1/')"""
MADE_AT_ONCE = f"mkdir {FOLDER}"
"""A program that compares nothing: what counts is that the comparison was made, not what is in it."""
FILES = ["comparison.html", "comparison.json", "comparison.md", "difference.bin", "read", "sections.json"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have a program other than Python compare; its output goes to the server."""

    def use(script: str) -> None:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\nread task\n{script}\n")
        path.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(path))

    return use


def both(library: Library) -> tuple[str, str]:
    return ready(library, library.add_file(BUNDLE)), ready(library, library.add_file(EXPORTS))


def settled(library: Library, base: str, new: str) -> JobStatus:
    wait_for(lambda: library.comparisons.find_or_begin(base, new).state not in ("waiting", "running"), 60)
    return library.comparisons.find_or_begin(base, new)


def kept(library: Library) -> list[str]:
    return tree(library._store.comparisons)


def nothing_runs(library: Library) -> bool:
    return (
        library.queue.list_unfinished(module.COMPARISON) == []
        and list(library._store.comparisons.glob("work-*")) == []
    )


# What is made ---------------------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_compare_command(library: Library) -> None:
    base, new = both(library)
    assert library.comparisons.find_or_begin(base, new).state == "waiting"
    assert settled(library, base, new) == JobStatus("done")
    sides = [tracekit.analyze(tracekit.open_trace(path)) for path in (BUNDLE, EXPORTS)]
    document = to_json(compare(sides[:1], sides[1:]))
    assert library.comparisons.find_file(base, new, "comparison.json").read_text("utf-8") == document
    assert kept(library) == [f"{base}-{new}/{file}" for file in FILES]
    assert b"<!doctype html>" in library.comparisons.find_file(base, new, "comparison.html").read_bytes()


def test_the_sections_have_places_for_both_timelines_and_no_script(library: Library) -> None:
    base, new = both(library)
    settled(library, base, new)
    document = json.loads(library.comparisons.find_file(base, new).read_text("utf-8"))
    names = [
        "verdict",
        "findings",
        "sides",
        "timelines",
        "differences",
        "one-sided",
        "functions",
        "difference",
    ]
    assert set(names) - {"one-sided"} <= set(document)
    assert list(document)[:3] == ["verdict", "models", "findings"]
    assert 'id="timeline-base"><h3>BASE: recording.trace</h3></div>' in document["timelines"]
    assert 'id="timeline-new"><h3>NEW: ane-e5rt-macos26</h3></div>' in document["timelines"]
    assert "<script" not in "".join(document.values())


def test_an_upload_is_called_by_its_name_and_no_folder_is_shown(library: Library) -> None:
    base = ready(library, upload(library, "Camera <b>.xml", EXPORT))
    new = ready(library, library.add_file(BUNDLE))
    settled(library, base, new)
    for name in FILES:
        content = library.comparisons.find_file(base, new, name).read_bytes()
        assert str(library._store.folder).encode() not in content
    assert "Camera &lt;b&gt;.xml" in library.comparisons.find_file(base, new, "comparison.html").read_text(
        "utf-8"
    )


def test_the_progress_is_shown(library: Library, program: Callable[[str], None], tmp_path: Path) -> None:
    base, new = both(library)
    go = tmp_path / "go"
    program(
        f"""echo '{{"stage": "opening NEW", "progress": 0.25}}'; until [ -e {go} ]; do sleep 0.05; done; exit 1"""
    )
    library.comparisons.find_or_begin(base, new)
    wait_for(
        lambda: library.comparisons.find_or_begin(base, new) == JobStatus("running", "opening NEW", 0.25)
    )
    go.touch()
    assert settled(library, base, new).state == "failed"


# What is kept ---------------------------------------------------------------------------------------------


def test_it_is_kept_over_a_restart(tmp_path: Path, program: Callable[[str], None]) -> None:
    program(MADE_AT_ONCE)
    with opened(tmp_path / "library") as library:
        base, new = both(library)
        settled(library, base, new)
    program("exit 1")
    with opened(tmp_path / "library") as library:
        assert library.comparisons.find_or_begin(base, new) == JobStatus("done")


def test_the_sides_swapped_are_another_comparison(library: Library, program: Callable[[str], None]) -> None:
    program(MADE_AT_ONCE)
    base, new = both(library)
    settled(library, base, new)
    with pytest.raises(NotFound, match="not been compared yet"):
        library.comparisons.find_file(new, base)
    assert settled(library, new, base) == JobStatus("done")


def test_it_is_stale_when_a_recording_was_read_anew(library: Library, program: Callable[[str], None]) -> None:
    program(MADE_AT_ONCE)
    base, new = both(library)
    settled(library, base, new)
    ready(library, library.retry(new))
    assert kept(library) == []
    with pytest.raises(NotFound):
        library.comparisons.find_file(base, new)
    assert library.comparisons.find_or_begin(base, new).state == "waiting"
    assert settled(library, base, new) == JobStatus("done")


def test_it_is_stale_when_another_tracekit_made_it(
    library: Library, program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(MADE_AT_ONCE)
    base, new = both(library)
    settled(library, base, new)
    monkeypatch.setattr(tracekit, "__version__", "99")
    assert library.comparisons.find_or_begin(base, new).state == "waiting"


def test_what_was_made_of_an_older_reading_is_not_kept(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    base, new = both(library)
    go = tmp_path / "go"
    program(f"until [ -e {go} ]; do sleep 0.05; done; {MADE_AT_ONCE}")
    library.comparisons.find_or_begin(base, new)
    os.utime(library.find_results(new) / "summary.json", ns=(1, 1))
    go.touch()
    wait_for(lambda: nothing_runs(library))
    assert kept(library) == []
    library.comparisons.find_or_begin(base, new)  # what failed was of the older reading
    wait_for(lambda: nothing_runs(library))
    assert kept(library) == [f"{base}-{new}/read"]


@pytest.mark.parametrize("side", [0, 1])
def test_it_goes_with_either_recording(library: Library, program: Callable[[str], None], side: int) -> None:
    program(MADE_AT_ONCE)
    pair = both(library)
    settled(library, *pair)
    library.delete(pair[side])
    with pytest.raises(NotFound, match="was deleted"):
        library.comparisons.find_file(*pair)
    with pytest.raises(NotFound, match="was deleted"):
        library.comparisons.find_or_begin(*pair)
    library.restore(pair[side])
    assert library.comparisons.find_or_begin(*pair) == JobStatus("done")
    removed(library, pair[side])
    assert kept(library) == [] and list(library._store.comparisons.iterdir()) == []


def test_what_an_ended_server_left_is_removed(tmp_path: Path, program: Callable[[str], None]) -> None:
    program(MADE_AT_ONCE)
    with opened(tmp_path / "library") as library:
        base, new = both(library)
        settled(library, base, new)
        for name in ("work-12345678", f"{base}-{'e' * 32}", "something"):
            (library._store.comparisons / name).mkdir()
    with opened(tmp_path / "library") as library:
        left = sorted(path.name for path in library._store.comparisons.iterdir())
        assert left == [f"{base}-{new}", "something"]


# What is ended --------------------------------------------------------------------------------------------


def started(library: Library, program: Callable[[str], None], tmp_path: Path) -> tuple[str, str, list[int]]:
    """A comparison that would take for ever, and its processes."""
    pids = tmp_path / "pids"
    program(f"sleep 100 > /dev/null & echo $$ $! > {pids}; wait")
    base, new = both(library)
    library.comparisons.find_or_begin(base, new)
    wait_for(lambda: pids.is_file() and len(pids.read_text().split()) == 2)
    return base, new, [int(pid) for pid in pids.read_text().split()]


def gone(pids: list[int]) -> bool:
    wait_for(lambda: not any(map(is_alive, pids)))
    return True


def test_a_cancelled_one_ends_and_can_be_begun_again(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    base, new, pids = started(library, program, tmp_path)
    library.comparisons.cancel(base, new)
    assert library.comparisons.find_or_begin(base, new) == JobStatus("cancelled")
    assert gone(pids) and nothing_runs(library)
    program("""echo '{"failed": "No."}'; exit 1""")
    library.comparisons.retry(base, new)
    assert settled(library, base, new) == JobStatus("failed", message="No.")


@pytest.mark.parametrize("act", ["delete", "purge", "retry"])
def test_it_ends_when_a_recording_goes(
    act: str, library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    _base, new, pids = started(library, program, tmp_path)
    removed(library, new) if act == "purge" else getattr(library, act)(new)
    assert gone(pids) and nothing_runs(library)


def test_it_ends_with_the_library_and_is_begun_anew_when_requested(
    tmp_path: Path, program: Callable[[str], None]
) -> None:
    with opened(tmp_path / "library") as library:
        base, new, pids = started(library, program, tmp_path)
    assert gone(pids)
    program(MADE_AT_ONCE)
    with opened(tmp_path / "library") as library:
        assert settled(library, base, new) == JobStatus("done")


def test_two_tabs_share_one_comparison(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    base, new, _pids = started(library, program, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        states = set(pool.map(lambda _tab: library.comparisons.find_or_begin(base, new).state, range(8)))
    assert states == {"running"}
    assert len(library.queue.list_unfinished(module.COMPARISON)) == 1


def test_one_that_waits_is_cancelled_without_having_begun(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    base, new, pids = started(library, program, tmp_path)
    assert library.comparisons.find_or_begin(new, base) == JobStatus("waiting")
    library.comparisons.cancel(base, new)
    assert gone(pids)
    wait_for(lambda: library.comparisons.find_or_begin(new, base).state == "running")
    library.comparisons.cancel(new, base)
    assert nothing_runs(library)


# What goes wrong ------------------------------------------------------------------------------------------


def test_a_recording_is_not_compared_with_itself(library: Library) -> None:
    base, _new = both(library)
    with pytest.raises(UsageError, match="Choose two"):
        library.comparisons.find_or_begin(base, base)


@pytest.mark.parametrize("wrong", ["", "..", "../../x", "A" * 32, "e" * 32])
def test_what_is_no_recording_is_not_found(library: Library, wrong: str) -> None:
    base, _new = both(library)
    for pair in ((base, wrong), (wrong, base)):
        with pytest.raises(NotFound):
            library.comparisons.find_or_begin(*pair)
        with pytest.raises(NotFound):
            library.comparisons.find_file(*pair)
    assert list(library._store.comparisons.iterdir()) == []


def test_one_that_is_not_ready_is_reported(library: Library) -> None:
    base, waits = ready(library, library.add_file(BUNDLE)), library.add_file(EXPORTS).id
    with pytest.raises(NotFound, match="ane-e5rt-macos26 is not ready: waiting"):
        library.comparisons.find_or_begin(base, waits)


def test_a_file_that_is_gone_or_changed_is_reported(library: Library, tmp_path: Path) -> None:
    local_export = tmp_path / "mine.xml"
    local_export.write_bytes(EXPORT)
    base, new = ready(library, library.add_file(local_export)), ready(library, library.add_file(BUNDLE))
    local_export.write_bytes(EXPORT + b"\n")
    message = "mine.xml cannot be compared: its file is gone, or has changed since it was read."
    assert settled(library, base, new).message.startswith(message)
    local_export.unlink()
    library.comparisons.retry(base, new)
    assert settled(library, base, new).message.startswith(message)
    assert nothing_runs(library)


def test_what_was_compared_stays_when_a_file_goes(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    program(MADE_AT_ONCE)
    local_export = tmp_path / "mine.xml"
    local_export.write_bytes(EXPORT)
    base, new = ready(library, library.add_file(local_export)), ready(library, library.add_file(BUNDLE))
    settled(library, base, new)
    local_export.unlink()
    assert library.comparisons.find_or_begin(base, new) == JobStatus("done")


def test_an_input_that_cannot_be_read_is_a_sentence_without_folders(library: Library) -> None:
    broken = ready(
        library, upload(library, "Broken.xml", EXPORT[: len(EXPORT) // 2].replace(b"<node>", b"<"))
    )
    recording = settled(library, broken, ready(library, library.add_file(BUNDLE)))
    assert recording.state == "failed" and recording.message.startswith("Broken.xml")
    assert str(library._store.folder) not in recording.message
    assert nothing_runs(library) and kept(library) == []


def test_a_process_that_is_ended_from_outside_is_reported_and_the_next_is_made(
    library: Library, program: Callable[[str], None], tmp_path: Path
) -> None:
    base, new, pids = started(library, program, tmp_path)
    os.kill(pids[0], signal.SIGKILL)
    comparison = settled(library, base, new)
    assert comparison == JobStatus(
        "failed",
        message="Comparing was killed (signal 9), perhaps because memory ran out."
        " Try again when less is running.",
    )
    assert gone(pids) and nothing_runs(library)
    program(MADE_AT_ONCE)
    library.comparisons.retry(base, new)
    assert settled(library, base, new) == JobStatus("done")


def test_an_unforeseen_error_is_reported_without_its_text(
    library: Library, program: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    base, new = both(library)
    program("echo Traceback at /secret >&2; exit 1")
    assert settled(library, base, new).message == (
        "Comparing failed because of an error in tracekit. The dashboard's terminal has the details."
    )
    assert "/secret" in caplog.text


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (replace(QUIET, job_seconds=0.2), "Comparing took longer than"),
        (replace(QUIET, free_disk_bytes=1 << 60), "too little room"),
    ],
)
def test_limits_hold(limits: object, message: str, tmp_path: Path) -> None:
    with opened(tmp_path / "library") as library:
        base, new = both(library)
    with opened(tmp_path / "library", limits) as library:  # type: ignore[arg-type]
        comparison = settled(library, base, new)
        assert comparison.state == "failed" and message in comparison.message
        assert nothing_runs(library) and kept(library) == []


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        ("read_and_analyse", MemoryError(), "B.trace needs more memory than a worker may use."),
        (
            "read_and_analyse",
            OSError(5, "Input/output error"),
            "B.trace could not be read to its end: Input/output error.",
        ),
        ("_write_contents", MemoryError(), "Comparing them needs more memory than a worker may use."),
        (
            "_write_contents",
            OSError(28, "No space left on device"),
            "The comparison could not be written: No space left on device.",
        ),
    ],
)
def test_what_hinders_the_process_is_a_sentence(
    step: str, error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(worker, "read_and_analyse", lambda *_arguments: None)
    monkeypatch.setattr(worker, step, fail)
    heard = io.StringIO()
    pair = worker.Pair(("B.trace", "N.trace"), ("2f62", "2f6e"), (False, False), "/nowhere")
    assert worker.do_comparison(pair, Channel(heard)) == 1
    assert json.loads(heard.getvalue()) == {"failed": message}


def test_too_many_at_once_are_refused_with_a_time_to_retry(
    library: Library, program: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPARISON", replace(module.COMPARISON, max_unfinished=1))
    base, new, _pids = started(library, program, tmp_path)
    with pytest.raises(QueueFull, match="Try again in a moment"):
        library.comparisons.find_or_begin(new, base)
