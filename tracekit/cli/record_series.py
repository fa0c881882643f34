"""Several recordings of one ``tracekit record``: their plan, and the comparison of two that took turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracekit.cli.output import write_output
from tracekit.cli.standard_error import write_message
from tracekit.frozen import frozen
from tracekit.text import format_shell_command, plural, printable

if TYPE_CHECKING:
    from pathlib import Path

    from tracekit.analysis.result import Analysis
    from tracekit.detect import Via
    from tracekit.record.interleaving import SeriesPlace, SeriesSide
    from tracekit.record.record_request import PlannedRecording
    from tracekit.record.session import RecordingAttempt
    from tracekit.xctrace.tool import Xctrace

_MAX_LISTED_NAMES = 12


@frozen
class SavedRecording:
    """A saved recording; ``is_cut_short`` if it ended before its time."""

    planned: PlannedRecording
    attempt: RecordingAttempt
    is_cut_short: bool
    analysis: Analysis | None = None


def format_series(planned: Sequence[PlannedRecording]) -> str:
    """Return the sides and the order of recordings that take turns, for ``--show-plan``; "" for others."""
    places = [recording.place for recording in planned if recording.place]
    if not places:
        return ""
    targets = {
        recording_with_place.place.side: recording_with_place.settings.target
        for recording_with_place in planned
        if recording_with_place.place
    }
    lines = [
        f"{side:10}  {target.name}  ({target.locator}; {target.reason})" for side, target in targets.items()
    ]
    lines.append(f"{'order':10}  {_list_names([place.name for place in places])}")
    return "".join(f"{printable(line)}\n" for line in lines)


def print_commands(tool: Xctrace, planned: Sequence[PlannedRecording], via: Via) -> None:
    """Print the commands of the recordings, and the comparison of those that take turns."""
    from tracekit.record.output_path import build_copy_command, choose_output_path
    from tracekit.record.session import build_xctrace_command

    for recording in planned:
        output = choose_output_path(recording.final, append=recording.settings.append)
        commands = [build_copy_command(output)] if output.is_copy else []
        commands.append(build_xctrace_command(tool, output.working, recording.settings))
        if recording is planned[-1] and recording.place:
            commands.append(
                _build_comparison_command(
                    [(planned_recording.place, planned_recording.final) for planned_recording in planned], via
                )
            )
        lines = [f"{format_shell_command(command)}\n" for command in commands]
        write_output("".join([*_build_companion_lines(recording), *lines]), "-", force=False)


def _build_companion_lines(recording: PlannedRecording) -> list[str]:
    """Return the commands of the tools that watch meanwhile, in the background of a shell."""
    from tracekit.record.companions import build_companion_commands, build_companion_path, is_root

    settings = recording.settings
    seconds = settings.limits.time_limit_seconds
    commands = build_companion_commands(settings.companions, seconds, is_root=is_root())
    paths = [build_companion_path(recording.final, word) for word in settings.companions]
    return [
        f"{format_shell_command(command)} > {format_shell_command([str(path)])} &\n"
        for command, path in zip(commands, paths, strict=True)
    ]


def _build_comparison_command(recordings: Sequence[tuple[SeriesPlace | None, Path]], via: Via) -> list[str]:
    """Return the words that compare the recordings of the two sides."""
    from tracekit.record.interleaving import build_compare_command

    base, new = (
        [path for place, path in recordings if place and place.side == side] for side in ("base", "new")
    )
    return build_compare_command(base, new, *(() if via == "auto" else ("--via", via)))


def print_settings(recordings: Sequence[SavedRecording]) -> None:
    """Print the table of the settings of the compute units."""
    analyses = {
        recording.planned.compute_units: recording.analysis
        for recording in recordings
        if recording.analysis is not None
    }
    if analyses:
        from tracekit.analysis.compute_units import compare_settings
        from tracekit.report.compute_units.text import settings_text

        write_output(settings_text(compare_settings(analyses)), "-", force=False)


def print_stop(
    planned: Sequence[PlannedRecording], recordings: Sequence[SavedRecording], failed: int
) -> None:
    """Name what an interrupted series has, and the number of what is missing."""
    whole = [recording.attempt.bundle.name for recording in recordings if not recording.is_cut_short]
    cut_short = [recording.attempt.bundle.name for recording in recordings if recording.is_cut_short]
    missing = len(planned) - len(recordings) - failed
    parts = [f"{_list_names(whole)} {'is' if len(whole) == 1 else 'are'} whole"] if whole else []
    parts += [f"{_list_names(cut_short)} ended early"] if cut_short else []
    parts += [f"{missing} of {len(planned)} recordings were not made"] if missing else []
    write_message(f"Stopped: {'; '.join(parts)}.")


def finish_series(
    planned: Sequence[PlannedRecording], made: Sequence[SavedRecording], via: Via, *, analyzed: bool
) -> None:
    """Name the recordings that are missing, print the command that compares the others, and compare them.

    Unless ``analyzed``, nothing is compared.
    """
    reasons = {
        id(made_recording.planned): _find_reason_to_leave_out(made_recording, analyzed)
        for made_recording in made
    }
    left_out: dict[str, list[str]] = {}
    for recording in planned:
        if reason := reasons.get(id(recording), "not recorded"):
            left_out.setdefault(reason, []).append(recording.final.name)
    for reason, names in left_out.items():
        write_message(f"Left out of the comparison, {reason}: {_list_names(names)}")
    sides: dict[SeriesSide, list[SavedRecording]] = {"base": [], "new": []}
    for made_recording in made:
        if made_recording.planned.place and not reasons[id(made_recording.planned)]:
            sides[made_recording.planned.place.side].append(made_recording)
    for side, recordings in sides.items():
        if not recordings:
            write_message(f"There is no comparison: no recording of {side} is whole.")
            return
    counts = " and ".join(f"{plural(len(runs), 'recording')} of {side}" for side, runs in sides.items())
    whole = [
        (made_recording.planned.place, made_recording.attempt.bundle)
        for runs in sides.values()
        for made_recording in runs
    ]
    write_message(
        f"This command compares {counts}:", f"  {format_shell_command(_build_comparison_command(whole, via))}"
    )
    if analyzed:
        _print_comparison(*sides.values())


def _find_reason_to_leave_out(recording: SavedRecording, analyzed: bool) -> str:
    """Return the reason why a recording is no run like the others, "" if it is."""
    if recording.is_cut_short:
        return "stopped early"
    if recording.attempt.result.state != "good":
        return "without samples"
    return "not analyzed" if analyzed and recording.analysis is None else ""


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    return f"{', '.join(names[:_MAX_LISTED_NAMES])}{more}"


def _print_comparison(base: Sequence[SavedRecording], new: Sequence[SavedRecording]) -> None:
    from tracekit.comparison import compare
    from tracekit.report.comparison.text import to_text

    analyses = [
        [recording.analysis for recording in side if recording.analysis is not None] for side in (base, new)
    ]
    write_output(f"\n{to_text(compare(*analyses))}", "-", force=False)
