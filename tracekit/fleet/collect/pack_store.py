"""A store: a folder of packs, each named after its recording and the digest of its content.

STORE/Encoder-run3-5f1c09ab7e42.tracekit.zip
STORE/Encoder-run3-5f1c09ab7e42.tracekit.zip.labels.json    its labels, where it has any
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tracekit import __version__
from tracekit.detect import open_source
from tracekit.errors import InputError, TracekitError, UsageError
from tracekit.fleet.content_hashes import digest_content
from tracekit.fleet.recording_inputs import SIDECAR, RecordingInput
from tracekit.frozen import frozen
from tracekit.model.schemas import READ_TABLES
from tracekit.parsers.in_memory import read_into_memory
from tracekit.parsers.pack.pack_writer import write_pack
from tracekit.redact.redacted_source import hide_private_cells, redact_source
from tracekit.text import printable

PACK = ".tracekit.zip"
REDACTED = "-redacted"
_DIGITS = 12
_MAX_SLUG_LETTERS = 80
_ENDING = re.compile(r"(\.(trace|tracekit|xml|zip|tar|gz|tgz|bz2|xz|txt|log))+$", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[^\w.+-]+")

ADDED, PRESENT, FAILED = "added", "present", "failed"


@frozen
class Collected:
    """What became of a recording: added, already present, or failed; ``pack`` is its file.

    ``reason`` states why it failed, or that its labels are not those of the pack.
    """

    recording: RecordingInput
    state: str
    pack: Path | None = None
    reason: str = ""


def collect(recordings: Iterable[RecordingInput], store: Path, redact: bool = False) -> Iterator[Collected]:
    """Pack each recording into the store, unless its content is there; one that fails stops no other.

    Raises ``UsageError`` where the store cannot be written.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _explain_unwritable(store, error) from error
    for recording in recordings:
        try:
            yield _collect_recording(recording, store, redact)
        except UsageError:
            raise
        except TracekitError as error:
            yield Collected(recording, FAILED, reason=str(error))


def _collect_recording(recording: RecordingInput, store: Path, redact: bool) -> Collected:
    path = Path(recording.address)
    if path.name.endswith(PACK) and path.parent.resolve() == store.resolve():
        return Collected(recording, PRESENT, path)
    recording.require_readable()
    suffix = f"-{digest_content(path, recording.members)[:_DIGITS]}{REDACTED if redact else ''}{PACK}"
    present = next((file for file in sorted(store.glob(f"*{suffix}")) if file.is_file()), None)
    if present is not None:
        return Collected(recording, PRESENT, present, _add_labels(recording, present))
    data = _pack_recording(recording, redact)
    pack = store / f"{_make_slug(recording.name)}{suffix}"
    labels = Path(recording.sidecar) if recording.sidecar else None
    try:
        if labels is not None:
            shutil.copyfile(labels, f"{pack}{SIDECAR}")
        _write(pack, data)
    except OSError as error:
        raise _explain_unwritable(store, error) from error
    return Collected(recording, ADDED, pack)


def _pack_recording(recording: RecordingInput, redact: bool) -> bytes:
    paths = list(recording.members) or recording.address
    source, _ = hide_private_cells(read_into_memory(open_source(paths, schemas=READ_TABLES)))
    try:
        return write_pack(redact_source(source) if redact else source, __version__)
    except UsageError as error:  # of this recording alone: it has no process to keep
        advice = "Pack it by itself: tracekit pack --redact --process NAME."
        raise InputError(printable(recording.address), f"cannot be redacted: {error}", advice) from error


def _add_labels(recording: RecordingInput, pack: Path) -> str:
    """Give a pack without labels those of a copy, and return a sentence where it has other ones."""
    if not recording.sidecar:
        return ""
    labels = Path(f"{pack}{SIDECAR}")
    try:
        if not labels.exists():
            shutil.copyfile(recording.sidecar, labels)
        is_same = filecmp.cmp(recording.sidecar, labels, shallow=False)
    except OSError as error:
        raise _explain_unwritable(pack.parent, error) from error
    other = (
        f"{recording.address} is a copy of {pack} with other labels: the store keeps the labels that it has."
    )
    return "" if is_same else printable(other)


def _make_slug(name: str) -> str:
    """Return a name without endings, of letters, digits and ``._+-``."""
    plain = _FORBIDDEN.sub("-", _ENDING.sub("", name)).strip("-.")
    return plain[:_MAX_SLUG_LETTERS] or "recording"


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".collecting-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _explain_unwritable(store: Path, error: OSError) -> UsageError:
    return UsageError(f"{printable(str(store))} cannot be written: {error.strerror or error}.")
