"""Frames that a recording holds as addresses get names from files of the same build, and from no other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from kdebug_files import image_event, sample, write_version_2
from macho_support import OTHER_UUID, UUID_OF_APP, dsym, dwarf_5, fat, macho, recording

import tracekit
from tracekit.cli import main
from tracekit.errors import InputError
from tracekit.model.trace import Trace

# Of the dSYM, by llvm-symbolizer --inlines. The leaf is the program counter + 1, a caller returns behind its call.
LEAF, IN_MAIN, IN_HELPER = 0x2F1, 0x338, 0x368
STACK = (LEAF, IN_MAIN)


def frames_of(trace: Trace, stack: int = 0) -> list[tuple[str, str, int, bool]]:
    """Return (symbol, file, line, inlined) of each frame of a stack, leaf first."""
    rows = trace.stacks.frames.iloc[trace.stacks.stack(stack)]
    columns = ("symbol", "source_file", "source_line", "inlined")
    return [tuple(row) for row in rows[list(columns)].itertuples(index=False)]  # type: ignore[misc]


def symbols_of(trace: Trace, stack: int = 0) -> list[str]:
    return [frame[0] for frame in frames_of(trace, stack)]


def messages(trace: Trace) -> dict[str, str]:
    return {issue.code: issue.message for issue in trace.issues}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def document(*arguments: str) -> Any:
    result = run("analyze", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_dsym_gives_names_lines_and_inlined_functions(tmp_path: Path) -> None:
    trace = tracekit.open_trace(recording(tmp_path, STACK, (IN_HELPER,)), symbols=[dsym(tmp_path)])
    assert frames_of(trace) == [
        ("scale", "/src/app.c", 2, True),
        ("twice", "/src/app.c", 5, True),
        ("predict", "/src/app.c", 8, False),
        ("main", "/src/app.c", 16, False),
    ]
    assert frames_of(trace, 1) == [("helper", "/src/cxx.cpp", 2, False)]
    addresses = trace.stacks.frames["address"].iloc[trace.stacks.stack(0)].tolist()
    assert addresses == [0x1_0234_02F1] * 3 + [0x1_0234_0338]
    assert messages(trace)["symbols-added"] == (
        "3 addresses of App got a name from App.dSYM, matched by UUID; 3 of them with the line in the source"
    )


def test_debug_information_of_version_5_is_read(tmp_path: Path) -> None:
    # By llvm-symbolizer --inlines 0x210120 0x210180 0x2101a0.
    export = recording(tmp_path, (0x121,), (0x181,), (0x1A1,), identity=OTHER_UUID)
    trace = tracekit.open_trace(export, symbols=[dwarf_5(tmp_path)])
    assert "symbols-unreadable" not in messages(trace)
    assert frames_of(trace) == [
        ("scale", "/src/app.c", 2, True),
        ("twice", "/src/app.c", 5, True),
        ("predict", "/src/app.c", 8, False),
    ]
    assert [symbols_of(trace, stack) for stack in (1, 2)] == [["helper"], ["net::Layer::run(int volatile*)"]]


@pytest.mark.parametrize(
    ("offset", "symbol"),
    [
        (0x2F1, "scale"),
        (0x308, "predict"),
        (0x309, "_hidden_start"),
        (0x36D, "net::Layer::run(int volatile*)"),
    ],
)
def test_an_address_belongs_to_the_function_one_byte_below(tmp_path: Path, offset: int, symbol: str) -> None:
    # As a caller 0x308 is where predict's last call returns to, although _hidden_start begins there.
    trace = tracekit.open_trace(recording(tmp_path, (LEAF, offset)), symbols=[dsym(tmp_path)])
    assert symbols_of(trace)[3] == symbol


def test_a_leaf_at_a_multiple_of_four_is_a_program_counter_itself(tmp_path: Path) -> None:
    trace = tracekit.open_trace(recording(tmp_path, (0x308,)), symbols=[dsym(tmp_path)])
    assert symbols_of(trace) == ["_hidden_start"]


def test_a_binary_gives_names_without_lines(tmp_path: Path) -> None:
    binary = tmp_path / "App"
    binary.write_bytes(
        macho([(0x1000, "_first"), (0x1010, "_second"), (0x1010, "ltmp1"), (0x1020, "-[Model run]")])
    )
    trace = tracekit.open_trace(recording(tmp_path, (0x1011, 0x1028, 0x1010)), symbols=[binary])
    assert frames_of(trace) == [
        ("second", "", -1, False),
        ("-[Model run]", "", -1, False),
        ("first", "", -1, False),
    ]


def test_a_function_without_a_symbol_does_not_get_the_name_of_the_one_before(tmp_path: Path) -> None:
    binary = tmp_path / "App"
    binary.write_bytes(macho([(0x1000, "_public")], starts=(0x1000, 0x1010), code=(0x1000, 0x100)))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001, 0x1018, 0x1108)), symbols=[binary])
    assert symbols_of(trace) == ["public", "0x102341018", "0x102341108"]


def test_the_fitting_architecture_of_a_fat_binary_is_used(tmp_path: Path) -> None:
    binary = tmp_path / "App"
    binary.write_bytes(fat(macho([(0x1000, "_wrong")], OTHER_UUID), macho([(0x1000, "_right")])))
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[binary])
    assert symbols_of(trace) == ["right"]


def test_a_folder_is_searched(tmp_path: Path) -> None:
    archive = tmp_path / "Builds" / "App.xcarchive" / "dSYMs"
    archive.mkdir(parents=True)
    dsym(archive)
    (tmp_path / "Builds" / "notes.txt").write_text("UUID: of nothing")
    trace = tracekit.open_trace(recording(tmp_path, STACK), symbols=[tmp_path / "Builds"])
    assert symbols_of(trace)[0] == "scale"
    assert "symbols-unreadable" not in messages(trace)


def test_a_zip_of_dsyms_is_read(tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "dSYMs"), "zip", tmp_path, dsym(tmp_path).name)
    trace = tracekit.open_trace(recording(tmp_path, STACK), symbols=[packed])
    assert symbols_of(trace)[0] == "scale"
    assert "from App.dSYM, matched by UUID" in messages(trace)["symbols-added"]


def test_a_symbol_map_gives_names(tmp_path: Path) -> None:
    symbol_map = tmp_path / "App.symbols"
    symbol_map.write_text(
        f"UUID: {UUID_OF_APP.lower()} (arm64) App\n0000000100000000 T __mh_execute_header\n\nno line of a map\n"
        "0000000100001000 T _first\n0x100001010 0000000000000010 t __ZN3net3runEi\n0000000100001010 D _data\n"
        f"UUID: {OTHER_UUID} (x86_64) App\n0000000000001000 T _other\n"
    )
    trace = tracekit.open_trace(recording(tmp_path, (0x1001, 0x1018)), symbols=[symbol_map])
    assert symbols_of(trace) == ["first", "net::run(int)"]


def test_a_symbol_map_may_name_where_its_addresses_begin(tmp_path: Path) -> None:
    symbol_map = tmp_path / "map.txt"
    symbol_map.write_text(f"uuid {UUID_OF_APP}\nbase 0x5000\n6000 T _first\n")
    trace = tracekit.open_trace(recording(tmp_path, (0x1001,)), symbols=[symbol_map])
    assert symbols_of(trace) == ["first"]


def test_a_dsym_of_another_build_is_refused(tmp_path: Path) -> None:
    trace = tracekit.open_trace(recording(tmp_path, STACK, identity=OTHER_UUID), symbols=[dsym(tmp_path)])
    assert symbols_of(trace) == ["0x1023402f1", "0x102340338"]
    assert messages(trace)["symbols-of-other-build"] == (
        f"App.dSYM is of another build of App and was not used: its UUID is {UUID_OF_APP}, the recording's is"
        f" {OTHER_UUID}"
    )


def test_files_that_name_nothing_are_listed(tmp_path: Path) -> None:
    binary = tmp_path / "Tool"
    binary.write_bytes(macho([(0x1000, "_run")], OTHER_UUID))
    trace = tracekit.open_trace(recording(tmp_path, STACK), symbols=[dsym(tmp_path), binary])
    assert messages(trace)["symbols-unused"] == "1 file of symbols names no address of this recording: Tool"
    assert "symbols-of-other-build" not in messages(trace)


def test_names_that_were_recorded_stay(tmp_path: Path) -> None:
    export = Path(recording(tmp_path, STACK))
    export.write_text(export.read_text().replace('name="0x1023402f1"', 'name="recorded"'))
    trace = tracekit.open_trace(str(export), symbols=[dsym(tmp_path)])
    assert symbols_of(trace) == ["recorded", "main"]


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        tracekit.open_trace(recording(tmp_path, STACK), symbols=[tmp_path / "missing.dSYM"])
    result = run("analyze", recording(tmp_path, STACK), "--symbols", str(tmp_path / "missing.dSYM"))
    assert result.exit_code == 3
    assert "missing.dSYM: does not exist" in result.output


def test_rules_see_the_names(tmp_path: Path) -> None:
    export = recording(tmp_path, STACK)
    assert document(export)["engines"]["UNKNOWN"]["samples"] == 1
    engines = document(export, "--symbols", str(dsym(tmp_path)))["engines"]
    assert (engines["UNKNOWN"]["samples"], engines["OTHER"]["samples"]) == (0, 1)


def test_every_command_that_analyzes_takes_symbols(tmp_path: Path) -> None:
    export, symbols = recording(tmp_path, STACK), str(dsym(tmp_path))
    for command in (
        ["report", export, "-o", str(tmp_path / "report.html")],
        ["export", export, "--to", "folded", "-o", str(tmp_path / "out.folded")],
        ["check", export, "--require", "issues symbols-added == 2"],
    ):
        result = run(*command, "--symbols", symbols)
        assert result.exit_code == 0, (command, result.output)
    assert "App`main;App`predict;App`twice;App`scale 1000000" in (tmp_path / "out.folded").read_text()
    assert run("compare", export, export, "--symbols", symbols).exit_code == 0
    assert run("compare", export, export, "--symbols", f"{symbols}.missing").exit_code == 3


def test_a_pack_keeps_the_names(tmp_path: Path) -> None:
    export, pack = recording(tmp_path, STACK), str(tmp_path / "X.tracekit.zip")
    result = run("pack", export, "--symbols", str(dsym(tmp_path)), "-o", pack)
    assert result.exit_code == 0, result.output
    assert frames_of(tracekit.open_trace(pack))[0] == ("scale", "/src/app.c", 2, True)


def test_redaction_sees_the_names(tmp_path: Path) -> None:
    secret = tmp_path / "App"
    secret.write_bytes(macho([(0x1000, "-[Mail /Users/jane/Secret]")]))
    export = recording(tmp_path, (0x1001,))
    pack = str(tmp_path / "X.tracekit.zip")
    assert run("pack", export, "--redact", "--symbols", str(secret), "-o", pack).exit_code == 0
    assert "jane" not in symbols_of(tracekit.open_trace(pack))[0]


def test_binaries_without_symbols_are_listed(tmp_path: Path) -> None:
    export = recording(tmp_path, STACK, (LEAF,), STACK)
    missing = document(export)["samples"]["binaries_without_symbols"]
    assert missing == [
        {
            "name": "App",
            "uuid": UUID_OF_APP,
            "arch": "arm64",
            "path": "/Apps/App",
            "addresses": 2,
            "samples": 3,
        }
    ]
    text = run("analyze", export).output
    assert f"1 binary lacks symbols: App ({UUID_OF_APP}) in 3 samples" in " ".join(text.split())
    assert f"tracekit analyze {export} --symbols PATH" in text
    page = tmp_path / "report.html"
    assert run("report", export, "-o", str(page)).exit_code == 0
    assert "Binaries without symbols" in page.read_text()
    assert f"com_apple_xcode_dsym_uuids == {UUID_OF_APP}" in page.read_text()
    assert document(export, "--symbols", str(dsym(tmp_path)))["samples"]["binaries_without_symbols"] == []


REAL = Path(__file__).resolve().parents[3] / "shared" / "traces"


@pytest.mark.integration
@pytest.mark.skipif(not REAL.is_dir(), reason="needs the collection of recordings")
def test_real_recordings_name_their_binaries_without_symbols() -> None:
    yes = tracekit.analyze(tracekit.open_trace(REAL / "xml/CharlesWiltgen__Axiom/cpu-profile.xml"))
    (binary,) = yes.binaries_without_symbols
    assert (binary.name, binary.uuid, binary.addresses, binary.samples) == (
        "yes",
        "A0E2EAD5-4E82-3E1C-AC6C-1EDC646A6C4D",
        2,
        21,
    )
    finder = tracekit.open_trace(REAL / "bundles/robtaylor__apple-profiler/finder.trace.zip")
    (library,) = tracekit.analyze(finder).binaries_without_symbols
    assert (library.name, library.is_system, library.addresses) == ("libicucore.A.dylib", True, 3)


def test_a_moved_dsym_works(tmp_path: Path) -> None:
    shutil.move(dsym(tmp_path), tmp_path / "elsewhere")
    trace = tracekit.open_trace(recording(tmp_path, STACK), symbols=[tmp_path / "elsewhere"])
    assert symbols_of(trace)[-1] == "main"


def test_a_binary_known_by_its_uuid_takes_the_name_of_its_build(tmp_path: Path) -> None:
    events = [image_event(0, UUID_OF_APP, 0x1_0234_0000), *sample(1, [0x1_0234_02F0, 0x1_0234_0338])]
    stream = tmp_path / "app.ktrace"
    stream.write_bytes(write_version_2(events, [(1, 42, "App")]))
    trace = tracekit.open_trace(stream, symbols=[dsym(tmp_path)])
    assert symbols_of(trace) == ["scale", "twice", "predict", "main"]
    assert trace.stacks.binaries["name"].tolist() == ["App"]
