"""The arrows of the design: data moves one way, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(p for package in ("tracekit", "dashboard") for p in (ROOT / package).rglob("*.py"))

# A package may import itself and what stands here.
ALLOWED = {
    "tracekit.errors": set(),
    "tracekit.engines": set(),
    "tracekit.model": {"tracekit.errors", "tracekit.engines"},
    "tracekit.parts": set(),
    "tracekit.parsers": {"tracekit.errors", "tracekit.engines", "tracekit.model", "tracekit.parts"},
    "tracekit.xctrace": {"tracekit.errors", "tracekit.engines", "tracekit.model", "tracekit.parsers"},
    "tracekit.sources": {"tracekit.errors", "tracekit.parsers", "tracekit.xctrace"},
    "tracekit.load": {"tracekit.errors", "tracekit.model", "tracekit.parsers", "tracekit.sources"},
    "tracekit.analysis": {"tracekit.errors", "tracekit.engines", "tracekit.model"},
    "tracekit.export": {
        "tracekit",
        "tracekit.errors",
        "tracekit.engines",
        "tracekit.model",
        "tracekit.parts",
        "tracekit.parsers.source",
        "tracekit.analysis",
    },
    "tracekit.packing": {
        "tracekit.errors",
        "tracekit.engines",
        "tracekit.analysis",
        "tracekit.export",
        "tracekit.load",
        "tracekit.parsers",
    },
    "tracekit.verify": {"tracekit.errors", "tracekit.model", "tracekit.parsers.source"},
    "tracekit.report": {
        "tracekit.verify",
        "tracekit",
        "tracekit.errors",
        "tracekit.engines",
        "tracekit.model",
        "tracekit.analysis",
        "tracekit.export",
    },
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] in ("tracekit", "dashboard")}


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_follow_the_arrows(path: Path) -> None:
    name = module_name(path)
    assert name.startswith("dashboard") or not any(within(i, "dashboard") for i in imports_of(path))
    for package, allowed in ALLOWED.items():
        if within(name, package):
            for imported in imports_of(path):
                fits = imported == "tracekit" and "tracekit" in allowed
                fits = fits or any(within(imported, one) for one in {package, *allowed} - {"tracekit"})
                assert fits, f"{name} imports {imported}"


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
