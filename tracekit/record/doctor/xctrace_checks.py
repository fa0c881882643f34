"""Checks of xctrace: its licence, build, known issues, templates, instruments and devices."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from tracekit.errors import XctraceError
from tracekit.frozen import frozen
from tracekit.record.doctor.outcome import SELECT_XCODE, Check, CheckState, skip
from tracekit.record.expected_evidence import predict_evidence
from tracekit.record.recording_plan import PRESETS, InstrumentCatalog, make_plan
from tracekit.xctrace.tool import LICENCE, CommandResult, Xctrace, require_xctrace, run_command
from tracekit.xctrace.version import Version, parse_version
from tracekit.xctrace.xctrace_list import Device, list_devices, list_instruments, list_templates

XCTRACE_CHECKS = ("licence", "xctrace", "xctrace version", "commands", "templates", "instruments", "devices")
_LISTS = XCTRACE_CHECKS[3:]
_NEEDED_COMMANDS = ("record", "import", "export", "list")
_NEW_COMMANDS = ("toc", "show", "triage")
"""Commands of Xcode 27 (skills.sh/tartinerlabs). Their output was not available, so they are not used."""
_MIN_MAJOR_VERSION = 14
_MAX_SHOWN = 3
_COUNTERS = ("CPU Counters", "Counters")  # the newer name, and that of older Xcodes
_NO_XCTRACE = "xctrace does not work"

_TEMPLATES: dict[tuple[str, ...], str] = {
    ("Time Profiler",): "no template records samples with stacks",
    _COUNTERS: "no template records hardware counters",
    ("Core ML",): "its instruments are recorded one by one, with the same result",
    ("Core AI",): "its graphs (Xcode 27) cannot be recorded",
    ("Foundation Models",): "requests to the language model (Xcode 27) cannot be recorded",
}
"""Names of each template, and the cost of its absence."""
_DISPENSABLE = ("Core ML", "Core AI", "Foundation Models")
"""No Xcode seen has all three: 26 and earlier have the first, 27.0 the others. A missing one is normal."""

_RARE = ("Core AI", "Foundation Models", "Metal GPU Counters", "os_log", "Power Profiler")
"""Instruments that came later than others, or that few recordings need: the presets state what they lack."""

_INSTRUMENTS: dict[tuple[str, ...], str] = {
    ("Time Profiler",): "there are no samples with stacks, so the callers of an engine are unknown",
    ("Core ML",): "there are no predictions with the models and times that Core ML reports",
    ("Neural Engine",): "the Neural Engine's busy time cannot be measured",
    ("GPU",): "the GPU's busy time cannot be measured",
    ("os_signpost",): "your app's own intervals are missing",
    ("Points of Interest",): "your app's points of interest are missing",
    _COUNTERS: "there are no hardware counters",
    **{(name,): "" for name in _RARE},
}


@frozen
class _KnownIssue:
    """A problem of the builds from the first family to the last."""

    first_family: tuple[int, str]
    last_family: tuple[int, str]
    finding: str
    advice: str


_EMPTY_TABLE = (
    "If it is empty, the tables of the Neural Engine and the GPU and the stacks still show the engines."
)
_KNOWN_ISSUES = (
    # 16.4: every export of mattmireles/mamba-asr-mps. 26.5: docs/evidence.md.
    _KnownIssue(
        (16, "F"), (16, "F"), "Core ML's own table was empty in recordings of Xcode 16.4", _EMPTY_TABLE
    ),
    _KnownIssue(
        (17, "F"), (17, "F"), "Core ML's own table was empty in recordings of Xcode 26.5", _EMPTY_TABLE
    ),
    # software-mansion/argent#330, #350, #351, #380: 26.4 to 27.0; 26.3 is fine.
    _KnownIssue(
        (17, "E"),
        (27, "A"),
        "xctrace record --device SIMULATOR does not come to its end (Xcode 26.4 to 27.0)",
        "tracekit record --device SIMULATOR records it through this Mac, with all processes of the Mac.",
    ),
    # software-mansion/argent#333; no report that it has ended.
    _KnownIssue(
        (17, "F"),
        (99, "Z"),
        "a simulator's process is found by its display name only (since Xcode 26.5)",
        "Attach by pid.",
    ),
)


def check_xctrace(path: str | None, device: str | None, selected: bool = True) -> tuple[Check, ...]:
    """Check the xctrace at ``path``, else that of the selected Xcode, and a device if one is named.

    Raises ``UsageError`` if ``path`` does not exist.
    """
    tool: Xctrace | None = None
    version_result = CommandResult(None, error="no Xcode is selected")
    if path or selected:
        try:
            tool = require_xctrace(path)
            version_result = run_command([tool.path, "version"])
        except XctraceError as error:
            version_result = CommandResult(None, error=str(error))
    # The licence is demanded by xcrun, and by the programs in /usr/bin that forward to it.
    shim = run_command(["xcrun", "xctrace", "version"]) if selected and not path else None
    version = parse_version(version_result.output) if version_result.ok else None
    checks = (
        _check_licence(shim, version_result),
        _check_tool(tool, version_result, shim),
        *(
            (_check_version(version), *_find_known_issues(version))
            if version
            else skip(XCTRACE_CHECKS[2:3], _NO_XCTRACE)
        ),
    )
    if tool is None or version is None:
        names = _LISTS if device is None else (*_LISTS, "device")
        return (*checks, *skip(names, _NO_XCTRACE))
    return (*checks, *_check_lists(tool, version, device))


def _check_licence(shim: CommandResult | None, version_result: CommandResult) -> Check:
    if any(_is_licence_missing(result) for result in (shim, version_result)):
        advice = "Read and accept it:\nsudo xcodebuild -license"
        return Check("licence", "problem", "the licence of Xcode was not accepted", advice)
    if shim and shim.ok:
        return Check("licence", "ok", "accepted")
    return Check("licence", "skipped", "xcrun does not run xctrace" if shim else "xcrun was not run")


def _is_licence_missing(result: CommandResult | None) -> bool:
    return result is not None and LICENCE in result.error + result.output


def _check_tool(tool: Xctrace | None, version_result: CommandResult, shim: CommandResult | None) -> Check:
    if any(_is_licence_missing(result) for result in (shim, version_result)):
        return Check("xctrace", "skipped", "the licence must be accepted first")
    if tool is None:
        reason = shim.last_lines if shim else version_result.last_lines
        return Check("xctrace", "problem", f"not found: {reason}", SELECT_XCODE)
    if not version_result.ok:
        return Check("xctrace", "problem", f"does not work: {version_result.last_lines}", SELECT_XCODE)
    if parse_version(version_result.output) is None:
        advice = "Name the xctrace of an Xcode, or select one:\n" + SELECT_XCODE.split("\n")[1]
        return Check("xctrace", "problem", f"{tool.path} prints no version: is it xctrace?", advice)
    return Check("xctrace", "ok", tool.path)


def _check_version(version: Version) -> Check:
    finding = f"{version}, of {version.xcode}"
    if version.key[0] < _MIN_MAJOR_VERSION:
        advice = f"It may work; the versions known to tracekit begin with Xcode {_MIN_MAJOR_VERSION}."
        return Check(
            "xctrace version", "warning", f"{finding}: older than the versions known to tracekit", advice
        )
    return Check("xctrace version", "ok", finding)


def _find_known_issues(version: Version) -> tuple[Check, ...]:
    family = version.key[:2]
    return tuple(
        Check("known issue", "warning", issue.finding, issue.advice)
        for issue in _KNOWN_ISSUES
        if issue.first_family <= family <= issue.last_family
    )


def _check_lists(tool: Xctrace, version: Version, device: str | None) -> tuple[Check, ...]:
    templates, instruments = cache(list_templates), cache(list_instruments)  # each may take seconds
    checks = (
        _check_commands(tool),
        _check_names(_LISTS[1], templates, tool, _TEMPLATES, _DISPENSABLE),
        _check_names(_LISTS[2], instruments, tool, _INSTRUMENTS, _RARE),
        *_iter_preset_checks(lambda: InstrumentCatalog(templates(tool), instruments(tool)), version),
    )
    try:
        devices = list_devices(tool)
    except XctraceError as error:
        failed = Check("devices", "warning", f"xctrace does not list them: {error}")
        return (*checks, failed, *skip(("device",) if device else (), "xctrace does not list devices"))
    return (*checks, _check_devices(devices), *((_check_device(device, devices),) if device else ()))


def _check_commands(tool: Xctrace) -> Check:
    """Check the commands that ``xctrace help`` lists."""
    result = run_command([tool.path, "help"])
    listed_commands = re.findall(
        r"^[ \t]+([a-z][a-z-]*)\b", result.output.partition("commands:")[2], re.MULTILINE
    )
    if not result.ok or not listed_commands:
        return Check("commands", "warning", "xctrace help does not list them")
    missing = [name for name in _NEEDED_COMMANDS if name not in listed_commands]
    new = [name for name in _NEW_COMMANDS if name in listed_commands]
    finding = ", ".join(dict.fromkeys(name for name in listed_commands if name not in (*new, "xctrace")))
    if new:
        finding += f"; new, and not needed by tracekit: {', '.join(new)}"
    advice = f"No {' or '.join(missing)}: this xctrace cannot record or export." if missing else ""
    return Check("commands", "warning" if missing else "ok", finding, advice)


def _iter_preset_checks(list_all: Callable[[], InstrumentCatalog], version: Version) -> Iterator[Check]:
    """Yield what a recording with each preset will show, on this Mac."""
    try:
        catalog = list_all()
    except XctraceError:
        return  # the lists have a check of their own
    for preset in PRESETS:
        name = f"preset {preset}"
        try:
            plan = make_plan(catalog, preset)
        except XctraceError as error:
            yield Check(name, "warning", str(error))
            continue
        evidence = predict_evidence(plan, version)
        evidence_texts = [f"{row.subject}: {row.text}" for row in evidence if row.is_shown]
        unseen = [f"{row.subject} ({row.text})" for row in evidence if not row.is_shown]
        notes = [f"Not measured: {', '.join(unseen)}."] if unseen else []
        yield Check(name, "ok", "; ".join(evidence_texts), " ".join([*notes, *plan.notes]))


def _check_names(
    check_name: str,
    list_names: Callable[[Xctrace], Sequence[str]],
    tool: Xctrace,
    expected: Mapping[tuple[str, ...], str],
    dispensable: Sequence[str] = (),
) -> Check:
    try:
        available = list_names(tool)
    except XctraceError as error:
        return Check(check_name, "warning", f"xctrace does not list them: {error}")
    present = [name for names in expected for name in names if name in available]
    missing = {names[0]: cost for names, cost in expected.items() if not set(names) & set(available)}
    state: CheckState = "ok" if set(missing) <= set(dispensable) else "warning"
    finding = f"{', '.join(present) or 'none that tracekit uses'} (of {len(available)})"
    return Check(
        check_name,
        state,
        finding,
        " ".join(f"No {name}: {cost}." for name, cost in missing.items() if cost),
    )


def _check_devices(devices: Sequence[Device]) -> Check:
    offline = [device for device in devices if not device.online]
    online = [device for device in devices if device.online]
    parts = [
        _format_devices("this Mac", (device for device in online if device.kind == "mac")),
        _format_devices("online", (device for device in online if device.kind == "device")),
        _format_devices("offline", offline),
        _format_devices("simulated", (device for device in online if device.kind == "simulator")),
    ]
    finding = "; ".join(part for part in parts if part) or "none"
    if not offline:
        return Check("devices", "ok" if devices else "warning", finding)
    return Check("devices", "warning", finding, _format_wake_advice(offline[:_MAX_SHOWN]))


def _format_devices(group: str, devices: Iterable[Device]) -> str:
    names = [f"{device.name} ({device.os})" if device.os else device.name for device in devices]
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    count = "" if group == "this Mac" else f"{len(names)} "
    return f"{count}{group}: {', '.join(names[:_MAX_SHOWN])}{more}" if names else ""


def _format_wake_advice(devices: Sequence[Device]) -> str:
    commands = [f"xcrun devicectl device info details --device {device.udid}" for device in devices]
    sentence = "To use an offline device: unlock it, connect it by cable, trust this Mac. This can wake it:"
    return "\n".join([sentence, *commands])


def _check_device(name: str, devices: Sequence[Device]) -> Check:
    matches = [device for device in devices if name.lower() == device.udid.lower()]
    matches = matches or [device for device in devices if name == device.name]
    if not matches:
        candidates = [candidate for device in devices for candidate in (device.name, device.udid)]
        close = difflib.get_close_matches(name, candidates, n=_MAX_SHOWN, cutoff=0.5)
        suggestion = f"Did you mean {' or '.join(close)}? " if close else ""
        advice = f"{suggestion}List all:\nxcrun xctrace list devices"
        return Check("device", "problem", f"xctrace lists no device '{name}'", advice)
    if len(matches) > 1:
        advice = f"Name one by its identifier: {', '.join(device.udid for device in matches)}."
        return Check("device", "problem", f"{len(matches)} devices are called '{name}'", advice)
    if not matches[0].online:
        return Check("device", "problem", f"{matches[0]} is offline", _format_wake_advice(matches))
    return Check("device", "ok", f"{matches[0]}, online")
