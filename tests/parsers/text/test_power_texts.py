"""Power that powermetrics, macmon and similar tools write: what is read, and what is refused with a sentence."""

from __future__ import annotations

import json
import plistlib
import re
import statistics
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from documents_support import SHARED

from tracekit import analyze
from tracekit.errors import InputError
from tracekit.load import open_trace
from tracekit.model.trace import Trace
from tracekit.parsers.limits import LimitError

pytestmark = pytest.mark.integration

REAL = SHARED / "evidence" / "powermetrics"
ANE, GPU, CPU = "Neural Engine power", "GPU power", "CPU power"
COMBINED, PACKAGE = "CPU + GPU + ANE power", "Package power"
real_files = pytest.mark.skipif(not REAL.is_dir(), reason="the shared recordings are not here")


def heading(second: int, elapsed: str = "250.00", zone: str = " +0100") -> str:
    return (
        f"*** Sampled system activity (Tue Nov 28 14:37:{second:02d} 2023{zone}) ({elapsed}ms elapsed) ***\n"
    )


def rails(ane: int | None = 0, cpu: int = 100, gpu: int = 20, combined: bool = True) -> str:
    lines = [f"CPU Power: {cpu} mW", f"GPU Power: {gpu} mW"]
    lines += [] if ane is None else [f"ANE Power: {ane} mW"]
    lines += [f"Combined Power (CPU + GPU + ANE): {cpu + gpu + (ane or 0)} mW"] if combined else []
    return "\n".join(lines) + "\n"


def opened(tmp_path: Path, content: str | bytes, **arguments: Any) -> Trace:
    path = tmp_path / "notes.of.anything"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_trace(path, **arguments)


def track(trace: Trace, name: str) -> list[tuple[float, float | None]]:
    """Return a track as (ms, value), None where it is unknown from then on."""
    rows = trace.tracks[trace.tracks["name"] == name]
    pairs = zip(rows["time_ns"], rows["value"], strict=True)
    return [(time / 1e6, None if value != value else value) for time, value in pairs]


def issue_codes(trace: Trace) -> dict[str, int]:
    return {issue.code: issue.count for issue in trace.issues if issue.code != "no-samples"}


def test_averages_since_the_systems_start_are_no_sample(tmp_path: Path) -> None:
    lifetime = (
        "Machine model: Mac14,2\n\n*** Lifetime system activity ***\n\n" + "x 1 2 3\n" * 20_000 + rails(ane=7)
    )
    trace = opened(tmp_path, lifetime + heading(1) + rails(ane=0) + heading(2) + rails(ane=900))
    assert [value for _, value in track(trace, ANE)] == [0, 900, None]
    with pytest.raises(InputError, match="without a line of CPU, GPU or ANE power"):
        opened(tmp_path, lifetime)


@real_files
def test_every_power_line_of_a_real_report_is_a_sample() -> None:
    path = REAL / "powermetrics_codecarbon_mock.txt"
    trace = open_trace(path)
    text = path.read_text()
    for name, line in {ANE: "ANE", CPU: "CPU", GPU: "GPU", PACKAGE: "Package"}.items():
        written = [float(value) for value in re.findall(rf"^{line} Power: (\d+) mW", text, re.MULTILINE)]
        assert [value for _, value in track(trace, name) if value is not None] == written
    lengths = [float(value) for value in re.findall(r"\(([\d.]+)ms elapsed\)", text)]
    assert trace.info.duration_ns == round(sum(lengths) * 1e6)
    assert (trace.info.model, trace.info.os) == ("MacBookAir10,1", "12 (21G115)")
    # The place of the first sample leaves every rounded moment at its sample's end.
    start = datetime.fromisoformat(trace.info.start)
    moments = [
        datetime.strptime(moment, "%b %d %H:%M:%S %Y %z")
        for moment in re.findall(r"activity \(\w+ (.+?)\) \(", text)
    ]
    passed = 0.0
    for moment, length in zip(moments, lengths, strict=True):
        passed += length / 1000
        assert abs((start - moment).total_seconds() + passed - 0.5) < 0.5 + 0.01
    power = analyze(trace).power
    assert power is not None
    assert (power.tool, power.chip, power.macos) == ("powermetrics", "M1", 12)
    assert power.interval_ns == pytest.approx(statistics.median(lengths) * 1e6)
    assert power.rail("combined").is_sum


@real_files
def test_every_file_of_the_collection_is_read_or_refused_with_a_sentence() -> None:
    refused = {}
    for path in sorted(REAL.iterdir()):
        try:
            assert analyze(open_trace(path)).to_text()
        except InputError as error:
            refused[path.name] = str(error)
    cut = "is output of powermetrics without a line of CPU, GPU or ANE power: it was cut, or taken with other"
    assert {name: cut in text for name, text in refused.items()} == {
        "hollance_powermetrics_excerpt.txt": False,
        "macmon_powermetrics_ioreport_trace.md": False,
        "pm_text_m1max_macos14.1_excerpt.txt": True,
        "pm_text_m1pro_macos12_excerpt.txt": True,
    }


@real_files
def test_a_rail_that_is_known_to_be_dead_shows_nothing() -> None:
    analysis = analyze(open_trace(REAL / "powermetrics_m5max_macos27_excerpt.txt"))
    assert analysis.power is not None
    assert [(rail.rail, rail.state, rail.mean_mw) for rail in analysis.power.rails] == [
        ("ANE", "dead", 0.0),
        ("GPU", "measured", 152.0),  # the first of two lines
        ("CPU", "measured", 352.0),
        ("combined", "measured", 504.0),
    ]
    assert analysis.headline == (
        "The Neural Engine's power reads 0 mW in the only sample of 520 ms (powermetrics, M5, macOS 27 (26A434)):"
        " on M5 with macOS 27 this rail was seen at zero while the engine worked, so it shows nothing."
    )


def test_samples_of_a_fraction_of_a_second_are_laid_end_to_end(tmp_path: Path) -> None:
    samples = [heading(second) + rails(ane) for second, ane in ((1, 10), (1, 20), (2, 0), (2, 40))]
    trace = opened(tmp_path, "Machine model: Mac16,1\nOS version: 24A335\n" + "\n".join(samples))
    assert track(trace, ANE) == [(0, 10.0), (250, 20.0), (500, 0.0), (750, 40.0), (1000, None)]
    assert trace.info.start.endswith("+01:00")
    (table,) = (table for table in trace.tables if table.schema == "power-rails")
    # The second sample ends before :02, the third at :02 or later: its end is in [:02, :02.25).
    assert table.attributes["accuracy-ns"] == "125000000"
    analysis = analyze(trace)
    assert analysis.headline == (
        "The Neural Engine drew 18 mW on average over 4 samples of 250 ms (powermetrics, M4, macOS 15 (24A335));"
        " power alone does not show which process or model used it."
    )


def test_a_pause_of_the_tool_is_a_gap(tmp_path: Path) -> None:
    trace = opened(tmp_path, "".join(heading(second) + rails(second) for second in (1, 1, 9)))
    times = [time for time, value in track(trace, ANE) if value is None]
    assert times == [500, track(trace, ANE)[-1][0]]
    assert 7000 < track(trace, ANE)[-1][0] <= 8250


def test_a_clock_that_goes_backwards_is_counted(tmp_path: Path) -> None:
    trace = opened(tmp_path, "".join(heading(second) + rails() for second in (30, 10)))
    assert issue_codes(trace) == {"power-clock-backwards": 1}
    assert [time for time, _ in track(trace, ANE)] == [0, 250, 500]


def test_a_combined_power_that_is_not_stated_is_added_up_and_marked(tmp_path: Path) -> None:
    analysis = analyze(opened(tmp_path, heading(1) + rails(ane=30, combined=False)))
    assert track(analysis.trace, COMBINED)[0] == (0, 150.0)
    assert "together (added up here): 150 mW on average" in analysis.to_text()
    stated = analyze(opened(tmp_path, heading(1) + rails(ane=30)))
    assert "added up" not in stated.to_text()


def test_an_intel_mac_has_no_engine_which_is_not_zero(tmp_path: Path) -> None:
    text = "Machine model: MacBookPro16,1\nOS version: 21G115\n" + heading(1)
    text += "Intel energy model derived package power (CPUs+GT+SA): 3.27W\n"
    analysis = analyze(opened(tmp_path, text))
    assert track(analysis.trace, PACKAGE)[0] == (0, 3270.0)
    assert track(analysis.trace, ANE) == []
    assert analysis.headline == (
        "No sample has the Neural Engine's power: an Intel Mac has no Neural Engine. On average, the package drew"
        " 3.27 W over 1 sample of 250 ms (powermetrics, Intel, macOS 12 (21G115)); power alone does not show"
        " which process or model used it."
    )
    assert analysis.power is not None
    assert analysis.power.rail("ANE").state == "absent"


def test_a_cut_last_sample_is_counted(tmp_path: Path) -> None:
    trace = opened(
        tmp_path, heading(1) + rails() + heading(1) + "E-Cluster HW active frequency: 1 MHz\nCPU Pow"
    )
    assert issue_codes(trace) == {"power-samples-damaged": 1}
    assert len(track(trace, CPU)) == 2


@pytest.mark.parametrize(
    "line", ["CPU Power: -3 mW", "CPU Power: 1e400 mW", "CPU Power: 99999999999999999 mW", "CPU Power: mW"]
)
def test_values_that_are_no_power_are_no_sample(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match="without a line of CPU, GPU or ANE power"):
        opened(tmp_path, heading(1) + line + "\n")


def test_lines_without_headings_are_samples_without_time(tmp_path: Path) -> None:
    trace = opened(tmp_path, (rails(5) + rails(7)).replace("\n", "\r\n"))
    assert trace.info.duration_ns == 0
    assert issue_codes(trace) == {"power-interval-unknown": 2}
    analysis = analyze(trace)
    assert "drew 6 mW on average over 2 samples (powermetrics); power alone" in analysis.headline
    assert " mJ" not in analysis.to_text()
    assert json.loads(analysis.to_json())["power"]["rails"][0]["energy_mj"] is None
    assert not trace.has_timeline
    assert not re.search(r'id="(timeline|windows|latency|submissions|threads)"', analysis.to_html())
    assert analysis.to_markdown()


def test_two_reports_in_one_file_are_two_runs(tmp_path: Path) -> None:
    one = "Machine model: Mac14,2\n" + heading(1) + rails(1)
    two = "Machine model: Mac15,3\n" + heading(5) + rails(2)
    assert opened(tmp_path, one + two, run=2).info.model == "Mac15,3"
    assert track(opened(tmp_path, one + two), ANE) == [(0, 1.0), (250, None)]


def test_utf_16_and_gzip_are_read(tmp_path: Path) -> None:
    import gzip

    text = heading(1) + rails(3)
    for content in (text.encode("utf-16"), gzip.compress(text.encode())):
        assert track(opened(tmp_path, content), ANE) == [(0, 3.0), (250, None)]


def plist(**values: Any) -> bytes:
    return plistlib.dumps({"elapsed_ns": 500_000_000, "timestamp": datetime(2026, 1, 2, 3, 4, 5), **values})


def test_a_stream_of_property_lists_is_divided_by_its_own_interval(tmp_path: Path) -> None:
    stream = b"\0".join(
        [
            plist(processor={"ane_energy": 400, "cpu_energy": 100, "gpu_energy": 0}, hw_model="Mac14,2"),
            plist(processor={"ane_energy": 50, "cpu_power": 10.5, "gpu_energy": 1}, kern_osversion="25F84"),
            plist(ane_energy=25, cpu_energy=1, gpu_energy=1),  # not nested
            b"<plist><dict><key>processor</key>",  # cut off
        ]
    )
    trace = opened(tmp_path, stream)
    assert track(trace, ANE) == [(0, 800.0), (500, 100.0), (1000, 50.0), (1500, None)]
    assert [value for _, value in track(trace, CPU)][:2] == [200.0, 10.5]
    assert (trace.info.model, trace.info.os) == ("Mac14,2", "26 (25F84)")
    assert trace.info.start.startswith("2026-01-02T03:04:0")
    assert issue_codes(trace) == {"power-samples-damaged": 1}
    power = analyze(trace).power
    assert power is not None
    assert power.rail("ANE").energy_mj == pytest.approx(475)


def macmon(moment: str, ane: float, **more: Any) -> dict[str, Any]:
    stamp = f"2025-02-24T20:38:{moment}+00:00"
    return {
        "timestamp": stamp,
        "cpu_power": 0.2,
        "gpu_power": 0.01,
        "ane_power": ane,
        "all_power": 0.21 + ane,
        **more,
    }


@pytest.mark.parametrize(
    "write",
    [
        lambda samples: "\n".join(map(json.dumps, samples)),
        lambda samples: "\n".join(json.dumps(sample, indent=2) for sample in samples),
        lambda samples: json.dumps(samples, indent=1),
    ],
    ids=["lines", "of several lines", "an array"],
)
def test_objects_of_macmon_are_watts_since_the_one_before(tmp_path: Path, write: Any) -> None:
    soc = {"chip_name": "Apple M3 Pro", "mac_model": "Mac15,6"}
    samples = [macmon(f"15.{part}27", part / 10, soc=soc) for part in (1, 2, 3, 9)]
    trace = opened(tmp_path, write(samples))
    # The last one follows a pause of six usual lengths: a gap.
    assert track(trace, ANE) == [
        (0, 100.0),
        (100, 200.0),
        (200, 300.0),
        (300, None),
        (800, 900.0),
        (900, None),
    ]
    assert trace.info.start == "2025-02-24T20:38:15.027000+00:00"
    power = analyze(trace).power
    assert power is not None
    assert (power.tool, power.chip, power.interval_ns) == ("macmon", "M3 Pro", 100_000_000)


def test_a_line_of_json_that_was_cut_is_counted_and_the_next_one_is_read(tmp_path: Path) -> None:
    lines = [json.dumps(macmon("15.1", 0.1)), '{"timestamp": "2025-02', json.dumps(macmon("15.2", 0.2))]
    trace = opened(tmp_path, "\n".join(lines))
    assert [value for _, value in track(trace, ANE)] == [100.0, 200.0, None]
    assert issue_codes(trace) == {"power-samples-damaged": 1}


def test_units_and_groups_of_other_tools(tmp_path: Path) -> None:
    line = {
        "unix_ms": 1_700_000_000_000,
        "interval_ms": 200,
        "power": {"ane_power_mw": 250, "gpu_power_w": 1.5},
    }
    trace = opened(tmp_path, json.dumps(line))
    assert track(trace, ANE) == [(0, 250.0), (200, None)]
    assert track(trace, GPU) == [(0, 1500.0), (200, None)]


def test_a_sample_that_does_not_end_is_refused_early(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="does not end"):
        opened(tmp_path, '{"ane_power": 1,\n' + "x }\n" * 1_200)


@pytest.mark.parametrize(
    "text",
    [
        '{"ane_power": "high"}',
        '{"ane_power": null}\n{"ane_power": true}',
        '{"ane_power": ' + "9" * 400 + "}",
        '{"ane_power": ' + "[" * 5000,
        "<plist><dict><key>elapsed_ns</key><integer>1</integer></dict></plist>",
        '<!DOCTYPE p [<!ENTITY a "x">]><plist><dict><key>elapsed_ns</key></plist>',
    ],
)
def test_a_text_without_a_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"power"):
        opened(tmp_path, text)


@pytest.mark.parametrize("value", ["-5", "nan", "1" + 26 * "0", "1e400"])
def test_an_impossible_value_is_counted_and_the_others_are_read(tmp_path: Path, value: str) -> None:
    text = heading(1) + rails(10) + heading(1) + rails(20).replace("ANE Power: 20", f"ANE Power: {value}")
    trace = opened(tmp_path, text)
    assert track(trace, ANE) == [(0, 10.0), (250, None)]
    assert [power for _, power in track(trace, CPU)] == [100.0, 100.0, None]
    assert issue_codes(trace) == {"power-samples-damaged": 1}
    samples = [macmon("15.1", 0.1), macmon("15.2", 0.1), macmon("15.3", float("nan"))]
    assert issue_codes(opened(tmp_path, "\n".join(map(json.dumps, samples)))) == {"power-samples-damaged": 2}


@pytest.mark.parametrize(
    "damage", [("250.00ms", "1e400ms"), ("Nov 28", "Nov 99"), ("Sampled system", "Sampled")]
)
def test_a_damaged_heading_costs_its_sample_alone(tmp_path: Path, damage: tuple[str, str]) -> None:
    parts = [heading(1) + rails(10), (heading(1) + rails(20)).replace(*damage), heading(1) + rails(30)]
    trace = opened(tmp_path, "".join(parts))
    assert [power for _, power in track(trace, ANE) if power is not None] == [10.0, 30.0]
    assert issue_codes(trace) == {"power-samples-damaged": 1}
    assert trace.info.start


def test_the_report_of_power_alone_shows_no_part_that_is_of_samples(tmp_path: Path) -> None:
    text = analyze(opened(tmp_path, heading(1) + rails(ane=900) + heading(2) + rails(ane=700))).to_html()
    shown = re.findall(r'<section id="([^"]*)"[^>]*aria-labelledby="[^"]*">', text)
    assert shown == ["verdict", "findings", "timeline", "evidence", "questions", "recording", "issues"]
    assert "Power and energy" in text
    recording = text[text.index('id="recording"') :]
    assert "[1] this input has no samples" in recording, "its mark is there, so the note is there"
