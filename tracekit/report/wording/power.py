"""Power and energy as English: what the rails show, what they cannot show, and the energy of a call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tracekit.analysis.energy import MISSING_ENERGY, CallEnergy, Power, Rail
from tracekit.model.power_rails import ANE_RAIL, COMBINED, CPU_RAIL, GPU_RAIL, PACKAGE
from tracekit.report.wording.names import format_model_name
from tracekit.text import format_rounded, plural, printable

_RAILS = {
    ANE_RAIL: "the Neural Engine",
    GPU_RAIL: "the GPU",
    CPU_RAIL: "the CPU",
    COMBINED: "CPU, GPU and Neural Engine together",
    PACKAGE: "the package",
}
_FACTS = {
    "intel": "an Intel Mac has no Neural Engine",
    "no-channel-m2-pro": "an M2 Pro was seen without a channel for the engine's power",
    "frozen-m4": "on M4 this rail was seen frozen at zero while the engine worked, so a zero shows nothing",
    "zero-m5": "on M5 with macOS 27 this rail was seen at zero while the engine worked, so it shows nothing",
}
_OF_CALLS = (
    "per call (inferred: the device's energy in samples that lie wholly inside of runs of calls, divided by"
    " the calls)"
)


def describe_power(power: Power) -> str:
    """Return the sentence about a recording that shows power and no model."""
    rail = power.rail(ANE_RAIL)
    caveat = "power alone does not show which process or model used it."
    samples = _describe_samples(rail, power)
    match rail.state:
        case "measured":
            return f"The Neural Engine drew {_format_watts(rail.mean_mw)} on average over {samples}; {caveat}"
        case "zero":
            return (
                f"The Neural Engine's power reads 0 mW in {samples}. That does not prove that it was idle:"
                " nothing else here shows the engine."
            )
        case "dead":
            return f"The Neural Engine's power reads 0 mW in {samples}: {_FACTS[rail.fact]}."
    other_rails = [other for other in power.rails if other.state == "measured" and other.rail != ANE_RAIL]
    drew = ", ".join(f"{_RAILS[other.rail]} drew {_format_watts(other.mean_mw)}" for other in other_rails[:2])
    why = f": {_FACTS[rail.fact]}" if rail.fact else ""
    other_power = (
        f" On average, {drew} over {_describe_samples(other_rails[0], power)}; {caveat}"
        if other_rails
        else ""
    )
    return f"No sample has the Neural Engine's power{why}.{other_power}"


def power_lines(power: Power | None) -> list[str]:
    """Return a line about the source, one per rail, and one per model whose calls were to be priced."""
    if power is None:
        return []
    return [
        f"{describe_power_source(power)}: an estimate for the whole device, of no process;"
        f" {_describe_interval(power)}",
        *(_describe_rail(rail) for rail in power.rails),
        *_call_lines(power),
    ]


def describe_power_source(power: Power) -> str:
    """Return ``powermetrics, M1, macOS 12 (21G115)``."""
    system = f"macOS {power.macos} ({power.build})" if power.macos else power.build
    return ", ".join(printable(part) for part in (power.tool, power.chip, system) if part)


def describe_rail_state(rail: Rail) -> str:
    """Return what the rail's state means."""
    fact = f": {_FACTS[rail.fact]}" if rail.fact else ""
    match rail.state:
        case "measured":
            return "measured above zero"
        case "zero":
            return f"0 mW in {_describe_period(rail)}, which does not prove that nothing worked"
        case "dead":
            return f"0 mW in {_describe_period(rail)}{fact}"
        case "absent":
            return f"no sample has it{fact}"


def missing_energy(entry: CallEnergy, power: Power) -> str:
    """Return why a call has no energy on a rail; "" where it has."""
    longest = format_rounded(entry.longest_run_ns)
    accuracy = f", whose times are known to ±{format_rounded(power.accuracy_ns)}" if power.accuracy_ns else ""
    if entry.missing == "long-samples":
        length = f"{format_rounded(power.interval_ns)}{accuracy}"
        return f"no sample ({length}) lies inside of a run of calls (the longest: {longest})"
    return MISSING_ENERGY[entry.missing] if entry.missing else ""


def _describe_rail(rail: Rail) -> str:
    name = _RAILS[rail.rail] + (" (added up here)" if rail.is_sum else "")
    name = name[0].upper() + name[1:]
    if rail.state != "measured":
        return f"{name}: {describe_rail_state(rail)}"
    energy = "" if rail.energy_mj is None else f", {_format_joules(rail.energy_mj)}"
    return f"{name}: {_format_watts(rail.mean_mw)} on average, {_format_watts(rail.max_mw)} at most{energy}"


def _call_lines(power: Power) -> Iterator[str]:
    for (model, _), entries in groupby(power.calls, lambda entry: (entry.model, entry.pid)):
        rail_entries = list(entries)
        priced = [entry for entry in rail_entries if entry.energy_mj is not None]
        name = format_model_name(model, is_named=True)
        if priced:
            basis = max(priced, key=lambda entry: entry.samples)
            amounts = ", ".join(
                f"{_format_joules(entry.energy_mj)} for {_RAILS[entry.rail]}" for entry in priced
            )
            runs = (
                f"{plural(basis.samples, 'sample')} in {plural(basis.runs, 'run')}, {basis.calls:,.1f} calls"
            )
            unknown = (
                f"; not known for {_RAILS[entry.rail]}: {missing_energy(entry, power)}"
                for entry in rail_entries
                if entry.missing not in ("", "absent")
            )
            yield f"{name}: {amounts} {_OF_CALLS}; {runs}{''.join(unknown)}"
            continue
        reasons = dict.fromkeys(
            _explain_missing_energy(entry, power) for entry in rail_entries if entry.missing != "absent"
        )
        yield f"{name}: the energy of a call is not known: {'; '.join(reasons)}"


def _explain_missing_energy(entry: CallEnergy, power: Power) -> str:
    """Return why a call has no energy on a rail, naming the rail where the reason is the rail's own."""
    reason = missing_energy(entry, power)
    return f"{reason} ({_RAILS[entry.rail]})" if entry.missing in ("zero", "dead") else reason


def _describe_period(rail: Rail) -> str:
    return "the only sample" if rail.samples == 1 else f"all {plural(rail.samples, 'sample')}"


def _describe_samples(rail: Rail, power: Power) -> str:
    """Return ``10 samples of 107 ms (powermetrics, M1, macOS 12 (21G115))``."""
    count = _describe_period(rail) if rail.state in ("zero", "dead") else plural(rail.samples, "sample")
    length = f" of {format_rounded(power.interval_ns)}" if power.interval_ns else ""
    source = describe_power_source(power)
    return f"{count}{length}{f' ({source})' if source else ''}"


def _describe_interval(power: Power) -> str:
    if not power.interval_ns:
        return "the length of its samples is not stated"
    accuracy = f", placed in time to ±{format_rounded(power.accuracy_ns)}" if power.accuracy_ns else ""
    return f"samples of {format_rounded(power.interval_ns)}{accuracy}"


def _format_watts(milliwatts: float | None) -> str:
    amount = milliwatts or 0.0
    return f"{amount:.0f} mW" if amount < 1000 else f"{amount / 1000:.2f} W"


def _format_joules(millijoules: float | None) -> str:
    amount = millijoules or 0.0
    return f"{amount:.3g} mJ" if amount < 1000 else f"{amount / 1000:,.2f} J"
