"""The kinds of plans, each recognised by its content, and the reader of any of them: a path → ``Plan``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import InputError
from tracekit.mlmodels.plans import analytics
from tracekit.mlmodels.plans.plan import Plan
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.wire import DamagedModelError


@dataclass(frozen=True)
class PlanKind:
    """A kind of file: its name in ``Plan.form``, its words in a sentence, its recogniser and its reader."""

    form: str
    words: str
    recognises: Callable[[PlanFile], bool]
    read: Callable[[PlanFile], Plan]


KINDS: tuple[PlanKind, ...] = (
    PlanKind(analytics.FORM, "an analytics.mil of Core ML", analytics.recognises, analytics.read),
)
"""In the order in which they are tried: the first that recognises a file reads it."""

_ADVICE = "Plans that are read: docs/plans.md, or `tracekit plan --help`."


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan, a file or a folder with one. Raises ``InputError``."""
    path = Path(path)
    try:
        file = PlanFile(_find_file(path) if path.is_dir() else path)
        kind = identify_plan(file)
        if kind is None:
            raise DamagedModelError("is no plan of a kind that tracekit reads")
        return kind.read(file)
    except DamagedModelError as error:
        raise InputError(str(path), f"{error}.", _ADVICE) from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from error
    except RecursionError as error:
        raise InputError(str(path), "is nested too deep to be read.", _ADVICE) from error


def identify_plan(file: PlanFile) -> PlanKind | None:
    """Return the kind of a file, or None for a file that is no plan."""
    return next((kind for kind in KINDS if kind.recognises(file)), None)


def _find_file(folder: Path) -> Path:
    found = sorted(folder.rglob("analytics.mil"))
    if len(found) != 1:
        raise DamagedModelError(f"holds {len(found)} plans")
    return found[0]
