"""The table of settings as text, from literal rows."""

from __future__ import annotations

from dataclasses import replace

from tracekit.analysis.compute_units import SettingRow
from tracekit.model.vocabulary import Basis
from tracekit.report.compute_units.text import settings_text

ALL = SettingRow(
    "all",
    "",
    1200,
    9_000_000,
    2_000_000,
    2_500_000,
    ("measured",),
    4.0,
    150_000_000,
    Basis.MEASURED,
    {"ANE": 1199, "GPU": 1},
)
CPU = SettingRow(
    "cpuOnly",
    "",
    12,
    9_500_000,
    8_000_000,
    8_100_000,
    ("measured",),
    1.0,
    3_000_000,
    Basis.SAMPLED,
    {"CPU": 12},
)
NOTHING = SettingRow("cpuAndGPU", "", 0, None, None, None, (), None, None, None, {})


def cells(text: str) -> list[list[str]]:
    """The table's lines, split where two blanks are."""
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()]
        for line in lines
        if "basis" not in line and "Without" not in line
    ]


def test_a_row_has_its_lengths_its_gain_and_what_it_ran_on() -> None:
    header, first, second = cells(settings_text([ALL, CPU]))[-3:]
    assert header == [
        "compute units",
        "calls",
        "cold",
        "warm p50",
        "warm p90",
        "× cpuOnly",
        "load",
        "ran on",
    ]
    assert first == [
        "all",
        "1,200",
        "9.00 ms",
        "2.00 ms",
        "2.50 ms",
        "4.00 ×",
        "150.00 ms (measured)",
        "1199 ANE, 1 GPU",
    ]
    assert second == [
        "cpuOnly",
        "12",
        "9.50 ms",
        "8.00 ms",
        "8.10 ms",
        "1.00 ×",
        "3.00 ms (sampled)",
        "12 CPU",
    ]


def test_what_is_not_known_is_a_dash_and_never_zero() -> None:
    assert cells(settings_text([NOTHING]))[-1] == ["cpuAndGPU", "0", "–", "–", "–", "–", "–", "–"]


def test_the_title_names_the_basis_of_the_lengths() -> None:
    assert "lengths of calls whose edges are measured;" in " ".join(settings_text([ALL, CPU]).split())
    mixed = " ".join(settings_text([ALL, replace(CPU, edges=("inferred",))]).split())
    assert "lengths of calls whose edges are inferred or measured;" in mixed
    assert "no call was found" in settings_text([NOTHING])


def test_models_are_named_where_there_are_any() -> None:
    text = settings_text([replace(ALL, model="Encoder"), replace(CPU, model="Encoder")])
    assert cells(text)[-3][:2] == ["model", "compute units"]
    assert cells(text)[-1][:2] == ["Encoder", "cpuOnly"]


def test_a_models_name_drives_no_terminal_and_fits() -> None:
    text = settings_text([replace(ALL, model="\x1b[31m\n" + "x" * 200)])
    assert "\x1b" not in text
    assert "x" * 40 not in text


def test_without_cpu_only_the_message_names_the_way_to_a_comparison() -> None:
    assert settings_text([ALL]).endswith("add it to --compute-units.\n")
    assert "add it" not in settings_text([ALL, CPU])
    assert settings_text([ALL, CPU]).endswith("12 CPU\n")
