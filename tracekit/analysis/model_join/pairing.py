"""The model of a recording that each file belongs to: by its name, or the only one; never a guess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracekit.analysis.model_join.given_files import Content, GivenModelFile
from tracekit.errors import UsageError
from tracekit.mlmodels.plans import Plan
from tracekit.mlmodels.program import MLModel
from tracekit.text import clip, join_words, printable

_MOST_NAMES = 8
_NAME_WIDTH = 60


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model of the recording, ``name``; at least one of the two is there."""

    name: str
    model: GivenModelFile[MLModel] | None
    plan: GivenModelFile[Plan] | None

    def is_named(self, name: str) -> bool:
        """Return False where the model's file has another name, and was not given for this one."""
        file = self.model
        return file is None or bool(file.model) or not file.stems or name in file.stems


def pair_files(
    models: Sequence[GivenModelFile[MLModel]], plans: Sequence[GivenModelFile[Plan]], names: Sequence[str]
) -> list[ModelFiles]:
    """Return the files of each model that has some; ``names`` are those of
    the recording's groups of calls, "" for calls without a model's name.

    Raises ``UsageError`` for a file that is no model's for certain, and for two files of one kind.
    """
    distinct = list(dict.fromkeys(names))
    if not distinct and (models or plans):
        raise UsageError(
            "The recording has no calls of a model, so there is nothing to join a model or plan with."
        )
    if distinct == [""] and len(names) > 1 and (models or plans):
        raise UsageError(
            "The recording names no model, and its calls may be of several: nothing shows which of them a"
            " model or plan is for. Record with the Core ML instrument, which names them."
        )
    model_of = _assign(models, distinct, [_choose_name(file, distinct) for file in models])
    plan_names = [_name_plan(file, distinct, model_of) for file in plans]
    plan_of = _assign(plans, distinct, plan_names)
    return [
        ModelFiles(name, model_of.get(name), plan_of.get(name))
        for name in distinct
        if name in model_of or name in plan_of
    ]


def _name_plan(
    file: GivenModelFile[Plan], names: Sequence[str], model_of: dict[str, GivenModelFile[MLModel]]
) -> str | None:
    """Return the name of a plan's model; a plan without a name is that of the only model that was given."""
    by_content = file.content.model if file.content.model in names else None
    if not file.model and by_content is None and len(names) > 1 and len(model_of) == 1:
        by_content = None if any(stem in names for stem in file.stems) else next(iter(model_of))
    return _choose_name(file, names) if file.model or by_content is None else by_content


def _choose_name(file: GivenModelFile[MLModel] | GivenModelFile[Plan], names: Sequence[str]) -> str | None:
    if file.model:
        if file.model not in names:
            raise UsageError(f"The recording has no model '{_show(file.model)}'; it has {_list(names)}.")
        return file.model
    by_name = [stem for stem in file.stems if stem in names]
    if by_name:
        return by_name[0]
    return names[0] if len(names) == 1 else None


def _assign(
    files: Sequence[GivenModelFile[Content]],
    names: Sequence[str],
    chosen_names: Iterable[str | None],
) -> dict[str, GivenModelFile[Content]]:
    """Return the file of each name; raise ``UsageError`` for a file without a name, and for a second one."""
    file_of: dict[str, GivenModelFile[Content]] = {}
    for file, name in zip(files, chosen_names, strict=True):
        if name is None:
            example = next((entry for entry in names if entry), "NAME")
            raise UsageError(
                f"{_show(file.name)} is of no model of the recording by its name; the recording has"
                f" {_list(names)}. Give it with the model's name: '{_show(example)}={_show(file.name)}'."
            )
        if name in file_of:
            raise UsageError(
                f"{_show(file_of[name].name)} and {_show(file.name)} are both for the model"
                f" '{_show(name)}'. Give one of them, or each with its model's name."
            )
        file_of[name] = file
    return file_of


def _list(names: Sequence[str]) -> str:
    texts = [f"'{_show(name)}'" if name else "calls without a name" for name in names[:_MOST_NAMES]]
    return join_words([*texts, f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else texts)


def _show(text: str) -> str:
    return clip(printable(text), _NAME_WIDTH)
