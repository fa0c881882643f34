"""``python -m dashboard.jobs.workers.table <work folder>``: read one table, or the list of all, and store it.

The server writes one line of JSON (a ``TableTask``) to standard input and keeps it open, see
``worker_process``. What was made appears whole as ``made`` in the work folder, by renaming.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from dashboard.errors import NotFound, TooLarge
from dashboard.jobs import worker_process
from dashboard.jobs.worker_process import Channel
from dashboard.library.inputs import inputs_of
from tracekit.errors import TracekitError

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


def main(folder: str) -> int:
    """Read one table and return the exit code."""
    channel = Channel.on_standard_output()
    task = TableTask(**json.loads(sys.stdin.buffer.readline()))
    worker_process.end_with_server()
    worker_process.limit_resources()
    return work(Path(folder), task, channel)


def work(folder: Path, task: TableTask, channel: Channel) -> int:
    """Store the table, and return the exit code; a failure is sent to the server."""
    from dashboard.jobs.workers.read import sentence

    path = Path(os.fsdecode(bytes.fromhex(task.path)))
    try:
        _store(folder / _DRAFT, path, task, channel)
        (folder / _DRAFT).rename(folder / MADE)
    except (TooLarge, NotFound) as error:
        channel.send(failed=str(error))
        return 1
    except (TracekitError, MemoryError, OSError, RecursionError) as error:
        channel.send(failed=sentence(error, task.name, path))
        return 1
    except Exception as error:  # noqa: BLE001 - the page shows a sentence, and the log has the traceback
        traceback.print_exc()
        channel.send(
            failed=f"Reading this table of {task.name} failed because of an error in tracekit"
            f" ({type(error).__name__}). The other tables can be opened."
        )
        return 1
    return 0


def _store(draft: Path, path: Path, task: TableTask, channel: Channel) -> None:
    channel.stage("opening")
    from dashboard.tables.contents import contents_document, read_table
    from dashboard.tables.storing import store_table
    from tracekit.detect import open_source

    inputs = inputs_of(path, task.name, task.is_uploaded)
    shown = inputs if len(inputs) > 1 else inputs[0]
    if task.number == 0:
        source = open_source(shown, channel)
        document = contents_document(source, task.run or None)
        with draft.open("wb") as file:
            file.write(json.dumps(document).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        return
    source = open_source(shown, channel, schemas=[task.schema] if task.schema else [])
    channel.stage("reading the table")
    table = read_table(source, task.run, task.number)
    channel.stage("storing the table")
    store_table(draft, table, task.most_bytes)


if __name__ == "__main__":
    worker_process.run(lambda: main(sys.argv[1]))
