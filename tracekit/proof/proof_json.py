"""``tracekit-proof/1``: the outcomes as JSON that can be sent, without names of people, paths and devices."""

from __future__ import annotations

import json
from typing import Any

import tracekit
from tracekit.proof.claim import load_claims
from tracekit.proof.private_names import list_private_names, remove_private_names
from tracekit.proof.prove import Proof
from tracekit.text import escape_json

SCHEMA = "tracekit-proof/1"
FILE_NAME = "proof.json"
_MAX_CHARACTERS = 2000


def format_proof(proof: Proof) -> str:
    """Return the document of a proof."""
    claims, names = load_claims(), list_private_names()
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "tracekit": tracekit.__version__,
        "machine": dict(proof.surroundings.facts),
        "xctrace": proof.xctrace or None,
        "counts": {state: proof.count(state) for state in ("held", "did not hold", "not tried")},
        "claims": [
            {
                "id": outcome.claim,
                "state": outcome.state,
                "found": remove_private_names(outcome.finding, names)[:_MAX_CHARACTERS],
                "statement": claims[outcome.claim].statement,
            }
            for outcome in proof.outcomes
        ],
        "packs": [path.name for path in proof.packs],
    }
    return escape_json(json.dumps(document, ensure_ascii=False, indent=1)) + "\n"
