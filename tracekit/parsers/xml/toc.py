"""A table of contents (``xctrace export --toc``) → one ``RunInfo`` per run."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation

from lxml import etree

from tracekit.frozen import frozen
from tracekit.model.tables import TableInfo
from tracekit.model.trace import RunInfo, TraceInfo

# These do not distinguish tables of one schema.
_NOT_QUALIFYING = frozenset({"schema", "documentation"})


@frozen
class TableOfContents:
    """A table of contents; the recording has no name yet."""

    runs: tuple[RunInfo, ...]

    def with_name(self, name: str) -> list[RunInfo]:
        """Return the runs of a recording of that name."""
        return [replace(run, info=replace(run.info, name=name)) for run in self.runs]


def read_toc(root: etree._Element) -> TableOfContents:
    """Return the runs in document order.

    Everything in a table of contents may be missing (a failed recording has no template name, an
    all-processes recording no target process); what is missing stays empty.
    """
    return TableOfContents(
        tuple(_read_run(run, position) for position, run in enumerate(root.iterchildren("run"), start=1))
    )


def _read_run(run: etree._Element, position: int) -> RunInfo:
    number = _parse_int(run.get("number", "")) or position
    tables = tuple(
        TableInfo(
            schema=table.get("schema", ""),
            run=number,
            index=index,
            attributes={str(k): str(v) for k, v in table.items() if k not in _NOT_QUALIFYING},
        )
        for index, table in enumerate(run.iterfind("data/table"), start=1)
    )
    info = _read_info(run, number)
    processes = run.findall("processes/process")
    pids = {_parse_int(process.get("pid", "")) for process in processes} | {info.pid}
    names = {str(process.get("name", "")) for process in processes} | {info.process}
    return RunInfo(info, tables, frozenset(pid for pid in pids if pid is not None), frozenset(names - {""}))


def _read_info(run: etree._Element, number: int) -> TraceInfo:
    def read_summary(tag: str) -> str:
        return (run.findtext(f"info/summary/{tag}") or "").strip()

    def read_target(tag: str, attribute: str) -> str:
        element = run.find(f"info/target/{tag}")
        return element.get(attribute, "") if element is not None else ""

    return TraceInfo(
        name="",
        kind="xctrace-xml",
        run=number,
        device=read_target("device", "name"),
        model=read_target("device", "model"),
        platform=read_target("device", "platform"),
        os=read_target("device", "os-version"),
        template=read_summary("template-name"),
        instruments=read_summary("instruments-version"),
        start=read_summary("start-date"),
        end=read_summary("end-date"),
        end_reason=read_summary("end-reason"),
        recording_mode=read_summary("recording-mode"),
        time_limit=read_summary("time-limit"),
        duration_ns=_convert_seconds(read_summary("duration")),
        process=read_target("process", "name"),
        pid=_parse_int(read_target("process", "pid")),
    )


def _parse_int(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _convert_seconds(text: str) -> int | None:
    """Convert ``3.450364`` to 3450364000, without a float in between, which would round."""
    try:
        seconds = Decimal(text)
    except InvalidOperation:
        return None
    return int(seconds * 1_000_000_000) if seconds.is_finite() and 0 <= seconds < 10**9 else None
