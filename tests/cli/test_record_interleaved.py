"""`tracekit record --interleave`: two targets in turn, and the comparison of what is whole."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from compare_support import recorded
from record_support import APP, Mac

from tracekit.cli import main, record
from tracekit.cli.record_series import SavedRecording, finish_series, format_series
from tracekit.errors import InputError, TracekitError, XctraceError
from tracekit.record.interleaving import iter_interleaved_places
from tracekit.record.record_request import PlannedRecording, RecordRequest
from tracekit.record.recorder import RecordLimits
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.record.recording_result import RecordingResult, ResultState
from tracekit.record.session import RecordingAttempt, RecordSettings
from tracekit.record.target import Target
from tracekit.xctrace.tool import Xctrace

TWO = [{"pid": 1, "path": "/A/Old"}, {"pid": 2, "path": "/B/New"}]
IN_TURN = ("--app", "Old", "--interleave", "New", *APP[2:])
ANALYSIS = recorded([5.0] * 12)


@pytest.mark.integration
def test_two_apps_in_turn_end_with_their_comparison(mac: Mac) -> None:
    result = mac.record(*IN_TURN, "--count", "1", processes=TWO)
    assert result.code == 0
    assert "This command compares 1 recording of base and 1 recording of new:\n" in result.error
    compared = CliRunner().invoke(main, shlex.split(result.error.splitlines()[-1])[1:])
    assert compared.exit_code == 0
    assert result.output.endswith(f"\n\n{compared.stdout}")


@pytest.mark.integration
def test_recordings_in_turn_have_their_names_journals_and_command(mac: Mac) -> None:
    result = mac.record(*IN_TURN, "--count", "2", "--no-analysis", processes=TWO)
    assert (result.code, result.output) == (0, "")
    assert [command[-1] for command in mac.commands()] == ["1", "2", "2", "1"]
    stems = ["x-base-1", "x-base-2", "x-new-1", "x-new-2"]
    assert mac.files() == [f"{stem}.{end}" for stem in stems for end in ("recording.json", "trace")]
    place = {"side": "new", "number": 2, "position": 3, "recordings": 4}
    assert mac.journal("x-new-2")["interleaved"] == place
    assert "Recording 3 of 4: new-2\n" in result.error
    assert result.error.endswith(
        "  tracekit compare x-base-1.trace x-new-1.trace x-new-2.trace --base x-base-2.trace\n"
    )


@pytest.mark.integration
def test_the_plan_and_the_dry_run_show_the_order(mac: Mac) -> None:
    result = mac.record(*IN_TURN, "--count", "1", "--dry-run", "--via", "native", processes=TWO)
    first, second, comparison = map(shlex.split, result.output.splitlines())
    assert (first[-2:], second[-2:]) == (["--attach", "1"], ["--attach", "2"])
    assert comparison == [
        *["tracekit", "compare", "x-base-1.trace", "x-new-1.trace", "--via", "native"],
    ]
    plan = mac.record(*IN_TURN, "--show-plan", processes=TWO).output
    assert "base        Old  (1; running, pid 1)\nnew         New  (2; running, pid 2)\n" in plan
    assert "order       base-1, new-1, new-2, base-2, base-3, new-3," in plan
    assert mac.commands() == []


@pytest.mark.integration
def test_failures_of_all_leave_nothing_to_compare(mac: Mac) -> None:
    result = mac.record(*IN_TURN, "--count", "1", processes=TWO, attach="refused")
    assert result.code == 4
    assert "Left out of the comparison, not recorded: x-base-1.trace, x-new-1.trace\n" in result.error
    assert "There is no comparison: no recording of base is whole.\n" in result.error
    assert result.error.endswith("Error: 2 of 2 recordings failed; see above.\n")


# What is left of a series that was stopped, without a process ---------------------------------------------------


def planned(pairs: int) -> list[PlannedRecording]:
    settings = RecordSettings(InstrumentPlan(None, ()), Target("attach", "App", "1"), RecordLimits(1))
    return [
        PlannedRecording(Path(f"x-{place.name}.trace"), settings, suffix=place.name, place=place)
        for place in iter_interleaved_places(pairs)
    ]


def made(
    recording: PlannedRecording, state: ResultState = "good", cut_short: bool = False, analyzed: bool = True
) -> SavedRecording:
    attempt = RecordingAttempt(
        recording.final, recording.final, RecordingResult(state), (), recording.settings
    )
    return SavedRecording(recording, attempt, cut_short, ANALYSIS if analyzed else None)


def finished(
    capsys: pytest.CaptureFixture[str],
    recordings: Sequence[PlannedRecording],
    made_recordings: Sequence[SavedRecording],
    analyzed: bool = True,
) -> tuple[list[str], str]:
    finish_series(recordings, made_recordings, "auto", analyzed=analyzed)
    captured = capsys.readouterr()
    return captured.err.splitlines(), captured.out


def test_a_stopped_series_compares_what_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    recordings = planned(3)
    in_part = [*map(made, recordings[:2]), made(recordings[2], cut_short=True)]
    messages, output = finished(capsys, recordings, in_part)
    assert messages == [
        "Left out of the comparison, stopped early: x-new-2.trace",
        "Left out of the comparison, not recorded: x-base-2.trace, x-base-3.trace, x-new-3.trace",
        "This command compares 1 recording of base and 1 recording of new:",
        "  tracekit compare x-base-1.trace x-new-1.trace",
    ]
    assert "in these recordings" in output


def test_recordings_that_are_no_run_like_the_others_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    recordings = planned(2)
    base_1, new_1, new_2, base_2 = recordings
    in_part = [made(base_1), made(new_1, "empty"), made(new_2), made(base_2, analyzed=False)]
    messages, _ = finished(capsys, recordings, in_part)
    assert messages == [
        "Left out of the comparison, without samples: x-new-1.trace",
        "Left out of the comparison, not analyzed: x-base-2.trace",
        "This command compares 1 recording of base and 1 recording of new:",
        "  tracekit compare x-base-1.trace x-new-2.trace",
    ]


def test_a_series_that_an_interrupt_ends_while_it_is_analyzed_gets_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recordings = planned(1)
    messages, output = finished(
        capsys, recordings, [made(each, analyzed=False) for each in recordings], analyzed=False
    )
    assert messages[-1] == "  tracekit compare x-base-1.trace x-new-1.trace"
    assert output == ""


class Series:
    """The recordings of a series without xctrace."""

    signal = 0

    def __init__(self, recordings: Sequence[PlannedRecording]) -> None:
        self._recordings = recordings

    def __iter__(self) -> Iterator[PlannedRecording]:
        return iter(self._recordings)


def run_series(monkeypatch: pytest.MonkeyPatch, errors: dict[str, BaseException]) -> None:
    """Make two recordings per side, the analyses of which raise ``errors`` by the recordings' names."""
    recordings = planned(2)
    runner = record._RecordAndAnalyze(
        Xctrace("xctrace"),
        RecordRequest(),
        Series(recordings),  # type: ignore[arg-type]
        analyze=True,
        report=None,
        via="auto",
    )

    def record_one(recording: PlannedRecording, is_only_one: bool) -> None:
        error = errors.get(recording.suffix)
        runner._made.append(made(recording, analyzed=error is None))
        if error:
            raise error

    monkeypatch.setattr(runner, "_record_one", record_one)
    runner.run(recordings)


def test_an_interrupt_while_a_recording_is_analyzed_ends_with_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_series(monkeypatch, {"new-2": KeyboardInterrupt()})
    assert capsys.readouterr().err.splitlines()[-4:] == [
        "Stopped: x-base-1.trace, x-new-1.trace, x-new-2.trace are whole; 1 of 4 recordings were not made.",
        "Left out of the comparison, not recorded: x-base-2.trace",
        "This command compares 1 recording of base and 2 recordings of new:",
        "  tracekit compare x-base-1.trace x-new-1.trace x-new-2.trace",
    ]


@pytest.mark.parametrize(
    ("error", "code"), [(InputError("x.trace", "is damaged."), 3), (XctraceError("xctrace failed."), 4)]
)
def test_a_failure_ends_no_series(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: TracekitError, code: int
) -> None:
    with pytest.raises(TracekitError, match="1 of 4 recordings failed; see above") as raised:
        run_series(monkeypatch, {"base-1": error})
    assert raised.value.exit_code == code
    messages = capsys.readouterr().err
    assert f"Error: {error}\n" in messages
    assert "This command compares 1 recording of base and 2 recordings of new:\n" in messages


def test_a_long_series_is_listed_in_part(capsys: pytest.CaptureFixture[str]) -> None:
    recordings = planned(50)
    assert format_series(recordings).splitlines()[-1].endswith("new-6, base-6 and 88 more")
    messages, _ = finished(capsys, recordings, [])
    assert messages[0].endswith(" and 88 more")
