"""The headline of a run as English: a sentence per model, in the words of the app."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tracekit.analysis.engines.ownership import RUNTIMES
from tracekit.analysis.findings.answer import Answer, EngineUse, ModelAnswer, ProcessAnswer
from tracekit.analysis.findings.placement import PLACEMENT_KINDS
from tracekit.analysis.windows.window import GIVEN_SOURCES
from tracekit.model.schemas import CORE_AI, MPS_INTERVALS
from tracekit.model.vocabulary import Basis, Engine
from tracekit.report.wording.findings import placement
from tracekit.report.wording.findings.cost import describe_cost
from tracekit.report.wording.log import log_sentence
from tracekit.report.wording.names import engine_name, format_model_name
from tracekit.report.wording.power import describe_power
from tracekit.report.wording.threads import describe_threads
from tracekit.text import clip, format_duration, format_percent, join_words, plural, printable

_LEAST_SHARE = 0.01
_SHORT_NAME = 40
_MOST_OTHERS = 3


def headline(answer: Answer) -> str:
    """Return the sentences that state first on which engine each model ran, and failures after them."""
    if answer.log is not None and answer.kind == "no-evidence":
        return log_sentence(answer.log)
    return f"{_describe_engines(answer)}{_describe_failures(answer)}{_describe_costliest(answer)}"


def window_sources(sources: Sequence[str]) -> str:
    """Return the tables that windows are from; with Core AI among them, ``Core AI's ODIEProfile and …``."""
    names = dict.fromkeys(sources)
    if CORE_AI not in names:
        return ", ".join(names)
    return " and ".join(f"{RUNTIMES[name]}'s {name}" if name in RUNTIMES else name for name in names)


def _describe_failures(answer: Answer) -> str:
    """Return `` 2 requests to the Neural Engine failed, in 2 of 12 calls.``, nothing without a failure."""
    if not answer.failed_requests:
        return ""
    calls = f", in {answer.failed_calls:,} of {plural(answer.calls, 'call')}" if answer.failed_calls else ""
    return f" {plural(answer.failed_requests, 'request')} to the Neural Engine failed{calls}."


def _describe_costliest(answer: Answer) -> str:
    """Return `` Costs most: work between calls (Segmenter), 324 ms (sampled).``, of several models.

    A change of engine is the headline already.
    """
    finding = answer.costliest
    if finding is None or finding.kind in PLACEMENT_KINDS:
        return ""
    return f" Costs most: {describe_cost(finding, answer.model_count > 1)}."


def _describe_no_evidence(answer: Answer) -> str:
    if answer.is_prepared:
        return "A model was compiled or loaded (measured), but nothing here shows it running."
    if answer.power is not None:
        return describe_power(answer.power)
    if answer.holders is not None:
        from tracekit.report.wording.holders import describe_holders

        return describe_holders(answer.holders)
    return "This recording has no ML evidence: no sample, and no interval of inference on an engine."


def _describe_engines(answer: Answer) -> str:
    if answer.requests and answer.kind in ("no-evidence", "no-symbols", "no-model"):
        sent = plural(answer.requests, "request")
        return f"The log has {sent} of this app to the Neural Engine; nothing else shows a model running."
    match answer.kind:
        case "not-recorded":
            return "Nothing was recorded: no table that an analysis reads has a row."
        case "no-evidence":
            return _describe_no_evidence(answer)
        case "no-symbols":
            none = f"None of the {answer.samples:,} samples has a stack"
            stacks = "The only sample has no stack" if answer.samples == 1 else none
            return f"{stacks} with symbols, so engines cannot be identified."
        case "no-model":
            return _describe_no_model(answer)
        case "no-calls":
            return (
                f"No prediction was seen: {_describe_ml_work(answer)}, none of them inside a prediction call."
            )
        case "no-length":
            count = answer.without_length
            return (
                f"{plural(count, 'prediction')} {'was' if count == 1 else 'were'} reported without a length,"
                " so neither the engine nor the time of a call can be determined."
            )
        case "threads":
            return describe_threads(answer.threads) if answer.threads is not None else ""
        case "whole-run":
            return _describe_whole_run(answer)
        case "models":
            more = answer.model_count - len(answer.models)
            sentences = _describe_models(distinguish_models(answer.models))
            sentences += [f"And {plural(more, 'more model')}."] if more > 0 else []
            return " ".join([*sentences, *_describe_others(answer.others)])


def _describe_others(processes: Sequence[ProcessAnswer]) -> list[str]:
    """Return ``Another process ran models in this time: photosd (99), 12 calls …, with work on the CPU.``"""
    if not processes:
        return []
    descriptions = [_describe_other(process) for process in processes[:_MOST_OTHERS]]
    more = len(processes) - len(descriptions)
    descriptions += [f"{more:,} more"] if more else []
    subject = "Another process" if len(processes) == 1 else "Other processes"
    return [f"{subject} ran models in this time: {'; '.join(descriptions)}."]


def _describe_other(answer: ProcessAnswer) -> str:
    name = clip(printable(answer.process), _SHORT_NAME)
    process = f"{name} ({answer.pid})" if name else f"process {answer.pid}"
    # Host samples are the CPU's own work; of another engine, they show who called it.
    engines = " and ".join(
        f"{'on' if engine is Engine.CPU else 'for'} {engine_name(engine)}"
        f"{'' if count == answer.calls else f' in {count:,}'}"
        for engine, count in answer.engines
    )
    several = ", or several in a row," if answer.calls == 1 else ""
    calls = f"{plural(answer.calls, 'call')}{several} seen on stacks"
    return f"{process}, {calls}, with work {engines}" if engines else f"{process}, {calls}"


def distinguish_models(models: Sequence[ModelAnswer]) -> list[ModelAnswer]:
    """Return models; those of one name in several processes get the number of their process."""
    counts = Counter(model.model for model in models)
    return [
        _add_process(model) if counts[model.model] > 1 and model.model and model.pid >= 0 else model
        for model in models
    ]


def _add_process(model: ModelAnswer) -> ModelAnswer:
    name = f"{clip(printable(model.model), _SHORT_NAME)} (process {model.pid})"
    placement = model.placement and replace(model.placement, model=name)
    return replace(model, model=name, placement=placement)


def _describe_models(models: Sequence[ModelAnswer]) -> list[str]:
    """Return a sentence for the models that ran on one engine in all calls, and one for each other model."""
    groups: dict[Engine, list[ModelAnswer]] = {}
    for model in models:
        if _is_on_one_engine(model):
            groups.setdefault(model.engines[0].engine, []).append(model)
    several = [group for group in groups.values() if len(group) > 1]
    sentences = [_describe_alike(group) for group in several]
    alike = {model.position for group in several for model in group}
    return sentences + [_describe_model(model) for model in models if model.position not in alike]


def _is_on_one_engine(model: ModelAnswer) -> bool:
    """Return whether a table measured one engine in all calls of a model, and nothing else."""
    uses = model.engines
    is_alone = len(uses) == 1 and uses[0].calls == model.calls and uses[0].table != MPS_INTERVALS
    is_measured = is_alone and uses[0].basis is Basis.MEASURED and model.source not in GIVEN_SOURCES
    return is_measured and model.is_named and model.source != "stacks" and not model.contested


def _describe_alike(models: Sequence[ModelAnswer]) -> str:
    """Return ``Segmenter and Tagger ran on the Neural Engine in all 16 calls.``"""
    names = join_words([format_model_name(model.model, True) for model in models])
    count = plural(sum(model.calls for model in models), "call")
    return f"{names} ran on {engine_name(models[0].engines[0].engine)} in all {count}."


def _describe_model(model: ModelAnswer) -> str:
    return f"{_describe_placement(model)}{_describe_contested(model)}"


def _describe_contested(model: ModelAnswer) -> str:
    """Return `` In 6 of its 12 calls, the Neural Engine worked for this model or for another owner: …``"""
    if not model.contested:
        return ""
    times = " and ".join(
        f"in {_count_its_calls(model, count)}, {engine_name(engine)}" for engine, count in model.contested
    )
    return f" I{times[1:]} worked for this model or for another owner: nothing here decides which."


def _count_its_calls(model: ModelAnswer, count: int) -> str:
    if model.calls == 1:
        return "its only call"
    calls = _describe_calls(model, model.calls)
    return f"each of its {calls}" if count == model.calls else f"{count:,} of its {calls}"


def _describe_placement(model: ModelAnswer) -> str:
    if model.placement is not None:
        sentences = placement.SENTENCES[model.placement.kind](model.placement)
        doubt = f" {placement.NO_NAME}" if model.placement.confidence == "possible" else ""
        return f"{sentences.title} {sentences.cost}".rstrip() + doubt
    name = format_model_name(model.model, model.is_named)
    if model.source in GIVEN_SOURCES:
        name = "Inference"  # a range may have calls of several models
    if not model.engines:
        calls = (
            f"the only {_choose_noun(model)}"
            if model.calls == 1
            else f"the {_describe_calls(model, model.calls)}"
        )
        of = f" of {name.removeprefix('Calls of ')}" if model.model else ""
        return f"No engine is visible in {calls}{of}{_cut(model)}."
    if model.calls == 1 and not model.is_named:
        # No sample lies between calls that follow one another at once.
        several = " (or several without a sample between)" if model.source == "stacks" else ""
        lead, *other_uses = model.engines
        other_work = "".join(
            f", with work on {engine_name(use.engine)}{_describe_basis(use)}" for use in other_uses
        )
        action = f"{_describe_use(lead)}{_describe_basis(lead)}{other_work}"
        return f"One call of {name.removeprefix('Calls of ')}{several} {action}{_describe_length(model)}."
    hidden = f"; no engine is visible in the other {model.unknown:,}{_cut(model)}" if model.unknown else ""
    return f"{name.removeprefix('Calls of ')} {_describe_action(model)}{hidden}{_describe_length(model)}."


def _cut(model: ModelAnswer) -> str:
    """Return ``, which the recording's edges cut``, nothing where no unknown call is cut."""
    if not model.cut:
        return ""
    which = "which" if model.cut == model.unknown else f"{model.cut:,} of which"
    return f", {which} {'an edge of the recording cuts' if model.cut == 1 else 'edges of the recording cut'}"


def _describe_action(model: ModelAnswer) -> str:
    """Return ``ran on the Neural Engine in all 12 calls, with work on the CPU in 3 of them``."""
    engines = sorted(model.engines, key=lambda use: -use.calls)
    lead, other_uses = engines[0], engines[1:]
    parts = [f"{_describe_use(lead)} {_count_calls(model, lead.calls)}{_describe_basis(lead)}"]
    if lead.calls == model.calls - model.unknown:
        for use in other_uses:
            part = (
                ""
                if lead.calls == 1
                else " in each"
                if use.calls == lead.calls
                else f" in {use.calls:,} of them"
            )
            parts.append(f", with work on {engine_name(use.engine)}{part}")
    else:
        parts += [f", {_describe_use(use)} in {use.calls:,}{_describe_basis(use)}" for use in other_uses]
    return "".join(parts)


def _describe_use(use: EngineUse) -> str:
    # A sample of dispatch or waiting shows which thread called the engine, not that the engine worked.
    if use.basis is Basis.SAMPLED and use.engine is not Engine.CPU:
        return f"submitted work to {engine_name(use.engine)}"
    # MPSGraph can hand a program to the Neural Engine: its own table alone does not show which engine worked.
    if use.basis is Basis.MEASURED and use.table == MPS_INTERVALS:
        return f"ran MPSGraph programs, counted for {engine_name(use.engine)},"
    return f"ran on {engine_name(use.engine)}"


def _describe_basis(use: EngineUse) -> str:
    if use.basis is Basis.SAMPLED:
        return " (seen on stacks)" if use.engine is Engine.CPU else " (seen on stacks, not measured)"
    return "" if use.basis is Basis.MEASURED else " (by the log)"


def _count_calls(model: ModelAnswer, count: int) -> str:
    if model.calls == 1:
        if model.source == "stacks":
            return "in one call, or several without a sample between"
        return f"in {'the only' if model.source in GIVEN_SOURCES else 'its only'} {_choose_noun(model)}"
    if count == model.calls == 2:
        return f"in both {_describe_calls(model, count).removeprefix('2 ')}"
    if count == model.calls:
        return f"in all {_describe_calls(model, count)}"
    return f"in {count:,} of {_describe_calls(model, model.calls)}"


def _choose_noun(model: ModelAnswer) -> str:
    return "chosen time range" if model.source in GIVEN_SOURCES else "call"


def _describe_calls(model: ModelAnswer, count: int) -> str:
    # Calls that are deduced from stacks may be several that follow one another without a sample between.
    is_measured = any(use.basis is Basis.MEASURED for use in model.engines)
    source_note = " seen on stacks" if model.source == "stacks" and (is_measured or not model.engines) else ""
    return f"{plural(count, _choose_noun(model))}{source_note}"


def _describe_length(model: ModelAnswer) -> str:
    """Return ``: 25.9 ms per call, the Neural Engine busy 61 % of it``."""
    if not model.length_ns:
        return ""
    length = _format_range(*model.lengths_ns) if model.lengths_ns else format_duration(model.length_ns)
    if model.is_engine_time:
        per_call = "" if model.calls == 1 else " per call"
        return f": {length}{per_call}, from the engine's first interval to its last"
    busy = [
        f"{engine_name(use.engine)} busy {_format_share(use)} of {_refer_to_calls(use, model)}"
        for use in model.engines
        if use.busy_share >= _LEAST_SHARE
    ]
    return f": {', '.join([length if model.calls == 1 else f'{length} per call', *busy])}"


def name_engines(model: ModelAnswer) -> str:
    """Return ``Neural Engine``; of several, those with most calls first: ``Neural Engine (6), CPU (6)``."""
    uses = sorted(model.engines, key=lambda use: -use.calls)
    is_alone = len(uses) == 1 and uses[0].calls == model.calls
    names = [f"{_name_use(use)}{'' if is_alone else f' ({use.calls:,})'}" for use in uses]
    return ", ".join([*names, *([f"not visible ({model.unknown:,})"] if model.unknown else [])])


def _name_use(use: EngineUse) -> str:
    name = engine_name(use.engine).removeprefix("the ")
    return name if use.basis is Basis.MEASURED else f"{name}, {_BASIS_WORDS[use.basis]}"


_BASIS_WORDS = {Basis.SAMPLED: "on stacks", Basis.INFERRED: "by the log"}


def _refer_to_calls(use: EngineUse, model: ModelAnswer) -> str:
    """Return ``it``, the call; ``those 12`` where the engine worked in some calls only."""
    if use.calls == model.calls:
        return "it"
    return f"those {use.calls:,}" if use.calls > 1 else "that one"


def _format_range(low_ns: int, high_ns: int) -> str:
    """Return ``50.9 to 67.9 ms``; units that differ are given twice."""
    low, high = format_duration(low_ns), format_duration(high_ns)
    (number, _, unit), (_, _, high_unit) = low.rpartition(" "), high.rpartition(" ")
    return f"{number if unit == high_unit else low} to {high}"


def _format_share(use: EngineUse) -> str:
    """Return ``61 %``, or ``33 to 100 %`` where some of the engine's work may be another owner's."""
    low, high = format_percent(use.busy_share), format_percent(use.most_share)
    if use.most_share <= use.busy_share or low == high:
        return low
    return f"{low.removesuffix(' %')} to {high}"


def _describe_whole_run(answer: Answer) -> str:
    engines = answer.models[0].engines if answer.models else ()
    if not engines:
        return f"No engine can be determined: {_describe_ml_work(answer)}, none of them inside a prediction."
    engine_uses = " and ".join(f"{_describe_used(use)}{_describe_basis(use)}" for use in engines)
    return f"Over the whole recording, inference used {engine_uses}; single calls cannot be separated."


def _describe_used(use: EngineUse) -> str:
    is_graph = use.basis is Basis.MEASURED and use.table == MPS_INTERVALS
    return f"{'MPSGraph programs, counted for ' if is_graph else ''}{engine_name(use.engine)}"


def _describe_ml_work(answer: Answer) -> str:
    are = "is" if answer.ml_samples == 1 else "are"
    return f"{answer.ml_samples:,} of {plural(answer.samples, 'sample')} {are} in ML code"


def _describe_no_model(answer: Answer) -> str:
    samples = plural(answer.samples, "sample")
    if answer.is_prepared:
        return f"A model was compiled or loaded (measured), but none of the {samples} shows it running."
    only = answer.samples == 1
    in_framework = f"{'the only sample is not' if only else f'none of the {samples} is'}"
    in_framework += f" {'at work ' if answer.idle else ''}in an ML framework"
    sentence = f"This recording shows no model running: {in_framework}."
    if answer.parked:
        show = "sample shows" if answer.parked == 1 else "samples show"
        sentence += f" {answer.parked:,} {show} a parked Neural Engine service thread, which does no work."
    if (idle := answer.idle - answer.parked) > 0:
        show = "sample shows" if idle == 1 else "samples show"
        sentence += f" {idle:,} {show} an idle thread of an ML runtime, which does no work."
    if answer.unsymbolicated:
        have = "has" if answer.unsymbolicated == 1 else "have"
        sentence += f" {answer.unsymbolicated:,} of the {samples} {have} no stack with symbols."
    return sentence
