"""Try the claims that this machine can settle: what fails or hangs ends one trial, and no other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tracekit.errors import InputError, TracekitError, UsageError, XctraceError
from tracekit.frozen import frozen
from tracekit.proof.claim import NEED_WORDS, UntriedClaim, load_claims
from tracekit.proof.claim_outcome import ClaimOutcome, leave
from tracekit.proof.surroundings import Surroundings, survey
from tracekit.proof.trials import TRIALS
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Report, Workbench
from tracekit.record.recording_plan import InstrumentCatalog
from tracekit.record.signals import StopRequests
from tracekit.xctrace.tool import Xctrace, require_xctrace
from tracekit.xctrace.version import read_version
from tracekit.xctrace.xctrace_list import list_instruments, list_templates


@frozen
class Proof:
    """The outcomes of all claims, in the order of the registry, and the machine that they are of.

    ``xctrace`` is its version, "" where there is none; ``packs`` are the redacted recordings that were kept.
    """

    surroundings: Surroundings
    xctrace: str
    outcomes: tuple[ClaimOutcome, ...]
    packs: tuple[Path, ...] = ()

    def count(self, state: str) -> int:
        """Return the number of claims of a state."""
        return sum(outcome.state == state for outcome in self.outcomes)


def prove(
    folder: Path,
    requests: StopRequests,
    report: Report,
    *,
    xctrace: str | None = None,
    every_template: bool = False,
    keep: Callable[[Proof], None] = lambda _proof: None,
    system: str = sys.platform,
) -> Proof:
    """Try every claim that can be tried here; ``keep`` gets what is known so far after each trial.

    ``xctrace`` names one, which stands for a Mac with Xcode on any system. Without a Mac nothing is run.
    Recordings and models go into ``folder``. Raises ``UsageError`` for an xctrace that does not exist,
    and for a folder that does.
    """
    tool, problem = _find_tool(xctrace, system)
    surroundings = survey(tool, system)
    if tool is None:
        return Proof(surroundings, "", _order({}, surroundings, problem))
    version = read_version(tool)
    folder = folder.resolve()  # programs that xctrace starts run in a folder of their own
    _make_folder(folder)
    bench = Workbench(
        folder,
        tool,
        version,
        InstrumentCatalog(list_templates(tool), list_instruments(tool)),
        surroundings,
        requests,
        report,
        every_template,
    )
    outcomes: dict[str, ClaimOutcome] = {}
    proof = Proof(surroundings, str(version), _order(outcomes, surroundings))
    for trial in TRIALS:
        outcomes |= {outcome.claim: outcome for outcome in run_trial(trial, bench)}
        packs = tuple(sorted(folder.glob("packs/*.tracekit.zip")))
        proof = Proof(surroundings, str(version), _order(outcomes, surroundings), packs)
        keep(proof)
    return proof


def run_trial(trial: Trial, bench: Workbench) -> Iterator[ClaimOutcome]:
    """Yield an outcome for each claim of a trial, whatever becomes of it."""
    claims = load_claims()
    unmet = {claim: describe_unmet(claims[claim], bench.surroundings) for claim in trial.claims}
    can_run = [claim for claim in trial.claims if not unmet[claim]]
    outcomes: dict[str, ClaimOutcome] = {}
    reason = "the trial did not come to it"
    if can_run and not bench.requests.count:
        try:
            for outcome in trial.run(bench):
                outcomes[outcome.claim] = outcome
        except TracekitError as error:
            reason = error.problem if isinstance(error, InputError) else str(error)
        except Exception as error:  # noqa: BLE001 - a defect of one trial must not lose the other outcomes
            reason = f"a defect of tracekit: {type(error).__name__}: {error}"
    elif can_run:
        reason = "it was stopped before"
    for claim in trial.claims:
        yield leave(claim, unmet[claim]) if unmet[claim] else outcomes.get(claim) or leave(claim, reason)


def describe_unmet(claim: UntriedClaim, surroundings: Surroundings) -> str:
    """Return what a claim needs that this machine does not have; "" for nothing."""
    unmet = [NEED_WORDS[need] for need in claim.needs if need not in surroundings.met_needs]
    # Without a Mac, what else is missing does not matter.
    missing = [NEED_WORDS["mac"]] if NEED_WORDS["mac"] in unmet else unmet
    return f"needs {', '.join(missing)}" if missing else ""


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror or error}.") from error


def _find_tool(path: str | None, system: str) -> tuple[Xctrace | None, str]:
    """Return the xctrace to try, or the reason why there is none."""
    if path is None and system != "darwin":
        return None, ""
    try:
        tool = require_xctrace(path)
        read_version(tool)
    except XctraceError as error:
        return None, str(error)
    return tool, ""


def _order(
    outcomes: dict[str, ClaimOutcome], surroundings: Surroundings, problem: str = ""
) -> tuple[ClaimOutcome, ...]:
    """Return an outcome for each claim of the registry."""
    tried = {claim for trial in TRIALS for claim in trial.claims}
    return tuple(
        outcomes.get(claim.id)
        or leave(
            claim.id,
            describe_unmet(claim, surroundings)
            or (problem or "not yet" if claim.id in tried else f"tried by hand: {claim.command}"),
        )
        for claim in load_claims().values()
    )
