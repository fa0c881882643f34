"""``tracekit prove``: try the claims that were never tried on a Mac, and write what became of each."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tracekit.cli.documents import print_document
from tracekit.cli.output import HELP, write_output
from tracekit.cli.standard_error import write_message
from tracekit.errors import NotMeasurableError, UsageError


@click.command("prove", context_settings=HELP, short_help="Try the claims that were never tried (Mac).")
@click.argument("folder", type=click.Path(), default="tracekit-proof", metavar="[FOLDER]")
@click.option("--xctrace", metavar="PATH", help="Use this xctrace instead of the selected Xcode's.")
@click.option(
    "--every-template",
    is_flag=True,
    help="Also record with each template that tracekit knows and no preset uses.",
)
def prove_command(folder: str, xctrace: str | None, every_template: bool) -> None:
    """Try every claim about Apple's systems that was never tried and can be tried here.

    Makes a tiny model, records it with each preset of the selected Xcode, compares both readings of each
    recording, interrupts, appends and records twice at once, and checks what was promised. By an estimate, a
    quarter of an hour and some GB in the new folder FOLDER [tracekit-proof]. Ctrl-C ends it; what was tried
    until then is kept. Needs coremltools (the extra probe) for what needs a model.

    FOLDER/proof.json has the outcomes, without paths and identifiers of devices; FOLDER/packs has redacted
    recordings. Both are checked for the names of this user and computer, and can be sent. The .trace folders
    beside them hold private data and cannot.

    \b
    Examples:
      tracekit prove
      tracekit prove results --every-template
      sudo tracekit prove results-as-root

    Exit codes: 0 where every claim that was tried held, 1 where one did not, 5 where none could be tried.
    """
    from tracekit.proof.proof_json import FILE_NAME, format_proof
    from tracekit.proof.prove import Proof, prove
    from tracekit.record.signals import StopRequests, turn_signals_into_requests
    from tracekit.report.proof.document import build_proof

    path = Path(folder)
    if path.exists():
        raise UsageError(f"{path} exists already: name a new folder.")

    def keep(proof: Proof) -> None:
        path.joinpath(FILE_NAME).write_text(format_proof(proof), encoding="utf-8")

    requests = StopRequests()
    with turn_signals_into_requests(requests):
        proof = prove(
            path, requests, write_message, xctrace=xctrace, every_template=every_template, keep=keep
        )
    write_output(print_document(build_proof(proof), "text", "-"), "-", force=False)
    if proof.xctrace:
        packs = f" and {path / 'packs'}" if proof.packs else ""
        write_message(
            f"To send: {path / FILE_NAME}{packs}. They were checked for the names of this user and computer;"
            " the .trace folders were not."
        )
    if requests.signal:
        sys.exit(128 + requests.signal)
    if proof.count("did not hold"):
        sys.exit(1)
    if not proof.count("held"):
        sys.exit(NotMeasurableError.exit_code)
