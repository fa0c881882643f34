"""Claims about programs that tracekit writes: a tiny model is made, and they are built and run with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tracekit.errors import InputError, XctraceError
from tracekit.mlmodels.plans.plan_kinds import read_plan
from tracekit.mlmodels.plans.programs import read_program
from tracekit.probes.probe_question import list_probes
from tracekit.probes.runner import PROGRAM_NAME
from tracekit.probes.sandwich import write_probes
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench
from tracekit.text import plural
from tracekit.xctrace.tool import CommandResult, run_command

SETTINGS = ("cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly")
QUESTION = "relu"
"""One probe and its control: two models of 0.3 MB each."""
_CALLS = 30
_BUILD_SECONDS = 300
_RUN_SECONDS = 300


def try_programs(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Make the models, build and run the program that calls them, and make plans of one."""
    folder = bench.folder / "probes"
    bench.report("Making a tiny Core ML model …")
    manifest = write_probes(folder, list_probes([QUESTION]), SETTINGS, _CALLS)
    program = folder / Path(PROGRAM_NAME).stem
    bench.report("Building the program that calls it …")
    build_program(folder / PROGRAM_NAME, program)
    called = _run([str(program), str(folder)], "the program")
    lines = [line for line in called.output.splitlines() if line.strip()]
    failures = sum(": failed: " in line for line in lines)
    expected = len(manifest.probes) * len(SETTINGS)
    yield judge(
        "probe-program",
        len(lines) == expected and not failures,
        f"{len(lines) - failures} of {expected} probes and settings were called",
    )
    bench.program = (str(program), str(folder))
    bench.calls_per_setting = dict.fromkeys(SETTINGS, _CALLS * len(manifest.probes))
    package = folder / f"{manifest.probes[0].name}.mlpackage"
    yield _try_plan(bench, "plan-program-swift", "swift", package)
    yield _try_plan(bench, "plan-program-python", "python", package)


def build_program(source: Path, program: Path) -> None:
    """Compile a Swift program. Raises ``XctraceError`` where that fails."""
    command = ["swiftc", "-O", "-parse-as-library", str(source), "-o", str(program)]
    built = run_command(command, _BUILD_SECONDS)
    if not built.ok:
        raise XctraceError(f"swiftc did not build {source.name}: {built.last_lines}.")


def _try_plan(bench: Workbench, claim: str, word: str, package: Path) -> ClaimOutcome:
    """Run a program that makes a plan, and read what it prints."""
    source = bench.folder / ("coreml_plan.swift" if word == "swift" else "coreml_plan.py")
    source.write_text(read_program(word), encoding="utf-8")
    try:
        if word == "swift":
            build_program(source, source.with_suffix(""))
            made = _run([str(source.with_suffix("")), str(package)], source.name)
        else:
            made = _run([sys.executable, str(source), str(package)], source.name)
        plan_file = source.with_suffix(".json")
        plan_file.write_text(made.output, encoding="utf-8")
        functions = read_plan(plan_file).functions
    except (XctraceError, InputError) as error:
        return judge(claim, False, str(error))
    engines = [
        entry.engine for function in functions for entry in function.operations if not entry.is_constant
    ]
    placed = sum(engine is not None for engine in engines)
    finding = f"{plural(len(engines), 'operation')}, {placed} with an engine"
    return judge(claim, bool(engines) and placed == len(engines), finding)


def _run(command: list[str], name: str) -> CommandResult:
    result = run_command(command, _RUN_SECONDS)
    if not result.ok:
        raise XctraceError(f"{name} failed: {result.last_lines}.")
    return result


PROGRAM_TRIAL = Trial(("probe-program", "plan-program-swift", "plan-program-python"), try_programs)
