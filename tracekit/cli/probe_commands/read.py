"""``tracekit probe read``: the results of a recording of probes."""

from __future__ import annotations

import click

from tracekit.cli.documents import write_document
from tracekit.cli.output import HELP, add_document_options, check_output, write_output
from tracekit.model.vocabulary import COMPUTE_UNITS

_FORMATS = {".txt": "text", ".md": "markdown", ".json": "json"}


@click.command("read", context_settings=HELP, short_help="Show which operations left the Neural Engine.")
@click.argument("recording", metavar="RECORDING")
@click.option(
    "--manifest", required=True, type=click.Path(), help="The folder of the probes, or its probes.json."
)
@click.option(
    "--compute-units",
    type=click.Choice(COMPUTE_UNITS),
    help="The setting of a recording whose calls the runner did not mark.",
)
@click.option(
    "--run", type=click.IntRange(1), default=None, metavar="N", help="The run to use (default: the first)."
)
@click.option("--rules", type=click.Path(), metavar="FILE", help="Also write the proposed rules as TOML.")
@add_document_options(_FORMATS)
def read_command(
    recording: str,
    manifest: str,
    compute_units: str | None,
    run: int | None,
    rules: str | None,
    file_format: str,
    output: str,
    force: bool,
) -> None:
    """Show where the calls of probes ran, with each setting, and what follows for their operations.

    \b
    Examples:
      tracekit probe read probes/probes.trace --manifest probes
      tracekit probe read probes/probes.trace --manifest probes --rules rules.toml

    Exit codes: 0; 3 for a file that is none; 5 where the recording has no call of a probe.
    """
    if rules:
        check_output(rules, force)
    from tracekit.load import open_trace
    from tracekit.probes.probe_manifest import read_manifest
    from tracekit.probes.probe_reading import read_probes

    asked = read_manifest(manifest)
    results = read_probes(open_trace(recording, run=run), asked, compute_units or "")
    if rules:
        from tracekit.probes.proposals import format_rules, propose_rules

        write_output(format_rules(propose_rules(results)), rules, force)
    if file_format == "json":
        from tracekit.report.probes.json import to_json

        write_output(to_json(results), output, force, is_document=True)
        return
    from tracekit.report.probes.document import build_probes

    sections = build_probes(results)
    write_document(sections, file_format, output, force)
