"""Recordings that come with the package, to try tracekit on; each is one of ``sample_traces/``, packed.

``make samples`` packs them.
"""

from __future__ import annotations

from pathlib import Path

from tracekit.frozen import frozen


@frozen
class SampleRecording:
    """A packed recording, the sentence that it illustrates, and details that are worth a look."""

    source: str
    """Its folder in ``sample_traces/``."""
    path: Path
    subject: str
    details: tuple[str, ...]


_FOLDER = Path(__file__).resolve().parent

SAMPLE_RECORDINGS = (
    SampleRecording(
        "fallback-midway-ios27",
        _FOLDER / "SpeechEncoder.tkpack",
        "A model leaves the Neural Engine after its sixth call, and is slower from then on.",
        (
            "Call 7 is the first on the CPU: its verdict names the function that computed it, and the table"
            " that measured it.",
            "Two intervals of the Neural Engine are the work of others: a note names them, and they are"
            " excluded.",
        ),
    ),
    SampleRecording(
        "waiting-app-ios27",
        _FOLDER / "ThreeModels.tkpack",
        "Three models stay on the Neural Engine, and the app is slow all the same.",
        (
            "Findings are ordered by cost: first the app's own code between the calls of Segmenter, with the"
            " function that takes the time.",
            "Tagger is loaded before every call, and its calls idle for 12 ms (median).",
            "Classifier blocks the main thread, and in three calls of Segmenter the Neural Engine works for a"
            " model of others.",
        ),
    ),
)
