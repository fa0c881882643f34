"""The files of one recording's folder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from sample_generator.evidence import Evidence
from sample_generator.evidence_tables import evidence_tables
from sample_generator.evidence_truth import EvidenceTruth
from sample_generator.exports import sampling_table
from sample_generator.truth import Truth

if TYPE_CHECKING:
    from sample_generator.recording import Recording
    from sample_generator.toc import Contents

Files = dict[str, str | bytes]
"""Path → content, of one recording's folder."""

_INTERVAL = re.compile(r'\{\s+"start_ns"[^{}]*"depth": \d+\s+\}')
"""One of many rows, which reads best as a line."""
_TOKEN = re.compile(r"\[\s+(\d+),\s+(\d+),\s+(\"[A-Z]+\")\s+\]")


def files(recording: Recording, contents: Contents, evidence: Evidence | None = None) -> Files:
    """Return a recording's table of contents, its sampling table, its tables of evidence and the truth."""
    (table_index,) = contents.indexes(recording.table)
    evidence = evidence or Evidence()
    return {
        "toc.xml": contents.to_xml(),
        f"{recording.table}.xml": sampling_table(recording, table_index),
        **evidence_tables(recording, contents, evidence),
        "truth.json": truth(recording, evidence),
    }


def truth(recording: Recording, evidence: Evidence) -> str:
    stated = Truth(recording).to_json() | EvidenceTruth(recording, evidence).fields()
    text = json.dumps(stated, indent=1) + "\n"
    text = _TOKEN.sub(r"[\1, \2, \3]", text)
    return _INTERVAL.sub(lambda interval: " ".join(interval[0].split()), text)
