"""The server for assistants: ten questions, each answered in a few small calls, and hostile arguments."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from view_support import ROOT

pytest.importorskip("mcp")
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_support import SAMPLES, Call, call_tools, run_async

from tracekit.errors import UsageError
from tracekit.mcp.http import TokenGate
from tracekit.mcp.mcp_server import build_server
from tracekit.mcp.recordings import RecordingStore
from tracekit.mcp.replies import MOST_BYTES, cut_text

pytestmark = pytest.mark.slow


def run_calls(calls: Sequence[Call], *folders: Path, may_record: bool = False) -> list[tuple[bool, str]]:
    """Return whether each call failed, and the text of its reply."""
    replies = []
    for result in call_tools(calls, folders or [SAMPLES], may_record):
        assert result.structured_content is None
        replies.append((bool(result.is_error), "".join(part.text for part in result.content)))
    return replies


def opened(sample: str, *calls: Call) -> list[Call]:
    return [("open", {"path": sample}), *calls]


QUESTIONS: dict[str, tuple[list[Call], str]] = {
    "Which engine served the calls?": (
        opened("fallback-midway-ios27"),
        "SpeechEncoder left the Neural Engine after its 6th call",
    ),
    "How many calls ran on the CPU?": (opened("fallback-midway-ios27"), "12 calls: Neural Engine 6, CPU 6"),
    "Which call is slowest, and why?": (
        opened("waiting-app-ios27", ("ask", {"recording": "r1", "question": "slow-call"})),
        "Call 4 of Segmenter took 24.9 ms, the typical call 17.9 ms",
    ),
    "What does call 2 of Tagger wait for?": (
        opened("waiting-app-ios27", ("show", {"recording": "r1", "identifier": "call:Tagger/2"})),
        "idle 11.8 ms 11.8 ms",
    ),
    "Who else used the Neural Engine?": (
        opened("waiting-app-ios27", ("ask", {"recording": "r1", "question": "engine-users"})),
        "other processes 20.3 ms",
    ),
    "What did a call cost in energy?": (
        opened("waiting-app-ios27", ("ask", {"recording": "r1", "question": "energy"})),
        "nothing in it measures power",
    ),
    "Did requests fail?": (
        opened("failing-requests-macos27", ("ask", {"recording": "r1", "question": "refused"})),
        "3 requests to the Neural Engine failed",
    ),
    "Which rows does the Neural Engine's table begin with?": (
        opened("waiting-app-ios27", ("table", {"recording": "r1", "schema": "ane-hw-intervals", "limit": 2})),
        "rows 1 to 2 of 24. Next: cursor 2.",
    ),
    "Is every call on the Neural Engine, as CI requires?": (
        opened("fallback-midway-ios27", ("check", {"recording": "r1", "require": ["ANE share == 100%"]})),
        "FAILED",
    ),
    "What differs between two recordings?": (
        opened("fallback-midway-ios27", ("compare", {"base": "r1", "new": ["two-copies-ios27"]})),
        "no model in common",
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_takes_few_and_small_calls(question: str) -> None:
    calls, fact = QUESTIONS[question]
    replies = run_calls(calls)
    assert len(calls) <= 5
    assert sum(len(text.encode()) for _, text in replies) <= 20_000
    assert all(len(text.encode()) <= MOST_BYTES + 40 for _, text in replies)
    assert fact in " ".join(replies[-1][1].split())
    assert all(str(ROOT) not in text for _, text in replies)


def test_the_list_of_tools_is_small() -> None:
    async def list_tools() -> Any:
        async with Client(build_server(RecordingStore([SAMPLES]))) as client:
            return await client.list_tools()

    tools = run_async(list_tools())
    assert len(tools.tools) == 8
    assert all(len(tool.description) <= 200 for tool in tools.tools)
    assert len(tools.model_dump_json(by_alias=True, exclude_none=True)) <= 6_000


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("open", {"path": "../README.md"}, "is not in an allowed folder (sample_traces). Next: open with"),
        ("open", {"path": "/etc/passwd"}, "is not in an allowed folder"),
        ("open", {"path": ""}, "A path is the name of a recording"),
        ("open", {"path": "a\0b"}, "A path is the name of a recording"),
        ("open", {"path": "x" * 100_000}, "xxx…' is not in an allowed folder"),
        ("open", {"path": "\ud800"}, "'\\\\ud800' is not in an allowed folder"),
        ("open", {"path": 5}, "Input should be a valid string"),
        ("ask", {"recording": "r9", "question": "engines"}, "'r9' is not in an allowed folder"),
        (
            "ask",
            {"recording": "waiting-app-ios27", "question": "engines", "call": "Tagger/1"},
            "The question engines takes no call",
        ),
        ("ask", {"recording": "x", "question": "engines", "base": "x"}, "The question engines takes no base"),
        (
            "table",
            {"recording": "waiting-app-ios27", "schema": "ane-hw-intervals", "columns": "nope" * 2_000},
            "'ane-hw-intervals' has no column 'nope",
        ),
        ("check", {"recording": "waiting-app-ios27", "require": []}, "at least one requirement"),
        ("ask", {"recording": "waiting-app-ios27", "question": "'; DROP"}, "No recipe is named"),
        ("show", {"recording": "waiting-app-ios27", "identifier": "call:x/1"}, "No model 'x' has calls here"),
        (
            "table",
            {"recording": "waiting-app-ios27", "schema": "x", "cursor": -1},
            "cursor is 0 or what a reply",
        ),
        ("table", {"recording": "waiting-app-ios27", "schema": "x", "limit": 10**9}, "limit is 1 to 200"),
        ("check", {"recording": "waiting-app-ios27", "require": ["p90 <="]}, "p90 <="),
        ("fleet", {"dataset": "waiting-app-ios27"}, "sample_traces/waiting-app-ios27 is not a dataset"),
        (
            "record",
            {"app": "MyApp"},
            "Recording is off. Next: a person starts the server with --allow-record.",
        ),
    ],
)
def test_hostile_arguments_end_in_a_sentence(name: str, arguments: dict[str, Any], message: str) -> None:
    ((is_error, text),) = run_calls([(name, arguments)])
    assert is_error
    assert message in text
    assert str(ROOT) not in text


def test_an_option_in_the_place_of_an_app_is_refused() -> None:
    ((is_error, text),) = run_calls([("record", {"app": "--help"})], may_record=True)
    assert is_error
    assert "app is the name of an app" in text


def test_open_lists_the_questions_with_a_reply() -> None:
    (_, text), (_, without_calls) = run_calls(
        [("open", {"path": "fallback-midway-ios27"}), ("open", {"path": "kperf-samples-macos26"})]
    )
    names = text.split("answers: ")[1].split(".\n")[0].split(", ")
    assert names[:2] == ["engines", "slow-call"]
    assert names[-1] == "slower (with base)"
    assert "energy" not in names
    assert "answers: nothing." in without_calls


def test_a_table_without_rows_has_a_reason() -> None:
    replies = run_calls(
        opened(
            "waiting-app-ios27",
            ("table", {"recording": "r1", "schema": "os-signpost"}),
            ("table", {"recording": "r1", "schema": "nope"}),
            ("table", {"recording": "r1", "schema": "ane-hw-intervals", "cursor": 2**62}),
        )
    )
    assert [text for _, text in replies[1:]] == [
        "os-signpost: 0 rows, because it was recorded, and its rows are not in this input.\n",
        replies[2][1],
        "ane-hw-intervals: 24 rows; none from 4,611,686,018,427,387,904 on. Next: cursor 0.\n",
    ]
    assert replies[2][1].startswith("nope: 0 rows, because this recording has no such table; it has ane-hw")


def test_prompts_of_language_models_never_leave() -> None:
    replies = run_calls(
        opened("foundation-models-macos27", ("table", {"recording": "r1", "schema": "ModelInferenceTable"}))
    )
    assert "Private columns are hidden: " in replies[1][1]


def test_pages_of_a_table_follow_one_another() -> None:
    calls = [
        ("table", {"recording": "waiting-app-ios27", "schema": "time-profile", "cursor": cursor, "limit": 3})
        for cursor in (0, 3)
    ]
    first, second = (text.splitlines()[2:] for _, text in run_calls(calls))
    both = run_calls([("table", {**calls[0][1], "limit": 6})])[0][1].splitlines()[2:]
    assert len(both) > 3
    assert [*first, *second][: len(both)] == both


def test_a_recording_that_changes_is_read_again(tmp_path: Path) -> None:
    recording = tmp_path / "App"
    shutil.copytree(SAMPLES / "fallback-midway-ios27", recording)
    store = RecordingStore([tmp_path])
    before = store.open("App")
    assert not store.open("r1").has_changed
    table = recording / "ane-hw-intervals.xml"
    table.unlink()
    after = store.open("r1")
    assert after.has_changed
    assert after.id == before.id
    assert len(after.analysis.trace.intervals) < len(before.analysis.trace.intervals)


def test_a_recording_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    recording = tmp_path / "App"
    shutil.copytree(SAMPLES / "fallback-midway-ios27", recording)

    async def run() -> tuple[str, str]:
        async with Client(build_server(RecordingStore([tmp_path]))) as client:
            await client.call_tool("open", {"path": "App"})
            shutil.rmtree(recording)
            result = await client.call_tool("ask", {"recording": "r1", "question": "engines"})
            with pytest.raises(MCPError) as error:
                await client.read_resource("tracekit://recording/r1/brief")
            return str(result.content[0].text), str(error.value)

    for text in run_async(run()):
        assert "App cannot be read any more: No such file or directory. Next: open another" in text
        assert str(tmp_path) not in text


def test_a_recording_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    recording = tmp_path / "App"
    shutil.copytree(SAMPLES / "fallback-midway-ios27", recording)
    store = RecordingStore([tmp_path])
    store.open("App")
    shutil.rmtree(recording)
    os.symlink(SAMPLES / "waiting-app-ios27", recording)
    with pytest.raises(UsageError, match="App has become a link"):
        store.open("r1")


def test_an_unknown_resource_has_the_reason() -> None:
    async def read(address: str) -> str:
        async with Client(build_server(RecordingStore([SAMPLES]))) as client:
            with pytest.raises(MCPError) as error:
                await client.read_resource(address)
            return str(error.value)

    assert "'r9' is not in an allowed folder" in run_async(read("tracekit://recording/r9/brief"))
    assert "has the name 'nope'" in run_async(read("tracekit://docs/nope"))


def test_a_link_out_of_an_allowed_folder_is_not_followed(tmp_path: Path) -> None:
    os.symlink(SAMPLES / "fallback-midway-ios27", tmp_path / "link")
    ((is_error, text),) = run_calls([("open", {"path": "link"})], tmp_path)
    assert is_error
    assert "not in an allowed folder" in text


def test_two_clients_share_a_server() -> None:
    async def run() -> list[str]:
        server = build_server(RecordingStore([SAMPLES]))

        async def ask(name: str) -> str:
            async with Client(server) as client:
                result = await client.call_tool("open", {"path": name})
                return str(result.content[0].text)

        return list(await asyncio.gather(ask("fallback-midway-ios27"), ask("waiting-app-ios27")))

    first, second = run_async(run())
    assert "SpeechEncoder left" in first
    assert "Segmenter, Tagger" in second


def test_resources_are_text_and_pages() -> None:
    async def read(*addresses: str) -> list[str]:
        server = build_server(RecordingStore([SAMPLES]))
        async with Client(server) as client:
            await client.call_tool("open", {"path": "fallback-midway-ios27"})
            return [(await client.read_resource(address)).contents[0].text for address in addresses]

    names, brief, report, docs = run_async(
        read(
            "tracekit://recordings",
            "tracekit://recording/r1/brief",
            "tracekit://recording/r1/report",
            "tracekit://docs/fell-back",
        )
    )
    assert names == "r1: fallback-midway-ios27\n"
    assert brief.startswith("SpeechEncoder left")
    assert report.startswith("<!doctype html>")
    assert "fell-back" in docs


@pytest.mark.parametrize(
    ("headers", "status"),
    [([], 401), ([(b"authorization", b"Bearer wrong")], 401), ([(b"authorization", b"Bearer right")], 200)],
)
def test_http_needs_the_token(headers: list[tuple[bytes, bytes]], status: int) -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.request"}

    gate = TokenGate(app, "right")
    run_async(gate({"type": "http", "headers": headers}, receive, send))
    assert statuses == [status]


@pytest.mark.parametrize("text", ["", "line\n", "ä" * 5_000, "x" * 5_000, "x\n" * 5_000])
def test_a_cut_text_keeps_the_budget_and_states_the_cut(text: str) -> None:
    cut = cut_text(text)
    assert len(cut.encode()) <= MOST_BYTES
    assert cut == text or cut.endswith("… cut: ask about a part of it (show, table, ask).\n")
    assert not text or cut.startswith(text[:1])
