"""A Mac for claims: the fake xctrace, and small scripts in the place of Swift, sysctl and a simulator's tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from record_support import Mac, Result

from tracekit.cli import main
from tracekit.probes.probe_manifest import ProbeManifest, format_manifest
from tracekit.probes.probe_question import Probe
from tracekit.probes.runner import PROGRAM_NAME, read_program
from tracekit.proof import surroundings
from tracekit.proof.trials import program_trial

SWIFT_PROGRAM = """#!/bin/sh
case $(basename "$0") in
coreml_plan) echo '{"schema": "tracekit-plan/1", "model": "Net", "compute_units": "all", "functions": {"main": [
{"op": "ios17.conv", "inputs": ["x"], "outputs": ["c"], "preferred": "ANE", "supported": ["CPU", "ANE"], "weight": 1.0}]}}';;
*) for probe in control relu; do for units in cpuAndNeuralEngine cpuAndGPU cpuOnly; do echo "$probe $units: 30 calls"; done; done;;
esac
"""
"""What the compiled programs print; a line per probe and setting, and a plan."""


class ProvingMac(Mac):
    """A Mac for one test, on which models can be made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, monkeypatch)
        (self.xctrace.folder / "swift_program").write_text(SWIFT_PROGRAM)
        self.script(
            "swiftc",
            'while [ "$1" != -o ]; do shift; done',
            f'/bin/cp {self.xctrace.folder}/swift_program "$2"',
            '/bin/chmod +x "$2"',
        )
        self.script("basename", 'exec /usr/bin/basename "$@"')
        self.script("log", "exec /bin/sleep 60")
        self.facts(chip="Apple M4", virtual="1")
        monkeypatch.setattr(program_trial, "write_probes", write_probes)
        monkeypatch.setattr(surroundings, "find_spec", lambda name: name == "coremltools" or None)

    def script(self, name: str, *lines: str) -> None:
        """Write a program of the shell beside the fake xctrace."""
        path = self.xctrace.folder / name
        path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
        path.chmod(0o755)

    def facts(self, chip: str, virtual: str) -> None:
        """Set what sysctl prints."""
        self.script(
            "sysctl",
            f'case "$2" in machdep.cpu.brand_string) echo "{chip}";; hw.model) echo Mac16,1;; *) echo {virtual};; esac',
        )

    def boot(self, udid: str) -> None:
        """Boot a simulator, as ``simctl list devices booted --json`` states it."""
        text = json.dumps({"devices": {"com.apple.CoreSimulator.SimRuntime.iOS-26-2": [{"udid": udid}]}})
        (self.xctrace.folder / "booted.json").write_text(text)
        self.script(
            "xcrun",
            f'if [ "$1" = simctl ]; then exec /bin/cat {self.xctrace.folder}/booted.json; fi',
            "exit 72",
        )

    def prove(self, *arguments: str, **settings: object) -> Result:
        """Run ``tracekit prove out`` with the fake xctrace."""
        self.xctrace.configure(**settings)
        command = ["prove", "out", "--xctrace", str(self.xctrace.folder / "xctrace"), *arguments]
        result = CliRunner().invoke(main, command)
        assert not isinstance(result.exception, Exception), result.exception
        assert self.xctrace.running() == []
        return Result(result.exit_code, result.stdout, result.stderr)

    def outcomes(self) -> dict[str, tuple[str, str]]:
        """Return the state and the finding of each claim in the file."""
        document = json.loads((self.folder / "out" / "proof.json").read_text())
        return {claim["id"]: (claim["state"], claim["found"]) for claim in document["claims"]}


def write_probes(
    folder: Path, probes: tuple[Probe, ...], settings: tuple[str, ...], calls: int
) -> ProbeManifest:
    """Write what coremltools would, but for the models."""
    folder.mkdir(parents=True)
    hashes = {probe.name: "0" * 64 for probe in probes}
    manifest = ProbeManifest(tuple(probes), tuple(settings), calls, hashes, {})
    (folder / PROGRAM_NAME).write_text(read_program(), encoding="utf-8")
    (folder / "probes.json").write_text(format_manifest(manifest), encoding="utf-8")
    return manifest
