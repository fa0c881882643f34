"""Build a release of the last commit into ``dist/``: archives, digests, bill of materials, formula, notes.

    python release/build.py [--out dist] [--offline]

Archives have the commit's time, so the same commit gives the same bytes with the same compiler and the same
versions of setuptools and Cython. ``--offline`` leaves out the bill of materials, for which the wheel is
installed with its dependencies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BUILD_SDIST = "from setuptools import build_meta; build_meta.build_sdist('{out}')"
_BUILD_WHEEL = "from setuptools import build_meta; build_meta.build_wheel('{out}')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--offline", action="store_true", help="without the bill of materials")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    epoch = _run_git("log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        tree.mkdir()
        subprocess.run(["tar", "-x"], cwd=tree, input=archive, check=True)
        sdist, wheel = build_archives(tree, out, epoch)
        version = re.fullmatch(r"coreml_tracekit-(.+)\.tar\.gz", sdist.name)[1]
        (out / "coreml-tracekit.rb").write_text(fill_formula(version, _compute_digest(sdist)))
        notes = find_notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
        (out / f"notes-{version}.md").write_text(notes, "utf-8")
        if not options.offline:
            bill = out / f"coreml-tracekit-{version}.cdx.json"
            write_bill_of_materials(wheel, Path(folder), bill, version, epoch)
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    (out / "SHA256SUMS").write_text("".join(f"{_compute_digest(path)}  {path.name}\n" for path in files))
    for path in files:
        print(path)


def build_archives(tree: Path, out: Path, epoch: str) -> tuple[Path, Path]:
    """Build the source archive from a tree, and the wheel from that archive; return both."""
    sdist = _build(tree, _BUILD_SDIST, out, epoch)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        return sdist, _build(unpacked, _BUILD_WHEEL, out, epoch)


def _build(tree: Path, code: str, out: Path, epoch: str) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", f"import os; os.umask(0o022); {code.format(out=folder)}"]
        subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True)
        (built,) = Path(folder).iterdir()
        return Path(shutil.move(built, out / built.name))


def fill_formula(version: str, digest: str) -> str:
    """Return Homebrew's formula for a version and the SHA-256 of its source archive."""
    template = (ROOT / "release" / "coreml-tracekit.rb").read_text("utf-8")
    return template.replace("@VERSION@", version).replace("@SHA256@", digest)


def find_notes(changelog: str, version: str) -> str:
    """Return the section of a version in the changelog. Raises ``SystemExit`` where it is missing."""
    section = re.search(
        rf"^## {re.escape(version)}\b[^\n]*\n+(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if section is None:
        raise SystemExit(f"CHANGELOG.md has no section for {version}.")
    return section[1].strip() + "\n"


def write_bill_of_materials(wheel: Path, folder: Path, output: Path, version: str, epoch: str) -> None:
    """Write what an installation with the dashboard consists of, with licences, as CycloneDX."""
    for name, requirement in (("product", f"{wheel}[dashboard]"), ("tools", "cyclonedx-bom")):
        venv.create(folder / name, with_pip=True)
        python = folder / name / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        subprocess.run(install, check=True)
        if name == "product":
            product = python
            remove = [python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"]
            subprocess.run(remove, check=True)
    describe = [python, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--pyproject"]
    command = [*describe, ROOT / "pyproject.toml", "-o", output, product]
    subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
    document = json.loads(output.read_text("utf-8"))
    document["metadata"]["component"]["version"] = version  # pyproject.toml has it from the package
    output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")


def _compute_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run_git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
