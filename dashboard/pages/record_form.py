"""The form of the record page, filled with the devices, processes and templates of this Mac."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from dashboard.pages.components import Node, aria
from dashboard.recording.inventory import HostInventory
from dashboard.recording.request import LONGEST_SECONDS, SHORTEST_SECONDS
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.text import printable
from tracekit.xctrace.mac_host import Process
from tracekit.xctrace.xctrace_list import Device

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


def form(inventory: HostInventory, processes: Sequence[Process]) -> Node:
    """Return the form with the choices of this Mac."""
    return html.Section(
        [
            html.H2("What to record", id="record-heading"),
            _field("On", _select("record-device", device_options(inventory.devices))),
            _field(
                "What",
                html.Div(
                    [_toggle(text, {"kind": kind}, kind == "running") for kind, text in _KINDS.items()],
                    className="actions",
                ),
                group=True,
            ),
            *_targets(processes),
            _field(
                "With",
                _select("record-with", with_options(inventory.templates)),
                "A preset selects the instruments of this Xcode that show Core ML at work.",
            ),
            _field(
                "Time limit, in seconds",
                dcc.Input(
                    id="record-seconds",
                    type="number",
                    value=10,
                    min=SHORTEST_SECONDS,
                    max=LONGEST_SECONDS,
                    step="any",
                ),
                f"From {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:,.0f}. It can be stopped earlier. Saving can"
                " take as long as the recording did.",
            ),
            html.P(
                html.Button("Start recording", id="record-start", type="button", n_clicks=0, className="main")
            ),
            html.P(f"xctrace {inventory.version}", className="note"),
            html.P(printable(inventory.note), className="problem") if inventory.note else None,
        ],
        **aria(labelledby="record-heading"),
        className="record-form",
    )


def _targets(processes: Sequence[Process]) -> list[Node]:
    """Return the fields for each kind of target; callbacks show the chosen kind."""
    units = html.Div([_toggle(unit, {"unit": unit}, False) for unit in COMPUTE_UNITS], className="actions")
    refresh = html.Button("Refresh", id="record-list", type="button", n_clicks=0)
    process_list = html.Div(process_select(processes, ""), id="record-processes")
    return [
        html.Div(
            [_field("Process", process_list), html.P(refresh)], id="record-running", className="with-button"
        ),
        html.Div(
            _field(
                "Name of its process",
                dcc.Input(id="record-name", type="text", value=""),
                "The processes of a device cannot be listed here; xctrace looks up the name.",
            ),
            id="record-named",
            hidden=True,
        ),
        html.Div(
            [
                _field(
                    "App or program",
                    dcc.Input(id="record-app", type="text", value="", placeholder="/Applications/MyApp.app"),
                    "The path of a .app or a program, a bundle identifier, or an installed app's name.",
                ),
                _field(
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


def device_options(devices: Sequence[Device]) -> list[Node]:
    """Return this Mac, devices and simulators; those that are offline cannot be chosen."""
    kinds = {"device": "", "simulator": "simulator ", "mac": ""}
    options = [
        _option(
            f"{device.name} ({kinds[device.kind]}{device.os}{'' if device.online else ', offline'})",
            f"{device.kind}:{device.udid}",
            disabled=not device.online,
        )
        for device in devices
        if device.kind != "mac"
    ]
    return [_option("This Mac", THIS_MAC), *options]


def process_select(processes: Sequence[Process], simulator: str) -> Node:
    """Return the processes of this Mac or of one simulator; a value is ``PID NAME``."""
    listed = [process for process in processes if process.simulator.upper() == simulator.upper()]
    groups = [
        _group(
            name,
            [
                _option(_process(process), f"{process.pid} {process.name}")
                for process in listed
                if bool(process.app) == apps
            ],
        )
        for name, apps in (("Apps", True), ("Other processes", False))
    ]
    return _select("record-process", [_option("Choose …" if listed else "No processes", ""), *groups])


def _process(process: Process) -> str:
    app = process.app.display_name if process.app else ""
    also = f" – {app}" if app and app != process.name else ""
    return f"{process.name}{also} (pid {process.pid})"


def with_options(templates: Sequence[str]) -> list[Node]:
    """Return the presets, then the templates of this Xcode."""
    presets = [_option(text, f"preset:{name}") for name, text in _PRESETS.items()]
    named = [_option(name, f"template:{name}") for name in templates]
    return [_group("Presets", presets), _group("Templates", named)]


def _select(store: str, options: Sequence[Node]) -> Node:
    """Return a native select, which controls.js connects to its store (axe reports Dash's dropdown)."""
    attributes: Any = {"data-store": store}
    return html.Select(options, **attributes)


def _option(label: str, value: str, *, disabled: bool = False) -> Node:
    return html.Option(printable(label), value=value, disabled=disabled, key=value)


def _group(label: str, options: Sequence[Node]) -> Node:
    return html.Optgroup(options, label=label) if options else None


def _field(label: str, control: Node, hint: str = "", *, group: bool = False) -> Node:
    """Return a labelled control; several controls of one question make a group."""
    note = html.Span(hint, className="note") if hint else None
    inside = [html.Span(label, className="name"), html.Div([control, note])]
    if group:
        return html.Div(inside, className="field", role="group", **aria(label=label))
    return html.Label(inside, className="field")


def _toggle(text: str, name: dict[str, str], pressed: bool) -> Node:
    """Return a button that stays pressed (axe reports Dash's own groups of choices)."""
    return html.Button(text, id=name, type="button", n_clicks=0, **aria(pressed=str(pressed).lower()))
