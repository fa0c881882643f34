"""The record page: its form, the recording under way, and failed ones."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html

from tracekit.record.doctor import Check
from tracekit.text import format_duration, format_size, printable
from tracekit_dashboard.pages import record_form
from tracekit_dashboard.pages.components import Node, build_aria_attributes
from tracekit_dashboard.recording.attempts import Attempt
from tracekit_dashboard.recording.inventory import HostInventory
from tracekit_dashboard.recording.state import AttemptState

POLL_MS = 500
_PREPARING = "Asking xctrace what it offers, and starting it."
_STATES = {"ok": "ok", "warning": "note", "problem": "problem", "skipped": "not checked"}


def build_record_page() -> Node:
    """Return the page without the parts that callbacks fill in."""
    return html.Div(
        [
            html.Header(html.H1("Record")),
            html.Main(
                [
                    html.Div(id="record-attempt", role="status"),
                    html.Div(id="record-live"),
                    html.Div(id="record-failed", role="status"),
                    html.Div(build_looking(), id="record-form"),
                ],
                id="record",
            ),
            dcc.Interval(id="record-poll", interval=POLL_MS),
            dcc.Store(id="record-shown", data=False),
            dcc.Store(id="record-drawn", data=""),
            dcc.Store(id="record-watched", data=""),
            dcc.Store(id="record-kind", data="running"),
            dcc.Store(id="record-device", data=record_form.THIS_MAC),
            dcc.Store(id="record-process", data=""),
            dcc.Store(id="record-with", data="preset:counters"),
        ]
    )


def build_not_allowed() -> Node:
    """Return the page of a dashboard that others can reach: they must not start programs here."""
    return html.Div(
        [
            html.Header(html.H1("Record")),
            html.Main(
                html.Section(
                    [
                        html.P(
                            "This dashboard can be reached from elsewhere, so it starts no programs on its"
                            " machine unless it was begun with --allow-recording. Record there with the"
                            " command, or with a dashboard that only this machine can reach:"
                        ),
                        html.Pre("tracekit record --app MyApp\ntracekit dashboard", tabIndex=0),
                        _build_other_way(),
                    ],
                    **build_aria_attributes(label="Recording"),
                )
            ),
        ]
    )


def build_looking() -> Node:
    """Return the note that is shown while xctrace lists devices and templates."""
    return html.Section(
        html.P(
            "Asking xctrace for devices and templates. Devices may take a while to respond …",
            className="note",
        ),
        **build_aria_attributes(label="Recording"),
    )


# Without xctrace ------------------------------------------------------------------------------------------


def build_unavailable(inventory: HostInventory, looked: str = "") -> Node:
    """Return why recording is not possible, and the alternative; ``looked`` is the time of the check."""
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in ("Looked at", "State", "Found")]))
    checks = [check for check in inventory.checks if check.state != "skipped"]
    if all(check.state != "problem" for check in checks):  # the doctor checks reading, which works
        checks = [Check("recording", "problem", inventory.problem), *checks]
    table = html.Table(
        [head, html.Tbody(list(map(_build_check_row, checks)))],
        **build_aria_attributes(labelledby="doctor-heading"),
    )
    return html.Section(
        [
            html.P(html.Strong(f"Nothing can be recorded here: {printable(inventory.problem)}")),
            _build_other_way(),
            html.H2("Checks by tracekit doctor", id="doctor-heading"),
            html.Div(table, className="table-scroll"),
            html.P(
                [
                    _build_button("Look again", {"record": "look", "attempt": ""}),
                    html.Span(f"Last looked at {looked}." if looked else "", className="note", role="status"),
                ],
                className="actions",
            ),
        ],
        **build_aria_attributes(label="Recording"),
    )


def _build_other_way() -> Node:
    return html.P(
        [
            "A recording that was made elsewhere, with ",
            html.Code("xctrace record"),
            ", Instruments or ",
            html.Code("tracekit record"),
            ", can be read on any system: ",
            html.A("add it to the library", href="/"),
            ".",
        ]
    )


def _build_check_row(check: Check) -> Node:
    sentence, *commands = check.advice.split("\n")
    advice = [html.Div(printable(sentence), className="note")] if sentence else []
    command_lines = _build_command_block("\n".join(commands))
    state = html.Span(_STATES[check.state], className="problem" if check.state == "problem" else None)
    return html.Tr(
        [
            html.Th(check.name, scope="row"),
            html.Td(state),
            html.Td([printable(check.finding), *advice, command_lines]),
        ]
    )


# Attempts -------------------------------------------------------------------------------------------------


def build_live_attempts(attempts: Sequence[Attempt]) -> list[Node]:
    """Return the recording under way, without its clock and size."""
    return [_build_live_attempt(attempt) for attempt in attempts if is_live(attempt.state)]


def build_failed_attempts(attempts: Sequence[Attempt]) -> list[Node]:
    """Return the failed recordings that have not been closed."""
    return [_build_failed_attempt(attempt) for attempt in attempts if not is_live(attempt.state)]


def is_live(state: AttemptState) -> bool:
    """Return True while a recording is under way."""
    return state.phase in ("preparing", "recording", "saving")


def _build_live_attempt(attempt: Attempt) -> Node:
    state = attempt.state
    several = f" {state.number} of {state.count}: {state.compute_units}" if state.count > 1 else ""
    title = {
        "preparing": f"Preparing to record {state.what}",
        "recording": f"Recording{several or f' {state.what}'}",
        "saving": f"Saving{several or f' {state.what}'}",
    }[state.phase]
    return html.Section(
        [
            html.H2(printable(title)),
            html.P(_PREPARING, className="note") if state.phase == "preparing" else None,
            html.P(printable(state.note), className="note") if state.note else None,
            html.P(_build_warning(state), className="notice") if state.insist_until else None,
            html.P(_build_live_buttons(attempt), className="actions"),
        ],
        **build_aria_attributes(label="Recording under way"),
        className="under-way" if state.phase != "preparing" else None,
    )


def _build_warning(state: AttemptState) -> str:
    del state
    return (
        "xctrace is still saving; killing it now can lose the recording. Press the button once more within"
        " 15 seconds to kill it."
    )


def _build_live_buttons(attempt: Attempt) -> list[Node]:
    phase = attempt.state.phase
    stop = {"preparing": "Cancel", "recording": "Stop and save", "saving": "Stop saving …"}[phase]
    if attempt.state.insist_until:
        stop = "Kill xctrace"
    return [
        _build_button(stop, _build_action_id("stop", attempt), "main" if phase == "recording" else ""),
        html.Details(
            [
                html.Summary("Discard …"),
                html.Div(
                    [
                        html.Span("The recording is stopped and removed. ", className="note"),
                        _build_button("Discard it", _build_action_id("discard", attempt)),
                    ]
                ),
            ],
            className="discard",
        )
        if phase != "preparing"
        else None,
    ]


def build_elapsed(attempt: Attempt | None, now: float) -> Node:
    """Return the time that has passed, the part of the page that changes by itself."""
    if attempt is None or attempt.state.phase not in ("recording", "saving"):
        return None
    state = attempt.state
    passed = max(0.0, now - state.began)
    size = f", {format_size(state.size_bytes)} so far" if state.size_bytes else ""
    if state.phase == "saving":
        sentence = f"Saving for {_format_seconds(passed)}{size}. This can take as long as the recording did."
        return html.Section(
            [html.Progress(className="wide", **build_aria_attributes(label="Saving")), html.P(sentence)]
        )
    share = min(1.0, passed / state.limit_seconds)
    sentence = f"{_format_seconds(min(passed, state.limit_seconds))} of {state.limit_seconds:g} s{size}"
    bar = html.Progress(
        value=f"{share:.3f}", max="1", className="wide", **build_aria_attributes(label="Time recorded")
    )
    hint = "You may close this page: the recording is saved and added to the library."
    return html.Section([bar, html.P(sentence), html.P(hint, className="note")])


def _build_failed_attempt(attempt: Attempt) -> Node:
    state = attempt.state
    acts = [_build_button("Close", _build_action_id("dismiss", attempt))]
    if state.left:
        acts = [
            _build_button("Open what there is", _build_action_id("open", attempt)),
            *acts,
            _build_button("Delete what there is", _build_action_id("discard", attempt)),
        ]
    return html.Section(
        [
            html.H2(printable(f"Not recorded: {state.what}")),
            html.P(printable(state.message), className="problem"),
            _build_command_block(state.command),
            html.P(acts, className="actions"),
        ],
        **build_aria_attributes(label="A recording that failed"),
    )


def _build_command_block(text: str) -> Node:
    """Return commands with a button that copies them; controls.js handles it."""
    if not text:
        return None
    commands = html.Pre("\n".join(map(printable, text.split("\n"))), tabIndex=0)
    return html.Div([commands, html.Button("Copy", type="button", className="copy")], className="command")


def _format_seconds(seconds: float) -> str:
    return format_duration(int(seconds) * 1_000_000_000) if seconds >= 60 else f"{seconds:.0f} s"


def _build_action_id(action: str, attempt: Attempt) -> dict[str, str]:
    return {"record": action, "attempt": attempt.id}


def _build_button(text: str, name: dict[str, str], kind: str = "") -> Node:
    return html.Button(text, id=name, type="button", n_clicks=0, className=kind or None)
