"""Backtraces of every shape give the same stacks, leaf first."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import column, one_table, read_table, stacks_of

from tracekit.errors import InputError

BINARY = '<binary id="{}" name="App" UUID="U1" arch="arm64e" load-addr="0x1000" path="/App"/>'
FRAMES = (
    '<frame id="{a}" name="work" addr="0x1011"><binary id="{b}" name="App" UUID="U1" arch="arm64e"'
    ' load-addr="0x1000" path="/App"/></frame><frame id="{c}" name="main" addr="0x1020"><binary ref="{b}"/></frame>'
)

pytestmark = pytest.mark.usefixtures("each_reader")


def stack_table(tmp_path: Path, kind: str, *cells: str) -> object:
    return read_table(tmp_path, one_table("t", [("stack", kind)], *cells), "t")


@pytest.mark.parametrize(
    ("kind", "first", "again"),
    [
        (
            "backtrace",
            f'<backtrace id="1">{FRAMES.format(a=2, b=3, c=4)}</backtrace>',
            '<backtrace ref="1"/>',
        ),
        (
            "tagged-backtrace",
            f'<tagged-backtrace id="1" fmt="work ← (1 other frames)"><backtrace id="2">{FRAMES.format(a=3, b=4, c=5)}'
            '</backtrace><uint64 id="6">0</uint64></tagged-backtrace>',
            '<tagged-backtrace ref="1"/>',
        ),
        (
            "tagged-backtrace",
            f'<tagged-backtrace id="1" fmt="work">{FRAMES.format(a=2, b=3, c=4)}</tagged-backtrace>',
            '<tagged-backtrace ref="1"/>',
        ),
        (
            "text-backtrace",
            f'<text-backtrace id="1" fmt="work">{FRAMES.format(a=2, b=3, c=4)}</text-backtrace>',
            '<text-backtrace ref="1"/>',
        ),
    ],
    ids=["B", "C", "D", "F"],
)
def test_symbolicated_shapes(tmp_path: Path, kind: str, first: str, again: str) -> None:
    table = stack_table(tmp_path, kind, first, "<sentinel/>", again)
    assert stacks_of(table) == [["work", "main"], None, ["work", "main"]]
    assert len(table.stacks) == 1
    assert table.stacks.frames[["symbol", "binary_id", "address"]].to_dict("records") == [
        {"symbol": "work", "binary_id": 0, "address": 0x1011},
        {"symbol": "main", "binary_id": 0, "address": 0x1020},
    ]
    assert table.stacks.binaries.to_dict("records") == [
        {"name": "App", "path": "/App", "uuid": "U1", "arch": "arm64e", "load_address": 0x1000}
    ]


def test_a_tagged_backtrace_may_refer_to_the_backtrace_inside_another(tmp_path: Path) -> None:
    table = stack_table(
        tmp_path,
        "tagged-backtrace",
        f'<tagged-backtrace id="1"><backtrace id="2">{FRAMES.format(a=3, b=4, c=5)}</backtrace><uint64 id="6">0</uint64>'
        "</tagged-backtrace>",
        '<tagged-backtrace id="7"><backtrace ref="2"/><uint64 id="8">1</uint64></tagged-backtrace>',
    )
    assert stacks_of(table) == [["work", "main"], ["work", "main"]]
    assert len(table.stacks) == 1


def test_shape_a_names_only_the_leaf(tmp_path: Path) -> None:
    table = stack_table(
        tmp_path,
        "backtrace",
        '<backtrace id="1" fmt="objc_msgSend ← (2 other frames)"><process id="2" fmt="App (7)"/><text-addresses id="3"'
        ' fmt="frag 1">4096 8192</text-addresses><process ref="2"/><text-addresses id="4" fmt="frag 2">12288'
        "</text-addresses></backtrace>",
    )
    assert stacks_of(table) == [["objc_msgSend", "0x2000", "0x3000"]]
    assert table.stacks.frames["address"].tolist() == [4096, 8192, 12288]
    assert table.stacks.frames["binary_id"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("cell", "stack"),
    [
        # PC, then the callers; the closing 0 is no frame.
        (
            '<kperf-bt id="1" fmt="PC:0x64, 3 frames"><text-addresses id="2">200 300 0</text-addresses>'
            '<text-address id="3">100</text-address><process id="4"/><boolean id="5">0</boolean>'
            '<register-content id="6">150</register-content></kperf-bt>',
            ["0x64", "0xc8", "0x12c"],
        ),
        # A stackshot has no register and repeats the PC.
        (
            '<kperf-bt id="1" fmt="PC:0x64, 1 frames, 0 regs"><text-addresses id="2">100 200</text-addresses>'
            '<text-address id="3">100</text-address><process id="4"/><boolean id="5">0</boolean></kperf-bt>',
            ["0x64", "0xc8"],
        ),
        (
            '<kperf-bt id="1" fmt="PC:0x64, 1 frames, 1 regs"><text-addresses id="2">0</text-addresses>'
            '<text-address id="3">100</text-address><register-content id="4">9</register-content></kperf-bt>',
            ["0x64"],
        ),
    ],
)
def test_shape_e_is_the_counter_and_its_callers(tmp_path: Path, cell: str, stack: list[str]) -> None:
    assert stacks_of(stack_table(tmp_path, "kperf-bt", cell)) == [stack]


def test_source_lines_and_inlined_frames_are_kept(tmp_path: Path) -> None:
    table = stack_table(
        tmp_path,
        "backtrace",
        '<backtrace id="1"><frame id="2" name="f" addr="0x11" inlined="true"><binary id="3" name="App"/>'
        '<source line="7"><path id="4">/src/f.c</path></source></frame><frame id="5" name="g" addr="0x11">'
        '<binary ref="3"/><source line="9"><path ref="4"/></source></frame><frame id="6" name="0x99" addr="0x99"/>'
        "</backtrace>",
    )
    frames = table.stacks.frames
    assert frames["inlined"].tolist() == [True, False, False]
    assert frames["source_file"].tolist() == ["/src/f.c", "/src/f.c", ""]
    assert frames["source_line"].tolist() == [7, 9, -1]
    assert frames["binary_id"].tolist() == [0, 0, -1]


def test_two_stack_columns_share_one_stack_table(tmp_path: Path) -> None:
    text = one_table(
        "t",
        [("start-backtrace", "text-backtrace"), ("end-backtrace", "text-backtrace")],
        '<text-backtrace id="1"><frame id="2" name="a" addr="0x1"/></text-backtrace><text-backtrace id="3">'
        '<frame id="4" name="b" addr="0x2"/><frame ref="2"/></text-backtrace>',
    )
    table = read_table(tmp_path, text, "t")
    assert stacks_of(table, "start-backtrace") == [["a"]]
    assert stacks_of(table, "end-backtrace") == [["b", "a"]]


def test_an_empty_backtrace_is_a_stack_without_frames(tmp_path: Path) -> None:
    assert stacks_of(stack_table(tmp_path, "backtrace", '<backtrace id="1"/>')) == [[]]


def test_an_unsupported_shape_is_refused_with_its_row(tmp_path: Path) -> None:
    supported = f'<backtrace id="1">{FRAMES.format(a=2, b=3, c=4)}</backtrace>'
    unsupported = '<backtrace id="5"><new-frames id="6">1 2 3</new-frames></backtrace>'
    with pytest.raises(InputError, match=r"row 2 of 't': a <backtrace> holds <new-frames>"):
        stack_table(tmp_path, "backtrace", supported, unsupported)


def test_stacks_differ_by_address(tmp_path: Path) -> None:
    table = stack_table(
        tmp_path,
        "backtrace",
        '<backtrace id="1"><frame id="2" name="f" addr="0x1"/></backtrace>',
        '<backtrace id="3"><frame id="4" name="f" addr="0x5"/></backtrace>',
        '<backtrace id="5"><frame ref="2"/></backtrace>',
    )
    assert column(table, "stack") == [0, 1, 0]
