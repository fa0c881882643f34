"""The machine that claims are tried on: what it has of their needs, and facts that name no person."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from tracekit.frozen import frozen
from tracekit.proof.claim import Need
from tracekit.xctrace.tool import Xctrace, run_command

_SIMULATORS = ["xcrun", "simctl", "list", "devices", "booted", "--json"]
_FACTS = {"chip": "machdep.cpu.brand_string", "model": "hw.model"}


@frozen
class Surroundings:
    """Facts of the machine, and the needs that it meets. ``simulator`` identifies a booted one, or is ""."""

    facts: Mapping[str, str]
    met_needs: frozenset[Need]
    simulator: str = ""


def survey(tool: Xctrace | None, system: str = sys.platform) -> Surroundings:
    """Return this machine as ``tool`` finds it; an xctrace that was named stands for a Mac with Xcode.

    No command is run without one.
    """
    facts = {"system": platform.system(), "python": platform.python_version()}
    if tool is None:
        return Surroundings(facts, frozenset({"mac"}) if system == "darwin" else frozenset())
    is_virtual = _read_fact("kern.hv_vmm_present") == "1"
    simulator = _find_booted_simulator()
    facts |= {
        "macos": platform.mac_ver()[0] if system == "darwin" else "",
        **{name: _read_fact(key) for name, key in _FACTS.items()},
        "virtual": "yes" if is_virtual else "no",
    }
    return Surroundings(facts, frozenset(_iter_met_needs(facts, is_virtual, simulator)), simulator)


def _iter_met_needs(facts: Mapping[str, str], is_virtual: bool, simulator: str) -> Iterator[Need]:
    yield from ("mac", "xcode")
    yield "root" if hasattr(os, "geteuid") and os.geteuid() == 0 else "no-root"
    if find_spec("coremltools"):
        yield "coremltools"
    if find_spec("coreai"):
        yield "coreai"
    if facts["chip"].startswith("Apple") and not is_virtual:
        yield "neural-engine"
    if simulator:
        yield "simulator"


def _read_fact(key: str) -> str:
    result = run_command(["sysctl", "-n", key])
    return result.output.strip()[:100] if result.ok else ""


def _find_booted_simulator() -> str:
    """Return the identifier of a booted simulator, "" for none."""
    try:
        runtimes = json.loads(run_command(_SIMULATORS).output)["devices"]
        return str(next(device["udid"] for devices in runtimes.values() for device in devices))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return ""
