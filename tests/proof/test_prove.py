"""`tracekit prove` on a strict fake xctrace: what holds, what does not, what hangs, and without any Mac."""

from __future__ import annotations

import getpass
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from proof_support import SWIFT_PROGRAM, ProvingMac
from record_support import SIMULATOR

from tracekit.cli import main
from tracekit.errors import UsageError, XctraceError
from tracekit.proof import prove as prove_module
from tracekit.proof.claim import load_claims
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.prove import prove, run_trial
from tracekit.proof.surroundings import Surroundings
from tracekit.proof.trials import TRIED_CLAIMS
from tracekit.proof.trials.preset_trial import PRESET_TRIAL
from tracekit.proof.trials.privilege_trial import PRIVILEGE_TRIALS
from tracekit.proof.trials.program_trial import PROGRAM_TRIAL
from tracekit.proof.trials.simulator_trial import SIMULATOR_TRIALS
from tracekit.proof.trials.supervision_trial import SUPERVISION_TRIALS
from tracekit.proof.trials.trial import Trial
from tracekit.proof.workbench import Workbench
from tracekit.record.signals import StopRequests

pytestmark = pytest.mark.integration
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "tracekit-proof-1.schema.json").read_text()
)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Leave all trials out but some: each takes seconds."""

    def choose(*trials: Trial) -> None:
        monkeypatch.setattr(prove_module, "TRIALS", trials)

    return choose


def states(mac: ProvingMac, state: str) -> set[str]:
    return {claim for claim, (found, _) in mac.outcomes().items() if found == state}


def test_without_a_mac_nothing_is_run_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "tracekit.proof.surroundings.run_command", lambda *_: pytest.fail("a command was run")
    )
    result = CliRunner().invoke(main, ["prove", "out"])
    assert result.exit_code == 5
    assert "Nothing was run: this is no Mac with a working Xcode." in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_claim_that_can_be_tried_is_tried(mac: ProvingMac) -> None:
    result = mac.prove()
    jsonschema.validate(json.loads((mac.folder / "out/proof.json").read_text()), SCHEMA)
    held = states(mac, "held")
    assert held >= {
        "xctrace-lists",
        "xctrace-commands",
        "probe-program",
        "plan-program-swift",
        "interrupt-saves",
        "append-run",
        "window-kept",
        "second-recording",
        "launched-program",
        "instruments-once",
        "preset-minimal",
        "fallback-export",
        "redaction",
    }
    # The recording that the fake saves is of a GPU, of Xcode 26 on macOS 15: it has none of these.
    failed = states(mac, "did not hold")
    assert failed >= {"preset-coreml", "core-ml-rows", "app-signposts"}
    assert (
        "9 tables: 8 missing, 1 equal" in mac.outcomes()["native-reading"][1]
    )  # of the others it has exports alone
    assert mac.outcomes()["core-ml-rows"] == ("did not hold", "0 rows of Core ML, 180 calls")
    assert mac.outcomes()["ane-rows"] == ("not tried", "needs a Neural Engine, which no virtual machine has")
    assert result.code == 1
    assert (mac.folder / "out/packs/preset-coreml.tracekit.zip").is_file()
    assert CliRunner().invoke(main, ["analyze", "out/packs/preset-coreml.tracekit.zip"]).exit_code == 0
    assert f"{len(held)} claims held, {len(failed)} did not hold" in result.output


def test_the_file_names_no_person_path_or_device(
    mac: ProvingMac, monkeypatch: pytest.MonkeyPatch, only: Callable[..., None]
) -> None:
    only(PROGRAM_TRIAL)
    monkeypatch.setattr(getpass, "getuser", lambda: "quincy")
    mac.script(
        "swiftc",
        f"echo '{mac.folder}/out/probes/ProbeRunner.swift:3: error by quincy on {SIMULATOR}' >&2; exit 1",
    )
    mac.prove()
    text = (mac.folder / "out/proof.json").read_text()
    assert mac.outcomes()["probe-program"] == (
        "not tried",
        "swiftc did not build ProbeRunner.swift: PATH:3: error by NAME on IDENTIFIER.",
    )
    assert "quincy" not in text and str(mac.folder) not in text and SIMULATOR not in text


def test_a_private_name_in_a_pack_is_found_and_the_pack_is_not_kept(
    mac: ProvingMac, monkeypatch: pytest.MonkeyPatch, only: Callable[..., None]
) -> None:
    only(PROGRAM_TRIAL, PRESET_TRIAL)
    monkeypatch.setattr(getpass, "getuser", lambda: "SampleApp")  # a name that the recording is full of
    mac.prove()
    state, finding = mac.outcomes()["redaction"]
    assert (state, "the pack holds the user's name" in finding) == ("did not hold", True)
    assert list((mac.folder / "out/packs").iterdir()) == []


def test_a_program_that_fails_is_no_call(mac: ProvingMac, only: Callable[..., None]) -> None:
    only(PROGRAM_TRIAL)
    (mac.xctrace.folder / "swift_program").write_text(
        SWIFT_PROGRAM.replace(": 30 calls", ": failed: no such model")
    )
    mac.prove()
    assert mac.outcomes()["probe-program"] == ("did not hold", "0 of 6 probes and settings were called")


@pytest.mark.parametrize("hang", ["start", "saving", "saving-ignores-interrupt"])
def test_an_xctrace_that_hangs_ends_one_trial_at_a_time(
    mac: ProvingMac, hang: str, only: Callable[..., None]
) -> None:
    only(PROGRAM_TRIAL, *SUPERVISION_TRIALS[:2])
    mac.prove(hang=hang)
    assert "interrupt-saves" in states(mac, "did not hold")
    assert "probe-program" in states(mac, "held")
    assert states(mac, "held") | states(mac, "did not hold") | states(mac, "not tried") == set(load_claims())


def test_a_refused_recording_holds_no_evidence(mac: ProvingMac, only: Callable[..., None]) -> None:
    only(PROGRAM_TRIAL, PRESET_TRIAL)
    mac.prove(sandbox=True)
    assert mac.outcomes()["preset-minimal"][0] == "did not hold"
    assert "the recording is refused" in mac.outcomes()["preset-minimal"][1]


def test_core_ai_without_privilege_is_seen_to_be_refused(
    mac: ProvingMac, monkeypatch: pytest.MonkeyPatch, only: Callable[..., None]
) -> None:
    only(*PRIVILEGE_TRIALS)
    monkeypatch.setattr(os, "geteuid", lambda: 501)
    mac.prove(version="27.0", build="27A266a")
    state, finding = mac.outcomes()["core-ai-privilege"]
    assert (state, finding.startswith("the recording is refused")) == ("held", True)
    assert mac.outcomes()["preset-coreai"] == ("not tried", "needs root")


def test_a_simulators_hang_is_seen(mac: ProvingMac, only: Callable[..., None]) -> None:
    only(*SIMULATOR_TRIALS)
    mac.boot(SIMULATOR)
    mac.prove(version="16.0", build="17F42")
    assert mac.outcomes()["simulator-hangs"][0] == "held"
    assert "simulator-on-host" in states(mac, "did not hold")  # the recording that the fake saves has none


def test_a_simulator_that_is_recorded_to_its_end_is_no_hang(
    mac: ProvingMac, only: Callable[..., None]
) -> None:
    only(*SIMULATOR_TRIALS)
    mac.boot(SIMULATOR)
    mac.prove(version="27.2", build="27B5019j")
    assert mac.outcomes()["simulator-hangs"][0] == "did not hold"


def test_an_xcode_before_the_hang_does_not_settle_it(mac: ProvingMac, only: Callable[..., None]) -> None:
    only(*SIMULATOR_TRIALS)
    mac.boot(SIMULATOR)
    mac.prove()
    assert mac.outcomes()["simulator-hangs"] == ("not tried", "this Xcode is older than 26.4")


def test_an_interrupt_ends_the_trials_and_keeps_what_is_known(
    mac: ProvingMac, only: Callable[..., None]
) -> None:
    def interrupt(_bench: Workbench) -> Iterator[ClaimOutcome]:
        yield judge("append-run", True, "runs 1, 2")
        os.kill(os.getpid(), signal.SIGINT)

    only(Trial(("append-run",), interrupt), SUPERVISION_TRIALS[1])
    result = mac.prove()
    assert result.code == 130
    assert mac.outcomes()["append-run"] == ("held", "runs 1, 2")
    assert mac.outcomes()["window-kept"] == ("not tried", "it was stopped before")


def test_a_folder_that_exists_is_left_alone(mac: ProvingMac) -> None:
    (mac.folder / "out").mkdir()
    result = mac.prove()
    assert (result.code, list((mac.folder / "out").iterdir())) == (2, [])


# Trials, alone ------------------------------------------------------------------------------------------------

MET = Surroundings({}, frozenset({"mac", "xcode"}))


def run(trial: Trial, requests: StopRequests | None = None) -> list[ClaimOutcome]:
    bench = Workbench(Path(), None, None, None, MET, requests or StopRequests(), lambda _text: None)  # type: ignore[arg-type]
    return list(run_trial(trial, bench))


def stop_after_the_first(error: Exception) -> Trial:
    def run_one(_bench: Workbench):  # type: ignore[no-untyped-def]
        yield judge("append-run", True, "runs 1, 2")
        raise error

    return Trial(("append-run", "window-kept", "ane-rows"), run_one)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (XctraceError("Another tracekit is recording."), "Another tracekit is recording."),
        (KeyError("x"), "a defect of tracekit: KeyError: 'x'"),
    ],
)
def test_what_fails_keeps_the_outcomes_that_it_has(error: Exception, reason: str) -> None:
    assert run(stop_after_the_first(error)) == [
        ClaimOutcome("append-run", "held", "runs 1, 2"),
        ClaimOutcome("window-kept", "not tried", reason),
        ClaimOutcome(
            "ane-rows",
            "not tried",
            "needs coremltools (the extra probe), a Neural Engine, which no virtual machine has",
        ),
    ]


def test_after_a_stop_nothing_further_is_tried() -> None:
    requests = StopRequests()
    requests.request(2)
    outcomes = run(stop_after_the_first(KeyError()), requests)
    assert [outcome.state for outcome in outcomes] == ["not tried"] * 3
    assert outcomes[0].finding == "it was stopped before"


def test_a_xctrace_that_does_not_exist_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        prove(tmp_path / "out", StopRequests(), lambda _text: None, xctrace="/no/xctrace")


def test_a_mac_whose_xcode_does_not_work_runs_nothing(mac: ProvingMac) -> None:
    mac.xctrace.configure(xcode="none")
    proof = prove(mac.folder / "out", StopRequests(), lambda _text: None, system="darwin")
    reasons = {outcome.finding for outcome in proof.outcomes if outcome.claim in TRIED_CLAIMS}
    assert proof.xctrace == "" and not (mac.folder / "out").exists()
    assert any("needs Xcode" in reason for reason in reasons)
