"""The sampler of the Neural Engine's floors: channels as IOReport has them in, lines out."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tracekit.record import engine_presence_sampler
from tracekit.record.engine_presence_sampler import (
    FloorChannels,
    IOReportChannels,
    is_engine_floor,
    take_sample,
    write_samples,
)

pytestmark = pytest.mark.unit

MOMENT = datetime(2026, 11, 28, 9, 0, 0, 200_000, UTC)
DCS = {"group": "PMP0", "subgroup": "DCS Floor", "name": "ANE-DCS-BW", "states": [["F1", 400], ["F2", 4400]]}


class FakeChannels:
    def read(self) -> list[dict[str, Any]]:
        return [DCS]


FAKE: FloorChannels = FakeChannels()


def test_a_line_has_the_states_of_each_channel() -> None:
    assert take_sample(FAKE, MOMENT) == {
        "tracekit": "engine-presence",
        "version": 1,
        "timestamp": "2026-11-28T09:00:00.200000+00:00",
        "interval_ms": 200,
        "channels": [DCS],
    }


def test_lines_come_until_the_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    write_samples(FAKE, 0.5)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert 1 <= len(lines) <= 3 and all(line["channels"] == [DCS] for line in lines)


@pytest.mark.parametrize(
    ("name", "subgroup", "is_floor"),
    [
        ("ANE-AF-BW", "SOC Floor", True),
        ("ANE-DCS-BW", "DCS Floor", True),
        ("ANE-LNK0-AF-BW", "SOC Floor", True),  # M5 Max
        ("ANE0-LNK1-AF-BW", "SOC Floor", True),  # Ultra
        ("ANE1-DCS-BW", "DCS Floor", True),
        ("ANE-AF-BW", "AF BW", False),
        ("ANE0", "SOC Floor", False),
        ("AGX-DCS-BW", "DCS Floor", False),
    ],
)
def test_the_channels_are_those_of_the_engines_floors(name: str, subgroup: str, is_floor: bool) -> None:
    """Names of metaspartan/mactop's tests."""
    assert is_engine_floor(name, subgroup) is is_floor


class FakeFunction:
    """A function of a library: what it returns, and which types a caller declared."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.restype: object = ctypes.c_int
        self.argtypes: tuple[object, ...] | None = None

    def __call__(self, *arguments: Any) -> Any:
        assert self.argtypes is not None and len(self.argtypes) == len(arguments), (
            "declared before it is called"
        )
        return self.call(*arguments)


class FakeLibraries:
    """IOReport and Core Foundation with two groups, of which one cannot be subscribed to.

    Objects are numbers; ``held`` has those that were made and not yet released.
    """

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.held: list[int] = []
        self.time = 0

    def make(self, value: Any, held: bool = True) -> int:
        number = 1000 + len(self.objects)
        self.objects[number] = value
        if held:
            self.held.append(number)
        return number

    def copy_channels(self, group: int, *_: Any) -> int | None:
        name = self.objects[group]
        return self.make(name) if name in ("PMP0", "PMP1") else None

    def subscribe(self, _: None, channels: int, out: Any, *__: Any) -> int | None:
        if self.objects[channels] == "PMP1":
            return None
        out._obj.value = channels
        return self.make("subscription")

    def create_samples(self, *_: Any) -> int:
        self.time += 10
        return self.make(self.time)

    def create_delta(self, before: int, after: int, _: None) -> int:
        ticks = self.objects[after] - self.objects[before]
        rows = [
            ("ANE-DCS-BW", "DCS Floor", 2, [("F1", 1), ("F2 ", ticks - 1)]),
            ("AGX-DCS-BW", "DCS Floor", 2, [("F1", ticks)]),
            ("ANE-AF-BW", "SOC Floor", 1, []),
        ]
        return self.make([self.make(row, held=False) for row in rows])

    def read_string(self, string: int, buffer: Any, *_: Any) -> bool:
        buffer.value = self.objects[string].encode()
        return True

    def get(self, channel: int, place: int) -> int:
        return self.make(self.objects[channel][place], held=False)

    def load(self, path: str) -> Any:
        functions = {
            "IOReportCopyChannelsInGroup": self.copy_channels,
            "IOReportCreateSubscription": self.subscribe,
            "IOReportCreateSamples": self.create_samples,
            "IOReportCreateSamplesDelta": self.create_delta,
            "IOReportChannelGetChannelName": lambda channel: self.get(channel, 0),
            "IOReportChannelGetSubGroup": lambda channel: self.get(channel, 1),
            "IOReportChannelGetFormat": lambda channel: self.objects[channel][2],
            "IOReportStateGetCount": lambda channel: len(self.objects[channel][3]),
            "IOReportStateGetNameForIndex": lambda c, i: self.make(self.objects[c][3][i][0], held=False),
            "IOReportStateGetResidency": lambda channel, index: self.objects[channel][3][index][1],
            "CFStringCreateWithCString": lambda _, text, __: self.make(text.decode()),
            "CFStringGetCString": self.read_string,
            "CFDictionaryGetValue": lambda dictionary, _: dictionary,
            "CFArrayGetCount": lambda array: len(self.objects[array]),
            "CFArrayGetValueAtIndex": lambda array, index: self.objects[array][index],
            "CFRelease": self.held.remove,
        }
        library = type("Library", (), {})()
        for name, call in functions.items():
            setattr(library, name, FakeFunction(call))
        return library


def test_channels_of_a_group_are_read_and_what_was_made_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = FakeLibraries()
    monkeypatch.setattr(engine_presence_sampler.ctypes, "CDLL", libraries.load)
    channels = IOReportChannels()
    held = len(libraries.held)
    for _ in range(3):
        assert channels.read() == [
            {"group": "PMP0", "subgroup": "DCS Floor", "name": "ANE-DCS-BW", "states": [["F1", 1], ["F2", 9]]}
        ]
    assert len(libraries.held) == held


def test_a_mac_without_the_groups_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = FakeLibraries()
    libraries.copy_channels = lambda *_: None  # type: ignore[method-assign]
    monkeypatch.setattr(engine_presence_sampler.ctypes, "CDLL", libraries.load)
    with pytest.raises(OSError, match="none of the groups"):
        IOReportChannels()
