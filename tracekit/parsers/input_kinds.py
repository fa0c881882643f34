"""The kinds of inputs in words, for help and messages."""

from __future__ import annotations

RECORDINGS = (
    "a .trace (a folder, or a zip or tar of one)",
    "a pack (.tracekit.zip)",
    "an export of xctrace (.xml, .xml.gz), or a folder, zip or tar of exports of one recording",
    "a device's recording of tracekit record --via (a folder, or a zip or tar of one)",
    "a kernel's stream (.ktrace) or stackshot",
)
TEXTS = (
    "a crash, hang or stackshot report (.ips, .crash)",
    "a log",
    "a Deep Copy of Instruments",
    "what sample, spindump, powermetrics, macmon or lldb printed",
    "hits.jsonl, usage.ndjson or presence.ndjson",
)
INPUTS = "; ".join((*RECORDINGS, *TEXTS))
"""Every kind of input; docs/guide.md has a row for each."""
