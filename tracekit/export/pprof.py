"""pprof: a gzipped ``perftools.profiles.Profile`` message, read by ``go tool pprof``, Pyroscope, Parca, ….

The message is that of proto/profile.proto in github.com/google/pprof. The protobuf package does not include
it: its fields are declared in ``pprof_message``.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import IO, Any

import numpy as np

from tracekit.analysis.result import Analysis
from tracekit.analysis.windows.window import sampling_period_ns
from tracekit.export.export_view import NO_STACK, ExportView, clean
from tracekit.export.pprof_message import make_message_class
from tracekit.model.vocabulary import ENGINES, PHASES

_SAMPLES = ("samples", "count")
_UNITS = {
    "ns": ("time", "nanoseconds"),
    "cycles": ("cycles", "count"),
    "events": ("events", "count"),
    "samples": _SAMPLES,
    "hits": ("hits", "count"),
}


def write_pprof(analysis: Analysis, out: IO[bytes]) -> None:
    """Write one pprof sample per group of equal samples, with their common properties as labels.

    ``go tool pprof -tagfocus engine=ANE`` and ``-tagroot window,engine`` select and group by the labels.
    """
    profile = _PprofProfile(ExportView(analysis)).build()
    with gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0, compresslevel=6) as packed:
        packed.write(profile.SerializeToString(deterministic=True))


class _PprofProfile:
    def __init__(self, view: ExportView) -> None:
        self._view = view
        self._message: Any = make_message_class("Profile")()
        self._strings: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[tuple[int, ...], int] = {}
        self._rows = view.rows

    def build(self) -> Any:
        message, unit = self._message, _UNITS[self._view.trace.weight_unit]
        for kind, kind_unit in dict.fromkeys((_SAMPLES, unit)):
            message.sample_type.add(type=self._add_string(kind), unit=self._add_string(kind_unit))
        message.default_sample_type = self._add_string(unit[0])
        if unit[0] == "time":
            message.period_type.type, message.period_type.unit = (
                self._add_string("time"),
                self._add_string("nanoseconds"),
            )
            message.period = sampling_period_ns(self._view.trace)
        self._add_start_time()
        self._add_mappings()
        self._add_samples()
        for frames, location_id in self._locations.items():
            self._add_location(location_id, frames)
        message.string_table.extend(self._strings)
        return message

    def _add_string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _add_start_time(self) -> None:
        info = self._view.trace.info
        self._message.comment.append(self._add_string(clean(info.name)))
        self._message.duration_nanos = info.duration_ns or 0
        try:
            start_time = datetime.fromisoformat(info.start)
        except ValueError:
            return
        since = (start_time if start_time.tzinfo else start_time.replace(tzinfo=UTC)) - datetime(
            1970, 1, 1, tzinfo=UTC
        )
        self._message.time_nanos = since // timedelta(microseconds=1) * 1000

    def _add_mappings(self) -> None:
        """Add one mapping per binary; the first, which pprof treats as the program, is the target's."""
        stacks = self._view.trace.stacks
        owners, addresses = (
            stacks.frames["binary_id"].to_numpy(),
            stacks.frames["address"].to_numpy(np.uint64),
        )
        ends = np.zeros(len(stacks.binaries) + 1, np.uint64)
        np.maximum.at(ends, owners, addresses)
        with_files = np.unique(owners[(stacks.frames["source_file"] != "").to_numpy(bool)]).tolist()
        with_inlined = np.unique(owners[stacks.frames["inlined"].to_numpy(bool)]).tolist()
        binaries = list(enumerate(stacks.binaries.to_dict("records")))
        programs = {self._view.trace.info.process, *self._view.trace.threads["process"]}
        for index, row in sorted(binaries, key=lambda numbered: numbered[1]["name"] not in programs):
            start = int(row["load_address"])
            self._message.mapping.add(
                id=index + 1,
                memory_start=start,
                memory_limit=min(max(int(ends[index]), start) + 1, 2**64 - 1),
                filename=self._add_string(clean(row["path"] or row["name"])),
                build_id=self._add_string(clean(row["uuid"]) if row["uuid"] else ""),
                has_functions=True,
                has_filenames=index in with_files,
                has_line_numbers=index in with_files,
                has_inline_frames=index in with_inlined,
            )

    def _add_samples(self) -> None:
        groups, view = self._view.groups, self._view
        locations = {stack: self._find_location_ids(stack) for stack in np.unique(groups.stack).tolist()}
        keys = [self._add_string(key) for key in ("process", "thread", "engine", "phase", "window")]
        columns = (groups.stack, groups.thread, groups.engine, groups.phase, groups.window)
        numbers = (groups.samples, groups.weight)
        # Counted stacks weigh what they count: one number for each.
        first_value = 1 if view.trace.weight_unit == "samples" else 0
        labels: dict[tuple[int, ...], list[Any]] = {}
        make_label = make_message_class("Label")
        for stack, *key, samples, weight in zip(
            *(column.tolist() for column in (*columns, *numbers)), strict=True
        ):
            group = tuple(key)
            if group not in labels:
                thread, engine, phase, window = group
                values = (
                    view.processes[thread],
                    view.threads[thread],
                    str(ENGINES[engine]),
                    str(PHASES[phase]) if phase >= 0 else "",
                    view.windows[window] if window >= 0 else "",
                )
                labels[group] = [
                    make_label(key=name, str=self._add_string(value))
                    for name, value in zip(keys, values, strict=True)
                    if value
                ]
            self._message.sample.add(
                location_id=locations[stack], value=(samples, weight)[first_value:], label=labels[group]
            )

    def _find_location_ids(self, stack_id: int) -> list[int]:
        """Return a stack's locations, leaf first: one per address, functions inlined there included."""
        return [
            self._locations.setdefault(pieces, len(self._locations) + 1)
            for pieces in self._iter_inline_runs(stack_id)
        ]

    def _iter_inline_runs(self, stack_id: int) -> Iterator[tuple[int, ...]]:
        """Yield runs of frame rows: inlined functions, innermost first, then their function."""
        run: tuple[int, ...] = ()
        for frame in self._view.trace.stacks.stack(stack_id).tolist() if stack_id >= 0 else [-1]:
            if run and not (
                self._rows[run[-1]].inlined and self._find_address(run[-1]) == self._find_address(frame)
            ):
                yield run
                run = ()
            run += (frame,)
        if run:
            yield run

    def _find_address(self, frame: int) -> tuple[int, int]:
        return self._rows[frame].binary_id, self._rows[frame].address

    def _add_location(self, location_id: int, frames: tuple[int, ...]) -> None:
        if frames == (-1,):
            self._message.location.add(id=location_id).line.add(function_id=self._add_function(NO_STACK, ""))
            return
        row = self._rows[frames[-1]]
        location = self._message.location.add(
            id=location_id, mapping_id=row.binary_id + 1, address=row.address
        )
        for frame in frames:
            row = self._rows[frame]
            function = self._add_function(self._view.symbols[frame], row.source_file)
            location.line.add(function_id=function, line=max(row.source_line, 0))

    def _add_function(self, symbol: str, file: str) -> int:
        """Return the id of a function, added when new."""
        key = (symbol, file)
        if key not in self._functions:
            self._functions[key] = len(self._functions) + 1
            name = self._add_string(symbol)
            self._message.function.add(
                id=self._functions[key],
                name=name,
                system_name=name,
                filename=self._add_string(clean(file) if file else ""),
            )
        return self._functions[key]
