"""The reports of sample recordings that the site links to."""

from __future__ import annotations

from pathlib import Path

import tracekit

_SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
REPORTS = {"left-the-engine.html": "fallback-midway-ios27"}
"""The files of the site, and the recording of each."""


def write_reports(folder: Path) -> None:
    """Write the report of each recording into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, sample in REPORTS.items():
        analysis = tracekit.analyze(tracekit.open_trace(_SAMPLES / sample))
        (folder / name).write_text(analysis.to_html(), "utf-8")
