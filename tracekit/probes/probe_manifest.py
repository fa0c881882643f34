"""The manifest of a folder of probes: ``probes.json``, which the runner on the Mac and the reader share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tracekit.errors import InputError
from tracekit.model.vocabulary import COMPUTE_UNITS
from tracekit.probes.probe_question import CONTROL, DTYPES, MAX_PROBES, MAX_SIZE, Probe
from tracekit.probes.probed_operators import OPERATORS
from tracekit.text import clip, printable

FILE_NAME = "probes.json"
SCHEMA = "tracekit-probes/1"

_MAX_BYTES = 4 << 20
_MAX_CALLS = 1_000
_MAX_NAME = 120
_ADVICE = "Give the probes.json that tracekit probe write made."


@dataclass(frozen=True, slots=True)
class ProbeManifest:
    """The probes of a folder. ``calls`` is how often the runner calls each with each of ``settings``.

    ``sha256`` has the hash of each probe's specification, ``made_with`` the versions of the tools.
    """

    probes: tuple[Probe, ...]
    settings: tuple[str, ...]
    calls: int
    sha256: Mapping[str, str]
    made_with: Mapping[str, str]


def format_manifest(manifest: ProbeManifest) -> str:
    """Return the text of a manifest."""
    document = {
        "schema": SCHEMA,
        "made_with": dict(manifest.made_with),
        "settings": list(manifest.settings),
        "calls": manifest.calls,
        "probes": [
            {
                "name": probe.name,
                "file": f"{probe.name}.mlpackage",
                "sha256": manifest.sha256[probe.name],
                "operator": probe.operator,
                "parameters": dict(probe.parameters),
                "dtype": probe.dtype,
                "shape": list(probe.shape),
                "control": None if probe.is_control else probe.control,
            }
            for probe in manifest.probes
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def read_manifest(path: Path | str) -> ProbeManifest:
    """Read a manifest, or that of a folder. Raises ``InputError``."""
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    reader = _ManifestReader(str(file))
    try:
        size = file.stat().st_size
        if size > _MAX_BYTES:
            reader.fail(f"has {size:,} bytes; a manifest has at most {_MAX_BYTES:,}")
        loaded = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(str(file), f"cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(file), "is no JSON.", _ADVICE) from error
    return reader.read(loaded)


class _ManifestReader:
    """Checks each value of a manifest: it is a file, and may be anybody's."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fail(self, problem: str) -> NoReturn:
        raise InputError(self._path, f"{problem}.", _ADVICE)

    def read(self, loaded: Any) -> ProbeManifest:
        if not isinstance(loaded, dict) or loaded.get("schema") != SCHEMA:
            stated = loaded.get("schema") if isinstance(loaded, dict) else None
            self.fail(f"is no manifest of probes: its schema is {_quote(stated)}, not '{SCHEMA}'")
        entries, settings, calls = loaded.get("probes"), loaded.get("settings"), loaded.get("calls")
        if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_PROBES:
            self.fail(f"does not list between 1 and {MAX_PROBES} probes")
        if (
            not isinstance(settings, list)
            or not settings
            or any(item not in COMPUTE_UNITS for item in settings)
        ):
            self.fail(f"has other settings than {', '.join(COMPUTE_UNITS)}")
        if type(calls) is not int or not 1 <= calls <= _MAX_CALLS:
            self.fail(f"does not state between 1 and {_MAX_CALLS:,} calls")
        probes = tuple(self._read_probe(entry) for entry in entries)
        names = [probe.name for probe in probes]
        if len(set(names)) != len(names):
            self.fail("has two probes of one name")
        for probe in probes:
            if not probe.is_control and probe.control not in names:
                self.fail(f"has no control for {probe.name}")
        made_with = loaded.get("made_with")
        hashes = {str(entry.get("name")): str(entry.get("sha256", ""))[:64] for entry in entries}
        versions = made_with if isinstance(made_with, dict) else {}
        return ProbeManifest(
            probes,
            tuple(dict.fromkeys(settings)),
            calls,
            hashes,
            {str(key)[:40]: str(value)[:40] for key, value in list(versions.items())[:20]},
        )

    def _read_probe(self, entry: Any) -> Probe:
        if not isinstance(entry, dict):
            self.fail("has a probe that is no object")
        name, operator, dtype = entry.get("name"), entry.get("operator"), entry.get("dtype")
        if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME or not name.replace("_", "").isalnum():
            self.fail(f"has a probe with the name {_quote(name)}: letters, digits and _ are a name")
        if not isinstance(operator, str) or (operator != CONTROL and operator not in OPERATORS):
            self.fail(f"has the probe {name} with the unknown operation {_quote(operator)}")
        shape, parameters = entry.get("shape"), entry.get("parameters")
        if (
            not isinstance(shape, list)
            or len(shape) != 3
            or not all(type(size) is int and 0 < size <= MAX_SIZE for size in shape)
        ):
            self.fail(f"has the probe {name} without channels, height and width")
        known = OPERATORS[operator].parameters if operator != CONTROL else {}
        if not isinstance(parameters, dict) or set(parameters) != set(known):
            self.fail(f"has the probe {name} with other parameters than {', '.join(known) or 'none'}")
        for key, parameter in known.items():
            if type(parameters[key]) is not int or not 1 <= parameters[key] <= parameter.most:
                self.fail(f"has the probe {name} with a {key} that is not between 1 and {parameter.most}")
        if dtype not in DTYPES:
            self.fail(f"has the probe {name} with a data type that is none of {', '.join(DTYPES)}")
        return Probe(name, operator, tuple(shape), dtype, parameters)


def _quote(value: object) -> str:
    return f"'{printable(clip(value, 40))}'" if isinstance(value, str) else "missing or no text"
