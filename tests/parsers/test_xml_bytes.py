"""The scanner's functions on bytes give the results of plain loops, on every kind of processor available."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration  # compiles a program and runs it
HERE = Path(__file__).resolve().parent
HEADERS = HERE.parents[1] / "tracekit" / "parsers" / "xml" / "scan_source"
WAYS = {
    "this machine": ("cc", [], []),
    "without SIMD": ("cc", ["-DTRACEKIT_NO_SIMD"], []),
    "arm64": ("aarch64-linux-gnu-gcc", ["-static"], ["qemu-aarch64"]),
}


def build(way: str, program: Path) -> subprocess.CompletedProcess[str]:
    compiler, options, run = WAYS[way]
    missing = [tool for tool in (compiler, *run) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"there is no {missing[0]}")
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", *options]
    command = [compiler, *flags, str(HERE / "bytes_check.c"), "-o", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("way", WAYS)
def test_words_are_read_as_byte_by_byte(way: str, tmp_path: Path) -> None:
    built = build(way, tmp_path / "check")
    assert built.returncode == 0, built.stderr
    run = [*WAYS[way][2], str(tmp_path / "check")]
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    if way != "this machine":
        assert result.stdout.strip() == ("NEON" if way == "arm64" else "byte by byte")
