"""``tracekit fleet check``: numbers that requests to language models of the newest build must meet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fleet_rows import write_dataset
from trace_support import MS

from tracekit.cli import main

PHONE = {"app": "Chat", "device": "Phone", "device_model": "iPhone 17"}
PAD = {"app": "Chat", "device": "Pad", "device_model": "iPad 17"}


def make_request(recording: str, first_ms: float, token_ms: float, **changed: Any) -> dict[str, Any]:
    """Return a request of 100 prompt tokens with 10 tokens after its first one."""
    row: dict[str, Any] = {**PHONE, "recording": recording, "build": "2", "model": "Chat", "cut": False}
    row |= {"source": "os-signpost", "basis": "measured", "prompt_tokens": 100, "tokens": 11}
    row |= {"first_token_ns": int(first_ms * MS), "decode_tokens": 10, "decode_ns": int(token_ms * MS) * 10}
    return row | changed


def check_rows(tmp_path: Path, requests: list[dict[str, Any]], *arguments: str) -> Result:
    places = {row["recording"]: (row["build"], row["device"]) for row in requests}
    known: Mapping[str, Mapping[str, str]] = {"Phone": PHONE, "Pad": PAD}
    recordings = [
        {**known[device], "recording": name, "build": build} for name, (build, device) in places.items()
    ]
    write_dataset(tmp_path / "results", recordings=recordings, requests=requests)
    options = [part for text in arguments for part in ("--require", text)]
    command = ["fleet", "check", str(tmp_path / "results"), *options, "--format", "json"]
    return CliRunner().invoke(main, command)


def judge_rows(tmp_path: Path, requests: list[dict[str, Any]], *arguments: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(check_rows(tmp_path, requests, *arguments).stdout)[
        "requirements"
    ]
    return entries


STEADY = [
    make_request(name, first, 10 + shift) for name, shift in (("a", 0), ("b", 0.1)) for first in (100, 200)
]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("tokens per second >= 50 in decode", 0),
        ("tokens per second >= 99.5 in Chat", 5),
        ("tokens per second >= 200", 1),
        ("min tokens per second >= 99", 0),
        ("min tokens per second >= 99.5", 1),
        ("min tokens per second >= 500 in prefill", 0),
        ("time to first token <= 200ms in Ch*", 0),
        ("time to first token <= 199ms", 1),
        ("p50 time to first token <= 100ms", 0),
        ("time to first token <= 400ms in Other", 5),
    ],
)
def test_requests_of_the_newest_build_meet_a_number_or_not(
    tmp_path: Path, requirement: str, code: int
) -> None:
    older = make_request("old", 900, 900, build="1")
    assert check_rows(tmp_path, [older, *STEADY], requirement).exit_code == code


@pytest.mark.integration
def test_the_document_has_the_unit_and_the_requests(tmp_path: Path) -> None:
    rate, first = judge_rows(tmp_path, STEADY, "tokens per second >= 50", "time to first token <= 1s")
    assert (rate["unit"], rate["requests"], rate["calls"], rate["runs"]) == ("tokens/s", 4, None, 2)
    assert rate["low"] == pytest.approx(
        (100 * 1000 / 10.1) ** 0.5
    )  # between 100 and 99.0 by their logarithms
    assert (first["unit"], first["low"], first["high"]) == ("ns", 200 * MS, 200 * MS)
    assert "the worst of 2 runs" in first["reason"]


@pytest.mark.integration
def test_one_request_does_not_show_how_a_rate_varies(tmp_path: Path) -> None:
    (entry,) = judge_rows(tmp_path, [make_request("a", 100, 10)], "tokens per second >= 50")
    assert (entry["outcome"], entry["low"], entry["interval"]) == ("open", 100.0, [0.0, None])


@pytest.mark.integration
def test_every_device_that_had_requests_is_judged(tmp_path: Path) -> None:
    pad = make_request("old", 100, 10, **PAD, build="1")
    entries = judge_rows(tmp_path, [pad, *STEADY], "time to first token <= 400ms in Chat")
    assert [(entry["device"], entry["outcome"], entry["reason"]) for entry in entries] == [
        ("Pad", "not measurable", "the build has no request to 'Chat' on this device"),
        (
            "Phone",
            "passed",
            "max time to first token is 200.000 ms (measured, 4 requests, 2 runs); the worst of 2 runs",
        ),
    ]


@pytest.mark.integration
def test_a_request_without_a_first_token_passes_nothing_and_hides_no_failure(tmp_path: Path) -> None:
    cut = make_request("c", 0, 0, cut=True, tokens=0, first_token_ns=None, decode_tokens=0, decode_ns=None)
    entries = judge_rows(
        tmp_path, [*STEADY, cut], "time to first token <= 400ms", "time to first token <= 150ms"
    )
    assert [entry["outcome"] for entry in entries] == ["not measurable", "failed"]
    assert (entries[0]["low"], entries[0]["high"]) == (200 * MS, None)
    assert "the recording has no first token of 1 request" in entries[0]["reason"]


@pytest.mark.integration
def test_requests_at_once_are_not_measurable(tmp_path: Path) -> None:
    mixed = make_request("a", 0, 0, tokens=None, first_token_ns=None, decode_tokens=None, decode_ns=None)
    (entry,) = judge_rows(tmp_path, [*STEADY, mixed], "tokens per second >= 50")
    assert (entry["outcome"], entry["reason"]) == (
        "not measurable",
        "there is 1 request at once with others, whose tokens are not told apart",
    )


@pytest.mark.integration
def test_a_dataset_without_requests_has_not_recorded_them(tmp_path: Path) -> None:
    write_dataset(tmp_path / "results", recordings=[{**PHONE, "recording": "a", "build": "1"}])
    result = CliRunner().invoke(
        main, ["fleet", "check", str(tmp_path / "results"), "--require", "tokens per second >= 1"]
    )
    assert result.exit_code == 5
    assert "no device has requests" in result.stdout
