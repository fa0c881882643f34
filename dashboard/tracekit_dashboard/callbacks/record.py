"""Callbacks of the record page."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

import dash
from dash import ALL, MATCH, Input, Output, State, ctx

from tracekit.errors import UsageError
from tracekit_dashboard.auth import is_private
from tracekit_dashboard.callbacks.trace import clear_problem, was_pressed
from tracekit_dashboard.errors import NotFound
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.pages import record as pages
from tracekit_dashboard.pages import record_form
from tracekit_dashboard.pages.components import Node
from tracekit_dashboard.recording.attempts import Attempt, Attempts
from tracekit_dashboard.recording.inventory import HostProbe, list_processes
from tracekit_dashboard.recording.request import MAX_SECONDS, MIN_SECONDS, RecordingRequest
from tracekit_dashboard.settings import Settings

TIME_LIMIT = (
    f"Give the time limit as a number of seconds from {MIN_SECONDS:g} to {MAX_SECONDS:,.0f}, such as"
    " 10 or 2.5."
)


def may_record(settings: Settings) -> bool:
    """Return True if no other machine can reach the dashboard, or if --allow-recording was given."""
    return settings.remote_recording or is_private(settings)


def build_page(settings: Settings) -> Node:
    """Return the record page; callbacks fill it."""
    return pages.build_record_page() if may_record(settings) else pages.build_not_allowed()


def register(app: dash.Dash, settings: Settings, library: Library) -> None:
    """Fill the form, start recordings, follow them, and handle the buttons."""
    attempts = Attempts(settings.folder, library, settings.limits.free_disk_bytes)
    probe = HostProbe(library.queue)
    # Resumed even where nothing may be recorded: an earlier server, with other settings, may have left
    # recordings.
    attempts.resume()
    if not may_record(settings):
        return
    _fill_form(app, probe)
    _add_follow_callback(app, attempts)
    _add_start_callback(app, attempts)
    _add_action_callbacks(app, attempts, probe)


def _fill_form(app: dash.Dash, probe: HostProbe) -> None:
    @app.callback(
        Output("record-form", "children"),
        Output("record-shown", "data"),
        Input("record-poll", "n_intervals"),
        State("record-shown", "data"),
    )
    def fill(_tick: Any, shown: bool) -> Any:
        inventory = None if shown else probe.find_inventory()  # a shown form keeps what the user has chosen
        if inventory is None:
            return dash.no_update, dash.no_update
        if inventory.problem:
            return pages.build_unavailable(inventory, time.strftime("%H:%M:%S")), True
        return record_form.build_form(inventory, list_processes()), True

    @app.callback(
        Output("record-processes", "children"),
        Output("record-process", "data"),
        Output("record-running", "hidden"),
        Output("record-named", "hidden"),
        Output("record-launch", "hidden"),
        Input("record-device", "data"),
        Input("record-kind", "data"),
        Input("record-list", "n_clicks"),
        prevent_initial_call=True,
    )
    def choose(device: str, kind: str, _again: int) -> Any:
        if not was_pressed():  # the form appeared; the user may have chosen since
            return (dash.no_update,) * 5
        place, _, udid = device.partition(":")
        select = record_form.build_process_select(list_processes(), udid if place == "simulator" else "")
        # Another key makes React build another select, without a choice.
        select.key = _digest_value(time.monotonic())
        by_name = place == "device"
        return select, "", kind != "running" or by_name, kind != "running" or not by_name, kind != "launch"

    @app.callback(
        Output("record-kind", "data"),
        Output({"kind": ALL}, "aria-pressed"),
        Input({"kind": ALL}, "n_clicks"),
        State({"kind": ALL}, "id"),
        prevent_initial_call=True,
    )
    def choose_kind(_clicks: list[int], kinds: list[dict[str, str]]) -> Any:
        if not was_pressed():
            return dash.no_update, [dash.no_update] * len(kinds)
        chosen = ctx.triggered_id["kind"]
        return chosen, [str(button["kind"] == chosen).lower() for button in kinds]

    @app.callback(
        Output({"unit": MATCH}, "aria-pressed"), Input({"unit": MATCH}, "n_clicks"), prevent_initial_call=True
    )
    def choose_unit(clicks: int | None) -> str:
        return str((clicks or 0) % 2 == 1).lower()


def _add_follow_callback(app: dash.Dash, attempts: Attempts) -> None:
    @app.callback(
        Output("record-attempt", "children"),
        Output("record-failed", "children"),
        Output("record-drawn", "data"),
        Output("record-live", "children"),
        Output("record-form", "hidden"),
        Output("record-watched", "data"),
        Output("address", "pathname", allow_duplicate=True),
        Input("record-poll", "n_intervals"),
        Input("record-drawn", "data"),
        State("record-watched", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def follow(_tick: Any, drawn: str, watched: str) -> Any:
        all_attempts = attempts.list_attempts()
        under_way = next((attempt for attempt in all_attempts if pages.is_live(attempt.state)), None)
        # The attempt that this page followed has left the list: its recordings are in the library, and the
        # page goes there.
        is_over = watched and watched not in {attempt.id for attempt in all_attempts}
        opened = attempts.find_opened(watched) if is_over else None
        place = (
            f"/recordings/{opened[0]}" if opened and len(opened) == 1 else "/" if opened else dash.no_update
        )
        # The digest of what is drawn is sent along: only what differs is sent and drawn again, so that a
        # button under the pointer is not replaced at every tick.
        steady = [_drop_changing_values(attempt) for attempt in all_attempts]
        digest = _digest_value(steady)
        return (
            dash.no_update if digest == drawn else pages.build_live_attempts(steady),
            dash.no_update if digest == drawn else pages.build_failed_attempts(steady),
            dash.no_update if digest == drawn else digest,
            pages.build_elapsed(under_way, time.time()),
            under_way is not None,
            under_way.id if under_way else "" if opened is not None else dash.no_update,
            place,
        )


def _add_start_callback(app: dash.Dash, attempts: Attempts) -> None:
    @app.callback(
        Output("record-drawn", "data", allow_duplicate=True),
        Output("record-watched", "data", allow_duplicate=True),
        Input("record-start", "n_clicks"),
        State("record-device", "data"),
        State("record-kind", "data"),
        State("record-process", "data"),
        State("record-name", "value"),
        State("record-app", "value"),
        State("record-with", "data"),
        State("record-seconds", "value"),
        State({"unit": ALL}, "id"),
        State({"unit": ALL}, "aria-pressed"),
        prevent_initial_call=True,
    )
    def start(
        _clicks: int,
        device: Any,
        kind: Any,
        process: Any,
        name: Any,
        app_name: Any,
        instruments: Any,
        seconds: Any,
        units: list[dict[str, str]],
        pressed: list[str],
    ) -> Any:
        if not was_pressed():
            return dash.no_update, dash.no_update
        clear_problem()
        chosen = [
            unit["unit"] for unit, is_pressed in zip(units, pressed, strict=False) if is_pressed == "true"
        ]
        request = build_request(device, kind, process, name, app_name, instruments, seconds, chosen)
        return "begun", attempts.start(request)


def build_request(
    device: Any, kind: Any, process: Any, name: Any, app: Any, instruments: Any, seconds: Any, units: Any
) -> RecordingRequest:
    """Return the request of the form's fields; raise ``UsageError`` if they are incomplete."""
    place, _, udid = _to_text(device).partition(":")
    source, _, instrument_choice = _to_text(instruments).partition(":")
    target, pid = "", 0
    if kind == "launch":
        target = _to_text(app)
    elif kind == "running" and place == "device":
        target = _to_text(name)
    elif kind == "running":
        number, _, target = _to_text(process).partition(" ")
        pid = int(number) if number.isascii() and number.isdecimal() and len(number) < 12 else 0
        if not pid:
            raise UsageError("Choose the process to record.")
    if seconds is None:
        raise UsageError(TIME_LIMIT)
    return RecordingRequest(
        kind,
        target.strip(),
        pid,
        udid,
        instrument_choice if source == "preset" else "",
        instrument_choice if source == "template" else "",
        seconds,
        tuple(map(_to_text, units)) if kind == "launch" and isinstance(units, list) else (),
    )


def _add_action_callbacks(app: dash.Dash, attempts: Attempts, probe: HostProbe) -> None:
    @app.callback(
        Output("address", "pathname", allow_duplicate=True),
        Output("record-drawn", "data", allow_duplicate=True),
        Output("record-shown", "data", allow_duplicate=True),
        Output("record-form", "children", allow_duplicate=True),
        Input({"record": ALL, "attempt": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def on_action(_clicks: list[int]) -> Any:
        no_change = (dash.no_update,) * 4
        if not was_pressed():
            return no_change
        clear_problem()
        button = ctx.triggered_id
        if button["record"] == "look":
            probe.find_inventory(refresh=True)
            return dash.no_update, dash.no_update, False, pages.build_looking()
        try:
            opened = _perform(attempts, button["record"], button["attempt"])
        except NotFound:  # it has ended meanwhile, and the page shows so
            return no_change
        return f"/recordings/{opened}" if opened else dash.no_update, "done", dash.no_update, dash.no_update


def _perform(attempts: Attempts, action: str, attempt_id: str) -> str:
    """Perform the action of an attempt's button; return the id of the recording to open, or ""."""
    if action == "open":
        return attempts.open_partial(attempt_id).id
    actions = {"stop": attempts.stop, "discard": attempts.discard, "dismiss": attempts.close_attempt}
    if action in actions:
        actions[action](attempt_id)
    return ""


def _drop_changing_values(attempt: Attempt) -> Attempt:
    """Return an attempt without clock and size, which change all the time and are drawn separately."""
    may_kill = attempt.state.insist_until > time.time()
    return Attempt(attempt.id, replace(attempt.state, size_bytes=0, began=0.0, insist_until=float(may_kill)))


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _digest_value(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()
