"""A release: equal bytes from equal sources, notes, Homebrew's formula, and licences of what it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from package_support import BUILD_SDIST, BUILD_WHEEL_ALONE, ROOT, build, copy_project, list_needed

import tracekit
from release.build import fill_formula, find_notes

pytestmark = pytest.mark.integration  # builds in processes of their own

EPOCH = "1767225600"
PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Zope|ZPL|Zlib|CC0|MPL|Mozilla|Unlicense)\b",
    re.IGNORECASE,
)
COPYLEFT = re.compile(r"\bA?GPL|GNU|SSPL|Commons Clause|Proprietary", re.IGNORECASE)


def test_equal_sources_give_equal_bytes(tree: Path, tmp_path: Path) -> None:
    """Neither the folder nor the time of a build, nor the times of its files, are in an archive."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    copy_project(other)
    for path in other.rglob("*.py"):
        path.touch()
    for command in (BUILD_SDIST, BUILD_WHEEL_ALONE):
        first, second = (
            build(folder, command, SOURCE_DATE_EPOCH=EPOCH).read_bytes() for folder in (tree, other)
        )
        assert first == second


def test_members_of_the_source_archive_have_one_time_and_no_owner(tree: Path) -> None:
    with tarfile.open(build(tree, BUILD_SDIST, SOURCE_DATE_EPOCH=EPOCH)) as archive:
        members = archive.getmembers()
    assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {
        (int(EPOCH), 0, 0, "")
    }
    paths = [Path(member.name) for member in members]
    assert paths == sorted(paths)


def test_the_version_has_its_notes() -> None:
    notes = find_notes((ROOT / "CHANGELOG.md").read_text(), tracekit.__version__)
    assert "`tracekit analyze`" in notes
    assert find_notes("# C\n\n## 0.2.0\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n", "0.1.0") == "- old\n"
    with pytest.raises(SystemExit, match=r"no section for 0\.3\.0"):
        find_notes("## 0.2.0\n\n- new\n", "0.3.0")


def test_the_formula_is_filled_and_parses(tmp_path: Path) -> None:
    text = fill_formula("1.2.3", "0" * 64)
    assert f'coreml_tracekit-1.2.3.tar.gz"\n  sha256 "{"0" * 64}"' in text
    assert "@" not in text.replace("python@3.13", "")
    ruby = shutil.which("ruby")
    if ruby is None:
        pytest.skip("there is no Ruby to parse it")
    (tmp_path / "formula.rb").write_text(text)
    subprocess.run([ruby, "-wc", tmp_path / "formula.rb"], check=True, capture_output=True)


@pytest.mark.parametrize(("name", "item"), sorted(list_needed(frozenset(["dashboard"])).items()))
def test_what_is_installed_may_be_used_by_everyone(name: str, item: Distribution) -> None:
    metadata = item.metadata
    classifiers = [text for text in metadata.get_all("Classifier") or () if text.startswith("License ::")]
    licence = " ".join(
        [metadata.get("License-Expression") or (metadata.get("License") or "")[:100], *classifiers]
    )
    assert PERMISSIVE.search(licence), licence
    assert not COPYLEFT.search(licence), licence
