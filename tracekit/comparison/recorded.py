"""How the runs of a comparison were recorded, and what of it may explain a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from hashlib import sha256

import numpy as np

from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.comparison.observations import Observations
from tracekit.comparison.result import Caution, OneSided, Recorded, Side
from tracekit.model.vocabulary import SERVING

THERMAL = ("nominal", "fair", "serious", "critical")
MIXED_WINDOWS = "different-kinds-of-windows"
REPEATED = "same-recording-twice"
_TOLD = {
    "device": "devices",
    "os": "systems",
    "template": "templates",
    "instruments": "versions of Instruments",
    "process": "processes",
    "samples_source": "tables of samples",
    "period_ns": "sampling periods",
    "selection": "selections",
    "thermal": "thermal states",
    "window_sources": "sources of windows",
}


def side_of(runs: Sequence[Observations]) -> Side:
    """Return one side's runs and the sum of their verdicts, in the order given."""
    verdicts = Counter(str(one) for run in runs for one in run.verdict)
    return Side(
        tuple(recorded(run) for run in runs),
        sum(run.count for run in runs),
        dict(sorted(verdicts.items(), key=lambda one: (-one[1], one[0]))),
    )


def recorded(run: Observations) -> Recorded:
    """Return what is known of how a run was recorded."""
    trace = run.analysis.trace
    info = trace.info
    in_time = trace.weight_unit == "ns" and len(trace.samples) > 0
    chosen = run.analysis.selection
    parts = [
        f"{name} {value}"
        for name, value in (("process", chosen.process), ("thread", chosen.thread))
        if value is not None
    ]
    return Recorded(
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
        thermal=_worst_heat(run),
        windows=run.count,
        window_sources=tuple(sorted({str(one) for one in run.source})),
        sentence=run.analysis.summary.sentence,
    )


def _worst_heat(run: Observations) -> str:
    levels, _ = run.thermal()
    return THERMAL[int(min(max(levels), len(THERMAL) - 1))] if len(levels) else ""


def cautions(base: Side, new: Side, one_sided: Sequence[OneSided]) -> Iterator[Caution]:
    """Yield what differs in how the sides were recorded, and what limits the intervals."""
    for name, plural in _TOLD.items():
        of_base, of_new = _values(base, name), _values(new, name)
        if name == "thermal" and "not known" in of_base | of_new:
            continue
        if of_base != of_new:
            yield Caution(
                f"different-{name.replace('_', '-').removesuffix('-ns')}",
                f"different {plural}: {_list(of_base)} in BASE, {_list(of_new)} in NEW",
            )
        elif len(of_base) > 1:
            yield Caution(
                f"several-{name.replace('_', '-').removesuffix('-ns')}",
                f"the runs of a side have different {plural}: {_list(of_base)}",
            )
    if one_sided and base.windows and new.windows:
        yield Caution(
            MIXED_WINDOWS,
            "the sides do not have the same models and kinds of windows, and the numbers of all windows mix"
            " them: compare each that both have",
        )
    hot = sorted({run.thermal for side in (base, new) for run in side.runs} & {"serious", "critical"})
    if hot:
        yield Caution("hot", f"a device was {' and '.join(hot)} hot while recording, which slows it down")
    if min(len(base.runs), len(new.runs)) == 1:
        yield Caution(
            "one-run",
            "one run on a side: the intervals cover how windows vary within a run, not how runs vary;"
            " record several per side to know",
        )


def repeated(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Caution]:
    """Yield a caution where one recording stands for several runs: they are no independent evidence."""
    sides = [("BASE", run) for run in base] + [("NEW", run) for run in new]
    found: dict[Hashable, list[tuple[str, Observations]]] = {}
    for name, run in sides:
        found.setdefault(_identity(run), []).append((name, run))
    for group in found.values():
        if len(group) > 1:
            info = group[0][1].analysis.trace.info
            places = Counter(name for name, _ in group)
            told = " and ".join(
                f"{name} ({count} times)" if count > 1 else name for name, count in places.items()
            )
            yield Caution(
                REPEATED,
                f"the same recording is given twice or more: {info.name}, run {info.run}, in {told}; its"
                " windows are no independent evidence, and intervals are too narrow",
            )


def _identity(run: Observations) -> Hashable:
    """Return what no two recordings have in common, to the nanosecond, whatever their files are called."""
    trace, windows = run.analysis.trace, run.windows
    times = trace.samples["time_ns"].to_numpy(), run.starts, windows["end_ns"].to_numpy()
    digest = sha256(b"|".join(one.tobytes() for one in times)).digest()
    info = trace.info
    named = () if len(trace.samples) or run.count else (info.name, info.run, info.device, info.start)
    return digest, named


def other_verdict_bases(base: Sequence[Observations], new: Sequence[Observations]) -> Iterator[Caution]:
    """Yield a caution where the sides' verdicts are known in different ways; shares count them alike."""
    of_base, of_new = (_verdict_bases(side) for side in (base, new))
    if of_base and of_new and of_base != of_new:
        yield Caution(
            "different-verdict-bases",
            f"verdicts are {_list(of_base)} in BASE, {_list(of_new)} in NEW: a share counts windows by"
            " verdict, and samples can miss what a table shows",
        )


def _verdict_bases(side: Sequence[Observations]) -> set[str]:
    return {
        basis
        for run in side
        for basis in run.quantity("share", str(SERVING[0])).bases(np.ones(run.count, bool))
    }


def _values(side: Side, name: str) -> set[str]:
    return {_told(name, getattr(run, name)) for run in side.runs}


def _told(name: str, value: object) -> str:
    if name == "period_ns":
        return "none" if value is None else f"{int(str(value)) / 1e6:g} ms"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return str(value) or ("none" if name == "selection" else "not known")


def _list(values: set[str]) -> str:
    return " and ".join(sorted(values))
