"""``python -m ….workers.table <work folder>``: read one table, or the list of all, and store it.

The server writes one line of JSON (a ``TableTask``) to standard input and keeps it open, see
``worker_process``. What was made appears whole as ``made`` in the work folder, by renaming.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tracekit_dashboard.jobs import worker_process
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.jobs.workers.failures import run_and_report
from tracekit_dashboard.library.uploaded_inputs import find_inputs

MADE = "made"
_DRAFT = "draft"


@dataclass(frozen=True)
class TableTask:
    """The table to read: the one with this ``number`` in its run's list, or with 0 the list of all tables.

    ``schema`` is the table's, "" if it is not known: no table of another one is opened then.
    ``path`` is ``os.fsencode`` in hex; ``name`` is the recording's for display.
    """

    name: str
    path: str
    is_uploaded: bool
    run: int
    number: int
    schema: str
    most_bytes: int


def run_task(folder: str) -> int:
    """Read one table and return the exit code."""
    channel = Channel.on_standard_output()
    task = TableTask(**json.loads(sys.stdin.buffer.readline()))
    worker_process.end_with_server()
    worker_process.limit_resources()
    return do_task(Path(folder), task, channel)


def do_task(folder: Path, task: TableTask, channel: Channel) -> int:
    """Store the table, and return the exit code; a failure is sent to the server."""
    path = Path(os.fsdecode(bytes.fromhex(task.path)))

    def store() -> None:
        _store_contents(folder / _DRAFT, path, task, channel)
        (folder / _DRAFT).rename(folder / MADE)

    def explain_unforeseen(error: str) -> str:
        begin = f"Reading this table of {task.name} failed because of an error in tracekit ({error})."
        return f"{begin} The other tables can be opened."

    return run_and_report(store, channel, task.name, path, explain_unforeseen)


def _store_contents(draft: Path, path: Path, task: TableTask, channel: Channel) -> None:
    channel.begin_stage("opening")
    from tracekit.detect import open_source
    from tracekit_dashboard.tables.contents import build_contents_document, read_table
    from tracekit_dashboard.tables.storing import store_table

    inputs = find_inputs(path, task.name, task.is_uploaded)
    source_inputs = inputs if len(inputs) > 1 else inputs[0]
    if task.number == 0:
        source = open_source(source_inputs, channel)
        document = build_contents_document(source, task.run or None)
        with draft.open("wb") as file:
            file.write(json.dumps(document).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        return
    source = open_source(source_inputs, channel, schemas=[task.schema] if task.schema else [])
    channel.begin_stage("reading the table")
    table = read_table(source, task.run, task.number)
    channel.begin_stage("storing the table")
    store_table(draft, table, task.most_bytes)


if __name__ == "__main__":
    worker_process.run_worker(lambda: run_task(sys.argv[1]))
