"""Small recordings with random private names planted in every column of text and every composite cell."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attack.private_names import Secrets, file_of, home, spelled, volume_path
from tracekit.detect import open_source
from tracekit.model.schemas import SAMPLE_TABLES
from tracekit.model.tables import StackTable, Table
from tracekit.model.trace import Issue, RunInfo
from tracekit.parsers.in_memory import InMemorySource, UnreadableTables, read_into_memory, update_row_counts

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
BASES = (
    "concurrent-models-ios27",
    "ane-intervals-macos26",
    "gpu-mpsgraph-macos15",
    "foundation-models-macos27",
)
_ROWS, _TABLES = 16, 2
_SHARE = 0.3
_BEFORE = ("", " ", "(", '"', "_", "=", ":", "[", "-", "\n", "of ", "«", "https://", "x/")
_AFTER = ("", " ", ")", '"', "_1", ",", ": ", "]", "@host", ".local", "’s", "'s", "\n", "/x", "»", " ran")


@functools.cache
def base(name: str) -> InMemorySource:
    """Return the first rows of a sample recording, with the stacks and entities that they use."""
    source = read_into_memory(open_source([str(SAMPLES / name)]))
    contents = {place: tuple(map(_beginning, listed)) for place, listed in source.contents.items()}
    listed = {schema for _, schema in contents}
    runs = tuple(
        replace(run, tables=tuple(table for table in run.tables if table.schema in listed))
        for run in source.runs
    )
    return update_row_counts(replace(source, runs=runs, contents=contents))


def _beginning(table: Table) -> Table:
    rows = table.rows.head(_ROWS).reset_index(drop=True)
    stacks = table.stacks
    for column in table.columns:
        if column.kind == "stack":
            used = np.unique(rows[column.mnemonic].to_numpy())
            count = int(used.max(initial=-1)) + 1
            stacks = _first_stacks(stacks, count)
    return replace(table, rows=rows, stacks=stacks)


def _first_stacks(stacks: StackTable, count: int) -> StackTable:
    frame_ids = stacks.frame_ids[: stacks.offsets[count]]
    frame_count = int(frame_ids.max(initial=-1)) + 1
    frames = stacks.frames.head(frame_count).copy()
    for name in ("symbol", "source_file"):
        frames[name] = frames[name].cat.remove_unused_categories()
    binaries = stacks.binaries.head(int(frames["binary_id"].max() if len(frames) else -1) + 1)
    return StackTable(stacks.offsets[: count + 1], frame_ids, frames, binaries)


class Planter:
    """Adds a name, or a home folder, to a text; ``count`` is how often."""

    def __init__(self, dice: random.Random, secrets: Secrets) -> None:
        self._dice, self._secrets = dice, secrets
        self.count = 0

    def __call__(self, text: str) -> str:
        dice, secrets = self._dice, self._secrets
        self.count += 1
        user = dice.choice(secrets.users)
        name = dice.choice((user, user, secrets.device, *secrets.processes, secrets.listed_process))
        part = dice.choice(
            (
                home(dice, user), home(dice, user), file_of(dice, user), volume_path(dice, secrets.volume),
                spelled(dice, name), spelled(dice, name), spelled(dice, name),
            )
        )  # fmt: skip
        words = f"{dice.choice(_BEFORE)}{part}{dice.choice(_AFTER)}"
        return dice.choice((words, f"{text} {words}", f"{words} {text}"))


def planted(dice: random.Random, secrets: Secrets, plant: Planter) -> InMemorySource:
    """Return a recording whose texts have the names in random spellings, and whose processes are called so."""
    source = _some_tables(dice, base(dice.choice(BASES)))
    contents = {
        place: tuple(_with_names(dice, table, secrets, plant) for table in listed)
        for place, listed in source.contents.items()
    }
    issues = {run: (*listed, _issue(plant)) for run, listed in source.issues_by_run.items()}
    reason = UnreadableTables(plant("cannot be read"), plant("Export it again."))
    return replace(
        source,
        runs=tuple(_run(run, secrets, plant) for run in source.runs),
        contents=contents,
        issues_by_run=issues,
        unreadable={(source.runs[0].info.run, "unread"): reason},
    )


def _some_tables(dice: random.Random, source: InMemorySource) -> InMemorySource:
    """Return a recording with its samples and a few of its other tables."""
    names = sorted({schema for _, schema in source.contents} - set(SAMPLE_TABLES))
    chosen = {*SAMPLE_TABLES, *dice.sample(names, min(_TABLES, len(names)))}
    contents = {place: listed for place, listed in source.contents.items() if place[1] in chosen}
    runs = tuple(
        replace(run, tables=tuple(table for table in run.tables if table.schema in chosen))
        for run in source.runs
    )
    return replace(source, runs=runs, contents=contents)


def _issue(plant: Planter) -> Issue:
    return Issue("warning", "recording-issue", plant("3 events were lost"), 3)


def _run(run: RunInfo, secrets: Secrets, plant: Planter) -> RunInfo:
    info = replace(
        run.info,
        name=plant(run.info.name),
        device=secrets.device,
        # Every user has a home folder somewhere, and a volume is in a path: a name alone is not recognised.
        template="; ".join(
            (*(f"/Users/{user}/T.tracetemplate" for user in secrets.users), f"/Volumes/{secrets.volume}/T")
        ),
        end_reason=plant(f"{secrets.listed_process} exited"),
        recording_mode=plant("Deferred"),
        time_limit=plant("12 hours"),
        os=plant(run.info.os),
        instruments=plant(run.info.instruments),
    )
    tables = tuple(
        replace(
            table,
            attributes={name: plant(text) for name, text in table.attributes.items()},
            location=plant(""),
        )
        for table in run.tables
    )
    names = run.process_names | {*secrets.processes, secrets.listed_process}
    return RunInfo(info, tables, run.pids, frozenset(names))


def _with_names(dice: random.Random, table: Table, secrets: Secrets, plant: Planter) -> Table:
    rows = table.rows.copy()
    for column in table.columns:
        cells = rows[column.mnemonic]
        if column.kind == "text":
            rows[column.mnemonic] = pd.Categorical(_some(dice, cells.astype(object).tolist(), plant))
        elif column.kind == "parts":
            changed = [_cell(dice, cell, plant) if cell is not None else None for cell in cells.tolist()]
            rows[column.mnemonic] = pd.Series(changed, cells.index, dtype=object)
    return replace(
        table,
        rows=rows,
        threads=_others(dice, _texts(dice, table.threads, ("name",), plant), "process", secrets),
        processes=_others(dice, table.processes, "name", secrets),
        stacks=_stacks(dice, table.stacks, plant),
        attributes={name: plant(text) for name, text in table.attributes.items()},
    )


def _some(dice: random.Random, texts: Sequence[Any], plant: Planter) -> list[Any]:
    return [plant(text) if isinstance(text, str) and dice.random() < _SHARE else text for text in texts]


def _texts(dice: random.Random, frame: pd.DataFrame, names: Sequence[str], plant: Planter) -> pd.DataFrame:
    return frame.assign(
        **{name: pd.array(_some(dice, frame[name].tolist(), plant), dtype="str") for name in names}
    )


def _others(dice: random.Random, frame: pd.DataFrame, column: str, secrets: Secrets) -> pd.DataFrame:
    """Return threads or processes with other processes called by the private names."""
    is_app = (frame[column] == "SampleApp") | (frame["pid"] < 0)
    names = [
        name if is_own else secrets.processes[pid % len(secrets.processes)]
        for name, is_own, pid in zip(frame[column], is_app, frame["pid"], strict=True)
    ]
    return frame.assign(**{column: pd.array(names, dtype="str")})


def _stacks(dice: random.Random, stacks: StackTable, plant: Planter) -> StackTable:
    def renamed(column: pd.Series[Any]) -> pd.Series[Any]:
        texts = column.cat.categories.tolist()
        changed = dict(zip(texts, _some(dice, texts, plant), strict=True))
        return column.map(changed).astype("str").astype("category")

    frames = stacks.frames.assign(
        symbol=renamed(stacks.frames["symbol"]), source_file=renamed(stacks.frames["source_file"])
    )
    binaries = _texts(dice, stacks.binaries, ("name", "path", "uuid", "arch"), plant)
    return replace(stacks, frames=frames, binaries=binaries)


def _cell(dice: random.Random, cell: Any, plant: Planter) -> Any:
    """Return a composite cell with names in its texts, some spread over two of them."""
    parts = []
    for name, value in cell:
        if isinstance(value, tuple):
            parts.append((name, _cell(dice, value, plant)))
        elif isinstance(value, str) and dice.random() < _SHARE:
            text = plant(value)
            cut = dice.randint(0, len(text))
            parts += [(name, text[:cut]), (name, text[cut:])] if dice.random() < 0.5 else [(name, text)]
        else:
            parts.append((name, value))
    return tuple(parts)
