"""Routes of a recording's samples: tiles, sums, lists, stacks."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable

from flask import Flask, Response, jsonify, request

from dashboard.errors import NotFound
from dashboard.library.library import Library
from dashboard.routes.caching import private
from dashboard.routes.parameters import WHOLE, whole
from dashboard.tiles.cache import OpenRecording, RecordingCache, SampleCache
from dashboard.tiles.chain import parse_chain
from dashboard.tiles.filters import Term, terms_of
from dashboard.tiles.sample_columns import SampleColumns
from dashboard.tiles.sample_list import MOST_ROWS, listed, nearest, stack_document
from dashboard.tiles.sample_selection import SampleSelection
from dashboard.tiles.stack_chart import MOST_COLUMNS, stacks_block
from dashboard.tiles.sums import sums_block
from dashboard.tiles.tiles import lanes_tile, spans_tile
from tracekit.errors import UsageError
from tracekit.report.viewmodel.occupancy import TILE_LANES, level_count

_BYTES = "application/octet-stream"
_TILE_BYTES = 32 << 20
_MAX_LANES = 50_000
_LANES = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})*")
_FAR_NS = 1 << 62


def register(server: Flask, library: Library) -> None:
    """Add the routes of tiles, sums, samples and stacks below ``/api/recordings/<id>/``."""
    cache = RecordingCache(library)
    tiles: SampleCache[bytes] = SampleCache(_TILE_BYTES, len)

    @server.get("/api/recordings/<recording>/tile")
    def tile(recording: str) -> Response:
        opened = cache.get(recording)
        level, index = _tile_place(opened.samples)
        block, terms = _block(opened.samples), _filter()

        def make() -> bytes:
            if block is None:
                return spans_tile(opened.samples, level, index)
            return lanes_tile(opened.samples, level, index, block, cache.mask(opened, terms))

        key = (opened.revision, level, index, block, terms)
        return _cached_response(opened, lambda: tiles.get(key, make))

    @server.get("/api/recordings/<recording>/sums")
    def sums(recording: str) -> Response:
        opened = cache.get(recording)
        selection = _selection(cache, opened)
        chain = parse_chain(request.args.get("transforms", ""))

        def make() -> bytes:
            return sums_block(opened.samples, selection, cache.tree(opened, chain) if chain else None)

        return _cached_response(opened, make)

    @server.get("/api/recordings/<recording>/stack-chart")
    def stack_chart(recording: str) -> Response:
        opened = cache.get(recording)
        lane, columns = whole("lane"), whole("columns", 1_000)
        if lane >= len(opened.samples.lanes):
            raise UsageError("There are no such lanes in this recording.")
        if not 1 <= columns <= MOST_COLUMNS:
            raise UsageError(f"columns is from 1 to {MOST_COLUMNS:,}.")
        start, end = _time("from", 0), _time("to", opened.samples.duration_ns)
        if start >= end:
            raise UsageError("from is before to.")
        return _cached_response(opened, lambda: stacks_block(opened.samples, lane, start, end, columns))

    @server.get("/api/recordings/<recording>/samples")
    def samples(recording: str) -> Response:
        opened = cache.get(recording)
        count = whole("count", 100)
        if not 1 <= count <= MOST_ROWS:
            raise UsageError(f"count is from 1 to {MOST_ROWS}.")
        after = request.args.get("after", "")
        return private(jsonify(listed(opened.samples, _selection(cache, opened), after, count)))

    @server.get("/api/recordings/<recording>/sample")
    def sample(recording: str) -> Response:
        """Return the sample nearest to a time in a lane, with its stack; null for none."""
        opened = cache.get(recording)
        lane = whole("lane")
        if lane >= len(opened.samples.lanes):
            raise UsageError("There are no such lanes in this recording.")
        time_ns = max(0, _time("time", 0))
        within_ns = min(_time("within", 0), opened.samples.duration_ns)
        mask = cache.mask(opened, _filter())
        return private(jsonify(nearest(opened.samples, lane, time_ns, within_ns, mask)))

    @server.get("/api/recordings/<recording>/stacks/<number>")
    def stack(recording: str, number: str) -> Response:
        opened = cache.get(recording)
        if not WHOLE.fullmatch(number):
            raise NotFound("There is no such stack in this recording.")
        return private(jsonify(stack_document(opened.samples, int(number))))


def _cached_response(opened: OpenRecording, make: Callable[[], bytes]) -> Response:
    """Return bytes that change only when the recording is read again; browsers revalidate them."""
    address = f"{opened.revision} {request.full_path}".encode("utf-8", "surrogatepass")
    tag = hashlib.sha256(address).hexdigest()[:32]
    if request.if_none_match.contains(tag):
        response = Response(status=304)
    else:
        response = Response(make(), mimetype=_BYTES)
    response.set_etag(tag)
    return private(response)


def _tile_place(samples: SampleColumns) -> tuple[int, int]:
    level, index = whole("level"), whole("index")
    if level >= level_count(samples.duration_ns):
        raise UsageError(f"level is below {level_count(samples.duration_ns)} in this recording.")
    if index >= 1 << level:
        raise UsageError(f"index is below {1 << level} at level {level}.")
    return level, index


def _block(samples: SampleColumns) -> int | None:
    """Return the requested block of lanes; None for the measured intervals."""
    if request.args.get("block") == "spans":
        return None
    block = whole("block")
    if block and block * TILE_LANES >= len(samples.lanes):
        raise UsageError("There are no such lanes in this recording.")
    return block


def _selection(cache: RecordingCache, opened: OpenRecording) -> SampleSelection:
    return SampleSelection(
        _time("from", -_FAR_NS), _time("to", _FAR_NS), _lanes(opened.samples), cache.mask(opened, _filter())
    )


def _filter() -> tuple[Term, ...]:
    return terms_of(request.args.get("filter", ""))


def _lanes(samples: SampleColumns) -> frozenset[int] | None:
    text = request.args.get("lanes", "")
    if not text:
        return None
    if len(text) > _MAX_LANES or not _LANES.fullmatch(text):
        raise UsageError("lanes are numbers with full stops between them.")
    lanes = frozenset(map(int, text.split(".")))
    if max(lanes) >= len(samples.lanes):
        raise UsageError("There are no such lanes in this recording.")
    return lanes


def _time(name: str, default: int) -> int:
    """Return the first whole nanosecond at or after a time: samples have whole ones."""
    text = request.args.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{name} is a number of nanoseconds.")
    return math.ceil(max(-_FAR_NS, min(value, _FAR_NS)))
