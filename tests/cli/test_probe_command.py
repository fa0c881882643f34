"""`tracekit probe` as a user runs it: questions, the program's recording against a fake xctrace, and results."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from record_support import Mac

from tracekit.cli import main
from tracekit.probes.probe_manifest import ProbeManifest, format_manifest
from tracekit.probes.probe_question import list_probes
from tracekit.probes.runner import read_program

pytestmark = pytest.mark.integration

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "concurrent-engines-macos27"
CONTROL, SOFTMAX = "control_128x64x64", "softmax_fp16_128x64x64"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["probe", *map(str, arguments)])


@pytest.fixture
def probes(tmp_path: Path) -> Path:
    """A folder of probes without the models, which only a Mac calls."""
    folder = tmp_path / "probes"
    folder.mkdir()
    asked = list_probes(["softmax"])
    manifest = ProbeManifest(asked, ("all",), 4, {probe.name: "" for probe in asked}, {})
    (folder / "probes.json").write_text(format_manifest(manifest))
    (folder / "ProbeRunner.swift").write_text(read_program())
    return folder


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A sample recording whose models have the names of probes: one on the Neural Engine, one on the CPU."""
    target = tmp_path / "recording"
    shutil.copytree(SAMPLE, target)
    for path in target.glob("*.xml"):
        text = path.read_text().replace("Detector", CONTROL).replace("SequenceTagger", SOFTMAX)
        path.write_text(text)
    return target


def test_results_are_printed_in_words_with_their_limits(probes: Path, recording: Path) -> None:
    result = run("read", recording, "--manifest", probes)
    words = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert "1 question (operation and setting): 1 takes the whole model along." in words
    assert "takes the whole model off the Neural Engine: seen in 3 calls on MacBook Pro" in words
    assert "the setting of the compute units is not shown unless it is given" in words


def test_results_as_json_markdown_and_rules(probes: Path, recording: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    result = run(
        "read",
        recording,
        "--manifest",
        probes / "probes.json",
        "--compute-units",
        "all",
        "--format",
        "json",
        "--rules",
        rules,
    )
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["schema"] == "tracekit-probe-results/1"
    rows = {row["probe"]: row for row in document["probes"]}
    assert (rows[SOFTMAX]["placement"], rows[SOFTMAX]["engines"]) == ("other", ["CPU"])
    assert (rows[CONTROL]["submissions"], rows[CONTROL]["setting"]) == (1, "all")
    (rule,) = tomllib.loads(rules.read_text())["rule"]
    assert rule["claim"][0]["effect"] == "graph-leaves"
    assert (
        "| softmax, along the channels"
        in run("read", recording, "--manifest", probes, "--format", "markdown").stdout
    )


def test_other_recordings_and_manifests_are_a_sentence(probes: Path, tmp_path: Path) -> None:
    result = run("read", SAMPLE, "--manifest", probes)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "no call is one of a probe in this manifest; its calls are of Detector" in result.stderr
    (probes / "probes.json").write_text("{}")
    result = run("read", SAMPLE, "--manifest", probes)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "is no manifest of probes" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["conv:kernel=15"], "A convolution of 15 × 15 is not asked"),
        (["sin", "--compute-units", "ane"], "'ane' is none of the compute units"),
        (["tan"], "'tan' is no operation that a probe can ask about"),
    ],
)
def test_questions_that_are_none_are_a_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    result = run("write", tmp_path / "new", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not (tmp_path / "new").exists()


def test_the_program_is_built_and_recorded(mac: Mac, probes: Path) -> None:
    swiftc = mac.xctrace.folder / "swiftc"
    swiftc.write_text(
        '#!/bin/sh\necho "$@" >> "$0.log"\nprintf "#!/bin/sh\\n/bin/sleep 0.2\\n" > "$5"; /bin/chmod +x "$5"\n'
    )
    swiftc.chmod(0o755)
    result = run("run", probes)
    assert result.exit_code == 0, result.output
    built = (mac.xctrace.folder / "swiftc.log").read_text().split()
    assert built == [
        "-O",
        "-parse-as-library",
        str(probes / "ProbeRunner.swift"),
        "-o",
        str(probes / "ProbeRunner"),
    ]
    (command,) = mac.commands()
    program = str((probes / "ProbeRunner").resolve())
    assert command[-4:] == ["--launch", "--", program, str(probes.resolve())]
    assert command[command.index("--time-limit") + 1] == "60s"
    assert (probes / "probes.trace").exists()


def test_the_commands_can_be_printed_instead(probes: Path) -> None:
    result = run("run", probes, "--dry-run")
    build, record = map(shlex.split, result.stdout.splitlines())
    assert build[:3] == ["swiftc", "-O", "-parse-as-library"]
    assert record[:4] == ["tracekit", "record", "--launch", "--preset"]


@pytest.mark.parametrize("text", [None, "", "import Foundation // another program"])
def test_another_program_in_the_folder_is_not_run(mac: Mac, probes: Path, text: str | None) -> None:
    (probes / "ProbeRunner.swift").unlink()
    if text is not None:
        (probes / "ProbeRunner.swift").write_text(text)
    result = run("run", probes)
    assert result.exit_code == 2
    assert "is not the program of this version of tracekit: it is not run" in result.stderr
    assert mac.commands() == []


@pytest.mark.parametrize("has_compiler", [False, True])
def test_a_program_that_cannot_be_built_is_a_sentence(
    probes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_compiler: bool
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    if has_compiler:
        (folder / "swiftc").write_text("#!/bin/sh\necho 'error: no such module' >&2; exit 1\n")
        (folder / "swiftc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin" if has_compiler else str(folder))
    result = run("run", probes)
    sentence = "could not build the program: error: no such module" if has_compiler else "swiftc is not here"
    assert sentence in result.stderr
    assert result.exit_code == 4
    assert not (probes / "probes.trace").exists()
