"""What a recording must hold to show a finding: without it, that there is none proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.findings.kind import Kind, Need
from tracekit.analysis.findings.series import FEWEST
from tracekit.comparison.observations import Observations
from tracekit.comparison.quantities import Names
from tracekit.model.columns import BoolArray
from tracekit.model.schemas import GPU_INTERVALS, MODEL_LOADING
from tracekit.model.vocabulary import Engine
from tracekit.text import clip, plural, printable

_ACCELERATORS = (Engine.ANE, Engine.GPU)
_NAME_WIDTH = 60


def explain_unseen(observations: Observations, kind: Kind[Any], rows: BoolArray) -> str:
    """Return the reason why some windows cannot show a kind of finding; "" where they can."""
    need = kind.need
    if need is Need.NOTHING:
        return ""
    if need in (Need.REQUESTS, Need.LOG):
        return _check_log(observations, need)
    if observations.analysis.trace.weight_unit == "samples":
        return "the samples have no times, so no call is seen"
    if need is Need.TIMES:
        return ""
    if not rows.any():
        return "there is no call"
    if (observations.source[rows] == "run").any():
        return "the only range is the whole run, so no call is seen"
    if need is Need.ENGINES:
        return _check_engines(observations, rows)
    needs_lengths = need in (Need.FEW_CALLS, Need.MANY_CALLS) or bool(observations.given[rows].any())
    problem = observations.quantity("length").problem(rows) if needs_lengths else ""
    return problem or _SHORTFALLS[need](observations, rows)


def _check_setting(observations: Observations, rows: BoolArray) -> str:
    if not observations.analysis.compute_units:
        return "the compute units that the app requested are not known (--compute-units)"
    return _check_engines(observations, rows)


def _require_calls(fewest: int) -> Callable[[Observations, BoolArray], str]:
    """Return a function that returns a reason where a model has fewer calls after its first."""

    def shortfall(observations: Observations, rows: BoolArray) -> str:
        names = _choose_names(observations)[rows & ~observations.first]
        counts = Counter({str(name): 0 for name in _choose_names(observations)[rows]})
        counts.update(map(str, names))
        name, count = min(counts.items(), key=lambda entry: (entry[1], entry[0]))
        if count >= fewest:
            return ""
        if name not in observations.model:
            return f"{plural(count, 'call')} after the first can be seen, and {fewest} are needed"
        short_name = clip(printable(name), _NAME_WIDTH)
        return f"{short_name} has {plural(count, 'call')} after its first, and {fewest} are needed"

    return shortfall


def _check_idle(observations: Observations, rows: BoolArray) -> str:
    idle = observations.analysis.times["idle_ns"]
    is_known = len(idle) > 0 and bool((idle.notna().to_numpy(bool) & rows).any())
    return "" if is_known else "of no call is it known whether anything worked"


def _check_plan(observations: Observations, rows: BoolArray) -> str:
    """Return a reason where a model of these calls has no plan."""
    planned = {joined.model for joined in observations.analysis.joined_models if joined.plan_file}
    missing = sorted({str(name) for name in observations.model[rows]} - planned)
    return f"no plan of {missing[0] or 'the model'} was given (--plan)" if missing else ""


def _check_language_model(observations: Observations, _rows: BoolArray) -> str:
    generations = observations.analysis.generations
    return "no signpost marks a request to a language model" if generations is None else ""


def _check_token_engines(observations: Observations, rows: BoolArray) -> str:
    generations = observations.analysis.generations
    if generations is None:
        return _check_language_model(observations, rows)
    of_decode = ~generations.tokens.is_first
    unknown = int((of_decode & (generations.tokens.engines == 0)).sum())
    return (
        f"the engine of {unknown:,} of {plural(int(of_decode.sum()), 'token')} is unknown" if unknown else ""
    )


def _check_neural_engine(observations: Observations, _rows: BoolArray) -> str:
    return "" if observations.is_measured(Engine.ANE) else observations.unmeasured(Engine.ANE)


def _check_samples(observations: Observations, rows: BoolArray) -> str:
    return observations.quantity("samples", str(Engine.CPU)).problem(rows)


def _check_cores(observations: Observations, _rows: BoolArray) -> str:
    kinds = {*observations.analysis.trace.core_types.values()}
    return "" if kinds == {"E", "P"} else "the recording does not show on which kind of core samples ran"


def _require_tables(*names: str) -> Callable[[Observations, BoolArray], str]:
    """Return a function that returns a reason where none of some tables was recorded."""

    def shortfall(observations: Observations, _rows: BoolArray) -> str:
        evidence = observations.analysis.evidence
        recorded = any({*names} & {*row.source.split(", ")} and row.state != "absent" for row in evidence)
        return "" if recorded else f"no table that shows it was recorded: {', '.join(names)}"

    return shortfall


_SHORTFALLS: Mapping[Need, Callable[[Observations, BoolArray], str]] = {
    Need.SETTING: _check_setting,
    Need.FEW_CALLS: _require_calls(5),
    Need.MANY_CALLS: _require_calls(FEWEST),
    Need.IDLE: _check_idle,
    Need.NEURAL_ENGINE: _check_neural_engine,
    Need.PLAN: _check_plan,
    Need.LANGUAGE_MODEL: _check_language_model,
    Need.TOKEN_ENGINES: _check_token_engines,
    Need.GPU: _require_tables(GPU_INTERVALS),
    Need.SAMPLES: _check_samples,
    Need.CORES: _check_cores,
    Need.LOADS: _require_tables(*RUNTIMES, MODEL_LOADING),
}


def _check_log(observations: Observations, need: Need) -> str:
    if need is Need.REQUESTS:
        missing = "no log here has a request to the Neural Engine"
        return "" if observations.analysis.requests.requests else missing
    has_lines = len(observations.analysis.trace.engine_log) > 0
    return "" if has_lines else "no log here has a line of the Neural Engine's frameworks"


def _check_engines(observations: Observations, rows: BoolArray) -> str:
    unknown = int((rows & observations.undecided).sum())
    if unknown:
        return f"the engine of {unknown:,} of {plural(int(rows.sum()), 'call')} is unknown"
    for engine in _ACCELERATORS:
        if not observations.is_measured(engine) and _has_difference(observations, engine, rows):
            return f"{observations.unmeasured(engine)}, and its samples are too few to show where it stopped"
    return ""


def _has_difference(observations: Observations, engine: Engine, rows: BoolArray) -> bool:
    """Return whether samples show an engine in some calls of a model and not in others."""
    values = observations.quantity("used share", str(engine)).values[rows]
    if not np.nanmax(values, initial=0.0):
        return False
    _, number = np.unique(_choose_names(observations)[rows].astype(str), return_inverse=True)
    used = np.bincount(number, weights=np.nan_to_num(values))
    return bool(((used > 0) & (used < np.bincount(number))).any())


def _choose_names(observations: Observations) -> Names:
    names: Names = np.where(observations.model == "", observations.label, observations.model)
    return names
