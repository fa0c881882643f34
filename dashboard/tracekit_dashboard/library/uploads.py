"""Uploads in slices, which continue after a reload, a lost connection or a restart of the server.

An upload is a folder::

    uploads/<id>/about.json    name and files, written once
                 offset        the number of bytes that are durably on the disk
                 input/        the bytes: the file ``recording``, or a folder's files

``offset`` is written after the bytes are durable: after a power failure it may lag, but is never too large.

Bytes are hashed while they arrive. A slice comes with the digest of the bytes before it, and is refused
before a byte is added if these are of another file. The digest is in memory alone; after a restart it is made
of the bytes on the disk, once somebody continues.

Finishing renames ``input`` into the recording's folder, which has the same id.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO

from tracekit.errors import InputError, UsageError
from tracekit.text import format_size
from tracekit_dashboard.errors import Conflict, NoSpace, NotFound, OtherContent, TooLarge
from tracekit_dashboard.library import slices
from tracekit_dashboard.library.block_digest import BlockDigest, Digested, Readable
from tracekit_dashboard.library.catalog import Catalog, Recording, make_recording
from tracekit_dashboard.library.outside_names import check_paths, make_display_name
from tracekit_dashboard.library.slices import SlicePlan
from tracekit_dashboard.library.store import UPLOADED_FILE, Store, make_id
from tracekit_dashboard.library.uploaded_inputs import TEXT_HEAD_BYTES, read_head, refuse_unknown
from tracekit_dashboard.settings import ServerLimits

_ACTIVE_SECONDS = 5 * 60
"""After this time without progress an upload reserves no room: announcing alone blocks nothing."""


@dataclass(frozen=True)
class UnfinishedUpload:
    """An upload that can continue."""

    id: str
    name: str
    size_bytes: int
    offset: int
    idle_seconds: float
    """The time since the last slice."""


class Uploads:
    """Receives uploads and makes recordings of them; ``added`` is called for each new recording."""

    def __init__(
        self, store: Store, catalog: Catalog, limits: ServerLimits, added: Callable[[], None]
    ) -> None:
        self._store, self._catalog, self._limits, self._added = store, catalog, limits, added
        self._plans: dict[str, SlicePlan] = {}
        self._digests: dict[str, BlockDigest] = {}
        """Of the bytes up to the offset, or, where that was reached without hashing, of fewer."""
        self._busy: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def begin(
        self, name: str, size_bytes: int | None = None, files: Sequence[tuple[str, int]] | None = None
    ) -> str:
        """Return the id of a new upload: of one file of ``size_bytes``, or of a folder's ``files``.

        Raises ``TooLarge`` or ``NoSpace`` before a byte was sent, ``InputError`` for a file or folder that
        cannot be a recording.
        """
        self._store.require_lock()
        plan = self._make_plan(make_display_name(name), size_bytes, files)
        self.remove_stale()
        with self._lock:
            self._require_room(plan.size_bytes)
            upload_id = make_id()
            try:
                slices.save_plan(self._store.upload(upload_id), plan)
            except OSError as error:
                raise self._explain_disk_problem(error) from error
            self._plans[upload_id] = plan
        return upload_id

    def _make_plan(
        self, name: str, size_bytes: int | None, files: Sequence[tuple[str, int]] | None
    ) -> SlicePlan:
        most_files, most_bytes = self._limits.upload_files, self._limits.upload_bytes
        if files is not None and len(files) > most_files:
            raise TooLarge(f"{name} has {len(files):,} files; the limit is {most_files:,}. Zip it first.")
        announced = [(UPLOADED_FILE, size_bytes or 0)] if files is None else list(files)
        if any(size < 0 for _, size in announced):
            raise UsageError(f"{name} is announced with a negative size.")
        check_paths(name, [path for path, _ in announced])
        plan = SlicePlan(
            name,
            files is not None,
            tuple(path for path, _ in announced),
            tuple(size for _, size in announced),
        )
        if not plan.size_bytes:
            refuse_unknown(name, b"")
        if plan.size_bytes > most_bytes:
            raise TooLarge(
                f"{name} has {format_size(plan.size_bytes)}; the limit is {format_size(most_bytes)}."
                " Start the dashboard with the file's path instead: then nothing is copied."
            )
        return plan

    def _require_room(self, size_bytes: int) -> None:
        unfinished = self.list_unfinished()
        if len(unfinished) >= self._limits.unfinished_uploads:
            raise TooLarge(
                "There are too many unfinished uploads. Discard some: the library page lists them."
            )
        active = [upload for upload in unfinished if upload.idle_seconds < _ACTIVE_SECONDS]
        promised = sum(upload.size_bytes - upload.offset for upload in active)
        room = self._store.measure_free_bytes() - promised - self._limits.free_disk_bytes
        if size_bytes > room:
            upload_note = " beside the other uploads" if promised else ""
            raise NoSpace(
                f"The library's disk has no room for {format_size(size_bytes)}{upload_note}: it can take"
                f" {format_size(max(room, 0))}. Free some, or start the dashboard with the file's path"
                " instead: then nothing is copied."
            )

    def list_unfinished(self) -> list[UnfinishedUpload]:
        """Return the uploads that can continue."""
        unfinished = []
        for upload_id in self._store.upload_ids():
            with suppress(NotFound):
                plan = self._load_plan(upload_id)
                offset, idle = self.find_offset(upload_id), self._measure_idle_seconds(upload_id)
                unfinished.append(UnfinishedUpload(upload_id, plan.name, plan.size_bytes, offset, idle))
        return unfinished

    def _measure_idle_seconds(self, upload_id: str) -> float:
        try:
            return max(0.0, time.time() - slices.read_offset_time(self._store.upload(upload_id)))
        except OSError:
            raise _make_gone_error() from None

    def find_offset(self, upload_id: str) -> int:
        """Return the number of durable bytes, where the upload continues; all of a finished upload."""
        try:
            return slices.read_offset(self._store.upload(upload_id))
        except (OSError, ValueError):
            return self._find_finished(upload_id).size_bytes

    def _find_finished(self, upload_id: str) -> Recording:
        """Return the recording of a finished upload, finished by another tab or before a lost response."""
        try:
            return self._catalog.find(upload_id)
        except NotFound:
            raise _make_gone_error() from None

    def append(self, upload_id: str, offset: int, stream: Readable, length: int, digest: str = "") -> int:
        """Write the next ``length`` bytes, which must begin at ``offset``; return the new offset.

        ``digest`` is the ``BlockDigest`` of the bytes before ``offset``; "" is not compared. The bytes of a
        stream that ends early are kept. Raises ``Conflict`` if ``offset`` is not the upload's, or another
        request is adding to it; ``OtherContent``; ``NoSpace`` if the disk is full, after which the upload can
        continue; ``InputError``, which removes the upload, if its first bytes are of no recording.
        """
        self._store.require_lock()
        if length > self._limits.slice_bytes:
            raise TooLarge(f"A slice has at most {self._limits.slice_bytes:,} bytes.")
        try:
            plan = self._load_plan(upload_id)
        except NotFound:
            raise Conflict(f"The upload is finished, at {self.find_offset(upload_id)}.") from None
        with self._hold_upload(upload_id):
            current = self.find_offset(upload_id)
            if offset != current:
                raise Conflict(f"The upload continues at byte {current:,}, not at byte {offset:,}.")
            if not 0 <= length <= plan.size_bytes - current:
                raise Conflict(f"{plan.name} was announced with {plan.size_bytes:,} bytes, and this is more.")
            if self._store.measure_free_bytes() < length + self._limits.free_disk_bytes:
                raise self._make_disk_full_error()
            if digest and digest != self._digest_before(upload_id, plan, current).hexdigest():
                raise OtherContent(
                    f"{plan.name} is not the file of which {format_size(current)} are here: it has changed"
                    " since, or is another one of that name. Choose it again to send it from its beginning."
                )
            new_offset = self._write_slice(upload_id, plan, current, stream, length)
            if current < min(TEXT_HEAD_BYTES, plan.size_bytes) <= new_offset:
                self._check_kind(upload_id, plan)
        return new_offset

    def _write_slice(
        self, upload_id: str, plan: SlicePlan, position: int, stream: Readable, length: int
    ) -> int:
        folder = self._store.upload(upload_id)
        # A copy, because a slice that fails leaves the offset where it was.
        digest = self._digests.get(upload_id, BlockDigest()).copy()
        is_digested = digest.size_bytes == position
        try:
            pieces = list(plan.iter_pieces(position, length))
            source = Digested(stream, digest) if is_digested else stream
            position += slices.write_pieces(folder / "input", pieces, source)
            slices.write_offset(folder, position)
        except OSError as error:
            raise self._explain_disk_problem(error) from error
        if is_digested:
            self._digests[upload_id] = digest
        return position

    def _digest_before(self, upload_id: str, plan: SlicePlan, position: int) -> BlockDigest:
        """Return the digest of the bytes before ``position``, the offset."""
        digest = self._digests.get(upload_id, BlockDigest())
        if digest.size_bytes != position:
            try:
                folder = self._store.upload(upload_id) / "input"
                digest = slices.digest_pieces(folder, plan.iter_pieces(0, position))
            except OSError as error:
                raise self._explain_disk_problem(error) from error
            self._digests[upload_id] = digest
        return digest

    def _check_kind(self, upload_id: str, plan: SlicePlan) -> None:
        if plan.folder:
            return
        try:
            path = self._store.upload(upload_id) / "input" / UPLOADED_FILE
            refuse_unknown(plan.name, read_head(path), path)
        except InputError:
            self._forget_upload(upload_id)
            raise

    def finish(self, upload_id: str, sha256: str = "", digest: str = "") -> Recording:
        """Make a recording of a complete upload; a repeated call returns the same one.

        ``sha256`` and ``digest`` (``BlockDigest``) are of all bytes in their order. Raises ``Conflict`` if
        bytes are missing, or differ from one of these, which removes the upload.
        """
        try:
            plan = self._load_plan(upload_id)
        except NotFound:
            return self._find_finished(upload_id)
        with self._hold_upload(upload_id):
            current = self.find_offset(upload_id)
            if current != plan.size_bytes:
                raise Conflict(
                    f"{plan.name} is not complete: {current:,} of {plan.size_bytes:,} bytes are here."
                )
            # A call that was interrupted behind the move had compared the bytes, which are no longer here.
            if not self._store.input(upload_id).exists():
                self._require_same(upload_id, plan, sha256, digest)
            return self._move(upload_id, plan)

    def _require_same(self, upload_id: str, plan: SlicePlan, sha256: str, digest: str) -> None:
        """Raise ``Conflict`` if the bytes differ from one of the digests, and remove the upload."""
        is_other = digest and digest != self._digest_before(upload_id, plan, plan.size_bytes).hexdigest()
        if is_other or (sha256 and sha256.lower() != self._compute_sha256(upload_id, plan)):
            self._forget_upload(upload_id)
            raise Conflict(f"{plan.name} did not arrive as it was sent (SHA-256). Upload it again.")

    def _compute_sha256(self, upload_id: str, plan: SlicePlan) -> str:
        digest = hashlib.sha256()
        for path in plan.paths:
            for block in slices.iter_blocks(self._store.upload(upload_id) / "input" / path):
                digest.update(block)
        return digest.hexdigest()

    def _move(self, upload_id: str, plan: SlicePlan) -> Recording:
        """Move an upload's files to its recording; ``resume`` continues after an interruption at any step."""
        received, target = self._store.upload(upload_id) / "input", self._store.input(upload_id)
        try:
            if not target.exists():
                # No slice had a byte for an empty file.
                empty = [(path, 0, 0) for path, size in zip(plan.paths, plan.sizes, strict=True) if not size]
                slices.write_pieces(received, empty, BytesIO())
                target.parent.mkdir(mode=0o700, exist_ok=True)
                received.rename(target)
                slices.sync_folder(target.parent)
        except OSError as error:
            raise self._explain_disk_problem(error) from error
        try:
            recording = self._catalog.find(upload_id)
        except NotFound:
            recording = make_recording(upload_id, plan.name, "upload", plan.size_bytes)
            self._catalog.add(recording)
        self._forget_upload(upload_id)
        self._added()
        return recording

    def resume(self) -> None:
        """Finish uploads that an earlier server was finishing; what is none stays as it is."""
        for upload_id in self._store.upload_ids():
            with suppress(NotFound):
                plan = self._load_plan(upload_id)
                self.find_offset(upload_id)
                if self._store.input(upload_id).exists():
                    self._move(upload_id, plan)
        self.remove_stale()

    def cancel(self, upload_id: str) -> None:
        """Remove an upload, once a slice that is being written has ended."""
        self._store.require_lock()
        self._load_plan(upload_id)
        with self._hold_upload(upload_id, wait=True):
            self._forget_upload(upload_id)

    def remove_stale(self) -> None:
        """Remove uploads without progress for too long."""
        oldest = time.time() - self._limits.unfinished_seconds
        for upload_id in self._store.upload_ids():
            with suppress(OSError, Conflict):
                if slices.read_offset_time(self._store.upload(upload_id)) < oldest:
                    with self._hold_upload(upload_id):
                        self._forget_upload(upload_id)

    def _load_plan(self, upload_id: str) -> SlicePlan:
        folder = self._store.upload(upload_id)
        try:
            if upload_id not in self._plans:
                self._plans[upload_id] = slices.load_plan(folder)
            return self._plans[upload_id]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _make_gone_error() from error

    @contextmanager
    def _hold_upload(self, upload_id: str, wait: bool = False) -> Iterator[None]:
        with self._lock:
            busy = self._busy.setdefault(upload_id, threading.Lock())
        if not busy.acquire(blocking=wait):
            raise Conflict("Another request is adding to this upload. Continue at its offset.")
        try:
            yield
        finally:
            busy.release()

    def _forget_upload(self, upload_id: str) -> None:
        self._store.discard(self._store.upload(upload_id))
        self._plans.pop(upload_id, None)
        self._busy.pop(upload_id, None)
        self._digests.pop(upload_id, None)

    def _explain_disk_problem(self, error: OSError) -> NoSpace | UsageError | NotFound:
        if error.errno in slices.FULL:
            return self._make_disk_full_error()
        if isinstance(error, FileNotFoundError):
            return _make_gone_error()
        return UsageError(f"The library cannot be written: {error.strerror or error}.")

    def _make_disk_full_error(self) -> NoSpace:
        free = format_size(self._store.measure_free_bytes())
        return NoSpace(
            f"The library's disk is full: {free} are free, and some must remain. Make room; the upload"
            " continues where it stopped."
        )


def _make_gone_error() -> NotFound:
    return NotFound("There is no such upload: it was finished, cancelled, or idle for too long.")
