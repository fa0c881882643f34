"""Cells of any schema: by position, by reference, exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import column, document, node, one_table, read_table, schema, source_of, write

from tracekit.errors import InputError

pytestmark = pytest.mark.usefixtures("each_reader")


def test_cells_map_by_position_not_by_tag(tmp_path: Path) -> None:
    text = one_table(
        "intervals",
        [("start", "start-time"), ("end", "start-time"), ("count", "uint64")],
        '<start-time id="1" fmt="a">10</start-time><start-time id="2" fmt="b">20</start-time><uint64 id="3">5</uint64>',
        '<start-time ref="2"/><start-time ref="1"/><uint64 ref="3"/>',
    )
    table = read_table(tmp_path, text, "intervals")
    assert column(table, "start") == [10, 20]
    assert column(table, "end") == [20, 10]
    assert column(table, "count") == [5, 5]


def test_a_sentinel_is_null_and_shifts_nothing(tmp_path: Path) -> None:
    text = one_table(
        "t",
        [("a", "uint64"), ("b", "string"), ("c", "uint64")],
        '<uint64 id="1">1</uint64><sentinel/><uint64 ref="1"/>',
        '<sentinel/><string id="2" fmt="x">x</string><sentinel/>',
    )
    table = read_table(tmp_path, text, "t")
    assert column(table, "a") == [1, None]
    assert column(table, "b") == [None, "x"]
    assert column(table, "c") == [1, None]


def test_references_reach_ids_at_every_depth(tmp_path: Path) -> None:
    text = one_table(
        "t",
        [("thread", "thread"), ("process", "process"), ("tid", "tid")],
        '<thread id="1" fmt="Main Thread (0x1f) (App, pid: 7)"><tid id="2" fmt="0x1f">31</tid><process id="3"'
        ' fmt="App (7)"><pid id="4">7</pid></process></thread><process ref="3"/><tid ref="2"/>',
    )
    table = read_table(tmp_path, text, "t")
    assert table.threads.to_dict("records") == [
        {"tid": 31, "name": "Main Thread", "pid": 7, "process": "App"}
    ]
    assert table.processes.to_dict("records") == [{"pid": 7, "name": "App"}]
    assert column(table, "tid") == [31]


def test_threads_and_processes_are_defined_anywhere_and_listed_once(tmp_path: Path) -> None:
    pid = '<pid id="{}">{}</pid>'
    text = one_table(
        "t",
        [("thread", "thread"), ("process", "process")],
        # In full, and its process again by reference.
        '<thread id="1" fmt="Main Thread 0x1f (App, pid: 7)"><tid id="2">31</tid><process id="3" fmt="App (7)">'
        + pid.format(4, 7)
        + '</process></thread><process ref="3"/>',
        # A second thread of that process, whose definition repeats it.
        '<thread id="5" fmt="audio 0x20 (App, pid: 7)"><tid id="6">32</tid><process id="7" fmt="App (7)">'
        + pid.format(8, 7)
        + '</process></thread><process id="9" fmt="Helper (8)"><pid id="10">8</pid></process>',
        '<thread ref="1"/><process ref="9"/>',
        "<sentinel/><sentinel/>",
        # What is left out is unknown.
        '<thread id="11" fmt="idle"><process ref="9"/></thread><process id="12" fmt="kernel"/>',
        '<thread id="13" fmt="lost 0x21"><tid id="14">33</tid><sentinel/></thread><process ref="12"/>',
        # The first of two numbers counts.
        '<thread id="15"><tid id="16">34</tid><tid ref="2"/></thread><process ref="3"/>',
        # The same again under another number.
        '<thread id="17" fmt="Main Thread 0x1f (App, pid: 7)"><tid ref="2"/><process ref="7"/></thread><sentinel/>',
    )
    table = read_table(tmp_path, text, "t")
    assert table.threads.to_numpy().tolist() == [
        [31, "Main Thread", 7, "App"],
        [32, "audio", 7, "App"],
        [-1, "idle", 8, "Helper"],
        [33, "lost 0x21", -1, ""],
        [34, "", -1, ""],
    ]
    assert table.processes.to_numpy().tolist() == [[7, "App"], [8, "Helper"], [-1, "kernel"]]
    assert column(table, "thread") == [0, 1, 0, -1, 2, 3, 4, 0]
    assert column(table, "process") == [0, 1, 1, -1, 2, 2, 0, -1]


@pytest.mark.parametrize("number", ["x", "-1", "9223372036854775808"])
@pytest.mark.parametrize("tag", ["tid", "pid"])
def test_a_thread_or_process_whose_number_is_none_is_named(tmp_path: Path, tag: str, number: str) -> None:
    owner = "thread" if tag == "tid" else "process"
    row = '<{0} id="{2}"><{1} id="{3}">{4}</{1}></{0}>'
    text = one_table(
        "t", [("who", owner)], row.format(owner, tag, 1, 2, 8), row.format(owner, tag, 3, 4, number)
    )
    with pytest.raises(InputError, match=rf"row 2 of 't': the {tag} '{number}' is not a number"):
        read_table(tmp_path, text, "t")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["0", "18446744073709551615"], [0, 2**64 - 1]),
        (["9007199254740993"], [9007199254740993]),
        (["-5", "7"], [-5, 7]),
        (["-9223372036854775808", "9223372036854775807"], [-(2**63), 2**63 - 1]),
        (["-1", "18446744073709551615"], [-1, 2**64 - 1]),
    ],
)
def test_integers_are_exact(tmp_path: Path, texts: list[str], values: list[int]) -> None:
    rows = [f'<uint64 id="{number}">{text}</uint64>' for number, text in enumerate(texts, start=1)]
    assert column(read_table(tmp_path, one_table("t", [("n", "uint64")], *rows), "t"), "n") == values


def test_numbers_beyond_64_bits_stay_text(tmp_path: Path) -> None:
    rows = [
        f'<uint64 id="{number}">{text}</uint64>'
        for number, text in enumerate(["18446744073709551616", "007"], start=1)
    ]
    table = read_table(tmp_path, one_table("t", [("n", "uint64")], *rows), "t")
    assert column(table, "n") == ["18446744073709551616", "007"]


def test_words_stay_words_even_if_all_digits(tmp_path: Path) -> None:
    text = one_table(
        "t", [("s", "string")], '<string id="1" fmt="150">150</string>', '<string id="2">x</string>'
    )
    assert column(read_table(tmp_path, text, "t"), "s") == ["150", "x"]


def test_an_unknown_type_gets_its_kind_from_its_cells(tmp_path: Path) -> None:
    text = one_table(
        "schema-of-tomorrow",
        [("n", "new-number"), ("w", "new-word"), ("l", "new-list"), ("f", "new-fraction"), ("p", "new-pair")],
        '<new-number id="1">4</new-number><new-word id="2">four</new-word><new-list id="3">4 5</new-list>'
        '<new-fraction id="4">0.25</new-fraction>'
        '<new-pair id="5" fmt="4=four"><new-number ref="1"/><new-word ref="2"/></new-pair>',
        "<sentinel/><sentinel/><sentinel/><sentinel/><sentinel/>",
    )
    table = read_table(tmp_path, text, "schema-of-tomorrow")
    assert [c.kind for c in table.columns] == ["int", "text", "ints", "float", "parts"]
    assert column(table, "n") == [4, None]
    assert column(table, "w") == ["four", None]
    assert column(table, "l") == [(4, 5), None]
    assert column(table, "f") == [0.25, None]
    assert column(table, "p") == [(("new-number", 4), ("new-word", "four")), None]


def test_composite_cells_are_their_parts(tmp_path: Path) -> None:
    text = one_table(
        "t",
        [("label", "formatted-label")],
        '<formatted-label id="1" fmt="MPSGraph:0x10f (Buffer: 0xaa)"><narrative-text id="2">MPSGraph:</narrative-text>'
        '<uint64-hex-lowercase id="3" fmt="0x10f">271</uint64-hex-lowercase><sentinel/></formatted-label>',
    )
    table = read_table(tmp_path, text, "t")
    assert column(table, "label") == [
        (("narrative-text", "MPSGraph:"), ("uint64-hex-lowercase", 271), ("sentinel", None))
    ]


def test_the_type_any_shows_what_the_cells_are(tmp_path: Path) -> None:
    text = one_table(
        "t", [("weight", "any")], '<pmc-event id="1">1000000</pmc-event>', '<pmc-event ref="1"/>'
    )
    table = read_table(tmp_path, text, "t")
    assert table.columns[0].engineering_type == "pmc-event"
    assert column(table, "weight") == [1000000, 1000000]


@pytest.mark.parametrize(
    ("fmt", "tid", "name"),
    [
        ("Main Thread  0xd43ff (a.out, pid: 1512)", 0xD43FF, "Main Thread"),
        ("Finder 0x644a1c3 (Finder, pid: 751)", 0x644A1C3, "Finder"),
        ("Main Thread (0x9db2dc) (profile, pid: 8)", 0x9DB2DC, "Main Thread"),
        ("pool (0x12) of (x) (0x9d) (profile (beta), pid: 8)", 0x9D, "pool (0x12) of (x)"),
    ],
)
def test_thread_names_of_every_xcode(tmp_path: Path, fmt: str, tid: int, name: str) -> None:
    text = one_table(
        "t", [("thread", "thread")], f'<thread id="1" fmt="{fmt}"><tid id="2">{tid}</tid></thread>'
    )
    table = read_table(tmp_path, text, "t")
    assert table.threads.iloc[0].to_dict() == {"tid": tid, "name": name, "pid": -1, "process": ""}


def test_only_the_first_node_of_a_schema_carries_it(tmp_path: Path) -> None:
    columns = [("n", "uint64")]
    text = document(
        node(schema("s", columns), table=87),
        node("", table=88),
        node('<row><uint64 id="1">4</uint64></row>', table=90),
        node(schema("other", columns) + '<row><uint64 ref="1"/></row>', table=91),
    )
    source = source_of(write(tmp_path, text))
    assert [(t.schema, t.index, t.row_count) for t in source.toc()[0].tables] == [
        ("s", 87, 0),
        ("s", 88, 0),
        ("s", 90, 1),
        ("other", 91, 1),
    ]
    assert [column(table, "n") for table in source.tables("s")] == [[], [], [4]]
    assert [column(table, "n") for table in source.tables("other")] == [[4]]


def test_an_empty_table_keeps_its_columns_and_types(tmp_path: Path) -> None:
    columns = [
        ("start", "start-time"),
        ("label", "formatted-label"),
        ("state", "gpu-state"),
        ("stack", "backtrace"),
    ]
    table = read_table(tmp_path, one_table("ane-hw-intervals", columns), "ane-hw-intervals")
    assert [(c.mnemonic, c.kind) for c in table.columns] == [
        ("start", "int"),
        ("label", "parts"),
        ("state", "text"),
        ("stack", "stack"),
    ]
    assert len(table) == 0


def test_several_runs(tmp_path: Path) -> None:
    columns = [("n", "uint64")]
    text = document(
        node(schema("s", columns) + '<row><uint64 id="1">1</uint64></row>', table=4, run=1),
        node('<row><uint64 id="2">2</uint64></row>', table=4, run=2),
    )
    source = source_of(write(tmp_path, text))
    assert [run.info.run for run in source.toc()] == [1, 2]
    assert [column(table, "n") for table in source.tables("s", 2)] == [[2]]


def test_ids_that_other_tools_removed_or_renumbered(tmp_path: Path) -> None:
    text = one_table(
        "t",
        [("a", "uint64"), ("b", "string")],
        '<uint64>1</uint64><string id="x7">one</string>',
        '<uint64 id="900">2</uint64><string ref="x7" />',
        '<uint64 ref="900" /><string>three</string>',
    )
    table = read_table(tmp_path, text, "t")
    assert column(table, "a") == [1, 2, 2]
    assert column(table, "b") == ["one", "one", "three"]


def test_a_document_that_was_indented_anew(tmp_path: Path) -> None:
    text = one_table(
        "t", [("a", "uint64"), ("b", "string")], '<uint64 id="1">1</uint64><string id="2"> a\tb </string>'
    )
    text = text.replace("><", ">\n  <").replace(">1<", ">\n    1\n  <")
    table = read_table(tmp_path, text, "t")
    assert column(table, "a") == [1]
    assert column(table, "b") == [" a\tb "]


def test_comments_and_cdata_lose_nothing(tmp_path: Path) -> None:
    text = one_table("t", [("b", "string")], '<string id="1">a<!-- <row> -->b<![CDATA[<row>]]></string>')
    assert column(read_table(tmp_path, text, "t"), "b") == ["ab<row>"]


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        (
            ['<formatted-label id="1"><string>x</string></formatted-label>']
            + [
                f'<formatted-label id="{n}"><formatted-label ref="{n - 1}"/><formatted-label ref="{n - 1}"/></formatted-label>'
                for n in range(2, 20)
            ],
            "a composite value is longer than any recording's",
        ),
        (
            ['<formatted-label id="1"><string>x</string></formatted-label>']
            + [
                f'<formatted-label id="{n}"><formatted-label ref="{n - 1}"/></formatted-label>'
                for n in range(2, 40)
            ],
            "a composite value is nested deeper than any recording's",
        ),
        (
            ['<formatted-label id="1"><formatted-label ref="1"/></formatted-label>'],
            "a composite value is nested deeper than any recording's",
        ),
    ],
    ids=["doubling", "chain", "circle"],
)
def test_composite_cells_that_grow_by_references_are_refused(
    tmp_path: Path, elements: list[str], problem: str
) -> None:
    content = one_table("os-signpost", [("label", "formatted-label")], *elements)
    with pytest.raises(InputError, match=problem):
        read_table(tmp_path, content, "os-signpost")
