"""What goes wrong inside a bundle; ``source`` turns it into an ``InputError`` or an ``Issue``."""

from __future__ import annotations


class DamagedFileError(ValueError):
    """A file of the bundle is missing, cut off, or not what its place promises."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        self.problem = problem
        super().__init__(f"{file} {problem}")
