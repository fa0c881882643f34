"""``tracekit classify``: the engine that each given stack worked for, as JSON Lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from tracekit.cli.output import HELP, add_output_options, check_output, open_output
from tracekit.errors import InputError
from tracekit.text import escape_json

if TYPE_CHECKING:
    from tracekit.cli.stack_records import StackRecord

MAX_LINE = 16 << 20
"""Bytes; a longer line is not a stack."""


@click.command("classify", context_settings=HELP, short_help="Classify stacks by engine (JSON Lines).")
@click.argument("source", default="-", type=click.Path(), metavar="[FILE]")
@click.option(
    "--markers", type=click.Path(), metavar="FILE", help="Your own rules, tried before the built-in ones."
)
@add_output_options
def classify_command(source: str, markers: str | None, output: str, force: bool) -> None:
    """Classify stacks by the engine that they worked for, with the deciding frame.

    FILE holds JSON Lines, one stack each, leaf first; - is standard input (default). Each line gives one
    line: engine, phase, rule, deciding frame, and why. Keys other than frames, thread_name and id are
    ignored.

    FILE may also be a text with stacks (sample, spindump, a crash report, lldb): then each stack of a thread
    gives one line, with thread and samples as id.

    \b
    Example, stacks.jsonl:
      {"frames": [{"binary": "libBNNS.dylib", "symbol": "BNNSFilterApplyBatch"}], "thread_name": null}
    \b
      tracekit classify stacks.jsonl
      tracekit classify stacks.jsonl --markers my-rules.toml -o verdicts.jsonl
    """
    check_output(output, force)
    from tracekit.analysis.classification.rule_set import load_rules
    from tracekit.cli.stack_records import classify_records

    rules = load_rules(Path(markers) if markers is not None else None)
    with _open_records(source) as records, open_output(output) as results:
        for verdict in classify_records(records, rules):
            results.write(f"{escape_json(json.dumps(verdict))}\n".encode())


@contextmanager
def _open_records(source: str) -> Iterator[Iterator[StackRecord]]:
    """Open the input, JSON Lines or a text with stacks, as records."""
    from tracekit.cli.stack_records import iter_trace_records
    from tracekit.detect import open_source
    from tracekit.load import trace_of
    from tracekit.parsers.text.kinds import identify_text
    from tracekit.parsers.text.text_file import TextPlace

    if source != "-" and Path(source).is_file() and identify_text(TextPlace(source, source)) is not None:
        opened = open_source(source)
        yield chain.from_iterable(iter_trace_records(trace_of(opened, run.info.run)) for run in opened.toc())
        return
    with _open_lines(source) as lines:
        yield _iter_records(lines, source)


def _iter_records(lines: IO[bytes], source: str) -> Iterator[StackRecord]:
    """Yield the stack of each line; blank lines are skipped."""
    from tracekit.cli.stack_records import MalformedRecordError, StackRecord

    name = "standard input" if source == "-" else source
    number = 0
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        where = f"{name}, line {number}"
        if len(line) > MAX_LINE:
            raise InputError(where, "is longer than 16 MB.", "Give one stack per line.")
        if not line.strip():
            continue
        try:
            yield StackRecord.from_json(json.loads(line.decode("utf-8-sig").rstrip()))
        except MalformedRecordError as error:
            raise InputError(where, f"{error}.", "See tracekit classify --help.") from error
        except UnicodeDecodeError as error:
            raise InputError(where, f"is not UTF-8 text: see byte {error.start + 1}.") from error
        except json.JSONDecodeError as error:
            problem = f"is not JSON: see column {error.pos + 1}."
            raise InputError(where, problem, "Give one JSON object per line.") from error
        except (ValueError, RecursionError) as error:  # a number of 4,300 digits, nesting without end
            problem = "is not a stack: a number is too long, or it is nested too deeply."
            raise InputError(where, problem, "See tracekit classify --help.") from error


@contextmanager
def _open_lines(source: str) -> Iterator[IO[bytes]]:
    """Open the input; ``-`` is standard input."""
    if source == "-":
        if sys.stdin is None:
            raise InputError("standard input", "is closed.", "Name a file.")
        yield sys.stdin.buffer
        return
    path = Path(source)
    if not path.exists():
        raise InputError(source, "does not exist.", "Check the path.")
    if not path.is_file() and not path.is_fifo():
        raise InputError(source, "is not a file.", "Name a file of JSON Lines, or - for standard input.")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(source, f"cannot be read: {error.strerror}.") from error
    with file:
        yield file
