"""A picture as PNG, drawn by Pillow with the font that comes with it: the same pixels on every machine."""

from __future__ import annotations

import io

from tracekit.errors import UsageError
from tracekit.installation import format_install_command
from tracekit.report.pictures.shapes import COLOURS, Line, Picture, Rect, Words

_SCALE = 2
"""Pixels per point: sharp on a high-resolution screen, and legible when an issue tracker shrinks it."""


def to_png(picture: Picture) -> bytes:
    """Return the picture as a PNG file. Raises ``UsageError`` where Pillow is not installed."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise UsageError(
            "PNG needs Pillow, which is not installed; SVG needs nothing."
            f" Install it with: {format_install_command('png')}"
        ) from error
    image = Image.new("RGB", (picture.width * _SCALE, picture.height * _SCALE), COLOURS["surface"])
    draw = ImageDraw.Draw(image, "RGBA")
    for shape in picture.shapes:
        if isinstance(shape, Rect):
            # Pillow's corners are inclusive; even the narrowest rectangle gets a pixel.
            left, top = round(shape.x * _SCALE), round(shape.y * _SCALE)
            right = max(left, round((shape.x + shape.width) * _SCALE) - 1)
            bottom = max(top, round((shape.y + shape.height) * _SCALE) - 1)
            draw.rectangle((left, top, right, bottom), (*_parse_rgb(shape.fill), round(255 * shape.opacity)))
        elif isinstance(shape, Line):
            draw.line([(x * _SCALE, y * _SCALE) for x, y in shape.points], _parse_rgb(shape.stroke), _SCALE)
        else:
            _write_png(draw, ImageFont.load_default(shape.size * _SCALE), shape)
    file = io.BytesIO()
    image.quantize(256).save(file, "PNG", optimize=True)
    return file.getvalue()


def _write_png(draw: object, font: object, words: Words) -> None:
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[words.anchor]
    # The font has Latin letters only; Pillow draws a box for any other.
    draw.text(  # type: ignore[attr-defined]
        (words.x * _SCALE, words.y * _SCALE), words.text, _parse_rgb(words.fill), font=font, anchor=anchor
    )


def _parse_rgb(role: str) -> tuple[int, int, int]:
    text = COLOURS[role]
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)
