"""Next steps as English: a sentence, and the command to paste."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.analysis.findings.finding import Action
from tracekit.model.trace import TraceInfo
from tracekit.text import shell_command

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class NextStep:
    """One next step: what it shows or holds, and the command, "" where there is none."""

    text: str
    command: str = ""


def next_steps(actions: Sequence[Action], info: TraceInfo) -> Iterator[NextStep]:
    """Yield the next steps for a recording."""
    for action in actions:
        yield _STEPS[action.kind](action.arguments, info)


def _compute_units(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Record each setting of the compute units, to see where the model can run and what each costs:",
        _record(info, "--compute-units", "all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly"),
    )


def _check_engine(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    requirement = f"{arguments['engine']} used share == 100%{_scope(arguments['model'])}"
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(["tracekit", "check", info.name, "--require", requirement]),
    )


def _check_issue(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(["tracekit", "check", info.name, "--require", f"issues {arguments['code']} == 0"]),
    )


def _show_table(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Read the rows it rests on:",
        shell_command(["tracekit", "tables", info.name, "--schema", arguments["table"]]),
    )


def _record(info: TraceInfo, *options: str) -> str:
    device = ["--device", info.device] if info.device and info.platform not in ("", "macOS") else []
    return shell_command(["tracekit", "record", "--app", info.process or "APP", *device, *options])


def _scope(model: str) -> str:
    """Return `` in Net``, quoted where needed; "" where a requirement cannot hold the name."""
    if not model or not model.isprintable() or '"' in model:
        return ""
    return f" in {model}" if _WORD.fullmatch(model) else f' in "{model}"'


_STEPS: Mapping[str, Callable[[Mapping[str, Any], TraceInfo], NextStep]] = {
    "check-engine": _check_engine,
    "check-issue": _check_issue,
    "compute-units": _compute_units,
    "show-table": _show_table,
}
