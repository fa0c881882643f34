"""The arrows of the design: data moves one way, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(p for package in ("tracekit", "dashboard") for p in (ROOT / package).rglob("*.py"))

# A room may import itself and the rooms listed here. "version" stands for ``tracekit.__version__``.
ALLOWED = {
    "errors": set(),
    "text": set(),
    "model": {"errors"},
    "parsers": {"errors", "model"},
    "xctrace": {"errors", "model", "parsers"},
    "detect": {"errors", "parsers", "xctrace"},
    "load": {"errors", "model", "parsers", "detect"},
    "record": {"errors", "model", "parsers", "xctrace"},
    "analysis": {"errors", "text", "model"},
    "comparison": {"errors", "model", "analysis"},
    "checks": {"errors", "text", "model", "analysis", "comparison"},
    "redact": {"errors", "model", "parsers", "load", "analysis"},
    "verify": {"errors", "text", "model", "parsers", "version"},
    "export": {"errors", "text", "model", "parsers", "analysis", "version"},
    "report": {"errors", "text", "model", "analysis", "comparison", "checks", "version"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name for name in names if name.split(".")[0] in ("tracekit", "dashboard")}


def room(name: str) -> str:
    """Return the room of a module: the part after ``tracekit``, or "dashboard"."""
    parts = name.split(".")
    return parts[0] if parts[0] == "dashboard" else parts[1] if len(parts) > 1 else "version"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_follow_the_arrows(path: Path) -> None:
    name = module_name(path)
    home = room(name)
    rooms = {room(imported) for imported in imports_of(path)} - {home}
    assert home == "dashboard" or "dashboard" not in rooms
    if home in ALLOWED:
        assert rooms <= ALLOWED[home], name


def test_every_room_has_its_arrows() -> None:
    """A new folder under ``tracekit/`` states what it may import."""
    rooms = {room(module_name(path)) for path in MODULES}
    assert rooms - set(ALLOWED) == {"cli", "dashboard", "version", "__main__"}


def test_only_the_command_line_prints_or_exits() -> None:
    for path in MODULES:
        if "cli" not in path.parts:
            names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
            assert not names & {"print", "exit", "quit"}, path


@pytest.mark.parametrize("heavy", ["pandas", "numpy", "lxml", "pyarrow", "importlib.metadata"])
@pytest.mark.parametrize("module", ["tracekit", "tracekit.cli"])
def test_importing_is_cheap(module: str, heavy: str) -> None:
    """`import tracekit` and `tracekit --help` must not load what only the work needs."""
    code = f"import sys, {module}; sys.exit('{heavy}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What other commands and other inputs need, and what pandas can do without.
NOT_FOR_EXPORTS = {
    "tracekit.cli.record",
    "tracekit.export.perfetto",
    "tracekit.parsers.bundle.source",
    "tracekit.parsers.pack.source",
    "tracekit.report.html",
    "tracekit.xctrace",
    "dashboard",
    "dash",
    "flask",
    "google.protobuf",
    "importlib.metadata",
    "matplotlib",
    "multi_demangle",
    "plotly",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pydemumble",
    "sqlalchemy",
    "sqlite3",
}


def test_analysing_an_export_imports_no_more_than_it_needs() -> None:
    """Half of the time that `tracekit analyze` takes for a small export is imports."""
    code = (
        "import sys; from tracekit.cli import main; main(standalone_mode=False);"
        "sys.exit(' '.join(sys.modules))"  # on stderr
    )
    export = str(ROOT / "sample_traces" / "ane-e5rt-macos26")
    ran = subprocess.run(
        [sys.executable, "-c", code, "analyze", export], capture_output=True, text=True, check=False
    )
    loaded = set(ran.stderr.split())
    assert "tracekit.analysis.pipeline" in loaded, ran.stderr
    assert not loaded & NOT_FOR_EXPORTS


def test_the_public_names() -> None:
    import tracekit

    assert {"open_trace", "analyze", "Trace", "Analysis", "Engine", "__version__"} <= set(dir(tracekit))
    for name in tracekit.__all__:
        assert getattr(tracekit, name) is not None
    with pytest.raises(AttributeError):
        tracekit.nonsense  # noqa: B018
