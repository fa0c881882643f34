"""Energy of a call: samples of power wholly inside runs of calls, and every reason for there being none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from energy_support import BACK_TO_BACK, priced
from evidence_support import APP, prediction, with_evidence
from trace_support import CALL, MS, trace_of

from tracekit import Analysis, analyze
from tracekit.analysis.chips import identify_chip, identify_macos
from tracekit.analysis.energy import CallEnergy
from tracekit.load import open_trace


def of_rail(analysis: Analysis, rail: str = "ANE", model: str = "Net") -> CallEnergy:
    assert analysis.power is not None
    (entry,) = (entry for entry in analysis.power.calls if entry.rail == rail and entry.model == model)
    return entry


def test_the_energy_of_samples_inside_a_run_is_divided_by_its_calls() -> None:
    # Samples of 100 ms from 50 ms: nine lie wholly inside of the run, and the tenth does not.
    analysis = priced(BACK_TO_BACK, [1000.0] * 12, begin=50)
    entry = of_rail(analysis)
    assert (entry.samples, entry.runs, entry.missing) == (9, 1, "")
    assert entry.calls == pytest.approx(49 * 900 / 979)
    # 1 W for 900 ms are 900 mJ.
    assert entry.energy_mj == pytest.approx(900 / (49 * 900 / 979))
    text = analysis.to_text()
    assert (
        "Net: 20 mJ for the Neural Engine per call (inferred: the device's energy in samples that lie wholly inside"
        " of runs of calls, divided by the calls); 9 samples in 1 run, 45.0 calls" in " ".join(text.split())
    )
    document = json.loads(analysis.to_json())["power"]
    (call,) = document["calls"]
    assert (call["basis"], call["samples"], call["missing"]) == ("inferred", 9, None)
    assert "20 mJ for the Neural Engine" in analysis.to_markdown()
    assert "20 mJ for the Neural Engine" in analysis.to_html()


def test_a_pause_ends_a_run() -> None:
    halves = [call for call in BACK_TO_BACK if not 480 <= call[0] < 560]
    entry = of_rail(priced(halves, [1000.0] * 10))
    # 20-479 and 560-999 ms: samples 100-200 … 300-400, and 600-700 … 800-900.
    assert (entry.samples, entry.runs) == (6, 2)


def test_the_accuracy_of_the_times_makes_the_runs_shorter() -> None:
    entry = of_rail(priced(BACK_TO_BACK, [1000.0] * 10, **{"accuracy-ns": str(120 * MS)}))
    assert entry.samples == 6  # 200 to 800 ms


def test_samples_longer_than_the_run_price_nothing() -> None:
    analysis = priced(BACK_TO_BACK, [1000.0, 1000.0], step=1000, begin=-500)
    entry = of_rail(analysis)
    assert (entry.energy_mj, entry.missing, entry.longest_run_ns) == (None, "long-samples", 979 * MS)
    assert (
        "Net: the energy of a call is not known: no sample (1.00 s) lies inside of a run of calls (the longest:"
        " 979 ms)" in " ".join(analysis.to_text().split())
    )


def test_calls_of_another_model_between_or_during_are_in_no_run() -> None:
    during = priced(BACK_TO_BACK, [1000.0] * 10, other_calls=((105, 109), (905, 909)))
    assert of_rail(during).samples == 6  # inside of the calls from 120 to 899 ms
    whole = priced(BACK_TO_BACK, [1000.0] * 10, other_calls=((0, 1000),))
    assert of_rail(whole).missing == "long-samples"
    assert of_rail(whole, model="Other").missing == "long-samples"


@pytest.mark.parametrize(
    ("facts", "state", "missing"),
    [
        ({}, "zero", "zero"),
        ({"model": "Mac16,8", "build": "24A335"}, "dead", "dead"),
        ({"chip": "Apple M4 Pro"}, "dead", "dead"),
        ({"model": "Mac17,2", "build": "26A434"}, "dead", "dead"),
        ({"model": "Mac17,2", "build": "25A354"}, "zero", "zero"),
        ({"model": "Mac14,10"}, "dead", "dead"),
    ],
)
def test_a_rail_that_reads_zero_prices_nothing(facts: dict[str, str], state: str, missing: str) -> None:
    analysis = priced(BACK_TO_BACK, [0.0] * 10, **facts)
    assert analysis.power is not None
    assert analysis.power.rail("ANE").state == state
    assert (of_rail(analysis).energy_mj, of_rail(analysis).missing) == (None, missing)
    text = " ".join(analysis.to_text().split())
    assert re.search(r"is not known: the rail [a-z ]+ \(the Neural Engine\)", text)


def test_a_rail_that_measures_something_is_not_dead() -> None:
    analysis = priced(BACK_TO_BACK, [0.0, 2463.0], model="Mac16,8")
    assert analysis.power is not None
    rail = analysis.power.rail("ANE")
    assert (rail.state, rail.fact, rail.max_mw, rail.mean_mw) == ("measured", "", 2463.0, 1231.5)


def test_a_recording_without_the_engines_rail_has_it_absent() -> None:
    analysis = priced(BACK_TO_BACK, [500.0] * 10, rail="GPU", model="iMac20,1")
    assert of_rail(analysis).missing == "absent"
    assert of_rail(analysis, "GPU").energy_mj == pytest.approx(10, rel=0.01)
    assert "The Neural Engine: no sample has it: an Intel Mac has no Neural Engine" in analysis.to_text()


def test_windows_that_are_no_single_calls_have_no_energy() -> None:
    trace = priced(BACK_TO_BACK, [1000.0] * 10).trace
    assert of_rail(analyze(trace, windows="ane")).missing == "not-single"
    power = analyze(trace, windows="run").power
    assert power is not None
    assert power.calls == ()


def test_power_laid_over_a_recording_prices_its_calls(tmp_path: Path) -> None:
    # Samples of 10 ms and 1.5 W: a call takes 1.5 W for as long as passes from one to the next.
    sample = Path(__file__).resolve().parents[2] / "sample_traces" / "coreai-thirteen-regions-macos27"
    moments = [f"2026-01-01T12:00:00.{10 * number:03d}000+00:00" for number in range(1, 60)]
    power = tmp_path / "power.json"
    power.write_text("".join(f'{{"timestamp": "{moment}", "ane_power": 1.5}}\n' for moment in moments))
    analysis = analyze(open_trace(sample, overlays=[power]))
    windows = analysis.window_rows.iloc[1:]  # the first call is cold
    pitch_s = (windows["end_ns"].max() - windows["start_ns"].min()) / len(windows) / 1e9
    entry = of_rail(analysis, model="Scene")
    assert entry.energy_mj == pytest.approx(1500 * pitch_s)
    assert entry.runs == 1
    assert {finding.kind for finding in analysis.findings} == {
        finding.kind for finding in analyze(open_trace(sample)).findings
    }, "power changes no other answer"
    assert analysis.headline == analyze(open_trace(sample)).headline


def test_two_files_of_power_price_nothing() -> None:
    assert of_rail(priced(BACK_TO_BACK, [1000.0] * 10, tables=2)).missing == "several-tools"


def test_a_recording_without_power_has_none() -> None:
    analysis = analyze(with_evidence(trace_of([(0.0, "a", CALL)]), [prediction(0, 5, pid=APP)]))
    assert analysis.power is None
    assert json.loads(analysis.to_json())["power"] is None
    assert "Power and energy" not in analysis.to_text() + analysis.to_html() + analysis.to_markdown()


def test_chips_and_systems_by_their_identifiers() -> None:
    models = ("MacBookPro18,4", "Mac14,12", "Mac17,14", "Macmini8,1", "iPhone17,1", "")
    assert [identify_chip(model) for model in models] == ["M1 Max", "M2 Pro", "M5", "Intel", "", ""]
    assert [identify_macos(build) for build in ("21G115", "24A335", "25F84", "26A434", "x", "999A")] == [
        12,
        15,
        26,
        27,
        0,
        0,
    ]
