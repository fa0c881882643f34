"""The dashboard's own JavaScript, as far as it needs no browser: node's test runner on the files beside this one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from browser_support import missing
from dashboard_support import ROOT

HERE = Path(__file__).resolve().parent
MODULES = sorted((ROOT / "dashboard" / "tracekit_dashboard" / "assets").rglob("*.js"))


@pytest.mark.integration
def test_the_modules_pass_their_tests() -> None:
    node = shutil.which("node") or missing("node is not installed: the dashboard's JavaScript is not tested")
    command = [node, "--test", "--test-reporter=tap", *sorted(map(str, HERE.glob("*.test.mjs")))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = dict(re.findall(r"^# (tests|pass) (\d+)$", done.stdout, re.MULTILINE))
    assert counted["tests"] == counted["pass"]
    assert int(counted["tests"]) > 20


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_module_makes_markup_or_code_from_text_or_asks_elsewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text
    )
    assert not re.search(r"https?://", text)
    assert len(text.splitlines()) < 300


def test_top_level_names_are_unique_over_both_folders() -> None:
    """The modules are joined to one file, in which a second declaration of a name stops every page."""
    declared = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
    modules = [*MODULES, *(ROOT / "tracekit" / "report" / "assets").rglob("*.js")]
    owners = Counter(name for path in modules for name in declared.findall(path.read_text("utf-8")))
    assert [name for name, count in owners.items() if count > 1] == []
