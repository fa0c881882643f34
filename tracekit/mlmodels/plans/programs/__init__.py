"""Programs that make a plan on a Mac, with public interfaces alone. They need no tracekit.

Core ML's write ``tracekit-plan/1``; Core AI's writes what coreai-torch makes of its own plan.
"""

from __future__ import annotations

from pathlib import Path

PROGRAMS = {"swift": "coreml_plan.swift", "python": "coreml_plan.py", "coreai": "coreai_plan.py"}
"""By the word for it on the command line."""


def read_program(word: str) -> str:
    """Return the text of a program."""
    return (Path(__file__).parent / PROGRAMS[word]).read_text("utf-8")
