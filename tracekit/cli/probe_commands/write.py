"""``tracekit probe write``: the models, their manifest and the program that calls them."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.cli.output import HELP
from tracekit.cli.standard_error import write_message
from tracekit.errors import UsageError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.text import format_shell_command, plural


@click.command("write", context_settings=HELP, short_help="Write probes into a new folder.")
@click.argument("folder", type=click.Path())
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option(
    "--compute-units",
    "settings",
    default="cpuAndNeuralEngine,all",
    show_default=True,
    metavar="LIST",
    help="The settings of the compute units with which each probe is called.",
)
@click.option(
    "--calls",
    type=click.IntRange(4, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="How often each probe is called with each setting.",
)
def write_command(folder: str, questions: tuple[str, ...], settings: str, calls: int) -> None:
    """Write a model per QUESTION into the new folder FOLDER, controls beside them, and a program for the Mac.

    A QUESTION is an operation, or one with values: max_pool:kernel=2+8+13,dtype=fp16+fp32,shape=64x128x128.
    All combinations are asked. Needs coremltools (the extra probe), on any system.

    \b
    Examples:
      tracekit probe write probes max_pool:kernel=2+8+13 gather_runtime
      tracekit probe write probes softmax:dtype=fp16+fp32 --compute-units all
    """
    from tracekit.probes.probe_question import list_probes

    probes = list_probes(questions)
    chosen = tuple(dict.fromkeys(settings.split(",")))
    for setting in chosen:
        if setting not in COMPUTE_UNITS:
            raise UsageError(f"'{setting}' is none of the compute units {', '.join(COMPUTE_UNITS)}.")
    from tracekit.probes.sandwich import write_probes

    write_probes(Path(folder), probes, chosen, calls)
    controls = sum(probe.is_control for probe in probes)
    write_message(f"{plural(len(probes) - controls, 'probe')} and {plural(controls, 'control')} in {folder}.")
    write_message(f"On a Mac: {format_shell_command(['tracekit', 'probe', 'run', folder])}")
