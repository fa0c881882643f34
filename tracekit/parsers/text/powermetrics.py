"""Power that ``powermetrics`` prints as text.

A sample is a heading and, somewhere below it, a line per rail:

    *** Sampled system activity (Fri Nov 10 12:37:08 2023 +0100) (104.51ms elapsed) ***
    CPU Power: 947 mW
    GPU Power: 153 mW
    ANE Power: 0 mW
    Combined Power (CPU + GPU + ANE): 1100 mW

Forms that were seen: macOS 12 has "Package Power" and no combined one (real file), later systems the other
way round. Where the GPU's sampler runs too, "GPU Power" is printed twice with different values (real file,
macOS 27): the first belongs to the CPU's sampler, as the other rails do. An Intel Mac has neither an engine's
line nor any of these; its package is an "Intel energy model derived package power".
The heading's moment is taken as the sample's end; this is an assumption.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from tracekit.errors import InputError
from tracekit.model.power_rails import ANE_RAIL, COMBINED, CPU_RAIL, GPU_RAIL, PACKAGE
from tracekit.parsers.text.power_samples import PowerOrigin, PowerSamples
from tracekit.parsers.text.text_file import TextFile
from tracekit.parsers.text.text_recording import TextKind, TextRecording

TOOL = "powermetrics"
ADVICE = "Record with: sudo powermetrics --samplers cpu_power,gpu_power,ane_power -i 100"
_SECOND_NS = 10**9
_NUMBER = r"[-+]?(?:\d{1,400}(?:\.\d{1,400})?(?:[eE][-+]?\d{1,6})?|[nN]a[nN]|[iI]nf(?:inity)?)"
"""Matches impossible values, too: they are counted."""
_HEADING = re.compile(
    r"^\*\*\* Sampled system activity \((?P<day>\w{3}) (?P<month>\w{3}) +(?P<date>\d{1,2})"
    r" (?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2}) (?P<year>\d{4})(?: (?P<zone>[+-]\d{4}))?\)"
    rf" \((?P<elapsed>{_NUMBER})ms elapsed\)",
    re.MULTILINE,
)
_LIFETIME = re.compile(r"^\*\*\* Lifetime system activity", re.MULTILINE)
"""A first section of averages since the system's start (``--show-initial-usage``), which is not a sample."""
_RAIL = re.compile(
    r"^(?P<rail>CPU|GPU|ANE|Combined|Package) Power(?: \(CPU \+ GPU \+ ANE\))?:"
    rf" +(?P<value>{_NUMBER}) ?(?P<unit>mW|W)\s*$",
    re.MULTILINE,
)
_INTEL = re.compile(
    r"^(?:Intel energy model derived package power|Package power) \([^)]*\):"
    rf" +(?P<value>{_NUMBER}) ?(?P<unit>mW|W)\s*$",
    re.MULTILINE,
)
_PROCESSOR = re.compile(r"^\*{4} Processor usage \*{4}$", re.MULTILINE)
_RAIL_OF_NAME = {
    "CPU": CPU_RAIL,
    "GPU": GPU_RAIL,
    "ANE": ANE_RAIL,
    "Combined": COMBINED,
    "Package": PACKAGE,
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass
class _PowermetricsReport:
    """The part of a text from one "Machine model" to the next."""

    samples: PowerSamples = field(default_factory=lambda: PowerSamples(_SECOND_NS))
    model: str = ""
    build: str = ""
    utc_offset_s: int | None = None
    headings: int = 0
    is_summed: bool = True


def _is_powermetrics(head: str) -> bool:
    return any(sign.search(head) is not None for sign in (_HEADING, _LIFETIME, _RAIL, _INTEL, _PROCESSOR))


def _read_reports(file: TextFile) -> Iterator[TextRecording]:
    """Yield each report. Raises ``InputError`` for a text without any sample of power."""
    report, yielded = _PowermetricsReport(), 0
    end_ns: int | None = None
    length_ns = 0
    rails: dict[str, float | None] = {}
    is_open = is_lifetime = False

    def close() -> None:
        if is_open:
            report.samples.add(end_ns, length_ns, rails)

    for line in file.iter_lines():
        if line.startswith("Machine model:"):
            close()
            if report.samples.samples:
                yield _build_recording(file, report)
                yielded += 1
            report, rails, is_open = _PowermetricsReport(model=line.partition(":")[2].strip()), {}, False
            end_ns, length_ns = None, 0
        elif line.startswith("OS version:"):
            report.build = line.partition(":")[2].strip()
        elif line.startswith("*** Sampled"):
            close()
            heading = _HEADING.match(line)
            end_ns, length_ns = _parse_moment(heading, report) if heading else (None, 0)
            rails, is_open, is_lifetime = {}, True, False
            report.headings += 1
        elif _LIFETIME.match(line):
            close()
            rails, is_open, is_lifetime = {}, False, True
        elif not is_lifetime and "ower" in line and (match := _RAIL.match(line) or _INTEL.match(line)):
            rail = _RAIL_OF_NAME[match["rail"]] if match.re is _RAIL else PACKAGE
            if rail in rails and rail != GPU_RAIL and not report.headings:
                # Lines of a report without its headings: a repeated rail begins a sample.
                close()
                rails = {}
            value = float(match["value"]) * (1000 if match["unit"] == "W" else 1)
            rails.setdefault(rail, value)
            report.is_summed &= rail != COMBINED
            is_open = True
    close()
    if report.samples.samples:
        yield _build_recording(file, report)
    elif not yielded:
        raise InputError(
            file.name,
            "is output of powermetrics without a line of CPU, GPU or ANE power: it was cut, or taken with"
            " other samplers.",
            ADVICE,
        )


def _build_recording(file: TextFile, report: _PowermetricsReport) -> TextRecording:
    origin = PowerOrigin(TOOL, report.model, report.build, utc_offset_s=report.utc_offset_s)
    return report.samples.build_recording(file, POWERMETRICS.name, origin, is_summed=report.is_summed)


def _parse_moment(heading: re.Match[str], report: _PowermetricsReport) -> tuple[int | None, int]:
    """Return the moment of a heading, None for an impossible date, and the sample's length."""
    length_ms = float(heading["elapsed"])
    # An impossible length is passed on as one below zero, which damages only its sample.
    length_ns = round(length_ms * 1e6) if abs(length_ms) < 1e12 else -1
    zone = heading["zone"]
    offset_s = (int(zone[1:3]) * 3600 + int(zone[3:]) * 60) * (-1 if zone[0] == "-" else 1) if zone else 0
    try:
        moment = datetime(
            int(heading["year"]),
            _MONTHS.index(heading["month"]) + 1,
            int(heading["date"]),
            int(heading["hour"]),
            int(heading["minute"]),
            int(heading["second"]),
            tzinfo=UTC,
        )
        seconds = int((moment - timedelta(seconds=offset_s)).timestamp())
    except (ValueError, OverflowError):
        return None, length_ns
    if zone:
        report.utc_offset_s = offset_s
    return seconds * _SECOND_NS, length_ns


POWERMETRICS = TextKind(TOOL, "output of powermetrics", _is_powermetrics, _read_reports)
