"""Next steps as English: a sentence, and the command to paste."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from tracekit.analysis.findings.action import Action, ActionKind, Arguments, Purpose
from tracekit.analysis.selection import Selection
from tracekit.frozen import frozen
from tracekit.model.trace import STANDARD_INPUT, TraceInfo
from tracekit.report.wording.symbols import format_binary
from tracekit.text import format_shell_command

_UNNAMED = "RECORDING"
_LONGEST_NAME = 900
"""A requirement has at most 1,000 characters."""
_MOST_FIXES = 2
_KERNEL = "kernel_task"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class NextStep:
    """One next step: what it shows or holds, and the command, "" where there is none.

    ``place`` is the part of a page that shows it without a command, "" where there is none.
    """

    text: str
    command: str = ""
    place: Literal["", "timeline", "flame"] = ""

    @property
    def line(self) -> str:
        """The text, with the command behind it."""
        return f"{self.text} {self.command}".rstrip()


def next_steps(actions: Sequence[Action], info: TraceInfo) -> Iterator[NextStep]:
    """Yield the next steps for a recording."""
    for action in actions:
        yield STEPS[action.kind](action.arguments, info)


def _add_symbols(arguments: Arguments, info: TraceInfo) -> NextStep:
    binary = format_binary(arguments["name"], arguments["uuid"])
    return NextStep(
        f"Name the functions of {binary} with its dSYM, or a folder that holds it:",
        _write_command("analyze", info, "--symbols", "PATH"),
    )


def _record_compute_units(_: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Record each setting of the compute units, to see where the model can run and what each costs:",
        _write_record_command(info, "--compute-units", "all,cpuAndNeuralEngine,cpuAndGPU,cpuOnly"),
    )


def _fix_operations(arguments: Arguments, _info: TraceInfo) -> NextStep:
    """Return what the rules of the reasons advise; without a rule, the place of the operations."""
    from tracekit.mlmodels.rules import load_rules

    fixes = {rule.id: rule.fix for rule in load_rules() if rule.id in arguments["rules"] and rule.fix}
    rules = [rule for rule in arguments["rules"] if rule in fixes]
    advice = [f"{fixes[rule].rstrip('.')} (rule {rule})." for rule in rules]
    if not advice:
        return NextStep("See these operations among those of the model's file:", "tracekit model MODEL")
    return NextStep(" ".join(advice[:_MOST_FIXES]))


def _hold_operations(arguments: Arguments, info: TraceInfo) -> NextStep:
    model, plan = arguments["model_file"], arguments["plan_file"]
    missing = [
        *([] if model else ["the model's file (.mlmodelc, .mlpackage or .aimodel)"]),
        *([] if plan else [f"{'a plan of this model' if model else 'its plan'}"]),
    ]
    a_plan = (
        " A plan is an analytics.mil in the app's caches (com.apple.e5rt.e5bundlecache), or the output of a"
        " program that tracekit plan --write-program writes for a Mac."
    )
    options = [*_list_selection_options(arguments), "--model", model or "MODEL", "--plan", plan or "PLAN"]
    return NextStep(
        f"Hold {' and '.join(missing)} against these calls: which operations are anticipated off the engine,"
        f" why, and what that costs here.{'' if plan else a_plan}".rstrip(".")
        + ":",
        _write_command("analyze", info, *options),
    )


def _check_engine(arguments: Arguments, info: TraceInfo) -> NextStep:
    requirement = f"{arguments['engine']} used share == 100%{_write_scope(arguments['model'])}"
    return _hold_requirement(arguments, info, "--require", requirement)


def _check_issue(arguments: Arguments, info: TraceInfo) -> NextStep:
    return _hold_requirement(arguments, info, "--require", f"issues {arguments['code']} == 0")


def _check_first(arguments: Arguments, info: TraceInfo) -> NextStep:
    limit_ns = 1.1 * arguments["warm_ns"]  # a first call that is found is longer by a fifth
    limit = f"{round(limit_ns / 1e6)}ms" if limit_ns >= 1e7 else f"{max(round(limit_ns / 1e3), 1)}us"
    requirement = f"first{_write_scope(arguments['model'])} <= {limit}"
    return _hold_requirement(arguments, info, "--require", requirement)


def _check_segments(arguments: Arguments, info: TraceInfo) -> NextStep:
    quantity = "segments" if arguments["is_named"] else "submissions"
    requirement = f"{quantity} per inference{_write_scope(arguments['model'])} <= 1"
    return _hold_requirement(arguments, info, "--require", requirement)


def _check_no_engine(arguments: Arguments, info: TraceInfo) -> NextStep:
    return _hold_requirement(
        arguments, info, "--forbid", f"{arguments['engine']}{_write_scope(arguments['model'])}"
    )


def _show_table(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Read the rows it rests on:",
        _write_command("tables", info, "--schema", arguments["table"]),
    )


def _record_again(arguments: Arguments, info: TraceInfo) -> NextStep:
    options = ["--preset", arguments["preset"]]
    for instrument in arguments.get("instruments", ()):
        options += ["--instrument", instrument]
    for companion in arguments.get("companions", ()):
        options += ["--with", companion]
    if limit_ns := arguments.get("time_limit_ns"):
        options += ["--time-limit", f"{limit_ns // 1_000_000_000}s"]
    target = ["--all-processes"] if arguments.get("all_processes") else None
    return NextStep(PURPOSES[arguments["purpose"]], _write_record_command(info, *options, target=target))


def _record_process(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Record the process that runs the model:",
        _write_record_command(info, "--preset", "coreml", target=_list_target_options(arguments["process"])),
    )


def _analyze_process(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the process that ran a model:",
        _write_command("analyze", info, "--process", arguments["process"]),
    )


def _analyze_all(_: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the whole recording, not the selected process or thread alone:",
        _write_command("analyze", info),
    )


def _analyze_signposts(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "If these intervals of the app mark its inference, take them as the calls:",
        _write_command("analyze", info, "--window-signpost", arguments["pattern"]),
    )


def _give_advice(text: str) -> Callable[[Arguments, TraceInfo], NextStep]:
    return lambda *_: NextStep(text)


def _check_latency(arguments: Arguments, info: TraceInfo) -> NextStep:
    limit = _format_limit(arguments["limit_ns"])
    requirement = f"warm {arguments['statistic']}{_write_scope(arguments['model'])} <= {limit}"
    return _hold_requirement(arguments, info, "--require", requirement)


def _format_limit(limit_ns: int) -> str:
    """Return a length as a requirement has it, rounded up: ``17.9ms``, ``120us``."""
    if limit_ns < 1_000_000:
        return f"{max(-(-limit_ns // 1000), 1)}us"
    whole, tenth = divmod(-(-limit_ns // 100_000), 10)
    return f"{whole}.{tenth}ms" if tenth else f"{whole}ms"


def _show_timeline(arguments: Arguments, info: TraceInfo) -> NextStep:
    options = (*_list_selection_options(arguments), "--to", "perfetto", "-o", "timeline.pftrace")
    return NextStep(
        "Look at these calls in a timeline, at ui.perfetto.dev:",
        _write_command("export", info, *options),
        "timeline",
    )


def _show_flame_graph(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "See the functions of the calling thread in a flame graph:",
        _write_command("report", info, *_list_selection_options(arguments), "-o", "report.html"),
        "flame",
    )


def _record_thread_states(_: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Record when each thread was blocked, and in which system call:",
        _write_record_command(
            info, "--template", "System Trace", "--instrument", "Neural Engine", "--instrument", "Core ML"
        ),
    )


def _analyze_bundle(_: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "Analyze the .trace itself, which holds every table that was recorded:",
        format_shell_command(["tracekit", "analyze", f"{_UNNAMED}.trace", *_list_run_options(info)]),
    )


def _analyze_time(arguments: Arguments, info: TraceInfo) -> NextStep:
    # By whole numbers: a clock's times may have more digits than a float.
    first, last = arguments["start_ns"] // 1000, -(-arguments["end_ns"] // 1000)
    start, end = (f"{time // 1000}.{time % 1000:03d}ms" for time in (first, max(last, first + 1)))
    selection: Selection = arguments.get("selection", Selection())
    part = Selection(selection.process, selection.thread)
    return NextStep(
        "See everything that ran in the time of such a call:",
        _write_command(
            "analyze", info, *_list_selection_options({"selection": part}), "--window", f"{start}-{end}"
        ),
    )


def _read_with_xctrace(arguments: Arguments, info: TraceInfo) -> NextStep:
    return NextStep(
        "On a Mac with Xcode, read it with Apple's own reader:",
        _write_command("analyze", info, *_list_selection_options(arguments), "--via", "xctrace"),
    )


def _hold_requirement(arguments: Arguments, info: TraceInfo, *requirement: str) -> NextStep:
    command = _write_command("check", info, *_list_selection_options(arguments), *requirement)
    return NextStep("Keep it fixed: add to CI:", command)


def _write_command(name: str, info: TraceInfo, *options: str) -> str:
    """Return a command that reads the recording, which is in the folder where the command is given."""
    recording = _UNNAMED if info.name == STANDARD_INPUT else info.name
    recording = f"./{recording}" if recording.startswith("-") else recording
    return format_shell_command(["tracekit", name, recording, *_list_run_options(info), *options])


def _list_selection_options(arguments: Arguments) -> list[str]:
    """Return the options of the analysis that a finding is about, so that a command sees the same calls."""
    selection: Selection = arguments.get("selection", Selection())
    options = [] if selection.process is None else ["--process", str(selection.process)]
    options += [] if selection.thread is None else ["--thread", str(selection.thread)]
    options += [word for pattern in selection.signposts for word in ("--window-signpost", pattern)]
    is_chosen = selection.windows not in ("auto", "given")
    return [*options, "--windows", selection.windows] if is_chosen else options


def _list_run_options(info: TraceInfo) -> list[str]:
    return ["--run", str(info.run)] if info.run != 1 else []


def _write_record_command(info: TraceInfo, *options: str, target: Sequence[str] | None = None) -> str:
    device = ["--device", info.device] if info.device and info.platform not in ("", "macOS") else []
    chosen = target or _list_target_options(info.process or "APP")
    return format_shell_command(["tracekit", "record", *chosen, *device, *options])


def _list_target_options(process: str) -> list[str]:
    """Return the options that record a process: the kernel is no target, and is recorded with all others."""
    return ["--all-processes"] if process == _KERNEL else ["--app", process]


def _write_scope(model: str) -> str:
    """Return `` in Net``, quoted where needed; "" where a requirement cannot hold the name."""
    if not model or not model.isprintable() or '"' in model or len(model) > _LONGEST_NAME:
        return ""
    return f" in {model}" if _WORD.fullmatch(model) else f' in "{model}"'


PURPOSES: Mapping[Purpose, str] = {
    "again": "Record again:",
    "all-processes": "If another process runs the model, record all of them while the app predicts:",
    "calls": "Record each call exactly, with the engines' own times:",
    "drift": "Record for longer, with the heat of the device, to see whether it goes on:",
    "engines": "Record with the instruments that measure each call and engine:",
    "less": "Record less at once, so that nothing is lost:",
    "longer": "Record for longer:",
    "more-calls": "Record more calls, for more samples of each engine:",
    "predicting": "Record while the app predicts:",
    "refused": "Record from a Terminal of your own; if the template Core AI was refused, as root (sudo):",
    "restart": "Record another start, to see whether the model is compiled each time:",
    "threads": "A recording shows each call, how often it ran and how long it took:",
    "log": "Record with the log beside it:",
    "power": "Record with the power beside it:",
    "symbols": "Record with Xcode 14.3.1 or later, which stores symbols:",
    "system-model": "Record all processes, with the one that serves these requests:",
}
STEPS: Mapping[ActionKind, Callable[[Arguments, TraceInfo], NextStep]] = {
    "add-symbols": _add_symbols,
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
    "compute-units": _record_compute_units,
    "fix-operations": _fix_operations,
    "flame-graph": _show_flame_graph,
    "get-whole-text": _give_advice("Save the input again, as a whole, and analyze that."),
    "load-once": _give_advice("Load the model once, keep it, and call it from there."),
    "model-format": _give_advice(
        "Produce images in the size and pixel format that the model declares, and arrays in its type, so that"
        " nothing is converted."
    ),
    "model-operations": _hold_operations,
    "off-main-thread": _give_advice(
        "Call the model on another thread or queue, or with the asynchronous prediction."
    ),
    "plan-again": _give_advice(
        "Make the plan again on the device, system and compute units of the recording, and look for a failed"
        " compilation of the Neural Engine in the log."
    ),
    "raise-qos": _give_advice(
        "Call the model at a higher quality of service (user-initiated): background work stays on efficiency"
        " cores."
    ),
    "reuse-buffers": _give_advice(
        "Keep buffers between calls: a pixel buffer pool, and output backings of the prediction."
    ),
    "sample-less": _give_advice(
        "Do less per token between the calls: select the likeliest tokens before they are sorted, and copy no"
        " logits that are not read."
    ),
    "show-table": _show_table,
    "warm-up": _give_advice(
        "Load the model and call it once with empty input before a user waits for its result."
    ),
    "read-with-xctrace": _read_with_xctrace,
    "record": _record_again,
    "record-process": _record_process,
    "thread-states": _record_thread_states,
    "timeline": _show_timeline,
}
