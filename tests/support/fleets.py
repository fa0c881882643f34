"""Synthetic fleets: the rows of a dataset of any size, with the truth that was built in.

A recording is one run of a build on a device, and holds the calls of every model. The length of a call is::

    base of the model × speed of the device × steps × shifts of the device × state of the device
        × noise of the run × noise of the call

Everything is made in columns: 10,000 recordings with a million calls take some seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracekit.fleet.dataset import Dataset, create_dataset
from tracekit.fleet.schema import ENGINES, PLACE, build_arrow_schema

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Tables: TypeAlias = dict[str, pa.Table]

HARDWARE = (("iPhone 17 Pro", "A19 Pro"), ("iPhone 14", "A15"), ("Mac mini", "M4"), ("iPad Pro", "M5"))
MODEL_NAMES = ("Encoder", "Decoder", "Segmenter", "Classifier")
BASE_MS = 10.0
_FIRST_DAY = datetime(2026, 1, 5, 9, tzinfo=UTC)
_STATE_FACTOR = 1.5
"""A device in its second state is slower by so many spreads."""


@dataclass(frozen=True)
class Step:
    """From ``build`` on, a model's calls on a device are ``ratio`` times as long: 1.05 is +5 %."""

    model: str
    device: str
    build: int
    ratio: float


@dataclass(frozen=True)
class EngineChange:
    """From ``build`` on, a share of a model's calls on a device is served by ``engine`` instead of the ANE."""

    model: str
    device: str
    build: int
    engine: str = "CPU"
    share: float = 1.0


@dataclass(frozen=True)
class DeviceShift:
    """From ``build`` on, all models of a device take ``ratio`` times as long; its system may change."""

    device: str
    build: int
    ratio: float
    system: str = ""


@dataclass(frozen=True)
class Unmeasured:
    """Recordings of a device from ``first`` until before ``last`` have no table of any engine.

    ``share`` of them, drawn at random.
    """

    device: str
    first: int
    last: int
    share: float = 1.0


@dataclass(frozen=True)
class Fleet:
    """The plan of a fleet, and so its truth: builds are numbered from 0, and named from ``first_build``."""

    devices: int = 2
    models: int = 2
    builds: int = 30
    runs: int = 5
    calls: int = 20
    seed: int = 1
    spread: float = 0.02
    """The standard deviation between runs of a build, as a fraction."""
    call_spread: float = 0.05
    noise: str = "gauss"
    """gauss; outliers: 2 % of the runs are slower by 15 to 100 %; two-level; walk."""
    steps: tuple[Step, ...] = ()
    engine_changes: tuple[EngineChange, ...] = ()
    shifts: tuple[DeviceShift, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    failed: int = 0
    """Recordings that could not be analyzed, besides the others."""
    first_build: int = 400

    @property
    def device_names(self) -> list[str]:
        """The names of the devices."""
        return [f"{HARDWARE[index % len(HARDWARE)][0]} {index + 1}" for index in range(self.devices)]

    @property
    def model_names(self) -> list[str]:
        """The names of the models."""
        names = MODEL_NAMES
        return [
            names[index] if index < len(names) else f"{names[index % len(names)]}{index}"
            for index in range(self.models)
        ]

    def build_name(self, build: int) -> str:
        """Return the label of a build by its number from 0."""
        return str(self.first_build + build)

    @property
    def recordings(self) -> int:
        """The number of analyzed recordings."""
        return self.devices * self.builds * self.runs


def write_fleet(folder: Path, fleet: Fleet) -> Dataset:
    """Write a dataset with the rows of a fleet, and return it."""
    dataset = create_dataset(folder)
    dataset.append(fleet_tables(fleet))
    return dataset


def fleet_tables(fleet: Fleet) -> Tables:
    """Return the rows of a fleet as tables of the schema."""
    rng = np.random.default_rng(fleet.seed)
    device, build, run = np.unravel_index(
        np.arange(fleet.recordings), (fleet.devices, fleet.builds, fleet.runs)
    )
    place = _Place(fleet, device.astype(np.int64), build.astype(np.int64), run.astype(np.int64))
    lengths = _lengths(rng, fleet, place)
    engine = _engines(rng, fleet, place)
    measured = _measured(rng, fleet, place)
    tables = {
        "recordings": _recordings(fleet, place),
        "models": _models(fleet, place, lengths),
        "engines": _engine_rows(fleet, place, engine, measured),
        "calls": _calls(fleet, place, lengths, engine, measured),
    }
    if fleet.failed:
        tables["recordings"] = pa.concat_tables([tables["recordings"], _failed(fleet, place)])
    return tables


class _Place:
    """Each recording's device, build and run as numbers, and its columns of ``PLACE``."""

    def __init__(self, fleet: Fleet, device: Integers, build: Integers, run: Integers) -> None:
        self.device, self.build, self.run = device, build, run
        count = len(device)
        number = np.arange(count)
        self.names = pa.array([f"{fleet.seed:08x}{index:024x}" for index in number], pa.string())
        self.contents = pa.array([f"{fleet.seed:032x}{index:032x}" for index in number], pa.string())
        hours = build * 24.0 + run * 0.25 + device * 0.01
        seconds = _FIRST_DAY.timestamp() + hours * 3600
        builds = [fleet.build_name(index) for index in range(fleet.builds)]
        hardware = [HARDWARE[index % len(HARDWARE)] for index in range(fleet.devices)]
        systems, system = _systems(fleet, device, build)
        offsets = pa.array(np.arange(count + 1, dtype=np.int32))
        keys = pa.array(["build"] * count)
        self.columns: dict[str, pa.Array] = {
            "recording": self.names,
            "recorded": pa.array((seconds * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC")),
            "device": texts(device, fleet.device_names),
            "device_model": texts(device, [model for model, _ in hardware]),
            "chip": texts(device, [chip for _, chip in hardware]),
            "system": texts(system, systems),
            "app": texts(np.zeros(count, np.int64), ["Dictate"]),
            "build": texts(build, builds),
            "labels": pa.MapArray.from_arrays(offsets, keys, pa.array([builds[index] for index in build])),
        }

    def repeated(self, table: str, count: int, columns: Mapping[str, Any]) -> pa.Table:
        """Return a table of which each recording has ``count`` rows."""
        schema = build_arrow_schema(table)
        rows = pa.array(np.repeat(np.arange(len(self.device)), count))
        size = len(rows)
        arrays = [
            self.columns[field.name].take(rows)
            if field.name in PLACE
            else pa.nulls(size, field.type)
            if field.name not in columns
            else _array(columns[field.name], size, field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(arrays, schema=schema)


def texts(codes: Integers, values: list[str]) -> pa.DictionaryArray:
    """Return texts by their numbers."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values, pa.string()))


def _array(value: Any, size: int, kind: pa.DataType) -> pa.Array:
    if isinstance(value, str):
        constant = texts(np.zeros(size, np.int64), [value])
        return constant if pa.types.is_dictionary(kind) else constant.cast(kind)
    if isinstance(value, pa.Array):
        return value
    return pa.array(np.broadcast_to(np.asarray(value), (size,)), kind, from_pandas=True)


def _systems(fleet: Fleet, device: Integers, build: Integers) -> tuple[list[str], Integers]:
    """Return the systems' names and each recording's: a shift with a system is an update."""
    names = ["iOS 27.0 (24A300)"]
    system = np.zeros(len(device), np.int64)
    for shift in fleet.shifts:
        if shift.system:
            names.append(shift.system)
            affected = (device == fleet.device_names.index(shift.device)) & (build >= shift.build)
            system[affected] = len(names) - 1
    return names, system


def _lengths(rng: np.random.Generator, fleet: Fleet, place: _Place) -> Floats:
    """Return the lengths in ns: recordings × models × calls."""
    logs = np.log(BASE_MS * 1e6 * (1 + np.arange(fleet.models)))[None, :] + 0.1 * place.device[:, None]
    for step in fleet.steps:
        affected = (place.device == fleet.device_names.index(step.device)) & (place.build >= step.build)
        logs[affected, fleet.model_names.index(step.model)] += np.log(step.ratio)
    for shift in fleet.shifts:
        affected = (place.device == fleet.device_names.index(shift.device)) & (place.build >= shift.build)
        logs[affected] += np.log(shift.ratio)
    logs += (
        run_noise(rng, fleet.noise, fleet.spread, (fleet.devices * fleet.models, fleet.builds, fleet.runs))
        .reshape(fleet.devices, fleet.models, fleet.builds, fleet.runs)
        .transpose(0, 2, 3, 1)
        .reshape(logs.shape)
    )
    calls = rng.normal(0, fleet.call_spread, (*logs.shape, fleet.calls))
    lengths = np.exp(logs[:, :, None] + calls)
    lengths[:, :, 0] *= 2.5
    return np.rint(lengths)


def run_noise(rng: np.random.Generator, noise: str, spread: float, shape: tuple[int, int, int]) -> Floats:
    """Return the logarithms of the noise of runs: series × builds × runs."""
    series, builds, _ = shape
    values = rng.normal(0, spread, shape)
    if noise != "gauss":
        slow = rng.random(shape) < 0.02
        values = values + np.where(slow, np.log(rng.uniform(1.15, 2, shape)), 0)
    if noise == "two-level":
        values += _STATE_FACTOR * spread * _states(rng, series, builds)[:, :, None]
    if noise == "walk":
        values += np.cumsum(rng.normal(0, 0.1 * spread, (series, builds)), axis=1)[:, :, None]
    return values


def _states(rng: np.random.Generator, series: int, builds: int) -> Floats:
    """Return 0 or 1: a device is in its second state for 4 builds on average, then 12 in its first."""
    draws = rng.random((series, builds))
    states = np.zeros((series, builds))
    current = draws[:, 0] < 0.25
    for build in range(builds):
        current = np.where(current, draws[:, build] >= 1 / 4, draws[:, build] < 1 / 12)
        states[:, build] = current
    return states


def _engines(rng: np.random.Generator, fleet: Fleet, place: _Place) -> Integers:
    """Return the number of the engine that served each call: recordings × models × calls."""
    engines = np.zeros((len(place.device), fleet.models, fleet.calls), np.int64)
    for change in fleet.engine_changes:
        affected = (place.device == fleet.device_names.index(change.device)) & (place.build >= change.build)
        rows = np.flatnonzero(affected)
        served = rng.random((len(rows), fleet.calls)) < change.share
        model = fleet.model_names.index(change.model)
        engines[rows, model] = np.where(served, ENGINES.index(change.engine), engines[rows, model])
    return engines


def _measured(rng: np.random.Generator, fleet: Fleet, place: _Place) -> npt.NDArray[np.bool_]:
    """Return whether each recording has the tables of the engines."""
    measured = np.ones(len(place.device), bool)
    for gap in fleet.unmeasured:
        affected = place.device == fleet.device_names.index(gap.device)
        affected &= (place.build >= gap.first) & (place.build < gap.last)
        measured &= ~(affected & (rng.random(len(measured)) < gap.share))
    return measured


def _recordings(fleet: Fleet, place: _Place) -> pa.Table:
    names = pa.array([f"run{index}.trace" for index in range(len(place.device))])
    return place.repeated(
        "recordings",
        1,
        {
            "run": 1,
            "name": names,
            "path": pa.array([f"farm/{name}" for name in names.to_pylist()]),
            "content": place.contents,
            "kind": "bundle",
            "tracekit": "0.1.0",
            "options": "",
            "state": "analyzed",
            "reason": "",
            "headline": "",
            "duration_ns": 10_000_000_000,
            "samples": 10_000,
            "calls": fleet.models * fleet.calls,
            "template": "Core ML",
            "instruments": "27.0",
            "thermal": "nominal",
            "binary": "",
        },
    )


def _failed(fleet: Fleet, place: _Place) -> pa.Table:
    schema = build_arrow_schema("recordings")
    rows = [
        {
            "recording": f"{fleet.seed:08x}ff{index:022x}",
            "content": f"{fleet.seed:032x}ff{index:030x}",
            "name": f"half{index}.trace",
            "path": f"farm/half{index}.trace",
            "build": fleet.build_name(index % fleet.builds),
            "labels": [("build", fleet.build_name(index % fleet.builds))],
            "run": 0,
            "tracekit": "0.1.0",
            "options": "",
            "state": "failed",
            "reason": "The recording is cut off.",
        }
        for index in range(fleet.failed)
    ]
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _of_model(fleet: Fleet, recordings: int, rows_per_model: int) -> dict[str, Any]:
    codes = np.tile(np.repeat(np.arange(fleet.models), rows_per_model), recordings)
    return {
        "process": "Dictate",
        "pid": 500,
        "model": texts(codes, fleet.model_names),
        "label": "",
        "copy": "",
    }


def _models(fleet: Fleet, place: _Place, lengths: Floats) -> pa.Table:
    warm = lengths[:, :, 1:].reshape(-1, fleet.calls - 1)
    p90 = np.quantile(warm, 0.9, axis=1) if fleet.calls > 10 else np.full(len(warm), np.nan)
    return place.repeated(
        "models",
        fleet.models,
        {
            **_of_model(fleet, len(place.device), 1),
            "calls": fleet.calls,
            "cut_calls": 0,
            "source": "coreml",
            "basis": "measured",
            "mean_ns": warm.mean(axis=1),
            "p50_ns": np.median(warm, axis=1),
            "p90_ns": p90,
            "first_ns": lengths[:, :, 0].reshape(-1).astype(np.int64),
            "load_ns": 40_000_000,
        },
    )


def _engine_rows(fleet: Fleet, place: _Place, engine: Integers, measured: npt.NDArray[np.bool_]) -> pa.Table:
    served = np.stack([(engine == index).sum(axis=2) for index in range(len(ENGINES))], axis=2)
    served = np.where(measured[:, None, None], served, 0).reshape(-1)
    unknown = np.repeat(np.where(measured, 0, fleet.calls), fleet.models * len(ENGINES))
    rows = len(place.device) * fleet.models
    columns = _of_model(fleet, len(place.device), len(ENGINES))
    return place.repeated(
        "engines",
        fleet.models * len(ENGINES),
        {
            **columns,
            "engine": texts(np.tile(np.arange(len(ENGINES)), rows), list(ENGINES)),
            "calls": fleet.calls,
            "served": served,
            "not_served": fleet.calls - served - unknown,
            "unknown": unknown,
            "basis": "measured",
        },
    )


def _calls(
    fleet: Fleet, place: _Place, lengths: Floats, engine: Integers, measured: npt.NDArray[np.bool_]
) -> pa.Table:
    per_recording = fleet.models * fleet.calls
    flat, served = lengths.reshape(-1).astype(np.int64), engine.reshape(-1)
    known = np.repeat(measured, per_recording)
    starts = np.cumsum(lengths, axis=2) - lengths
    used = {
        f"{name.lower()}_used": texts(
            np.where(known, np.where(served == index, 0, 1), 2), ["yes", "no", "unknown"]
        )
        for index, name in enumerate(ENGINES)
    }
    busy = {
        f"{name.lower()}_busy_ns": pa.array(
            np.where(served == index, flat * 7 // 10, 0), pa.int64(), mask=~known
        )
        for index, name in enumerate(ENGINES[:2])
    }
    return place.repeated(
        "calls",
        per_recording,
        {
            **_of_model(fleet, len(place.device), fleet.calls),
            "call": np.tile(np.arange(1, fleet.calls + 1), len(place.device) * fleet.models),
            "thread": "Main Thread",
            "start_ns": starts.reshape(-1).astype(np.int64),
            "length_ns": flat,
            "first": np.tile(np.arange(fleet.calls) == 0, len(place.device) * fleet.models),
            "cut": False,
            "source": "coreml",
            "basis": "measured",
            "verdict": texts(np.where(known, served, len(ENGINES)), [*ENGINES, "UNKNOWN"]),
            **used,
            **busy,
        },
    )
