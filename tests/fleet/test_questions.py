"""Named questions: their rows are those that plain Python makes of the same dataset."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import fmean, geometric_mean, median, stdev
from typing import Any

import pandas as pd
import pytest
from fleet_rows import write_dataset
from fleets import DeviceShift, EngineChange, Fleet, Step, Unmeasured, write_fleet

from tracekit.errors import NotMeasurableError, UsageError
from tracekit.fleet.dataset import Dataset
from tracekit.fleet.questions.registry import QUESTIONS, ask, list_offers

pytestmark = pytest.mark.integration

PHONE, OLD = "iPhone 17 Pro 1", "iPhone 14 2"
FLEET = Fleet(
    devices=2,
    models=2,
    builds=12,
    runs=6,
    calls=12,
    noise="outliers",
    seed=5,
    steps=(Step("Encoder", PHONE, 8, 1.2),),
    engine_changes=(
        EngineChange("Decoder", OLD, 9, "CPU"),
        EngineChange("Encoder", OLD, 4, "GPU", 0.3),
        EngineChange("Encoder", PHONE, 5, "GPU"),
    ),
    shifts=(DeviceShift(OLD, 6, 1.1, "iOS 27.1 (24B5)"),),
    unmeasured=(Unmeasured(PHONE, 2, 4, 0.5), Unmeasured(PHONE, 5, 7), Unmeasured(OLD, 0, 1)),
    failed=5,
)
STUDENT_975 = {5: 2.570582}  # a table of Student's t
SERIES = ["device", "model"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_fleet(tmp_path_factory.mktemp("questions") / "results", FLEET)


def rows(dataset: Dataset, name: str, **values: str) -> list[dict[str, Any]]:
    return ask(dataset, name, values).rows.to_pylist()


def frame(dataset: Dataset, table: str) -> pd.DataFrame:
    columns = [name for name in dataset.open_table(table).schema.names if name != "labels"]
    return pd.DataFrame(dataset.open_table(table).to_table(columns=columns).to_pylist())


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_result_has_the_declared_columns(fleet: Dataset, name: str) -> None:
    missing = {offer.question.name: offer.missing for offer in list_offers(fleet)}[name]
    if missing:
        with pytest.raises(NotMeasurableError, match=f"cannot answer {name}"):
            ask(fleet, name, {})
        return
    answer = ask(fleet, name, {})
    assert answer.rows.column_names == [column.name for column in answer.columns]
    assert answer.rows.num_rows > 0


def test_questions_are_offered_where_the_data_can_answer_them(fleet: Dataset) -> None:
    lacking = {offer.question.name: offer.missing for offer in list_offers(fleet) if offer.missing}
    assert lacking == {
        "request-speed": ("requests.first_token_ns",),
        "phase-engines": ("requests.first_token_ns",),
        "reported-request-speed": ("requests.length_ns",),
        "segments": ("segments.segment",),
        "energy": ("energy.energy_per_call_nj",),
    }


@pytest.mark.parametrize("engine", ["ANE", "GPU", "CPU"])
def test_shares_are_of_the_calls_that_could_be_measured(fleet: Dataset, engine: str) -> None:
    calls = frame(fleet, "calls")
    used = f"{engine.lower()}_used"
    truth = {}
    for key, of_key in calls.groupby(["device", "system", "build", "model"]):
        counts = of_key[used].value_counts()
        yes, no, unknown = (int(counts.get(word, 0)) for word in ("yes", "no", "unknown"))
        measured = of_key[of_key[used] != "unknown"]["recording"].nunique()
        truth[key] = {
            "share": yes / (yes + no) if yes + no else None,
            "least_share": yes / len(of_key),
            "most_share": (yes + unknown) / len(of_key),
            "served_calls": yes,
            "measured_calls": yes + no,
            "unmeasured_calls": unknown,
            "measured_recordings": measured,
            "unmeasured_recordings": of_key["recording"].nunique() - measured,
        }
    answered = {
        (row["device"], row["system"], row["build"], row["model"]): {
            name: row[name] for name in next(iter(truth.values()))
        }
        for row in rows(fleet, "engine-share", engine=engine)
    }
    assert answered == truth


def test_the_order_of_rows_is_that_of_builds(tmp_path: Path) -> None:
    place = {
        "device": "A",
        "system": "S",
        "model": "Net",
        "engine": "ANE",
        "calls": 1,
        "served": 1,
        "not_served": 0,
    }
    builds = ["1.10", "1.9", "2.0"]
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{"recording": build, "build": build} for build in builds],
        engines=[{**place, "recording": build, "build": build} for build in builds],
    )
    assert [row["build"] for row in rows(dataset, "engine-share")] == ["1.9", "1.10", "2.0"]


def test_a_model_leaves_an_engine_in_the_first_build_that_is_certain(fleet: Dataset) -> None:
    answered = [
        {
            name: row[name]
            for name in (
                "model",
                "device",
                "engine",
                "last_build_on",
                "first_build_off",
                "undecided_builds_between",
                "back_in_build",
            )
        }
        for row in rows(fleet, "left-engine")
    ]
    # The Encoder of the old phone keeps 70 % on the Neural Engine; that of the new one leaves in 405, which is
    # not measured before 407.
    assert answered == [
        {"model": "Encoder", "device": PHONE, "engine": "ANE", "last_build_on": "404", "first_build_off": "407",
         "undecided_builds_between": 2, "back_in_build": None},
        {"model": "Decoder", "device": OLD, "engine": "ANE", "last_build_on": "408", "first_build_off": "409",
         "undecided_builds_between": 0, "back_in_build": None},
    ]  # fmt: skip


def test_the_limit_of_use_is_a_parameter(fleet: Dataset) -> None:
    answered = [
        (row["model"], row["device"], row["first_build_off"])
        for row in rows(fleet, "left-engine", used="0.9")
    ]
    assert answered == [("Encoder", OLD, "404"), ("Encoder", PHONE, "407"), ("Decoder", OLD, "409")]


def test_latency_has_an_interval_over_recordings(fleet: Dataset) -> None:
    models = frame(fleet, "models")
    answer = rows(fleet, "latency")
    assert len(answer) == 2 * 2 * 12 * 2
    for row in answer:
        of_row = models[
            (models["device"] == row["device"])
            & (models["model"] == row["model"])
            & (models["build"] == row["build"])
        ]
        lengths = of_row["p50_ns" if row["state"] == "warm" else "first_ns"].tolist()
        logs = [math.log(length / 1e6) for length in lengths]
        half = STUDENT_975[len(logs) - 1] * stdev(logs) / math.sqrt(len(logs))
        assert row["recordings"] == 6
        assert row["length_ms"] == pytest.approx(geometric_mean(lengths) / 1e6)
        assert row["low_ms"] == pytest.approx(math.exp(fmean(logs) - half), rel=1e-5)
        assert row["high_ms"] == pytest.approx(math.exp(fmean(logs) + half), rel=1e-5)
        expected = median(of_row["p90_ns"]) / 1e6 if row["state"] == "warm" else None
        assert row["p90_ms"] == (pytest.approx(expected) if expected else None)


def test_a_single_recording_has_no_interval(tmp_path: Path) -> None:
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{"recording": "a"}],
        models=[{"recording": "a", "model": "Net", "calls": 3, "p50_ns": 2e6, "source": "coreml"}],
    )
    (row,) = rows(dataset, "latency")
    assert (row["state"], row["length_ms"], row["low_ms"], row["high_ms"]) == (
        "warm",
        pytest.approx(2.0),
        None,
        None,
    )


def test_a_system_is_separated_from_the_build_by_builds_on_both(tmp_path: Path) -> None:
    """Build 7 was recorded on both systems; 8 is slower, and was recorded on the new one alone."""
    made = [
        ("a", "iOS 1", "7", 10e6),
        ("b", "iOS 1", "7", 10e6),
        ("c", "iOS 2", "7", 11e6),
        ("d", "iOS 2", "8", 40e6),
    ]
    place = {"device": "Phone", "model": "Net", "source": "coreml"}
    dates = {name: pd.Timestamp(f"2026-01-0{number + 1}", tz="UTC") for number, name in enumerate("abcd")}
    common = [
        {**place, "recording": name, "system": system, "build": build, "recorded": dates[name]}
        for name, system, build, _ in made
    ]
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{key: row[key] for key in ("recording", "system", "build")} for row in common],
        models=[
            {**row, "calls": 5, "p50_ns": length} for row, (*_, length) in zip(common, made, strict=True)
        ],
    )
    (row,) = rows(dataset, "system-change")
    assert (row["system_before"], row["system_after"], row["builds_on_both"]) == ("iOS 1", "iOS 2", 1)
    assert row["length_change"] == pytest.approx(10.0)
    assert (row["recordings_before"], row["recordings_after"]) == (2, 2)


def test_recordings_without_a_build_do_not_separate_systems(tmp_path: Path) -> None:
    """And systems whose first recordings have the same date have no order."""
    made = [("a", "iOS 1", 1), ("b", "iOS 2", 2), ("c", "iOS 3", 2)]
    common = [
        {"recording": name, "device": "Phone", "system": system, "recorded": pd.Timestamp(f"2026-01-0{day}", tz="UTC")}
        for name, system, day in made
    ]  # fmt: skip
    model = {"model": "Net", "source": "coreml", "calls": 5, "p50_ns": 1e6}
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{"recording": row["recording"]} for row in common],
        models=[{**row, **model} for row in common],
    )
    answered = rows(dataset, "system-change")
    assert [(row["system_after"], row["builds_on_both"], row["length_change"]) for row in answered] == [
        ("iOS 2", 0, None)
    ]


def test_a_system_without_a_common_build_has_no_change_of_length(fleet: Dataset) -> None:
    answered = rows(fleet, "system-change")
    assert [
        (row["device"], row["model"], row["builds_on_both"], row["length_change"]) for row in answered
    ] == [
        (OLD, "Decoder", 0, None),
        (OLD, "Encoder", 0, None),
    ]


def test_the_part_that_grew_is_that_of_calls_that_show_it(fleet: Dataset) -> None:
    calls = frame(fleet, "calls")
    warm = calls[~calls["first"] & (calls["device"] == PHONE) & (calls["model"] == "Encoder")]
    answered = {
        row["part"]: row
        for row in rows(fleet, "grown-part", before="404", after="408", model="Encoder", device=PHONE)
    }
    assert list(answered) == ["length", "Neural Engine", "GPU"]
    for part, column in (("length", "length_ns"), ("Neural Engine", "ane_busy_ns"), ("GPU", "gpu_busy_ns")):
        before, after = (warm[warm["build"] == build][column].dropna() for build in ("404", "408"))
        assert answered[part]["before_ms"] == pytest.approx(before.mean() / 1e6)
        assert answered[part]["after_ms"] == pytest.approx(after.mean() / 1e6)
        assert answered[part]["change_ms"] == pytest.approx((after.mean() - before.mean()) / 1e6)
        assert (answered[part]["calls_before"], answered[part]["calls_after"]) == (len(before), len(after))


def test_without_builds_the_last_two_are_compared(fleet: Dataset) -> None:
    assert {(row["build_before"], row["build_after"]) for row in rows(fleet, "grown-part")} == {
        ("410", "411")
    }


def test_outliers_are_unlike_the_others_of_their_kind(fleet: Dataset) -> None:
    models = frame(fleet, "models")
    truth = set()
    for _, kind in models.groupby(["device", "system", "build", "model"]):
        logs = {
            recording: math.log(length)
            for recording, length in zip(kind["recording"], kind["p50_ns"], strict=True)
        }
        middle = median(logs.values())
        spread = max(1.4826 * median(abs(log - middle) for log in logs.values()), 0.005)
        model = kind["model"].iloc[0]
        truth |= {(recording, model) for recording, log in logs.items() if abs(log - middle) > 3.5 * spread}
    answered = rows(fleet, "outliers")
    assert len(truth) > 5
    assert {(row["recording"], row["model"]) for row in answered} == truth
    names = dict(
        zip(frame(fleet, "recordings")["recording"], frame(fleet, "recordings")["name"], strict=True)
    )
    assert all(row["name"] == names[row["recording"]] for row in answered)


def test_loads_are_those_of_the_first_recording_after_an_update(fleet: Dataset) -> None:
    models = frame(fleet, "models").sort_values(["recorded", "recording"])
    truth = {}
    for (device, model), series in models.groupby(SERIES):
        groups = dict(list(series.groupby(["system", "build"], sort=False)))
        for before, (system, build) in pairwise([("", ""), *groups]):
            of_key = groups[system, build]
            updated = (
                "first recording"
                if before == ("", "")
                else "system and build"
                if before[0] != system
                else "build"
            )
            truth[device, model, build] = (
                updated,
                of_key["first_ns"].iloc[0] / 1e6,
                median(of_key["first_ns"].iloc[1:]) / 1e6,
                len(of_key) - 1,
            )
    answered = {
        (row["device"], row["model"], row["build"]): (
            row["updated"],
            row["cold_ms"],
            row["later_cold_ms"],
            row["later_recordings"],
        )
        for row in rows(fleet, "loads")
    }
    assert answered.keys() == truth.keys()
    for key, (updated, cold, later, count) in truth.items():
        assert answered[key] == (updated, pytest.approx(cold), pytest.approx(later), count)


def test_segments_are_counted_per_call(tmp_path: Path) -> None:
    counts = {("a", 1): 1, ("a", 2): 3, ("b", 1): 2}
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{"recording": "a", "build": "7"}, {"recording": "b", "build": "7"}],
        segments=[
            {
                "recording": recording,
                "model": "Net",
                "device": "Phone",
                "build": "7",
                "call": call,
                "segment": number,
            }
            for (recording, call), count in counts.items()
            for number in range(1, count + 1)
        ],
    )
    (row,) = rows(dataset, "segments")
    assert row["segments_per_call"] == pytest.approx(2.0)
    assert (row["most_segments"], row["calls"], row["recordings"]) == (3, 3, 2)
    assert row["divided_share"] == pytest.approx(2 / 3)


def test_energy_is_weighted_by_calls_and_unknown_energy_is_counted(tmp_path: Path) -> None:
    place = {"model": "Net", "chip": "M4", "build": "7", "rail": "ANE"}
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[{"recording": name, "build": "7"} for name in "abc"],
        energy=[
            {**place, "recording": "a", "calls": 10, "energy_per_call_nj": 2e6},
            {**place, "recording": "b", "calls": 30, "energy_per_call_nj": 4e6},
            {**place, "recording": "c", "calls": 50, "energy_per_call_nj": None, "reason": "absent"},
        ],
    )
    (row,) = rows(dataset, "energy")
    assert row["energy_per_call_mj"] == pytest.approx(3.5)
    assert (row["least_mj"], row["most_mj"], row["calls"]) == (2.0, 4.0, 40.0)
    assert (row["recordings"], row["unknown_recordings"], row["reasons"]) == (2, 1, "absent")


def test_recordings_without_an_engine_are_counted(fleet: Dataset) -> None:
    calls, recordings = frame(fleet, "calls"), frame(fleet, "recordings")
    engines = ["ane_used", "gpu_used", "cpu_used"]
    unknown = calls.groupby("recording")[engines].apply(lambda used: (used == "unknown").all(axis=None))
    truth: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in recordings.fillna({"device": "", "system": ""}).to_dict("records"):
        key = (row["device"], row["system"], row["build"])
        outcome = (
            row["state"]
            if row["state"] != "analyzed"
            else "no_engine"
            if unknown[row["recording"]]
            else "all_calls"
        )
        truth[key][outcome] += 1
    answered = rows(fleet, "undetermined")
    outcomes = ["all_calls", "some_calls", "no_engine", "no_calls", "failed", "killed"]
    assert {
        (row["device"], row["system"], row["build"]): {name: row[name] for name in outcomes if row[name]}
        for row in answered
    } == truth
    assert all(row["recordings"] == sum(row[name] for name in outcomes) for row in answered)
    assert sum(row["failed"] for row in answered) == 5


def test_issues_of_useless_recordings_are_compared_with_the_others(tmp_path: Path) -> None:
    known = {"model": "Net", "engine": "ANE", "calls": 4, "served": 4, "not_served": 0, "unknown": 0}
    blind = {**known, "served": 0, "unknown": 4}
    dataset = write_dataset(
        tmp_path / "results",
        recordings=[
            {"recording": "a"}, {"recording": "b"}, {"recording": "c"}, {"recording": "d"},
            {"recording": "e", "state": "failed", "reason": "It is cut off."},
        ],
        engines=[{**blind, "recording": "a"}, {**blind, "recording": "b"}, {**known, "recording": "c"}, {**known, "recording": "d"}],
        issues=[{"recording": name, "issue": "no-engine-table", "severity": "warning"} for name in "abc"]
        + [{"recording": "d", "issue": "few-calls", "severity": "info"}],
    )  # fmt: skip
    answered = rows(dataset, "useless-issues")
    assert [
        (row["issue"], row["recordings"], row["useless"], row["useless_share"], row["useless_share_without"])
        for row in answered
    ] == [
        ("no-engine-table", 3, 2, pytest.approx(2 / 3), pytest.approx(1 / 2)),
        ("It is cut off.", 1, 1, 1.0, 0.5),
    ]


def test_values_of_parameters_are_no_sql(fleet: Dataset) -> None:
    assert rows(fleet, "engine-share", model="' OR 1=1 --") == []


def test_parameters_that_a_question_lacks_are_refused(fleet: Dataset) -> None:
    with pytest.raises(UsageError, match="latency has no parameter 'engine'; it has "):
        ask(fleet, "latency", {"engine": "GPU"})
    with pytest.raises(UsageError, match="used is a number, not 'half'"):
        ask(fleet, "left-engine", {"used": "half"})
    with pytest.raises(UsageError, match="used is a number, not 'nan'"):
        ask(fleet, "left-engine", {"used": "nan"})
    with pytest.raises(UsageError, match="engine is ANE, GPU, CPU, not 'NPU'"):
        ask(fleet, "engine-share", {"engine": "NPU"})
    with pytest.raises(UsageError, match=r"no question 'latencies'\. Is it latency\?"):
        ask(fleet, "latencies", {})
