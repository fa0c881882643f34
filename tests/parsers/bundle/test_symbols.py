"""Addresses → names as Instruments shows them: images, the shared cache, archives of symbols, demangling."""

from __future__ import annotations

import struct
import time
from typing import Any
from uuid import UUID

import pytest
from bundle_support import (
    APP,
    BINARY,
    CLOCK,
    TEXT_AT,
    app_stack,
    binary,
    changed,
    codes,
    cpp_bomb,
    frames_of,
    issues_of,
    loaded,
    new_run,
    read,
    rust_bomb,
    source_of,
    symbols_of,
    with_stacks,
    without,
)

from sample_generator.bundle_document import SharedCache
from sample_generator.bundle_images import Image, Line, Loaded, Segment, Symbol
from sample_generator.bundle_tables import Col
from sample_generator.bundle_values import Process, stack
from sample_generator.bundle_writer import BundleWriter

ARCHIVE = f"symbols/stores/{BINARY}.symbolsarchive"
AT = TEXT_AT + 0x1011
STACK = Col("value", "Stack", "XRBacktraceTypeID")
CACHE = 0x1_8000_0000
LIBRARY = Image(
    UUID("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"),
    "/System/Library/Frameworks/CoreML.framework/CoreML",
    (Segment("__TEXT", 0, 0x4000), Segment("__DATA", 0x4000, 0x1000), Segment("__LINKEDIT", 0x5000, 0x9000)),
    (Symbol(0x100, 0x80, "_predict", "predict"), Symbol(0x4100, 0x40, "_table", "table")),
)


def name_of(*symbols: Symbol, **more: Any) -> str:
    """Return the name of the frame at offset 0x1010 of the app's binary."""
    return symbols_of(read(with_stacks(app_stack([AT]), images=[loaded(*symbols, **more)])))[0][0]


def test_a_frame_has_its_binary() -> None:
    bundle = with_stacks(app_stack([AT]), images=[loaded(Symbol(0x1000, 0x100, "_work", "work"))])
    (frame,) = frames_of(read(bundle), name="value")
    assert frame == {
        "symbol": "work",
        "address": AT,
        "source_file": "",
        "source_line": -1,
        "inlined": False,
        "binary": {
            "name": "SampleApp",
            "path": "/Applications/SampleApp.app/Contents/MacOS/SampleApp",
            "uuid": "11111111-2222-3333-4444-555555555555",
            "arch": "arm64e",
            "load_address": TEXT_AT,
        },
    }


@pytest.mark.parametrize("arch", ["arm64", "arm64e", "x86_64"])
def test_architectures(arch: str) -> None:
    (frame,) = frames_of(read(with_stacks(app_stack([AT]), images=[loaded(arch=arch)])), name="value")
    assert (frame["binary"]["arch"], frame["symbol"]) == (arch, f"{AT:#x}")


@pytest.mark.parametrize("distance", [0, 0x4_0000, 0x7F_0000_0000])
def test_each_segment_is_looked_up_where_it_lay(distance: int) -> None:
    """In the shared cache the segments of a library are torn apart."""
    places = {"__TEXT": TEXT_AT, "__DATA": TEXT_AT + 0x10_0000 + distance}
    images = [Loaded(LIBRARY, LIBRARY.at(places))]
    addresses = places["__TEXT"] + 0x111, places["__DATA"] + 0x111, places["__DATA"] + 0x10
    table = read(with_stacks(app_stack(addresses), images=images))
    assert symbols_of(table) == [["predict", "table", f"{addresses[2] - 1:#x}"]]
    assert {frame["binary"]["load_address"] for frame in frames_of(table, name="value")} == {TEXT_AT}


@pytest.mark.parametrize("segment", ["__PAGEZERO", "__LINKEDIT"])
def test_nothing_runs_in_some_segments(segment: str) -> None:
    image = Image(BINARY, APP.path, (Segment(segment, 0, 0x8000),), (Symbol(0x1000, 0x100, "_x", "x"),))
    table = read(with_stacks(app_stack([AT]), images=[Loaded(image, image.at(TEXT_AT))]))
    assert (symbols_of(table), frames_of(table, name="value")[0]["binary"]) == ([[f"{AT:#x}"]], None)


def shared_cache(keys: list[int] | None) -> list[list[str] | None]:
    other_image = Image(
        UUID(int=5),
        "/usr/lib/libother.dylib",
        (Segment("__TEXT", 0, 0x1000),),
        (Symbol(0, 0x100, "_o", "o"),),
    )
    images = {
        0x1000: Loaded(LIBRARY, LIBRARY.at(0x1000)),
        0x20000: Loaded(other_image, other_image.at(0x20000)),
    }
    bundle = BundleWriter()
    run = new_run(bundle)
    run.load(APP, loaded(Symbol(0x1000, 0x100, "_main", "main")))
    run.load_shared_cache(APP, SharedCache(UUID(int=6), images), CACHE, keys)
    addresses = [CACHE + 0x1111], [CACHE + 0x20011, AT]
    run.table("t", (CLOCK, STACK), [(0, app_stack(*addresses))])
    table = read(bundle)
    if keys is None:
        assert [frame["binary"]["load_address"] for frame in frames_of(table, name="value")] == [
            CACHE + 0x1000,
            CACHE + 0x20000,
            TEXT_AT,
        ]
    return symbols_of(table)


def test_the_shared_cache() -> None:
    assert shared_cache(None) == [["predict", "o", "main"]]


def test_only_the_libraries_that_a_process_uses_of_the_shared_cache() -> None:
    assert shared_cache([0x20000]) == [[f"{CACHE + 0x1111:#x}", "o", "main"]]
    assert shared_cache([]) == [[f"{CACHE + 0x1111:#x}", f"{CACHE + 0x20010:#x}", "main"]]


def test_kernel_addresses_are_looked_up_as_they_are() -> None:
    address = 0xFFFF_FE00_0700_4000
    kernel = Process(0, "kernel", "kernel")
    bundle = BundleWriter()
    run = new_run(bundle)
    run.kernel = (loaded(Symbol(0x100, 0x100, "_idle", "idle"), address=address, path="com.apple.kernel"),)
    run.load_nothing(kernel)
    run.table("t", (CLOCK, STACK), [(0, stack(kernel, [address + 0x111]))])
    table = read(bundle)
    assert symbols_of(table) == [["idle"]]
    assert frames_of(table, name="value")[0]["binary"]["name"] == "com.apple.kernel"


# Names ----------------------------------------------------------------------------------------------------

MANGLED = {
    "_predict": "predict",
    "__ZN8Espresso4core7executeEv": "Espresso::core::execute()",
    "__Z3addii": "add(int, int)",
    "__ZNSt3__16vectorINS0_IiEEE4pushEv": "std::__1::vector<std::__1::vector<int>>::push()",
    "____ZN3ane4loadEv_block_invoke": "invocation function for block in ane::load()",
    "____ZN3ane4loadEv_block_invoke_2": "invocation function for block in ane::load()",
    "__RNvCs1234_7mycrate3foo": "mycrate::foo",
    "_$s9SampleApp4ViewV6updateyyF": "View.update()",
    "_$s9SampleApp4ViewV4nameSSvg": "View.name.getter",
    "-[MLModel predictionFromFeatures:error:]": "-[MLModel predictionFromFeatures:error:]",
    "DYLD-STUB$$_espresso_plan_execute": "DYLD-STUB$$espresso_plan_execute",
    "DYLD-STUB$$__Z3addii": "DYLD-STUB$$add(int, int)",
    "__Znonsense": "_Znonsense",
    "_$snonsense": "$snonsense",
    "0x1234": "0x1234",
    "_": "0x100001011",
    "": "0x100001011",
    "日本": "日本",
}


@pytest.mark.slow
@pytest.mark.parametrize(("mangled", "shown"), MANGLED.items())
def test_names_without_a_display_name_are_demangled(mangled: str, shown: str) -> None:
    assert name_of(Symbol(0x1000, 0x100, mangled)) == shown


def test_an_address_in_no_function_is_no_name() -> None:
    """In a binary without symbols; its functions are named by their own address."""
    assert name_of(Symbol(0x1010, 1, "0x1010")) == "0x100001011"
    assert name_of(Symbol(0x1000, 0x100, "0x1000")) == "0x1000"


def test_a_display_name_is_shown_as_it_is() -> None:
    assert name_of(Symbol(0x1000, 0x100, "__Z3addii", "_my add")) == "_my add"


def test_functions_that_the_linker_folded_have_no_name() -> None:
    """Flag 0x800 of a symbol; which of the functions was called is not recorded."""
    image = loaded(Symbol(0x1000, 0x100, "_one", "one"))
    files = with_stacks(app_stack([AT]), images=[image]).files()
    record = struct.pack("<3I", 0x1000, 0x100, 0x33490061)
    assert files[ARCHIVE].count(record) == 1
    folded = struct.pack("<3I", 0x1000, 0x100, 0x33490061 | 0x800)
    files[ARCHIVE] = files[ARCHIVE].replace(record, folded)
    assert symbols_of(read(files)) == [["<deduplicated_symbol>"]]


def test_names_with_control_characters_stay_as_they_are() -> None:
    assert name_of(Symbol(0x1000, 0x100, "_a\x1b[31mb\x07\n", "a\x1b[31mb\x07\n")) == "a\x1b[31mb\x07\n"


def test_a_name_that_is_no_utf_8() -> None:
    files = with_stacks(app_stack([AT]), images=[loaded(Symbol(0x1000, 0x100, "_work", "w?rk"))]).files()
    files[ARCHIVE] = files[ARCHIVE].replace(b"w?rk", b"w\xffrk")
    assert symbols_of(read(files)) == [["w\N{REPLACEMENT CHARACTER}rk"]]


BOMBS = {
    "C++": cpp_bomb(18),
    "Rust": rust_bomb(25),
    "Swift": "_$s1a1bVyAAAAAAAAAA" + "AcCyAaBG" * 300,
    "long": "__Z" + "N1a" * 100_000 + "E",
    "pointers": "__Z1f" + "P" * 200_000 + "i",
    "nested arrays": "_$s" + "Say" * 100_000,
}


@pytest.mark.parametrize("name", BOMBS.values(), ids=BOMBS)
def test_names_that_would_spell_millions_stay_mangled(name: str) -> None:
    started = time.monotonic()
    shown = name_of(Symbol(0x1000, 0x100, name))
    assert shown == name.removeprefix("_")
    assert time.monotonic() - started < 5


# Inlined functions and source lines -----------------------------------------------------------------------


def test_the_innermost_inlined_function_and_its_line() -> None:
    call = Line(0, 0, "/src/app.c", 12)
    outer = Symbol(0x1000, 0x100, "_outer", "outer", (
        Symbol(0x1008, 0x40, "_middle", "middle", called_from=call),
        Symbol(0x1010, 0x10, "_inner", "inner", called_from=call),
    ))  # fmt: skip
    lines = Line(0x1000, 0x10, "/src/app.c", 10), Line(0x1010, 0x10, "/src/inner.h", 33)
    addresses = [TEXT_AT + offset + 1 for offset in (0x1000, 0x1008, 0x1010, 0x101F, 0x1020, 0x1048)]
    stacks = [app_stack([address]) for address in addresses]
    table = read(with_stacks(*stacks, images=[loaded(outer, lines=lines)]))
    frames = [frames_of(table, row, "value")[0] for row in range(6)]
    assert [(f["symbol"], f["inlined"], f["source_file"], f["source_line"]) for f in frames] == [
        ("outer", False, "/src/app.c", 10),
        ("middle", True, "/src/app.c", 10),
        ("inner", True, "/src/inner.h", 33),
        ("inner", True, "/src/inner.h", 33),
        ("middle", True, "", -1),
        ("outer", False, "", -1),
    ]


# Without symbols ------------------------------------------------------------------------------------------


def test_without_an_archive_the_address_is_the_name() -> None:
    image = loaded(Symbol(0x1000, 0x100, "_work", "work"))
    files = with_stacks(app_stack([AT], [AT]), images=[image]).files()
    source = source_of(without(files, ARCHIVE))
    table = read(source)
    assert symbols_of(table) == [[f"{AT:#x}", f"{AT - 1:#x}"]]
    assert [frame["binary"]["uuid"] for frame in frames_of(table, name="value")] == [str(BINARY)] * 2
    assert source.issues() == ()


def test_an_address_between_the_symbols_of_an_archive() -> None:
    assert (
        name_of(Symbol(0x1000, 0x10, "_before", "before"), Symbol(0x1011, 0x100, "_after", "after"))
        == f"{AT:#x}"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: b"", "is not a symbols archive of version 7"),
        (lambda data: b"\x08" + data[1:], "is not a symbols archive of version 7"),
        (lambda data: data[:0x60], "is cut off"),
        (lambda data: data[:-40], None),
        (lambda data: data[:16] + b"\xff\xff\xff\xff" + data[20:], "is cut off"),
        (lambda data: data[:0x54] + bytes(4) + data[0x58:], "has a name beyond its strings"),
        (lambda data: data.replace(b"work\0", b"workX"), None),
    ],
)
def test_a_damaged_archive_leaves_addresses_and_an_issue(change: Any, problem: str | None) -> None:
    image = loaded(Symbol(0x1000, 0x100, "_work", "work"))
    source = source_of(changed(with_stacks(app_stack([AT]), images=[image]).files(), ARCHIVE, change))
    (names,) = symbols_of(read(source))
    assert len(names) == 1
    if problem:
        assert names == [f"{AT:#x}"]
        assert issues_of(source, "symbols-damaged") == [
            f"{ARCHIVE} {problem}; its functions are shown as addresses"
        ]


def test_an_image_replaced_by_another_stays_an_address() -> None:
    """Only the time of the sample could decide between the two, and one stack has many times."""
    first = Loaded(binary(Symbol(0x1000, 0x100, "_one", "one")), binary().at(TEXT_AT), (0, 1000))
    image = binary(Symbol(0x1000, 0x100, "_two", "two"), uuid=UUID(int=2))
    second = Loaded(image, image.at(TEXT_AT), (1000, 2**63 - 1))
    source = source_of(with_stacks(app_stack([AT]), images=[first, second]))
    assert symbols_of(read(source)) == [[f"{AT:#x}"]]
    assert codes(source.issues()) == ["images-replaced"]
    assert source.issues()[0].count == 1


def test_an_image_that_came_back_is_one_image() -> None:
    image = binary(Symbol(0x1000, 0x100, "_one", "one"))
    twice = [Loaded(image, image.at(TEXT_AT), (0, 1000)), Loaded(image, image.at(TEXT_AT), (2000, 3000))]
    source = source_of(with_stacks(app_stack([AT]), images=twice))
    assert (symbols_of(read(source)), source.issues()) == ([["one"]], ())


def test_an_image_loaded_twice_at_two_places() -> None:
    image = binary(Symbol(0x1000, 0x100, "_one", "one"))
    twice = [Loaded(image, image.at(TEXT_AT)), Loaded(image, image.at(2 * TEXT_AT))]
    table = read(with_stacks(app_stack([AT, AT + TEXT_AT]), images=twice))
    assert symbols_of(table) == [["one", "one"]]
    assert table.stacks.binaries["load_address"].tolist() == [TEXT_AT, 2 * TEXT_AT]


def test_a_process_without_a_list_of_images() -> None:
    bundle = BundleWriter()
    run = new_run(bundle)
    run.load_nothing(APP)
    run.table("t", (CLOCK, STACK), [(0, app_stack([AT]))])
    assert symbols_of(read(bundle)) == [[f"{AT:#x}"]]
