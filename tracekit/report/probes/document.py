"""The results of probes as a document: operation by setting, the evidence, and rules that they propose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracekit.probes.probe_question import Probe
from tracekit.probes.probe_reading import FEWEST_CALLS, Conclusion, Placement, ProbeResults, ProbeRow
from tracekit.probes.probed_operators import OPERATORS
from tracekit.probes.proposals import ProposedRule, propose_rules
from tracekit.report.document.blocks import Headline, Item, Items, Paragraph, Section, Table
from tracekit.text import format_duration, join_words, plural

_CONCLUSIONS = {
    Conclusion.STAYS: "stays",
    Conclusion.SPLITS: "splits the model",
    Conclusion.WHOLE_LEAVES: "all is elsewhere",
    Conclusion.NO_CONTROL: "no control",
    Conclusion.OPEN: "open",
    Conclusion.IS_CONTROL: "",
}
_MEANINGS = {
    Conclusion.STAYS: (
        "stays: each call was one submission to the Neural Engine, beside no other engine, as the control's."
    ),
    Conclusion.SPLITS: (
        "splits the model: each call was several submissions to the Neural Engine, or one beside another"
        " engine; each of the control's was one alone."
    ),
    Conclusion.WHOLE_LEAVES: (
        "all is elsewhere: the Neural Engine served no part of a call, and each of the control's."
    ),
    Conclusion.NO_CONTROL: (
        "no control: the control was not seen in one submission to the Neural Engine with this setting, so"
        " nothing follows."
    ),
    Conclusion.OPEN: (
        "open: the calls differ, are too few, or the recording does not show all of their work."
    ),
}
_LIMITS = (
    "An answer is about this device, this system, this shape and this setting; another of them is another"
    " question.",
    "The engine is that of the model's calls. That the operation itself is the cause follows from its control"
    " alone, which is the same model without it.",
    "A probe that stays says nothing about speed.",
)


def build_probes(results: ProbeResults) -> list[Section]:
    """Return the sections about a recording of probes."""
    seen = {row.conclusion for row in results.rows}
    legend = Items(tuple(Item(text) for conclusion, text in _MEANINGS.items() if conclusion in seen))
    settings = dict.fromkeys(row.setting for row in results.rows)
    tables = [_list_rows([row for row in results.rows if row.setting == setting]) for setting in settings]
    sections = [Section("probes", "Probes", (Headline(_summarize(results)), *tables, legend))]
    rules = propose_rules(results)
    if rules:
        intro = Paragraph(
            "Proposals, one per probe whose settings lead to one conclusion; --rules FILE writes them"
            " as rules to review."
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
        f"{counts[conclusion]} {singular_verb if counts[conclusion] == 1 else plural_verb}"
        for conclusion, singular_verb, plural_verb in (
            (Conclusion.STAYS, "stays on the Neural Engine", "stay on the Neural Engine"),
            (Conclusion.SPLITS, "splits the model", "split the model"),
            (Conclusion.WHOLE_LEAVES, "takes the whole model along", "take the whole model along"),
        )
        if counts[conclusion]
    ]
    without = counts[Conclusion.NO_CONTROL] + counts[Conclusion.OPEN]
    if without:
        parts.append(f"{without} without an answer")
    return f"{plural(asked, 'question')} (operation and setting): {join_words(parts)}."


def _list_rows(rows: Sequence[ProbeRow]) -> Table:
    setting = rows[0].setting or "setting not known"
    cells = [
        (describe_probe(row.probe), _describe_evidence(row), _CONCLUSIONS[row.conclusion]) for row in rows
    ]
    return Table.from_rows((f"operation ({setting})", "calls", "follows"), cells)


def _describe_evidence(row: ProbeRow) -> str:
    """Return where the calls ran, with the Neural Engine's part in them: ``ANE, 1 submission, 4.00 ms``."""
    parts = [_describe_placement(row)]
    if row.submissions:
        parts.append(plural(row.submissions, "submission"))
    if row.busy_ns:
        parts.append(format_duration(row.busy_ns))
    return ", ".join(parts) + (f" ({row.basis})" if row.basis else "")


def describe_probe(probe: Probe) -> str:
    """Return an operation in words: ``max_pool kernel 13, stride 2``; of fp16 unless it is named."""
    if probe.is_control:
        return "control, " + " × ".join(map(str, probe.shape))
    operator = OPERATORS[probe.operator]
    numbers = [f"{name} {value}" for name, value in probe.parameters.items() if value != 1]
    more = [*([probe.dtype] if probe.dtype != "fp16" else []), *([operator.note] if operator.note else [])]
    return ", ".join([" ".join([probe.operator, *numbers[:1]]), *numbers[1:], *more])


def _describe_placement(row: ProbeRow) -> str:
    if row.placement is Placement.ABSENT:
        return f"{plural(row.calls, 'call')}, too few" if row.calls else "no calls"
    if row.placement is Placement.VARIES:
        return "varies from call to call"
    engines = " → ".join(row.engines)
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
            "The calls are not marked by the runner: they were found by the names of models, and the setting"
            " of the compute units is not shown unless it is given."
        )
    if any(row.placement is Placement.UNKNOWN for row in results.rows):
        yield (
            "Without the Neural Engine's own table, or where another process may have used it, its part is"
            " not known."
        )
    if any(row.placement is Placement.ABSENT for row in results.rows):
        yield (
            f"Behind the first, which may prepare, {FEWEST_CALLS} calls of each probe with each setting are"
            " needed."
        )
