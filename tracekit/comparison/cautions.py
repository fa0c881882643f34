"""Descriptions of the compared runs, and cautions: what else may explain a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from hashlib import sha256

import numpy as np

from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.comparison.observations import Observations, normalize_source
from tracekit.comparison.result import Caution, OneSided, RunDescription, Side
from tracekit.comparison.run_amounts import read_thermal_states
from tracekit.model.vocabulary import SERVING

THERMAL = ("nominal", "fair", "serious", "critical")
MIXED_WINDOWS = "different-kinds-of-windows"
REPEATED = "same-recording-twice"
_COMPARED_FIELDS = (
    "device",
    "os",
    "template",
    "instruments",
    "process",
    "samples_source",
    "period_ns",
    "selection",
    "thermal",
    "window_sources",
)


def describe_side(runs: Sequence[Observations]) -> Side:
    """Return one side's runs and the sum of their verdicts, in the order of the arguments."""
    verdicts = Counter(str(verdict) for run in runs for verdict in run.verdict)
    return Side(
        tuple(describe_run(run) for run in runs),
        sum(run.count for run in runs),
        dict(sorted(verdicts.items(), key=lambda entry: (-entry[1], entry[0]))),
    )


def describe_run(run: Observations) -> RunDescription:
    """Return how and where a run was recorded, and what was selected of it."""
    trace = run.analysis.trace
    info = trace.info
    in_time = trace.weight_unit == "ns" and len(trace.samples) > 0
    selection = run.analysis.selection
    parts = [
        f"{name} {value}"
        for name, value in (("process", selection.process), ("thread", selection.thread))
        if value is not None
    ]
    return RunDescription(
        name=info.name,
        run=info.run,
        process=info.process,
        device=info.device or info.model,
        os=f"{info.platform} {info.os}".strip(),
        template=info.template,
        instruments=info.instruments,
        samples_source=trace.samples_source,
        period_ns=sampling_period_ns(trace) if in_time else None,
        selection=", ".join(parts),
        thermal=_find_hottest_state(run),
        windows=run.count,
        window_sources=tuple(sorted(set(run.windows["source"].astype("str")))),
        answer=run.analysis.answer,
    )


def _find_hottest_state(run: Observations) -> str:
    levels, _ = read_thermal_states(run)
    return THERMAL[int(min(max(levels), len(THERMAL) - 1))] if len(levels) else ""


def iter_cautions(
    base: Side,
    new: Side,
    one_sided: Sequence[OneSided],
    run_noise: Mapping[str, float] | None = None,
    noise_runs: int = 0,
    noise_builds: int = 0,
) -> Iterator[Caution]:
    """Yield differences in how the sides were recorded, and limits of the intervals."""
    for name in _COMPARED_FIELDS:
        base_values, new_values = _list_values(base, name), _list_values(new, name)
        if name == "thermal" and "not known" in base_values | new_values:
            continue
        field = name.replace("_", "-").removesuffix("-ns")
        if base_values != new_values:
            yield Caution(f"different-{field}", {"base": sorted(base_values), "new": sorted(new_values)})
        elif len(base_values) > 1:
            yield Caution(f"several-{field}", {"values": sorted(base_values)})
    if one_sided and base.windows and new.windows:
        yield Caution(MIXED_WINDOWS)
    hot = sorted({run.thermal for side in (base, new) for run in side.runs} & {"serious", "critical"})
    if hot:
        yield Caution("hot", {"states": hot})
    fewest_runs, most_runs = sorted((len(base.runs), len(new.runs)))
    if run_noise:
        yield Caution("given-noise", {"run_noise": run_noise})
    elif noise_runs:
        yield Caution("noise-recordings", {"count": noise_runs, "builds": noise_builds})
    elif most_runs == 1:
        yield Caution("one-run")
    elif fewest_runs == 1:
        yield Caution("one-run-on-one-side", {"side": "BASE" if len(base.runs) == 1 else "NEW"})
    elif fewest_runs == 2:
        yield Caution("two-runs")


def select_distinct_runs(side: Sequence[Observations]) -> list[Observations]:
    """Return the runs of a side without copies of a recording: a copy is not a second run."""
    by_identity: dict[Hashable, Observations] = {}
    for run in side:
        by_identity.setdefault(get_recording_identity(run), run)
    return list(by_identity.values())


def find_repeated_recordings(
    base: Sequence[Observations], new: Sequence[Observations], noise: Sequence[Observations]
) -> Iterator[Caution]:
    """Yield a caution where one recording is given as several runs, which are then not independent."""
    labelled_sides = (("BASE", base), ("NEW", new), ("the recordings for the noise", noise))
    by_identity: dict[Hashable, list[tuple[str, Observations]]] = {}
    for name, run in [(name, run) for name, side in labelled_sides for run in side]:
        by_identity.setdefault(get_recording_identity(run), []).append((name, run))
    for group in by_identity.values():
        if len(group) > 1:
            info = group[0][1].analysis.trace.info
            counts = Counter(name for name, _ in group)
            yield Caution(REPEATED, {"name": info.name, "run": info.run, "counts": dict(counts)})


def get_recording_identity(run: Observations) -> Hashable:
    """Return a key that only copies of one recording share: times to the nanosecond, not file names."""
    trace, windows = run.analysis.trace, run.windows
    times = trace.samples["time_ns"].to_numpy(), run.starts, windows["end_ns"].to_numpy()
    digest = sha256(b"|".join(array.tobytes() for array in times)).digest()
    info = trace.info
    # Without samples and windows every recording has the same times.
    labels = () if len(trace.samples) or run.count else (info.name, info.run, info.device, info.start)
    return digest, labels


def compare_verdict_bases(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Caution]:
    """Yield a caution where the sides' verdicts have different bases, which shares do not distinguish."""
    base_values, new_values = (_list_verdict_bases(side) for side in (base, new))
    if base_values and new_values and base_values != new_values:
        yield Caution("different-verdict-bases", {"base": sorted(base_values), "new": sorted(new_values)})


def _list_verdict_bases(side: Sequence[Observations]) -> set[str]:
    return {
        basis
        for run in side
        for basis in run.quantity("share", str(SERVING[0])).bases(np.ones(run.count, bool))
    }


def _list_values(side: Side, name: str) -> set[str]:
    return {_format_field(name, getattr(run, name)) for run in side.runs}


def _format_field(name: str, value: object) -> str:
    if name == "period_ns":
        return "none" if value is None else f"{int(str(value)) / 1e6:g} ms"
    if isinstance(value, tuple):
        return ", ".join(dict.fromkeys(map(normalize_source, value))) or "none"
    return str(value) or ("none" if name == "selection" else "not known")
