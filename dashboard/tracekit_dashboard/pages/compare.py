"""The page of a comparison: under way, ready, failed, or not possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from tracekit.text import printable
from tracekit_dashboard.jobs.queue import JobStatus
from tracekit_dashboard.library.catalog import Recording
from tracekit_dashboard.pages.components import (
    STATES,
    Node,
    build_aria_attributes,
    build_poll_timers,
    describe_progress,
    format_minute,
    is_busy,
)
from tracekit_dashboard.pages.trace import POLL_MS

SIDES = ("BASE", "NEW")
_DOWNLOADS = (
    ("html", "Comparison (HTML)"),
    ("markdown", "Comparison (Markdown)"),
    ("json", "Comparison (JSON)"),
)


def build_address(base: str, new: str) -> str:
    """Return the address of a comparison."""
    return f"/compare/{base}/{new}"


def sort_by_time(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings in the order of a comparison: the older one is BASE."""
    return sorted(
        recordings,
        key=lambda recording: (recording.recorded or recording.added, recording.added, recording.id),
    )


def build_how_page() -> Node:
    """Return the page without recordings, which explains how to choose two."""
    how = "Tick two recordings in the library, in the column Compare, and press Compare below the list."
    limits = (
        "Two recordings show a difference, but not whether it is noise: for that, give tracekit compare"
        " several runs of each side."
    )
    return html.Div(
        [
            html.Header(html.H1("Comparison")),
            html.Main(
                html.Section(
                    [html.P(how), html.P(limits), html.P(_build_library_link())],
                    **build_aria_attributes(label="How to compare"),
                )
            ),
        ]
    )


def build_ready_page(base: Recording, new: Recording) -> Node:
    """Return the page of a comparison, whose sections compare.js fetches and draws."""
    attributes: Any = {"data-base": base.id, "data-new": new.id, "data-title": _build_title(base, new)}
    return html.Div(
        [
            html.Header(_build_heading(base, new, _build_downloads(base, new))),
            html.Main(html.Div(html.P("Loading …", className="note loading"), id="sections")),
            html.Div(id="status", role="status", **build_aria_attributes(live="polite")),
        ],
        id="compare",
        **attributes,
    )


def build_busy_page(base: Recording, new: Recording, status: JobStatus) -> Node:
    """Return the page of a comparison that waits or is being made; the browser polls it twice a second."""
    share = "" if status.progress is None else f", {100 * status.progress:.0f} %"
    is_waiting = status.state == "waiting"
    activity = "Waiting for other comparisons" if is_waiting else f"Comparing: {status.stage}{share}"
    value: Any = {} if status.progress is None else {"value": str(status.progress), "max": "1"}
    hint = "Both recordings are read again. You may close this page: the comparison is kept."
    return _build_state_page(
        base,
        new,
        html.P(html.Strong(activity)),
        html.Progress(className="wide", **value, **build_aria_attributes(label="Progress of the comparison")),
        html.P(hint, className="note"),
        html.P(_build_action_button("Cancel", "cancel", base, new)),
        *build_poll_timers("compare", POLL_MS),
    )


def build_ended_page(base: Recording, new: Recording, status: JobStatus) -> Node:
    """Return the page of a comparison that failed or was cancelled."""
    failed = status.state == "failed"
    sentence = printable(status.message) if failed else "Comparing these recordings was cancelled."
    return _build_state_page(
        base,
        new,
        html.P(sentence, className="problem" if failed else None, role="status"),
        html.P([_build_action_button("Try again", "again", base, new), " ", _build_library_link()]),
    )


def build_unfit_page(base: Recording, new: Recording) -> Node:
    """Return the page for recordings that are not ready or deleted; it polls while one is being read."""
    sides = [pair for pair in zip(SIDES, (base, new), strict=True) if not is_fit(pair[1])]
    waits = any(is_busy(recording) and recording.deleted is None for _side, recording in sides)
    return _build_state_page(
        base,
        new,
        html.Ul([html.Li(_explain_unfit(side, recording)) for side, recording in sides], role="status"),
        html.P(_build_library_link()),
        *(build_poll_timers("compare", POLL_MS) if waits else ()),
    )


def build_same_page(recording: Recording) -> Node:
    """Return the page of a comparison of a recording with itself."""
    sentence = "Both sides are the same recording, so nothing can differ. Choose two on the library's page."
    return _build_state_page(
        recording, recording, html.P(sentence, role="status"), html.P(_build_library_link())
    )


def is_fit(recording: Recording) -> bool:
    """Return True for a recording that can be compared."""
    return recording.state == "ready" and recording.deleted is None


def _explain_unfit(side: str, recording: Recording) -> list[Node]:
    link = _build_link(recording)
    if recording.deleted is not None:
        return [f"{side}, ", link, ", was deleted. Its page can restore it."]
    if is_busy(recording):
        wait = f" is not ready yet: {describe_progress(recording)}. The comparison begins as soon as it is."
        return [f"{side}, ", link, wait]
    why = printable(recording.message) or f"{STATES[recording.state].capitalize()}."
    return [f"{side}, ", link, f", was not read. {why}"]


def _build_heading(base: Recording, new: Recording, *actions: Node) -> list[Node]:
    sides = [
        html.Div([html.Dt(side), html.Dd([_build_link(recording), *_build_facts(recording)])])
        for side, recording in zip(SIDES, (base, new), strict=True)
    ]
    swap = html.A(
        "Swap BASE and NEW", href=build_address(new.id, base.id), id="compare-swap", className="button"
    )
    buttons = [*([swap] if base.id != new.id else []), *actions]
    return [
        html.H1("Comparison"),
        html.Dl(sides, className="sides"),
        html.Div(buttons, className="compare-actions") if buttons else None,
    ]


def _build_facts(recording: Recording) -> list[Node]:
    facts = [
        printable(recording.device),
        printable(recording.system),
        f"added {format_minute(recording.added)}",
    ]
    parts: list[Node] = [html.Span(" · ".join(fact for fact in facts if fact), className="note")]
    if recording.message and recording.state == "ready":
        parts.append(html.Span(printable(recording.message), className="note"))
    return parts


def _build_link(recording: Recording) -> Node:
    return html.A(printable(recording.name), href=f"/recordings/{recording.id}")


def _build_downloads(base: Recording, new: Recording) -> Node:
    links = [
        html.Li(html.A(title, href=f"{build_address(base.id, new.id)}/download/{name}"))
        for name, title in _DOWNLOADS
    ]
    return html.Details([html.Summary("Download"), html.Ul(links)], className="downloads")


def _build_action_button(text: str, action: str, base: Recording, new: Recording) -> Node:
    name = {"page": "compare", "act": action, "base": base.id, "new": new.id}
    return html.Button(text, id=name, type="button", n_clicks=0)


def _build_library_link() -> Node:
    return html.A("All recordings", href="/")


def _build_state_page(base: Recording, new: Recording, *children: Node) -> Node:
    main = html.Main(html.Section(list(children), **build_aria_attributes(label="State")))
    attributes: Any = {"data-title": _build_title(base, new)}
    return html.Div([html.Header(_build_heading(base, new)), main], **attributes)


def _build_title(base: Recording, new: Recording) -> str:
    return f"{printable(base.name)} and {printable(new.name)}"
