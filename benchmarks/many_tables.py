"""Writes bundles with many tables, which have the same columns and no rows, as most tables of a recording.

One further table has a sample, so that each can be analyzed.
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_generator.bundle_document import RunInfo
from sample_generator.bundle_schemas import TIME_PROFILE
from sample_generator.bundle_tables import TIME, Col
from sample_generator.bundle_values import Process, Thread, stack
from sample_generator.bundle_writer import BundleWriter, write_folder

APP = Process(4711, "SampleApp", "/Applications/SampleApp.app/Contents/MacOS/SampleApp")
COLUMNS = (
    Col("time", "Timestamp", "XRRecordedEventTimestampTypeID", TIME),
    Col("name", "Name", "XRPrototypeStringTypeID"),
    Col("duration", "Duration", "XRDurationTypeID"),
)


def write_bundle(folder: Path, tables: int, different: bool = False) -> Path:
    """Write a bundle with so many tables; different ones have a schema and a number of rows each."""
    bundle = BundleWriter(compress=lambda content: zlib.compress(content, 1))
    thread = Thread(0x5A00, APP, main=True)
    run = bundle.run(RunInfo(process=APP.name, pid=APP.pid), [APP], [thread])
    for number in range(tables):
        schema, row_count = (f"table-{number}", number % 1000) if different else ("table", 0)
        run.table(schema, COLUMNS, [], attributes={"codes": [f"0x{number:x}"]}, next_event_id=row_count)
    run.table("time-profile", TIME_PROFILE, [(0, thread, APP, 0, "Running", 1_000_000, stack(APP, [0x1000]))])
    return write_folder(bundle.files(), folder)
