"""``Kind``: one kind of finding, declared beside the detector that yields it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

About: TypeAlias = Literal["calls", "recording", "limit", "findings"]
"""A kind is about calls; about the recording as a whole; about a limit of what the recording can show, and
finds nothing in it; or about other findings. Findings about calls alone are compared, and gate a build."""


class Need(Enum):
    """The part of a recording that shows a kind of finding: without it, that there is none proves nothing."""

    NOTHING = auto()
    TIMES = auto()
    """Samples with times: without them, no call is seen."""
    ENGINES = auto()
    """The engine of each call: one of unknown engine may be the one that left it."""
    SETTING = auto()
    FEW_CALLS = auto()
    MANY_CALLS = auto()
    IDLE = auto()
    NEURAL_ENGINE = auto()
    GPU = auto()
    SAMPLES = auto()
    CORES = auto()
    LOADS = auto()
    REQUESTS = auto()
    LOG = auto()
    PLAN = auto()
    """A plan of a model: without one, nothing shows which operations it has off the engine."""
    LANGUAGE_MODEL = auto()
    """Signposts around the steps of a language model."""
    TOKEN_ENGINES = auto()
    """The engine of each of its tokens as well."""


Numbers = TypeVar("Numbers", bound=Mapping[str, Any])


class Kind(str, Generic[Numbers]):
    """The name of a kind of finding (docs/findings.md), with what holds for each finding of it.

    ``Numbers`` is the type of their numbers. ``is_per_run`` is True where the cost does not depend on the
    number of calls.
    """

    about: About
    need: Need
    is_per_run: bool

    def __new__(
        cls, name: str, need: Need = Need.NOTHING, about: About = "calls", *, is_per_run: bool = False
    ) -> Self:
        """Declare a kind; a pickle of one has its attributes, too."""
        kind = super().__new__(cls, name)
        kind.about, kind.need, kind.is_per_run = about, need, is_per_run
        return kind
