"""A reply inside the chat: markup where the client shows MCP Apps, text otherwise, and the page in a browser."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from every_input import SAMPLE_TEXT
from evidence_support import prediction, with_evidence
from trace_support import ANE, trace_of

pytest.importorskip("mcp")
from mcp import Client
from mcp.types import CallToolResult
from mcp_support import APPS, SAMPLES, call_tools, run_async

from tracekit import analyze
from tracekit.mcp.mcp_server import build_server
from tracekit.mcp.recordings import RecordingStore
from tracekit.mcp.replies import ToolReply
from tracekit.mcp.reply_page import MARKUP_KEY, PAGE_URI, build_page, print_reply
from tracekit.report.document.blocks import Headline, Section

OPEN = ("open", {"path": "waiting-app-ios27"})
CALLS = {
    "open": (OPEN, "work between calls"),
    "ask": (("ask", {"recording": "waiting-app-ios27", "question": "slow-call"}), "Call 4 of Segmenter"),
    "show": (("show", {"recording": "waiting-app-ios27", "identifier": "call:Tagger/2"}), "idle"),
    "check": (("check", {"recording": "waiting-app-ios27", "require": ["p90 <= 8ms"]}), "FAILED"),
    "compare": (("compare", {"base": "waiting-app-ios27", "new": ["waiting-app-ios27"]}), "same recording"),
}


def markup_of(result: CallToolResult) -> str | None:
    return (result.meta or {}).get(MARKUP_KEY)


@pytest.mark.integration
@pytest.mark.parametrize("tool", CALLS)
def test_a_client_with_apps_has_the_page_beside_the_same_text(tool: str) -> None:
    call, words = CALLS[tool]
    (with_page,), (without,) = call_tools([call], apps=APPS), call_tools([call])
    assert with_page.content == without.content
    assert markup_of(without) is None
    markup = str(markup_of(with_page))
    assert words in markup
    assert markup.count("<svg") >= 1 + (tool == "compare")
    assert "</h2></section>" not in markup
    assert len(markup.encode()) < 60_000


@pytest.mark.parametrize("settings", [{}, {"mimeTypes": []}, {"mimeTypes": ["text/html"]}])
def test_a_client_that_does_not_show_this_kind_of_page_has_text(settings: dict[str, Any]) -> None:
    assert markup_of(call_tools([OPEN], apps=settings)[0]) is None


def test_rows_and_errors_are_text_alone() -> None:
    rows, error = call_tools(
        [
            ("table", {"recording": "waiting-app-ios27", "schema": "ane-hw-intervals", "limit": 2}),
            ("ask", {"recording": "waiting-app-ios27", "question": "energy"}),
        ],
        apps=APPS,
    )
    assert (markup_of(rows), markup_of(error), error.is_error) == (None, None, True)


def test_tools_name_the_page_and_the_page_is_one_of_mcp_apps() -> None:
    async def run() -> tuple[Any, Any]:
        async with Client(build_server(RecordingStore([SAMPLES]))) as client:
            return await client.list_tools(), await client.read_resource(PAGE_URI)

    tools, resource = run_async(run())
    linked = [
        tool.name for tool in tools.tools if tool.meta == {"ui": {"resourceUri": "ui://tracekit/reply"}}
    ]
    assert linked == ["open", "ask", "show", "compare", "check"]
    (content,) = resource.contents
    assert content.mime_type == "text/html;profile=mcp-app"
    assert content.text == build_page()


def test_the_page_has_a_policy_and_loads_nothing() -> None:
    page = html.unescape(build_page())
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "unsafe-inline" not in page
    assert not any(word in page for word in ("http://", "https://", "src=", "@import", "url("))
    assert len(page) < 50_000


HOSTILE = '</script><script>document.title="ran"</script><img src=x onerror="document.title=1">'


def test_names_of_a_recording_are_text_in_the_markup() -> None:
    trace = with_evidence(trace_of([(0, "main", ANE)]), [prediction(0, 5, model=HOSTILE)])
    analysis = analyze(trace)
    lead = Section("answer", HOSTILE, (Headline(HOSTILE),), is_lead=True)
    markup = str(print_reply(ToolReply("", (lead,), (analysis,))))
    assert "&lt;script&gt;" in markup
    assert "<script" not in markup
    assert "<img" not in markup


def test_a_recording_that_has_changed_is_named_first() -> None:
    reply = ToolReply("", (Section("answer", "Question", (Headline("Reply."),)),), notice="It has changed.")
    assert str(print_reply(reply)).startswith('<p class="note">It has changed.</p>')


def test_counted_stacks_have_no_strip(tmp_path: Path) -> None:
    (tmp_path / "App.sample.txt").write_text(SAMPLE_TEXT)
    (result,) = call_tools([("open", {"path": "App.sample.txt"})], [tmp_path], apps=APPS)
    assert not result.is_error, result.content
    assert "Calls over time" not in str(markup_of(result))


# In a browser, as a host shows it ---------------------------------------------------------------------------

HOST = """<!doctype html><body><script>
    window.messages = [];
    const frame = () => document.querySelector("iframe").contentWindow;
    window.send = (message) => frame().postMessage({ jsonrpc: "2.0", ...message }, "*");
    addEventListener("message", ({ data }) => {
        messages.push(data);
        if (data.method === "ui/initialize") send({ id: data.id, result: { hostContext: { theme: "dark" } } });
        if (data.method === "ui/notifications/initialized") {
            send({ method: "ui/notifications/tool-input", params: { arguments: {} } });
            send({ method: "ui/notifications/tool-result", params: RESULT });
        }
    });
</script><iframe sandbox="allow-scripts" style="width: 700px; height: 600px" srcdoc="PAGE"></iframe>"""
HOST_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
"""The default policy of hosts, by the specification of MCP Apps."""


@pytest.fixture
def hosts(browser: Any) -> Iterator[Any]:
    """Opens the page in a sandboxed frame of a host, which sends a result; nothing may be loaded or logged."""
    problems: list[str] = []
    contexts: list[Any] = []

    def open_host(result: dict[str, Any]) -> tuple[Any, Any]:
        meta = f'<meta http-equiv="Content-Security-Policy" content="{HOST_POLICY}">'
        page = html.escape(build_page().replace("<head>", f"<head>{meta}", 1))
        text = HOST.replace("RESULT", json.dumps(result).replace("</", "<\\/")).replace("PAGE", page)
        contexts.append(browser.new_context(viewport={"width": 800, "height": 700}))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: problems.append(request.url))
        tab.set_content(text)
        return tab, tab.frame_locator("iframe")

    open_host.problems = problems  # type: ignore[attr-defined]
    yield open_host
    for context in contexts:
        context.close()


def test_a_host_shows_the_answer_in_its_theme(hosts: Any) -> None:
    (result,) = call_tools([CALLS["ask"][0]], apps=APPS)
    tab, frame = hosts(result.model_dump(by_alias=True, exclude_none=True, mode="json"))
    frame.locator("#answer").wait_for()
    assert "Call 4 of Segmenter took 24.9 ms" in frame.locator("#answer").inner_text()
    assert frame.locator("#timeline svg text", has_text="Segmenter").count() == 1
    assert frame.locator("html").get_attribute("data-theme") == "dark"
    surface = frame.locator("#timeline svg path").first
    assert surface.evaluate("path => getComputedStyle(path).fill") == "rgb(22, 26, 33)"
    tab.evaluate('send({ method: "ui/notifications/host-context-changed", params: { theme: "light" } })')
    frame.locator("html[data-theme=light]").wait_for()
    assert surface.evaluate("path => getComputedStyle(path).fill") == "rgb(255, 255, 255)"
    assert hosts.problems == []


def test_the_page_reports_its_size_and_ends_politely(hosts: Any) -> None:
    (result,) = call_tools([CALLS["ask"][0]], apps=APPS)
    tab, frame = hosts(result.model_dump(by_alias=True, exclude_none=True, mode="json"))
    frame.locator("#answer").wait_for()
    tab.wait_for_function("messages.some(({ params }) => params?.height > 500)")
    tab.evaluate('send({ id: 7, method: "ui/resource-teardown", params: { reason: "closed" } })')
    tab.wait_for_function("messages.some(({ id, result }) => id === 7 && result)")
    first = tab.evaluate("messages[0]")
    assert (first["method"], first["params"]["protocolVersion"]) == ("ui/initialize", "2026-01-26")


def test_a_result_without_markup_is_its_text(hosts: Any) -> None:
    _, frame = hosts({"content": [{"type": "text", "text": f"Error: {HOSTILE}"}], "isError": True})
    frame.locator("main", has_text="Error").wait_for()
    assert frame.locator("main").inner_text() == f"Error: {HOSTILE}"
    assert hosts.problems == []


def test_not_even_markup_runs_a_script(hosts: Any) -> None:
    """The printers escape names; the page's policy holds besides, were one of them to fail."""
    tab, frame = hosts({"content": [], "_meta": {MARKUP_KEY: f'<p id="end">End</p>{HOSTILE}'}})
    frame.locator("#end").wait_for()
    tab.wait_for_timeout(100)
    assert frame.locator("html").evaluate("() => document.title") == "tracekit"
