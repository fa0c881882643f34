"""Where a recording goes, so that an earlier one is never lost: it is replaced when the new one is good."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.record.recorder import free_bytes
from tracekit.xctrace.tool import run_command

_COPY_SECONDS = 3600


@dataclass(frozen=True)
class OutputPath:
    """``path`` is where xctrace writes; ``final`` is where a good recording ends up.

    ``is_copy`` is True where what was in ``final`` was copied to ``path`` first.
    """

    final: Path
    path: Path
    is_copy: bool = False

    def settle(self, good: bool) -> Path:
        """Put a good recording in its place, leave another where it is; return where it lies now.

        A copy to which no run was added is removed: there is nothing in it that is not in the original.
        """
        if not good and self.is_copy and _runs(self.path) <= _runs(self.final):
            shutil.rmtree(self.path, ignore_errors=True)
            return self.path
        if self.path == self.final or not good:
            return self.path
        old = unused_path(self.final, "old")
        with suppress(FileNotFoundError):  # somebody removed it meanwhile
            self.final.rename(old)  # nothing is lost if we are killed between these two
        self.path.rename(self.final)
        shutil.rmtree(old, ignore_errors=True)
        return self.final


def journal_path(bundle: Path) -> Path:
    """Return where the record of a recording lies: ``X.recording.json`` beside ``X.trace``."""
    return bundle.with_name(f"{bundle.stem}.recording.json")


def check_output_path(final: Path, *, replace: bool, append: bool) -> None:
    """Raise ``UsageError`` where a recording could not be written, before anything is recorded."""
    if append:
        if not final.is_dir() or not any(final.glob("*.run")):
            raise UsageError(f"--append-run: {final} is no recording that a run could be added to.")
    elif os.path.lexists(final):
        if not replace:
            raise UsageError(f"{final} exists and will not be overwritten without --force.")
        if not final.is_dir() or final.is_symlink() or not _is_recording(final):
            raise UsageError(f"{final} is no recording, and will not be overwritten. Name another output.")
    journal = journal_path(final)
    if os.path.lexists(journal) and not (append or (replace and journal.is_file())):
        advice = "" if replace else " without --force"
        raise UsageError(
            f"{journal}, the record of {final.name}, exists and will not be overwritten{advice}."
        )
    folder = final.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{final} cannot be written: its folder does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{final} cannot be written: its folder is not writable.")


def choose_output_path(final: Path, *, append: bool) -> OutputPath:
    """Return where to write. A run is added to a copy: a recording that fails may spoil what it touches."""
    if append:
        final = final.resolve()  # a link stays, what it leads to gets the run
        return OutputPath(final, unused_path(final, "appending"), is_copy=True)
    return OutputPath(final, unused_path(final, "new") if final.exists() else final)


def reserve_output_path(final: Path, *, append: bool) -> OutputPath:
    """Return where to write, the copy made; raise ``UsageError`` when there is no space for it."""
    place = choose_output_path(final, append=append)
    if place.is_copy:
        _copy(place.final, place.path)
    return place


def copy_command(place: OutputPath) -> list[str]:
    """Return the words that make the copy on a Mac: a clone on APFS, at once and without space (man cp)."""
    return ["cp", "-cRp", str(place.final), str(place.path)]


def _is_recording(path: Path) -> bool:
    """True for what xctrace writes, an unfinished one and an empty folder included."""
    names = [one.name for one in path.iterdir()]
    return not names or any(
        name.endswith(".run") or name in {"form.template", "Attachments"} for name in names
    )


def _runs(bundle: Path) -> set[str]:
    return {path.name for path in bundle.glob("*.run")}


def unused_path(final: Path, word: str) -> Path:
    """Return ``X.word.trace`` beside ``X.trace``, with a number where that is taken."""
    for number in range(1, 1000):
        path = final.with_name(f"{final.stem}.{word}{'' if number == 1 else number}.trace")
        if not os.path.lexists(path):
            return path
    raise UsageError(f"{final.parent} is full of earlier attempts ({final.stem}.{word}*.trace): remove them.")


def _copy(source: Path, target: Path) -> None:
    if sys.platform == "darwin":
        if run_command(copy_command(OutputPath(source, target)), _COPY_SECONDS).ok:
            return
        shutil.rmtree(target, ignore_errors=True)
    size = sum(path.lstat().st_size for path in source.rglob("*"))
    if size > free_bytes(source.absolute().parent):
        raise UsageError(f"--append-run works on a copy of {source}, and there is no space for one.")
    try:
        shutil.copytree(source, target, symlinks=True)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(
                f"--append-run works on a copy, and {source} cannot be copied: {error}."
            ) from error
        raise
