"""Claims about the tools that watch the Mac beside a recording: the log, and power."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.detect import open_source
from tracekit.load import trace_of
from tracekit.model.schemas import READ_TABLES
from tracekit.overlays.overlaid_source import OverlaidSource
from tracekit.overlays.overlay_texts import open_readable_texts
from tracekit.proof import workbench
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import QuietListener, Workbench, describe_attempt
from tracekit.record.companions import Companions, EndWithRecording, is_root
from tracekit.record.recording_plan import make_plan


def try_log(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record with the log beside it."""
    yield _try_companion(bench, "log-meanwhile", "log")


def try_power(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record with power samples beside it."""
    yield _try_companion(bench, "power-meanwhile", "power")


def try_usage(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record with the memory that processes hold beside it."""
    yield _try_companion(bench, "usage-meanwhile", "usage")


def _try_companion(bench: Workbench, claim: str, word: str) -> ClaimOutcome:
    final = bench.folder / f"with-{word}.trace"
    with Companions((word,), final, workbench.SHORT_SECONDS, is_root=is_root()) as companions:
        listener = EndWithRecording(QuietListener(), companions)
        attempt = bench.record(final.stem, make_plan(bench.catalog, "minimal"), listener=listener)
        if attempt.result.state != "good":
            return judge(claim, False, describe_attempt(attempt))
        paths, problems = companions.keep(attempt.bundle)
    texts, unread = open_readable_texts(paths)
    if not texts:
        return judge(claim, False, f"no text was written that can be read: {' '.join([*problems, *unread])}")
    trace = trace_of(OverlaidSource(open_source(attempt.bundle, schemas=READ_TABLES), texts))
    codes = {issue.code for issue in trace.issues}
    return judge(
        claim, "laid-over" in codes, "laid over" if "laid-over" in codes else "read, and not laid over"
    )


COMPANION_TRIALS = (
    Trial(("log-meanwhile",), try_log),
    Trial(("power-meanwhile",), try_power),
    Trial(("usage-meanwhile",), try_usage),
)
