"""Versions by build: the literal strings are those of real recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracekit.errors import XctraceError
from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.version import Version, parse_version, read_version

# In the order in which Apple released them.
RELEASES = [
    ("14.3.1 (14E300c)", "Xcode 14"),
    ("16.0 (16C5032a)", "Xcode 16"),
    ("16.0 (16E140)", "Xcode 16"),
    ("16.0 (16F6)", "Xcode 16"),
    ("26.0 (17A400)", "Xcode 26"),
    ("26.0 (17C52)", "Xcode 26"),
    ("26.0 (17C529)", "Xcode 26"),
    ("16.0 (17E192)", "Xcode 26"),
    ("16.0 (17E202)", "Xcode 26"),
    ("16.0 (17F42)", "Xcode 26"),
    ("16.0 (17F113)", "Xcode 26"),
    ("27.0 (27A266a)", "Xcode 27"),
    ("27.2 (27B5019j)", "Xcode 27"),
]


def version(text: str) -> Version:
    parsed = parse_version(f"xctrace version {text}\n")
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(("text", "xcode"), RELEASES)
def test_a_version_is_read_and_written_as_xctrace_writes_it(text: str, xcode: str) -> None:
    parsed = version(text)
    assert (str(parsed), parsed.xcode) == (text, xcode)
    assert parsed.build == text.partition("(")[2].rstrip(")")


def test_builds_grow_although_version_numbers_go_back() -> None:
    keys = [version(text).key for text, _ in RELEASES]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("text", "family", "expected"),
    [
        ("16.0 (16F6)", "17E", False),
        ("26.0 (17C529)", "17E", False),
        ("16.0 (17E192)", "17E", True),
        ("16.0 (17F113)", "17E", True),
        ("27.0 (27A266a)", "17E", True),
        ("26.0 (17A5241e)", "17A", True),
        ("14.3.1 (14E300c)", "17A", False),
    ],
)
def test_since_compares_families_of_builds(text: str, family: str, expected: bool) -> None:
    assert version(text).is_since(family) is expected


def test_a_betas_letter_is_part_of_its_build() -> None:
    assert version("26.0 (17A5241e)").key == (17, "A", 5241, "e")


@pytest.mark.parametrize(
    "text",
    ["", "xctrace", "xctrace version", "xctrace version 16.0", "xctrace version 16.0 (beta)", "16.0 (17F42)"],
)
def test_another_text_has_no_version(text: str) -> None:
    assert parse_version(text) is None


def program(folder: Path, body: str) -> Xctrace:
    path = folder / "xctrace"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Xctrace(str(path))


@pytest.mark.integration
def test_the_version_of_an_xctrace_is_queried(tmp_path: Path) -> None:
    tool = program(tmp_path, '[ "$*" = version ] && echo "xctrace version 16.0 (17E202)"')
    assert str(read_version(tool)) == "16.0 (17E202)"


@pytest.mark.integration
def test_a_program_that_is_no_xctrace_is_named(tmp_path: Path) -> None:
    tool = program(tmp_path, "echo 'GNU coreutils 9.4'")
    with pytest.raises(XctraceError) as caught:
        read_version(tool)
    assert str(caught.value) == (f"{tool.path} prints no version: 'GNU coreutils 9.4'. Is it xctrace?")


@pytest.mark.integration
def test_an_xctrace_without_licence_is_reported(tmp_path: Path) -> None:
    tool = program(
        tmp_path, 'echo "You have not agreed to the Xcode license agreements. Please run" >&2; exit 69'
    )
    with pytest.raises(XctraceError, match="The licence of Xcode was not accepted"):
        read_version(tool)
