"""The lists of `xctrace list`, from literal texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.errors import UsageError, XctraceError
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_list import (
    Device,
    find_device,
    list_devices,
    list_templates,
    parse_devices,
    parse_names,
)

MAC_UDID = "D283C622-DE11-5668-8E1F-E6234E85E6C8"
PHONE_UDID = "00008101-000D482C1E78001E"
SIM_UDID = "0F4D5D74-A4FE-4261-9596-8073565E7927"
OTHER_SIM_UDID = "AAAAAAAA-A4FE-4261-9596-8073565E7927"
OFF_UDID = "00008130-0012345A1E78001C"

# The first line comes from one heading, the phone from a second of the same name.
DEVICES = f"""== Devices ==
MacBook Pro ({MAC_UDID})

== Devices ==
yx’s iPhone12  (26.4) ({PHONE_UDID})

== Devices Offline ==
Qa test 15  (26.0.1) ({OFF_UDID})

== Simulators ==
iPhone 17 Simulator (26.2) ({SIM_UDID})
"""
MAC = Device("MacBook Pro", "", MAC_UDID, "mac")
PHONE = Device("yx’s iPhone12", "26.4", PHONE_UDID, "device")
OFFLINE = Device("Qa test 15", "26.0.1", OFF_UDID, "device", online=False)
SIMULATOR = Device("iPhone 17 Simulator", "26.2", SIM_UDID, "simulator")
ALL = (MAC, PHONE, OFFLINE, SIMULATOR)


# Reading --------------------------------------------------------------------------------------------------


def test_names_come_without_headings_and_blank_lines() -> None:
    text = "== Standard Templates ==\nCore ML\nTime Profiler\n\n== User Templates ==\nMine\nTime Profiler\n"
    assert parse_names(text) == ("Core ML", "Time Profiler", "Mine")


def test_no_list_is_no_names() -> None:
    assert parse_names("") == ()


def test_a_heading_may_come_twice() -> None:
    assert parse_devices(DEVICES) == ALL


def test_no_break_spaces_are_spaces() -> None:
    text = f"== Devices ==\nyx’s\N{NO-BREAK SPACE}iPhone12\N{NO-BREAK SPACE}(26.4) ({PHONE_UDID})"
    assert parse_devices(text) == (PHONE,)


@pytest.mark.parametrize(
    ("line", "name", "os", "kind"),
    [
        (f"iPhone (2) (17.0) ({PHONE_UDID})", "iPhone (2)", "17.0", "device"),
        (f"Anna (work) (26.0.1) ({PHONE_UDID})", "Anna (work)", "26.0.1", "device"),
        (f"a ) b ( (26.0) ({PHONE_UDID})", "a ) b (", "26.0", "device"),
        # macOS itself adds "(2)" to the name of a Mac when another in the network has it already.
        (f"MacBook Pro (2) ({MAC_UDID})", "MacBook Pro (2)", "", "mac"),
        (f"Mac (home) ({MAC_UDID})", "Mac (home)", "", "mac"),
    ],
)
def test_names_may_hold_brackets(line: str, name: str, os: str, kind: str) -> None:
    (device,) = parse_devices(f"== Devices ==\n{line}\n")
    assert (device.name, device.os, device.kind) == (name, os, kind)


@pytest.mark.parametrize("line", ["No devices found", "iPhone (26.0)", f"({PHONE_UDID})", "2026-01-01 noise"])
def test_a_line_that_is_no_device_is_passed_over(line: str) -> None:
    assert parse_devices(f"== Devices ==\n{line}\nMacBook Pro ({MAC_UDID})") == (MAC,)


def test_a_simulator_is_one_by_its_heading() -> None:
    (device,) = parse_devices(f"== Simulators ==\niPad Air (26.2) ({SIM_UDID})")
    assert device.kind == "simulator"


# Asking ---------------------------------------------------------------------------------------------------


def program(folder: Path, body: str) -> Xctrace:
    path = folder / "xctrace"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Xctrace(str(path))


@pytest.mark.integration
def test_a_list_on_standard_error_is_read_too(tmp_path: Path) -> None:
    tool = program(tmp_path, '[ "$*" = "list templates" ] && echo "== Standard Templates ==\nCore ML" >&2')
    assert list_templates(tool) == ("Core ML",)


@pytest.mark.integration
def test_noise_on_standard_error_is_no_name(tmp_path: Path) -> None:
    tool = program(tmp_path, "echo 'xctrace[12] noise' >&2; echo 'Core ML'")
    assert list_templates(tool) == ("Core ML",)


@pytest.mark.integration
def test_a_list_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(XctraceError, match="xctrace does not work: no list today"):
        list_devices(program(tmp_path, "echo 'no list today' >&2; exit 1"))


# Finding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (PHONE_UDID, PHONE),
        (PHONE_UDID.lower(), PHONE),
        ("yx’s iPhone12", PHONE),
        ("yx’s iPhone12 (26.4)", PHONE),
        ("yx’s\N{NO-BREAK SPACE}iPhone12", PHONE),
        ("iPhone 17", SIMULATOR),
        ("iPhone 17 Simulator", SIMULATOR),
        ("iPhone 17 (26.2)", SIMULATOR),
        ("iPhone 17 Simulator (26.2)", SIMULATOR),
        ("MacBook Pro", MAC),
    ],
)
def test_a_device_is_found_by_identifier_name_or_name_with_system(name: str, expected: Device) -> None:
    assert find_device(name, ALL) == expected


def test_an_unknown_device_is_an_error_that_lists_all() -> None:
    with pytest.raises(UsageError, match="No device is called 'iPhone 12'") as caught:
        find_device("iPhone 12", ALL)
    assert caught.value.lines == (
        f"MacBook Pro {MAC_UDID}",
        f"yx’s iPhone12 (26.4) {PHONE_UDID}",
        f"Qa test 15 (26.0.1) {OFF_UDID} (offline)",
        f"iPhone 17 Simulator (26.2) {SIM_UDID}",
    )


def test_without_any_device_the_doctor_is_named() -> None:
    with pytest.raises(UsageError, match="lists no device at all: run tracekit doctor"):
        find_device("iPhone", ())


def test_two_of_one_name_are_listed_not_guessed() -> None:
    namesake = Device("iPhone 17 Simulator", "26.4", OTHER_SIM_UDID, "simulator")
    with pytest.raises(UsageError, match="Several devices are called 'iPhone 17'") as caught:
        find_device("iPhone 17", (*ALL, namesake))
    assert caught.value.lines == (
        f"iPhone 17 Simulator (26.2) {SIM_UDID}",
        f"iPhone 17 Simulator (26.4) {OTHER_SIM_UDID}",
    )
    assert find_device("iPhone 17 (26.4)", (*ALL, namesake)) == namesake


def test_a_device_listed_below_both_of_two_headings_is_one() -> None:
    line = f"yx’s iPhone12  (26.4) ({PHONE_UDID})"
    devices = parse_devices(f"== Devices ==\n{line}\n== Devices ==\n{line}\n")
    assert find_device(PHONE_UDID, devices) == PHONE


def test_of_one_device_listed_online_and_offline_the_online_one_counts() -> None:
    devices = parse_devices(
        f"== Devices Offline ==\nyx’s iPhone12  (26.4) ({PHONE_UDID})\n"
        f"== Devices ==\nyx’s iPhone12  (26.4) ({PHONE_UDID})\n"
    )
    assert find_device("yx’s iPhone12", devices) == PHONE


def test_an_offline_device_comes_with_the_command_that_can_wake_it() -> None:
    with pytest.raises(UsageError, match=r"Qa test 15 is offline\. Connect it by cable") as caught:
        find_device("Qa test 15", ALL)
    assert caught.value.lines == (f"xcrun devicectl device info details --device {OFF_UDID}",)
