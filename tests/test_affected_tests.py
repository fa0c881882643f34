"""``make affected``: the tests that a change can reach, in a small tree."""

from __future__ import annotations

from pathlib import Path

import affected_tests
import pytest

TREE = {
    "tracekit/__init__.py": "",
    "tracekit/__main__.py": "from tracekit import cli",
    "tracekit/cli.py": "def load(name):\n    return import_module(f'tracekit.commands.{name}')",
    "tracekit/commands/__init__.py": "",
    "tracekit/commands/check.py": "from tracekit.requirements import parse",
    "tracekit/requirements.py": "def parse():\n    from tracekit import text",
    "tracekit/text.py": "from tracekit import __version__",
    "tracekit/style.py": "SHEETS = ('page.css',)",
    "tracekit/assets/page.css": "",
    "tests/conftest.py": "import fixtures",
    "tests/support/fixtures.py": "",
    "tests/support/samples.py": "FOLDER = 'sample_traces'",
    "tests/test_requirements.py": "from tracekit.requirements import parse",
    "tests/test_process.py": "COMMAND = [python, '-m', 'tracekit', 'check']",
    "tests/test_style.py": "import tracekit.style",
    "tests/test_samples.py": "from samples import FOLDER",
    "sample_traces/waiting/toc.xml": "",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(affected_tests, "ROOT", tmp_path)
    monkeypatch.setattr(affected_tests, "SEARCH_PATH", (tmp_path, tmp_path / "tests/support"))
    affected_tests._files_of.cache_clear()
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("tracekit/text.py", ["test_process", "test_requirements"]),  # through functions and names of modules
        ("tracekit/cli.py", ["test_process"]),
        ("tracekit/assets/page.css", ["test_style"]),
        ("sample_traces/waiting/toc.xml", ["test_samples"]),
        ("tests/test_style.py", ["test_style"]),
        ("tests/support/fixtures.py", ["test_process", "test_requirements", "test_samples", "test_style"]),
        ("tracekit/gone.py", []),
    ],
)
def test_tests_that_reach_a_changed_file_are_affected(changed: str, expected: list[str], tree: Path) -> None:
    assert [path.stem for path in affected_tests.affected_tests({tree / changed})] == expected
