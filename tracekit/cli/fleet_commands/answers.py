"""Formats and output of the commands that read a dataset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tracekit.cli.output import open_output, write_output, write_pieces
from tracekit.cli.terminal import measure_text_width
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from tracekit.fleet.dataset_answer import DatasetAnswer

FORMATS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".html": "html", ".txt": "text"}


def check_binary(output_format: str, output: str) -> None:
    """Raise ``UsageError`` where a binary format would go to a terminal."""
    if output_format == "parquet" and output == "-" and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError("Parquet is a binary format: write it to a file with -o FILE.parquet.")


def write_answer(
    answer: DatasetAnswer, output_format: str, output: str, force: bool, raw: bool = False
) -> None:
    """Write a result in a format of ``FORMATS``."""
    from tracekit.report.fleet import files, html, text

    match output_format:
        case "csv":
            write_pieces([files.to_csv(answer, raw)], output, force)
        case "json":
            write_output(files.to_json(answer), output, force, is_document=True)
        case "html":
            write_output(html.to_html(answer), output, force, is_document=True)
        case "parquet":
            with open_output(output) as file:
                files.write_parquet(answer, file)
        case _:
            write_output(text.to_text(answer, measure_text_width(output)), output, force)


def parse_settings(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of ``--set NAME=VALUE``. Raises ``UsageError`` for a text without ``=``."""
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {setting}: write NAME=VALUE, such as --set build=422.")
        values[name] = value
    return values
