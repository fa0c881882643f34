"""Decompression bombs: small bundles that expand to many bytes end in rows or in one sentence.

Each is read in a process of its own with bounded time and memory.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

BOMBS = Path(__file__).resolve().parents[2] / "support" / "bundle_bombs.py"
ZEROS = "zeros"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of memory to set"),
]


ENDS = {
    "a chunk that many stacks share": "error: recording.trace: 't' cannot be read: corespace/run1/core/uniquing/"
    "arrayUniquer/integeruniquer.data has stacks with 1990000000 frames in total",
    "a chunk that many stacks share, and padding": "far more than a file of a recording does",
    "names that share their bytes": "t 1, symbols-damaged",
    "names that double": "t 1\n",
    "names that grow": "t 1\n",
    "images that repeat": "t 1\n",
    "strings that double": "uniquing/strings holds no list of strings",
    "requirements that double": "time-profile 20\n",
    "messages that double": "typedArrayUniquer/integeruniquer.data has a composite value longer than",
    "messages that double too often": "typedArrayUniquer/integeruniquer.data has a composite value longer than",
    "messages of ten messages": "typedArrayUniquer/integeruniquer.data has a composite value longer than",
    "a schema": "table-damaged",
    "many objects": "time-profile 20",
}


def started(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BOMBS), name]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """Start the bombs of the selected tests, two at a time."""
    names = dict.fromkeys(
        item.callspec.params["name"]  # type: ignore[attr-defined]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    )
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(started, name) for name in names}


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


@pytest.mark.parametrize("name", ENDS)
def test_a_bomb(results: dict[str, Future[subprocess.CompletedProcess[str]]], name: str) -> None:
    result = results[name].result()
    assert (result.returncode, last_line(result.stderr)) == (0, "")
    assert ENDS[name] in result.stdout


@pytest.mark.parametrize("name", [ZEROS])
def test_a_gigabyte_of_zeros_in_place_of_a_file(
    results: dict[str, Future[subprocess.CompletedProcess[str]]], name: str
) -> None:
    result = results[name].result()
    assert (result.returncode, last_line(result.stderr)) == (0, "")
    ends = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert len(ends) == 19
    assert sorted(file.rpartition("/")[2] for file, end in ends.items() if end == "time-profile 20") == [
        "EngineeringTypes.etypes",  # nothing in this bundle needs it, or the next ones
        "MANIFEST.plist",
        "MANIFEST.plist",
        "TOC",
        "exposedTableInfo.plist",
        "integeruniquer.data",
        "integeruniquer.index",
        "open.creq",
        "spec.plist",  # the list of tables has the same content
    ]
    assert "unpacks to more than" in ends["corespace/run1/core/uniquing/strings"]
