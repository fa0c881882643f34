"""A model as a document: what it is, its inputs and outputs, and its operations by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracekit.mlmodels import Feature, Function, MLModel, ValueType
from tracekit.mlmodels.counts import KindCount, count_kinds, list_systems
from tracekit.report.document.blocks import Fact, Facts, Headline, Item, Items, Section, Table
from tracekit.report.models.compiled import build_asset_sections, describe_asset
from tracekit.text import format_size, plural

_MOST_KINDS = 40
_MOST_FEATURES = 50


def build_model(model: MLModel) -> list[Section]:
    """Return the sections of a model's document."""
    sections = [Section("model", "Model", (Headline(_summarize(model)), _list_facts(model)))]
    for name, heading, features in (
        ("inputs", "Inputs", model.inputs),
        ("outputs", "Outputs", model.outputs),
        ("states", "States", model.states),
    ):
        if features:
            sections.append(Section(name, heading, tuple(_list_features(features))))
    if model.stages:
        sections.append(Section("stages", "Stages", (_list_stages(model.stages),)))
    functions = list(model.iter_functions())
    if len(functions) > 1:
        sections.append(Section("functions", "Functions", (_list_functions(functions),)))
    if functions:
        sections.append(Section("operations", "Operations", tuple(_list_kinds(functions))))
    if model.compiled_asset:
        sections.extend(build_asset_sections(model.compiled_asset))
    if model.limits:
        items = Items(tuple(Item(text) for text in model.limits), is_of_limits=True)
        sections.append(Section("limits", "What the file does not show", (items,)))
    return sections


def _summarize(model: MLModel) -> str:
    functions = list(model.iter_functions())
    if model.compiled_asset:
        return f"{_capitalize(model.form)} with {describe_asset(model.compiled_asset)}."
    if not functions:
        return f"{_capitalize(model.form)}: its file shows no operations."
    operations = _count_operations(model)
    kinds = len({operation.kind for function in functions for operation in function.computing()})
    parts = [f"{plural(operations, 'operation')} of {plural(kinds, 'kind')}"]
    if len(functions) > 1:
        parts.append(plural(len(functions), "function"))
    if model.stages:
        parts.append(plural(len(model.stages), "stage"))
    return f"{_capitalize(model.form)} with {', in '.join(parts)}."


def _count_operations(model: MLModel) -> int:
    return sum(1 for function in model.iter_functions() for _ in function.computing())


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _list_facts(model: MLModel) -> Facts:
    systems = list_systems(model)
    facts = [Fact("Size", format_size(model.size_bytes))]
    if model.version:
        facts.insert(0, Fact("Version", model.version + (f" ({systems} and later)" if systems else "")))
    if model.compiled_asset:
        facts.insert(0, Fact("Targets", ", ".join(model.compiled_asset.targets) or "not named"))
    if model.weight_file_bytes:
        facts.append(Fact("Weights", format_size(model.weight_file_bytes)))
    # A name with dots is a key of the tool that wrote it.
    names = {name: name if "." in name else _capitalize(name) for name in model.metadata}
    names["version"] = "Version of the model"
    facts += [Fact(names[name], text) for name, text in model.metadata.items()]
    return Facts(tuple(facts))


def _list_features(features: Sequence[Feature]) -> Iterator[Table | Items]:
    rows = [
        (feature.name, describe_type(feature.type), _describe_shapes(feature))
        for feature in features[:_MOST_FEATURES]
    ]
    yield Table.from_rows(("name", "type", "shapes"), rows)
    if len(features) > _MOST_FEATURES:
        yield Items((Item(f"{len(features) - _MOST_FEATURES:,} more are in the JSON output."),))


def _describe_shapes(feature: Feature) -> str:
    return _FLEXIBLE[feature.flexible] + (", optional" if feature.is_optional else "")


_FLEXIBLE = {"": "fixed", "range": "a range", "enumerated": "a list of shapes"}


def describe_type(value_type: ValueType) -> str:
    """Return a type in words: ``fp16 [1, 64, 32, 32]``; ``?`` is an open dimension."""
    if value_type.shape is None:
        shape = " [any shape]"
    elif value_type.shape or value_type.container in ("array", "image"):
        shape = f" [{', '.join('?' if size is None else str(size) for size in value_type.shape)}]"
    else:
        shape = ""
    is_plain = value_type.container in ("tensor", "array", value_type.dtype)
    container = "" if is_plain else f"{value_type.container} of "
    return f"{container}{value_type.dtype or 'type not stated'}{shape}"


def _list_stages(stages: Sequence[tuple[str, MLModel]]) -> Table:
    rows = [(name, stage.form, stage.version, f"{_count_operations(stage):,}") for name, stage in stages]
    return Table.from_rows(("stage", "form", "version", "operations"), rows, numbers={"operations"})


def _list_functions(functions: Sequence[Function]) -> Table:
    rows = []
    for function in functions:
        constants = sum(operation.is_constant for operation in function.operations)
        rows.append(
            (function.name, function.opset, f"{sum(1 for _ in function.computing()):,}", f"{constants:,}")
        )
    header = ("function", "operation set", "operations", "constants")
    return Table.from_rows(header, rows, numbers={"operations", "constants"})


def _list_kinds(functions: Sequence[Function]) -> Iterator[Table | Items]:
    kinds = count_kinds(operation for function in functions for operation in function.computing())
    rows = [(kind.kind, f"{kind.count:,}", _describe_dtypes(kind)) for kind in kinds[:_MOST_KINDS]]
    yield Table.from_rows(("kind", "count", "data type"), rows, numbers={"count"})
    if len(kinds) > _MOST_KINDS:
        rest = sum(kind.count for kind in kinds[_MOST_KINDS:])
        more = plural(len(kinds) - _MOST_KINDS, "more kind")
        yield Items((Item(f"{more} with {plural(rest, 'operation')} are in the JSON output."),))


def _describe_dtypes(kind: KindCount) -> str:
    if len(kind.dtypes) == 1:
        return kind.dtypes[0][0] or "not stated"
    return ", ".join(f"{dtype or 'not stated'} ({count:,})" for dtype, count in kind.dtypes)
