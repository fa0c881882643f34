"""The wheel has the files that an installed tracekit needs, and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from package_support import BUILD_SDIST, BUILD_WHEEL_ALONE, ROOT, build

pytestmark = pytest.mark.integration  # builds in processes of their own


def test_the_packages_and_their_data(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {
        "tracekit/py.typed",
        "tracekit/analysis/classification/markers.toml",
        "tracekit/proof/claims.toml",
        "tracekit_dashboard/__init__.py",
    } <= names
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tracekit").rglob("*.py")}
    assert modules <= names
    scripts = {
        str(path.relative_to(ROOT)).removeprefix("dashboard/")
        for folder in ("tracekit/report/assets", "dashboard/tracekit_dashboard/assets")
        for path in (ROOT / folder).rglob("*.*")
    }
    assert len(scripts) > 100
    assert scripts <= names


def test_no_other_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tracekit", "tracekit_dashboard"}


def test_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert b"tracekit = tracekit.cli:main" in wheel.read(f"{info}/entry_points.txt")
    assert any(name.endswith("LICENSE") for name in wheel.namelist())


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no compiler")
def test_the_compiled_scanner(wheel: zipfile.ZipFile) -> None:
    assert any(
        name.startswith("tracekit/parsers/xml/_scanner.") and name.endswith((".so", ".pyd"))
        for name in wheel.namelist()
    )


def test_an_installed_package_explains_findings(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    code = "import tracekit.cli; tracekit.cli.main(['explain', 'fell-back'])"
    printed = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "The model ran on an engine, left it, and did not come back in this recording." in printed
    assert (tmp_path / "tracekit/report/findings.md").read_text() == (ROOT / "docs/findings.md").read_text()


def test_without_a_compiler_there_is_a_wheel_all_the_same(tree: Path, tmp_path: Path) -> None:
    built = build(tree, BUILD_WHEEL_ALONE, CC="false", CXX="false")
    assert built.name.endswith(
        "-py3-none-any.whl"
    )  # taken for the one of a system, it would look like the fast one
    folder = tmp_path / "installed"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder)
    assert not list(folder.rglob("*.so"))
    assert {path.name for path in folder.iterdir() if path.suffix != ".dist-info"} == {
        "tracekit",
        "tracekit_dashboard",
    }
    code = "from tracekit.parsers.xml.accelerator import choose_reader; print(choose_reader())"
    variables = {name: value for name, value in os.environ.items() if name != "TRACEKIT_XML_READER"}
    printed = subprocess.run(
        [sys.executable, "-c", code],
        env=variables | {"PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == "lxml\n"


def test_the_source_distribution_can_be_compiled(tree: Path) -> None:
    with tarfile.open(build(tree, BUILD_SDIST)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {
        str(path.relative_to(ROOT)) for path in (ROOT / "tracekit" / "parsers" / "xml").rglob("*.[ph]*")
    }
    assert {
        "pyproject.toml",
        "tracekit/parsers/_columns.pyx",
        "tracekit/parsers/xml/scan_source/bytes.h",
    } <= names
    assert {name for name in sources if name.endswith((".py", ".pyx", ".pxi", ".h"))} <= names
    generated = [
        name for name in names if name.startswith(("tracekit", "dashboard")) and name.endswith((".so", ".c"))
    ]
    assert not generated
