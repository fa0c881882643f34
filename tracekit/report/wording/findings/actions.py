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


def _check_first(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    limit_ns = 1.1 * arguments["warm_ns"]  # a first call that is found is longer by a fifth
    limit = f"{round(limit_ns / 1e6)}ms" if limit_ns >= 1e7 else f"{round(limit_ns / 1e3)}us"
    requirement = f"first{_scope(arguments['model'])} <= {limit}"
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(["tracekit", "check", info.name, "--require", requirement]),
    )


def _check_segments(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    quantity = "segments" if arguments["is_named"] else "submissions"
    requirement = f"{quantity} per inference{_scope(arguments['model'])} <= 1"
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(["tracekit", "check", info.name, "--require", requirement]),
    )


def _check_no_engine(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(
            [
                "tracekit",
                "check",
                info.name,
                "--forbid",
                f"{arguments['engine']}{_scope(arguments['model'])}",
            ]
        ),
    )


def _show_table(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Read the rows it rests on:",
        shell_command(["tracekit", "tables", info.name, "--schema", arguments["table"]]),
    )


def _record_again(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    options = ["--preset", arguments["preset"]]
    for instrument in arguments.get("instruments", ()):
        options += ["--instrument", instrument]
    if "time_limit_ns" in arguments:
        options += ["--time-limit", f"{arguments['time_limit_ns'] // 1_000_000_000}s"]
    target = ["--all-processes"] if arguments.get("all_processes") else None
    return NextStep(_PURPOSES[arguments["purpose"]], _record(info, *options, target=target))


def _record_process(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Record the process that runs the model:",
        _record(info, "--preset", "coreml", target=["--app", arguments["process"]]),
    )


def _analyze_process(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the process that ran a model:",
        shell_command(["tracekit", "analyze", info.name, *_run(info), "--process", arguments["process"]]),
    )


def _analyze_all(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the whole recording, not the selected process or thread alone:",
        shell_command(["tracekit", "analyze", info.name, *_run(info)]),
    )


def _analyze_signposts(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "If signposts of one kind mark the app's inference, take these as the calls:"
        if arguments["is_system"]
        else "If these intervals of the app mark its inference, take them as the calls:",
        shell_command(
            ["tracekit", "analyze", info.name, *_run(info), "--window-signpost", arguments["pattern"]]
        ),
    )


def _advice(text: str) -> Callable[[Mapping[str, Any], TraceInfo], NextStep]:
    return lambda *_: NextStep(text)


def _check_latency(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    limit = f"{-(-arguments['limit_ns'] // 100_000) / 10:g}ms"
    requirement = f"warm {arguments['statistic']}{_scope(arguments['model'])} <= {limit}"
    return NextStep(
        "Hold it in CI, once it is fixed:",
        shell_command(["tracekit", "check", info.name, *_run(info), "--require", requirement]),
    )


def _timeline(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    command = ["tracekit", "export", info.name, *_run(info), "--to", "perfetto", "-o", "timeline.pftrace"]
    return NextStep("Look at these calls in a timeline, at ui.perfetto.dev:", shell_command(command))


def _flame_graph(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "See the functions of the calling thread in a flame graph:",
        shell_command(["tracekit", "report", info.name, *_run(info), "-o", "report.html"]),
    )


def _thread_states(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Record when each thread was blocked, and in which system call:",
        _record(
            info, "--template", "System Trace", "--instrument", "Neural Engine", "--instrument", "Core ML"
        ),
    )


def _analyze_bundle(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the .trace itself, which holds every table that was recorded:",
        shell_command(["tracekit", "analyze", "RECORDING.trace", *_run(info)]),
    )


def _analyze_time(arguments: Mapping[str, Any], info: TraceInfo) -> NextStep:
    window = f"{arguments['start_ns'] / 1e6:.3f}ms-{arguments['end_ns'] / 1e6:.3f}ms"
    return NextStep(
        "See everything that ran in the time of such a call:",
        shell_command(["tracekit", "analyze", info.name, *_run(info), "--window", window]),
    )


def _read_with_xctrace(_: Mapping[str, Any], info: TraceInfo) -> NextStep:
    return NextStep(
        "On a Mac with Xcode, read it with Apple's own reader:",
        shell_command(["tracekit", "analyze", info.name, *_run(info), "--via", "xctrace"]),
    )


def _run(info: TraceInfo) -> list[str]:
    return ["--run", str(info.run)] if info.run != 1 else []


def _record(info: TraceInfo, *options: str, target: Sequence[str] | None = None) -> str:
    device = ["--device", info.device] if info.device and info.platform not in ("", "macOS") else []
    chosen = target or ["--app", info.process or "APP"]
    return shell_command(["tracekit", "record", *chosen, *device, *options])


def _scope(model: str) -> str:
    """Return `` in Net``, quoted where needed; "" where a requirement cannot hold the name."""
    if not model or not model.isprintable() or '"' in model:
        return ""
    return f" in {model}" if _WORD.fullmatch(model) else f' in "{model}"'


_PURPOSES = {
    "again": "Record again:",
    "all-processes": "If another process runs the model, record all of them while the app predicts:",
    "calls": "Record each call exactly, with the engines' own times:",
    "drift": "Record for longer, with the heat of the device, to see whether it goes on:",
    "engines": "Record with the instruments that measure each call and engine:",
    "less": "Record less at once, so that nothing is lost:",
    "longer": "Record for longer:",
    "more-calls": "Record more calls, for more samples of each engine:",
    "predicting": "Record while the app predicts:",
    "symbols": "Record with Xcode 14.3.1 or later, which stores symbols:",
    "system-model": "Record all processes, with the one that serves these requests:",
}
_STEPS: Mapping[str, Callable[[Mapping[str, Any], TraceInfo], NextStep]] = {
    "analyze-all-processes": _analyze_all,
    "analyze-bundle": _analyze_bundle,
    "analyze-process": _analyze_process,
    "analyze-signposts": _analyze_signposts,
    "analyze-time": _analyze_time,
    "check-engine": _check_engine,
    "check-first": _check_first,
    "check-issue": _check_issue,
    "check-latency": _check_latency,
    "check-no-engine": _check_no_engine,
    "check-segments": _check_segments,
    "compute-units": _compute_units,
    "flame-graph": _flame_graph,
    "load-once": _advice("Load the model once, keep it, and call it from there."),
    "model-format": _advice(
        "Produce images in the size and pixel format that the model declares, and arrays in its type, so that"
        " nothing is converted."
    ),
    "off-main-thread": _advice(
        "Call the model on another thread or queue, or with the asynchronous prediction."
    ),
    "raise-qos": _advice(
        "Call the model at a higher quality of service (user-initiated): background work stays on efficiency"
        " cores."
    ),
    "reuse-buffers": _advice(
        "Keep buffers between calls: a pixel buffer pool, and output backings of the prediction."
    ),
    "record-restart": lambda _, info: NextStep(
        "Record another start: if the model is compiled again, its cache is not used:",
        _record(info, "--preset", "coreml"),
    ),
    "show-table": _show_table,
    "warm-up": _advice(
        "Load the model and call it once with empty input before a user waits for its result."
    ),
    "read-with-xctrace": _read_with_xctrace,
    "record": _record_again,
    "record-process": _record_process,
    "thread-states": _thread_states,
    "timeline": _timeline,
}
