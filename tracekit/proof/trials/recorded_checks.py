"""Checks of one recording that a trial made: its tables, its two readings, and its redacted pack."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import tracekit
from tracekit.analysis import analyze
from tracekit.detect import open_source
from tracekit.errors import TracekitError
from tracekit.load import trace_of
from tracekit.model import schemas
from tracekit.model.schemas import READ_TABLES
from tracekit.model.tables import NOT_COUNTED
from tracekit.model.trace import RunInfo
from tracekit.parsers.in_memory import read_into_memory
from tracekit.parsers.pack.pack_writer import write_pack
from tracekit.proof.claim_outcome import ClaimOutcome, judge
from tracekit.proof.private_names import list_private_names
from tracekit.record.recording_plan import InstrumentPlan
from tracekit.redact.redacted_source import hide_private_cells, redact_source
from tracekit.text import list_first, plural
from tracekit.verify.table_match import verify

_TABLES: dict[str, tuple[str, ...]] = {
    "Time Profiler": schemas.SAMPLE_TABLES,
    "Core ML": (schemas.CORE_ML,),
    "Core AI": (schemas.CORE_AI,),
    "Neural Engine": schemas.ANE_TABLES,
    "GPU": (schemas.GPU_INTERVALS,),
    "os_signpost": schemas.SIGNPOST_TABLES,
    "os_log": (schemas.OS_LOG,),
}
"""The instruments of the presets, and the tables of which one shows that it was recorded."""
_SAME = ("equal", "other order")
_MOST_NAMED = 4


def check_evidence(claim: str, run: RunInfo, plan: InstrumentPlan) -> ClaimOutcome:
    """Return whether a recording has a table for each instrument of its plan, and rows of samples."""
    recorded = {table.schema for table in run.tables}
    names = plan.list_recorded_instruments() or frozenset(plan.instruments)
    missing = [name for name, tables in _TABLES.items() if name in names and not recorded & {*tables}]
    counts = [table.row_count for table in run.tables if table.schema in schemas.SAMPLE_TABLES]
    samples = sum(count for count in counts if count and count != NOT_COUNTED)
    promised = sum(name in names for name in _TABLES)
    finding = f"tables of {promised - len(missing)} of {promised} instruments, {plural(samples, 'sample')}"
    if missing:
        finding += f"; no table of {list_first(missing, _MOST_NAMED)}"
    return judge(claim, not missing and samples > 0, finding)


def check_once(run: RunInfo) -> tuple[bool, str]:
    """Return whether no table is listed twice with the same attributes, and the finding."""
    counts = Counter((table.schema, tuple(sorted(table.attributes.items()))) for table in run.tables)
    twice = sorted({schema for (schema, _), count in counts.items() if count > 1})
    return (
        not twice,
        f"listed twice: {list_first(twice, _MOST_NAMED)}" if twice else "no table is listed twice",
    )


def check_readings(bundle: Path) -> tuple[bool, str]:
    """Return whether both readings of the tables that an analysis reads agree, and the finding."""
    native, exported = (open_source(bundle, via=via, schemas=READ_TABLES) for via in ("native", "xctrace"))
    matches = verify(native, exported, READ_TABLES)
    counts = Counter(match.status for match in matches)
    differing = [match.schema for match in matches if match.status not in _SAME]
    finding = ", ".join(f"{count} {status}" for status, count in counts.items())
    finding = f"{plural(len(matches), 'table')}: {finding}" if matches else "no table was compared"
    if differing:
        finding += f" ({list_first(sorted({*differing}), _MOST_NAMED)})"
    return bool(matches) and not differing, finding


def check_fallback(bundle: Path) -> tuple[bool, str]:
    """Return whether ``--via xctrace`` leads to the same calls and engines, and the finding."""
    results = []
    for via in ("native", "xctrace"):
        analysis = analyze(trace_of(open_source(bundle, via=via, schemas=READ_TABLES)))
        results.append((len(analysis.window_rows), tuple(analysis.verdicts.names)))
    return results[0] == results[1], f"{results[0][0]} calls natively, {results[1][0]} by export"


def write_redacted_pack(bundle: Path, path: Path) -> tuple[bool, str]:
    """Write a redacted pack of a bundle; return whether it is free of private names, and the finding.

    A pack with such a name is not kept.
    """
    source, _ = hide_private_cells(read_into_memory(open_source(bundle, schemas=READ_TABLES)))
    data = write_pack(redact_source(source), tracekit.__version__)
    kinds = find_private_names(data)
    if not kinds:
        path.write_bytes(data)
    return (
        not kinds,
        f"the pack holds {list_first(kinds, _MOST_NAMED)}" if kinds else "no private name is in it",
    )


def find_private_names(pack: bytes) -> list[str]:
    """Return the kinds of private names that a member of a pack holds."""
    with zipfile.ZipFile(BytesIO(pack)) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    patterns = [(name.kind, re.compile(name.pattern.encode())) for name in list_private_names()]
    return sorted({kind for kind, pattern in patterns if any(map(pattern.search, contents))})


def read_run(bundle: Path) -> RunInfo:
    """Return the newest run of a bundle with its tables. Raises ``TracekitError``."""
    runs = open_source(bundle, schemas=READ_TABLES).toc()
    if not runs:
        raise TracekitError("A bundle has no run.")
    return runs[-1]
