"""Claims about recordings with each preset, and with each further template, of a program that calls models.

Each recording is checked alone; a claim about all of them holds where it holds for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tracekit.errors import InputError, TracekitError, XctraceError
from tracekit.load import open_trace
from tracekit.model.trace import RunInfo
from tracekit.proof.claim_outcome import ClaimOutcome, judge, leave
from tracekit.proof.trials import recorded_checks as checks
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench, describe_attempt
from tracekit.record.recorder import TIME_LIMIT
from tracekit.record.recording_plan import PRESETS, TEMPLATE_INSTRUMENTS, InstrumentPlan, make_plan
from tracekit.record.session import RecordingAttempt
from tracekit.text import list_first, plural

_LIMIT_SECONDS = 60.0
"""The program ends long before, after its calls."""
_PACKS = "packs"
_MOST_NAMED = 4
_FINDINGS = defaultdict[str, list[tuple[str, bool, str]]]
"""For each claim about all recordings: the recording, whether it holds there, and the finding."""

_RARE = {
    "unconfirmed-types": "no recording that was made here has such a value",
    "run-issues-kept": "xctrace printed no problem here",
}
"""Claims that not every recording can settle."""
_OF_ALL: tuple[tuple[str, Callable[[Path], tuple[bool, str]]], ...] = (
    ("native-reading", checks.check_readings),
    ("fallback-export", checks.check_fallback),
)


def try_presets(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Record with each preset of this Xcode, and check what each recording holds."""
    if not bench.program:
        raise XctraceError("The program that calls models was not built.")
    (bench.folder / _PACKS).mkdir(exist_ok=True)
    findings = _FINDINGS(list)
    for preset in PRESETS:
        claim = f"preset-{preset}"
        plan = make_plan(bench.catalog, preset)
        if preset == "coreai" and plan.template is None:
            yield leave(claim, "this Xcode has no template Core AI")
            continue
        attempt = bench.record(claim, plan, bench.launch(), seconds=_LIMIT_SECONDS)
        if attempt.result.state != "good":
            yield judge(claim, False, describe_attempt(attempt))
            continue
        run = checks.read_run(attempt.bundle)
        yield checks.check_evidence(claim, run, plan)
        _check_recording(bench, claim, attempt, run, findings)
    if bench.every_template:
        _record_templates(bench, findings)
    for claim, reason in _RARE.items():
        if claim not in findings:
            yield leave(claim, reason)
    for claim, entries in findings.items():
        yield _join(claim, entries)


def _record_templates(bench: Workbench, findings: _FINDINGS) -> None:
    """Record with the templates that tracekit knows and no preset uses."""
    used = {make_plan(bench.catalog, preset).template for preset in PRESETS}
    for template in TEMPLATE_INSTRUMENTS:
        if template in bench.catalog.templates and template not in used:
            name = f"template-{template.replace(' ', '-')}"
            attempt = bench.record(name, InstrumentPlan(template, ()), bench.launch(), seconds=_LIMIT_SECONDS)
            if attempt.result.state == "good":
                _check_recording(bench, name, attempt, checks.read_run(attempt.bundle), findings)


def _check_recording(
    bench: Workbench, name: str, attempt: RecordingAttempt, run: RunInfo, findings: _FINDINGS
) -> None:
    bundle = attempt.bundle
    bench.report(f"Checking {name} …")
    launched = attempt.runs[-1]
    seconds = launched.ended - launched.started
    ended = not launched.stop_reason and not any(line.startswith(TIME_LIMIT) for line in launched.output)
    finding = f"it took {seconds:.0f} s, with exit code {launched.exit_code}"
    findings["launched-program"].append((name, ended, finding))
    findings["instruments-once"].append((name, *checks.check_once(run)))
    for claim, check in _OF_ALL:
        findings[claim].append((name, *_call(check, bundle)))
    pack = bench.folder / _PACKS / f"{name}.tracekit.zip"
    findings["redaction"].append((name, *_call(lambda path: checks.write_redacted_pack(path, pack), bundle)))
    issues = {issue.code for issue in open_trace(bundle).issues}
    if "types-unconfirmed" in issues:
        _, holds, finding = findings["native-reading"][-1]
        findings["unconfirmed-types"].append((name, holds, finding))
    if attempt.result.notes:
        reported = " ".join(issue.message for issue in open_trace(bundle).issues)
        is_kept = all(note.rstrip(".") in reported for note in attempt.result.notes)
        count = plural(len(attempt.result.notes), "problem")
        findings["run-issues-kept"].append((name, is_kept, f"{count} printed"))


def _call(check: Callable[[Path], tuple[bool, str]], bundle: Path) -> tuple[bool, str]:
    try:
        return check(bundle)
    except TracekitError as error:
        problem = error.problem if isinstance(error, InputError) else str(error)
        return False, f"it could not be checked: {problem}"


def _join(claim: str, entries: list[tuple[str, bool, str]]) -> ClaimOutcome:
    """Return the outcome of a claim about several recordings, with the findings that decide it."""
    failed = [f"{name}: {finding}" for name, holds, finding in entries if not holds]
    listed = failed or [f"{name}: {finding}" for name, _, finding in entries]
    return judge(claim, not failed, list_first(listed, _MOST_NAMED))


PRESET_TRIAL = Trial(
    (
        *(f"preset-{preset}" for preset in PRESETS),
        "launched-program",
        "instruments-once",
        "native-reading",
        "fallback-export",
        "redaction",
        "unconfirmed-types",
        "run-issues-kept",
    ),
    try_presets,
)
