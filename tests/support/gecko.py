"""Gecko profiles (the older form, with ``schema`` and ``data``) that another tool made from an export."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GeckoSample:
    """One sample; ``stack`` is leaf first, of (name, category), and None for an idle row."""

    time_ns: int
    stack: tuple[tuple[str, str], ...] | None


@dataclass(frozen=True)
class GeckoThread:
    """One thread with its samples by time; ``name`` is as the export formats it."""

    tid: int
    name: str
    samples: tuple[GeckoSample, ...]


def read_gecko(path: Path) -> list[GeckoThread]:
    with gzip.open(path) as file:
        profile = json.load(file)
    categories = [category["name"] for category in profile["meta"]["categories"]]
    return [_thread(thread, categories) for thread in profile["threads"]]


def _thread(thread: dict, categories: list[str]) -> GeckoThread:  # type: ignore[type-arg]
    def at(table: str, column: str) -> int:
        return thread[table]["schema"][column]

    location, category = at("frameTable", "location"), at("frameTable", "category")
    strings = thread["stringTable"]
    frames = [
        (strings[frame[location]], categories[frame[category]]) for frame in thread["frameTable"]["data"]
    ]
    prefix, frame = at("stackTable", "prefix"), at("stackTable", "frame")
    stacks: list[tuple[tuple[str, str], ...]] = []
    for row in thread["stackTable"]["data"]:  # a stack's callers precede it
        stacks.append((frames[row[frame]], *(stacks[row[prefix]] if row[prefix] is not None else ())))
    stack, time = at("samples", "stack"), at("samples", "time")
    samples = tuple(
        GeckoSample(round(row[time] * 1e6), None if row[stack] is None else stacks[row[stack]])
        for row in thread["samples"]["data"]
    )
    return GeckoThread(thread["tid"], thread["name"], samples)
