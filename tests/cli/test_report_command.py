"""``tracekit report``: formats, names, refusals, what --redact takes out of every format, files whole or not there."""

from __future__ import annotations

import base64
import builtins
import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from documents_support import TIME_PROFILE, document, node, schema, write

import tracekit.cli.report as module
from tracekit.cli import main
from tracekit.installation import format_install_command

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
FALLBACK = SAMPLES / "fallback-midway-ios27"
ANE_TABLE = FALLBACK / "ane-hw-intervals.xml"
FORMATS = ("html", "markdown", "json", "png", "svg", "text")
BEGINS = {
    "html": b"<!doctype html>\n",
    "markdown": b"### ",
    "json": b'{\n  "schema": "tracekit-analysis/1"',
    "png": b"\x89PNG",
    "svg": b"<svg ",
    "text": b"SpeechEncoder left",
}


def run(*arguments: str | Path, data: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)], input=data)


def needs_pillow(name: str) -> None:
    if name == "png":
        pytest.importorskip("PIL", reason="Pillow is not installed")


def view_in(text: str) -> tuple[dict[str, Any], bytes]:
    """The header of a report's data, and the whole block."""
    (data,) = re.findall(r'id="tracekit-data">([^<]*)<', text)
    block = gzip.decompress(base64.b64decode(data))
    (length,) = struct.unpack_from("<I", block)
    return json.loads(block[4 : 4 + length]), block


# Formats and names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.html", "html"),
        ("x.HTM", "html"),
        ("x.md", "markdown"),
        ("x.json", "json"),
        ("x.png", "png"),
        ("x.svg", "svg"),
        ("x.txt", "text"),
    ],
)
def test_the_format_follows_the_extension(name: str, kind: str, tmp_path: Path) -> None:
    needs_pillow(kind)
    result = run(FALLBACK, "-o", tmp_path / name)
    assert (result.exit_code, result.stderr, result.stdout) == (0, f"Wrote {tmp_path / name}\n", "")
    assert (tmp_path / name).read_bytes().startswith(BEGINS[kind])
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", FORMATS)
def test_the_format_requested_goes_before_the_extension(kind: str, tmp_path: Path) -> None:
    needs_pillow(kind)
    assert run(FALLBACK, "--format", kind, "-o", tmp_path / "x.json").exit_code == 0
    assert (tmp_path / "x.json").read_bytes().startswith(BEGINS[kind])


@pytest.mark.parametrize("kind", FORMATS)
def test_standard_output_has_the_bytes_of_the_file(kind: str, tmp_path: Path) -> None:
    needs_pillow(kind)
    result = run(FALLBACK, "--format", kind, "-o", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert run(FALLBACK, "--format", kind, "-o", tmp_path / "x").exit_code == 0
    assert result.stdout_bytes == (tmp_path / "x").read_bytes()


def test_standard_output_is_html_by_default() -> None:
    assert run(FALLBACK, "-o", "-").stdout_bytes.startswith(BEGINS["html"])


def test_an_extension_that_names_no_format_is_refused(tmp_path: Path) -> None:
    result = run(FALLBACK, "-o", tmp_path / "x.pdf")
    assert result.exit_code == 2
    assert "the extension names no format (.html, .htm, .md, .json, .png, .svg, .txt do)" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_an_extension_is_html(tmp_path: Path) -> None:
    """The format follows the extension; without one it is html."""
    assert run(FALLBACK, "-o", tmp_path / "report").exit_code == 0
    assert (tmp_path / "report").read_bytes().startswith(BEGINS["html"])


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (["a.trace"], "a"),
        (["x/a.trace/"], "a"),
        (["a.xml"], "a"),
        (["a.b.xml.gz"], "a.b"),
        (["a.tracekit.zip"], "a"),
        (["a.tar.gz"], "a"),
        (["folder"], "folder"),
        ([".trace"], ".trace"),
        (["a.xml", "b.xml"], "report"),
        (["-"], "report"),
        (["/"], "report"),
    ],
)
def test_the_default_name_is_the_recordings(inputs: list[str], expected: str) -> None:
    assert module._choose_stem(tuple(inputs)) == expected


def test_without_a_name_the_report_lies_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(FALLBACK)
    assert (result.exit_code, result.stderr) == (0, "Wrote fallback-midway-ios27.html\n")
    again = run(FALLBACK)
    assert (again.exit_code, "without --force" in again.stderr) == (2, True)
    assert run(FALLBACK, "-f").exit_code == 0


# Refusals -------------------------------------------------------------------------------------------------


def test_a_file_is_not_overwritten_without_force(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("mine")
    result = run(FALLBACK, "-o", path)
    assert (result.exit_code, path.read_text()) == (2, "mine")
    assert f"{path} exists and will not be overwritten without --force." in result.stderr
    assert run(FALLBACK, "-o", path, "--force").exit_code == 0
    assert path.read_bytes().startswith(BEGINS["html"])


@pytest.mark.parametrize("kind", [format_name for format_name in FORMATS if format_name != "html"])
def test_full_goes_with_html_alone(kind: str, tmp_path: Path) -> None:
    result = run(FALLBACK, "--full", "--format", kind, "-o", tmp_path / "x")
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "--full is for HTML" in result.stderr


def test_full_keeps_every_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.report.viewmodel.samples.MOST_EXACT", 10)
    for name, options in (("some", ()), ("all", ("--full",))):
        assert run(FALLBACK, "-o", tmp_path / f"{name}.html", *options).exit_code == 0
    some, every = (view_in((tmp_path / f"{name}.html").read_text())[0] for name in ("some", "all"))
    assert (some["exact"], every["exact"]) == (False, True)
    assert every["samples"]["count"] == sum(lane["samples"] for lane in every["lanes"])


def test_a_picture_is_not_put_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class System:
        stdout = Terminal()

    monkeypatch.setattr(module, "sys", System)
    result = run(FALLBACK, "--format", "png", "-o", "-")
    assert result.exit_code == 2
    assert "PNG is a binary format: write it to a file with -o FILE.png." in result.stderr


def test_without_pillow_one_sentence_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    result = run(FALLBACK, "-o", tmp_path / "x.png")
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert format_install_command("png") in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("place", ["nowhere/x.html", "."])
def test_an_output_that_cannot_be_written_is_reported_at_once(place: str, tmp_path: Path) -> None:
    result = run(tmp_path / "no-such-input", "-o", tmp_path / place)
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr or "is a folder" in result.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_into(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        result = run(FALLBACK, "-o", tmp_path / "x.html")
    finally:
        tmp_path.chmod(0o700)
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "cannot be written" in result.stderr


def test_a_disk_that_is_full_in_the_middle_leaves_no_file(tmp_path: Path) -> None:
    """A limit on the size of files stops the writing as a full disk does."""
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    assert resource.RLIMIT_FSIZE is not None
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000));"
        "from tracekit.cli import main; main()"
    )
    command = [sys.executable, "-B", "-c", code, "report", str(ANE_TABLE), "-o", str(tmp_path / "x.html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].endswith("x.html cannot be written: File too large.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"no XML", b"<trace-query-result>", None], ids=["empty", "text", "cut", "none"]
)
@pytest.mark.parametrize("kind", ["html", "svg"])
def test_a_bad_input_leaves_no_file(kind: str, content: bytes | None, tmp_path: Path) -> None:
    source, folder = tmp_path / "in.xml", tmp_path / "out"
    folder.mkdir()
    if content is not None:
        source.write_bytes(content)
    result = run(source, "-o", folder / f"x.{kind}")
    assert result.exit_code in (2, 3)
    assert "Traceback" not in result.stderr
    assert list(folder.iterdir()) == []


# What goes in ---------------------------------------------------------------------------------------------


def test_several_inputs_are_one_recording(tmp_path: Path) -> None:
    files = sorted(FALLBACK.glob("*.xml"))
    assert len(files) > 2
    assert run(*files, "-o", tmp_path / "x.json").exit_code == 0
    assert run(FALLBACK, "-o", tmp_path / "y.json").exit_code == 0
    several, whole = (json.loads((tmp_path / name).read_text()) for name in ("x.json", "y.json"))
    assert (several["windows"], several["engines"]) == (whole["windows"], whole["engines"])


def test_standard_input_is_read() -> None:
    result = run("-", "-o", "-", "--format", "json", data=(FALLBACK / "time-profile.xml").read_bytes())
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["samples"]["count"] > 0


def test_the_options_of_an_analysis_count(tmp_path: Path) -> None:
    assert run(FALLBACK, "--windows", "run", "-o", tmp_path / "x.html").exit_code == 0
    assert view_in((tmp_path / "x.html").read_text())[0]["windows"]["count"] == 1
    assert run(FALLBACK, "--thread", "no such thread", "-o", tmp_path / "y.html").exit_code == 2


def test_the_writers_words_reach_the_report(tmp_path: Path) -> None:
    words = ("--title", "Slow <4.2>", "--note", "see\nbelow", "--link", "https://example.com/1")
    assert run(FALLBACK, *words, "-o", tmp_path / "x.html").exit_code == 0
    text = (tmp_path / "x.html").read_text()
    assert "<h1>Slow &lt;4.2&gt;</h1>" in text
    assert '<a href="https://example.com/1"' in text
    header, _ = view_in(text)
    assert (header["title"], header["note"]) == ("Slow <4.2>", "see\nbelow")


def test_notes_at_times_travel_with_the_report(tmp_path: Path) -> None:
    notes = ("--note-at", "264.8ms", "since  here\non the <b>CPU", "--note-at", "0s", "--begin")
    for name in ("x.html", "x.md", "x.svg"):
        assert run(FALLBACK, *notes, "-o", tmp_path / name).exit_code == 0
    html, markdown, svg = ((tmp_path / name).read_text() for name in ("x.html", "x.md", "x.svg"))
    header, _ = view_in(html)
    assert header["notes"] == [
        {"time_ns": 0, "text": "--begin"},
        {"time_ns": 264_800_000, "text": "since here on the <b>CPU"},
    ]
    assert "<strong>264.800 ms</strong> since here on the &lt;b&gt;CPU</li>" in html
    assert "- 264.800 ms: since here on the &lt;b&gt;CPU" in markdown
    assert "since here on the &lt;b&gt;CPU</text>" in svg


@pytest.mark.parametrize(
    ("time", "text", "problem"),
    [
        ("12.5", "x", "'12.5' is not a valid time"),
        ("1ms", " \n", "A note has no text"),
        ("1ms", "x" * 501, "at most 500 letters, and this one has 501"),
        ("9s", "late", "The note 'late' is at 9,000.000 ms, and the run ends at 568"),
    ],
)
def test_what_is_no_note_is_refused(time: str, text: str, problem: str, tmp_path: Path) -> None:
    result = run(FALLBACK, "--note-at", time, text, "-o", tmp_path / "x.html")
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not (tmp_path / "x.html").exists()


# Commands -------------------------------------------------------------------------------------------------

COMMAND = "xctrace record --template 'CPU <Profiler>' --launch -- /Users/jo/App.app --token hunter2"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recording with its journal beside it."""
    bundle = tmp_path / "App.trace"
    (SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace").resolve(strict=True)
    bundle.symlink_to(SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace")
    runs = [{"shell": COMMAND}, {"shell": 7}, "odd"]
    (tmp_path / "App.recording.json").write_text(json.dumps({"schema": "tracekit-recording/1", "runs": runs}))
    return bundle


def test_the_commands_that_recorded_are_shown(recorded: Path, tmp_path: Path) -> None:
    assert run(recorded, "-o", tmp_path / "x.html").exit_code == 0
    text = (tmp_path / "x.html").read_text()
    assert (
        "<pre>xctrace record --template 'CPU &lt;Profiler&gt;' --launch -- /Users/jo/App.app --token hunter2</pre>"
        in text
    )
    assert view_in(text)[0]["commands"] == [COMMAND]
    assert f"\n    {COMMAND}\n" in run(recorded, "--format", "markdown", "-o", "-").stdout


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_redacted_commands_are_left_out(kind: str, recorded: Path, tmp_path: Path) -> None:
    result = run(recorded, "--redact", "--process", "SampleApp", "--format", kind, "-o", tmp_path / "x")
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "x").read_text()
    whole = text.encode() + (view_in(text)[1] if kind == "html" else b"")
    assert b"hunter2" not in whole
    assert b"xctrace record" not in whole


# Redacting ------------------------------------------------------------------------------------------------

TOC = """<trace-toc><run number="1"><info><target><device name="Jo's Mac" model="MacBook Pro" platform="macOS"/>
<process name="App" pid="7"/></target><summary><template-name>/Users/jo/T.tracetemplate</template-name></summary></info>
<data><table schema="time-profile" where="/Users/jo/x"/></data></run></trace-toc>"""
SECRETS = ["Secretd", "secret_work", "secretd-bin", "Jo's", "/Users/", "/home/jo"]


def frame(number: int, name: str, path: str) -> str:
    return (
        f'<backtrace id="{number}"><frame id="{number + 1}" name="{name}" addr="0x11">'
        f'<binary id="{number + 2}" name="{path.rsplit("/", 1)[-1]}" path="{path}"/></frame></backtrace>'
    )


def thread(number: int, process: str, pid: int) -> str:
    return (
        f'<thread id="{number}" fmt="Main Thread (0x{pid:x}) ({process}, pid: {pid})">'
        f'<tid id="{number + 1}" fmt="0x{pid:x}">{pid}</tid><process id="{number + 2}" fmt="{process} ({pid})">'
        f'<pid id="{number + 3}" fmt="{pid}">{pid}</pid></process></thread>'
    )


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Samples of an app and of another process; homes in symbols, paths and the template, a device with a name."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = (
        f'<sample-time id="50">1000</sample-time>{thread(2, "App", 7)}<process ref="4"/><sentinel/><sentinel/>'
        f'<weight id="51">5</weight>{frame(30, "work in /home/jo/a.c", "/Users/jo/App.app/App")}',
        f'<sample-time id="52">2000</sample-time>{thread(12, "Secretd", 9)}<process ref="14"/><sentinel/><sentinel/>'
        f'<weight ref="51"/>{frame(40, "secret_work", "/usr/libexec/secretd-bin")}',
    )
    table = schema("time-profile", TIME_PROFILE) + "".join(f"<row>{row}</row>" for row in rows)
    write(folder, document(node(table)), "time-profile.xml")
    write(folder, TOC, "toc.xml")
    return folder


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_private_stands_in_a_redacted_report(kind: str, mixed: Path, tmp_path: Path) -> None:
    needs_pillow(kind)

    def report_of(*options: str) -> str:
        path = tmp_path / f"{len(options)}.{kind}"
        result = run(mixed, "--format", kind, "-o", path, *options)
        assert result.exit_code == 0, result.stderr
        data = path.read_bytes()
        more = view_in(data.decode())[1] if kind == "html" else b""
        return (data + more).decode("utf-8", "replace").replace("&#x27;", "'").replace("\\_", "_")

    redacted = report_of("--redact")
    assert [secret for secret in SECRETS if secret in redacted] == []
    if kind in ("html", "text", "markdown", "json"):
        plain = report_of()
        assert any(secret in plain for secret in SECRETS)
        assert "App" in redacted


def test_every_secret_stands_in_a_report_that_is_not_redacted(mixed: Path, tmp_path: Path) -> None:
    assert run(mixed, "-o", tmp_path / "x.html").exit_code == 0
    text = (tmp_path / "x.html").read_text()
    whole = text.encode() + view_in(text)[1]
    assert [
        secret
        for secret in ("Secretd", "secret_work", "secretd-bin", "Jo's", "/Users/", "/home/jo")
        if secret.encode() not in whole
    ] == []


def test_the_own_windows_keep_their_verdicts(tmp_path: Path) -> None:
    plain, redacted = (
        json.loads(run(FALLBACK, "--format", "json", "-o", "-", *options).stdout)
        for options in ((), ("--redact",))
    )
    assert [window["verdict"] for window in redacted["windows"]] == [
        window["verdict"] for window in plain["windows"]
    ]


def test_the_help_has_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "tracekit report MyApp.trace --redact -o public.html" in result.output


@pytest.mark.parametrize("link", ["jira.example.com/T-1", "javascript:alert(1)", "mailto:a@b.c"])
def test_a_link_that_is_none_of_the_webs_is_refused(link: str, tmp_path: Path) -> None:
    """Left out without a word, it would be missed on the ticket."""
    result = run(FALLBACK, "-o", tmp_path / "x.html", "--link", link)
    assert (result.exit_code, f"--link {link}: not a web address" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.svg", "x.json", "x.txt"])
@pytest.mark.parametrize("option", ["--title", "--note"])
def test_words_that_a_format_has_no_place_for_are_refused(name: str, option: str, tmp_path: Path) -> None:
    result = run(FALLBACK, "-o", tmp_path / name, option, "slow")
    assert (result.exit_code, "are for HTML and Markdown" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_lengths_of_windows_that_were_given_are_no_latency(name: str) -> None:
    sentence = "The ranges are user-supplied, so their lengths do not measure the recording."
    given = run(FALLBACK, "--window", "0-100ms", "--format", name, "-o", "-")
    plain = run(FALLBACK, "--format", name, "-o", "-")
    assert (sentence in given.stdout, sentence in plain.stdout) == (True, False)
