"""Facts in the path of a plan within a runtime's cache: chip, build of the system, hash of the model."""

from __future__ import annotations

import re
from pathlib import PurePath

_BUILD = re.compile(r"\d{2}[A-Z]\d{1,5}[a-z]?")
_E5_CACHE, _CORE_AI_CACHE = "com.apple.e5rt.e5bundlecache", "coreai-cache"
_E5_CHIP = re.compile(r"([A-Z]\d+[A-Z]?)\.bundle")
_HASH = re.compile(r"[0-9a-fA-F]{64}")


def find_core_ml_place(path: PurePath) -> tuple[str, str]:
    """Return the chip and the build: ``…e5bundlecache/<build>/<hash>/<hash>.bundle/<chip>.bundle/…``."""
    chip = next((match[1] for part in reversed(path.parts) if (match := _E5_CHIP.fullmatch(part))), "")
    return chip, _find_build(_list_parts_after(path, _E5_CACHE))


def find_core_ai_place(path: PurePath) -> tuple[str, str]:
    """Return the build and the model's hash: ``coreai-cache/<build>/<process>/<hash>/<hash of options>/…``.

    The Python package has another order, ``coreai-cache/<version of Python>/<hash>/…``. Source of both:
    github.com/4rg0naut/silicon-ledger-public, EXP-026.
    """
    parts = _list_parts_after(path, _CORE_AI_CACHE)
    return _find_build(parts), next((part for part in parts if _HASH.fullmatch(part)), "")


def _list_parts_after(path: PurePath, cache: str) -> tuple[str, ...]:
    return path.parts[path.parts.index(cache) + 1 :] if cache in path.parts else ()


def _find_build(parts: tuple[str, ...]) -> str:
    return parts[0] if parts and _BUILD.fullmatch(parts[0]) else ""
