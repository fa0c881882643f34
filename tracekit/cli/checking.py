"""The parts of ``check`` that recordings and plans share: requirements of options and files, and output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tracekit.cli.check_config import NAME, Config, find_nearest_config, read_config
from tracekit.cli.ci_outputs import append_step_summary, check_outputs
from tracekit.cli.output import add_output_options, guess_format, write_output
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.checks.results import CheckResult
    from tracekit.model.trace import Issue

_FORMATS = {".json": "json", ".md": "markdown", ".txt": "text", ".xml": "junit"}
_LINES = ("text", "markdown")
"""The formats that are lines for people, which a CI prints; the others are documents."""
_Requirement = TypeVar("_Requirement")


@dataclass(frozen=True)
class CheckOptions:
    """The values of the options that ``add_check_options`` adds."""

    require: tuple[str, ...]
    forbid: tuple[str, ...]
    config: str | None
    no_config: bool
    format_: str | None
    junit: str | None
    output: str
    force: bool

    @cached_property
    def file_format(self) -> str:
        """The format of the results. Raises ``UsageError`` where the output's extension names none."""
        return guess_format(self.format_, self.output, _FORMATS)

    def check_outputs(self, **further: str | None) -> None:
        """Raise ``UsageError``, before any work, for outputs that cannot be written.

        ``further`` are the values of options of one command that name outputs, too.
        """
        check_outputs(self.force, self.output, junit=self.junit, **further)
        _ = self.file_format

    def parse_requirements(
        self, parse: Callable[[str, bool, str], _Requirement], table: str
    ) -> list[_Requirement]:
        """Return the requirements of a file's ``table``, then those of the command line.

        Raises ``UsageError`` where there are none.
        """
        requirements = list(self._iter_requirements(parse, self._choose_config(table)))
        if not requirements:
            raise UsageError(
                "There are no requirements: give --require or --forbid, or write a"
                f" {NAME} with a table [{table}]."
            )
        return requirements

    def write(
        self,
        results: Sequence[CheckResult],
        name: str,
        issues: Sequence[Issue],
        writers: Mapping[str, Callable[..., str]],
    ) -> None:
        """Write the results in the chosen format, as JUnit XML too where a file is named, and in a CI."""
        if self.junit is not None:
            write_output(writers["junit"](results, name, issues), self.junit, self.force, is_document=True)
        if self.file_format == "github":
            append_step_summary(writers["markdown"](results, name, issues))
        text = writers[self.file_format](results, name, issues)
        write_output(text, self.output, self.force, is_document=self.file_format not in _LINES)

    def _choose_config(self, table: str) -> Config:
        if self.no_config:
            if self.config is not None:
                raise UsageError("Give --config or --no-config, not both.")
            return Config()
        path = Path(self.config) if self.config is not None else find_nearest_config(Path.cwd())
        return Config() if path is None else read_config(path, table)

    def _iter_requirements(
        self, parse: Callable[[str, bool, str], _Requirement], config: Config
    ) -> Iterator[_Requirement]:
        for forbids, texts, key in ((False, config.require, "require"), (True, config.forbid, "forbid")):
            for index, text in enumerate(texts):
                yield parse(text, forbids, f"{config.path}: {key}[{index}]")
        for text in self.require:
            yield parse(text, False, "")
        for text in self.forbid:
            yield parse(text, True, "")


def add_check_options(required: str, forbidden: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of requirements and results; the command gets them as ``checks``.

    ``required`` and ``forbidden`` are examples for the help.
    """
    options = (
        click.option(
            "--require",
            "require",
            multiple=True,
            metavar="REQUIREMENT",
            help=f"A condition that must hold, such as {required}. Repeatable.",
        ),
        click.option(
            "--forbid",
            "forbid",
            multiple=True,
            metavar="WHAT",
            help=f"A condition or engine that must not occur, such as {forbidden}. Repeatable.",
        ),
        click.option(
            "--config",
            metavar="FILE",
            help=f"Read requirements from FILE (default: the nearest {NAME} in this folder or above).",
        ),
        click.option("--no-config", is_flag=True, help=f"Ignore {NAME}: use only the options given here."),
        click.option(
            "--format",
            "format_",
            type=click.Choice(["text", "markdown", "json", "junit", "github"]),
            help="Default: by extension, or text. github: annotations, and Markdown for the summary of the"
            " step.",
        ),
        click.option("--junit", metavar="FILE", help="Write JUnit XML to FILE as well."),
        add_output_options,
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run_with_options(*args: Any, **values: Any) -> Any:
            checks = CheckOptions(**{field.name: values.pop(field.name) for field in fields(CheckOptions)})
            return command(*args, checks=checks, **values)

        result: Callable[..., Any] = run_with_options
        for option in reversed(options):
            result = option(result)
        return result

    return add
