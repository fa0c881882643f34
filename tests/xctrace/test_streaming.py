"""An export is parsed while it is written: scripts play xctrace, one kind of failure each."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from exporter_script import install, is_gone, no_thread_is_left, open_source, three_tables

from tracekit.errors import InputError, XctraceError
from tracekit.parsers.xml.documents import Documents
from tracekit.parsers.xml.value_store import QueryResult
from tracekit.xctrace import table_export
from tracekit.xctrace.table_export import stream_export
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_source import XctraceSource

pytestmark = pytest.mark.integration

PIPE_BYTES = 1 << 16


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the scripted xctrace, with three tables in its recording."""
    return three_tables(tmp_path)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait for an exporter to stop."""
    monkeypatch.setattr(table_export, "_STOP_SECONDS", 0.3)


def read(home: Path, behaviour: str, progress: Callable[[int, int | None], None] | None = None) -> int:
    """Read one export to its end; return its rows."""
    query = ["--xpath", '/trace-toc/run[@number="1"]/data/table[1]']
    with stream_export(install(home, behaviour), "x.trace", query, progress) as chunks:
        (parsed,) = Documents("x.trace").read(chunks)
    assert isinstance(parsed, QueryResult)
    return len(parsed.nodes[0].cells)


@pytest.fixture(autouse=True)
def nothing_is_left(home: Path) -> Iterator[None]:
    """Check that no process and no thread is left."""
    yield
    assert not (home / "pid").exists() or is_gone(home)
    assert no_thread_is_left()


def test_rows_are_parsed_before_the_export_has_ended(home: Path) -> None:
    """The exporter goes on only when the reader has shown that it parsed the first rows."""
    behaviour = """
say("<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name='table-1'><col><mnemonic>time"
    "</mnemonic><name>T</name><engineering-type>sample-time</engineering-type></col></schema>")
say("<row><sample-time>7</sample-time></row>" * 20_000)
wait_for("parsed")
say("<row><sample-time>8</sample-time></row></node>")
end()
"""

    class Watched(Documents):
        def read(self, chunks: Iterator[bytes]) -> list[object]:  # type: ignore[override]
            def watched() -> Iterator[bytes]:
                for chunk in chunks:
                    yield chunk
                    # The parser takes the next piece, so it has parsed this one.
                    if len(self._reader._open or ()) > 10_000:
                        (home / "parsed").touch()

            return super().read(watched())  # type: ignore[return-value]

    query = ["--xpath", '/trace-toc/run[@number="1"]/data/table[1]']
    with stream_export(install(home, behaviour), "x.trace", query) as chunks:
        (parsed,) = Watched("x.trace").read(chunks)
    assert isinstance(parsed, QueryResult)
    assert len(parsed.nodes[0].cells) == 20_001


def test_progress_is_reported_while_the_export_goes_on(home: Path) -> None:
    seen: list[tuple[int, int | None]] = []

    def progress(done: int, total: int | None) -> None:
        seen.append((done, total))
        (home / "progress").touch()

    rows = read(home, "wait_for('progress')", progress)
    assert rows == 3
    assert seen[0] == (len('<?xml version="1.0"?><trace-query-result>'), None)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] > seen[0][0]


def test_a_busy_parser_does_not_hold_up_the_exporter(home: Path) -> None:
    """The exporter writes many pipes full and ends, and only then the first piece is looked at."""
    tool = install(
        home,
        f"node(1, {20 * PIPE_BYTES // 38}); say('</trace-query-result>'); (home / 'done').touch(); sys.exit()",
    )
    with stream_export(tool, "x.trace", ["--xpath", "table[1]"]) as chunks:
        deadline = time.monotonic() + 30
        while not (home / "done").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert sum(map(len, chunks)) > 19 * PIPE_BYTES


def test_the_queue_before_the_parser_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_export, "_MAX_QUEUED_PIECES", 2)
    tool = install(
        home,
        f"node(1, {20 * PIPE_BYTES // 38}); say('</trace-query-result>'); (home / 'done').touch(); sys.exit()",
    )
    with stream_export(tool, "x.trace", ["--xpath", "table[1]"]) as chunks:
        time.sleep(0.5)
        assert not (home / "done").exists()
        assert sum(map(len, chunks)) > 19 * PIPE_BYTES
    assert (home / "done").exists()


def test_many_error_messages_do_not_block_and_the_last_are_kept(home: Path) -> None:
    loud = (
        "sys.stderr.write('line\\n' * 100_000 + 'one\\ntwo\\nExport failed: three.\\n'); sys.stderr.flush()\n"
    )
    assert read(home, loud) == 3
    with pytest.raises(XctraceError) as caught:
        read(home, f"{loud}sys.exit(9)")
    assert str(caught.value) == (
        "xctrace could not export x.trace: one two Export failed: three. The command was: "
        f"{home}/xctrace export --input x.trace --xpath '/trace-toc/run[@number=\"1\"]/data/table[1]'"
    )


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("node(1); sys.exit(3)", ": exit code 3."),
        ("node(1); say('</trace-query-result>'); sys.exit(3)", ": exit code 3."),
        ("node(1); os.kill(os.getpid(), signal.SIGTRAP)", ": ended by SIGTRAP."),
        (
            "node(1); sys.stderr.write('boom\\n'); sys.stderr.flush(); os.kill(os.getpid(), signal.SIGSEGV)",
            ": boom (ended by SIGSEGV).",
        ),
        ("node(1); sys.exit(0)", ": it stopped in the middle of a document, with exit code 0."),
        (
            "node(1); os.write(2, b'hm'); sys.exit(0)",
            ": hm (it stopped in the middle of a document, with exit code 0).",
        ),
        ("say('</nonsense>'); os.write(2, b'It broke.'); sys.exit(4)", ": It broke."),
    ],
)
def test_every_end_that_is_a_failure(home: Path, behaviour: str, words: str) -> None:
    with pytest.raises(XctraceError) as caught:
        read(home, behaviour)
    assert str(caught.value).startswith(
        f"xctrace could not export x.trace{words} The command was: {home}/xctrace "
    )


def test_an_exporter_that_writes_nothing(home: Path) -> None:
    (home / "toc.xml").write_text("")
    with pytest.raises(
        XctraceError,
        match=r"it wrote nothing, with exit code 0\. The command was: .* export --input x\.trace --toc",
    ):
        open_source(home)


def test_a_failure_message_on_standard_output(home: Path) -> None:
    tool = Xctrace(str(home / "xctrace"))
    install(home)
    (home / "xctrace").write_text("#!/bin/sh\necho 'Export failed: no such run'\nexit 10\n")
    with (
        pytest.raises(XctraceError, match=r"x\.trace: Export failed: no such run\. The command was"),
        stream_export(tool, "x.trace", ["--toc"]) as chunks,
    ):
        Documents("x.trace").read(chunks)


def test_an_xctrace_that_cannot_be_started(home: Path) -> None:
    with pytest.raises(
        XctraceError, match=r"could not be started: .*No such file.* The command was: /nonexistent/x export"
    ):
        XctraceSource(Xctrace("/nonexistent/x"), "x.trace", "x.trace")


def test_it_has_no_input_to_wait_for(home: Path) -> None:
    """A question, such as that of a licence, reads the end of input, whatever tracekit's own input is."""
    original, (reading, writing) = os.dup(0), os.pipe()
    os.dup2(reading, 0)
    try:
        assert read(home, "assert os.fstat(0).st_rdev == os.stat(os.devnull).st_rdev") == 3
    finally:
        os.dup2(original, 0)
        for descriptor in (original, reading, writing):
            os.close(descriptor)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("stubborn", ["", "signal.signal(signal.SIGINT, signal.SIG_IGN); "])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError, InputError("x", "y")])
def test_whatever_stops_the_reader_stops_the_exporter(
    home: Path, stubborn: str, error: type[BaseException] | BaseException
) -> None:
    """It writes without end, so the pipe is full and the exporter busy."""
    behaviour = stubborn + "\nwhile True: say('<!-- -->' * 10_000)"
    kind = type(error) if isinstance(error, BaseException) else error
    with (
        pytest.raises(kind),
        stream_export(install(home, behaviour), "x.trace", ["--xpath", "table[1]"]) as chunks,
    ):
        next(chunks)
        raise error
    assert is_gone(home)


@pytest.mark.usefixtures("quick")
def test_garbage_is_an_input_error_and_stops_the_exporter(home: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"x\.trace: is not well-formed XML"):
        read(home, "say('</nonsense>' + ' ' * 100_000); time.sleep(100)")
    assert time.monotonic() - begun < 60
    assert is_gone(home)


def test_a_second_interruption_kills_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_export, "_STOP_SECONDS", 60)
    behaviour = (
        "signal.signal(signal.SIGINT, lambda *_: os.kill(os.getppid(), signal.SIGINT))\n"
        "say('ready')\nwhile True: time.sleep(0.1)"
    )
    begun = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        stream_export(install(home, behaviour), "x.trace", ["--xpath", "table[1]"]) as chunks,
    ):
        while b"ready" not in next(chunks):
            pass
        raise RuntimeError
    assert time.monotonic() - begun < 30
    assert is_gone(home)


def test_it_runs_in_a_session_of_its_own(home: Path) -> None:
    """Ctrl-C in a terminal reaches it through tracekit alone, once."""
    assert read(home, "assert os.getsid(0) == os.getpid()") == 3


def test_a_process_that_was_left_behind_is_not_waited_for(home: Path) -> None:
    """It holds the exporter's pipes."""
    behaviour = (
        "import subprocess\n"
        "left = subprocess.Popen(['sleep', '20'], start_new_session=True)\n"
        "(home / 'left').write_text(str(left.pid))"
    )
    begun = time.monotonic()
    try:
        assert read(home, behaviour) == 3
        assert time.monotonic() - begun < 10
    finally:
        os.kill(int((home / "left").read_text()), signal.SIGKILL)


def test_an_export_that_hangs_is_ended(home: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_export, "SILENCE_SECONDS", 0.3)
    monkeypatch.setattr(table_export, "_LOOK_SECONDS", 0.1)
    with pytest.raises(XctraceError, match=r"showed no activity for .* minutes, and was ended"):
        read(home, "say('<?xml version=\"1.0\"?><trace-query-result>'); time.sleep(600)")


def test_an_export_that_works_without_a_byte_is_not_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_export, "SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(table_export, "_LOOK_SECONDS", 0.1)
    used = iter(f"0:00.{number:02}" for number in range(100))
    monkeypatch.setattr(table_export, "read_cpu_time", lambda _pid: next(used))
    assert read(home, "time.sleep(1)") == 3
