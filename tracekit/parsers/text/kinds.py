"""The kinds of texts, each recognised by its content, and the ``Source`` of a text."""

from __future__ import annotations

from tracekit.parsers.kdebug.stackshot_text import STACKSHOT_JSON
from tracekit.parsers.limits import DEFAULT_LIMITS, Limits
from tracekit.parsers.source import Progress, Source
from tracekit.parsers.text.crash_text import CRASH_TEXT
from tracekit.parsers.text.deep_copy import DEEP_COPY
from tracekit.parsers.text.engine_floors import ENGINE_PRESENCE_TEXT
from tracekit.parsers.text.ips import IPS
from tracekit.parsers.text.lldb_hits import LLDB_HITS_TEXT
from tracekit.parsers.text.lldb_text import LLDB_TEXT
from tracekit.parsers.text.log_text import LOG
from tracekit.parsers.text.power_json import POWER_JSON
from tracekit.parsers.text.powermetrics import POWERMETRICS
from tracekit.parsers.text.powermetrics_plist import POWERMETRICS_PLIST
from tracekit.parsers.text.process_usage import PROCESS_USAGE_TEXT
from tracekit.parsers.text.sample import SAMPLE
from tracekit.parsers.text.spindump import SPINDUMP
from tracekit.parsers.text.text_file import TextFile, TextPlace, detect_encoding
from tracekit.parsers.text.text_recording import Recognised, TextKind, build_source

KINDS: tuple[TextKind, ...] = (
    SPINDUMP,
    SAMPLE,
    DEEP_COPY,
    IPS,
    STACKSHOT_JSON,
    LLDB_HITS_TEXT,
    PROCESS_USAGE_TEXT,
    ENGINE_PRESENCE_TEXT,
    LLDB_TEXT,
    CRASH_TEXT,
    POWERMETRICS,
    POWERMETRICS_PLIST,
    POWER_JSON,
    LOG,
)
"""In the order in which they are tried: the first that recognises a text reads it."""


def identify_text(place: TextPlace) -> Recognised | None:
    """Return the kind of a text and its encoding by its first bytes; None for any other file."""
    head = place.read_head()
    encoding = detect_encoding(head)
    text = head.decode(encoding, errors="replace")
    return next(((kind, encoding) for kind in KINDS if kind.recognises(text)), None)


def open_text(
    place: TextPlace,
    recognised: Recognised,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Source:
    """Read a text of a recognised kind. Raises ``InputError`` where it holds nothing to read."""
    kind, encoding = recognised
    file = TextFile(place, encoding, limits, progress)
    return build_source(place.name, kind.name, kind.read(file), limits)
