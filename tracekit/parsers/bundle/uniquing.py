"""Everything that a run stores once and its tables refer to: strings, lists, typed lists, type names."""

from __future__ import annotations

from functools import cached_property

from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.files import BundleFiles
from tracekit.parsers.bundle.inflate import read_file
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.uniquer import IntegerUniquer, read_strings


class Uniquing:
    """The ``uniquing`` folder of one run; each part is read when it is first needed.

    Every property raises ``DamagedFileError`` when its file is missing or damaged.
    """

    def __init__(self, files: BundleFiles, run_folder: str) -> None:
        self._files = files
        self._folder = f"{run_folder}/uniquing"

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The strings by number."""
        return read_strings(self._files, f"{self._folder}/strings")

    @cached_property
    def lists(self) -> IntegerUniquer:
        """Processes, threads, stacks, counters, UUIDs."""
        return IntegerUniquer(self._files, f"{self._folder}/arrayUniquer")

    @cached_property
    def typed_lists(self) -> IntegerUniquer:
        """Composite cells: types (numbers of ``type_ids``) and values take turns."""
        return IntegerUniquer(self._files, f"{self._folder}/typedArrayUniquer")

    @cached_property
    def type_ids(self) -> tuple[str, ...]:
        """Engineering types by number: a table of the run's own, never the same in two versions."""
        file = f"{self._folder}/EngineeringTypes.etypes"
        archive = KeyedArchive(file, read_file(self._files, file))
        names = archive.elements(archive.top())
        if not names:
            raise DamagedFileError(file, "holds no types")
        return tuple(str(name) for name in names)

    def string(self, number: int) -> str:
        """Return one string."""
        if number >= len(self.strings):
            raise DamagedFileError(
                f"{self._folder}/strings", f"has no string {number}: it holds {len(self.strings)}"
            )
        return self.strings[number]
