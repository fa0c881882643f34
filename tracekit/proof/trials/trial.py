"""A trial: some claims, and the function that tries them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tracekit.frozen import frozen
from tracekit.proof.claim_outcome import ClaimOutcome
from tracekit.proof.workbench import Workbench


@frozen
class Trial:
    """Claims that are tried together. ``run`` yields an outcome for each that it decides.

    It may raise a ``TracekitError``; claims without an outcome were then not tried, for that reason.
    """

    claims: tuple[str, ...]
    run: Callable[[Workbench], Iterator[ClaimOutcome]]
