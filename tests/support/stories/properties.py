"""Properties of every analysis of a story: functions that return the violations as text.

Each violation has a kind; ``KINDS`` says what it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from stories.claims import Claim, claims_of, contested_ns, engine_time, outcomes_of
from stories.model import ANE_TABLE, CORE_ML_TABLE, ENGINES, GPU_TABLE, TABLE_OF, Call, Engine, Story
from stories.truth import (
    calls_meant,
    has_edges,
    is_clear,
    is_excused,
    is_owner_clear,
    is_thread_clear,
    length_ns,
    overlap_ns,
    possible_engines,
)
from tracekit import Analysis

KINDS = {
    "analysis-failed": "the analysis raises an error",
    "engine-not-in-truth": "a call is on an engine that did not work for it",
    "call-not-in-truth": "a call is stated that nobody made",
    "answer-not-in-truth": "the answer has more calls of a model on an engine than there were",
    "headline-not-in-truth": "the headline names an engine that did not work for that model",
    "change-not-in-truth": "a finding says that a model changed its engine, and no copy of it did",
    "partly-not-in-truth": "a finding says that calls are cut, and none is",
    "contention-not-in-truth": "a finding says that another process used the engine meanwhile, and none did",
    "check-passed-against-truth": "a requirement passes that the calls do not meet",
    "check-failed-against-truth": "a requirement fails that all calls meet",
    "engine-missed": "an engine's own row in a call, and no other call near, is not stated, nor contested",
    "busy-differs": "the time of an engine in a call is not that of its rows",
    "call-missed": "a call with a row of Core ML is not listed",
    "call-listed-twice": "a call with a row of Core ML is listed again, as one from another source",
    "wrong-thread": "a call is given to a thread that did not make it",
    "samples-differ": "a call has samples, and not those of its own thread",
    "samples-missed": "a call has no sample of its own thread, which is the only one that may have made it",
    "engine-time-counted-twice": "the calls have more time of an engine than all of its rows",
    "time-not-conserved": "owned, contested and others' time are not the time of the rows",
    "host-time-as-engine-time": "samples of the host are stated as work of the Neural Engine or the GPU",
    "contested-not-called": "work that may be of two calls is not called contested",
    "contested-but-decided": "a requirement that depends on contested work is decided",
    "engine-changed-without-table": "without a table, a call is on another engine than with it",
    "budget-not-whole": "the parts of a call's time leave a gap, overlap or do not sum to its length",
    "budget-ANE-not-in-truth": "a budget has work of the Neural Engine for a call when there was none",
    "budget-GPU-not-in-truth": "a budget has work of the GPU for a call when there was none",
    "budget-other_process-not-in-truth": "a budget has work of another process when there was none",
    "budget-other_call-not-in-truth": "a budget has work for others when there was none",
    "budget-hand_over-not-in-truth": "a budget has a hand-over while an engine worked for the call",
    "budget-other_threads-not-in-truth": "a budget has other threads alone while the calling thread ran",
    "budget-idle-not-in-truth": "a budget has idle time while an engine or a thread of the app worked",
    "row-not-in-truth": "the part that a call's row names did not differ so, or an engine's work differed by more",
    "changed-by-process": "another process changes the numbers of a model",
    "changed-by-model": "another model of the same app changes the numbers of a model",
    "changed-by-threads": "the numbers of threads change the numbers of a model",
    "changed-by-order": "the order of rows changes the numbers of a model",
    "changed-by-scale": "ten times as long in all is not the same, ten times as long",
    "changed-by-clock": "a recording that begins at another time of the clock has other numbers",
}
_CHANGES = frozenset({"fell-back", "came-back", "moved-to-engine", "alternates", "differs-by-function"})
_ENGINE_WORDS: dict[str, Engine] = {"Neural Engine": "ANE", "GPU": "GPU", "CPU": "CPU"}
_ON_ENGINE = re.compile(
    r"(?:ran|work|submitted work|counted|and|,) (?:on|to|for) the (Neural Engine|GPU|CPU)"
)
_BUSY = re.compile(r"the (Neural Engine|GPU|CPU) busy")
_HOST_AS_ENGINE = re.compile(r"of (?:GPU|Neural Engine) work (?:each )?\(sampled\)")
SAMPLES_AT_EDGES = 1
"""So many samples lie between a call's own edges and those that its stacks show."""


@dataclass(frozen=True)
class Violation:
    """A property that does not hold: its kind, and an example."""

    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    """A story and its analysis."""

    story: Story
    analysis: Analysis

    @cached_property
    def claims(self) -> list[Claim]:
        """The statement about each call."""
        return claims_of(self.analysis)

    @cached_property
    def meant(self) -> list[list[Call]]:
        """The calls that each claim may be about."""
        return [calls_meant(self.story, claim) for claim in self.claims]

    @cached_property
    def listed(self) -> dict[int, Claim]:
        """The claim with the very edges of each clear call, by the call's number."""
        return {
            number: claim
            for number, call in enumerate(self.story.calls)
            if is_clear(self.story, call)
            for claim in self.claims
            if has_edges(claim, call) and claim.model == call.model
        }

    @cached_property
    def models(self) -> list[str]:
        """The names of the target's models."""
        return sorted({call.model for call in self.story.calls if call.process == self.story.target})


Property = Callable[[Case], Iterator[Violation]]


def violations(case: Case, properties: Sequence[Property] | None = None) -> list[Violation]:
    """Return what an analysis states against the truth of its story, by all properties or by these."""
    return [violation for holds in properties or PROPERTIES for violation in holds(case)]


def claims_are_true(case: Case) -> Iterator[Violation]:
    """No call is on an engine that did not work for it."""
    for claim, calls in zip(case.claims, case.meant, strict=True):
        if claim.engines and not calls:
            yield Violation("call-not-in-truth", claim.text())
        elif wrong := claim.engines - possible_engines(case.story, calls):
            yield Violation(
                "engine-not-in-truth", f"{claim.text()}; {'+'.join(sorted(wrong))} did not work for it"
            )


def answers_are_true(case: Case) -> Iterator[Violation]:
    """No more calls of a model are stated to be on an engine than there were."""
    for answer in case.analysis.answer.models:
        calls = [
            call
            for call in case.story.calls
            if call.model == answer.model and answer.pid in (-1, call.process.pid)
        ]
        for use in answer.engines:
            engine: Engine = str(use.engine)  # type: ignore[assignment]
            true = sum(engine in possible_engines(case.story, [call]) for call in calls)
            is_too_many = use.calls > true and (true == 0 or not answer.is_engine_time)
            if calls and is_too_many:
                text = f"{answer.model}: {use.calls} of {answer.calls} calls on {engine}, in truth {true}"
                yield Violation("answer-not-in-truth", text)


def headline_is_true(case: Case) -> Iterator[Violation]:
    """A sentence about one model names only engines that worked for it."""
    headline = case.analysis.headline
    if _HOST_AS_ENGINE.search(headline):
        yield Violation("host-time-as-engine-time", headline)
    models = sorted({call.model for call in case.story.calls}, key=len, reverse=True)
    subject = None
    for sentence in re.split(r"(?<=\.) (?=[A-Z-])", headline):
        starts = [
            model
            for model in models
            if re.match(rf"(?:(?:A|One) call of )?{re.escape(model)}(?![\w-])", sentence)
        ]
        subject = starts[0] if starts else subject if sentence.startswith(("The ", "They ")) else None
        if subject is None:
            continue
        words = {*_ON_ENGINE.findall(sentence), *_BUSY.findall(sentence)}
        wrong = {_ENGINE_WORDS[word] for word in words} - possible_engines(
            case.story, case.story.calls_of(subject)
        )
        if wrong:
            text = f"'{sentence}': {'+'.join(sorted(wrong))} did not work for {subject}"
            yield Violation("headline-not-in-truth", text)


def findings_are_true(case: Case) -> Iterator[Violation]:
    """A model changed its engine, was cut or shared it, where a finding has that."""
    story = case.story
    for finding in case.analysis.findings:
        calls = [
            call
            for call in story.calls
            if call.model == finding.model and finding.pid in (-1, call.process.pid)
        ]
        if not calls or finding.confidence == "possible":
            continue
        if finding.kind in _CHANGES:
            engine: Engine = str(finding.numbers["engine"])  # type: ignore[assignment]
            copies: dict[tuple[int, int], set[bool]] = {}
            for call in calls:
                uses = (
                    {True, engine in call.engines}
                    if is_excused(story, call, engine)
                    else {engine in call.engines}
                )
                copy = call.copy if story.has(CORE_ML_TABLE) else 0  # nothing else tells copies apart
                copies.setdefault((call.process.pid, copy), set()).update(uses)
            if not any(len(uses) == 2 for uses in copies.values()):
                yield Violation("change-not-in-truth", f"{finding.kind} of {finding.model} from {engine}")
        if finding.kind == "partly-on-engine":
            is_cut = any(len(call.parts) > 1 for call in calls)
            if not is_cut and not any(is_excused(story, call, e) for call in calls for e in ("ANE", "GPU")):
                yield Violation("partly-not-in-truth", f"partly-on-engine of {finding.model}")
        if finding.kind == "engine-contention" and finding.numbers["are_processes_known"]:
            foreign = [row for row in story.rows_of("ANE") if story.calls[row.call].process != story.target]
            if not any(overlap_ns(row, call) for row in foreign for call in calls):
                yield Violation("contention-not-in-truth", f"engine-contention of {finding.model}")


def checks_are_true(case: Case) -> Iterator[Violation]:
    """A requirement on the calls of a model passes only if they meet it, and fails only if they do not."""
    story, claimed = case.story, {claim.model for claim in case.claims}
    requirements: dict[str, tuple[str, Engine, int]] = {
        f"{engine} used share == {share}% in '{model}'": (model, engine, share)
        for model in case.models
        if model in claimed
        for engine in ENGINES
        for share in (100, 0)
    }
    contested = {story.calls[row.call].model for row in story.rows if row.is_contested}
    for requirement, outcome in outcomes_of(case.analysis, list(requirements)).items():
        model, engine, share = requirements[requirement]
        calls = [
            call for call in story.calls_of(model, story.target) if not call.is_cut and story.is_visible(call)
        ]
        if not calls or outcome not in ("passed", "failed"):
            continue
        if model in contested and engine == "ANE":
            yield Violation("contested-but-decided", f"{requirement}: {outcome}")
        uses = [engine in call.engines for call in calls]
        is_excused_call = any(is_excused(story, call, engine) for call in calls)
        is_met = all(uses) if share else not any(uses)
        is_whole = (
            len(calls) == len(story.calls_of(model)) == sum(claim.model == model for claim in case.claims)
        )
        if outcome == "passed" and not is_met and not (share and is_excused_call):
            yield Violation("check-passed-against-truth", requirement)
        if outcome == "failed" and is_met and is_whole and not is_excused_call:
            yield Violation("check-failed-against-truth", requirement)


def clear_calls_are_exact(case: Case) -> Iterator[Violation]:
    """A call with a row of its own in Core ML's table is listed once, with its engines, their time and its samples."""
    story = case.story
    for number, call in enumerate(story.calls):
        if not is_clear(story, call):
            continue
        claim = case.listed.get(number)
        if claim is None:
            yield Violation("call-missed", f"call {number} of {call.model}")
            continue
        if claim.tid not in (-1, call.tid):
            yield Violation("wrong-thread", f"call {number} of thread {call.tid:#x} is {claim.text()}")
        yield from _engines_are_exact(case, number, call, claim)
        if story.is_sampled(call.process) and not any(sample.is_worker for sample in story.samples):
            count = sum(sample.call == number for sample in story.samples)
            is_due = claim.all_samples or is_thread_clear(story, call)
            if is_due and abs(count - claim.all_samples) > SAMPLES_AT_EDGES:
                text = f"call {number} of {call.model}: {claim.all_samples} samples, in truth {count}"
                yield Violation("samples-differ" if claim.all_samples else "samples-missed", text)
    yield from _listed_once(case)


def _engines_are_exact(case: Case, number: int, call: Call, claim: Claim) -> Iterator[Violation]:
    story = case.story
    for position, engine in enumerate(ENGINES):
        has_table = engine == "CPU" or story.has(TABLE_OF[engine])
        if engine not in call.engines or not has_table or not is_owner_clear(story, call, engine):
            continue
        if engine in claim.contested:  # some of its time, or all
            continue
        if engine not in claim.engines:
            yield Violation("engine-missed", f"call {number}: {claim.text()}; {engine} worked for it")
        parts = [part for part in call.parts if part.engine == engine]
        least, most = sum(overlap_ns(part, call) for part in parts), sum(map(length_ns, parts))
        if not least <= claim.busy_ns[position] <= most:
            text = (
                f"call {number} of {call.model}: {engine} busy {claim.busy_ns[position]} ns, in truth {least}"
            )
            yield Violation("busy-differs", text)


def _listed_once(case: Case) -> Iterator[Violation]:
    """A call on stacks that lies in calls of Core ML's table is one of them."""
    edges = {(claim.start_ns, claim.end_ns) for claim in case.listed.values()}
    for claim in case.claims:
        if (claim.start_ns, claim.end_ns) in edges or claim.source == "coreml-os-signpost":
            continue
        around = [
            call
            for number, call in enumerate(case.story.calls)
            if number in case.listed and call.process.pid == claim.pid and call.tid == claim.tid
        ]
        if 2 * sum(overlap_ns(call, claim) for call in around) >= length_ns(claim):
            yield Violation("call-listed-twice", claim.text())


def time_is_conserved(case: Case) -> Iterator[Violation]:
    """An engine's time is shared out once: to calls, as contested, to others."""
    for position, engine in enumerate(ENGINES[:2]):
        rows = case.story.rows_of(engine)
        total = sum(map(length_ns, rows))
        busy = sum(claim.busy_ns[position] for claim in case.claims)
        if busy > total:
            text = f"{engine}: {busy} ns in calls, {total} ns in all rows"
            yield Violation("engine-time-counted-twice", text)
        time = engine_time(case.analysis, engine)
        if time is not None and (stated := time.owned_ns + time.contested_ns + time.others_ns) != total:
            yield Violation("time-not-conserved", f"{engine}: {stated} ns stated, {total} ns in rows")


def host_time_is_no_engine_time(case: Case) -> Iterator[Violation]:
    """Without a table of an engine, no time of its work is stated."""
    rows, segments = case.analysis.attribution_rows, case.analysis.segments
    for engine, table in (("ANE", ANE_TABLE), ("GPU", GPU_TABLE)):
        if case.story.has(table) and case.story.rows_of(engine):  # type: ignore[arg-type]
            continue
        stated = rows["busy_ns"][(rows["engine"] == engine).to_numpy(bool)].fillna(0).sum()
        pieces = segments["busy_ns"][(segments["engine"] == engine).to_numpy(bool)].fillna(0).sum()
        if stated or pieces:
            text = f"{engine}: {stated} ns in calls, {pieces} ns in segments, without a row of it"
            yield Violation("host-time-as-engine-time", text)


def contested_is_called_so(case: Case) -> Iterator[Violation]:
    """The time of rows that may be of several calls is stated as contested."""
    rows = [row for row in case.story.rows_of("ANE") if row.is_contested]
    contested = _union_ns((row.start_ns, row.end_ns) for row in rows)
    stated = contested_ns(case.analysis, "ANE")
    if stated < contested:
        yield Violation("contested-not-called", f"{stated} ns of {contested} ns")


def _union_ns(spans: Iterable[tuple[int, int]]) -> int:
    total = reached = 0
    for start_ns, end_ns in sorted(spans):
        total += max(0, end_ns - max(start_ns, reached))
        reached = max(reached, end_ns)
    return total


ABOUT_CALLS: tuple[Property, ...] = (claims_are_true, time_is_conserved, host_time_is_no_engine_time)
"""The properties that read only what is stated of each call, which take little time."""
PROPERTIES: tuple[Property, ...] = (
    *ABOUT_CALLS,
    answers_are_true,
    headline_is_true,
    findings_are_true,
    checks_are_true,
    clear_calls_are_exact,
    contested_is_called_so,
)
