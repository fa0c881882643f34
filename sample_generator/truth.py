"""The truth about a recording, counted from the timeline that was played, never from the XML.

README.md explains each field, and the rule for `stack_windows`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from sample_generator.recording import PERIOD_NS
from sample_generator.span_index import SpanIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from sample_generator.recording import Inference, Lane, Recording, Sample

SHORT_GAP_NS = 5 * PERIOD_NS
"""A longer gap between two samples of a thread ends a window …"""
BRIDGED_GAP_NS = 250 * PERIOD_NS
"""… but not up to here, if the thread was seen handing over work or waiting, or its workers were at work."""

JsonObject = dict[str, "int | str | bool | JsonObject | list[JsonObject] | list[int] | None"]


class Truth:
    """The expected reading of the recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._samples = recording.samples
        workers = [sample for sample in recording.samples if sample.work.role == "worker"]
        self._by_time, self._workers = (
            SpanIndex(samples, lambda sample: (sample.time_ns, sample.time_ns + 1))
            for samples in (recording.samples, workers)
        )
        self._of_inference = _collect(recording.samples, lambda sample: sample.inference)
        self._of_lane = _collect(recording.samples, lambda sample: sample.lane)
        self._copies: defaultdict[str, set[int]] = defaultdict(set)
        for call in recording.inferences:
            self._copies[call.label].add(call.copy)
        self._weighted = recording.table != "time-sample"
        self._unit = "cycles" if recording.table == "cpu-profile" else "ns"

    def to_json(self) -> JsonObject:
        recording = self._recording
        truth: JsonObject = {
            "synthetic": True,
            "table": recording.table,
            "weight_unit": self._unit if self._weighted else None,
            **self._total(self._samples),
            "null_stacks": sum(sample.frames is None for sample in self._samples),
            "unique_stacks": self._unique_stacks(),
            "engines": self._engines(),
        }
        if recording.table == "counters-profile":
            sums = map(sum, zip(*(sample.counters for sample in self._samples), strict=True))
            truth["counters"] = dict(zip(recording.counter_names, sums, strict=True))
        truth["inferences"] = [self._inference(inference) for inference in recording.inferences]
        truth["stack_windows"] = self._stack_windows() if recording.symbols else []
        truth["findings"] = self._findings()
        return truth

    def _findings(self) -> list[JsonObject]:
        stories = sorted(
            self._recording.findings, key=lambda story: (story.kind, story.model, story.first_call or 0)
        )
        return [
            {"kind": story.kind, "model": story.model}
            | ({} if story.first_call is None else {"first_call": story.first_call})
            for story in stories
        ]

    def _total(self, samples: list[Sample]) -> JsonObject:
        weight = sum(sample.weight for sample in samples) if self._weighted else None
        return {"samples": len(samples), "weight": weight}

    def _unique_stacks(self) -> int:
        """Count distinct stacks by the keys of their frames; without symbols, by the address alone."""
        keys = (lambda frame: frame.key) if self._recording.symbols else (lambda frame: frame.address)
        return len({tuple(map(keys, sample.frames)) for sample in self._samples if sample.frames})

    # Engines and phases -------------------------------------------------------------------------------------

    def _engine(self, sample: Sample) -> str:
        """Return the engine that the sample's stack shows, not the one that was really at work."""
        return sample.work.engine if self._recording.symbols else "UNKNOWN"

    def _phase(self, sample: Sample) -> str:
        return sample.work.phase or "none" if self._recording.symbols else "none"

    def _engines(self) -> JsonObject:
        engines: JsonObject = {}
        for engine, group in _grouped(self._samples, self._engine):
            phases: JsonObject = {
                phase: self._total(members) for phase, members in _grouped(group, self._phase)
            }
            engines[engine] = {**self._total(group), "phases": phases}
        return engines

    def _counts(self, samples: Iterable[Sample]) -> JsonObject:
        counts = Counter((self._engine(sample), self._phase(sample)) for sample in samples)
        phases: dict[str, JsonObject] = {}
        for (engine, phase), number in sorted(counts.items()):
            phases.setdefault(engine, {})[phase] = number
        return dict(phases)

    # Inferences and windows ---------------------------------------------------------------------------------

    def _inference(self, inference: Inference) -> JsonObject:
        return {
            "start_ns": inference.start_ns,
            "end_ns": inference.end_ns,
            "label": inference.label,
            **self._copy(inference),
            "thread": inference.lane.tid,
            "engine": inference.engine,
            "engines": self._counts(self._of_inference[inference]),
            "all_threads": self._counts(self._by_time.overlapping(inference.start_ns, inference.end_ns)),
        }

    def _copy(self, inference: Inference) -> JsonObject:
        """Return the loaded copy, where the recording's calls are of several of one model."""
        is_one = len(self._copies[inference.label]) == 1
        return {} if is_one else {"copy": f"{inference.label}-{inference.copy}"}

    def _stack_windows(self) -> list[JsonObject]:
        runs = {lane: self._runs(lane) for lane in self._recording.lanes}
        indexes = {lane: SpanIndex(of_lane, self._time_of) for lane, of_lane in runs.items()}
        every = [run for of_lane in runs.values() for run in of_lane]
        return [self._window(run, indexes) for run in sorted(every, key=lambda run: run[0].time_ns)]

    def _window(self, run: list[Sample], runs: dict[Lane, SpanIndex[list[Sample]]]) -> JsonObject:
        caller, (start_ns, end_ns) = run[0].lane, self._time_of(run)
        others = [of_lane for lane, of_lane in runs.items() if lane is not caller]
        workers = [
            sample
            for sample in self._workers.overlapping(start_ns, end_ns)
            if not any(of_lane.overlapping(sample.time_ns, sample.time_ns + 1) for of_lane in others)
        ]
        return {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "thread": caller.tid,
            "engines": self._counts([*run, *workers]),
            "inference_indexes": sorted({sample.inference.index for sample in run if sample.inference}),
        }

    def _time_of(self, run: list[Sample]) -> tuple[int, int]:
        return run[0].time_ns, run[-1].time_ns + (PERIOD_NS if self._unit == "ns" else 1)

    def _runs(self, lane: Lane) -> list[list[Sample]]:
        """Return the thread's maximal runs of samples inside prediction calls."""
        runs: list[list[Sample]] = []
        last: Sample | None = None
        for sample in self._of_lane[lane]:
            if sample.work.role != "caller":
                last = None
            elif last is not None and self._bridged(last, sample):
                runs[-1].append(sample)
                last = sample
            else:
                runs.append([sample])
                last = sample
        return runs

    def _bridged(self, last: Sample, following: Sample) -> bool:
        gap = self._clear(following.time_ns - last.time_ns)
        if gap <= SHORT_GAP_NS:
            return True
        if gap > BRIDGED_GAP_NS:
            return False
        if last.work.phase in {"dispatch", "wait"}:
            return True
        working = [sample.time_ns for sample in self._workers.overlapping(last.time_ns, following.time_ns)]
        holes = (after - before for before, after in pairwise([last.time_ns, *working, following.time_ns]))
        return self._clear(max(holes)) <= SHORT_GAP_NS

    def _clear(self, gap: int) -> int:
        """Refuse a scenario whose truth would hang on a sample's exact nanosecond."""
        for limit in (SHORT_GAP_NS, BRIDGED_GAP_NS):
            if abs(gap - limit) < PERIOD_NS // 2:
                raise ValueError(f"{self._recording.name}: a gap of {gap} ns is too near to {limit} ns")
        return gap


def _collect(
    samples: Iterable[Sample], key: Callable[[Sample], Hashable]
) -> defaultdict[Hashable, list[Sample]]:
    groups: defaultdict[Hashable, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[key(sample)].append(sample)
    return groups


def _grouped(samples: list[Sample], key: Callable[[Sample], str]) -> list[tuple[str, list[Sample]]]:
    return [(name, list(group)) for name, group in groupby(sorted(samples, key=key), key)]
