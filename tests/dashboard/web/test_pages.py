"""Pages: literal recordings in, layouts out."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from dash import html
from fake_library import READY, recording
from sample_recordings import sample_analysis

from tracekit_dashboard.library import reading_results
from tracekit_dashboard.pages import editor, library, trace
from tracekit_dashboard.pages.library_row import build_row


def plain(layout: Any) -> Any:
    """A layout as what goes to the browser."""
    from plotly.utils import PlotlyJSONEncoder

    return json.loads(json.dumps(layout, cls=PlotlyJSONEncoder))


def text_of(layout: Any) -> str:
    """Return the text of a layout as a reader sees it."""
    if layout is None:
        return ""
    if isinstance(layout, (list, tuple)):
        return "".join(map(text_of, layout))
    if isinstance(layout, (str, int, float)):
        return str(layout)
    return text_of(getattr(layout, "children", None))


def buttons(layout: Any) -> list[str]:
    """Return the actions of all buttons."""
    texts: list[str] = []
    stack = [layout]
    while stack:
        component = stack.pop()
        if isinstance(component, (list, tuple)):
            stack += reversed(component)
        elif isinstance(component, html.Button) and isinstance(component.id, dict) and "act" in component.id:
            assert component.id["recording"]
            texts.append(component.id["act"])
        elif hasattr(component, "children"):
            stack.append(component.children)
    return texts


# The page of a recording ----------------------------------------------------------------------------------


def test_the_page_of_a_ready_recording() -> None:
    page = trace.build_ready_page(
        recording(tags=("slow", "v4"), note="Since 4.2", message="The file has changed.")
    )
    assert page.id == "trace"
    assert plain(page)["props"]["data-recording"] == READY
    text = text_of(page)
    assert "Camera.trace" in text
    assert "iPhone17,1 · iOS 27.0 · 2.50 s · 200 samples · 10 calls slow v4" in text
    assert "Since 4.2" in text and "The file has changed." in text
    ids = [part.id for part in page.children if hasattr(part, "id")]
    assert ids == ["headline", "bench", "status"]


@pytest.mark.parametrize(
    ("changed", "message", "acts"),
    [
        ({"state": "waiting"}, "Waiting for its turn", ["cancel"]),
        (
            {"state": "reading", "stage": "analysing", "progress": 0.25},
            "Reading the recording: analysing, 25 %",
            ["cancel"],
        ),
    ],
)
def test_while_it_is_read_the_page_shows_the_progress(
    changed: dict[str, Any], message: str, acts: list[str]
) -> None:
    page = trace.build_busy_page(recording(**changed))
    assert message in text_of(page)
    assert buttons(page) == acts
    assert '"trace-poll"' in json.dumps(plain(page))


def test_failed_and_cancelled() -> None:
    failed = trace.build_failed_page(recording(state="failed", message="x.xml: the file ends early.\u202e"))
    assert "x.xml: the file ends early.\\u202e" in text_of(failed)
    assert buttons(failed) == ["retry"]
    assert "was cancelled" in text_of(trace.build_failed_page(recording(state="cancelled")))
    assert buttons(trace.build_deleted_page(recording())) == ["restore"]


def test_a_recording_that_lacks_files_leads_to_where_they_are_added() -> None:
    failed = json.dumps(
        plain(trace.build_failed_page(recording(state="failed", message="Add the files of one.")))
    )
    assert '"href": "/#upload"' in failed and "Add other files" in failed
    assert "/#upload" not in json.dumps(plain(trace.build_failed_page(recording(state="cancelled"))))


@pytest.mark.parametrize(
    "page", [trace.build_busy_page, trace.build_failed_page, trace.build_deleted_page, trace.build_ready_page]
)
def test_no_page_shows_the_path(page: Any) -> None:
    assert "/home/somebody" not in json.dumps(plain(page(recording(state="reading"))))


# Counters -------------------------------------------------------------------------------------------------


def test_the_stored_counters_are_those_of_the_analysis_summed_over_engines() -> None:
    analysis = sample_analysis("counters-bnns-macos15")
    stored = json.loads(b"".join(reading_results._build_counters(analysis)))
    expected = json.loads(analysis.to_json())["windows"]
    assert any(len(window["counters"]) > 1 for window in expected)
    assert len(stored["names"]) == len(stored["values"]) > 1
    assert stored["names"] == sorted(stored["names"])
    for number, window in enumerate(expected):
        sums: Counter[str] = Counter()
        for counted in window["counters"].values():
            sums.update(counted["events"])
        values = {name: row[number] for name, row in zip(stored["names"], stored["values"], strict=True)}
        assert {name: value for name, value in values.items() if value is not None} == sums


def test_a_recording_without_counters_has_none() -> None:
    analysis = sample_analysis("fallback-midway-ios27")
    assert json.loads(b"".join(reading_results._build_counters(analysis))) == {"names": [], "values": []}


# The library ----------------------------------------------------------------------------------------------


def test_the_table() -> None:
    table = [
        build_row(each, deleted=False, is_recorded=False)
        for each in (
            recording(tags=("slow",), note="see 12"),
            recording("b" * 32, state="reading", stage="opening", progress=None, verdict=""),
            recording("c" * 32, state="failed", message="Nothing that tracekit reads.", origin="upload"),
            recording("d" * 32, state="cancelled"),
        )
    ]
    text = text_of(table)
    for state in (
        "12.3 MB, on this machine",
        "12.3 MB, uploaded",
        "slow",
        "see 12",
        "All 10 inferences ran on the ANE.",
        "opening",
        "Nothing that tracekit reads.",
        "cancelled",
    ):
        assert state in text
    assert buttons(table) == [
        "edit",
        "drop",
        "delete",
        "cancel",
        "retry",
        "edit",
        "delete",
        "retry",
        "edit",
        "delete",
    ]
    assert "/home/somebody" not in json.dumps(plain(table))


def test_names_that_turn_the_line_around_are_spelt_out() -> None:
    row = build_row(recording(name="\u202etxt.exe", tags=("\u2066x",)), deleted=False, is_recorded=False)
    assert "\\u202etxt.exe" in text_of(row) and "\\u2066x" in text_of(row)


def test_the_deleted_can_be_had_back_and_not_opened() -> None:
    row = build_row(recording(deleted=datetime(2026, 1, 1, tzinfo=UTC)), deleted=True, is_recorded=False)
    assert buttons(row) == ["restore", "purge"]
    assert "href" not in json.dumps(plain(row))


@pytest.mark.parametrize(
    ("filtered", "deleted", "message"),
    [
        (False, False, "No recording yet."),
        (True, False, "No recording matches"),
        (False, True, "Nothing was deleted."),
        (True, True, "No recording matches"),
    ],
)
def test_without_a_recording_the_page_gives_the_reason(filtered: bool, deleted: bool, message: str) -> None:
    assert text_of(library.explain_empty_list(filtered, deleted)).startswith(message)


def test_the_first_offer_is_to_read_a_file_where_it_lies() -> None:
    text = text_of(library.build_library_page())
    assert text.index("tracekit dashboard MyApp.trace") < text.index("drop one here")


@pytest.mark.parametrize(
    ("line", "tags"),
    [("a, b", ("a", "b")), (" a ,, a ", ("a",)), ("", ()), ("two words", ("two words",))],
)
def test_tags_of_a_line(line: str, tags: tuple[str, ...]) -> None:
    assert editor.split_tags(line) == tags


@pytest.mark.parametrize(
    ("name", "tags", "message"),
    [
        ("Speech", ("ios", "slow"), ""),
        (" \t", (), "A recording needs a name."),
        ("Speech", ("ios", "iOS"), "“ios” and “iOS” are the same tag: keep one of them."),
        ("Speech", ("x" * 61,), "A tag has at most 60 characters; “xxxxxxxxxxxxxxxxxxxx…” has 61."),
        ("Speech", tuple(map(str, range(31))), "A recording has at most 30 tags; these are 31."),
    ],
)
def test_what_cannot_be_kept_as_it_was_typed_is_reported(
    name: str, tags: tuple[str, ...], message: str
) -> None:
    assert editor.find_problem(recording(), name, tags) == message


def test_a_recording_that_was_deleted_meanwhile_is_not_edited() -> None:
    gone = recording(deleted=datetime(2026, 1, 1, tzinfo=UTC))
    assert editor.find_problem(gone, "Speech", ()).startswith("This recording was deleted")


@pytest.mark.parametrize(
    ("query", "query_"),
    [
        ("", library.LibraryQuery()),
        ("?q=a+b%26&tag=slow", library.LibraryQuery("a b&", "slow")),
        ("?deleted=1&chosen=ab.cd", library.LibraryQuery("", "", True, ("ab", "cd"))),
        ("?page=3", library.LibraryQuery(page=3)),
        ("?page=0", library.LibraryQuery()),
        ("?page=-1", library.LibraryQuery()),
        ("?page=²", library.LibraryQuery()),
        (f"?page={'9' * 5000}", library.LibraryQuery()),
        ("?nonsense", library.LibraryQuery()),
    ],
)
def test_the_address_holds_the_state_of_the_page(query: str, query_: library.LibraryQuery) -> None:
    assert library.parse_query(query) == query_


def test_before_a_recording_is_gone_for_good_the_page_lists_what_goes() -> None:
    deleted = datetime(2026, 1, 1, tzinfo=UTC)
    table = [
        build_row(recording("a" * 32, name="file", deleted=deleted), True, False),
        build_row(recording("b" * 32, name="sent", deleted=deleted, origin="upload"), True, False),
        build_row(recording("c" * 32, name="made", deleted=deleted), True, is_recorded=True),
    ]
    losses = re.findall(
        r"The analysis of .file. is|The upload .sent. and|no other copy",
        json.dumps(plain(table), ensure_ascii=False),
    )
    assert [loss.replace("“", "").replace("”", "") for loss in losses] == [
        "The analysis of file is",
        "The upload sent and",
        "no other copy",
    ]
    assert "recorded here" in text_of(table)
