"""The page on which recordings are made: what to record, how it goes on, what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html

from dashboard.pages import record_form, words
from dashboard.pages.parts import Node, aria
from dashboard.recording.attempts import Attempt
from dashboard.recording.host import HostInventory
from dashboard.recording.state import State
from tracekit.record.doctor import Check
from tracekit.text import format_duration, format_size

POLL_MS = 500
_PREPARING = "Asking xctrace what it offers, and starting it."
_STATES = {"ok": "ok", "warning": "note", "problem": "problem", "skipped": "not checked"}


def record_page() -> Node:
    """Return the page without what callbacks fill in."""
    return html.Div(
        [
            html.Header(html.H1("Record")),
            html.Main(
                [
                    html.Div(id="record-attempt", role="status"),
                    html.Div(id="record-live"),
                    html.Div(id="record-failed", role="status"),
                    html.Div(looking(), id="record-form"),
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


def not_allowed() -> Node:
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
                        _other_way(),
                    ],
                    **aria(label="Recording"),
                )
            ),
        ]
    )


def looking() -> Node:
    """Return what is said while xctrace is asked."""
    return html.Section(
        html.P(
            "Looking for xctrace, and what it offers. Devices may take a while to answer …", className="note"
        ),
        **aria(label="Recording"),
    )


# Where there is nothing to record with --------------------------------------------------------------------


def unavailable(found: HostInventory, looked: str = "") -> Node:
    """Return what is missing, and the way that works on any system; ``looked`` is when."""
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in ("Looked at", "State", "Found")]))
    telling = [one for one in found.checks if one.state != "skipped"]
    if all(one.state != "problem" for one in telling):  # reading works, which is what the doctor looks at
        telling = [Check("recording", "problem", found.problem), *telling]
    table = html.Table([head, html.Tbody(list(map(_check, telling)))], **aria(labelledby="doctor-heading"))
    return html.Section(
        [
            html.P(html.Strong(f"Nothing can be recorded here: {words.shown(found.problem)}")),
            _other_way(),
            html.H2("What tracekit doctor says", id="doctor-heading"),
            html.Div(table, className="table-scroll"),
            html.P(
                [
                    _button("Look again", {"record": "look", "attempt": ""}),
                    html.Span(f"Last looked at {looked}." if looked else "", className="note", role="status"),
                ],
                className="actions",
            ),
        ],
        **aria(label="Recording"),
    )


def _other_way() -> Node:
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


def _check(check: Check) -> Node:
    sentence, *commands = check.advice.split("\n")
    advice = [html.Div(words.shown(sentence), className="note")] if sentence else []
    pasted = _lines("\n".join(commands))
    state = html.Span(_STATES[check.state], className="problem" if check.state == "problem" else None)
    return html.Tr(
        [
            html.Th(check.name, scope="row"),
            html.Td(state),
            html.Td([words.shown(check.found), *advice, pasted]),
        ]
    )


# How it goes on -------------------------------------------------------------------------------------------


def under_way(found: Sequence[Attempt]) -> list[Node]:
    """Return what is being recorded, without what changes all the time."""
    return [_live(one) for one in found if is_live(one.state)]


def failed(found: Sequence[Attempt]) -> list[Node]:
    """Return what came of recordings that failed, until somebody closes it."""
    return [_failed(one) for one in found if not is_live(one.state)]


def is_live(state: State) -> bool:
    """True while something is to be waited for."""
    return state.phase in ("preparing", "recording", "saving")


def _live(attempt: Attempt) -> Node:
    state = attempt.state
    several = f" {state.number} of {state.count}: {state.compute_units}" if state.count > 1 else ""
    title = {
        "preparing": f"Preparing to record {state.what}",
        "recording": f"Recording{several or f' {state.what}'}",
        "saving": f"Saving{several or f' {state.what}'}",
    }[state.phase]
    return html.Section(
        [
            html.H2(words.shown(title)),
            html.P(_PREPARING, className="note") if state.phase == "preparing" else None,
            html.P(words.shown(state.note), className="note") if state.note else None,
            html.P(_warning(state), className="notice") if state.insist_until else None,
            html.P(_live_acts(attempt), className="actions"),
        ],
        **aria(label="Recording under way"),
        className="under-way" if state.phase != "preparing" else None,
    )


def _warning(state: State) -> str:
    del state
    return (
        "xctrace still saves; what is killed now can be lost. Pressed once more within 15 seconds, the button"
        " kills it all the same."
    )


def _live_acts(attempt: Attempt) -> list[Node]:
    phase = attempt.state.phase
    stop = {"preparing": "Cancel", "recording": "Stop and save", "saving": "Stop saving …"}[phase]
    if attempt.state.insist_until:
        stop = "Kill xctrace"
    return [
        _button(stop, _act("stop", attempt), "main" if phase == "recording" else ""),
        html.Details(
            [
                html.Summary("Discard …"),
                html.Div(
                    [
                        html.Span("It is stopped, and nothing of it is kept. ", className="note"),
                        _button("Discard it", _act("discard", attempt)),
                    ]
                ),
            ],
            className="discard",
        )
        if phase != "preparing"
        else None,
    ]


def live(attempt: Attempt | None, now: float) -> Node:
    """Return the time that has passed, the part of the page that changes by itself."""
    if attempt is None or attempt.state.phase not in ("recording", "saving"):
        return None
    state = attempt.state
    passed = max(0.0, now - state.began)
    size = f", {format_size(state.size_bytes)} so far" if state.size_bytes else ""
    if state.phase == "saving":
        told = f"Saving for {_seconds(passed)}{size}. This can take as long as the recording did."
        return html.Section([html.Progress(className="wide", **aria(label="Saving")), html.P(told)])
    share = min(1.0, passed / state.limit_seconds)
    told = f"{_seconds(min(passed, state.limit_seconds))} of {state.limit_seconds:g} s{size}"
    bar = html.Progress(value=f"{share:.3f}", max="1", className="wide", **aria(label="Time recorded"))
    stays = "You may close this page: what is recorded is saved, and comes into the library."
    return html.Section([bar, html.P(told), html.P(stays, className="note")])


def _failed(attempt: Attempt) -> Node:
    state = attempt.state
    acts = [_button("Close", _act("dismiss", attempt))]
    if state.left:
        acts = [
            _button("Open what there is", _act("open", attempt)),
            *acts,
            _button("Delete what there is", _act("discard", attempt)),
        ]
    return html.Section(
        [
            html.H2(words.shown(f"Not recorded: {state.what}")),
            html.P(words.shown(state.message), className="problem"),
            _lines(state.command),
            html.P(acts, className="actions"),
        ],
        **aria(label="A recording that failed"),
    )


def _lines(text: str) -> Node:
    """Return commands to be pasted elsewhere; copy.js hears the button."""
    if not text:
        return None
    shown = html.Pre("\n".join(map(words.shown, text.split("\n"))), tabIndex=0)
    return html.Div([shown, html.Button("Copy", type="button", className="copy")], className="command")


def _seconds(seconds: float) -> str:
    return format_duration(int(seconds) * 1_000_000_000) if seconds >= 60 else f"{seconds:.0f} s"


def _act(what: str, attempt: Attempt) -> dict[str, str]:
    return {"record": what, "attempt": attempt.id}


def _button(text: str, name: dict[str, str], kind: str = "") -> Node:
    return html.Button(text, id=name, type="button", n_clicks=0, className=kind or None)
