"""Claims about short commands of the Mac and of xctrace, which record nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import tracekit
from tracekit.proof.claim_outcome import ClaimOutcome, judge, leave
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench
from tracekit.record.doctor import NEEDS_MAC, examine
from tracekit.xctrace.mac_host import Mac
from tracekit.xctrace.xctrace_list import list_devices

_TERMINAL = "com.apple.Terminal"


def try_commands(bench: Workbench) -> Iterator[ClaimOutcome]:
    """Try what ``tracekit doctor`` reads, and the processes and apps of this Mac."""
    checks = {check.name: check for check in examine(tracekit.__version__, bench.tool.path)}
    templates, instruments = bench.catalog.templates, bench.catalog.instruments
    has_mac = any(device.kind == "mac" for device in list_devices(bench.tool))
    yield judge(
        "xctrace-lists",
        bool(templates and instruments and has_mac),
        f"{len(templates)} templates, {len(instruments)} instruments,"
        f" {'this Mac' if has_mac else 'no Mac'} among the devices",
    )
    commands = checks["commands"]
    yield judge("xctrace-commands", commands.state == "ok", commands.finding)
    for claim, name in (("sandbox-known", "sandbox"), ("debugging-known", "debugging")):
        if checks[name].finding == NEEDS_MAC:  # an xctrace was named on another system
            yield leave(claim, NEEDS_MAC)
        else:
            yield judge(claim, checks[name].state != "skipped", checks[name].finding)
    paths = {process.pid: process.path for process in Mac().processes()}
    path = paths.get(os.getpid(), "")
    yield judge(
        "processes-by-path",
        path.startswith("/"),
        "this process is listed with its path"
        if path.startswith("/")
        else f"this process is {'listed without its path' if path else 'not'} among {len(paths):,}",
    )
    apps = [app for app in Mac().installed(_TERMINAL) if app.identifier == _TERMINAL]
    yield judge("apps-by-identifier", len(apps) == 1, f"{len(apps)} apps are {_TERMINAL}")


MACHINE_TRIAL = Trial(
    (
        "xctrace-lists",
        "xctrace-commands",
        "processes-by-path",
        "apps-by-identifier",
        "sandbox-known",
        "debugging-known",
    ),
    try_commands,
)
