"""Builds of the project in a copy of it, and environments to install them into."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]

TREE = (
    "pyproject.toml",
    "setup.py",
    "docs",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "tracekit",
    "dashboard",
    "sample_generator",
    "sample_traces",
    "tests",
)
BUILD_WHEEL = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", "out", ".")
BUILD_WHEEL_ALONE = ("-c", "from setuptools import build_meta; build_meta.build_wheel('out')")
BUILD_SDIST = ("-c", "from setuptools import build_meta; build_meta.build_sdist('out')")


def build(tree: Path, command: tuple[str, ...], **environment: str) -> Path:
    """Return the file that is built in the tree, offline, with the development environment's tools.

    What an earlier build compiled is removed, but not the C sources that Cython wrote: they would be the same.
    """
    for name in ("build", "out"):
        shutil.rmtree(tree / name, ignore_errors=True)
    (tree / "out").mkdir()
    variables = os.environ | {"CFLAGS": "-O0 -g0"} | environment
    subprocess.run([sys.executable, *command], cwd=tree, check=True, capture_output=True, env=variables)
    (built,) = (tree / "out").iterdir()
    return built


def copy_project(tree: Path) -> None:
    """Copy what a build needs into a folder, without anything that was compiled."""
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so", "_scanner.c", "_columns.c")
            shutil.copytree(source, tree / name, ignore=ignored)
        else:
            shutil.copy(source, tree)
    # Nothing here runs the compiled code, and optimising it takes three times as long as all other steps.
    project = tree / "pyproject.toml"
    project.write_text(project.read_text().replace('"-O3"', '"-O0"'))


def list_needed(extras: frozenset[str]) -> dict[str, Distribution]:
    """Return the distributions that tracekit with these extras needs, itself among them."""
    needed: dict[str, Distribution] = {}
    pending, visited = [("coreml-tracekit", extras)], set()
    while pending:
        name, names = request = pending.pop()
        if request in visited:
            continue
        visited.add(request)
        needed[name] = distribution(name)
        for text in needed[name].requires or ():
            requirement = Requirement(text)
            choices = [{"extra": extra} for extra in {"", *names}]
            if requirement.marker is None or any(requirement.marker.evaluate(choice) for choice in choices):
                normalized = re.sub(r"[-_.]+", "-", requirement.name).lower()
                pending.append((normalized, frozenset(requirement.extras)))
    return needed


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """Write a small wheel with these files."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in (members | {f"{info}/RECORD": record}).items():
            archive.writestr(member, text)
    return path


class Environment:
    """A virtual environment without network; dependencies are those of the development environment."""

    def __init__(self, folder: Path, hidden: str = "") -> None:
        """Make the environment; the distributions that begin with ``hidden`` are not in it."""
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        dependencies = folder / "dependencies"
        dependencies.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if not re.match(rf"(__editable__)?_*(coreml_)?tracekit|{hidden or '$'}", path.name):
                (dependencies / path.name).symlink_to(path)
        (self.packages / "dependencies.pth").write_text(f"{dependencies}\n")

    @property
    def packages(self) -> Path:
        """The folder of installed packages."""
        return next(self.folder.rglob("site-packages"))

    def install(self, *arguments: str | Path) -> str:
        """Install without an index and without dependencies; return what pip prints."""
        return self._run_pip("install", "--no-index", "--no-deps", "--no-compile", *arguments)

    def plan(self, targets: Sequence[str], index: Path) -> str:
        """Return the distributions that pip would install from a folder, with their dependencies."""
        return self._run_pip("install", "--dry-run", "--no-index", "--find-links", index, *targets)

    def uninstall(self, name: str) -> None:
        """Remove a distribution."""
        self._run_pip("uninstall", "--yes", name)

    def _run_pip(self, *arguments: str | Path) -> str:
        command = [sys.executable, "-m", "pip", "--python", self.python, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment in its folder, as after activating it."""
        path = os.pathsep.join([str(self.bin), os.environ["PATH"]])
        return subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            env={**os.environ, "PATH": path, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
