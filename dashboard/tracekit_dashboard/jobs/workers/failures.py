"""Failures of a worker's task, as sentences for the page."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path

from tracekit.errors import InputError, TracekitError
from tracekit.parsers.limits import RAISE_OPTION
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.library.outside_names import make_one_line
from tracekit_dashboard.library.store import UPLOADED_FILE

_MAX_SENTENCE_LENGTH = 1_000
_GIVEN_NAME = re.compile(r"Give it with the model's name: '(.*?)=.*'\.")


def run_and_report(
    work: Callable[[], None], channel: Channel, name: str, path: Path, unforeseen: Callable[[str], str]
) -> int:
    """Do a task on the recording ``name`` at ``path`` and return the exit code; send the reason of a failure.

    ``unforeseen`` returns the sentence about an error in tracekit of that name.
    """
    try:
        work()
    except (TracekitError, MemoryError, OSError, RecursionError) as error:
        channel.send(failed=describe_failure(error, name, path))
        return 1
    except Exception as error:  # noqa: BLE001 - the page shows a sentence, and the log has the traceback
        traceback.print_exc()
        channel.send(failed=unforeseen(type(error).__name__))
        return 1
    return 0


def _reword_for_page(advice: str) -> str:
    """Return advice about command-line arguments, worded for people who add files to a page."""
    advice = advice.replace(f"add {RAISE_OPTION}", f"analyze it on the command line with {RAISE_OPTION}")
    return re.sub(r"\b([Nn])ame (?=the |one )", lambda match: "add " if match[1] == "n" else "Add ", advice)


def describe_failure(error: BaseException, name: str, path: Path) -> str:
    """Return the reason of a failure in words that name the recording and no folder of this machine."""
    if isinstance(error, MemoryError):
        return f"{name} needs more memory than a worker may use."
    if isinstance(error, RecursionError):
        return f"{name} is nested deeper than any recording."
    if isinstance(error, OSError):
        return f"{name} could not be read to its end: {error.strerror or error}."
    text = _GIVEN_NAME.sub(
        r"Give the file the name of its model, such as '\1', and add it again.", str(error)
    )
    if isinstance(error, InputError) and Path(error.source).name in (path.name, UPLOADED_FILE):
        text = f"{name}: {error.problem} {_reword_for_page(error.advice)}".strip()
    text = text.replace(f"{path / UPLOADED_FILE}/", f"{name}/")  # a file in an archive
    for place in (f"{path}{os.sep}", str(path), f"{path.parent}{os.sep}"):
        text = text.replace(place, "" if place.endswith(os.sep) else name)
    return make_one_line(text)[:_MAX_SENTENCE_LENGTH]
