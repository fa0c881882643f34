"""Backtraces of every layout: chunks, pointer authentication, kperf, tagged."""

from __future__ import annotations

from uuid import UUID

import pytest
from bundle_support import (
    APP,
    CLOCK,
    MAIN,
    TEXT_AT,
    app_stack,
    codes,
    frames_of,
    loaded,
    new_run,
    read,
    source_of,
    symbols_of,
    with_column,
    with_stacks,
)

from sample_generator.bundle_images import Symbol
from sample_generator.bundle_schemas import TIME_SAMPLE
from sample_generator.bundle_tables import Col
from sample_generator.bundle_values import Array, Chunk, Kperf, Process, Raw, Stack, Tagged, signed
from sample_generator.bundle_writer import BundleWriter
from tracekit.errors import InputError

OTHER = Process(900, "Other", "/usr/bin/other")
LEAF, MIDDLE, ROOT = TEXT_AT + 0x1011, TEXT_AT + 0x2020, TEXT_AT + 0x3030
LOADED = loaded(
    Symbol(0x1000, 0x100, "_leaf", "leaf"),
    Symbol(0x2000, 0x100, "_middle", "middle"),
    Symbol(0x3000, 0x100, "_root", "root"),
)
KERNEL_AT = 0xFFFF_FE00_0700_4000
NAMES = ["leaf", "middle", "root"]


@pytest.mark.parametrize(
    "pieces",
    [
        ([LEAF, MIDDLE, ROOT],),
        ([LEAF], [MIDDLE, ROOT]),
        ([LEAF], [MIDDLE], [ROOT]),
        ([LEAF, MIDDLE], [ROOT], None),
        ([LEAF], [], [MIDDLE, ROOT]),
        (None, [LEAF], None, [MIDDLE, ROOT], None),
    ],
)
def test_chunks_make_one_stack(pieces: tuple[list[int] | None, ...]) -> None:
    source = source_of(with_stacks(app_stack(*pieces), images=[LOADED]))
    table = read(source)
    assert symbols_of(table) == [NAMES]
    assert [frame["address"] for frame in frames_of(table, name="value")] == [LEAF, MIDDLE, ROOT]
    assert source.issues() == ()


def test_a_row_without_stack_and_a_stack_without_frames() -> None:
    table = read(with_stacks(None, app_stack(None), app_stack([LEAF]), None, images=[LOADED]))
    assert symbols_of(table) == [None, [], ["leaf"], None]


def test_a_table_in_which_no_row_has_a_stack() -> None:
    table = read(with_stacks(None, None))
    assert (symbols_of(table), len(table.stacks)) == ([None, None], 0)


def test_the_same_frames_in_other_chunks_are_one_stack() -> None:
    stacks = app_stack([LEAF], [MIDDLE]), app_stack([LEAF, MIDDLE]), app_stack([LEAF], [MIDDLE], None)
    table = read(with_stacks(*stacks, app_stack([MIDDLE]), images=[LOADED]))
    assert table.rows["value"].tolist() == [0, 0, 0, 1]
    assert len(table.stacks) == 2


def test_a_chunk_of_another_process_has_that_process_images() -> None:
    app_function = Symbol(0x1000, 0x100, "_mine", "mine")
    other_function = Symbol(0x1000, 0x100, "_theirs", "theirs")
    bundle = BundleWriter()
    run = new_run(bundle)
    run.load(APP, loaded(app_function))
    run.load(OTHER, loaded(other_function, uuid=UUID(int=7), path=OTHER.path))
    both = Stack((Chunk(APP, (LEAF,)), Chunk(OTHER, (LEAF,))))
    run.table("t", (CLOCK, Col("value", "Stack", "XRBacktraceTypeID")), [(0, both)])
    table = read(bundle)
    assert symbols_of(table) == [["mine", "theirs"]]
    assert [frame["binary"]["name"] for frame in frames_of(table, name="value")] == ["SampleApp", "other"]


def test_addresses_are_looked_up_one_byte_lower() -> None:
    """The leaf is stored as its counter plus 1, a caller as the return address: behind the call, which may end
    its function."""
    symbols = Symbol(0x1000, 0x100, "_before", "before"), Symbol(0x1100, 0x100, "_after", "after")
    address = TEXT_AT + 0x1100
    stacks = (
        app_stack([address]),
        app_stack([address + 1]),
        app_stack([address + 1], [address]),
        app_stack([address + 1], [address + 1]),
    )
    table = read(with_stacks(*stacks, images=[loaded(*symbols)]))
    assert symbols_of(table) == [["before"], ["after"], ["after", "before"], ["after", "after"]]


def test_the_last_byte_of_a_binary() -> None:
    image = loaded(Symbol(0x7F00, 0x100, "_last", "last"))
    end = TEXT_AT + 0x8000
    table = read(with_stacks(app_stack([end]), app_stack([end + 1]), app_stack([TEXT_AT]), images=[image]))
    assert symbols_of(table) == [["last"], ["0x100008001"], ["0x100000000"]]
    assert [frames_of(table, row, "value")[0]["binary"] is None for row in range(3)] == [False, True, True]


def test_signed_addresses_are_looked_up_without_their_signature() -> None:
    stack = app_stack([LEAF], [signed(MIDDLE), signed(ROOT, 0x1FFFF)])
    table = read(with_stacks(stack, images=[LOADED]))
    assert symbols_of(table) == [NAMES]
    assert [frame["address"] for frame in frames_of(table, name="value")] == [
        LEAF,
        MIDDLE | 0x5A3 << 47,
        ROOT | 0x1FFFF << 47,
    ]


def test_frames_of_no_known_binary_are_their_addresses() -> None:
    """As in exports: the leaf by its own address, a caller by the one below."""
    table = read(with_stacks(app_stack([0x7000], [0x8000, 0x9000]), app_stack([0x8000]), app_stack([0], [0])))
    assert symbols_of(table) == [["0x7000", "0x7fff", "0x8fff"], ["0x8000"], ["0x0", "0x0"]]
    assert [frame["address"] for frame in frames_of(table, name="value")] == [0x7000, 0x8000, 0x9000]


@pytest.mark.integration
def test_a_deep_stack() -> None:
    addresses = [TEXT_AT + 0x1001 + number % 0x100 for number in range(5000)]
    table = read(with_stacks(app_stack(addresses[:1], addresses[1:]), images=[LOADED]))
    assert [frame["address"] for frame in frames_of(table, name="value")] == addresses


def test_two_stack_columns_share_their_frames() -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    run.load(APP, LOADED)
    columns = (CLOCK, Col("value", "A", "XRBacktraceTypeID"), Col("other", "B", "XRBacktraceTypeID"))
    run.table(
        "t",
        columns,
        [(0, app_stack([LEAF]), None), (1, None, app_stack([LEAF])), (2, app_stack([ROOT]), None)],
    )
    table = read(bundle)
    assert symbols_of(table, "value") == [["leaf"], None, ["root"]]
    assert symbols_of(table, "other") == [None, ["leaf"], None]
    assert len(table.stacks) == 2


# Tagged ---------------------------------------------------------------------------------------------------


def test_tagged_backtraces_are_read_and_reported_as_unconfirmed() -> None:
    first, second = app_stack([LEAF], [ROOT]), app_stack([MIDDLE])
    cells = Tagged(first), Tagged(second, 3), None, Tagged(first, 1)
    source = source_of(with_column("XRTaggedBacktraceTypeID", *cells, images=[LOADED]))
    table = read(source)
    assert table.columns[1].engineering_type == "tagged-backtrace"
    assert symbols_of(table) == [["leaf", "root"], ["middle"], None, ["leaf", "root"]]
    assert codes(source.issues()) == ["types-unconfirmed"]
    assert "TaggedBacktrace" in source.issues()[0].message


def test_tagged_backtraces_of_another_layout_are_refused() -> None:
    with pytest.raises(InputError, match="has tagged backtraces of an unknown layout"):
        read(with_column("XRTaggedBacktraceTypeID", Array((1, 2, 3))))


# kperf ----------------------------------------------------------------------------------------------------


def kperf(*stacks: Kperf | Array | None) -> BundleWriter:
    return with_column("XRCoreProfileCallstackTypeID", *stacks, images=[LOADED])


@pytest.mark.parametrize("registers", [(1,), (1, 2), (1, 2, 3, 4, 5)], ids=["4", "5", "8"])
def test_kperf_with_registers(registers: tuple[int, ...]) -> None:
    """The counter is exact and looked up as it is; callers are return addresses and end in 0."""
    table = read(kperf(Kperf(APP, TEXT_AT + 0x1000, (MIDDLE, TEXT_AT + 0x3000, 0), registers)))
    assert table.columns[1].engineering_type == "kperf-bt"
    assert symbols_of(table) == [["leaf", "middle", "0x100003000"]]
    assert [f["address"] for f in frames_of(table, name="value")] == [
        TEXT_AT + 0x1000,
        MIDDLE,
        TEXT_AT + 0x3000,
    ]


def test_kperf_without_registers_repeats_the_counter() -> None:
    repeated = Kperf(APP, LEAF, (LEAF, MIDDLE, 0))
    plain = Kperf(APP, LEAF, (ROOT, 0))
    assert symbols_of(read(kperf(repeated, plain, None))) == [["leaf", "middle"], ["leaf", "root"], None]


def test_kperf_with_registers_may_return_to_the_counter() -> None:
    """A function that calls itself in a loop: only without registers is the first caller a repetition."""
    assert symbols_of(read(kperf(Kperf(APP, LEAF, (LEAF, MIDDLE, 0), (1,))))) == [["leaf", "leaf", "middle"]]


def test_kperf_without_callers() -> None:
    table = read(kperf(Kperf(APP, LEAF, ()), Kperf(APP, LEAF, (0,), (5,)), Kperf(APP, LEAF, (LEAF,))))
    assert symbols_of(table) == [["leaf"], ["leaf"], ["leaf"]]


def test_kperf_whose_callers_are_no_list() -> None:
    assert symbols_of(read(kperf(Kperf(APP, LEAF, None)))) == [["leaf"]]


@pytest.mark.parametrize("values", [(), (1,), (1, 2), (0, 1, 0, 0, 0, 0), (0,) * 9])
def test_kperf_of_another_layout_is_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="has kernel backtraces of an unknown layout"):
        read(kperf(Array(values)))


def test_kperf_of_no_process() -> None:
    no_callers = 0  # the first list of a run is its process, which serves as two callers here
    table = read(kperf(Array((no_callers, LEAF, 0xFFFFFFFF))))
    assert symbols_of(table)[0][:1] == [f"{LEAF:#x}"]


@pytest.mark.parametrize("process", [2**64 - 1, 2**63])
def test_kperf_of_a_process_of_64_bits(process: int) -> None:
    try:
        table = read(kperf(Array((0, LEAF, process))))
    except InputError:
        return
    assert symbols_of(table)[0][:1] == [f"{LEAF:#x}"]


def test_kernel_and_user_stacks_of_one_table() -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    kernel = Process(0, "kernel", "kernel")
    run.kernel = (
        loaded(
            Symbol(0x100, 0x100, "_idle", "idle"),
            address=KERNEL_AT,
            path="com.apple.kernel",
            uuid=UUID(int=9),
        ),
    )
    run.load(APP, LOADED)
    run.load_nothing(kernel)
    rows = [
        (
            1,
            MAIN,
            0,
            "Running",
            Kperf(kernel, KERNEL_AT + 0x110, (0,)),
            Kperf(APP, LEAF, (MIDDLE, 0), (1,)),
            1,
        ),
        (2, MAIN, 0, "Running", None, Kperf(APP, LEAF, (ROOT, 0), (1,)), 1),
    ]
    run.table("time-sample", TIME_SAMPLE, rows)
    table = read(bundle, "time-sample")
    assert symbols_of(table, "cp-kernel-callstack") == [["idle"], None]
    assert symbols_of(table, "cp-user-callstack") == [["leaf", "middle"], ["leaf", "root"]]


def test_a_stack_of_numbers_that_are_no_chunks() -> None:
    with pytest.raises(InputError, match="has no list"):
        read(with_column("XRBacktraceTypeID", Array((5 << 32 | 77,))))
    with pytest.raises(InputError, match="has no list"):
        read(with_column("XRBacktraceTypeID", Array((77 << 32,))))
    assert symbols_of(read(with_column("XRBacktraceTypeID", Raw(0xFFFFFFFF)))) == [None]
