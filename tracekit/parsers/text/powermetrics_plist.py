"""Power that ``powermetrics -f plist`` writes: property lists, one per sample, with a NUL between them.

Names of a sample: ``elapsed_ns``, ``timestamp`` (a date in UTC, to the second), ``hw_model``,
``kern_osversion``; in ``processor`` (or next to it, in a quoted excerpt) ``ane_power``, ``cpu_power``, … in
mW and ``ane_energy``, … in mJ over the interval. Programs that divide the energy by 1000 take it for W, which
is right for 1 s only: it is divided by ``elapsed_ns`` here. No real stream with work on the Neural Engine was
at hand.
"""

from __future__ import annotations

import math
import plistlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.errors import InputError
from tracekit.model.power_rails import ANE_RAIL, COMBINED, CPU_RAIL, GPU_RAIL, PACKAGE
from tracekit.parsers.limits import LimitError
from tracekit.parsers.text.power_samples import PowerOrigin, PowerSamples
from tracekit.parsers.text.powermetrics import ADVICE, TOOL
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording
from tracekit.text import plural

_NAMES = {ANE_RAIL: "ane", CPU_RAIL: "cpu", GPU_RAIL: "gpu", COMBINED: "combined", PACKAGE: "package"}
_KEYS = (
    "<key>elapsed_ns</key>",
    "<key>cpu_energy</key>",
    "<key>ane_energy</key>",
    "<key>combined_power</key>",
)
_MAX_SAMPLE_BYTES = 16 << 20
"""A choice: a sample with every process of the system takes a megabyte."""
_SECOND_NS = 10**9


def _is_powermetrics_plist(head: str) -> bool:
    return "<plist" in head and any(key in head for key in _KEYS)


def _read_stream(file: TextFile) -> Iterator[TextRecording]:
    """Yield the stream as one recording. Raises ``InputError`` for one without any sample of power."""
    samples = PowerSamples(_SECOND_NS)
    origin = PowerOrigin(TOOL)
    is_summed, read = True, 0
    for document in _iter_documents(file):
        sample = _parse_document(document)
        read += 1
        processor = sample.get("processor")
        rails = _read_rails(sample, processor if isinstance(processor, Mapping) else {})
        length_ns = _get_whole_number(sample.get("elapsed_ns"))
        samples.add(_convert_moment(sample.get("timestamp")), length_ns, rails)
        is_summed &= rails.get(COMBINED) is None
        model, build = (_get_text(sample.get(name)) for name in ("hw_model", "kern_osversion"))
        origin = PowerOrigin(TOOL, origin.model or model, origin.build or build)
    if not samples.samples:
        raise InputError(
            file.name,
            f"holds {plural(read, 'property list')}, none with the power of CPU, GPU or ANE as powermetrics"
            " writes it.",
            f"{ADVICE} -f plist",
        )
    yield samples.build_recording(file, POWERMETRICS_PLIST.name, origin, is_summed=is_summed)


def _iter_documents(file: TextFile) -> Iterator[bytes]:
    remainder = b""
    for block in file.iter_blocks():
        *whole, remainder = (remainder + block).split(b"\0")
        yield from (document for document in whole if document.strip())
        if len(remainder) > _MAX_SAMPLE_BYTES:
            raise LimitError(file.name, f"has a sample of more than {_MAX_SAMPLE_BYTES:,} bytes")
    if remainder.strip():
        yield remainder


def _parse_document(document: bytes) -> dict[str, Any]:
    """Return a property list; an empty one if it is cut off, damaged, or not a dictionary."""
    try:
        # The text before it is not needed; in a quoted excerpt it is a comment that XML does not allow.
        sample = plistlib.loads(document[max(document.find(b"<plist"), 0) :], fmt=plistlib.FMT_XML)
    except (
        ExpatError,
        ValueError,
        OverflowError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        RecursionError,
    ):
        return {}
    return sample if isinstance(sample, dict) else {}


def _read_rails(sample: Mapping[str, Any], processor: Mapping[str, Any]) -> dict[str, float | None]:
    length_s = _get_whole_number(sample.get("elapsed_ns")) / 1e9
    rails = {}
    for rail, name in _NAMES.items():
        power, energy = (
            _convert_number(processor.get(f"{name}_{what}", sample.get(f"{name}_{what}")))
            for what in ("power", "energy")
        )
        rails[rail] = energy / length_s if power is None and energy is not None and length_s else power
    return {rail: power for rail, power in rails.items() if power is not None}


def _convert_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else math.inf


def _get_whole_number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else 0


def _get_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _convert_moment(value: object) -> int | None:
    if not isinstance(value, datetime):
        return None
    return int(value.replace(tzinfo=UTC).timestamp()) * _SECOND_NS


POWERMETRICS_PLIST = TextKind(
    "powermetrics-plist", "property lists of powermetrics", _is_powermetrics_plist, _read_stream
)
