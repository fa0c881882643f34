"""A picture as SVG: plain elements and attributes, no style, no script, nothing to load."""

from __future__ import annotations

from tracekit.report.html.elements import Html, join, tag
from tracekit.report.picture.shapes import COLOURS, Line, Picture, Rect, Words

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def to_svg(picture: Picture) -> Html:
    """Return the picture as one ``<svg>`` element, which stands alone as a file as well."""
    return tag(
        "svg",
        tag("title", picture.title),
        *map(_element, picture.shapes),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {picture.width} {picture.height}",
        width=picture.width,
        height=picture.height,
        role="img",
        font_family=_FONT,
    )


def _element(shape: Rect | Line | Words) -> Html:
    if isinstance(shape, Rect):
        return tag(
            "rect",
            x=_number(shape.x),
            y=_number(shape.y),
            width=_number(shape.width),
            height=_number(shape.height),
            fill=COLOURS[shape.fill],
            fill_opacity=None if shape.opacity == 1 else _number(shape.opacity),
        )
    if isinstance(shape, Line):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        return tag("polyline", points=points, fill="none", stroke=COLOURS[shape.stroke])
    return tag(
        "text",
        join([shape.text]),
        x=_number(shape.x),
        y=_number(shape.y),
        font_size=_number(shape.size),
        font_weight="600" if shape.bold else None,
        fill=COLOURS[shape.fill],
        text_anchor=None if shape.anchor == "start" else shape.anchor,
    )


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
