"""`tracekit record`: files on disk, with and without earlier ones, and several recordings."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from record_support import APP, FAST, Mac, forgetful, program, snapshot

from tracekit.cli import main

pytestmark = pytest.mark.integration

# Outputs ---------------------------------------------------------------------------------------------------------


def test_an_output_that_exists_is_left_alone(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP)
    assert result.code == 2
    assert result.error == "Error: x.trace exists and will not be overwritten without --force.\n"
    assert snapshot(mac.folder / "x.trace") == before
    assert len(mac.commands()) == 1


def test_force_replaces_a_recording_by_a_good_one(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    (mac.folder / "x.trace" / "marker").write_text("the old one")
    assert mac.record(*APP, "--force").code == 0
    assert not (mac.folder / "x.trace" / "marker").exists()
    assert mac.files() == ["x.recording.json", "x.trace"]


def test_force_keeps_the_old_recording_when_the_new_one_fails(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP, "--force", *FAST, hang="saving")
    assert result.code == 4
    assert "x.new.trace was not finished" in result.error
    assert snapshot(mac.folder / "x.trace") == before
    assert mac.files() == ["x.new.recording.json", "x.new.trace", "x.recording.json", "x.trace"]


def test_force_replaces_only_recordings(mac: Mac) -> None:
    (mac.folder / "x.trace").mkdir()
    (mac.folder / "x.trace" / "thesis.tex").write_text("years of work")
    result = mac.record(*APP, "--force")
    assert result.code == 2
    assert "x.trace is not a recording and will not be overwritten. Choose another output." in result.error
    assert (mac.folder / "x.trace" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("x.xml", "-o x.xml: give a name that ends in .trace, or a folder."),
        ("gone/x.trace", "gone/x.trace cannot be written: its folder does not exist."),
    ],
)
def test_outputs_that_cannot_be_written(mac: Mac, output: str, message: str) -> None:
    result = mac.record("--app", "SampleApp", "-o", output)
    assert (result.code, result.error) == (2, f"Error: {message}\n")
    assert mac.commands() == []


def test_another_file_at_the_journals_path(mac: Mac) -> None:
    journal = mac.folder / "x.recording.json"
    journal.write_text("mine")
    result = mac.record(*APP)
    assert result.code == 2
    assert (
        "x.recording.json, the journal of x.trace, exists and will not be overwritten without --force."
        in result.error
    )
    assert journal.read_text() == "mine" and mac.commands() == []
    journal.unlink()
    journal.mkdir()
    assert mac.record(*APP, "--force").code == 2


def test_a_name_that_is_no_utf_8(mac: Mac) -> None:
    name = os.fsdecode(b"caf\xe9.trace")
    result = mac.record(*APP[:4], "-o", name, "--no-analysis")
    assert result.code == 0
    assert "Saved caf\\udce9.trace" in result.error
    assert (mac.folder / name / "form.template").exists()


def test_a_run_is_added_behind_a_link(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    (mac.folder / "x.trace").rename(mac.folder / "real.trace")
    (mac.folder / "x.trace").symlink_to("real.trace")
    assert mac.record(*APP, "--append-run").code == 0
    assert (mac.folder / "x.trace").is_symlink()
    assert "Run 2 of real.trace" in CliRunner().invoke(main, ["tables", "x.trace"]).stdout
    assert [name for name in mac.files() if name.endswith(".trace")] == ["real.trace", "x.trace"]


def test_a_folder_as_output_gets_a_fresh_name(mac: Mac) -> None:
    (mac.folder / "out").mkdir()
    assert mac.record("--app", "SampleApp", "--time-limit", "100ms", "-o", "out").code == 0
    assert [p.suffix for p in sorted((mac.folder / "out").iterdir())] == [".json", ".trace"]


def test_a_run_is_added(mac: Mac) -> None:
    mac.record(*APP, "--no-analysis")
    result = mac.record(*APP, "--append-run")
    assert result.code == 0
    assert "GPU in all 12 calls" in result.output
    runs = CliRunner().invoke(main, ["tables", "x.trace"]).stdout
    assert "Run 2 of x.trace" in runs
    assert len(mac.journal()["runs"]) == 2  # type: ignore[arg-type]
    assert mac.files() == ["x.recording.json", "x.trace"]


@pytest.mark.parametrize("settings", [{"attach": "refused"}, {"hang": "saving"}, {"dies": 0.05}])
def test_a_run_that_fails_leaves_the_earlier_ones_untouched(mac: Mac, settings: dict[str, object]) -> None:
    mac.record(*APP, "--no-analysis")
    before = snapshot(mac.folder / "x.trace")
    result = mac.record(*APP, "--append-run", *FAST, **settings)
    assert result.code == 4
    assert snapshot(mac.folder / "x.trace") == before
    assert ("Nothing was recorded; x.trace is unchanged." in result.error) == ("attach" in settings)
    copies = [name for name in mac.files() if "appending" in name and name.endswith(".trace")]
    assert copies == ([] if "attach" in settings else ["x.appending.trace"])
    assert ("x.appending.trace was not finished" in result.error) == bool(copies)
    assert CliRunner().invoke(main, ["analyze", "x.trace"]).exit_code == 0


def test_adding_to_nothing(mac: Mac) -> None:
    result = mac.record(*APP, "--append-run")
    assert result.error == "Error: --append-run: x.trace is not a recording, so no run can be added to it.\n"
    result = mac.record(*APP, "--append-run", "--preset", "minimal")
    assert "--append-run uses the template of the existing recording" in result.error


def test_a_report_of_the_recording(mac: Mac) -> None:
    result = mac.record(*APP, "--report", "x.html")
    assert result.code == 0
    text = (mac.folder / "x.html").read_text()
    assert text.startswith("<!doctype html>") and "GPU in all 12 calls" in text
    assert "record --output x.trace --no-prompt" in text  # the command that made it
    refused = mac.record("--app", "SampleApp", "-o", "y.trace", "--report", "x.html")
    assert (refused.code, len(mac.commands())) == (2, 1)
    several = mac.record(*APP[:4], "-o", "z.trace", "--count", "2", "--report", "z.md")
    assert several.code == 0
    assert [name for name in mac.files() if name.endswith(".md")] == ["z-1.md", "z-2.md"]


# Several recordings ----------------------------------------------------------------------------------------------


def test_recording_several_times(mac: Mac) -> None:
    result = mac.record(*APP, "--count", "3")
    assert result.code == 0
    assert [line.split(":")[0] for line in result.output.splitlines()] == [
        "x-1.trace",
        "x-2.trace",
        "x-3.trace",
    ]
    assert [name for name in mac.files() if name.endswith(".trace")] == [
        "x-1.trace",
        "x-2.trace",
        "x-3.trace",
    ]


def test_settings_of_the_compute_units_end_with_a_table(mac: Mac) -> None:
    tool = program(mac, '#!/bin/sh\necho "$TRACEKIT_COMPUTE_UNITS" >> seen.txt\n')
    result = mac.record("--app", str(tool), "--compute-units", "all,cpuAndGPU,CPUONLY", "-o", "x.trace")
    assert result.code == 0
    assert (mac.folder / "seen.txt").read_text().split() == ["all", "cpuAndGPU", "cpuOnly"]
    table = result.output[result.output.index("  compute units") :].splitlines()
    assert table[0].split() == [
        "compute",
        "units",
        "calls",
        "cold",
        "warm",
        "p50",
        "warm",
        "p90",
        "×",
        "cpuOnly",
        "load",
        "ran",
        "on",
    ]
    assert [line.split()[0] for line in table[1:4]] == ["all", "cpuAndGPU", "cpuOnly"]
    assert all("  1.00 ×  " in line and line.endswith("12 GPU") for line in table[1:4])


def test_all_of_several_recordings_are_tried_and_each_failure_is_reported(mac: Mac) -> None:
    result = mac.record(*APP, "--count", "3", dies=0.05)
    assert result.code == 4
    assert result.error.count("This command may recover the raw data (untested):") == 3
    assert "x-2.trace/Trace1.run/Attachments/trace-data.atrc" in result.error
    assert result.error.endswith("Error: 3 of 3 recordings failed; see above.\n")


def test_one_failing_setting_does_not_hide_the_others(mac: Mac) -> None:
    tool = program(mac, "#!/bin/sh\n")
    Path("x-all.trace").mkdir()
    refused = mac.record("--app", str(tool), "--compute-units", "all,cpuOnly", "-o", "x.trace")
    assert refused.code == 2  # before anything is recorded
    assert mac.commands() == []
    shutil.rmtree("x-all.trace")
    result = mac.record(
        "--app",
        str(tool),
        "--compute-units",
        "all,cpuOnly",
        "-o",
        "x.trace",
        "--xctrace",
        str(forgetful(mac, "all")),
    )
    assert result.code == 4
    assert "cpuOnly" in result.output[result.output.index("Compute units compared") :]


# Beside the recording ---------------------------------------------------------------------------------------------


def test_what_ran_beside_the_recording_is_joined_with_it(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    report = (
        "Analysis of sampling Other (pid 9) every 1 millisecond\\nDate/Time: 2026-01-01 12:00:00.010 +0000\\n"
        "Call graph:\\n    5 Thread_1\\n    + 5 main  (in Other) + 1  [0x1]\\n"
    )
    tools = {
        "powermetrics": f"#!/bin/sh\nprintf '{report}'\n",
        "log": "#!/bin/sh\necho Filtering; exec sleep 60\n",
    }
    for name, text in tools.items():
        (mac.xctrace.folder / name).write_text(text)
        (mac.xctrace.folder / name).chmod(0o755)
    monkeypatch.setattr("tracekit.record.record_request.is_root", lambda: True)
    monkeypatch.setattr("tracekit.record.companions.is_root", lambda: True)
    result = mac.record(*APP, "--with", "power,log")
    assert result.code == 0, result.error
    assert mac.files() == ["x.log.ndjson", "x.power.txt", "x.recording.json", "x.trace"]
    assert "note: x.log.ndjson: is no text that can be laid over a recording." in result.error
    assert "tracekit analyze x.trace --with x.power.txt --with x.log.ndjson" in result.error
    assert mac.journal()["with"] == ["power", "log"]
    joined = CliRunner().invoke(main, ["analyze", "x.trace", "--with", "x.power.txt", "-v"])
    assert "x.power.txt is laid over the recording by wall clock" in " ".join(joined.output.split())
    planned = mac.record(*APP, "--force", "--dry-run", "--with", "log")
    assert planned.output.startswith("log stream --style ndjson")
    assert planned.output.split("\n")[0].endswith("> x.log.ndjson &")


def test_what_a_killed_recording_left_is_named_by_the_next_command(mac: Mac) -> None:
    left = mac.folder / ".tracekit-log.x.abcdefgh"
    left.write_text("{}\n")
    made = mac.record(*APP)
    assert "note: .tracekit-log.x.abcdefgh is what log wrote beside x.trace, until" in made.error
    analyzed = CliRunner().invoke(main, ["analyze", "x.trace"])
    assert (
        "note: .tracekit-log.x.abcdefgh is what log wrote beside x.trace, until tracekit was killed (3 bytes)."
        " Delete it, or keep it and join it with the recording:\n"
        "  mv -n .tracekit-log.x.abcdefgh x.log.ndjson\n"
        "  tracekit analyze x.trace --with x.log.ndjson\n"
    ) in analyzed.stderr
    assert "tracekit-log" not in analyzed.stdout
    mac.record(*APP[:-1], "y.trace")
    assert "tracekit-log" not in CliRunner().invoke(main, ["analyze", "y.trace"]).stderr
    assert left.read_text() == "{}\n"
