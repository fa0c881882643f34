"""Errors that a page shows as a sentence; ``error_responses`` gives each kind an HTTP status.

Apart from ``error_responses``, because the library and the jobs raise them and import no web server.
"""

from __future__ import annotations

from typing import ClassVar

from tracekit.errors import TracekitError


class NotFound(TracekitError):  # noqa: N818 - named as HTTP statuses are
    """The recording or upload does not exist, or lacks the requested part (so far)."""


class Conflict(TracekitError):  # noqa: N818
    """The request does not fit the present state, for example a slice at the wrong offset."""


class OtherContent(Conflict):
    """The bytes sent before are not those of the file that is to be continued."""


class TooLarge(TracekitError):  # noqa: N818
    """The request exceeds a limit."""


class NoSpace(TooLarge):
    """The disk has too little room."""


class Busy(TracekitError):  # noqa: N818
    """Other work stands in the way for a moment; the same request succeeds after it."""

    retry_seconds: ClassVar[int] = 10


class CatalogLocked(Busy):
    """Another program holds the catalog's lock."""

    retry_seconds = 2


class LibraryFailed(TracekitError):  # noqa: N818
    """The library's folder cannot be read or written."""
