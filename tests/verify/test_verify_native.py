"""``verify-native``: what it calls equal, what it calls different, and what its report may not hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from documents_support import SHARED, without_commands

from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.report.analysis.json import to_dict
from tracekit.verify.table_match import TableMatch, _verify_table, verify
from tracekit.verify.verification_report import format_matrix, format_report

pytestmark = pytest.mark.integration

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
BUNDLE = SAMPLES / "gpu-mpsgraph-macos15-bundle" / "recording.trace"


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Return the exports of the tables that the bundle has; its twin has GPU tables as well."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for name in ("toc.xml", "time-profile.xml"):
        copy(SAMPLES / "gpu-mpsgraph-macos15" / name, folder)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["verify-native", *arguments])


def compared(change: Any) -> TableMatch:
    """The sample's own table against itself, changed."""
    table = next(open_source(BUNDLE).tables("time-profile"))
    return _verify_table(table, change(table))


def with_cell(table: Any, column: str, row: int, value: Any) -> Any:
    rows = table.rows.copy()
    rows[column] = rows[column].astype(object)
    rows.loc[row, column] = value
    return replace(table, rows=rows)


def test_the_sample_bundle_is_its_exports_twin(exports: Path) -> None:
    (match,) = verify(open_source(BUNDLE), open_source(exports))
    assert (match.schema, match.status, match.native_rows, match.export_rows) == (
        "time-profile",
        "equal",
        289,
        289,
    )
    assert [column.different for column in match.columns] == [0] * 7


def test_the_sample_bundle_gives_the_analysis_of_its_exports(exports: Path) -> None:
    from tracekit import analyze, open_trace

    native, exported = (without_commands(to_dict(analyze(open_trace(path)))) for path in (BUNDLE, exports))
    for document in (native, exported):  # what is missing rests on the evidence, which is left out as well
        document["findings"] = [f for f in document["findings"] if f["kind"] != "instruments-missing"]
    for key in ("input", "evidence", "issues"):
        del native[key], exported[key]
    every, seen = native["recording"].pop("cores"), exported["recording"].pop("cores")
    assert native == exported
    assert {core: every[core] for core in seen} == seen  # an export names the cores of its rows only


def test_one_other_number_is_one_different_cell() -> None:
    match = compared(lambda table: with_cell(table, "weight", 3, 7))
    assert (match.status, match.different_cells) == ("different", 1)
    assert [c.mnemonic for c in match.columns if c.different] == ["weight"]


def test_null_is_not_zero() -> None:
    assert compared(lambda table: with_cell(table, "core", 0, pd.NA)).different_cells == 1


def test_a_row_less_is_a_difference() -> None:
    match = compared(lambda table: replace(table, rows=table.rows.iloc[:-1]))
    assert (match.status, match.different_cells, match.export_rows) == ("different", 0, 288)
    assert "different numbers of rows" in format_matrix([match])


def test_rows_of_equal_times_may_come_in_another_order() -> None:
    def swapped(table: Any) -> Any:
        rows = table.rows.copy()
        rows["time"] = 5
        return replace(table, rows=rows)

    table = swapped(next(open_source(BUNDLE).tables("time-profile")))
    reversed_table = replace(table, rows=table.rows.iloc[::-1].reset_index(drop=True))
    assert _verify_table(table, reversed_table).status == "other order"


def test_another_symbol_address_or_depth_is_distinguished() -> None:
    def renamed(table: Any) -> Any:
        frames = table.stacks.frames.assign(symbol="other")
        return replace(table, stacks=replace(table.stacks, frames=frames))

    stack = compared(renamed).columns[-1]
    renamed_rows = stack.aspects["symbols"]
    assert renamed_rows > 200
    assert stack.aspects == {
        "depth": 0,
        "addresses": 0,
        "symbols": renamed_rows,
        "binaries": 0,
        "named only natively": 0,
    }

    def moved(table: Any) -> Any:
        frames = table.stacks.frames
        frames = frames.assign(address=frames["address"] + 1)
        return replace(table, stacks=replace(table.stacks, frames=frames))

    stack = compared(moved).columns[-1]
    assert stack.aspects["addresses"] == stack.different > 200
    assert stack.aspects["symbols"] == 0


def test_a_name_where_the_export_has_an_address_is_no_difference() -> None:
    def bare(table: Any) -> Any:
        frames = table.stacks.frames.assign(symbol="0x1", binary_id=-1)
        frames["binary_id"] = frames["binary_id"].astype("int32")
        return replace(table, stacks=replace(table.stacks, frames=frames))

    match = compared(bare)
    assert match.status == "equal"
    assert match.columns[-1].aspects["named only natively"] > 200
    assert "named only natively" in format_matrix([match])


def test_other_columns_are_a_difference() -> None:
    match = compared(lambda table: replace(table, columns=table.columns[:-1]))
    assert (match.status, match.note) == ("different", "the columns differ")


def test_a_table_that_the_bundle_lacks_is_missing() -> None:
    native = open_source(BUNDLE)
    exported = open_source(SAMPLES / "ane-e5rt-macos26")
    statuses = {match.schema: match.status for match in verify(native, exported)}
    assert statuses["ane-hw-intervals-internal"] == "missing"


def test_the_report_holds_nothing_that_was_recorded(exports: Path) -> None:
    native, exported = open_source(BUNDLE), open_source(exports)
    text = format_report(verify(native, exported), native.toc())
    table = next(native.tables("time-profile"))
    private = {*table.stacks.symbols, *table.stacks.binaries["path"], *table.threads["name"]}
    private |= {*table.threads["process"], native.toc()[0].info.device, native.name}
    assert len(private) > 50
    assert not [word for word in private if len(word) > 3 and word in text]
    document = json.loads(text)
    assert document["schema"] == "tracekit-verify-native/1"
    assert document["tables"][0]["columns"][0] == {
        "mnemonic": "time",
        "engineering_type": "sample-time",
        "kinds": ["int", "int"],
        "different": 0,
        "aspects": {},
    }


def test_the_command(exports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(str(BUNDLE), "--exports", str(exports))
    assert result.exit_code == 0, result.output
    assert "1  time-profile          289          289  equal" in result.stdout
    assert "1 table compared: 1 equal." in result.stdout
    assert (tmp_path / "recording.trace.verify.json").exists()
    again = run(str(BUNDLE), "--exports", str(exports))
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run(str(BUNDLE), "--exports", str(exports), "--report", "-").exit_code == 0


def test_a_difference_is_exit_code_1(exports: Path, tmp_path: Path) -> None:
    changed = (exports / "time-profile.xml").read_text().replace(">1000000</weight>", ">1000001</weight>", 1)
    (tmp_path / "time-profile.xml").write_text(changed)
    result = run(str(BUNDLE), "--exports", str(tmp_path), "--report", "-")
    assert result.exit_code == 1
    assert "different" in result.stdout


@pytest.mark.parametrize("exports", [BUNDLE, BUNDLE.parent])
def test_a_bundle_is_no_export_of_itself(exports: Path) -> None:
    result = run(str(BUNDLE), "--exports", str(exports), "--report", "-")
    assert result.exit_code == 2
    assert "is a bundle: --exports names exports that xctrace made of it" in result.stderr


def test_exports_are_no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = run(str(BUNDLE.parents[1] / "gpu-mpsgraph-macos15"), "--report", "-")
    assert result.exit_code == 2
    assert "is not a .trace bundle: only a bundle can be read" in result.stderr


def test_without_xctrace_and_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    result = run(str(BUNDLE), "--report", "-")
    assert result.exit_code == 4
    assert "xctrace was not found" in result.stderr


@pytest.mark.skipif(not SHARED.is_dir(), reason="no collection of real recordings beside the checkout")
def test_a_real_recording_is_equal() -> None:
    folder = SHARED / "traces" / "bundles" / "robtaylor__apple-profiler"
    (match,) = verify(
        open_source(folder / "finder.trace.zip"), open_source(folder / "xml" / "finder_cpu_profile.xml")
    )
    assert (match.schema, match.status, match.native_rows) == ("cpu-profile", "equal", 91)
