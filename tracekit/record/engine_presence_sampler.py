"""Print, five times a second, how long the Neural Engine's bandwidth floors were held (IOReport).

    python -m tracekit.record.engine_presence_sampler SECONDS

A floor is the least speed of memory or fabric that the power manager keeps ready for an engine. Each line is
a JSON object with the states of each channel and the ticks of the last interval in each
(``parsers/text/engine_floors.py`` reads them). IOReport is a private library of macOS that needs no root;
its functions as public programs call them (metaspartan/mactop, vladkens/macmon). Channels: mactop's
``pmp_names.h``; calibrated on an M5 Max by silicon-ledger (EXP-024). Never run on a Mac for this project.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

INTERVAL_MS = 200
_GROUPS = ("PMP", *(f"PMP{die}" for die in range(8)))
"""Chips from the M5 Max on have a group for each die, and the one without a number is empty."""
_CHANNEL = re.compile(r"ANE\d*(?:-LNK\d+)?-(?:AF|DCS)-BW")
_FLOOR = "Floor"
_UTF8 = 0x0800_0100
_MAX_NAME_BYTES = 256
_STATE_FORMAT = 2

Channel: TypeAlias = dict[str, Any]
"""``group``, ``subgroup``, ``name``, and ``states``: pairs of a state and its ticks."""


class FloorChannels(Protocol):
    """The calls of the system that the sampler needs."""

    def read(self) -> list[Channel]:
        """Return the Neural Engine's floors with their ticks since the last call, or since the beginning."""


class IOReportChannels:
    """The channels of this Mac. Raises ``OSError`` where it lists none."""

    def __init__(self) -> None:
        self._report: Any = ctypes.CDLL("/usr/lib/libIOReport.dylib")
        self._foundation: Any = ctypes.CDLL(
            "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"
        )
        self._declare()
        self._subscriptions = list(self._subscribe())
        if not self._subscriptions:
            raise OSError("none of the groups PMP, PMP0, … can be subscribed to")
        self._samples = [self._take(*subscription) for subscription in self._subscriptions]

    def _declare(self) -> None:
        """Declare what returns more than an int, and every argument that is a pointer."""
        pointer, number = ctypes.c_void_p, ctypes.c_int
        report, foundation = self._report, self._foundation
        for library, name, result, arguments in (
            (report, "IOReportCopyChannelsInGroup", pointer, (pointer, pointer, *[ctypes.c_uint64] * 3)),
            (
                report,
                "IOReportCreateSubscription",
                pointer,
                (pointer, pointer, ctypes.POINTER(pointer), ctypes.c_uint64, pointer),
            ),
            (report, "IOReportCreateSamples", pointer, (pointer, pointer, pointer)),
            (report, "IOReportCreateSamplesDelta", pointer, (pointer, pointer, pointer)),
            (report, "IOReportChannelGetChannelName", pointer, (pointer,)),
            (report, "IOReportChannelGetSubGroup", pointer, (pointer,)),
            (report, "IOReportChannelGetFormat", number, (pointer,)),
            (report, "IOReportStateGetCount", number, (pointer,)),
            (report, "IOReportStateGetNameForIndex", pointer, (pointer, number)),
            (report, "IOReportStateGetResidency", ctypes.c_int64, (pointer, number)),
            (
                foundation,
                "CFStringCreateWithCString",
                pointer,
                (pointer, ctypes.c_char_p, ctypes.c_uint32),
            ),
            (
                foundation,
                "CFStringGetCString",
                ctypes.c_bool,
                (pointer, ctypes.c_char_p, ctypes.c_long, ctypes.c_uint32),
            ),
            (foundation, "CFDictionaryGetValue", pointer, (pointer, pointer)),
            (foundation, "CFArrayGetCount", ctypes.c_long, (pointer,)),
            (foundation, "CFArrayGetValueAtIndex", pointer, (pointer, ctypes.c_long)),
            (foundation, "CFRelease", None, (pointer,)),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def _subscribe(self) -> Iterator[tuple[str, int, int]]:
        """Yield each group with its subscription and the channels of it."""
        for group in _GROUPS:
            name = self._make_string(group)
            channels = self._report.IOReportCopyChannelsInGroup(name, None, 0, 0, 0)
            self._foundation.CFRelease(name)
            if not channels:
                continue
            subscribed = ctypes.c_void_p()
            subscription = self._report.IOReportCreateSubscription(
                None, channels, ctypes.byref(subscribed), 0, None
            )
            if subscription and subscribed.value:
                yield group, subscription, subscribed.value

    def _take(self, _group: str, subscription: int, channels: int) -> int | None:
        sample: int | None = self._report.IOReportCreateSamples(subscription, channels, None)
        return sample

    def read(self) -> list[Channel]:
        """See ``FloorChannels``."""
        found: list[Channel] = []
        for position, subscription in enumerate(self._subscriptions):
            before, after = self._samples[position], self._take(*subscription)
            self._samples[position] = after
            delta = before and after and self._report.IOReportCreateSamplesDelta(before, after, None)
            if delta:
                found += self._list_channels(subscription[0], delta)
                self._foundation.CFRelease(delta)
            if before:
                self._foundation.CFRelease(before)
        return found

    def _list_channels(self, group: str, delta: int) -> Iterator[Channel]:
        key = self._make_string("IOReportChannels")
        channels = self._foundation.CFDictionaryGetValue(delta, key)
        self._foundation.CFRelease(key)
        for index in range(self._foundation.CFArrayGetCount(channels) if channels else 0):
            channel = self._foundation.CFArrayGetValueAtIndex(channels, index)
            name = self._read_string(self._report.IOReportChannelGetChannelName(channel))
            subgroup = self._read_string(self._report.IOReportChannelGetSubGroup(channel))
            if not is_engine_floor(name, subgroup):
                continue
            if self._report.IOReportChannelGetFormat(channel) == _STATE_FORMAT:
                yield {
                    "group": group,
                    "subgroup": subgroup,
                    "name": name,
                    "states": self._read_states(channel),
                }

    def _read_states(self, channel: int) -> list[list[Any]]:
        report = self._report
        return [
            [
                self._read_string(report.IOReportStateGetNameForIndex(channel, index)).strip(),
                max(int(report.IOReportStateGetResidency(channel, index)), 0),
            ]
            for index in range(report.IOReportStateGetCount(channel))
        ]

    def _make_string(self, text: str) -> int:
        string: int = self._foundation.CFStringCreateWithCString(None, text.encode(), _UTF8)
        return string

    def _read_string(self, string: int | None) -> str:
        buffer = ctypes.create_string_buffer(_MAX_NAME_BYTES)
        is_read = string and self._foundation.CFStringGetCString(string, buffer, _MAX_NAME_BYTES, _UTF8)
        return buffer.value.decode("utf-8", "replace") if is_read else ""


def is_engine_floor(name: str, subgroup: str) -> bool:
    """Return whether a channel is a floor that is held for the Neural Engine."""
    return _FLOOR in subgroup and _CHANNEL.fullmatch(name) is not None


def take_sample(channels: FloorChannels, moment: datetime) -> dict[str, Any]:
    """Return one line: the floors in the interval that ends now."""
    return {
        "tracekit": "engine-presence",
        "version": 1,
        "timestamp": moment.isoformat(timespec="microseconds"),
        "interval_ms": INTERVAL_MS,
        "channels": channels.read(),
    }


def write_samples(channels: FloorChannels, seconds: float) -> None:
    """Write a line for each interval, until the time is over or nobody reads."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(INTERVAL_MS / 1000)
        sys.stdout.write(json.dumps(take_sample(channels, datetime.now(UTC))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        write_samples(IOReportChannels(), float(sys.argv[1]))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
    except (OSError, AttributeError) as error:
        sys.exit(f"IOReport, a private part of macOS, cannot be used: {error}")
