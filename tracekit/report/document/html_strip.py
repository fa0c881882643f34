"""A strip as a picture in markup, whose parts name rows of the next table for a page's script."""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.report.document.blocks import Strip, StripKind, StripLine, StripPart
from tracekit.report.document.strip_lines import place_labels
from tracekit.report.html.elements import Html, badge, join, tag

_LINE_HEIGHT = 26
_ABOVE_TOP, _BELOW_TOP, _HEIGHT = 18, 88, 132
_LINKS_TOP, _LINKS_HEIGHT = _ABOVE_TOP + _LINE_HEIGHT, _BELOW_TOP - _ABOVE_TOP - _LINE_HEIGHT
_LINKS_WIDTH = 10_000
_CHARACTER = 0.0085
"""The width of a character of a label as a share of the picture's, at the usual width of a report."""
_NARROWEST = 0.0015
"""The least share of the width that a part of the table is drawn with: about a pixel and a half."""


def print_strip(strip: Strip) -> Html:
    """Return the picture and its legend.

    Its width is the page's: positions are percentages, and only the links between the lines are stretched.
    """
    shapes = [
        _print_links(strip),
        *_print_line(strip, strip.above, _ABOVE_TOP, has_labels=True),
        *_print_line(strip, strip.below, _BELOW_TOP, has_labels=False),
    ]
    picture = tag("svg", *shapes, width="100%", height=_HEIGHT, role="group", aria_label=strip.caption)
    legend = (
        tag("span", badge(kind.engine) if kind.engine else _print_legend_entry(kind)) for kind in strip.legend
    )
    caption = tag("figcaption", f"{strip.caption} ", *legend)
    return tag("figure", picture, caption, class_="strip")


def _print_legend_entry(kind: StripKind) -> Html:
    return join([tag("span", "", class_=f"strip-{_name_style(kind)}"), kind.name])


def _name_style(kind: StripKind) -> str:
    return kind.engine or ("gap" if kind.is_gap else "unknown")


def _print_line(strip: Strip, line: StripLine, top: int, *, has_labels: bool) -> Iterator[Html]:
    if has_labels:
        yield tag("text", line.name, x="0", y=top - 5, class_="strip-name")
    centers = place_labels(line, _CHARACTER) if has_labels else {}
    for position, part in enumerate(line.parts):
        yield _print_part(strip, part, top, centers.get(position))
    begin, end = line.ends
    if begin or end:
        baseline = top + _LINE_HEIGHT + 14
        yield tag("text", f"{line.name}: {begin}", x="0", y=baseline, class_="strip-name")
        yield tag("text", end, x="100%", y=baseline, text_anchor="end", class_="strip-name")


def _print_part(strip: Strip, part: StripPart, top: int, label_center: float | None) -> Html:
    width = max(part.end - part.start, _NARROWEST if part.rows else 0.0)
    start = min(part.start, 1 - width)
    shapes = [
        tag("title", part.text),
        tag(
            "rect",
            x=f"{100 * start:.3f}%",
            y=top,
            width=f"{100 * width:.3f}%",
            height=_LINE_HEIGHT,
            class_=f"of-{_name_style(strip.kinds[part.kind])}",
        ),
    ]
    if label_center is not None:
        x = f"{100 * label_center:.2f}%"
        shapes.append(tag("text", part.label, x=x, y=top - 5, text_anchor="middle"))
    begin_ns, end_ns = part.range_ns or (None, None)
    is_link = bool(part.rows) or part.range_ns is not None
    return tag(
        "g",
        *shapes,
        class_="strip-part" if is_link else None,
        data_first=part.rows.start if part.rows else None,
        data_end=part.rows.stop if part.rows else None,
        data_from=begin_ns,
        data_to=end_ns,
        aria_label=part.text if is_link else None,
    )


def _print_links(strip: Strip) -> Html:
    """Return the areas between corresponding parts, in a picture of its own that is stretched."""
    areas = []
    for above, below in strip.links:
        upper, lower = strip.above.parts[above], strip.below.parts[below]
        corners = [round(_LINKS_WIDTH * edge) for edge in (upper.start, upper.end, lower.end, lower.start)]
        areas.append(
            tag("path", d=f"M{corners[0]} 0H{corners[1]}L{corners[2]} {_LINKS_HEIGHT}H{corners[3]}z")
        )
    return tag(
        "svg",
        *areas,
        y=_LINKS_TOP,
        width="100%",
        height=_LINKS_HEIGHT,
        viewBox=f"0 0 {_LINKS_WIDTH} {_LINKS_HEIGHT}",
        preserveAspectRatio="none",
        class_="strip-links",
    )
