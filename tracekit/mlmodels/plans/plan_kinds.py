"""The kinds of plans, each recognised by its content, and the reader of any of them: a path → ``Plan``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import InputError
from tracekit.mlmodels.files import iter_files, require_regular_file
from tracekit.mlmodels.mistaken_recordings import describe_recording
from tracekit.mlmodels.plans import (
    analytics,
    coreai_bundle,
    coreai_debug,
    coreai_plan,
    coreai_stderr,
    espresso_log,
    placement_manifest,
    plan_json,
    segmentation_dump,
    tool_json,
)
from tracekit.mlmodels.plans.plan import Plan
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.protobuf_wire import DamagedModelError


@dataclass(frozen=True)
class PlanKind:
    """A kind of file: its name in ``Plan.form``, its words in a sentence, its recogniser and its reader."""

    form: str
    words: str
    recognises: Callable[[PlanFile], bool]
    read: Callable[[PlanFile], Plan]


KINDS: tuple[PlanKind, ...] = (
    PlanKind(analytics.FORM, "Core ML's analytics.mil", analytics.recognises, analytics.read),
    PlanKind(plan_json.FORM, "a compute plan (tracekit-plan/1)", plan_json.recognises, plan_json.read),
    PlanKind(coreai_plan.FORM, "a compute plan of Core AI", coreai_plan.recognises, coreai_plan.read),
    PlanKind(coreai_debug.FORM, "debug records of Core AI", coreai_debug.recognises, coreai_debug.read),
    PlanKind(
        tool_json.COREMLTOOLS,
        "a compute plan of coremltools",
        tool_json.recognises_coremltools,
        tool_json.read_coremltools,
    ),
    PlanKind(
        tool_json.PROFILER, "a plan of CoreMLProfiler", tool_json.recognises_profiler, tool_json.read_profiler
    ),
    PlanKind(tool_json.CLI, "a plan of coreml-cli", tool_json.recognises_cli, tool_json.read_cli),
    PlanKind(
        tool_json.COSTPLAN, "a plan of ane-costplan", tool_json.recognises_costplan, tool_json.read_costplan
    ),
    PlanKind(
        placement_manifest.FORM,
        "the manifest of a specialized model",
        placement_manifest.recognises,
        placement_manifest.read,
    ),
    PlanKind(
        segmentation_dump.TABLE,
        "a table of Core ML's segmentation",
        segmentation_dump.recognises_table,
        segmentation_dump.read_table,
    ),
    PlanKind(
        segmentation_dump.LOG,
        "a log of Core ML's segmentation",
        segmentation_dump.recognises_log,
        segmentation_dump.read_log,
    ),
    PlanKind(
        segmentation_dump.LINES,
        "lines of a compute plan",
        segmentation_dump.recognises_lines,
        segmentation_dump.read_lines,
    ),
    PlanKind(espresso_log.FORM, "lines of Espresso's log", espresso_log.recognises, espresso_log.read),
    PlanKind(
        coreai_stderr.FORM, "the output of a specialization", coreai_stderr.recognises, coreai_stderr.read
    ),
)
"""In the order in which they are tried: the first that recognises a file reads it."""

PLANS = (
    "analytics.mil, compute plans as JSON, logs and the output of a specialization, manifest.plist, and"
    " .aimodelx, .aimodelc and cache folders"
)
"""What is read, for messages and help."""

_ADVICE = f"A plan is one of: {PLANS}."
_MODEL_ENDINGS = (".mlmodel", ".mlpackage", ".mlmodelc", ".aimodel")
_MODEL = (
    "is a model and no plan",
    "See its operations with tracekit model; tracekit plan --write-program writes a program that makes its"
    " plan on a Mac.",
)
"""What is wrong with a model that is given as a plan, and what shows it."""
_FOLDER = "a folder with what a runtime compiled or specialized"
_NAMED = 5


class _NoPlanError(Exception):
    """A file or folder of no kind that is read."""


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan, a file or a folder with one. Raises ``InputError``."""
    path = Path(path)
    try:
        return _read_folder(path) if path.is_dir() else _read_file(path)
    except DamagedModelError as error:
        raise InputError(str(path), f"{error}.", _ADVICE) from error
    except _NoPlanError as error:
        of_model = _MODEL if path.name.endswith(_MODEL_ENDINGS) else None
        problem, advice = of_model or describe_recording(path, "plan") or (str(error), _ADVICE)
        raise InputError(str(path), f"{problem}.", advice) from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}.") from error
    except RecursionError as error:
        raise InputError(str(path), "is nested too deep to be read.", _ADVICE) from error


def describe_plan(path: Path) -> str:
    """Return what a file or folder is if it is a plan, in words for a sentence; else an empty text."""
    try:
        if path.is_dir():
            return _FOLDER if any(_find_plans(path)) else ""
        kind = identify_plan(PlanFile(path)) if path.is_file() else None  # a pipe is read once
    except (DamagedModelError, OSError):
        return ""
    return kind.words if kind else ""


def identify_plan(file: PlanFile) -> PlanKind | None:
    """Return the kind of a file, or None for a file that is no plan."""
    return next((kind for kind in KINDS if kind.recognises(file)), None)


def _read_file(path: Path) -> Plan:
    require_regular_file(path)
    file = PlanFile(path)
    kind = identify_plan(file)
    if kind is None:
        raise _NoPlanError("is no plan of a kind that tracekit reads")
    return kind.read(file)


def _read_folder(folder: Path) -> Plan:
    files, bundles = _find_plans(folder)
    places = [*files, *bundles]
    if len(places) > 1:
        names = ", ".join(place.relative_to(folder).as_posix() for place in places[:_NAMED])
        more = ", …" if len(places) > _NAMED else ""
        raise DamagedModelError(f"holds {len(places)} plans: {names}{more}; name one of them")
    if files:
        return _read_file(files[0])
    if bundles:
        root = next(iter(bundles))
        return coreai_bundle.read(root, bundles[root])
    raise _NoPlanError(
        "is a folder without a plan: no analytics.mil, and no package that Core AI specialized"
    )


def _find_plans(folder: Path) -> tuple[list[Path], dict[Path, Sequence[Path]]]:
    """Return the ``analytics.mil`` in a folder, and the specialized models with their files."""
    files = []
    bundles: dict[Path, list[Path]] = {}
    for file, _ in iter_files(folder):
        if file.is_symlink() or not file.is_file():
            continue
        if file.name == analytics.FORM:
            files.append(file)
        elif root := coreai_bundle.find_root(folder, file):
            bundles.setdefault(root, []).append(file)
    return sorted(files), {root: sorted(bundles[root]) for root in sorted(bundles)}
