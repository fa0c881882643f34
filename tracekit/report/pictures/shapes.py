"""The shapes of a still picture: rectangles, lines and words, with colours by their role."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracekit.frozen import frozen

Role: TypeAlias = str
"""An engine's name or one of "text", "muted", "line", "page", "surface", "accent"."""

COLOURS: dict[Role, str] = {
    # The light theme of assets/page.css; a test holds that they agree.
    "page": "#f6f7f9",
    "surface": "#ffffff",
    "text": "#171b21",
    "muted": "#566070",
    "line": "#d5dae1",
    "accent": "#1c55c4",
    "ANE": "#008747",
    "GPU": "#c87b00",
    "CPU": "#3b44b1",
    "RUNTIME": "#9b559b",
    "GRAPHICS": "#1791f1",
    "OTHER": "#8c8c8c",
    "UNKNOWN": "#545454",
    "MIXED": "#8a5a44",
}
THEMED_COLOURS: dict[Role, str] = {
    role: f"var(--{'engine-' if role.isupper() else ''}{role.lower()})" for role in COLOURS
}
"""The colours of a picture within a page, in the page's theme: the variables of page.css."""


@frozen
class Rect:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: Role
    opacity: float = 1.0


@frozen
class Line:
    """A thin line through points."""

    points: tuple[tuple[float, float], ...]
    stroke: Role


@frozen
class Words:
    """A line of text; ``y`` is its baseline."""

    x: float
    y: float
    text: str
    size: float = 12
    fill: Role = "text"
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


@dataclass
class Picture:
    """Shapes from back to front; ``title`` describes the picture for readers who cannot see it."""

    width: int
    height: int
    title: str = ""
    shapes: list[Rect | Line | Words] = field(default_factory=list)

    def add(self, *shapes: Rect | Line | Words) -> None:
        """Add shapes on top of the present ones."""
        self.shapes += shapes
