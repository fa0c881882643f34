"""Claims that were never tried: why each is believed, the command that settles it, what that needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import tomli

from tracekit.errors import InputError
from tracekit.frozen import frozen

Need: TypeAlias = Literal[
    "mac",
    "xcode",
    "coremltools",
    "coreai",
    "neural-engine",
    "root",
    "no-root",
    "simulator",
    "device",
    "windows",
    "browser",
    "network-disk",
    "github",
    "gitlab",
    "jenkins",
    "assistant",
]
NEED_WORDS: Mapping[Need, str] = MappingProxyType(
    {
        "mac": "a Mac",
        "xcode": "Xcode",
        "coremltools": "coremltools (the extra probe)",
        "coreai": "Apple's package coreai-core",
        "neural-engine": "a Neural Engine, which no virtual machine has",
        "root": "root",
        "no-root": "an account that is not root",
        "simulator": "a booted simulator",
        "device": "an iPhone or iPad",
        "windows": "Windows",
        "browser": "Safari and Firefox",
        "network-disk": "a network disk",
        "github": "GitHub",
        "gitlab": "GitLab",
        "jenkins": "Jenkins",
        "assistant": "an assistant",
    }
)
"""What a claim needs, in the words of sentences."""

_FILE = Path(__file__).with_name("claims.toml")


@frozen
class UntriedClaim:
    """One claim. Texts may have code between backquotes; ``page`` is the page of docs/ that rests on it.

    ``holds_if`` is what must be seen after ``command``. ``xcode`` narrows the versions that it is about, ""
    for any.
    """

    id: str
    subject: str
    statement: str
    believed: str
    command: str
    holds_if: str
    needs: tuple[Need, ...]
    page: str
    xcode: str = ""


@cache
def load_claims() -> Mapping[str, UntriedClaim]:
    """Return the claims by their id, in the order of the file. Raises ``InputError`` for a mistake in it."""
    claims: dict[str, UntriedClaim] = {}
    for entry in tomli.loads(_FILE.read_text("utf-8"))["claim"]:
        claim = _read_claim(entry)
        if claim.id in claims:
            raise InputError(str(_FILE), f"has the claim {claim.id} twice.")
        claims[claim.id] = claim
    return MappingProxyType(claims)


def _read_claim(entry: Mapping[str, Any]) -> UntriedClaim:
    unknown_needs = set(entry.get("needs", ())) - NEED_WORDS.keys()
    try:
        claim = UntriedClaim(**{**entry, "needs": tuple(entry.get("needs", ()))})
    except TypeError as error:
        raise InputError(str(_FILE), f"claim {entry.get('id', 'without an id')}: {error}.") from error
    if unknown_needs or not claim.needs:
        raise InputError(str(_FILE), f"claim {claim.id}: needs one of {', '.join(NEED_WORDS)}.")
    return claim


def describe_needs(claim: UntriedClaim) -> str:
    """Return what settling a claim needs: ``a Mac, Xcode 27 or later``."""
    words = [
        f"{NEED_WORDS[need]} {claim.xcode}".strip() if need == "xcode" else NEED_WORDS[need]
        for need in claim.needs
    ]
    if claim.xcode and "xcode" not in claim.needs:
        words.append(f"Xcode {claim.xcode}")
    return ", ".join(words)
