"""The program for the Mac that calls the probes, as its source: public API only."""

from __future__ import annotations

from pathlib import Path

PROGRAM_NAME = "ProbeRunner.swift"

SUBSYSTEM, CATEGORY, SIGNPOST = "tracekit.probes", "calls", "probe"
"""By which a recording's reader finds the calls; the program has the same words."""


def read_program() -> str:
    """Return the source of the program."""
    return Path(__file__).with_name(PROGRAM_NAME).read_text("utf-8")
