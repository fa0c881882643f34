"""What a page tells its reader instead of showing something; each kind has its HTTP answer in ``access``."""

from __future__ import annotations

from tracekit.errors import TracekitError


class NotFound(TracekitError):  # noqa: N818 - named as the answers of HTTP are
    """There is no such recording or upload, or what is asked of it is not there (yet)."""


class Conflict(TracekitError):  # noqa: N818
    """What is asked does not fit the present state, such as a slice at the wrong offset."""


class TooLarge(TracekitError):  # noqa: N818
    """More than a limit allows."""


class NoSpace(TooLarge):
    """The disk has no room for it."""
