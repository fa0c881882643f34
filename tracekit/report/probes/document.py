"""The results of probes as a document: operation by setting, the evidence, and rules that they propose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracekit.model.vocabulary import Engine
from tracekit.probes.operators import OPERATORS
from tracekit.probes.proposals import ProposedRule, propose_rules
from tracekit.probes.question import Probe
from tracekit.probes.reading import FEWEST_CALLS, Conclusion, Placement, ProbeResults, ProbeRow
from tracekit.report.document.blocks import Headline, Item, Items, Paragraph, Section, Table
from tracekit.text import format_duration, join_words, plural

_CONCLUSIONS = {
    Conclusion.STAYS: "stays on the Neural Engine",
    Conclusion.SPLITS: "splits the model",
    Conclusion.WHOLE_LEAVES: "the whole model is elsewhere",
    Conclusion.NO_CONTROL: "nothing follows: the control is not on the engine",
    Conclusion.OPEN: "open",
    Conclusion.IS_CONTROL: "–",
}
_ENGINE_NAMES = {Engine.ANE: "ANE", Engine.GPU: "GPU", Engine.CPU: "CPU"}
_LIMITS = (
    "An answer is about this device, this system, this shape and this setting; another of them is another"
    " question.",
    "The engine is that of the model's calls. That the operation itself is the cause follows from its control"
    " alone, which is the same model without it.",
    "A probe that stays says nothing about speed.",
)


def build_probes(results: ProbeResults) -> list[Section]:
    """Return the sections about a recording of probes."""
    blocks = (Headline(_summarize(results)), _list_rows(results.rows))
    sections = [Section("probes", "Probes", blocks)]
    rules = propose_rules(results)
    if rules:
        intro = Paragraph(
            "Proposals, one per probe whose settings lead to one conclusion; --rules FILE writes them as rules to"
            " review."
        )
        items = Items(tuple(Item(_describe_rule(rule)) for rule in rules))
        sections.append(Section("proposals", "Rules that this proposes", (intro, items)))
    limits = [*_iter_limits(results), *_LIMITS]
    items = Items(tuple(Item(text) for text in limits), is_of_limits=True)
    sections.append(Section("limits", "Limits", (items,)))
    return sections


def _summarize(results: ProbeResults) -> str:
    counts = Counter(row.conclusion for row in results.rows)
    asked = sum(counts.values()) - counts[Conclusion.IS_CONTROL]
    parts = [
        f"{counts[conclusion]} {words}"
        for conclusion, words in (
            (Conclusion.STAYS, "stay on the Neural Engine"),
            (Conclusion.SPLITS, "split the model"),
            (Conclusion.WHOLE_LEAVES, "are elsewhere as a whole"),
        )
        if counts[conclusion]
    ]
    without = counts[Conclusion.NO_CONTROL] + counts[Conclusion.OPEN]
    if without:
        parts.append(f"{without} without an answer")
    return f"Of {plural(asked, 'question')} (operation and setting), {join_words(parts)}."


def _list_rows(rows: Sequence[ProbeRow]) -> Table:
    header = ("operation", "setting", "calls on", "submissions", "engine's time", "known", "follows")
    cells = [
        (
            describe_probe(row.probe),
            row.setting or "not known",
            _describe_placement(row),
            "" if row.submissions is None else str(row.submissions),
            format_duration(row.busy_ns) if row.busy_ns else "",
            str(row.basis or ""),
            _CONCLUSIONS[row.conclusion],
        )
        for row in rows
    ]
    return Table.from_rows(header, cells, numbers={"submissions", "engine's time"})


def describe_probe(probe: Probe) -> str:
    """Return an operation in words: ``max_pool kernel 13, stride 1, fp16``."""
    if probe.is_control:
        return "control, " + " × ".join(map(str, probe.shape))
    parts = [f"{name} {value}" for name, value in probe.parameters.items()]
    parts += [probe.dtype, *([OPERATORS[probe.operator].note] if OPERATORS[probe.operator].note else [])]
    return f"{probe.operator} {', '.join(parts)}"


def _describe_placement(row: ProbeRow) -> str:
    if row.placement is Placement.ABSENT:
        return f"{plural(row.calls, 'call')}, too few" if row.calls else "no calls"
    if row.placement is Placement.VARIES:
        return "varies from call to call"
    engines = ", ".join(_ENGINE_NAMES[engine] for engine in row.engines)
    if row.placement is Placement.UNKNOWN:
        return f"not shown ({engines} seen)" if engines else "not shown"
    return f"{engines}, too short for the whole" if row.placement is Placement.SHORT else engines


def _describe_rule(rule: ProposedRule) -> str:
    verb = {
        "information": "stays on the Neural Engine",
        "leaves": "splits a model that is on the Neural Engine",
        "graph-leaves": "takes the whole model off the Neural Engine",
    }[rule.effect]
    settings = f" with {join_words(rule.settings)}" if rule.settings else ""
    return f"{describe_probe(rule.probe)} {verb}{settings}: {rule.scope}."


def _iter_limits(results: ProbeResults) -> Iterator[str]:
    if not results.is_marked:
        yield (
            "The calls are not marked by the runner: they were found by the names of models, and the setting of"
            " the compute units is not shown unless it is given."
        )
    if any(row.placement is Placement.UNKNOWN for row in results.rows):
        yield (
            "Without the Neural Engine's own table, or where another process may have used it, its part is not"
            " known."
        )
    if any(row.placement is Placement.ABSENT for row in results.rows):
        yield (
            f"Behind the first, which may prepare, {FEWEST_CALLS} calls of each probe with each setting are"
            " needed."
        )
