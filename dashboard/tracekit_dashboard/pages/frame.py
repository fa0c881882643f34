"""The frame of every page: the navigation bar, the place for errors, the place for the page."""

from __future__ import annotations

from dash import dcc, html

from tracekit_dashboard.pages.components import Node, build_aria_attributes


def build_frame(*, is_watching: bool) -> Node:
    """Return the permanent layout; callbacks fill ``page``. Only a stream that is watched has a link."""
    live = [html.A("Live", href="/live", className="place")] if is_watching else []
    return html.Div(
        [
            dcc.Location(id="address", refresh=False),
            html.A("Skip to the content", href="#page", className="skip"),
            html.Nav(
                [
                    html.A("tracekit", href="/", className="brand"),
                    html.A("Recordings", href="/", className="place"),
                    html.A("Record", href="/record", className="place"),
                    html.A("History", href="/history", className="place"),
                    *live,
                ],
                className="site",
                **build_aria_attributes(label="Pages"),
            ),
            html.Div(id="problem", role="alert"),
            html.Div(html.P("Loading …", className="note loading"), id="page"),
        ]
    )


def build_problem(sentence: str) -> Node:
    """Return an error, which is a sentence."""
    return html.P(sentence, className="problem card")


def build_not_found(sentence: str) -> Node:
    """Return the page of an address without content."""
    return html.Main(
        [
            html.H1("Not found"),
            html.Section([html.P(sentence), html.P(html.A("All recordings", href="/"))]),
        ]
    )
