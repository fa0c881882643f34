"""What a worker reports to the server while it reads: stage, share, and an estimate where there is ground for it."""

from __future__ import annotations

import io
import json

import pytest

from tracekit_dashboard.jobs import worker_process
from tracekit_dashboard.jobs.worker_process import Channel


def test_the_stage_has_an_estimate_once_the_rate_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 4.0, 5.0])
    monkeypatch.setattr(worker_process.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    channel = Channel(stream)
    channel.begin_stage("opening")
    for done, total in ((10, 100), (25, 100), (30, None)):
        channel(done, total)
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"stage": "opening", "progress": None},
        {"stage": "opening", "progress": 0.1},
        {"stage": "opening (about 15 s left)", "progress": 0.25},
    ]
