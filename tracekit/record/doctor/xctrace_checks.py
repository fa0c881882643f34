"""What the xctrace at hand is and offers: its build, templates, instruments and devices."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracekit.errors import XctraceError
from tracekit.record.doctor.check import SELECT_XCODE, Check, State, skip
from tracekit.xctrace.listing import Device, list_devices, list_instruments, list_templates
from tracekit.xctrace.tool import LICENCE, CommandResult, Xctrace, require_xctrace, run_command
from tracekit.xctrace.version import Version, parse_version

OFFER = ("licence", "xctrace", "xctrace version", "templates", "instruments", "devices")
_LISTS = OFFER[3:]
_OLDEST_MAJOR = 14
_SHOWN = 3
_COUNTERS = ("CPU Counters", "Counters")  # the newer name, and that of older Xcodes

_TEMPLATES: dict[tuple[str, ...], str] = {
    ("Time Profiler",): "no template gives samples with stacks",
    _COUNTERS: "no template records hardware counters",
    ("Core ML",): "its instruments are recorded one by one, which shows the same",
    ("Core AI",): "its graphs (Xcode 27) cannot be recorded",
    ("Foundation Models",): "requests to the language model (Xcode 27) cannot be recorded",
}
_ELSEWHERE = ("Core ML", "Core AI", "Foundation Models")
"""No Xcode seen has all three: 26 and earlier have the first, 27.0 the others. One that lacks is normal."""

_INSTRUMENTS: dict[tuple[str, ...], str] = {
    ("Time Profiler",): "there are no samples with stacks, so nothing tells who called an engine",
    ("Core ML",): "there are no predictions with their models and times as Core ML sees them",
    ("Neural Engine",): "the ANE's busy time cannot be measured",
    ("GPU",): "the GPU's busy time cannot be measured",
    ("os_signpost",): "your app's own intervals are missing",
    ("Points of Interest",): "your app's points of interest are missing",
    _COUNTERS: "there are no hardware counters",
}


@dataclass(frozen=True)
class _Known:
    """Something that the builds of some families do, from the first family to the last."""

    first: tuple[int, str]
    last: tuple[int, str]
    found: str
    advice: str


_EMPTY_TABLE = "Where it is empty, the Neural Engine's and GPU's tables and the stacks still tell."
_KNOWN = (
    # 16.4: every export of mattmireles/mamba-asr-mps. 26.5: docs/evidence.md.
    _Known((16, "F"), (16, "F"), "Core ML's own table was empty in recordings of Xcode 16.4", _EMPTY_TABLE),
    _Known((17, "F"), (17, "F"), "Core ML's own table was empty in recordings of Xcode 26.5", _EMPTY_TABLE),
    # software-mansion/argent#330, #350, #351, #380: 26.4 to 27.0; 26.3 is fine.
    _Known(
        (17, "E"),
        (27, "A"),
        "recording a simulator with a template can hang at its end (Xcode 26.4 to 27.0)",
        "Record simulators with instruments instead of a template, and with a time limit.",
    ),
    # software-mansion/argent#333; nothing says that it has ended.
    _Known(
        (17, "F"),
        (99, "Z"),
        "a simulator's process is found by its display name only (since Xcode 26.5)",
        "Attach by pid.",
    ),
)


def check_offer(path: str | None, device: str | None, selected: bool = True) -> tuple[Check, ...]:
    """Look at the xctrace at ``path``, else at the one of the Xcode that is selected, and at one device.

    Raises ``UsageError`` where ``path`` is not there.
    """
    tool: Xctrace | None = None
    answer = CommandResult(None, error="no Xcode is selected")
    if path or selected:
        try:
            tool = require_xctrace(path)
            answer = run_command([tool.path, "version"])
        except XctraceError as error:
            answer = CommandResult(None, error=str(error))
    # The licence is asked for by xcrun, and by the programs in /usr/bin that stand for it.
    shim = run_command(["xcrun", "xctrace", "version"]) if selected and not path else None
    version = parse_version(answer.output) if answer.ok else None
    checks = (
        _licence(shim, answer),
        _tool(tool, answer, shim),
        *((_version(version), *_known(version)) if version else skip(OFFER[2:3], "xctrace does not work")),
    )
    if tool is None or version is None:
        names = _LISTS if device is None else (*_LISTS, "device")
        return (*checks, *skip(names, "xctrace does not work"))
    return (*checks, *_lists(tool, device))


def _licence(shim: CommandResult | None, answer: CommandResult) -> Check:
    said = [one.error + one.output for one in (shim, answer) if one]
    if any(LICENCE in one for one in said):
        advice = "Read and accept it:\nsudo xcodebuild -license"
        return Check("licence", "problem", "the licence of Xcode was not accepted", advice)
    if shim and shim.ok:
        return Check("licence", "ok", "accepted")
    return Check("licence", "skipped", "xcrun does not run xctrace" if shim else "xcrun was not asked for it")


def _tool(tool: Xctrace | None, answer: CommandResult, shim: CommandResult | None) -> Check:
    if any(one and LICENCE in one.error + one.output for one in (answer, shim)):
        return Check("xctrace", "skipped", "it asks for the licence first")
    if tool is None:
        gist = shim.gist if shim else answer.gist
        return Check("xctrace", "problem", f"not found: {gist}", SELECT_XCODE)
    if not answer.ok:
        return Check("xctrace", "problem", f"does not work: {answer.gist}", SELECT_XCODE)
    if parse_version(answer.output) is None:
        advice = "Name the xctrace of an Xcode, or select one:\n" + SELECT_XCODE.split("\n")[1]
        return Check("xctrace", "problem", f"{tool.path} gives no version: is it xctrace?", advice)
    return Check("xctrace", "ok", tool.path)


def _version(version: Version) -> Check:
    found = f"{version}, of {version.xcode}"
    if version.key[0] < _OLDEST_MAJOR:
        advice = f"It may work; what tracekit knows of xctrace begins with Xcode {_OLDEST_MAJOR}."
        return Check("xctrace version", "warning", f"{found}: older than tracekit knows", advice)
    return Check("xctrace version", "ok", found)


def _known(version: Version) -> tuple[Check, ...]:
    family = version.key[:2]
    here = [one for one in _KNOWN if one.first <= family <= one.last]
    return tuple(Check("known issue", "warning", one.found, one.advice) for one in here)


def _lists(tool: Xctrace, device: str | None) -> tuple[Check, ...]:
    names = (
        _names(_LISTS[0], list_templates, tool, _TEMPLATES, _ELSEWHERE),
        _names(_LISTS[1], list_instruments, tool, _INSTRUMENTS),
    )
    try:
        devices = list_devices(tool)
    except XctraceError as error:
        failed = Check("devices", "warning", f"xctrace does not list them: {error}")
        return (*names, failed, *skip(("device",) if device else (), "xctrace does not list devices"))
    return (*names, _devices(devices), *((_device(device, devices),) if device else ()))


def _names(
    what: str,
    listing: Callable[[Xctrace], Sequence[str]],
    tool: Xctrace,
    wanted: Mapping[tuple[str, ...], str],
    dispensable: Sequence[str] = (),
) -> Check:
    try:
        offered = listing(tool)
    except XctraceError as error:
        return Check(what, "warning", f"xctrace does not list them: {error}")
    here = [name for names in wanted for name in names if name in offered]
    missing = {names[0]: cost for names, cost in wanted.items() if not set(names) & set(offered)}
    state: State = "ok" if set(missing) <= set(dispensable) else "warning"
    found = f"{', '.join(here) or 'none that tracekit knows'} (of {len(offered)})"
    return Check(what, state, found, " ".join(f"No {name}: {cost}." for name, cost in missing.items()))


def _devices(devices: Sequence[Device]) -> Check:
    offline = [one for one in devices if not one.online]
    parts = [
        _some("this Mac", (one for one in devices if one.kind == "mac" and one.online)),
        _some("online", (one for one in devices if one.kind == "device" and one.online)),
        _some("offline", offline),
        _some("simulated", (one for one in devices if one.kind == "simulator" and one.online)),
    ]
    found = "; ".join(part for part in parts if part) or "none"
    if not offline:
        return Check("devices", "ok" if devices else "warning", found)
    return Check("devices", "warning", found, _wake(offline[:_SHOWN]))


def _some(what: str, devices: Iterable[Device]) -> str:
    names = [f"{one.name} ({one.os})" if one.os else one.name for one in devices]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    count = "" if what == "this Mac" else f"{len(names)} "
    return f"{count}{what}: {', '.join(names[:_SHOWN])}{more}" if names else ""


def _wake(devices: Sequence[Device]) -> str:
    lines = [f"xcrun devicectl device info details --device {one.udid}" for one in devices]
    sentence = "To use one that is offline: unlock it, connect it by cable, trust this Mac. This can wake it:"
    return "\n".join([sentence, *lines])


def _device(wanted: str, devices: Sequence[Device]) -> Check:
    found = [one for one in devices if wanted.lower() == one.udid.lower()]
    found = found or [one for one in devices if wanted == one.name]
    if not found:
        names = [name for one in devices for name in (one.name, one.udid)]
        close = difflib.get_close_matches(wanted, names, n=_SHOWN, cutoff=0.5)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        advice = f"{meant}All of them:\nxcrun xctrace list devices"
        return Check("device", "problem", f"xctrace knows no device '{wanted}'", advice)
    if len(found) > 1:
        advice = f"Name one by its identifier: {', '.join(one.udid for one in found)}."
        return Check("device", "problem", f"{len(found)} devices are called '{wanted}'", advice)
    if not found[0].online:
        return Check("device", "problem", f"{found[0]} is offline", _wake(found))
    return Check("device", "ok", f"{found[0]}, online")
