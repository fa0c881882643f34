"""Measure each named question and the History page on a synthetic dataset, and fail above a second of CPU.

    python benchmarks/fleet_questions.py [--scale 1] [--out FILE.json]

The dataset has 10,000 recordings on 8 devices with 250 builds and a million calls, each with a segment, and
ten requests to a language model in each recording of one device, half of them as Foundation Models reports
them. Times are those of the CPU of this process, over all its threads; the best of two. Writing the dataset
is no part.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from fleets import (  # noqa: E402
    DeviceShift,
    EngineChange,
    Fleet,
    Step,
    Tables,
    Unmeasured,
    fleet_tables,
)

from tracekit.fleet.dataset import Dataset, create_dataset  # noqa: E402
from tracekit.fleet.questions.registry import QUESTIONS, ask, list_offers  # noqa: E402
from tracekit.fleet.schema import PLACE, build_arrow_schema  # noqa: E402
from tracekit.report.fleet.history_view import history_view, read_history_data  # noqa: E402

TARGET_SECONDS = 1.0
_RUNS = 2
_REQUESTS = 10
_PHONE, _OLD, _MAC = "iPhone 17 Pro 1", "iPhone 14 2", "Mac mini 3"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="times the builds; below 1 there is no target")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dataset = written(Path(folder) / "results", max(int(250 * arguments.scale), 12))
        recordings, calls = dataset.count("recordings"), dataset.count("calls")
        print(f"{recordings:,} recordings, {calls:,} calls")
        figures = {name: measured(work) for name, work in tasks(dataset).items()}
    for name, seconds in figures.items():
        print(f"{name:20} {seconds:6.2f} s")
    if arguments.out:
        document = {"recordings": recordings, "calls": calls, "cpu_seconds": figures}
        arguments.out.write_text(json.dumps({"fleet_questions": document}, indent=2) + "\n")
    above = [name for name, seconds in figures.items() if seconds > TARGET_SECONDS]
    if above and arguments.scale >= 1:
        raise SystemExit(f"more than {TARGET_SECONDS:g} s of CPU: {', '.join(above)}")


def tasks(dataset: Dataset) -> dict[str, Callable[[], object]]:
    """Return what is measured: the list of questions, each question, and the page's data as JSON."""
    questions = {name: lambda name=name: ask(dataset, name, {}) for name in QUESTIONS}

    def history() -> str:
        return json.dumps(history_view(read_history_data(dataset), "Dictate"))

    return {"list of questions": lambda: list_offers(dataset), **questions, "History": history}


def written(folder: Path, builds: int) -> Dataset:
    """Write the dataset: with changes, an update, a gap and failed recordings."""
    fleet = Fleet(
        devices=8,
        models=4,
        builds=builds,
        runs=5,
        calls=25,
        steps=(Step("Encoder", _PHONE, builds - 10, 1.08),),
        engine_changes=(EngineChange("Decoder", _OLD, builds - 8, "CPU", 0.6),),
        shifts=(DeviceShift(_OLD, builds - 6, 1.0, "iOS 27.1 (24B5)"),),
        unmeasured=(Unmeasured(_MAC, builds - 5, builds - 3),),
        failed=9,
    )
    tables = fleet_tables(fleet)
    dataset = create_dataset(folder)
    dataset.append({**tables, **with_places(tables)})
    return dataset


def with_places(tables: Tables) -> Tables:
    """Return a segment for each call, the energy of each recording, and requests to a language model."""
    calls, recordings = tables["calls"], tables["recordings"]
    of_call = {name: calls[name] for name in (*PLACE, "process", "pid", "model", "label", "copy", "call")}
    one = pa.nulls(calls.num_rows, pa.int64()).fill_null(1)
    segments = {**of_call, "segment": one, "length_ns": calls["length_ns"]}
    count = recordings.num_rows
    energy = {name: recordings[name] for name in PLACE}
    energy["rail"] = pa.array(["ANE"] * count).dictionary_encode()
    energy["calls"] = pa.nulls(count, pa.float64()).fill_null(100.0)
    energy["energy_per_call_nj"] = pa.nulls(count, pa.float64()).fill_null(2e6)
    further = {"segments": segments, "energy": energy, "requests": make_requests(recordings)}
    return {name: in_schema(name, columns) for name, columns in further.items()}


def make_requests(recordings: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the columns of ten requests of each recording of one device, every second one as reported."""
    recordings = recordings.filter(pc.equal(recordings["device"].cast(pa.string()), _PHONE))
    row = np.repeat(np.arange(recordings.num_rows), _REQUESTS)
    columns = recordings.select([*PLACE]).take(pa.array(row))
    is_reported = np.arange(len(row)) % 2 == 1

    def make_column(values: npt.NDArray[np.int64], is_missing: npt.NDArray[np.bool_]) -> pa.Array:
        return pa.array(np.broadcast_to(values, len(row)), mask=is_missing)

    return {
        **{name: columns[name] for name in PLACE},
        "model": pa.array(["Chat"] * len(row)).dictionary_encode(),
        "source": pa.array(np.where(is_reported, "ModelInferenceTable", "os-signpost")).dictionary_encode(),
        "first_token_ns": make_column(80_000_000 + row % 7 * 100_000, is_reported),
        "decode_tokens": make_column(np.int64(40), is_reported),
        "decode_ns": make_column(800_000_000 + row % 11 * 1_000_000, is_reported),
        "prefill_ane_ns": make_column(np.int64(50_000_000), is_reported),
        "decode_ane_ns": make_column(np.int64(300_000_000), is_reported),
        "tokens": make_column(np.int64(40), ~is_reported),
        "length_ns": make_column(900_000_000 + row % 11 * 1_000_000, ~is_reported),
        "errors": make_column(np.int64(0), ~is_reported),
    }


def in_schema(name: str, columns: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Return columns as a table of the schema, the others null."""
    schema = build_arrow_schema(name)
    count = len(next(iter(columns.values())))
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in schema], schema=schema)


def measured(work: Callable[[], object]) -> float:
    """Return the CPU seconds of some work, the best of some runs."""
    seconds = []
    for _ in range(_RUNS):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


if __name__ == "__main__":
    main()
