"""Variants: further analyses of a recording, each with options of its own.

The default analysis has no options and is not a variant; its id is "".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tracekit.cli.analysis_options import AnalysisOptions, Values
from tracekit_dashboard.library.analysis_state import AnalysisState

FILES = {
    "windows-csv": "windows.csv",
    "markers": "markers.toml",
    "request-spans": "request-spans.toml",
    "symbols": "symbols.zip",
    "with": "with.zip",
    "model": "model.zip",
    "plan": "plan.zip",
}
"""The options whose values are files, with the names of their copies in the variant's folder."""

PACKED = ("symbols", "with", "model", "plan")
"""The options whose files are kept as one zip."""


@dataclass(frozen=True)
class Variant(AnalysisState):
    """A further analysis. ``options`` hold other people's text."""

    recording: str
    id: str
    options: Values
    """Those of ``AnalysisOptions.values``; a file as {"name", "sha256"}."""
    added_us: int

    @property
    def analysis(self) -> str:
        """The id of its results."""
        return f"{self.recording}.{self.id}"


def make_variant(recording: str, variant: str, options: Values) -> Variant:
    """Return a variant that was requested just now and waits."""
    added_us = round(datetime.now(UTC).timestamp() * 1e6)
    return Variant(recording, variant, options, added_us, state="waiting")


def describe_options(options: Values) -> list[tuple[str, str]]:
    """Return each option's name and its value as text; files by their names."""
    pairs = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        pairs += [(name, str(item["name"] if isinstance(item, dict) else item)) for item in values]
    return pairs


def with_files(options: Values, folder: Path) -> AnalysisOptions:
    """Return the options with the paths of the files' copies in the variant's folder."""
    values = {name: str(folder / FILES[name]) if name in FILES else value for name, value in options.items()}
    return AnalysisOptions.from_values(values)
