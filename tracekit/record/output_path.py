"""The path of a recording: an earlier recording there is replaced only once the new one is good."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.frozen import frozen
from tracekit.record.recorder import measure_free_bytes
from tracekit.xctrace.tool import run_command

_COPY_SECONDS = 3600
_UNSAFE_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_MAX_NAME_BYTES = 100


@frozen
class OutputPath:
    """``working`` is where xctrace writes; ``final`` is where a good recording ends up.

    ``is_copy`` is True where the content of ``final`` was copied to ``working`` first.
    """

    final: Path
    working: Path
    is_copy: bool = False

    def commit(self) -> Path:
        """Move the good recording to ``final`` and return that path."""
        # Killed at any step, it leaves both recordings whole, or the new one:
        #   x.trace (old)      x.new.trace
        #   x.old.trace (old)  x.new.trace        after the first rename
        #   x.old.trace (old)  x.trace (new)      after the second
        #                      x.trace (new)      after the removal
        if self.working == self.final:
            return self.final
        old = find_unused_path(self.final, "old")
        with suppress(FileNotFoundError):  # the user removed it meanwhile
            self.final.rename(old)
        self.working.rename(self.final)
        shutil.rmtree(old, ignore_errors=True)
        return self.final

    def restore(self) -> Path:
        """Leave ``final`` as it was, and the failed recording in ``working``; return that path.

        A copy to which no run was added is removed: the original holds all of it.
        """
        if self.is_copy and _list_run_folders(self.working) <= _list_run_folders(self.final):
            shutil.rmtree(self.working, ignore_errors=True)
        return self.working


def build_journal_path(bundle: Path) -> Path:
    """Return the path of a recording's journal: ``X.recording.json`` beside ``X.trace``."""
    return bundle.with_name(f"{bundle.stem}.recording.json")


def check_output_path(final: Path, *, replace: bool, append: bool) -> None:
    """Raise ``UsageError`` if no recording can be written to ``final``, before anything is recorded."""
    if append:
        if not final.is_dir() or not any(final.glob("*.run")):
            raise UsageError(f"--append-run: {final} is not a recording, so no run can be added to it.")
    elif os.path.lexists(final):
        if not replace:
            raise UsageError(f"{final} exists and will not be overwritten without --force.")
        if not final.is_dir() or final.is_symlink() or not _is_recording(final):
            raise UsageError(
                f"{final} is not a recording and will not be overwritten. Choose another output."
            )
    journal = build_journal_path(final)
    if os.path.lexists(journal) and not (append or (replace and journal.is_file())):
        advice = "" if replace else " without --force"
        raise UsageError(
            f"{journal}, the journal of {final.name}, exists and will not be overwritten{advice}."
        )
    folder = final.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"{final} cannot be written: its folder does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{final} cannot be written: its folder is not writable.")


def choose_output_path(final: Path, *, append: bool) -> OutputPath:
    """Return the paths to write to; nothing is created.

    A run is added to a copy, because an xctrace that fails may damage the bundle that it writes to.
    """
    if append:
        final = final.resolve()  # a link stays a link; the recording behind it gets the run
        return OutputPath(final, find_unused_path(final, "appending"), is_copy=True)
    return OutputPath(final, find_unused_path(final, "new") if final.exists() else final)


def reserve_output_path(final: Path, *, append: bool) -> OutputPath:
    """Return the paths to write to, with the copy made; raise ``UsageError`` if it has no space."""
    output = choose_output_path(final, append=append)
    if output.is_copy:
        _copy_bundle(output.final, output.working)
    return output


def build_copy_command(output: OutputPath) -> list[str]:
    """Return the words that make the copy on a Mac: a clone on APFS, at once and without space (man cp)."""
    return ["cp", "-cRp", str(output.final), str(output.working)]


def find_unused_path(final: Path, word: str) -> Path:
    """Return ``X.word.trace`` beside ``X.trace``, numbered if that exists."""
    for number in range(1, 1000):
        path = final.with_name(f"{final.stem}.{word}{'' if number == 1 else number}.trace")
        if not os.path.lexists(path):
            return path
    raise UsageError(
        f"{final.parent} holds too many earlier attempts ({final.stem}.{word}*.trace). Remove them."
    )


def _is_recording(path: Path) -> bool:
    """Return True for bundles that xctrace writes, unfinished ones and an empty folder included."""
    # Only what xctrace writes may be replaced: --force must not remove a folder of another kind.
    names = [entry.name for entry in path.iterdir()]
    return not names or any(
        name.endswith(".run") or name in {"form.template", "Attachments"} for name in names
    )


def _list_run_folders(bundle: Path) -> set[str]:
    return {path.name for path in bundle.glob("*.run")}


def _copy_bundle(source: Path, target: Path) -> None:
    if sys.platform == "darwin":
        if run_command(build_copy_command(OutputPath(source, target)), _COPY_SECONDS).ok:
            return
        shutil.rmtree(target, ignore_errors=True)
    # Elsewhere the copy takes as much space as the recording: better refused now than found out in the
    # middle.
    size = sum(path.lstat().st_size for path in source.rglob("*"))
    if size > measure_free_bytes(source.absolute().parent):
        raise UsageError(f"--append-run works on a copy, and there is no space for a copy of {source}.")
    try:
        shutil.copytree(source, target, symlinks=True)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(
                f"--append-run works on a copy, and {source} cannot be copied: {error}."
            ) from error
        raise


def make_safe_file_name(name: str) -> str:
    """Return a name without characters that a shell or a disk takes for something else; "" for none left."""
    safe = _UNSAFE_IN_FILE_NAMES.sub("-", name).encode("utf-8", "replace")[:_MAX_NAME_BYTES]
    return safe.decode("utf-8", "ignore").strip("-.")
