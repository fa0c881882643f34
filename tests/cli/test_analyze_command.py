"""``tracekit analyze`` as a user drives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from documents_support import SHARED, THREAD, TIME_PROFILE, one_table, without_commands, write

from tracekit.cli import main
from tracekit.cli import output as cli_output
from tracekit.text import format_size

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
FALLBACK = str(SAMPLES / "fallback-midway-ios27")


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def analyzed(*arguments: str) -> dict[str, Any]:
    result = run("analyze", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_the_answer_comes_first() -> None:
    result = run("analyze", FALLBACK)
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "SpeechEncoder left the Neural Engine after its 6th call (at 265 ms). The 6 calls\n"
        "  since ran on the CPU: 22.7 ms of CPU work each (measured), 12 % slower\n"
        "  (28.9 ms against 25.9 ms).\n"
    )
    assert result.stderr == ""
    from_stacks = run("analyze", FALLBACK, "--windows", "stacks").stdout
    assert from_stacks.startswith(
        "The model left the Neural Engine after its 6th call (at 265 ms). The 6 calls\n"
    )


def test_the_sentence_for_a_person() -> None:
    """The model's engine, how many of its calls it served, and what worked beside it."""
    text = run("analyze", str(SAMPLES / "ane-intervals-macos26"), "--window-signpost", "encode").stdout
    assert text.replace("\n  ", " ").startswith(
        "encode left the Neural Engine after its 7th call (at 518 ms) and came back with its 9th. The call"
        " between ran on the CPU: 38.0 ms of CPU work (sampled), 43.9 ms against 34.9 ms per call."
    )


def test_the_text_explains_its_numbers() -> None:
    text = " ".join(run("analyze", FALLBACK, "--windows", "stacks").stdout.split())
    assert (
        "host samples: code that called an engine or ran one on the CPU, not how long the engine worked"
        in text
    )
    assert "Calls (from stacks; edges inferred)" in text
    assert "Back-to-back inferences" in text
    assert "SampleApp (390)" in text
    assert "; not recorded; " in run("analyze", FALLBACK, "-v").stdout


@pytest.mark.parametrize(
    "file",
    [
        "jonhoo__inferno/basic.xml",
        "CharlesWiltgen__Axiom/cpu-profile.xml",
        "robtaylor__apple-profiler/real_finder_cpu_profile.xml",
        "fzhinkin__xctraceprof/counters-profile.xml",
    ],
)
def test_recordings_without_a_model_have_a_plain_headline(shared: Path, file: str) -> None:
    path = str(SHARED / "traces" / "xml" / file)
    assert run("analyze", path).stdout.startswith("This recording shows no model running: none of the ")
    document = analyzed(path)
    assert document["windows"] == []
    assert {name for name, engine in document["engines"].items() if engine["samples"]} <= {
        "OTHER",
        "GRAPHICS",
        "UNKNOWN",
    }


def test_standard_input_and_a_file_give_the_same() -> None:
    path = SAMPLES / "back-to-back-macos15" / "time-profile.xml"
    piped = run("analyze", "-", "--format", "json", stdin=path.read_bytes())
    assert piped.exit_code == 0, piped.output
    from_pipe, from_file = json.loads(piped.stdout), analyzed(str(path))
    assert from_pipe.pop("input")["name"] == "standard input"
    from_file.pop("input")
    steps = [step["command"] for finding in from_pipe["findings"] for step in finding["next"]]
    assert steps and not any("standard input" in (command or "") for command in steps)
    assert without_commands(from_pipe) == without_commands(from_file)


def test_several_files_of_one_recording() -> None:
    folder = SAMPLES / "counters-bnns-macos15"
    document = analyzed(str(folder / "toc.xml"), str(folder / "counters-profile.xml"))
    assert document["recording"]["device"] == "Synthetic Mac"
    assert document["input"]["name"] == "counters-bnns-macos15"


def test_windows_of_your_own() -> None:
    document = analyzed(FALLBACK, "--window", "19ms-50ms", "--window", "265-300ms")
    assert [
        (w["start_ns"], w["end_ns"], w["label"], w["basis"], w["verdict"]) for w in document["windows"]
    ] == [
        (19_000_000, 50_000_000, "19ms-50ms", "given", "ANE"),
        (265_000_000, 300_000_000, "265-300ms", "given", "CPU"),
    ]


def test_late_windows_of_a_long_recording(tmp_path: Path) -> None:
    path = write(tmp_path, "start_ns,end_ns\n1000000000000,1000000000001\n", "w.csv")
    assert [w["start_ns"] for w in analyzed(FALLBACK, "--windows-csv", path)["windows"]] == [10**12]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such device")
def test_windows_from_a_device_are_refused_before_it_is_read() -> None:
    result = run("analyze", FALLBACK, "--windows-csv", "/dev/zero")
    assert result.exit_code == 3
    assert "/dev/zero: is a device, not a file. Name a CSV file." in result.stderr


def test_windows_from_csv(tmp_path: Path) -> None:
    in_ns = write(tmp_path, "start_ns,end_ns,label\n19000000,50000000,warm\n265000000,300000000,\n", "ns.csv")
    with_units = write(tmp_path, "label, start, end\nwarm,19ms,50ms\n,0.265s,300000us\n", "units.csv")
    windows_in_ns, windows_with_units = (
        analyzed(FALLBACK, "--windows-csv", path)["windows"] for path in (in_ns, with_units)
    )
    assert [w["label"] for w in windows_in_ns] == ["warm", "line 3"]
    assert windows_in_ns == windows_with_units


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n", "has no columns start_ns,end_ns"),
        ("", "has no columns start_ns,end_ns"),
        ("start_ns,end_ns\n1,2\n5,x\n", "line 3: 'x' is not a valid end_ns"),
        ("start_ns,end_ns\n1.5,2\n", "line 2: '1.5' is not a valid start_ns"),
        ("start,end\n1ms,2\n", "line 2: '2' is not a valid end"),
        ("start_ns,end_ns\n5,5\n", "does not end after it starts"),
        ("start_ns,end_ns,label\n", "has no range below its header"),
    ],
)
def test_a_csv_that_is_wrong_names_its_line(tmp_path: Path, text: str, line: str) -> None:
    result = run("analyze", FALLBACK, "--windows-csv", write(tmp_path, text, "w.csv"))
    assert result.exit_code in (2, 3)
    assert line in result.stderr


@pytest.mark.parametrize(
    "window",
    ["5", "5-6", "a-b", "6ms-5ms", "5ms-5ms", "-5ms", "1ms-2ms-3ms", "1h-2h", "", "0s-999999999999s"],
)
def test_a_window_that_is_wrong(window: str) -> None:
    result = run("analyze", FALLBACK, "--window", window)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_whole_run_as_one_window() -> None:
    (window,) = analyzed(FALLBACK, "--windows", "run")["windows"]
    assert (window["start_ns"], window["source"], window["basis"]) == (0, "run", "measured")
    assert window["verdict"] == "MIXED"
    assert "ANE" in window["why"]
    assert "CPU" in window["why"]


def test_selecting_a_process_and_a_thread() -> None:
    two = str(SAMPLES / "two-at-once-macos13")
    whole = analyzed(two)
    verdicts = whole["summary"]["verdicts"]
    assert set(verdicts) == {"ANE", "CPU"}
    names = {window["thread"] for window in whole["windows"]}
    for name in names:
        tid = name.split("(")[1].split(")")[0]
        assert f"thread {tid} and the workers" in run("analyze", two, "--thread", tid).stdout
        selected = analyzed(two, "--thread", tid)
        assert {window["thread"] for window in selected["windows"]} == {name}
        assert selected["samples"]["count"] < whole["samples"]["count"]
    assert analyzed(two, "--process", "SampleApp")["summary"]["verdicts"] == verdicts


def test_a_threads_selection_keeps_what_the_workers_did_for_it() -> None:
    """On the new path the engines' frames stand on a queue of Core ML's own."""
    whole, selected = analyzed(FALLBACK), analyzed(FALLBACK, "--thread", "0x5a1d")
    for document in (selected, whole):  # a pause is idle if no other thread has samples in it
        for window in document["windows"]:
            del window["budget"], window["typical_id"], window["difference_ns"], window["difference"]
    assert selected["windows"] == whole["windows"]
    assert selected["selection"] == {"process": None, "thread": "0x5a1d", "windows": "auto", "signposts": []}
    assert 0 < selected["samples"]["count"] < whole["samples"]["count"]


@pytest.mark.parametrize("option", ["--process", "--thread"])
def test_a_selection_without_match_lists_what_there_is(option: str) -> None:
    result = run("analyze", FALLBACK, option, "Nobody")
    assert result.exit_code == 2
    assert "SampleApp" in result.stderr


def test_output_follows_the_extension_and_is_never_overwritten_unasked(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    first = run("analyze", FALLBACK, "-o", str(output))
    assert (first.exit_code, first.stdout, first.stderr) == (0, "", f"Wrote {output}\n")
    assert json.loads(output.read_text())["schema"] == "tracekit-analysis/1"
    output.write_text("mine")
    again = run("analyze", FALLBACK, "-o", str(output))
    assert again.exit_code == 2
    assert "without --force" in again.stderr
    assert output.read_text() == "mine"
    assert run("analyze", FALLBACK, "-o", str(output), "--force").exit_code == 0
    assert output.read_text() != "mine"
    assert os.listdir(tmp_path) == ["result.json"]


def test_windows_as_lines_are_those_of_the_document(tmp_path: Path) -> None:
    result = run("analyze", FALLBACK, "-o", str(tmp_path / "windows.jsonl"))
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "windows.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == analyzed(FALLBACK)["windows"]
    assert len(lines) == 12
    assert not any(": " in line.partition('"sentence"')[0] for line in lines)
    empty = run("analyze", write(tmp_path, one_table("time-profile", TIME_PROFILE)), "--format", "jsonl")
    assert (empty.exit_code, empty.stdout) == (0, "")


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_large_json_offers_what_is_smaller(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_output, "_LARGE_BYTES", 1_000)
    target = str(tmp_path / "large.json")
    result = run(command, FALLBACK, "-o", target)
    size = Path(target).stat().st_size
    assert result.stderr == (
        f"Wrote {target}\nThe JSON of 12 calls has {format_size(size)}. Smaller: tracekit analyze --format jsonl"
        " has a call per line, tracekit export --table windows -o windows.parquet a row per call.\n"
    )
    assert run(command, FALLBACK, "-o", str(tmp_path / "large.txt")).stderr.startswith("Wrote ")
    monkeypatch.undo()
    assert "Smaller" not in run(command, FALLBACK, "-f", "-o", target).stderr


def test_an_extension_that_names_no_format_is_refused(tmp_path: Path) -> None:
    result = run("analyze", FALLBACK, "-o", str(tmp_path / "result.html"))
    assert result.exit_code == 2
    assert "the extension names no format" in result.stderr
    assert run("analyze", FALLBACK, "-o", str(tmp_path / "result.html"), "--format", "text").exit_code == 0


def test_pipes_are_written_to_and_links_are_followed(tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe.json", tmp_path / "link.json", tmp_path / "target.json"
    os.mkfifo(pipe)
    link.symlink_to(target)
    command = [sys.executable, "-m", "tracekit", "analyze", FALLBACK, "-o", str(pipe)]
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        result = subprocess.run(command, capture_output=True, check=False, timeout=60)
        if result.returncode:
            reader.kill()
        received = reader.communicate(timeout=60)[0]
    assert result.returncode == 0, result.stderr
    assert json.loads(received)["schema"] == "tracekit-analysis/1"
    assert pipe.is_fifo()
    assert run("analyze", FALLBACK, "-o", str(link)).exit_code == 2
    assert run("analyze", FALLBACK, "-o", str(link), "--force").exit_code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["schema"] == "tracekit-analysis/1"


@pytest.mark.parametrize(
    ("redirection", "code", "says"),
    [
        (">&-", 2, "Standard output is closed"),
        (">/dev/full", 2, "Standard output cannot be written: No space left"),
        ("2>&-", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(redirection: str, code: int, says: str) -> None:
    command = f"'{sys.executable}' -m tracekit analyze '{FALLBACK}' {redirection}"
    result = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, says in result.stderr) == (code, True), result.stderr
    assert "Traceback" not in result.stderr
    assert bool(result.stdout) is (code == 0)


@pytest.mark.parametrize("command", ["analyze -", "classify", "tables -"])
def test_a_closed_standard_input(command: str) -> None:
    line = f"'{sys.executable}' -m tracekit {command} <&-"
    result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (3, "Error: standard input: is closed. Name a file.\n")


def test_names_of_any_bytes(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe \n\xe6\x97\xa5.xml")
    Path(path).write_bytes((SAMPLES / "fallback-midway-ios27" / "time-profile.xml").read_bytes())
    assert "日" in analyzed(path)["input"]["name"]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "tracekit", "analyze", path]
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def test_a_table_of_contents_of_another_recording_is_doubted(tmp_path: Path) -> None:
    write(tmp_path, (SAMPLES / "fallback-midway-ios27" / "time-profile.xml").read_bytes(), "time-profile.xml")
    write(tmp_path, (SAMPLES / "ane-espresso-macos13" / "toc.xml").read_bytes(), "toc.xml")
    messages = [i["message"] for i in analyzed(str(tmp_path))["issues"] if i["code"] == "toc-mismatch"]
    assert any("lists none of the sampled processes" in message for message in messages)


def test_two_recordings_given_as_one_are_doubted() -> None:
    files = [
        str(SAMPLES / name / "time-profile.xml") for name in ("ane-espresso-macos13", "fallback-midway-ios27")
    ]
    codes = {issue["code"] for issue in analyzed(*files)["issues"]}
    assert codes & {"tables-share-no-process", "table-exported-twice"}


def test_a_cut_off_table_in_a_folder_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, (SAMPLES / "fallback-midway-ios27" / "time-profile.xml").read_bytes(), "time-profile.xml")
    signposts = (SAMPLES / "ane-e5rt-macos26" / "os-signpost.xml").read_bytes()
    write(tmp_path, signposts[: len(signposts) // 2], "os-signpost.xml")
    for command in ("analyze", "tables"):
        result = run(command, str(tmp_path))
        assert result.exit_code == 3
        assert "os-signpost.xml: ends in the middle" in result.stderr


def test_a_window_outside_the_recording_is_reported() -> None:
    document = analyzed(FALLBACK, "--window", "100s-101s")
    (issue,) = [issue for issue in document["issues"] if issue["code"] == "window-outside"]
    assert "lasts from 0.000 ms to" in issue["message"]


def test_an_output_that_cannot_be_written_fails_before_the_work(tmp_path: Path) -> None:
    for output in (tmp_path / "no" / "a.json", tmp_path):
        result = run("analyze", "does-not-exist.xml", "-o", str(output))
        assert result.exit_code == 2
        assert str(output) in result.stderr


def test_long_lists_of_windows_are_cut_with_a_remark() -> None:
    text = run("analyze", FALLBACK, "--max-windows", "3").stdout
    assert "… and 4 more" in text  # three lines are eight calls


def test_text_of_a_trace_cannot_drive_the_terminal(tmp_path: Path) -> None:
    frame = '<backtrace id="9"><frame id="10" name="-[MLModel predictionFromFeatures:error:]&#x9b;31m&#x202e;" addr="0x10"><binary id="11" name="CoreML"/></frame></backtrace>'
    row = (
        f'<sample-time id="1">1</sample-time>{THREAD.replace("Main Thread", "Main&#x85;&#x9b;2J Thread")}<process ref="4"/>'
        f'<sentinel/><thread-state id="7">Running</thread-state><weight id="8">1000000</weight>{frame}'
    )
    path = write(tmp_path, one_table("time-profile", TIME_PROFILE, row))
    text = run("analyze", path).stdout + run("analyze", path, "-v").stdout
    assert not set(text) & set("\x1b\x9b\x85\u202e")
    assert "\\x9b" in text


def test_user_rules_go_first(tmp_path: Path) -> None:
    rules = """
[[rule]]
id = "mine.ui"
engine = "GPU"
phase = "execute"
strength = "decisive"
symbol = "NSApplicationMain|UIApplicationMain"
example = { symbol = "UIApplicationMain" }
"""
    path = write(tmp_path, rules, "mine.toml")
    assert analyzed(FALLBACK, "--markers", path)["engines"]["GPU"]["samples"] > 0
    assert analyzed(FALLBACK)["engines"]["GPU"]["samples"] == 0


def test_the_program_itself() -> None:
    """Exit code and streams of the installed command, in a process of its own."""
    command = [sys.executable, "-c", "from tracekit.cli import main; main()", "analyze"]
    good = subprocess.run([*command, FALLBACK], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    bad = subprocess.run([*command, "missing.xml"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (3, "")
    assert bad.stderr == "Error: missing.xml: does not exist. Check the path.\n"


def test_a_reader_that_stops_listening_is_no_error() -> None:
    code = f"from tracekit.cli import main; main(['analyze', {FALLBACK!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
