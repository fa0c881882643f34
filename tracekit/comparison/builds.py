"""Recordings of one build on one device, which differ by nothing but chance: they spread as runs do.

A build is identified by the UUID that the linker gives a binary. Code that is not in the main binary counts
as well: a debug build has it in ``<name>.debug.dylib``, beside a main binary that stays the same, and an app
may have it in frameworks. Stacks show only the binaries that ran, so two recordings are one build where all
binaries of the program that differ in any recording are seen in both, with the same UUIDs. A recording that
leaves any of this open is not used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.comparison.cautions import get_recording_identity
from tracekit.comparison.observations import Observations
from tracekit.model.trace import Trace

NO_TARGET = "without a single recorded program"
NO_DEVICE = "without the name of the device, its model or its system"
NO_MODEL = "without the name of a model"
NO_BINARY = "whose stacks do not show which binary is the program's"
NO_UUID = "whose binary has no UUID"
OTHER = "of another program, device, system or set of models"
COMPARED = "judged here, or a copy"
HIDDEN = "without all binaries in which builds differ on the stacks"
ALONE = "without another recording of the same build"

_NO_UUID = ("", "00000000-0000-0000-0000-000000000000")
_DEBUG_CODE = ".debug.dylib"
_CODE_FOLDERS = (".framework", ".bundle", ".plugin", ".dylib")
_Binaries: TypeAlias = dict[str, str]


@dataclass(frozen=True)
class Circumstances:
    """Where and with which models a program ran. The device's name counts: a Mac's model is a family."""

    process: str
    device: str
    model: str
    system: str
    models: frozenset[str]


@dataclass(frozen=True)
class Builds:
    """The recordings of each build, two or more, and the number of those not used, by the reason."""

    groups: tuple[tuple[Analysis, ...], ...]
    left_out: Counter[str] = field(default_factory=Counter)


def circumstances(analysis: Analysis) -> Circumstances | str:
    """Return the circumstances of a recording; the reason where it does not show them."""
    info = analysis.trace.info
    models = frozenset(str(name) for name in analysis.window_rows["model"] if name)
    if not info.process or info.pid is None:
        return NO_TARGET
    if not (info.device and info.model and info.os):
        return NO_DEVICE
    system = f"{info.platform} {info.os}".strip()
    return Circumstances(info.process, info.device, info.model, system, models) if models else NO_MODEL


def group_builds(recordings: Iterable[Analysis], compared: Sequence[Analysis] | None) -> Builds:
    """Return the recordings that ran as one of the ``compared`` ones did, in groups of the same build.

    With None, all that ran alike are grouped, whatever the program.
    """
    is_any = compared is None
    compared = compared or ()
    wanted_circumstances = {circumstances(analysis) for analysis in compared}
    identities = {get_recording_identity(Observations(analysis)) for analysis in compared}
    left_out: Counter[str] = Counter()
    by_main: defaultdict[tuple[Circumstances, str, str], list[tuple[Analysis, _Binaries]]] = defaultdict(list)
    for analysis in recordings:
        identity = get_recording_identity(Observations(analysis))
        ran = circumstances(analysis)
        if identity in identities:
            left_out[COMPARED] += 1
        elif isinstance(ran, str):
            left_out[ran] += 1
        elif not is_any and ran not in wanted_circumstances:
            left_out[OTHER] += 1
        elif isinstance(binaries := find_program_binaries(analysis.trace), str):
            left_out[binaries] += 1
        else:
            main, uuid = next(iter(binaries.items()))
            by_main[ran, main, uuid].append((analysis, binaries))
        identities.add(identity)
    groups = [group for candidates in by_main.values() for group in _group_by_binaries(candidates, left_out)]
    left_out[ALONE] += sum(len(group) == 1 for group in groups)
    return Builds(tuple(tuple(group) for group in groups if len(group) > 1), +left_out)


def _group_by_binaries(
    recordings: Sequence[tuple[Analysis, _Binaries]], left_out: Counter[str]
) -> list[list[Analysis]]:
    """Return recordings with the same main binary in groups whose further binaries are the same."""
    uuids: defaultdict[str, set[str]] = defaultdict(set)
    for _, binaries in recordings:
        for path, uuid in binaries.items():
            uuids[path].add(uuid)
    changing = sorted(path for path, different in uuids.items() if len(different) > 1)
    groups: defaultdict[tuple[str, ...], list[Analysis]] = defaultdict(list)
    for analysis, binaries in recordings:
        if all(path in binaries for path in changing):
            groups[tuple(binaries[path] for path in changing)].append(analysis)
        else:
            left_out[HIDDEN] += 1
    return list(groups.values())


def find_program_binaries(trace: Trace) -> _Binaries | str:
    """Return the UUIDs of the program's own binaries on its stacks, the main one first; else the reason.

    Paths begin at the program's folder, because an installed app may lie elsewhere each time.
    """
    paths, uuids = _list_binaries_on_stacks(trace)
    names = (trace.info.process + _DEBUG_CODE, trace.info.process)
    found = [{path for path in paths if _is_file_of_program(path, name)} for name in names]
    mains = found[0] or found[1]
    if len(mains) != 1:
        return NO_BINARY
    (main,) = mains
    head, app, _ = main.partition(".app/")
    binaries: defaultdict[str, set[str]] = defaultdict(set)
    for path, uuid in sorted(zip(paths, uuids, strict=True), key=lambda pair: pair[0] != main):
        if path == main or (app and path.startswith(head + app)):
            binaries[path.removeprefix(head + app) if app else path].add(uuid)
    if any(uuid in _NO_UUID for different in binaries.values() for uuid in different):
        return NO_UUID
    return {path: "+".join(sorted(different)) for path, different in binaries.items()}


def _list_binaries_on_stacks(trace: Trace) -> tuple[list[str], list[str]]:
    """Return paths and UUIDs of the binaries on the stacks of the recorded program's threads."""
    is_own = (trace.threads["pid"] == trace.info.pid).to_numpy(bool)
    threads = trace.samples["thread_id"].to_numpy(np.int64)
    stack_ids = trace.samples["stack_id"].to_numpy(np.int64)
    of_program = (threads >= 0) & (stack_ids >= 0)
    of_program[of_program] = is_own[threads[of_program]]
    stacks = trace.stacks
    used = np.zeros(len(stacks), bool)
    used[stack_ids[of_program]] = True
    frames = np.unique(stacks.frame_ids[np.repeat(used, np.diff(stacks.offsets))])
    binary_ids = np.unique(stacks.frames["binary_id"].to_numpy(np.int64)[frames])
    binaries = stacks.binaries.iloc[binary_ids[binary_ids >= 0]].drop_duplicates(["path", "uuid"])
    return binaries["path"].astype(str).tolist(), binaries["uuid"].astype(str).tolist()


def _is_file_of_program(path: str, name: str) -> bool:
    """Return True for a file of that name where programs are, as a process has the name of its program.

    A framework may contain a library of the same name: Python.framework has one beside Python.app.
    """
    folder, _, file = path.rpartition("/")
    in_app = f"{folder}/".partition(".app/")[2] if ".app/" in f"{folder}/" else folder
    return (
        bool(folder) and file == name and not any(part.endswith(_CODE_FOLDERS) for part in in_app.split("/"))
    )
