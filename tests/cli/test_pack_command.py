"""``tracekit pack``: one small file that every command reads, and what ``--redact`` leaves out of it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from documents_support import document, node, schema, write

from tracekit.cli import main
from tracekit.parsers.pack.format import MANIFEST

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
BUNDLE = str(SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace")
EXPORTS = str(SAMPLES / "ane-intervals-macos26")
WITH_OTHERS = [
    *("concurrent-models-ios27", "gpu-mpsgraph-macos15", "ane-intervals-macos26"),
    *("coreai-one-region-ios27", "coreai-and-coreml-ios27"),
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def pack(source: str, folder: Path, *options: str) -> str:
    path = str(folder / "X.tracekit.zip")
    result = run("pack", source, "-o", path, *options)
    assert result.exit_code == 0, result.output
    return path


def analysis(source: str, *options: str) -> Any:
    result = run("analyze", source, "--format", "json", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def unpacked(path: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return b"\0".join(archive.read(name) for name in archive.namelist())


def test_the_default_name_and_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("pack", BUNDLE)
    assert result.exit_code == 0
    size = (tmp_path / "recording.tracekit.zip").stat().st_size
    assert result.stderr.splitlines()[-1].startswith(f"The pack is {size / 1e3:.1f} kB, ")
    assert result.stderr.splitlines()[-1].endswith(" % of the bundle.")


def test_a_pack_is_not_overwritten_without_force(tmp_path: Path) -> None:
    path = pack(BUNDLE, tmp_path)
    assert run("pack", BUNDLE, "-o", path).exit_code == 2
    assert run("pack", BUNDLE, "-o", path, "--force").exit_code == 0


@pytest.mark.integration
def test_standard_output_is_the_same_pack(tmp_path: Path) -> None:
    path = pack(EXPORTS, tmp_path)
    assert run("pack", EXPORTS, "-o", "-").stdout_bytes == Path(path).read_bytes()


@pytest.mark.integration
def test_every_command_reads_a_pack(tmp_path: Path) -> None:
    path = pack(EXPORTS, tmp_path)
    listed = run("tables", path, "--format", "json")
    rows = {t["schema"]: t["row_count"] for t in json.loads(listed.stdout)["runs"][0]["tables"]}
    assert rows["time-profile"] == 342
    assert None in rows.values()  # tables that no analysis reads
    assert (
        run("tables", path, "--schema", "thread-state").stdout
        == run("tables", EXPORTS, "--schema", "thread-state").stdout
    )
    exports = pack(str(SAMPLES / "gpu-mpsgraph-macos15"), tmp_path, "-f")
    compared = run("verify-native", BUNDLE, "--exports", exports, "--report", "-")
    assert compared.exit_code == 1  # the sample's bundle has no tables of the GPU, its exports have
    assert "  1  time-profile                       289          289  equal\n" in compared.stdout
    itself = run("verify-native", BUNDLE, "--exports", pack(BUNDLE, tmp_path, "-f"), "--report", "-")
    assert itself.exit_code == 2
    assert "is a bundle: --exports names exports that xctrace made of it" in itself.stderr


def test_a_table_that_was_not_packed_is_named(tmp_path: Path) -> None:
    path = pack(EXPORTS, tmp_path)
    tables = json.loads(run("tables", path, "--format", "json").stdout)["runs"][0]["tables"]
    left = next(table["schema"] for table in tables if table["row_count"] is None)
    result = run("tables", path, "--schema", left)
    assert result.exit_code == 3
    assert f"lists a table '{left}' but does not hold its rows" in result.stderr


def test_a_damaged_pack_is_one_sentence(tmp_path: Path) -> None:
    path = Path(pack(EXPORTS, tmp_path))
    path.write_bytes(path.read_bytes()[:-100])
    for command in ("analyze", "tables", "pack"):
        result = run(command, str(path), *(["-o", str(tmp_path / "new")] if command == "pack" else []))
        assert result.exit_code == 3
        assert result.stderr.count("\n") == 1
        assert "is cut off or damaged" in result.stderr
    assert not (tmp_path / "new").exists()


def test_nothing_to_pack_is_an_error(tmp_path: Path) -> None:
    odd = write(tmp_path, document(node(schema("odd", [("time", "sample-time")]))))
    result = run("pack", odd, "-o", str(tmp_path / "new"))
    assert result.exit_code == 3
    assert "holds no table that an analysis could use" in result.stderr


def test_private_text_is_hidden_by_default(tmp_path: Path) -> None:
    source = str(SAMPLES / "foundation-models-macos27")
    shown = run(
        "tables",
        source,
        "--schema",
        "ModelInferenceTable",
        "--columns",
        "prompt",
        "--format",
        "json",
        "--private",
    )
    prompt = json.loads(shown.stdout)["rows"][0]["prompt"]
    assert prompt.encode() not in unpacked(pack(source, tmp_path))
    assert analysis(pack(source, tmp_path, "-f"))["windows"] == analysis(source)["windows"]
    assert prompt.encode() in unpacked(pack(source, tmp_path, "-f", "--private"))


def test_the_arguments_of_the_target_are_not_packed(tmp_path: Path) -> None:
    assert b"--synthetic" in (Path(EXPORTS) / "toc.xml").read_bytes()
    assert b"--synthetic" not in unpacked(pack(EXPORTS, tmp_path))


# --redact -------------------------------------------------------------------------------------------------

THREADS = (
    '<thread id="2" fmt="Main Thread (0x1f) (App, pid: 7)"><tid id="3" fmt="0x1f">31</tid>'
    '<process id="4" fmt="App (7)"><pid id="5" fmt="7">7</pid></process></thread>',
    '<thread id="12" fmt="Secretd (0x2f) (Secretd, pid: 9)"><tid id="13" fmt="0x2f">47</tid>'
    '<process id="14" fmt="Secretd (9)"><pid id="15" fmt="9">9</pid></process></thread>',
)
PROFILE = (
    ("time", "sample-time"),
    ("thread", "thread"),
    ("process", "process"),
    ("weight", "weight"),
    ("stack", "backtrace"),
)
SIGNPOST = (
    ("time", "event-time"),
    ("process", "process"),
    ("other", "process"),
    ("event-type", "event-type"),
    ("name", "signpost-name"),
    ("message", "os-log-metadata"),
)
TOC = """<trace-toc><run number="1"><info><target><device name="Jo's Mac" model="MacBook Pro" platform="macOS"/>
{target}</target><summary><template-name>/Users/jo/T.tracetemplate</template-name></summary></info><data>
<table schema="time-profile" where="/Users/jo/x"/><table schema="os-signpost"/></data></run></trace-toc>"""


def frame(number: int, name: str, path: str) -> str:
    return (
        f'<backtrace id="{number}"><frame id="{number + 1}" name="{name}" addr="0x11">'
        f'<binary id="{number + 2}" name="{path.rsplit("/", 1)[-1]}" path="{path}"/></frame></backtrace>'
    )


def exports(folder: Path, target: str = '<process name="App" pid="7"/>') -> str:
    """Samples and signposts of an app, of another process, and without a process."""
    own_thread, other_thread = THREADS
    home = "/Users/jo/App.app/App"
    samples = (
        f'<sample-time id="20">1000</sample-time>{own_thread}<process ref="4"/><weight id="21">5</weight>'
        + frame(30, "work in /home/jo/a.c", home),
        f'<sample-time id="22">2000</sample-time>{other_thread}<process ref="14"/><weight ref="21"/>'
        + frame(40, "hidden_work", "/usr/libexec/secretd-bin"),
        '<sample-time id="23">3000</sample-time><sentinel/><sentinel/><weight ref="21"/><sentinel/>',
    )

    def signpost(time: int, process: str, partner: str, *message: str) -> str:
        words = "".join(f"<string>{word}</string>" for word in message)
        return (
            f"<event-time>{time}</event-time>{process}{partner}<event-type>Event</event-type>"
            f"<signpost-name>Talk to Secretd</signpost-name><os-log-metadata>{words}</os-log-metadata>"
        )

    app = '<process fmt="App (7)"><pid>7</pid></process>'
    secret = '<process fmt="Secretd (9)"><pid>9</pid></process>'
    points = (
        signpost(1, app, secret, "file:///Users/jo/b", " on Jo's Mac, Secretdish"),
        signpost(2, secret, app, "unheard"),
        signpost(3, "<sentinel/>", "<sentinel/>", "nobody"),
    )
    rows = ["".join(f"<row>{row}</row>" for row in table) for table in (samples, points)]
    write(folder, document(node(schema("time-profile", PROFILE) + rows[0], 1)), "time-profile.xml")
    write(folder, document(node(schema("os-signpost", SIGNPOST) + rows[1], 2)), "os-signpost.xml")
    write(folder, TOC.format(target=target), "toc.xml")
    return str(folder)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    (tmp_path / "in").mkdir()
    return exports(tmp_path / "in")


def rows(path: str, name: str) -> list[dict[str, Any]]:
    result = run("tables", path, "--schema", name, "--format", "json")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows


def test_rows_of_other_processes_are_dropped_and_rows_without_a_process_stay(
    mixed: str, tmp_path: Path
) -> None:
    path = pack(mixed, tmp_path, "--redact")
    assert [row["time"] for row in rows(path, "time-profile")] == [1000, 3000]
    assert [row["time"] for row in rows(path, "os-signpost")] == [1, 3]
    listed = json.loads(run("tables", path, "--format", "json").stdout)["runs"][0]["tables"]
    assert [table["row_count"] for table in listed] == [2, 2]


def test_other_processes_that_own_rows_name_are_null(mixed: str, tmp_path: Path) -> None:
    first, _ = rows(pack(mixed, tmp_path, "--redact"), "os-signpost")
    assert (first["process"]["pid"], first["other"]) == (7, None)


def test_texts_lose_homes_devices_and_other_processes(mixed: str, tmp_path: Path) -> None:
    path = pack(mixed, tmp_path, "--redact")
    first, _ = rows(path, "os-signpost")
    assert first["name"] == "Talk to other-process"
    assert [part["value"] for part in first["message"]] == ["file://~/b", " on device, Secretdish"]
    (top,) = rows(path, "time-profile")[0]["stack"]
    assert top["symbol"] == "work in ~/a.c"


def test_nothing_of_what_is_dropped_stands_in_the_bytes(mixed: str, tmp_path: Path) -> None:
    secrets = [
        b"Secretd ",
        b'Secretd"',
        b"secretd-bin",
        b"hidden_work",
        b"unheard",
        b"Jo's",
        b"/Users/",
        b"/home/",
    ]
    whole = unpacked(pack(mixed, tmp_path))
    assert [secret for secret in secrets if secret in whole] == [s for s in secrets if s != b"Secretd "]
    redacted = unpacked(pack(mixed, tmp_path, "--redact", "-f"))
    assert [secret for secret in secrets if secret in redacted] == []


@pytest.mark.integration
def test_a_redacted_pack_is_marked(mixed: str, tmp_path: Path) -> None:
    path = pack(mixed, tmp_path, "--redact")
    assert [issue["code"] for issue in analysis(path)["issues"] if issue["code"] == "redacted"] == [
        "redacted"
    ]
    assert analysis(path)["recording"]["device"] == "MacBook Pro"
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read(MANIFEST))["redacted"] is True


def test_redacting_twice_changes_nothing(mixed: str, tmp_path: Path) -> None:
    once = Path(pack(mixed, tmp_path, "--redact"))
    assert run("pack", str(once), "--redact", "-o", "-").stdout_bytes == once.read_bytes()


@pytest.mark.parametrize("process", ["9", "Secretd"])
def test_another_process_can_be_kept(process: str, mixed: str, tmp_path: Path) -> None:
    path = pack(mixed, tmp_path, "--redact", "--process", process)
    assert [row["time"] for row in rows(path, "time-profile")] == [2000, 3000]
    recording = analysis(path)["recording"]
    assert (recording["process"], recording["pid"]) == ("Secretd", 9)


def test_a_recording_of_all_processes_needs_the_process_to_keep(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = exports(tmp_path / "in", target="")
    result = run("pack", source, "--redact", "-o", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert "name the process to keep with --process. It has App (7), Secretd (9)." in result.stderr
    result = run("pack", source, "--redact", "--process", "Nobody", "-o", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert "No process is called 'Nobody'" in result.stderr
    assert pack(source, tmp_path, "--redact", "--process", "App")


def test_process_without_redact_is_refused(mixed: str, tmp_path: Path) -> None:
    assert run("pack", mixed, "--process", "App", "-o", str(tmp_path / "new")).exit_code == 2


@pytest.mark.integration
@pytest.mark.parametrize("name", WITH_OTHERS)
def test_the_own_windows_keep_their_verdicts_and_times(name: str, tmp_path: Path) -> None:
    source = str(SAMPLES / name)
    path = pack(source, tmp_path, "--redact")
    before, after = (analysis(path_, "--process", "SampleApp") for path_ in (source, path))
    for packed in (before, after):  # the time of an engine at others' work left with their rows
        for window in packed["windows"]:
            del window["budget"], window["typical_id"], window["difference_ns"], window["difference"]
    assert before["windows"] == after["windows"]
    assert before["engines"] == after["engines"]
    assert any(window["engines"] for window in before["windows"])


@pytest.mark.integration
def test_labels_of_others_models_are_numbered(tmp_path: Path) -> None:
    source = str(SAMPLES / "concurrent-models-ios27")
    labels = {_spelt(row["event-label"]) for row in rows(source, "ane-hw-intervals")}
    left = {
        _spelt(row["event-label"]) for row in rows(pack(source, tmp_path, "--redact"), "ane-hw-intervals")
    }
    assert len(labels - left) == 1
    assert left - labels == {"other-1 Neural Engine Prediction"}


def _spelt(cell: Any) -> str:
    return cell if isinstance(cell, str) else "".join(str(part["value"]) for part in cell)


def test_gpu_work_of_other_processes_is_recognized_by_its_command_buffer(tmp_path: Path) -> None:
    """A GPU row that names no process is another's where its command buffer is."""
    own_process = '<process fmt="App (7)"><pid>7</pid></process>'
    other_process = '<process fmt="Game (9)"><pid>9</pid></process>'
    submitted = [
        ("timestamp", "start-time"),
        ("process", "process"),
        ("cmdbuffer-id", "metal-command-buffer-id"),
    ]
    worked = [("start", "start-time"), ("duration", "duration"), ("cmdbuffer-id", "metal-command-buffer-id")]
    pairs = [(own_process, 1), (other_process, 2), (own_process, 3), (other_process, 3)]
    cells = [
        f"<row><start-time>5</start-time>{process}<metal-command-buffer-id>{buffer}</metal-command-buffer-id></row>"
        for process, buffer in pairs
    ]
    intervals = [
        f"<row><start-time>{buffer}</start-time><duration>1</duration>"
        f"<metal-command-buffer-id>{buffer}</metal-command-buffer-id></row>"
        for buffer in (1, 2, 3, 4)
    ]
    source = write(
        tmp_path,
        document(
            node(schema("metal-gpu-submission-to-command-buffer-id", submitted) + "".join(cells), 1),
            node(schema("metal-gpu-intervals", worked) + "".join(intervals), 2),
        ),
    )
    path = pack(source, tmp_path, "--redact", "--process", "App")
    assert [row["start"] for row in rows(path, "metal-gpu-intervals")] == [1, 3, 4]


@pytest.mark.integration
def test_a_pack_that_came_unpacked_or_through_a_pipe_is_known(tmp_path: Path) -> None:
    """Safari unpacks downloads."""
    path = pack(EXPORTS, tmp_path)
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    assert "is an unpacked pack" in run("analyze", str(folder)).stderr
    again = tmp_path / "again.zip"
    with zipfile.ZipFile(again, "w") as out:
        for member in sorted(folder.rglob("*"), reverse=True):
            out.write(member, member.relative_to(folder))
    assert run("analyze", str(again)).stdout.splitlines()[0] == run("analyze", path).stdout.splitlines()[0]
    piped = subprocess.run(
        [sys.executable, "-m", "tracekit", "analyze", "-"],
        input=Path(path).read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (piped.returncode, b"is an archive, which cannot be read from a pipe" in piped.stderr) == (
        3,
        True,
    )
