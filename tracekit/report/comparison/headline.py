"""The first sentences of a comparison: slower or faster, other engines, new findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracekit.analysis.verdicts import MIXED, UNKNOWN
from tracekit.comparison.cautions import MIXED_WINDOWS, REPEATED
from tracekit.comparison.estimates import find_usual_spread
from tracekit.comparison.result import Comparison, Difference, ModelLengths
from tracekit.comparison.turns import NOT_IN_TURN, ORDER_UNKNOWN, SESSION_NOISE
from tracekit.model.vocabulary import SERVING
from tracekit.report.comparison.cautions import caution_text
from tracekit.report.comparison.decision import (
    WITHIN,
    LengthOutcome,
    decide_length,
    decide_model,
    decide_outcome,
    find_incomparable_shares,
    is_within,
    list_changed_energy,
    list_changed_shares,
)
from tracekit.report.comparison.findings import findings_sentence
from tracekit.report.comparison.parts import describe_growth
from tracekit.report.comparison.samples import sample_sentence
from tracekit.report.comparison.wording import (
    amount,
    could_show,
    describe_grid,
    missing,
    pair,
    percent,
    ratio,
    span,
    usual_span,
    value_text,
)
from tracekit.report.wording.names import engine_name
from tracekit.text import clip, format_duration, plural, printable

_NAME_WIDTH = 60
_MOST_LEFT_OUT = 3
_NO_MODEL_IN_COMMON = "Lengths and engines cannot be compared: BASE and NEW have no model in common."
_MOST_UNCHANGED = 4
_MOST_SHARES = 8


def sentence(comparison: Comparison) -> str:
    """Return the first sentences: lengths, engines, findings, and what was tested on what."""
    if comparison.without_times:
        return sample_sentence(comparison)
    base, new = comparison.base.windows, comparison.new.windows
    if not base or not new:
        empty = "NEW has" if base else "BASE has" if new else "BASE and NEW have"
        return f"Inferences cannot be compared: {empty} no calls."
    left_out = comparison.first_sentence.left_out
    if left_out and not comparison.first_sentence.lengths:
        return " ".join(filter(None, [_NO_MODEL_IN_COMMON, findings_sentence(comparison)]))
    parts = [*_describe_repetition(comparison), *_order_claims(comparison)]
    if left_out:
        parts.append(_left_out(left_out))
    elif any(caution.code == MIXED_WINDOWS for caution in comparison.cautions):
        parts.append("But the sides have different kinds of calls: compare each kind.")
    if untested := comparison.first_sentence.untested_models:
        parts.append(
            f"{plural(untested, 'other model')} of both sides, with fewer calls, are not tested here."
        )
    parts += [
        f"But {caution_text(caution)}."
        for caution in comparison.cautions
        if caution.code in (NOT_IN_TURN, ORDER_UNKNOWN)
    ]
    return " ".join(filter(None, parts))


def _describe_repetition(comparison: Comparison) -> list[str]:
    """Return that both sides are one recording, which explains why nothing differs; nothing otherwise."""
    counts = [caution.facts["counts"] for caution in comparison.cautions if caution.code == REPEATED]
    is_only = len(comparison.base.runs) == len(comparison.new.runs) == 1
    is_on_both = any(isinstance(sides, Mapping) and {"BASE", "NEW"} <= sides.keys() for sides in counts)
    return ["BASE and NEW are the same recording."] if is_only and is_on_both else []


def _order_claims(comparison: Comparison) -> list[str]:
    """Return the claims, the one that decided the outcome first."""
    lengths, engines, findings = _lengths(comparison), _engines(comparison), findings_sentence(comparison)
    energy = _energy(comparison)
    match decide_outcome(comparison):
        case "better" | "worse":
            return [findings, lengths, energy, engines]
        case "changed" if list_changed_shares(comparison):
            return [engines, findings, energy, lengths]
        case "changed" if findings or energy:
            return [findings, energy, lengths, engines]
    return [lengths, energy, engines, findings]


def _left_out(names: Sequence[str]) -> str:
    """Return ``This leaves out what only one side has: Detector.``"""
    models = [clip(printable(name), _NAME_WIDTH) for name in names if name]
    more = len(models) - _MOST_LEFT_OUT
    listed = ", ".join([*models[:_MOST_LEFT_OUT], *([f"{more:,} more"] if more > 0 else [])])
    parts = [f"what only one side has: {listed}"] if models else []
    return f"This leaves out {', and '.join([*parts, *(['calls without a model'] if '' in names else [])])}."


# Lengths ---------------------------------------------------------------------------------------------------


def _lengths(comparison: Comparison) -> str:
    models = comparison.first_sentence.lengths
    comparable = [model for model in models if any(row.difference is not None for row in model.rows)]
    if not comparable:
        first = models[0].rows[0] if models else None
        reason = (first.base.missing or first.new.missing) if first else "there is no length"
        return f"Lengths cannot be compared: {reason}."
    if all(row.judgement == "too few to tell" for model in comparable for row in model.rows):
        firsts = [(model, model.rows[0]) for model in comparable]
        listed = "; ".join(f"{_subject(model, row)} {_against(row)}" for model, row in firsts)
        return f"Too few independent calls for an interval of the lengths: {listed}."
    limit = comparison.min_change
    outcomes = [(model, decide_model(model, limit)) for model in comparable]
    here = any(row.tested == WITHIN for model in comparable for row in model.rows)
    sentences = []
    for verdict in ("slower", "faster"):
        changed = [
            _changed(model, verdict, outcome, limit) for model, outcome in outcomes if verdict in outcome
        ]
        if changed:
            begin = "In these recordings NEW" if here else "NEW"
            sentences.append(f"{begin} is {verdict}: {'; '.join(changed)}.")
    unchanged = [(model, outcome) for model, outcome in outcomes if outcome in ("same", "not shown")]
    equal = [model for model, _ in unchanged if _is_equal_here(model)]
    if len(equal) > 1:
        sentences.append(_list_equal(equal))
        unchanged = [(model, outcome) for model, outcome in unchanged if model not in equal]
    sentences += [_unchanged(model, outcome, limit) for model, outcome in unchanged[:_MOST_UNCHANGED]]
    if len(unchanged) > _MOST_UNCHANGED:
        more = plural(len(unchanged) - _MOST_UNCHANGED, "more model")
        sentences.append(f"No difference in length is shown for {more}.")
    sentences += dict.fromkeys(f"{describe_grid(model.grid)}." for model in comparable if model.grid)
    if growth := describe_growth(comparison):
        sentences.append(growth)
    if here and any(outcome not in ("same", "not shown") for _, outcome in outcomes):
        sentences.append(_describe_one_run(comparable, limit))
    elif not here:
        sentences.append(f"Tested {_tested(comparison)}.")
    return " ".join(sentences)


def _describe_one_run(models: Sequence[ModelLengths], min_change: float) -> str:
    """Return what one run per side leaves open, with the interval that the usual spread gives."""
    examples = (
        f" If they differ by {percent(find_usual_spread(row.metric))}, {_subject(model, row)} changed by"
        f" {usual_span(row)}."
        for model in models
        for row in model.rows
        if usual_span(row) and decide_length(row, min_change) in ("slower", "faster")
    )
    return (
        "One run per side does not show how much runs of the same program differ."
        f"{next(examples, '')} Record five of each in turn to decide (record --interleave)."
    )


def _changed(model: ModelLengths, verdict: str, outcome: LengthOutcome, min_change: float) -> str:
    """Return ``p90 29 ms against 16 ms (+74 %, 98 % interval +18 … +99 %), mean +14 %; …``."""
    decided = [(row, decide_length(row, min_change)) for row in model.rows]
    first, *more = [row for row, decision in decided if decision == verdict]
    # Of one run per side, the interval is no answer: it does not cover how runs differ.
    interval = "" if first.tested == WITHIN else _interval(first)
    parts = [f"{_subject(model, first)} {_against(first, interval)}", *map(_brief, more)]
    if not outcome.startswith(verdict):
        return ", ".join(parts)
    same = " and ".join(row.metric for row in model.rows if is_within(row, min_change))
    not_shown = " and ".join(
        row.metric
        for row, decision in decided
        if decision == "not shown" and row.judgement == "within the noise"
    )
    phrases = [f"{same} unchanged to within {percent(min_change)}"] if same else []
    phrases += [f"no difference of {not_shown} is shown"] if not_shown else []
    return "; ".join([", ".join(parts), *phrases])


def _is_equal_here(model: ModelLengths) -> bool:
    """Return whether two recordings have the same lengths of a model's calls, to the nanosecond."""
    rows = [row for row in model.rows if row.difference is not None]
    return any(row.tested == WITHIN for row in rows) and not any(row.difference for row in rows)


def _list_equal(models: Sequence[ModelLengths]) -> str:
    """Return ``In these recordings these are the same: Net p50 24.9 ms, Tagger p50 29.9 ms.``"""
    rows = [
        (model, next(row for row in model.rows if row.difference is not None))
        for model in models[:_MOST_UNCHANGED]
    ]
    values = [f"{_subject(model, row)} {value_text(row.new, row.unit)}" for model, row in rows]
    more = len(models) - len(rows)
    values += [f"and those of {plural(more, 'more model')}"] if more else []
    return f"In these recordings these are the same: {', '.join(values)}."


def _unchanged(model: ModelLengths, outcome: LengthOutcome, min_change: float) -> str:
    row, *others = [row for row in model.rows if row.difference is not None]
    subject, limit = _subject(model, row), percent(min_change)
    more = "".join(f", {_brief(entry)}" for entry in others if entry.low is not None)
    if _is_equal_here(model):
        return f"In these recordings {subject} is the same: {value_text(row.new, row.unit)}."
    if row.judgement == "too few to tell":
        return f"Too few independent calls for an interval of {subject}: {_against(row)}{more}."
    if row.tested == WITHIN:
        if outcome == "same":
            return f"In these recordings {subject} is the same to within {limit}: {_against(row)}{more}."
        numbers = f"{subject} {_against(row, _interval(row))}{more}"
        return f"No difference in length is shown in these recordings: {numbers}."
    numbers = f"{subject} {_against(row, _interval(row))}{more}"
    if outcome == "same":
        is_close = all(is_within(entry, min_change) for entry in (row, *others))
        begin = "no slower and no faster to within" if is_close else "slower or faster by less than"
        return f"NEW is {begin} {limit}: {numbers}."
    return f"No difference in length is shown: {numbers}{could_show(row)}."


def _energy(comparison: Comparison) -> str:
    """Return ``Energy of a call: Net ANE energy 24.0 mJ against 20.0 mJ (+20 %, 99 % interval …).``"""
    changed = list_changed_energy(comparison)
    listed = "; ".join(f"{_subject(model, row)} {_against(row, _interval(row))}" for model, row in changed)
    return f"Energy of a call: {listed}." if changed else ""


def _interval(row: Difference) -> str:
    """Return ``, 98 % interval +9.1 … +14.2 %``; "" where there is none."""
    return "" if row.low is None else f", {100 * row.level:.3g} % interval {span(row)}"


def _brief(row: Difference) -> str:
    """Return ``p90 +73.5 %``."""
    return f"{row.metric} {ratio(row) or amount(row.difference, row.unit, True)}"


def _subject(model: ModelLengths, row: Difference) -> str:
    return f"{_name(model)} {row.metric}" if model.model else row.metric


def _against(row: Difference, more: str = "") -> str:
    """Return ``28.9 ms against 25.9 ms (+12 %)``, with as many digits as show the difference."""
    if row.base.value is None or row.new.value is None or row.unit != "ns":
        change = ratio(row) or amount(row.difference, row.unit, True)
        return f"{value_text(row.new, row.unit)} against {value_text(row.base, row.unit)} ({change}{more})"
    new, base = format_duration(round(row.new.value)), format_duration(round(row.base.value))
    if not row.ratio:
        return f"{new} against {base}{f' ({more[2:]})' if more else ''}"
    if new == base:
        new, base = value_text(row.new, row.unit), value_text(row.base, row.unit)
    change = (
        f"{100 * row.ratio:+.{0 if abs(row.ratio) >= 0.1 else 1}f} %"
        if row.ratio < 10
        else f"×{1 + row.ratio:,.3g}"
    )
    return f"{new} against {base} ({change}{more})"


def _tested(comparison: Comparison) -> str:
    sessions = next((caution for caution in comparison.cautions if caution.code == SESSION_NOISE), None)
    of_sessions = ""
    if sessions is not None:
        of_sessions = ", each side a session"
        if comparison.session_noise is not None:
            of_sessions += f" (given spread {percent(comparison.session_noise)})"
    if comparison.run_noise:
        spreads = sorted(comparison.run_noise.items())
        listed = ", ".join(
            percent(size) + (f" of the {name}" if name != "p50" else "") for name, size in spreads
        )
        return f"with a given spread between runs of {listed}{of_sessions}"
    counts = len(comparison.base.runs), len(comparison.new.runs)
    builds = f" (of {plural(comparison.noise_builds, 'build')})" if comparison.noise_builds else ""
    more = f" and {comparison.noise_runs} for the noise{builds}" if comparison.noise_runs else ""
    runs = f"between {plural(counts[0], 'run')} of BASE and {counts[1]} of NEW{more}{of_sessions}"
    return f"{runs}{_describe_drift(comparison)}"


def _describe_drift(comparison: Comparison) -> str:
    """Return what both sides have in common over runs in turn, and is taken out; "" where nothing is."""
    return next(
        (
            f", in turn and without the drift of both ({_subject(model, row)} {100 * row.drift:+.1f} % from"
            " the first run to the last)"
            for model in comparison.first_sentence.lengths
            for row in model.rows
            if row.drift is not None
        ),
        "",
    )


# Engines ---------------------------------------------------------------------------------------------------


def _engines(comparison: Comparison) -> str:
    """Return what is shown of the engines of each model's calls."""
    models = comparison.first_sentence.lengths
    known = [
        row
        for model in models
        for row in model.engines
        if row.metric != f"{UNKNOWN} share" and (row.base.value is not None or row.new.value is not None)
    ]
    if not known:
        return "No call has a known engine."
    reasons: dict[str, list[ModelLengths]] = {}
    for model in models:
        if rows := find_incomparable_shares(model):
            reason = missing(rows)[0].reason.removeprefix("not measurable, ")
            reasons.setdefault(reason, []).append(model)
    comparable = [model for model in models if not find_incomparable_shares(model)]
    sentences = [_describe_shares(comparison, comparable)] if comparable else []
    for reason, of_models in reasons.items():
        sentences.append(f"Engines{_of_some(of_models, models)} cannot be compared: {reason}.")
    return " ".join(sentences)


def _describe_shares(comparison: Comparison, models: Sequence[ModelLengths]) -> str:
    """Return what is shown of the engines of models that can be compared."""
    every = comparison.first_sentence.lengths
    if changed := list_changed_shares(comparison):
        here = " in these recordings" if changed[0][1].tested == WITHIN else ""
        listed = _list_shares(changed, every)
        return f"Other engines{here}: calls {listed}.{_busier(comparison, [row for _, row in changed])}"
    moved = [(model, row) for model in models for row in model.engines if row.difference]
    calls = f"calls{_of_some(models, every)}"
    if not moved:
        return f"Every engine has the same share of the {calls}."
    if any(row.judgement == "too few to tell" for _, row in moved):
        return f"Too few calls for an interval of the engines' shares: calls {_list_shares(moved, every)}."
    if all(row.tested == WITHIN for _, row in moved):
        listed = _list_shares(moved, every)
        return f"Calls {listed}: calls in a row are alike, and chance can do as much."
    return f"No difference in the engines' shares of the {calls} is shown."


def _list_shares(shares: Sequence[tuple[ModelLengths, Difference]], every: Sequence[ModelLengths]) -> str:
    """Return ``on the CPU alone 0.0 % → 50.0 % (+50.0 pts)``; of several models, ``of Net on the CPU …``."""
    texts = [
        f"{f'of {_name(model)} ' if len(every) > 1 else ''}{_place(row)} {pair(row)}" for model, row in shares
    ]
    more = len(texts) - _MOST_SHARES
    return ", ".join([*texts[:_MOST_SHARES], *([f"and {more:,} more"] if more > 0 else [])])


def _of_some(models: Sequence[ModelLengths], every: Sequence[ModelLengths]) -> str:
    """Return `` of Net, Tagger``; "" for all models."""
    return "" if len(models) == len(every) else f" of {', '.join(map(_name, models))}"


def _name(model: ModelLengths) -> str:
    return clip(printable(model.model), _NAME_WIDTH)


def _place(row: Difference) -> str:
    """Return ``on the Neural Engine alone``: a call on several engines is none on one of them alone."""
    verdict = row.metric.removesuffix(" share")
    if verdict == UNKNOWN:
        return "on an unknown engine"
    return "on several engines" if verdict == MIXED else f"on {engine_name(verdict)} alone"


def _busier(comparison: Comparison, changed: Sequence[Difference]) -> str:
    """Return what calls on several engines hide: an engine that has fewer calls alone may do more work."""
    claims = comparison.first_sentence
    if f"{MIXED} share" not in [row.metric for row in changed] or claims.left_out or len(claims.lengths) > 1:
        return ""
    parts = []
    for engine in SERVING:
        row = comparison.groups[0].row(f"{engine} busy share")
        if (
            row is not None
            and row.difference
            and row.judgement not in ("within the noise", "too few to tell", "spread not given")
        ):
            parts.append(f"{engine_name(engine)} {pair(row)}")
    return f" Busy share of a call: {', '.join(parts)}." if parts else ""
