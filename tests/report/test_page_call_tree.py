"""The call tree, the callers and callees of a function, and transforms, in a browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import view_fixture
from browser_support import barriers
from page_support import Opened, chosen, drag, flame_note, point_at, settled
from sample_recordings import sample_analysis
from trace_support import MS
from view_fixture import Payload, small_view
from view_support import analyze, trace_of

from tracekit.report.html import page
from tracekit.report.viewmodel.view import view_block


def rows(tab: Any, label: str = "Call tree") -> list[str]:
    """Return the visible rows of a tree, as ``total self function``, by their position; deeper ones are indented."""
    grid = settled(tab).locator(f'.tree-grid[aria-label="{label}"]')
    cells = grid.locator(".tree-body .tree-row:not([hidden])").evaluate_all(
        """all => all.map((row) => [Number(row.getAttribute("aria-rowindex")), Number(row.getAttribute("aria-level")),
          row.children[0].textContent, row.children[1].textContent, row.querySelector(".name").textContent])"""
    )
    return [
        f"{'  ' * (level - 1)}{name} {total}{f' self {itself}' if itself else ''}"
        for _, level, total, itself, name in sorted(cells)
    ]


def roots(tab: Any) -> list[str]:
    return [row for row in rows(tab) if not row.startswith(" ")]


def current(tab: Any) -> str:
    return settled(tab).locator(".tree-row.current .name").first.inner_text()


def chips(tab: Any) -> list[str]:
    return settled(tab).locator("#calltree .chip > span").all_inner_texts()


OPEN = [
    "main 100 ms",
    "  predict 80.0 ms",
    "    ANEProgramProcessRequest 40.0 ms self 40.0 ms",
    "    run 40.0 ms",
    "  render 20.0 ms self 20.0 ms",
    "worker_loop 100 ms self 100 ms",
]
"""The tree of the small view, as it is at first: the heaviest path is open."""


def test_the_tree_opens_and_closes_by_key_and_shows_self_and_total(opened: Opened) -> None:
    tab = opened()
    assert rows(tab) == OPEN
    grid = tab.get_by_role("treegrid", name="Call tree")
    assert grid.get_attribute("aria-rowcount") == "7"
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        tab.keyboard.press(key)
    assert current(tab) == "run"
    tab.keyboard.press("Enter")
    assert rows(tab)[4] == "      BNNSFilterApply 40.0 ms self 40.0 ms"
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    assert current(tab) == "predict"
    tab.keyboard.press("ArrowLeft")
    assert len(rows(tab)) == 4
    tab.keyboard.press("Home")
    tab.keyboard.press("*")
    assert len(rows(tab)) == 7
    assert tab.locator(".tree-row.current").get_attribute("aria-expanded") == "true"
    assert tab.locator(".tree-row.current").get_attribute("id") == grid.get_attribute("aria-activedescendant")
    tab.get_by_role("button", name="Percent").click()
    assert rows(tab)[1] == "  predict 40 %"
    tab.locator("#calltree").get_by_role("button", name="Invert").click()
    inverted = rows(tab, "Inverted call tree: functions with their callers")
    assert [row for row in inverted if not row.startswith(" ")] == [
        "worker_loop 50 % self 50 %",
        "ANEProgramProcessRequest 20 % self 20 %",
        "BNNSFilterApply 20 % self 20 %",
        "render 10 % self 10 %",
    ]
    assert "unit=percent" in chosen(tab)


def test_the_tree_follows_the_selection_and_keeps_what_is_open(opened: Opened) -> None:
    tab = opened()
    tab.locator(".tree-row", has_text="run").first.dblclick()
    drag(tab, point_at(tab, 50, "com.apple.main-thread"), point_at(tab, 100, "com.apple.main-thread"))
    assert "BNNSFilterApply" in str(rows(tab))
    assert "ANEProgramProcessRequest" not in str(rows(tab))


def test_transforms_are_a_chain_of_chips_that_stands_in_the_address(opened: Opened) -> None:
    tab = opened()
    tab.get_by_role("treegrid", name="Call tree").focus()
    tab.keyboard.press("ArrowDown")  # predict
    tab.keyboard.press("m")
    assert chips(tab) == ["Charged to callers: predict"]
    assert rows(tab)[:2] == ["main 100 ms", "  ANEProgramProcessRequest 40.0 ms self 40.0 ms"]
    tab.keyboard.press("d")
    assert chips(tab)[1:] == ["Without samples in: ANEProgramProcessRequest"]
    assert tab.locator("#calltree .chips .note").inner_text() == "160 of 200 samples"
    assert flame_note(tab).startswith("160 ms in all.")
    assert "ANEProgramProcessRequest" not in str(rows(tab))
    again = opened(fragment=chosen(tab))
    assert chips(again) == chips(tab)
    assert roots(again) == roots(tab) == ["worker_loop 100 ms self 100 ms", "main 60.0 ms"]
    again.get_by_role("button", name="Remove: Charged to callers: predict").first.click()
    again.locator(".tree-row", has_text="main").dblclick()
    assert rows(again)[1:3] == ["main 60.0 ms", "  predict 40.0 ms"]
    again.locator("#calltree").get_by_role("button", name="Hide system libraries").click()
    assert rows(again)[0] == "worker_loop 100 ms self 100 ms"
    assert rows(again)[1].startswith("main 60.0 ms self 40.0 ms")
    again.locator("#calltree").get_by_role("button", name="Remove all").click()
    assert rows(again)[0] == "main 100 ms"
    unknown = opened(fragment="#stacks=drop:1")
    assert chips(unknown) == ["Without samples in: not in this recording, so without effect"]
    assert rows(unknown) == OPEN
    assert rows(opened(fragment="#stacks=what:1")) == OPEN


def test_callers_and_callees_of_a_function_from_the_table_and_back(opened: Opened) -> None:
    tab = opened()
    tab.get_by_text("Functions as a table").click()
    tab.get_by_role("button", name="predict: callers and callees").click()
    assert tab.locator(".sandwich-head strong").inner_text() == "predict"
    assert "self 0 (0 %) · total 80.0 ms (40 %)" in tab.locator(".sandwich > .note").inner_text()
    assert rows(tab, "Callers") == ["predict 80.0 ms", "  main 80.0 ms"]
    assert rows(tab, "Callees")[0] == "predict 80.0 ms"
    assert len(rows(tab, "Callees")) == 3
    assert chosen(opened(fragment=chosen(tab))) == chosen(tab)
    tab.locator('.tree-grid[aria-label="Callees"]').press("Escape")
    assert rows(tab) == OPEN
    assert tab.locator(".sandwich").is_hidden()


def test_names_and_stacks_are_copied_from_the_canvas_by_menu_and_key(opened: Opened) -> None:
    tab = opened()
    tab.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.scroll_into_view_if_needed()
    canvas.click(button="right", position={"x": 100, "y": 28})
    menu = tab.get_by_role("menu")
    assert menu.locator(".menu-title").inner_text() == "predict"
    menu.get_by_role("menuitem", name="Copy the name").click()
    assert tab.evaluate("copied") == "predict"
    assert menu.is_hidden()
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "C"):
        tab.keyboard.press(key)
    assert tab.evaluate("copied") == "predict\tCoreML\nmain\tCamera\n"
    tab.locator(".tree-row", has_text="render").click(button="right")
    tab.keyboard.press("Escape")
    assert menu.is_hidden()
    tab.keyboard.press("c")
    assert tab.evaluate("copied") == "render"


def test_the_search_marks_functions_and_enter_opens_the_next(opened: Opened) -> None:
    tab = opened()
    box = tab.get_by_label("Find functions")
    box.fill("bnns")
    box.press("Enter")
    assert current(tab) == "BNNSFilterApply"
    assert settled(tab).locator(".tree-row.match .name").all_inner_texts() == ["BNNSFilterApply"]
    assert "Highlighted: 20 %." in flame_note(tab)
    tab.get_by_text("Functions as a table").click()
    assert tab.locator("#flame tr.inside td").first.inner_text() == "BNNSFilterApply"


def blank_columns(tab: Any) -> int:
    """Return how many columns of the flame graph's first row show the page's surface, beside the lines between boxes."""
    return settled(tab).evaluate(
        """() => {
          const canvas = document.querySelector("#flame .flame-scroll canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 4, canvas.width, 1);
          const blank = (x) => data[4 * x] === 255 && data[4 * x + 1] === 255 && data[4 * x + 2] === 255;
          let count = 0;
          for (let x = 1; x < canvas.width - 1; x += 1) count += blank(x) && blank(x - 1) ? 1 : 0;
          return count;
        }"""
    )


def test_what_is_too_narrow_has_a_box_of_its_own_upside_down_as_well(opened: Opened) -> None:
    """1,200 functions that ran for a sample each, beside one that is as heavy as all of them."""
    light = [(f"App | leaf {index}", "App | main") for index in range(1_200)]
    samples = [(index / 10, "main", stack, MS) for index, stack in enumerate(light)]
    samples.append((200, "main", ("App | heavy", "App | main"), 1_200 * MS))
    tab = opened(view_block(analyze(trace_of(samples))), color_scheme="light")
    tab.locator("#flame").get_by_role("button", name="Invert").click()
    assert blank_columns(tab) == 0
    canvas = tab.locator("#flame .flame-scroll canvas")
    canvas.focus()
    for key in ("ArrowDown", "ArrowRight"):
        tab.keyboard.press(key)
    assert flame_note(tab) == "rest, 50 % · 1,200 functions too narrow to be drawn · 1.20 s"


def test_with_system_libraries_hidden_no_work_is_blank(opened: Opened) -> None:
    """In this recording, workers have frames of the system only."""
    tab = opened(
        text=page.to_html(sample_analysis("fallback-midway-ios27")), fragment="#hide=1", color_scheme="light"
    )
    tab.wait_for_selector("html[data-ready]")
    assert blank_columns(tab) == 0
    assert rows(tab)[0].startswith("(only hidden frames)")
    tab.get_by_role("treegrid").first.focus()
    tab.keyboard.press("*")
    assert any(row.startswith("  (libBNNS.dylib)") for row in rows(tab))


def test_the_heaviest_stacks_are_of_the_whole_run_or_of_the_selection_and_name_their_functions(
    opened: Opened,
) -> None:
    tab = opened()
    assert "of the whole run" in tab.locator("#stacks .note").first.inner_text()
    heads = tab.locator("#stacks summary").all_inner_texts()
    assert [head.split(" ")[0] for head in heads] == [
        "worker_loop",
        "ANEProgramProcessRequest",
        "BNNSFilterApply",
        "render",
    ]
    assert "rule bnns-kernel" in heads[2]
    drag(tab, point_at(tab, 50, "worker"), point_at(tab, 100, "worker"))
    assert "of the selection" in settled(tab).locator("#stacks .note").first.inner_text()


def test_100_000_nodes_a_deep_stack_and_endless_names_leave_the_page_at_work(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node 0 calls 90,000 functions, the first of them 10,000 deep; a name has 100,000 characters."""

    def nodes(payload: Payload, called: dict[str, str]) -> dict[str, Any]:
        parent = np.concatenate([[-1, 0, 0, 2, 2, 4, -1], np.zeros(90_000), np.arange(6, 10_006)])
        parent[90_007] = 1
        parent[90_008:] = np.arange(90_007, 100_006)
        names = [payload.text(f"function {index}") for index in range(6)] + [payload.text("x" * 100_000)]
        return {
            "count": len(parent),
            "parent": payload.array(parent, "i4"),
            "name": payload.array(np.resize(names, len(parent)), "u4"),
            "binary": payload.array(np.zeros(len(parent)), "u4"),
            "flags": payload.array(np.zeros(len(parent)), "u1"),
        }

    monkeypatch.setattr(view_fixture, "_small_nodes", nodes)
    whole = small_view()
    tab = opened(whole)
    grid = tab.get_by_role("treegrid", name="Call tree")
    grid.focus()
    tab.keyboard.press("*")
    assert tab.locator("#calltree .tree-row").count() < 120
    tab.keyboard.press("End")
    assert len(current(tab)) == 301
    tab.keyboard.press("r")
    tab.keyboard.press("C")
    assert chips(tab)[0].startswith("Recursion collapsed: xxx")
    assert len(chosen(tab)) < 100


def test_chips_menu_and_sandwich_are_accessible(opened: Opened, axe: str) -> None:
    tab = opened(fragment="#stacks=flat~system")
    assert barriers(tab, axe) == []
    tab.get_by_text("Functions as a table").click()
    tab.get_by_role("button", name="main: callers and callees").click()
    tab.locator(".sandwich .tree-row", has_text="main").first.click(button="right")
    assert barriers(tab, axe) == []


def test_the_help_sheet_names_the_keys(opened: Opened) -> None:
    tab = opened()
    tab.keyboard.press("?")
    text = tab.get_by_role("dialog").inner_text()
    assert "Callers and callees of the function" in text
    assert "Drop samples with the function" in text
