"""The page's JavaScript, as far as it needs no browser: node's own test runner on tests/js."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from browser_support import missing

TESTS = Path(__file__).resolve().parents[1] / "js"
OLDEST_NODE = (20, 19)  # reads .js files as modules without being told


def node() -> str:
    node_path = shutil.which("node")
    if node_path is None:
        missing("node is not installed: the page's JavaScript is not tested (Debian: apt-get install nodejs)")
    version = subprocess.run(
        [node_path, "--version"], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_NODE:
        missing(f"node {version.strip()} is too old for the tests of the page's JavaScript: 20.19 or later")
    return node_path


@pytest.mark.integration
def test_the_modules_pass_their_tests() -> None:
    files = sorted(map(str, TESTS.glob("*.test.mjs")))
    command = [node(), "--test", "--test-reporter=tap", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = {
        name: int(count)
        for name, count in re.findall(r"^# (tests|pass|fail) (\d+)$", done.stdout, re.MULTILINE)
    }
    assert counted["tests"] == counted["pass"] > 100, counted
