"""Real stacks from public reports, labelled by a person: the rules must read them the same way."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tracekit.analysis.classification.rule_set import load_rules
from tracekit.cli.stack_records import StackRecord, classify_records

STACKS = Path(__file__).resolve().parents[3] / "shared" / "stacks" / "stacks.jsonl"
pytestmark = pytest.mark.skipif(
    not STACKS.is_file(), reason="no collection of labelled stacks beside the checkout"
)

ENGINES = ("ANE", "GPU", "CPU")
# What a person called the phase, where it is one of ours and the frames can show it.
PHASES = {"load": "load", "teardown": "idle", "compile": "compile", "idle": "idle"}


@pytest.fixture(scope="module")
def judged() -> list[tuple[dict, dict]]:
    records = [json.loads(line) for line in STACKS.read_text(encoding="utf-8").splitlines()]
    verdicts = classify_records(map(StackRecord.from_json, records), load_rules())
    return [pair for pair in zip(records, verdicts, strict=True) if pair[0]["decidable"]]


def label(engine: str) -> str:
    return engine if engine in ENGINES else "OTHER"


def test_nearly_every_decidable_stack_gets_its_label(judged):
    confusion = Counter((record["label"], label(verdict["engine"])) for record, verdict in judged)
    right = sum(count for (expected, got), count in confusion.items() if expected == got)
    table = "\n".join(f"{expected} → {got}: {count}" for (expected, got), count in sorted(confusion.items()))
    assert right >= 0.95 * len(judged), table


def test_no_other_stack_is_called_ane(judged):
    wrong = [
        record["id"]
        for record, verdict in judged
        if record["label"] == "OTHER" and verdict["engine"] == "ANE"
    ]
    assert wrong == []


def test_idle_threads_loads_and_compiles_are_no_inference(judged):
    differ = [
        (record["id"], record["phase"], verdict["phase"])
        for record, verdict in judged
        if record["label"] in ENGINES
        and record["phase"] in PHASES
        and verdict["phase"] != PHASES[record["phase"]]
    ]
    assert differ == []


def test_every_verdict_on_an_engine_names_its_rule(judged):
    for _, verdict in judged:
        if verdict["engine"] in ENGINES:
            assert verdict["rule"] is not None
            assert verdict["frame"] is not None or verdict["rule"].startswith("thread.")
