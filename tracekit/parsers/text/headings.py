"""Headings of reports (``Key:   value``) → facts about the recording."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEADING = re.compile(r"([A-Z][\w /()-]{1,40}): +(\S.*)")
_SYSTEM = re.compile(
    r"(?P<platform>[A-Za-z][A-Za-z ]*?)? ?(?P<version>\d[\d.]*)(?: \((?:Build )?(?P<build>\w+)\))?$"
)
_PLATFORMS = {"Mac OS X": "macOS", "OS X": "macOS", "": "macOS", "iPhone OS": "iOS", "Apple TVOS": "tvOS"}
_CODE_TYPES = {"ARM64": "arm64", "ARM-64": "arm64", "X86-64": "x86_64", "X86": "i386"}
_ARCH = re.compile(r"arm\w{2,6}|x86_64h?|i386")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?: ([+-]\d\d):?(\d\d))?$")
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?s\b")
_PROCESS = re.compile(r"(?P<name>.*?) \[(?P<pid>\d{1,9})\]")


def parse_heading(line: str) -> tuple[str, str] | None:
    """Return the key and the value of a heading; None for any other line."""
    match = _HEADING.match(line)
    return (match[1], match[2].rstrip()) if match else None


def read_system(headings: Mapping[str, str]) -> tuple[str, str]:
    """Return the platform and the version of "OS Version": ``("macOS", "26.6.2 (25G83)")``."""
    text = headings.get("OS Version", "")
    match = _SYSTEM.match(text)
    if match is None:
        return "", text
    platform = match["platform"] or ""
    build = f" ({match['build']})" if match["build"] else ""
    return _PLATFORMS.get(platform, platform), match["version"] + build


def read_moment(headings: Mapping[str, str], key: str) -> str:
    """Return a moment in ISO 8601, with its zone if the text has one; return any other text unchanged."""
    text = headings.get(key, "")
    match = _MOMENT.match(text)
    if match is None:
        return text
    zone = f"{match[3]}:{match[4]}" if match[3] else ""
    return f"{match[1]}T{match[2]}{zone}"


def read_duration(headings: Mapping[str, str]) -> int | None:
    """Return the nanoseconds of "Duration": ``1.00s (sampling started after 2 seconds)``."""
    match = _SECONDS.match(headings.get("Duration", ""))
    if match is None:
        return None
    whole, _, fraction = match[1].partition(".")
    return int(whole) * 1_000_000_000 + int(fraction.ljust(9, "0"))


def parse_arch(text: str) -> str:
    """Return the architecture of "Architecture" or "Code Type"; "" for one that is not known."""
    word = text.split(" ", maxsplit=1)[0]
    name = _CODE_TYPES.get(word, word)
    return name if _ARCH.fullmatch(name) else ""


def parse_process(text: str) -> tuple[str, int]:
    """Return the name and the pid of ``Safari [512]``, -1 for none."""
    match = _PROCESS.match(text)
    return (match["name"], int(match["pid"])) if match else (text, -1)
