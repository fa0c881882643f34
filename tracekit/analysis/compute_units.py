"""One app recorded once per setting of Core ML's compute units: what each setting costs and gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tracekit.analysis.engines.codes import is_among
from tracekit.analysis.engines.interval_sets import merge_sets
from tracekit.analysis.result import Analysis
from tracekit.analysis.summary import Durations
from tracekit.frozen import frozen
from tracekit.model.vocabulary import CPU_ONLY, Basis, Phase

_PREPARING = (Phase.LOAD, Phase.COMPILE)


@frozen
class SettingRow:
    """One model under one setting; ``model`` is "" where the recording names none.

    ``cold_ns`` is the first window's length, ``warm_*`` those of the others (of all, where no window is known
    to be a first). ``speed_up`` is the warm median of ``cpuOnly`` over this one's, None without it.
    ``load_ns`` is compiling and loading, with its basis.
    """

    setting: str
    model: str
    windows: int
    cold_ns: int | None
    warm_p50_ns: int | None
    warm_p90_ns: int | None
    edges: tuple[str, ...]
    speed_up: float | None
    load_ns: int | None
    load_basis: Basis | None
    verdicts: dict[str, int] = field(default_factory=dict)


def compare_settings(analyses: Mapping[str, Analysis]) -> tuple[SettingRow, ...]:
    """Return a row per model and setting, the settings in the order given.

    Models are told apart where every recording names them; one that a setting did not run has no row there.
    """
    by_model: dict[str, dict[str, Durations]] = {}
    apart = all(len(analysis.summary.models) > 0 for analysis in analyses.values())
    for setting, analysis in analyses.items():
        by_name = analysis.summary.models if apart else {"": analysis.summary}
        for model, durations in by_name.items():
            by_model.setdefault(model, {})[setting] = durations
    return tuple(
        _build_row(setting, model, durations, of_model.get(CPU_ONLY), analyses[setting])
        for model, of_model in sorted(by_model.items())
        for setting, durations in of_model.items()
    )


def _build_row(
    setting: str, model: str, durations: Durations, cpu_only: Durations | None, analysis: Analysis
) -> SettingRow:
    windows = analysis.window_rows
    model_windows = windows[(windows["model"] == model).to_numpy(bool)] if model else windows
    # Only where no window is known to be a first, all are as good as warm.
    cold_known = bool(model_windows["first"].any())
    warm, slowest = (
        _compute_warm_p50(durations, cold_known),
        _compute_warm_p50(cpu_only, cold_known) if cpu_only else None,
    )
    load_ns, load_basis = _load(analysis, model)
    return SettingRow(
        setting,
        model,
        durations.windows,
        durations.first_ns,
        warm,
        durations.warm_p90_ns if cold_known else durations.p90_ns,
        tuple(sorted(model_windows["basis"].astype("str").unique())),
        slowest / warm if slowest and warm else None,
        load_ns,
        load_basis,
        dict(durations.verdicts),
    )


def _compute_warm_p50(durations: Durations, cold_known: bool) -> int | None:
    return durations.warm_p50_ns if cold_known else durations.p50_ns


def _load(analysis: Analysis, model: str) -> tuple[int | None, Basis | None]:
    """Return the time of compiling and loading: measured by tables, else sampled on the host."""
    measured = analysis.measured
    scope = measured.scope(-1, model)
    spans = merge_sets([measured.spans(scope, key) for key in measured.keys if key[1] in _PREPARING])
    if spans.total_ns:
        return spans.total_ns, Basis.MEASURED
    totals = analysis.totals
    sampled = totals[is_among(totals["phase"], *_PREPARING)]["sampled_ns"].dropna()
    return (int(sampled.sum()), Basis.SAMPLED) if sampled.sum() > 0 and not model else (None, None)
