"""Totals per engine: what the rows of one window, or of the whole run, add up to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracekit.analysis.engines.attribution import Share
from tracekit.frozen import frozen
from tracekit.model.trace import WeightUnit
from tracekit.model.vocabulary import Basis, Engine, Phase


@frozen
class EngineTotals:
    """One engine's numbers over a window or a run.

    ``busy_ns`` is measured work for inferences, None where no table measured the engine; compiling and
    loading are in their ``phases`` only. ``sampled_ns`` is host time of samples, None where the recorder
    counted something else than time. ``weight`` is in the trace's ``weight_unit``. ``waiting_ns`` is None
    where nothing shows waiting, and ``waiting_basis`` with it. ``measured`` is True where a table with rows
    covers the engine, so that a zero is a zero.
    """

    engine: Engine
    samples: int
    sampled_ns: int | None
    busy_ns: int | None
    waiting_ns: int | None
    waiting_basis: Basis | None
    weight: int
    measured: bool
    phases: tuple[Share, ...]

    @property
    def is_seen(self) -> bool:
        """True where samples or measured work show the engine."""
        return self.samples > 0 or bool(self.busy_ns)


def sum_by_engine(
    shares: Sequence[Share], engines: Sequence[Engine], unit: WeightUnit, measured: Collection[Engine]
) -> tuple[EngineTotals, ...]:
    """Return the totals of these engines, in their order, from the rows of one window or one run."""
    return tuple(
        _build_totals(engine, [share for share in shares if share.engine is engine], unit, engine in measured)
        for engine in engines
    )


def _build_totals(engine: Engine, shares: Sequence[Share], unit: WeightUnit, measured: bool) -> EngineTotals:
    busy = [share.busy_ns for share in shares if share.busy_ns is not None and _is_busy(share)]
    waiting = [share.waiting_ns for share in shares if share.waiting_ns is not None]
    bases = [share.waiting_basis for share in shares if share.waiting_basis is not None]
    return EngineTotals(
        engine,
        sum(share.samples for share in shares),
        sum(share.sampled_ns or 0 for share in shares) if unit == "ns" else None,
        sum(busy) if busy or measured else None,
        sum(waiting) if waiting else None,
        bases[0] if bases else None,
        sum(share.weight for share in shares),
        measured,
        tuple(shares),
    )


def _is_busy(share: Share) -> bool:
    return share.phase is None or share.is_inference


def count_samples_by_phase(totals: EngineTotals) -> dict[Phase | None, int]:
    """Return the samples of each phase that has any, in the phases' order."""
    return {share.phase: share.samples for share in totals.phases if share.samples}
