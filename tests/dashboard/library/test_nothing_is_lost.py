"""Random lives of a library: whatever was acknowledged is there at the end, byte for byte.

A server is killed at a random step of its writing: the step and all later ones raise ``Killed``, as nothing
more happens in a process that is gone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from library_support import QUIET, XML, upload

from tracekit_dashboard.errors import Conflict, LibraryFailed
from tracekit_dashboard.library.library import Library

CATALOG = "catalog.sqlite3"
STEPS = (
    (os, "rename"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "write"),
    (os, "fsync"),
    (os, "unlink"),
    (os, "rmdir"),
)


class Killed(BaseException):
    """The end of a server at a step of its writing."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Raise ``Killed`` at that step of writing, and at all after it."""
    steps = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal steps
            steps += 1
            if steps > step:
                raise Killed
            return real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, name in STEPS:
            patch.setattr(module, name, counted(getattr(module, name)))
        yield


@dataclass
class Acknowledged:
    """A recording as it was acknowledged."""

    content: bytes
    note: str = ""
    tags: tuple[str, ...] = ()
    pins: dict[str, str] = field(default_factory=dict)
    deleted: bool = False


class LibraryLife(RuleBasedStateMachine):
    """Uploads, edits, deletions, kills, lost and older catalogs, second servers and starts."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "library"
        self.library = Library(self.folder, QUIET)
        self.known: dict[str, Acknowledged] = {}
        self.unsure: set[str] = set()
        """Recordings of which a change was begun and not acknowledged: it may have happened or not."""
        self.number = 0

    def teardown(self) -> None:
        self.library.close()
        shutil.rmtree(self.place)

    # What a user does --------------------------------------------------------------------------------------

    @rule()
    def send(self) -> None:
        self.number += 1
        content = XML + b"<!-- %d -->" % self.number
        self.known[upload(self.library, f"{self.number}.xml", content).id] = Acknowledged(content)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), text=st.text("abc\N{DIGIT ONE}", max_size=5))
    def edit(self, data: st.DataObject, text: str) -> None:
        recording = data.draw(st.sampled_from(list(self.known)))
        self.library.edit(recording, note=text, tags=[text] if text else [])
        self.known[recording].note, self.known[recording].tags = text, (text,) if text else ()

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def pin(self, data: st.DataObject) -> None:
        recording = data.draw(st.sampled_from(list(self.known)))
        pin = f"{len(self.known[recording].pins):08x}"
        self.library.notes.put(recording, pin, 1, f"text {pin}")
        self.known[recording].pins[pin] = f"text {pin}"

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def delete_or_restore(self, data: st.DataObject) -> None:
        recording = data.draw(st.sampled_from(list(self.known)))
        known = self.known[recording]
        (self.library.restore if known.deleted else self.library.delete)(recording)
        known.deleted = not known.deleted

    # What happens to it ------------------------------------------------------------------------------------

    @rule()
    def start_again(self) -> None:
        self.library.close()
        self.library = Library(self.folder, QUIET)

    @rule(step=st.integers(0, 25), data=st.data())
    def kill_while_it_works(self, step: int, data: st.DataObject) -> None:
        uses: list[Callable[[], object]] = [self.send]
        recording = data.draw(st.sampled_from(list(self.known))) if self.known else ""
        if recording:
            known = self.known[recording]
            uses += [lambda: self.library.edit(recording, note="killed", tags=["killed"])]
            uses += [lambda: (self.library.restore if known.deleted else self.library.delete)(recording)]
        use = data.draw(st.sampled_from(uses))
        with suppress(Killed), killed_at(step):
            use()
        if use is not self.send:
            self.unsure.add(recording)
        self._end_abruptly()

    @rule(step=st.integers(0, 40))
    def kill_while_it_starts(self, step: int) -> None:
        self._lose_catalog()
        self.library.close()
        started = []
        with suppress(Killed), killed_at(step):
            started.append(Library(self.folder, QUIET))
        for library in started:
            library.close()
        self.library = Library(self.folder, QUIET)

    def _end_abruptly(self) -> None:
        """End as a killed process does: the system closes its files, and nothing is tidied."""
        self.library.queue.close()  # threads would outlive it here
        self.library.spare.close()
        self.library._catalog.close()
        self.library._lock.release()
        self.library = Library(self.folder, QUIET)

    def _lose_catalog(self) -> None:
        for path in self.folder.glob(f"{CATALOG}*"):
            path.unlink()

    @rule()
    def lose_the_catalog(self) -> None:
        self.library.close()
        self._lose_catalog()
        self.library = Library(self.folder, QUIET)

    @rule()
    def lose_the_catalog_while_it_runs(self) -> None:
        self._lose_catalog()
        with pytest.raises(LibraryFailed):
            upload(self.library, "refused", XML)
        self._end_abruptly()
        # Its bytes were there, so a later start may list it: the invariant enters it.

    @rule()
    def keep_a_backup(self) -> None:
        self.library.close()
        shutil.copyfile(self.folder / CATALOG, self.place / "backup")
        self.library = Library(self.folder, QUIET)

    @precondition(lambda self: (self.place / "backup").exists())
    @rule()
    def restore_the_backup(self) -> None:
        self.library.close()
        self._lose_catalog()
        shutil.copyfile(self.place / "backup", self.folder / CATALOG)
        self.library = Library(self.folder, QUIET)

    @rule(place=st.integers(0, 60_000))
    def damage_the_catalog(self, place: int) -> None:
        self.library.close()
        path = self.folder / CATALOG
        content = bytearray(path.read_bytes())
        begin = place % len(content)
        content[begin : begin + 512] = b"\xa5" * len(content[begin : begin + 512])
        path.write_bytes(content)
        self.library = Library(self.folder, QUIET)

    @rule()
    def start_a_second_server(self) -> None:
        with pytest.raises(Conflict):
            Library(self.folder, QUIET)

    # What must hold ----------------------------------------------------------------------------------------

    @invariant()
    def everything_acknowledged_is_there(self) -> None:
        listed = {
            each.id: each
            for each in self.library.list_recordings() + self.library.list_recordings(deleted=True)
        }
        for recording, known in self.known.items():
            path = self.library._store.input(recording) / "recording"
            assert path.read_bytes() == known.content
            pins = {note.id: note.text for note in self.library.notes.list_notes(recording)}
            assert pins == known.pins
            entry = listed[recording]
            if recording in self.unsure:
                known.note, known.tags, known.deleted = entry.note, entry.tags, entry.deleted is not None
                self.unsure.discard(recording)
            assert (entry.note, entry.tags, entry.deleted is not None) == (
                known.note,
                known.tags,
                known.deleted,
            )
        # Uploads that were killed before their answer.
        for recording in sorted(listed.keys() - self.known.keys(), key=lambda each: listed[each].added):
            self.known[recording] = Acknowledged(
                (self.library._store.input(recording) / "recording").read_bytes()
            )


LibraryLife.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
test_nothing_that_was_acknowledged_is_lost = pytest.mark.integration(LibraryLife.TestCase)
