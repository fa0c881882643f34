"""``tracekit export``: formats by name and by extension, options that fit, outputs that are whole or not there."""

from __future__ import annotations

import builtins
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tracekit.cli import main
from tracekit.cli.export import export_command
from tracekit.export.export_view import ROOTS
from tracekit.installation import format_install_command

pytestmark = pytest.mark.integration

FALLBACK = Path(__file__).resolve().parents[2] / "sample_traces" / "fallback-midway-ios27"
MISSING = {"pprof": "google", "perfetto": "perfetto"}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.folded", b"SampleApp (390);"),
        ("x.collapsed", b"SampleApp (390);"),
        ("X.Speedscope.JSON", b'{"$schema": "https://www.speedscope.app'),
        ("x.profile.json", b'{"meta":{"interval":1.0,'),
        ("x.csv", b"time_ns,weight_ns,process,"),
        ("x.parquet", b"PAR1"),
        ("x.pb.gz", b"\x1f\x8b"),
        ("x.pprof", b"\x1f\x8b"),
        ("x.pftrace", b"\n"),
        ("x.perfetto-trace", b"\n"),
    ],
)
def test_the_format_follows_the_extension(name: str, begins: bytes, tmp_path: Path) -> None:
    if name.endswith((".pb.gz", ".pprof")):
        pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    if name.endswith(("pftrace", "perfetto-trace")):
        pytest.importorskip("perfetto", reason="perfetto is not installed")
    result = run(FALLBACK, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"Wrote {tmp_path / name}\n"
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.folded", "x.speedscope.json", "x.profile.json", "x.csv"])
def test_a_text_format_is_compressed_where_the_name_ends_in_gz(name: str, tmp_path: Path) -> None:
    assert run(FALLBACK, "-o", tmp_path / name).exit_code == 0
    assert run(FALLBACK, "-o", tmp_path / f"{name}.gz").exit_code == 0
    packed = (tmp_path / f"{name}.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / name).read_bytes()
    assert run(FALLBACK, "-f", "-o", tmp_path / f"{name}.gz").exit_code == 0
    assert (tmp_path / f"{name}.gz").read_bytes() == packed


@pytest.mark.parametrize("to", ["folded", "speedscope", "firefox", "csv"])
def test_text_goes_to_standard_output(to: str) -> None:
    result = run(FALLBACK, "--to", to)
    assert (result.exit_code, result.stderr) == (0, "")
    assert b"SampleApp" in result.stdout_bytes


def test_the_format_requested_goes_before_the_extension(tmp_path: Path) -> None:
    assert run(FALLBACK, "--to", "speedscope", "-o", tmp_path / "x.json").exit_code == 0
    assert len(json.loads((tmp_path / "x.json").read_text())["profiles"]) == 4


def test_options_of_the_analysis_choose_what_is_exported() -> None:
    exported = run(
        FALLBACK, "--to", "folded", "--root", "window", "--window", "0-100ms", "--thread", "Main Thread"
    )
    names = {line.split(";")[0] for line in exported.stdout.splitlines()}
    assert names == {"[range 1 (0-100ms)]", "[no range]"}


@pytest.mark.parametrize("root", ROOTS)
def test_every_root_can_be_chosen(root: str) -> None:
    assert run(FALLBACK, "--to", "folded", "--root", root).exit_code == 0
    (option,) = [parameter for parameter in export_command.params if parameter.name == "root"]
    assert root in option.help  # type: ignore[attr-defined]


def test_tables() -> None:
    assert run(FALLBACK, "--to", "csv", "--table", "windows").stdout.startswith("window_id,call,label,model,")
    assert len(run(FALLBACK, "--to", "csv", "--table", "windows").stdout.splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Choose a format with --to: folded, speedscope, pprof"),
        (("-o", "x.json"), "x.json: the extension names no format (.folded"),
        (("-o", "x.pftrace.gz"), "the extension names no format"),
        (("--to", "folded", "--table", "samples"), "--table is for csv and parquet, not for folded."),
        (("--to", "csv", "--root", "engine"), "--root is for folded and speedscope, not for csv."),
        (("--to", "folded", "--root", "engine,fruit"), "--root 'fruit' is not one of process, thread,"),
        (("-o", "/nowhere/x.csv"), "its folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_reported_before_anything_is_read(
    arguments: tuple[str, ...], message: str
) -> None:
    result = run("/nowhere/at/all.trace", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("to", ["pprof", "perfetto", "parquet"])
def test_what_is_no_text_does_not_go_to_a_terminal(to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import tracekit.cli.export as command

    class Terminal:
        def isatty(self) -> bool:
            return True

    class System:
        stdout = Terminal()

    monkeypatch.setattr(command, "sys", System)
    result = run(FALLBACK, "--to", to)
    assert result.exit_code == 2
    assert "is a binary format: write it to a file with -o FILE" in result.stderr


@pytest.mark.parametrize("to", MISSING)
def test_a_library_that_is_missing_is_named_with_what_to_do(to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == MISSING[to]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **more)

    for module in [
        name for name in sys.modules if name.startswith(("tracekit.export.pprof", "tracekit.export.perfetto"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    result = run("/nowhere/at/all.trace", "--to", to)
    assert result.exit_code == 2
    assert f"--to {to} needs the package" in result.stderr
    assert format_install_command(to) in result.stderr


def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracekit.export import folded

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folded, "write_folded", fail)
    result = run(FALLBACK, "-o", tmp_path / "x.folded")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("mine")
    assert run(FALLBACK, "-o", tmp_path / "x.csv").exit_code == 2
    assert (tmp_path / "x.csv").read_text() == "mine"


@pytest.mark.parametrize("name", ["x.folded", "x.csv", "x.pftrace"])
def test_a_recording_without_samples_gives_a_file_and_a_warning(name: str, tmp_path: Path) -> None:
    if name.endswith("pftrace"):
        pytest.importorskip("perfetto", reason="perfetto is not installed")
    result = run(FALLBACK / "ane-hw-intervals.xml", "-o", tmp_path / name)
    assert (result.exit_code, "has no samples" in result.stderr) == (0, True)
    assert "has no samples" not in run(FALLBACK, "-o", tmp_path / f"full-{name}").stderr


def test_another_table_than_samples_needs_no_warning(tmp_path: Path) -> None:
    result = run(FALLBACK / "ane-hw-intervals.xml", "-o", tmp_path / "x.csv", "--table", "intervals")
    assert (result.exit_code, result.stderr) == (0, f"Wrote {tmp_path / 'x.csv'}\n")
