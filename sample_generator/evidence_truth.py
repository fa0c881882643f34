"""The truth about a recording's tables of evidence, counted from the timeline that was played.

README.md explains each field.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, astuple
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from sample_generator.evidence import in_order, union
from sample_generator.span_index import SpanIndex, index_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sample_generator.evidence import Evidence, Level, Span, ThreadState
    from sample_generator.evidence_logs import LogLine
    from sample_generator.recording import EngineWork, Inference, Recording
    from sample_generator.truth import JsonObject

_LEVELS = {"Nominal": 0, "Fair": 1, "Serious": 2, "Critical": 3, "Idle": 0, "Active": 1}


class EvidenceTruth:
    """The expected reading of the evidence tables, as further fields of a recording's truth."""

    def __init__(self, recording: Recording, evidence: Evidence) -> None:
        self._recording = recording
        self._evidence = evidence
        self._spans = in_order(evidence.spans)
        self._executed = [span for span in self._spans if span.phase == "execute" and span.depth == 0]
        self._engines = sorted({span.engine for span in self._executed})
        # A row without a model may be of any call.
        self._calls = index_by(
            ((key, call) for call in recording.inferences for key in {"", call.label}), _time_of
        )
        self._work = _Work(self._executed)
        self._engine_work: dict[Inference, list[EngineWork]] = defaultdict(list)
        for work in recording.engine_work:
            self._engine_work[work.inference].append(work)
        self._blocked = index_by(
            ((state.lane, state) for state in evidence.thread_states if state.core is None), _time_of
        )
        self._prepared = [span for span in self._spans if span.phase in {"load", "compile"} and span.by_app]

    def fields(self) -> JsonObject:
        evidence, fields = self._evidence, {}
        if evidence.interval_tables:
            fields["intervals"] = list(map(self._interval, self._spans))
        if evidence.signposts:
            fields["signposts"] = self._signposts()
        if self._executed:
            fields["measured"] = [self._measured(inference) for inference in self._recording.inferences]
        if self._spans:
            fields["load_ns"] = _length((span.start_ns, span.end_ns) for span in self._prepared)
        tracks = {"Thermal state": evidence.thermal, "GPU active": evidence.gpu_active}
        if any(tracks.values()):
            fields["tracks"] = {name: _held(levels) for name, levels in tracks.items() if levels}
        if evidence.log:
            fields["log"] = self._log()
        if evidence.thread_states:
            fields["thread_states"] = self._thread_states()
        if evidence.cumulative_counters:
            fields["counter_deltas"] = self._counter_deltas()
        if evidence.generations:
            fields["requests"] = [
                {**asdict(generation), "tokens": [[*astuple(token)] for token in generation.tokens]}
                for generation in evidence.generations
            ]
        return fields

    def _interval(self, span: Span) -> JsonObject:
        """Return a row, and what neither its model nor its time shows: whose work it was."""
        calls = self._calls.get(span.model)
        overlapped = calls.overlapping(span.start_ns, span.end_ns) if calls else []
        interval = _columns(span)
        if not span.by_app and span.engine == "ANE" and calls:
            interval["by_app"] = False
        if span.inference is not None and overlapped != [span.inference]:
            interval["inference"] = span.inference.index
        return interval

    def _signposts(self) -> JsonObject:
        kinds = Counter(post.kind for post in self._evidence.signposts)
        unpaired = kinds["Begin"] - kinds["End"]
        return {"intervals": kinds["End"], "events": kinds["Event"], "unpaired": unpaired}

    def _log(self) -> JsonObject:
        """Return what the lines show: requests by process and by inference, and refused operators."""
        done = [line for line in self._evidence.log if line.status is not None]
        of_inference: dict[Inference | None, list[LogLine]] = defaultdict(list)
        for line in done:
            of_inference[line.inference].append(line)
        refused = Counter((line.operator, line.reason) for line in self._evidence.log if line.operator)
        by_pid: dict[str, list[int]] = defaultdict(list)
        for line in done:
            pid = line.writer[1] if isinstance(line.writer, tuple) else self._recording.pid
            by_pid[str(pid)].append(line.status)
        return {
            "processes": {
                pid: {"requests": len(statuses), "failed": sum(map(bool, statuses))}
                for pid, statuses in sorted(by_pid.items())
            },
            "inferences": [
                [line.status for line in of_inference[inference]] for inference in self._recording.inferences
            ],
            "refused": [
                {"operator": operator, "reason": reason, "count": count}
                for (operator, reason), count in refused.most_common()
            ],
        }

    # Per inference ------------------------------------------------------------------------------------------

    def _measured(self, inference: Inference) -> JsonObject:
        engines, app_spans = self._engines, self._work.of(inference)
        foreign = self._work.foreign.overlapping(inference.start_ns, inference.end_ns)
        work = sorted((work.start_ns, work.engine) for work in self._engine_work[inference])
        measured: JsonObject = {
            "busy_ns": {
                engine: _inside(inference, [span for span in app_spans if span.engine == engine])
                for engine in engines
            },
            "foreign_ns": _inside(inference, foreign),
            "handoffs": [engine for engine, _ in groupby(engine for _, engine in work)],
        }
        if "ANE" in engines:
            measured["submissions"] = _submissions(
                [span for span in app_spans if span.engine == "ANE"], inference
            )
        if self._evidence.thread_states:
            measured["waiting_ns"] = self._waiting_ns(inference)
        return measured

    def _waiting_ns(self, inference: Inference) -> int:
        states = self._blocked.get(inference.lane)
        blocked = [
            (state.start_ns, state.end_ns)
            for state in (states.overlapping(inference.start_ns, inference.end_ns) if states else ())
        ]
        return _length(_clipped(blocked, inference))

    # Over the run -------------------------------------------------------------------------------------------

    def _thread_states(self) -> JsonObject:
        durations: dict[str, Counter[str]] = defaultdict(Counter)
        for state in self._evidence.thread_states:
            word = "Blocked" if state.core is None else "Running"
            durations[str(state.lane.tid)][word] += state.end_ns - state.start_ns
        return {tid: dict(sorted(states.items())) for tid, states in durations.items()}

    def _counter_deltas(self) -> JsonObject:
        """Count what every sample but the first of each core added."""
        recording, seen = self._recording, set()
        engines: dict[str, list[int]] = {}
        for sample in recording.samples:
            if sample.core in seen:
                so_far = engines.get(sample.work.engine, [0] * len(recording.counter_names))
                engines[sample.work.engine] = [a + b for a, b in zip(so_far, sample.counters, strict=True)]
            seen.add(sample.core)
        return {
            event: {engine: values[place] for engine, values in sorted(engines.items())}
            for place, event in enumerate(recording.counter_names)
        }


class _Work:
    """Rows of engines at work, by the call that each was played for, else by model and time."""

    def __init__(self, spans: list[Span]) -> None:
        self._of_call: dict[Inference, list[tuple[int, Span]]] = defaultdict(list)
        for place, span in enumerate(spans):
            if span.inference is not None:
                self._of_call[span.inference].append((place, span))
        self._of_model = index_by(
            (
                (span.works_for, (place, span))
                for place, span in enumerate(spans)
                if span.inference is None and span.by_app
            ),
            lambda entry: _time_of(entry[1]),
        )
        foreign = (span for span in spans if span.engine == "ANE" and not span.by_app)
        self.foreign = SpanIndex(foreign, _time_of)

    def of(self, inference: Inference) -> list[Span]:
        """Return the work of a call, in the order of the rows."""
        places = [*self._of_call[inference]]
        for model in {inference.label, ""} & self._of_model.keys():
            places += self._of_model[model].overlapping(inference.start_ns, inference.end_ns)
        return [span for _, span in sorted(places, key=lambda entry: entry[0])]


def _time_of(entry: Span | Inference | ThreadState) -> tuple[int, int]:
    return entry.start_ns, entry.end_ns


def _columns(span: Span) -> JsonObject:
    return {
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "engine": span.engine,
        "phase": span.phase,
        "model": span.model,
        "pid": span.pid,
        "source": span.source,
        "depth": span.depth,
    }


def _inside(inference: Inference, spans: list[Span]) -> int:
    return _length(_clipped(((span.start_ns, span.end_ns) for span in spans), inference))


def _submissions(spans: list[Span], inference: Inference) -> JsonObject:
    """Return how the ANE was used in a call: here, each submission of a call begins in it."""
    inside = [span for span in spans if inference.start_ns <= span.start_ns < inference.end_ns]
    pieces = union((span.start_ns, span.end_ns) for span in inside)
    gaps = [after[0] - before[1] for before, after in pairwise(pieces)]
    names = list(dict.fromkeys(span.segment for span in inside))
    return {
        "count": len(inside),
        "segments": None if "" in names and len(inside) > 1 else len(names),
        "names": [] if "" in names else names,
        "longest_ns": max((span.end_ns - span.start_ns for span in inside), default=0),
        "gaps_ns": sum(gaps),
        "longest_gap_ns": max(gaps, default=0),
    }


def _clipped(spans: Iterable[tuple[int, int]], inference: Inference) -> list[tuple[int, int]]:
    clipped = ((max(start, inference.start_ns), min(end, inference.end_ns)) for start, end in spans)
    return [(start, end) for start, end in clipped if start < end]


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in union(spans))


def _held(levels: list[Level]) -> JsonObject:
    """Return for how long a track had each of its values."""
    durations: Counter[str] = Counter()
    for level in levels:
        durations[str(_LEVELS[level.state])] += level.end_ns - level.start_ns
    return dict(sorted(durations.items()))
