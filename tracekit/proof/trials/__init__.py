"""The trials, in their order: what records nothing first, and what may hang last."""

from __future__ import annotations

from tracekit.proof.trials.companion_trial import COMPANION_TRIALS
from tracekit.proof.trials.evidence_trial import EVIDENCE_TRIAL
from tracekit.proof.trials.machine_trial import MACHINE_TRIAL
from tracekit.proof.trials.preset_trial import PRESET_TRIAL
from tracekit.proof.trials.privilege_trial import PRIVILEGE_TRIALS
from tracekit.proof.trials.program_trial import PROGRAM_TRIAL
from tracekit.proof.trials.simulator_trial import SIMULATOR_TRIALS
from tracekit.proof.trials.supervision_trial import SUPERVISION_TRIALS
from tracekit.proof.trials.trial import Trial

TRIALS: tuple[Trial, ...] = (
    MACHINE_TRIAL,
    PROGRAM_TRIAL,
    *SUPERVISION_TRIALS,
    PRESET_TRIAL,
    EVIDENCE_TRIAL,
    *COMPANION_TRIALS,
    *PRIVILEGE_TRIALS,
    *SIMULATOR_TRIALS,
)
TRIED_CLAIMS = frozenset(claim for trial in TRIALS for claim in trial.claims)
"""The claims that ``tracekit prove`` tries."""
