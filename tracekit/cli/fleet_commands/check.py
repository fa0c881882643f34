"""``tracekit fleet check``: requirements on the newest build of a dataset, for CI."""

from __future__ import annotations

import click

from tracekit.cli.intervals import confidence_option, open_option
from tracekit.cli.output import HELP, add_output_options, check_output, guess_format, write_output
from tracekit.cli.standard_error import write_message
from tracekit.text import plural

_FORMATS = {".json": "json", ".txt": "text"}
_DEFAULT = "no regressions"


@click.command("check", context_settings=HELP, short_help="Check the newest build of a dataset, for CI.")
@click.argument("results", metavar="RESULTS")
@click.option(
    "--require",
    "require",
    multiple=True,
    metavar="REQUIREMENT",
    help="A condition that must hold at the build: 'no regressions' (the default), 'no changes in MyModel',"
    " or a number on every device, such as 'p50 <= 20ms in MyModel' or 'tokens per second >= 20 in decode'."
    " Repeatable.",
)
@click.option(
    "--build",
    metavar="BUILD",
    help="Check this build, as it was when it was the newest (default: the newest).",
)
@click.option(
    "--accept", is_flag=True, help="Accept the changes that are listed as the new level: they fail no longer."
)
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), help="Default: by extension, or text."
)
@confidence_option
@open_option("requirement")
@add_output_options
def check_command(
    results: str,
    require: tuple[str, ...],
    build: str | None,
    accept: bool,
    format_: str | None,
    confidence: float,
    open_counts: str | None,
    output: str,
    force: bool,
) -> None:
    """Check the newest build in RESULTS: exit code 1 if a requirement fails, 5 if one cannot be decided.

    'no regressions' fails while a series has a change for the worse that nobody accepted and that is still
    there: longer calls, a later first token or slower tokens of a language model, fewer calls on the Neural
    Engine, more on the CPU, more with an unknown engine.
    'no changes' fails for any.

    \b
    Examples:
      tracekit fleet check results/
      tracekit fleet check results/ --require 'no changes in Encoder' --build 424
      tracekit fleet check results/ --require 'p50 <= 20ms in Encoder' --format json
      tracekit fleet check results/ --require 'time to first token <= 400ms in Chat'
      tracekit fleet check results/ --accept
    """
    check_output(output, force)
    output_format = guess_format(format_, output, _FORMATS)

    from tracekit.checks.results import choose_exit_code
    from tracekit.fleet.history.change_gate import accept_changes, check_fleet, parse_gate
    from tracekit.fleet.library_dataset import open_results
    from tracekit.report.fleet.gate import to_json, to_text

    requirements = [parse_gate(text) for text in require or (_DEFAULT,)]
    dataset = open_results(results)
    gate = check_fleet(dataset, requirements, build, confidence)
    text = to_json(gate, results) if output_format == "json" else to_text(gate, results)
    write_output(text, output, force, is_document=output_format != "text")
    if accept:
        found = [entry for result in gate.of_changes for entry in result.found]
        accept_changes(dataset, found, gate.history)
        write_message(f"{plural(len(found), 'change')} accepted as the new level.")
    of_devices = [entry.result.outcome for entry in gate.of_devices]
    outcomes = of_devices if accept else gate.outcomes
    if code := choose_exit_code(outcomes, open_counts):  # type: ignore[arg-type]
        click.get_current_context().exit(code)
