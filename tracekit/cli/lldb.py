"""``tracekit lldb``: a script for lldb that counts the calls of an engine's functions."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli.output import HELP, add_output_options, check_output, open_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.text import plural

_ENGINES = ("ANE", "GPU", "CPU", "RUNTIME")


@click.command(
    "lldb", context_settings=HELP, short_help="Write a script for lldb that counts calls of an engine."
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(_ENGINES, case_sensitive=False),
    help="Engine whose functions get breakpoints (default: ANE); RUNTIME are prediction calls. Repeatable.",
)
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Another rule, by its id. Repeatable.")
@click.option(
    "--stop-on-first-request", is_flag=True, help="Stop once, at the first request to the Neural Engine."
)
@click.option(
    "--hits",
    default="hits.jsonl",
    metavar="FILE",
    help="File that the script writes (default: hits.jsonl in lldb's folder); it replaces none.",
)
@click.option(
    "--max-hits",
    type=click.IntRange(1, 1_000_000),
    default=10_000,
    metavar="N",
    help="Hits that are kept with a backtrace (default: 10000). All are counted.",
)
@click.option(
    "--frames",
    type=click.IntRange(1, 256),
    default=16,
    metavar="N",
    help="Frames of a backtrace (default: 16).",
)
@click.option(
    "--max-functions",
    type=click.IntRange(1, 1_000_000),
    default=2_000,
    metavar="N",
    help="A rule that matches more functions is left out (default: 2000).",
)
@click.option(
    "--markers", type=click.Path(), metavar="FILE", help="Your own rules, tried before the built-in ones."
)
@add_output_options
def lldb_command(
    engines: tuple[str, ...],
    rules: tuple[str, ...],
    stop_on_first_request: bool,
    hits: str,
    max_hits: int,
    frames: int,
    max_functions: int,
    markers: str | None,
    output: str,
    force: bool,
) -> None:
    """Write a Python script for lldb with breakpoints on the functions that show an engine.

    The breakpoints count and continue by themselves. Each hit is kept with thread, time and short backtrace;
    tracekit analyze reads the file of hits. Needs neither a Mac nor lldb to write, and no tracekit to run.
    Breakpoints slow the program down: its times are no latency.

    \b
    Example:
      tracekit lldb --engine ANE -o ane_hits.py
      lldb -p 4242
      (lldb) command script import ane_hits.py
      (lldb) continue
    \b
      tracekit analyze hits.jsonl
    """
    check_output(output, force)
    stem = Path(output).stem
    if output != "-" and not (output.endswith(".py") and stem.isidentifier()):
        raise UsageError(
            f"{output}: lldb imports the script as a module. Name it with letters and _, as in hits.py."
        )
    from tracekit.analysis.classification.rule_set import load_rules
    from tracekit.markers.breakpoints import ScriptOptions, choose_rules, write_script
    from tracekit.model.vocabulary import Engine

    engine_names = engines or (() if rules else ("ANE",))
    rule_set = load_rules(Path(markers) if markers is not None else None)
    breakpoint_rules = choose_rules(rule_set, [Engine(name.upper()) for name in engine_names], rules)
    options = ScriptOptions(hits, max_hits, frames, max_functions, stop_on_first_request)
    text = write_script(breakpoint_rules, options)
    with open_output(output) as file:
        file.write(text.encode())
    if output != "-":
        left_out = f"{len(breakpoint_rules.left_out)} others cannot be breakpoints, see the script"
        note = f"; {left_out}" if breakpoint_rules.left_out else ""
        write_message(f"{output}: breakpoints of {plural(len(breakpoint_rules.rules), 'rule')}{note}.")
