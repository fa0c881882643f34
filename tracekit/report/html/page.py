"""The HTML report: the verdict, then its evidence; readable without JavaScript, interactive with it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence

import tracekit
from tracekit.analysis.result import Analysis
from tracekit.report.html.bundle import asset, bundled
from tracekit.report.html.elements import Html, join, tag
from tracekit.report.html.sections import sections
from tracekit.report.viewmodel.payload import packed
from tracekit.report.viewmodel.view import Extras, view_block

_ENTRY = "main.js"
_STYLE = "page.css"
DATA_ID = "tracekit-data"


def to_html(analysis: Analysis, extras: Extras | None = None, full: bool = False) -> str:
    """Return the report as one document that loads no font, script or image from elsewhere.

    The same analysis gives the same text. ``full`` includes every sample, however many there are.
    """
    extras = extras or Extras()
    title = extras.title or f"{analysis.trace.info.name}: tracekit report"
    body = [
        tag("div", id="toolbar"),
        tag("header", tag("h1", title), _writer_texts(extras)),
        tag("main", *sections(analysis, extras, can_fold=True).values()),
    ]
    return document(title, body, {DATA_ID: packed(view_block(analysis, extras, full))}, bundled(_ENTRY))


def document(
    title: str, body: Sequence[Html], data: Mapping[str, str], script: str = "", styles: Sequence[str] = ()
) -> str:
    """Return a page with style, script and ``data`` (by element id), and a policy that forbids the rest.

    ``styles`` follow the report's own.
    """
    # The policy's hashes cover the text between the tags, byte for byte; "</" would end the element early.
    script, style = script.replace("</", "<\\/"), "\n".join([asset(_STYLE), *styles])
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script, style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"tracekit {tracekit.__version__}"),
        tag("title", title),
        tag("style", Html(style)),
    )
    footer = f"Written by tracekit {tracekit.__version__}. It loads nothing from the network."
    page_body = tag(
        "body",
        *body,
        tag("footer", tag("p", footer)),
        tag("div", id="status", role="status", aria_live="polite"),
        *(tag("script", Html(text), type="application/octet-stream", id=name) for name, text in data.items()),
        tag("script", Html(script), type="module") if script else None,
    )
    return f"<!doctype html>\n{tag('html', head, page_body, lang='en')}\n"


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _writer_texts(extras: Extras) -> Html:
    """Return the note and the link of the report's writer."""
    link = extras.web_link
    return join(
        [
            tag("p", extras.note, class_="note") if extras.note else None,
            tag("p", tag("a", link, href=link, rel="noreferrer")) if link else None,
        ]
    )
