"""A recording → the bytes of a pack: the same bytes for the same tables."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict
from typing import Any

from tracekit.model.tables import TableInfo
from tracekit.model.trace import RunInfo
from tracekit.parsers.in_memory import HeldSource
from tracekit.parsers.pack.encode import Json, Members, TableEncoder
from tracekit.parsers.pack.layout import FORMAT, MANIFEST, VERSION, require_writable

_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can name


def write_pack(source: HeldSource, version: str) -> bytes:
    """Return the pack of a recording as it stands: hide and redact before; ``version`` is tracekit's own."""
    members = Members()
    encoder = TableEncoder(members)
    runs = [_run(source, run, encoder) for run in source.runs]
    manifest: Json = {
        "format": f"{FORMAT}/{VERSION}",
        "tracekit": version,
        "source": source.origin,
        "has_toc": source.has_toc,
        "redacted": any(issue.code == "redacted" for issue in source.issues()),
        "runs": runs,
        **encoder.shared,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(manifest, ensure_ascii=False, indent=1)
        for name, data in {MANIFEST: text.encode("utf-8", "replace"), **members.data}.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # on every system
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    require_writable(manifest, len(out.getvalue()))
    return out.getvalue()


def _run(source: HeldSource, run: RunInfo, encoder: TableEncoder) -> Json:
    number = run.info.run
    info = {name: value for name, value in asdict(run.info).items() if name not in ("name", "kind", "run")}
    return {
        "run": number,
        "info": info,
        "pids": sorted(run.pids),
        "issues": [asdict(issue) for issue in source.noted.get(number, ())],
        "contents": [_listed(table) for table in run.tables],
        "unreadable": [
            {"schema": schema, **asdict(reason)}
            for (at, schema), reason in source.unreadable.items()
            if at == number
        ],
        "tables": [
            encoder.table(table)
            for (at, _), tables in source.held.items()
            if at == number
            for table in tables
        ],
    }


def _listed(table: TableInfo) -> dict[str, Any]:
    return {
        "schema": table.schema,
        "index": table.index,
        "attributes": dict(table.attributes),
        "row_count": table.row_count,
        "location": table.location,
    }
