"""The arrows of the design: data moves one way, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE_ROOTS = (ROOT / "dashboard", ROOT)
MODULES = sorted(p for package in ("tracekit", "dashboard") for p in (ROOT / package).rglob("*.py"))


def drawn_arrows() -> dict[str, set[str]]:
    """Return the drawing of docs/architecture.md: each room, and the rooms that its arrows lead to."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    drawing = text.partition("```mermaid\n")[2].partition("```")[0]
    arrows: dict[str, set[str]] = {}
    for line in drawing.splitlines():
        start, arrow, ends = line.partition("-->")
        if arrow:
            arrows.setdefault(start.strip(), set()).update(end.strip() for end in ends.split("&"))
    return arrows


ARROWS = drawn_arrows()
ENTRANCES = {"tracekit", "__main__"}
"""The package itself, which has the names of ``tracekit.api`` and the version, and ``python -m tracekit``."""


def reachable(start: str) -> set[str]:
    """Return every room that the arrows lead to from a room. Raises ``RecursionError`` for a circle."""
    return {room for end in ARROWS.get(start, ()) for room in {end, *reachable(end)}}


def module_name(path: Path) -> str:
    root = next(root for root in SOURCE_ROOTS if path.is_relative_to(root))
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return every node of a module that imports or names something."""
    kinds = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute)
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


@cache
def is_module_name(name: str) -> bool:
    """Return whether a dotted name is that of a module or a package of this project."""
    paths = [root / name.replace(".", "/") for root in SOURCE_ROOTS]
    return any(path.is_dir() or path.with_suffix(".py").is_file() for path in paths)


@cache
def imports_of(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name != "tracekit"}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "tracekit":
            names.add(f"tracekit.{node.attr}")  # as the package has it
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                is_module = is_module_name(f"{node.module}.{alias.name}")
                is_public = node.module == "tracekit"  # the package takes its names from the room "api"
                names.add(f"{node.module}.{alias.name}" if is_module or is_public else node.module)
    return frozenset(name for name in names if name.split(".")[0] in ("tracekit", "tracekit_dashboard"))


def room(name: str) -> str:
    """Return the room of a module: the part after ``tracekit``, "wording" of the report, or the package."""
    parts = name.split(".")
    if parts[:3] == ["tracekit", "report", "wording"]:
        return "wording"
    if parts[0] == "tracekit_dashboard":
        return "dashboard"
    return parts[0] if len(parts) == 1 else parts[1]


def rooms_imported_by(path: Path) -> set[str]:
    """Return the other rooms that a module imports; ``tracekit.__version__`` and ``__file__`` are free."""
    free = {room(module_name(path)), "__version__", "__file__"}
    return {room(imported) for imported in imports_of(path)} - free


@pytest.mark.integration
def test_imports_follow_the_drawn_arrows() -> None:
    within_reach = {home: reachable(home) for home in {room(module_name(path)) for path in MODULES}}
    undrawn = {
        module_name(path): rooms_imported_by(path) - within_reach[room(module_name(path))]
        for path in MODULES
        if room(module_name(path)) not in ENTRANCES
    }
    assert {module: rooms for module, rooms in undrawn.items() if rooms} == {}


@pytest.mark.integration
def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_name(path): imports_of(path) for path in MODULES if module_name(path) != "tracekit"}
    TopologicalSorter(modules).prepare()  # raises CycleError


@pytest.mark.integration
def test_every_drawn_arrow_is_an_import() -> None:
    imported = {(room(module_name(path)), end) for path in MODULES for end in rooms_imported_by(path)}
    drawn = {(start, end) for start, ends in ARROWS.items() for end in ends}
    assert drawn <= imported


def test_no_drawn_arrow_repeats_a_longer_way() -> None:
    for start, ends in ARROWS.items():
        assert not any(end in reachable(detour) for end in ends for detour in ends), start


def test_every_room_is_drawn() -> None:
    rooms = {room(module_name(path)) for path in MODULES}
    assert rooms - ENTRANCES == set(ARROWS) | {end for ends in ARROWS.values() for end in ends}


@pytest.mark.integration
def test_only_the_command_line_prints_or_exits() -> None:
    for path in MODULES:
        if "cli" not in path.parts:
            names = {node.id for node in nodes_of(path) if isinstance(node, ast.Name)}
            assert not names & {"print", "exit", "quit"}, path


@pytest.mark.integration
@pytest.mark.parametrize("heavy", ["pandas", "numpy", "lxml", "pyarrow", "importlib.metadata"])
@pytest.mark.parametrize("module", ["tracekit", "tracekit.cli"])
def test_importing_is_cheap(module: str, heavy: str) -> None:
    """`import tracekit` and `tracekit --help` must not load what only the work needs."""
    code = f"import sys, {module}; sys.exit('{heavy}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What other commands and other inputs need, and what pandas can do without.
NOT_FOR_EXPORTS = {
    "tracekit.cli.record",
    "tracekit.api",
    "tracekit.comparison",
    "tracekit.export.perfetto",
    "tracekit.parsers.bundle",
    "tracekit.parsers.pack",
    "tracekit.parsers.text",
    "tracekit.report.analysis.json",
    "tracekit.report.html",
    "tracekit.xctrace",
    "tracekit_dashboard",
    "dash",
    "flask",
    "google.protobuf",
    "importlib.metadata",
    "matplotlib",
    "msgspec",
    "multi_demangle",
    "plotly",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pydemumble",
    "sqlalchemy",
    "sqlite3",
}


MOST_MODULES_FOR_EXPORTS = 237
"""Each module takes about half a millisecond of every start."""


MODULES_FOR_A_RECIPE = 20
"""Those that `tracekit recipe` may import beyond the analysis: the recipes with their findings."""


def list_imported(*arguments: str) -> set[str]:
    """Return the modules that a command imports for a small export."""
    code = (
        "import sys; from tracekit.cli import main; main(standalone_mode=False);"
        "sys.exit(' '.join(sys.modules))"  # on stderr
    )
    exports = sorted(map(str, (ROOT / "sample_traces" / "ane-e5rt-macos26").glob("*.xml")))
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments, *exports],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "tracekit.analysis.pipeline" in ran.stderr.split(), ran.stderr
    return set(ran.stderr.split())


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arguments", "most_modules"),
    [
        (("analyze",), MOST_MODULES_FOR_EXPORTS),
        (("recipe", "engines"), MOST_MODULES_FOR_EXPORTS + MODULES_FOR_A_RECIPE),
    ],
)
def test_analysing_an_export_imports_no_more_than_it_needs(
    arguments: tuple[str, ...], most_modules: int
) -> None:
    """Half of the time that `tracekit analyze` takes for a small export is imports."""
    loaded = list_imported(*arguments)
    assert not loaded & NOT_FOR_EXPORTS
    assert sum(name.startswith("tracekit.") for name in loaded) <= most_modules


def test_the_public_names() -> None:
    import tracekit

    assert {"open_trace", "analyze", "Trace", "Analysis", "Engine", "__version__"} <= set(dir(tracekit))
    for name in tracekit.__all__:
        assert getattr(tracekit, name) is not None
    with pytest.raises(AttributeError):
        tracekit.nonsense  # noqa: B018
