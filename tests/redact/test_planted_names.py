"""Names planted in every kind of place of a recording, and of what goes with it, are in no file that is written."""

from __future__ import annotations

import base64
import binascii
import csv
import gzip
import html
import io
import json
import random
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.leaks import leaks
from attack.private_names import Secrets, file_of, home, random_secrets, spelled, volume_path
from click.testing import CliRunner
from hypothesis import settings

from tracekit.cli import main
from tracekit.redact.statement import ISSUE, NOT_REMOVED

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "failing-requests-macos27"
"""A recording of a Mac, from 2026-01-01T12:00:00.000Z for 0.398 s, with a log of its app."""
REPORTS = ("html", "markdown", "json", "text", "svg")
STATING = ("html", "markdown", "json", "text", "pack")
_PAYLOAD = re.compile(rb"[A-Za-z0-9+/]{80,}={0,2}")


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(1 + settings.default.max_examples // 50))
def test_no_planted_name_is_in_any_output(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    secrets = random_secrets(dice)
    recording, options = planted(tmp_path, dice, secrets)
    found = {
        kind: leaks(text, secrets.everything())
        for kind in (*REPORTS, "pack")
        for text in [everything_in(written(tmp_path, kind, recording, "--redact", *options))]
    }
    assert {kind: names for kind, names in found.items() if names} == {}


@pytest.mark.integration
def test_every_planted_name_is_in_a_report_that_is_not_redacted(tmp_path: Path) -> None:
    dice = random.Random(0)
    secrets = random_secrets(dice)
    recording, options = planted(tmp_path, dice, secrets)
    text = everything_in(written(tmp_path, "html", recording, *options))
    # The report shows no path of a binary, and no process without rows.
    shown = {secrets.users[0], secrets.device, secrets.processes[0]}
    assert shown <= set(leaks(text, secrets.everything()))
    assert {"label of", "laid over", "operator of"} <= {word for word in PLACES if word in text}


PLACES = ("label of", "laid over", "operator of")
"""Words beside the names in labels of windows, and in lines of the recording's log and of the overlaid one."""


@pytest.mark.parametrize("kind", STATING)
def test_a_redacted_file_states_once_what_is_not_removed(kind: str, tmp_path: Path) -> None:
    data = written(tmp_path, kind, SAMPLE, "--redact")
    text = everything_in(data) if kind == "pack" else data.decode()
    plain = " ".join(html.unescape(text).replace("\\", "").split())
    assert plain.count(ISSUE.message) == 1


def test_the_guide_lists_what_is_not_removed() -> None:
    guide = " ".join((ROOT / "docs" / "redaction.md").read_text().split())
    assert [entry for entry in NOT_REMOVED if f"- {entry}" not in guide] == []


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_titles_and_notes_are_the_users_own(kind: str, tmp_path: Path) -> None:
    own = ("--title", "For Jo of /Users/jo", "--note", "See Synthetic Mac")
    text = html.unescape(written(tmp_path, kind, SAMPLE, "--redact", *own).decode())
    assert "For Jo of /Users/jo" in text
    assert "See Synthetic Mac" in text


@pytest.mark.parametrize("process", ["MyApp", "103"])
def test_a_log_is_redacted_to_a_process_that_the_refusal_names(process: str, tmp_path: Path) -> None:
    lines = [
        line(0, "MyApp", 103, "ANEProgramProcessRequestDirect() status=0x0 : statusType=0x0"),
        line(1, "nimbusd", 104, "ANEProgramProcessRequestDirect() status=0x16 : statusType=0x9"),
    ]
    log = tmp_path / "app.ndjson"
    log.write_text("".join(lines))
    arguments = ["report", str(log), "--redact", "--format", "text", "-o", "-"]
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 2
    assert "with --process. It has MyApp (103), nimbusd (104)." in refused.stderr
    made = CliRunner().invoke(main, [*arguments, "--process", process])
    assert made.exit_code == 0, made.stderr
    assert "MyApp" in made.stdout
    assert "nimbusd" not in made.stdout


# What is planted ------------------------------------------------------------------------------------------


def planted(folder: Path, dice: random.Random, secrets: Secrets) -> tuple[Path, tuple[str, ...]]:
    """Write a recording in a zip, a zip of a text to lay over it and windows, all with names; return the options."""
    user = secrets.users[0]
    labels = folder / f"{user}.csv"
    with labels.open("w", newline="") as file:
        rows = [(1_000_000, 90_000_000, f"label of {text_with_names(dice, secrets)}") for _ in range(4)]
        csv.writer(file).writerows([("start_ns", "end_ns", "label"), *rows])
    overlay = folder / f"logs of {user}.zip"
    with zipfile.ZipFile(overlay, "w") as archive:
        message = f"Unsupported op 12 ({user}_gather): laid over {text_with_names(dice, secrets)}"
        lines = [line(0, f"{user}-app", 4711, message), line(1, secrets.processes[0], 56, message)]
        archive.writestr(f"Users/{user}/{user}.ndjson", "".join(lines))
    return exports(folder, dice, secrets), ("--windows-csv", str(labels), "--with", str(overlay))


def exports(folder: Path, dice: random.Random, secrets: Secrets) -> Path:
    """Write a zip of the sample's exports, with names in place of its own."""
    user, volume = secrets.users[0], f"/Volumes/{secrets.volume}"
    homes = " ".join(f"/Users/{user}/x" for user in secrets.users)
    replacements = {
        ">Blank<": f">{homes} {volume}/T.tracetemplate<",
        "Synthetic Mac": secrets.device,
        "Target app exited": f"{secrets.processes[0]} asked",
        "/Applications/SampleApp.app": f"{volume}/my{user}",
        'name="SampleApp" UUID': f'name="lib{user}.dylib" UUID',
        "Transcriber": f"{user}Transcriber",
        "SpeechEncoder": f"{user}-encoder",
        "SampleApp": f"{user}-app",
        "Unsupported gather index type": f"operator of {text_with_names(dice, secrets)}",
    }
    processes = "".join(
        f'<process name="{html.escape(name)}" pid="{pid}" path="/x"/>'
        for pid, name in enumerate((*secrets.processes, secrets.listed_process), 55)
    )
    pattern = re.compile("|".join(map(re.escape, replacements)))
    path = folder / f"{user} on {secrets.device}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(SAMPLE.glob("*.xml")):
            text = pattern.sub(lambda match: markup(replacements[match[0]]), file.read_text())
            archive.writestr(f"{user}/{file.name}", text.replace("<processes>", f"<processes>{processes}"))
    return path


def markup(text: str) -> str:
    """Return a text as XML; the tags and quotes of a replacement stay."""
    return text.replace("&", "&amp;").replace("'", "&#39;")


def text_with_names(dice: random.Random, secrets: Secrets) -> str:
    user = secrets.users[0]
    names = [spelled(dice, name) for name in secrets.everything()]
    return " ".join([*names, home(dice, user), file_of(dice, user), volume_path(dice, secrets.volume)])


def line(second: int, process: str, pid: int, message: str) -> str:
    entry = {
        "timestamp": f"2026-01-01 12:00:0{second}.100000+0000",
        "eventMessage": message,
        "processID": pid,
        "threadID": 5,
        "processImagePath": f"/Applications/{process}",
        "senderImagePath": "/usr/lib/x",
        "subsystem": "com.apple.espresso",
        "category": "common",
    }
    return json.dumps(entry) + "\n"


# What is written ------------------------------------------------------------------------------------------


def written(folder: Path, kind: str, recording: Path, *options: str) -> bytes:
    """Return the file that a command writes of a recording: a report, or a pack, for which some options are none."""
    output = folder / f"out.{kind}"
    arguments = ["pack", "--redact"] if kind == "pack" else ["report", "--format", kind, *options]
    result = CliRunner().invoke(main, [*arguments, str(recording), "-f", "-o", str(output)])
    assert result.exit_code == 0, result.output
    return output.read_bytes()


def everything_in(data: bytes) -> str:
    return "\n".join(part.decode("utf-8", "replace") for part in unpacked(data))


def unpacked(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of a file, and those of every archive, compressed part and base64 payload in it."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield from unpacked(archive.read(name))
    elif data.startswith(b"\x1f\x8b"):
        yield from unpacked(gzip.decompress(data))
    else:
        yield _PAYLOAD.sub(b"", data)
        for payload in _PAYLOAD.findall(data):
            try:
                decoded = base64.b64decode(payload, validate=True)
            except binascii.Error:
                decoded = b""
            yield from unpacked(decoded) if decoded.startswith(b"\x1f\x8b") else (payload,)
