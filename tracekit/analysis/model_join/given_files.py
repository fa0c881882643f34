"""The files that a user gives for the models of a recording, each with the name that it was given for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from tracekit.errors import UsageError
from tracekit.mlmodels import read_model
from tracekit.mlmodels.plans import Plan, read_plan
from tracekit.mlmodels.program import MLModel

Content = TypeVar("Content", bound=MLModel | Plan)
_GENERIC_NAMES = frozenset({"model", "main", "analytics", "manifest", "plan"})
"""Names that a runtime gives to the files of every model."""


@dataclass(frozen=True)
class GivenModelFile(Generic[Content]):
    """A model or plan; ``model`` is the recording's name of the model that it is for, "" for none given."""

    content: Content
    model: str = ""

    @property
    def name(self) -> str:
        """The name of the file without its folders."""
        return self.content.path.name or str(self.content.path)

    @property
    def stems(self) -> tuple[str, ...]:
        """The names by which the file may be a model's: its own, and that of a compiled model around it."""
        path = self.content.path
        folders = [path, *path.parents[:3]]
        names = [folder.stem for folder in folders[:1]] + [
            folder.stem for folder in folders[1:] if folder.suffix in (".mlmodelc", ".mlpackage", ".aimodel")
        ]
        return tuple(name for name in names if name.lower() not in _GENERIC_NAMES)


GivenModel: TypeAlias = str | os.PathLike[str] | MLModel | GivenModelFile[MLModel]
GivenPlan: TypeAlias = str | os.PathLike[str] | Plan | GivenModelFile[Plan]
GivenFiles: TypeAlias = tuple[Sequence[GivenModelFile[MLModel]], Sequence[GivenModelFile[Plan]]]
"""Models and plans."""


def read_given_models(models: Iterable[GivenModel]) -> list[GivenModelFile[MLModel]]:
    """Read models, each a path, ``Name=path`` or an ``MLModel``. Raises ``InputError``, ``UsageError``."""
    return list(_read_each(models, MLModel, read_model))


def read_given_plans(plans: Iterable[GivenPlan]) -> list[GivenModelFile[Plan]]:
    """Read plans, each a path, ``Name=path`` or a ``Plan``. Raises ``InputError``, ``UsageError``."""
    return list(_read_each(plans, Plan, read_plan))


def _read_each(
    entries: Iterable[str | os.PathLike[str] | Content | GivenModelFile[Content]],
    kind: type[Content],
    read: Callable[[str | os.PathLike[str]], Content],
) -> Iterator[GivenModelFile[Content]]:
    if isinstance(entries, (str, os.PathLike, MLModel, Plan)):
        raise UsageError(f"models and plans are lists: [{str(entries)!r}], not {str(entries)!r}.")
    for entry in entries:
        if isinstance(entry, GivenModelFile):
            yield entry
        elif isinstance(entry, kind):
            yield GivenModelFile(entry)
        elif isinstance(entry, (str, os.PathLike)):
            name, path = split_name(entry)
            yield GivenModelFile(read(path), name)
        else:
            raise UsageError(f"A {kind.__name__} or its path is expected, not {entry!r}.")


def split_name(entry: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name and the path of ``Name=path``; a path that exists has no name."""
    text = os.fspath(entry)
    name, equals, path = text.partition("=")
    if not equals or not name or not path or Path(text).exists():
        return "", text
    return name, path
