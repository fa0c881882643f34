"""Power as JSON objects, one per sample: what macmon and similar tools write.

macmon (``macmon pipe``) writes ``{"timestamp": "2025-02-24T20:38:15.427569+00:00", "cpu_power": 0.2,
"gpu_power": 0.0, "ane_power": 0.0, "all_power": 0.2, …}``, in watts, averages since the sample before (its
documentation); with ``--soc-info`` also ``"soc": {"mac_model": …, "chip_name": …}``. Similar tools put the
powers into an object of their own, or write the unit at the end of the name; a name without a unit is in
watts, as macmon's are.

Samples do not state their length: it is the time since the previous sample; the first gets the usual length.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tracekit.errors import InputError
from tracekit.model.power_rails import ANE_RAIL, COMBINED, CPU_RAIL, GPU_RAIL, PACKAGE
from tracekit.parsers.limits import LimitError
from tracekit.parsers.text.power_samples import PowerOrigin, PowerSample, PowerSamples
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

_NAME = re.compile(r"^(?P<rail>ane|gpu|cpu|all|combined|package)_power(?:_(?P<unit>mw|milliwatts|w|watts))?$")
_RAIL_OF_NAME = {
    "ane": ANE_RAIL,
    "gpu": GPU_RAIL,
    "cpu": CPU_RAIL,
    "all": COMBINED,
    "combined": COMBINED,
    "package": PACKAGE,
}
_IN_HEAD = re.compile(r'"(?:ane|cpu|gpu)_power(?:_\w+)?"\s*:')
_GROUPS = ("power", "soc_metrics", "consumption", "metrics")
"""Names of objects in which tools put the powers."""
_MAX_SAMPLE_CHARACTERS = 4 << 20
_BETWEEN = "\ufeff \t\r\n[],"
_SEPARATOR = re.compile(f"[{re.escape(_BETWEEN)}]*")
_DECODER = json.JSONDecoder()
_MAX_ATTEMPTS = 1_000
"""Chosen limit: a sample of macmon has 40 lines that end with a brace."""
_MAX_GAP_LENGTHS = 1.5
"""Heuristic: a longer pause, in usual lengths of a sample, is a gap, not one long sample."""


def _is_power_json(head: str) -> bool:
    return head.lstrip("\ufeff \t\r\n[")[:1] == "{" and _IN_HEAD.search(head) is not None


def _read_samples(file: TextFile) -> Iterator[TextRecording]:
    """Yield the samples as one recording. Raises ``InputError`` for a text without any."""
    samples = PowerSamples(0)
    origin = PowerOrigin("")
    is_summed = True
    for document in _iter_documents(file, samples):
        rails = _read_rails(document)
        samples.add(_read_moment(document), _read_length(document), rails)
        is_summed &= COMBINED not in rails
        origin = origin if origin.tool else _read_origin(document)
    if not samples.samples:
        raise InputError(
            file.name,
            "holds JSON objects, none with a number for ane_power, gpu_power or cpu_power.",
            "Record with: macmon pipe --soc-info -i 100",
        )
    samples.samples = _with_lengths(samples.samples)
    yield samples.build_recording(file, POWER_JSON.name, origin, is_summed=is_summed)


def _iter_documents(file: TextFile, samples: PowerSamples) -> Iterator[dict[str, Any]]:
    """Yield the objects, one per line, on several lines each, or in an array."""
    parts: list[str] = []
    length, attempts = 0, 0
    for line in file.iter_lines():
        if not parts and not line.strip(_BETWEEN):
            continue
        parts.append(line)
        length += len(line) + 1
        # A line that ends an object ends with a brace; each such line is tried.
        if line.rstrip(" \t,]").endswith("}"):
            waiting = "\n".join(parts)
            documents, unread = _decode_documents(waiting)
            waiting, attempts = waiting[unread:], 0 if documents else attempts + 1
            if waiting and waiting != line and (document := _parse_object(line)):
                # The line before was cut off: this one is a separate object.
                samples.add(None, 0, {})
                documents.append(document)
                waiting = ""
            yield from documents
            parts, length = [waiting] if waiting else [], len(waiting)
        if length > _MAX_SAMPLE_CHARACTERS or attempts > _MAX_ATTEMPTS:
            raise LimitError(file.name, "has a sample of power that does not end")
    if parts:
        samples.add(None, 0, {})


def _decode_documents(text: str) -> tuple[list[dict[str, Any]], int]:
    """Return the objects at the beginning of a text, and the position after them and their separators."""
    documents: list[dict[str, Any]] = []
    place = _SEPARATOR.match(text).end()  # type: ignore[union-attr] # it matches nothing, too
    while place < len(text):
        try:
            document, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        place = _SEPARATOR.match(text, end).end()  # type: ignore[union-attr]
        if isinstance(document, dict):
            documents.append(document)
    return documents, place


def _parse_object(line: str) -> dict[str, Any]:
    """Return the object in a line; an empty one for any other line."""
    if not line.startswith("{") or not line.rstrip().endswith("}"):
        return {}
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_rails(document: Mapping[str, Any]) -> dict[str, float | None]:
    rails: dict[str, float | None] = {}
    groups = [document, *(document[name] for name in _GROUPS if isinstance(document.get(name), dict))]
    for group in groups:
        for name, value in group.items():
            match = _NAME.match(name)
            if match and isinstance(value, int | float) and not isinstance(value, bool):
                is_milli = (match["unit"] or "").startswith("m")
                # A number beyond floats is impossible as a power, and is counted as such.
                power = float(value) if abs(value) < 1e15 else math.inf
                rails.setdefault(_RAIL_OF_NAME[match["rail"]], power * (1 if is_milli else 1000))
    return rails


def _read_moment(document: Mapping[str, Any]) -> int | None:
    """Return the moment of a sample; its zone is that of the text, UTC where it has none."""
    value = document.get("timestamp")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**60:
        # Seconds, milliseconds or nanoseconds since 1970, by the size of the number.
        return int(value * (10**9 if value < 1e11 else 10**6 if value < 1e14 else 1))
    if not isinstance(value, str):
        number = document.get("unix_ms")
        return number * 10**6 if isinstance(number, int) and 0 < number < 2**42 else None
    try:
        moment = datetime.fromisoformat(value)
        return round(moment.timestamp() * 1e6) * 1000
    except (ValueError, OverflowError, OSError):
        return None


def _read_length(document: Mapping[str, Any]) -> int:
    value = document.get("interval_ms")
    return int(value * 1e6) if isinstance(value, int | float) and 0 < value < 1e8 else 0


def _read_origin(document: Mapping[str, Any]) -> PowerOrigin:
    soc = document.get("soc") or document.get("system_info")
    facts = soc if isinstance(soc, dict) else {}
    chip, model = (facts.get(name) for name in ("chip_name", "mac_model"))
    return PowerOrigin(
        "macmon" if "all_power" in document else "JSON",
        model if isinstance(model, str) else "",
        chip=chip if isinstance(chip, str) else "",
    )


def _with_lengths(samples: list[PowerSample]) -> list[PowerSample]:
    """Return the samples; those without a stated length get the time since the previous one."""
    apart = [
        later.end_ns - earlier.end_ns
        for earlier, later in itertools.pairwise(samples)
        if earlier.end_ns is not None and later.end_ns is not None and later.end_ns > earlier.end_ns
    ]
    if not apart:
        return samples
    usual = int(statistics.median(apart))
    lengthened = []
    previous_end_ns: int | None = None
    for sample in samples:
        since = None if previous_end_ns is None or sample.end_ns is None else sample.end_ns - previous_end_ns
        length = since if since is not None and 0 < since <= usual * _MAX_GAP_LENGTHS else usual
        lengthened.append(sample if sample.length_ns else replace(sample, length_ns=length))
        previous_end_ns = sample.end_ns
    return lengthened


POWER_JSON = TextKind("power-json", "samples of power as JSON", _is_power_json, _read_samples)
