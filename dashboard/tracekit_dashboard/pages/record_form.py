"""The form of the record page, filled with the devices, processes and templates of this Mac."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.text import printable
from tracekit.xctrace.mac_host import Process
from tracekit.xctrace.xctrace_list import Device
from tracekit_dashboard.pages.components import Node, build_aria_attributes
from tracekit_dashboard.recording.inventory import HostInventory
from tracekit_dashboard.recording.request import MAX_SECONDS, MIN_SECONDS

THIS_MAC = "mac"
_KINDS = {
    "running": "A running process",
    "launch": "Start an app or program",
    "all": "All processes",
}
_PRESETS = {
    "counters": "counters: everything, with the CPU's counters",
    "coreml": "coreml: the same without counters",
    "coreai": "coreai: Core AI too, with the log (Xcode 27)",
    "minimal": "minimal: Time Profiler, the least disturbance",
}


def build_form(inventory: HostInventory, processes: Sequence[Process]) -> Node:
    """Return the form with the choices of this Mac."""
    return html.Section(
        [
            html.H2("What to record", id="record-heading"),
            _build_field("On", _build_select("record-device", build_device_options(inventory.devices))),
            _build_field(
                "What",
                html.Div(
                    [_build_toggle(text, {"kind": kind}, kind == "running") for kind, text in _KINDS.items()],
                    className="actions",
                ),
                group=True,
            ),
            *_build_target_fields(processes),
            _build_field(
                "With",
                _build_select("record-with", build_instrument_options(inventory.templates)),
                "A preset selects the instruments of this Xcode that show Core ML at work.",
            ),
            _build_field(
                "Time limit, in seconds",
                dcc.Input(
                    id="record-seconds",
                    type="number",
                    value=10,
                    min=MIN_SECONDS,
                    max=MAX_SECONDS,
                    step="any",
                ),
                f"From {MIN_SECONDS:g} to {MAX_SECONDS:,.0f}. It can be stopped earlier. Saving can"
                " take as long as the recording did.",
            ),
            html.P(
                html.Button("Start recording", id="record-start", type="button", n_clicks=0, className="main")
            ),
            html.P(f"xctrace {inventory.version}", className="note"),
            html.P(printable(inventory.note), className="problem") if inventory.note else None,
        ],
        **build_aria_attributes(labelledby="record-heading"),
        className="record-form",
    )


def _build_target_fields(processes: Sequence[Process]) -> list[Node]:
    """Return the fields for each kind of target; callbacks show the chosen kind."""
    units = html.Div(
        [_build_toggle(unit, {"unit": unit}, False) for unit in COMPUTE_UNITS], className="actions"
    )
    refresh = html.Button("Refresh", id="record-list", type="button", n_clicks=0)
    process_list = html.Div(build_process_select(processes, ""), id="record-processes")
    return [
        html.Div(
            [_build_field("Process", process_list), html.P(refresh)],
            id="record-running",
            className="with-button",
        ),
        html.Div(
            _build_field(
                "Name of its process",
                dcc.Input(id="record-name", type="text", value=""),
                "The processes of a device cannot be listed here; xctrace looks up the name.",
            ),
            id="record-named",
            hidden=True,
        ),
        html.Div(
            [
                _build_field(
                    "App or program",
                    dcc.Input(id="record-app", type="text", value="", placeholder="/Applications/MyApp.app"),
                    "The path of a .app or a program, a bundle identifier, or an installed app's name.",
                ),
                _build_field(
                    "Compute units",
                    units,
                    "One recording for each chosen setting, tagged with it; the app must read the variable"
                    " TRACEKIT_COMPUTE_UNITS. With none chosen: one recording.",
                    group=True,
                ),
            ],
            id="record-launch",
            hidden=True,
        ),
    ]


def build_device_options(devices: Sequence[Device]) -> list[Node]:
    """Return this Mac, devices and simulators; those that are offline cannot be chosen."""
    kinds = {"device": "", "simulator": "simulator ", "mac": ""}
    options = [
        _build_option(
            f"{device.name} ({kinds[device.kind]}{device.os}{'' if device.online else ', offline'})",
            f"{device.kind}:{device.udid}",
            disabled=not device.online,
        )
        for device in devices
        if device.kind != "mac"
    ]
    return [_build_option("This Mac", THIS_MAC), *options]


def build_process_select(processes: Sequence[Process], simulator: str) -> Node:
    """Return the processes of this Mac or of one simulator; a value is ``PID NAME``."""
    shown_processes = [process for process in processes if process.simulator.upper() == simulator.upper()]
    groups = [
        _build_group(
            name,
            [
                _build_option(_describe_process(process), f"{process.pid} {process.name}")
                for process in shown_processes
                if bool(process.app) == apps
            ],
        )
        for name, apps in (("Apps", True), ("Other processes", False))
    ]
    return _build_select(
        "record-process", [_build_option("Choose …" if shown_processes else "No processes", ""), *groups]
    )


def _describe_process(process: Process) -> str:
    app = process.app.display_name if process.app else ""
    also = f" – {app}" if app and app != process.name else ""
    return f"{process.name}{also} (pid {process.pid})"


def build_instrument_options(templates: Sequence[str]) -> list[Node]:
    """Return the presets, then the templates of this Xcode."""
    presets = [_build_option(text, f"preset:{name}") for name, text in _PRESETS.items()]
    named = [_build_option(name, f"template:{name}") for name in templates]
    return [_build_group("Presets", presets), _build_group("Templates", named)]


def _build_select(store: str, options: Sequence[Node]) -> Node:
    """Return a native select, which controls.js connects to its store (axe reports Dash's dropdown)."""
    attributes: Any = {"data-store": store}
    return html.Select(options, **attributes)


def _build_option(label: str, value: str, *, disabled: bool = False) -> Node:
    return html.Option(printable(label), value=value, disabled=disabled, key=value)


def _build_group(label: str, options: Sequence[Node]) -> Node:
    return html.Optgroup(options, label=label) if options else None


def _build_field(label: str, control: Node, hint: str = "", *, group: bool = False) -> Node:
    """Return a labelled control; several controls of one question make a group."""
    note = html.Span(hint, className="note") if hint else None
    contents = [html.Span(label, className="name"), html.Div([control, note])]
    if group:
        return html.Div(contents, className="field", role="group", **build_aria_attributes(label=label))
    return html.Label(contents, className="field")


def _build_toggle(text: str, name: dict[str, str], pressed: bool) -> Node:
    """Return a button that stays pressed (axe reports Dash's own groups of choices)."""
    return html.Button(
        text, id=name, type="button", n_clicks=0, **build_aria_attributes(pressed=str(pressed).lower())
    )
