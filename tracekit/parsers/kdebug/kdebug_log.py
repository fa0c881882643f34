"""The log of a version 3 stream → its signposts and its lines about the engine, as those of any other log.

    texts     property list  {"StringIndex": {text: number, …}}
    entries   property list  {"Events": [{"cm": number of a text, "ud": {"sec", "usec"}, …}, …]}

``ti`` is the identifier of a tracepoint: its lowest byte is the kind of an entry, the next one for a signpost
its place in a pair and its scope. Sources: pykdebugparser (the keys; its tests have two entries of devices),
src/firehose of apple-oss-distributions/libdispatch (tracepoints). No signpost of a device was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tracekit.parsers.bundle.plist import BinaryPlist, PlistError
from tracekit.parsers.kdebug.kdebug_stream import KdebugStream
from tracekit.parsers.limits import Limits, require_at_most
from tracekit.parsers.text.log_lines import LogEntry
from tracekit.parsers.text.log_text import LogContent
from tracekit.parsers.text.signpost_pairing import Signpost, SignpostKind

_SIGNPOST, _LOSS = 6, 7
"""Namespaces of tracepoints."""
_KINDS: dict[int, SignpostKind] = {1: "begin", 2: "end"}
_SCOPES = {0x40: "thread", 0x80: "process", 0xC0: "system"}
_MESSAGE_TYPES = {0: "Default", 1: "Info", 2: "Debug", 0x10: "Error", 0x11: "Fault"}
_MAX_CHARACTERS = 4_000
_MOST_SECONDS = 2**33

_Value = TypeVar("_Value", int, str, dict[str, Any])


def read_stream_log(stream: KdebugStream, name: str, limits: Limits) -> LogContent:
    """Return the entries of a stream's log; those that are damaged, and damaged parts, are counted."""
    log = LogContent()
    texts: dict[int, str] = {}
    for chunk in stream.log_texts:
        try:
            texts.update(_read_texts(BinaryPlist(chunk)))
        except PlistError:
            log.damaged += 1
    for chunk in stream.log_chunks:
        try:
            for event in _iter_events(BinaryPlist(chunk)):
                _add_entry(log, _build_entry(event, texts))
                require_at_most(name, log.lines, limits.cells // 40, "entries of its log")
        except PlistError:
            log.damaged += 1
    return log


def _read_texts(plist: BinaryPlist) -> Iterator[tuple[int, str]]:
    index = _read_dictionary(plist, _read_dictionary(plist, plist.top).get("StringIndex"))
    for text, number in index.items():
        value = plist.read(number)
        if isinstance(text, str) and isinstance(value, int):
            yield value, text[:_MAX_CHARACTERS]


def _iter_events(plist: BinaryPlist) -> Iterator[Mapping[str, Any]]:
    """Yield each event with the values of its keys; those of its date one level deeper."""
    events = _read_dictionary(plist, plist.top).get("Events")
    numbers = plist.read(events) if events is not None else ()
    if not isinstance(numbers, tuple):
        raise PlistError("has no list of events")
    for number in dict.fromkeys(numbers):  # each once: no writer shares events, and a hostile one would
        event = _read_dictionary(plist, number)
        values = {key: plist.read(event[key]) for key in _KEYS if key in event}
        date = values.get("ud")
        if isinstance(date, dict):
            values["ud"] = {key: plist.read(date[key]) for key in ("sec", "usec") if key in date}
        yield values


_KEYS = (
    "cm", "ud", "mct", "tid", "pid", "p", "sub", "cat", "send", "lt", "ti", "si", "sn"
)  # fmt: skip
"""Message, date, ticks, thread, process and its name, subsystem, category, library, type of a line,
tracepoint, identifier and name of a signpost."""


def _read_dictionary(plist: BinaryPlist, number: int | None) -> dict[Any, int]:
    value = plist.read(number) if number is not None else None
    if not isinstance(value, dict):
        raise PlistError("has no dictionary where the log has one")
    return value


def _add_entry(log: LogContent, entry: LogEntry | None) -> None:
    if entry is None:
        log.damaged += 1
        return
    log.lines += 1
    log.first_entry = log.first_entry or entry
    log.last_entry = entry
    log.add(entry)


def _build_entry(event: Mapping[str, Any], texts: Mapping[int, str]) -> LogEntry | None:
    """Return an event as an entry of a log; None without a date, or a text that its kind needs."""

    def get_text(key: str) -> str:
        return texts.get(_get(event, key, -1), "")

    time_ns = _read_date(_get(event, "ud", {}))
    tracepoint = _get(event, "ti", 0)
    namespace, kind = tracepoint & 0xFF, tracepoint >> 8 & 0xFF
    is_signpost, is_loss = namespace == _SIGNPOST, namespace == _LOSS
    if time_ns is None or (not get_text("sn" if is_signpost else "cm") and not is_loss):
        return None
    signpost = Signpost(
        _KINDS.get(kind & 0x3F, "event"),
        get_text("sn"),
        _get(event, "si", 0) % 2**64,
        _SCOPES.get(kind & 0xC0, "process"),
    )
    return LogEntry(
        time_ns,
        get_text("cm"),
        get_text("p"),
        _limit(_get(event, "pid", -1)),
        _limit(_get(event, "tid", -1)),
        get_text("sub"),
        get_text("cat"),
        _MESSAGE_TYPES.get(_get(event, "lt", 0), ""),
        utc_offset_s=0,
        sender=get_text("send"),
        signpost=signpost if is_signpost else None,
        ticks=_limit(_get(event, "mct", -1)),
        is_loss=is_loss,
    )


def _read_date(date: Mapping[str, Any]) -> int | None:
    """Return nanoseconds since 1970."""
    seconds, microseconds = _get(date, "sec", -1), _get(date, "usec", -1)
    if 0 <= seconds < _MOST_SECONDS and 0 <= microseconds < 1_000_000:
        return (seconds * 1_000_000 + microseconds) * 1_000
    return None


def _get(values: Mapping[str, Any], key: str, missing: _Value) -> _Value:
    value = values.get(key)
    return value if isinstance(value, type(missing)) and not isinstance(value, bool) else missing


def _limit(number: int) -> int:
    return number if 0 <= number < 2**63 else -1
