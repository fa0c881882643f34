"""The way in which this copy of tracekit was installed, and the command that adds an extra to it.

A copy is described by its distribution's metadata (``INSTALLER``, ``direct_url.json`` of PEP 610) and by the
receipts that uv (``uv-receipt.toml``) and pipx (``pipx_metadata.json``) leave in the environments of tools.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tracekit.errors import UsageError
from tracekit.text import format_shell_command

if TYPE_CHECKING:
    from importlib.metadata import Distribution

DISTRIBUTION = "coreml-tracekit"
"""The name on PyPI; the distribution ``tracekit`` is another program."""


def format_install_command(extra: str) -> str:
    """Return the shell command that adds an extra to this copy of tracekit."""
    return _format_command(extra, _find_distribution(), Path(sys.prefix))


def require_packages(need: str, names: Sequence[str], extra: str) -> None:
    """Raise ``UsageError`` with the command that installs an extra where one of its packages is missing.

    ``need`` begins the sentence: "The dashboard". The packages are not imported.
    """
    from importlib.util import find_spec

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{need} needs packages that are not installed: {', '.join(missing)}."
            f" Install them with: {format_install_command(extra)}"
        )


def list_namesakes() -> list[str]:
    """Return the other installed distributions that have a package ``tracekit`` as well, with their versions.

    Installers neither refuse nor report this: the files of whichever was installed last replace the others.
    """
    from importlib.metadata import distributions

    holders = filter(_has_our_package, distributions())
    return sorted(
        f"{other.name} {other.version}" for other in holders if other.name not in {DISTRIBUTION, None}
    )


def _has_our_package(distribution: Distribution) -> bool:
    tops = (distribution.read_text("top_level.txt") or "").split()
    if tops:
        return "tracekit" in tops
    # The lines of RECORD begin with paths; ``files`` makes an object of each.
    return "\ntracekit/" in "\n" + (distribution.read_text("RECORD") or "")


def _find_distribution() -> Distribution | None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:  # a source tree on the search path
        return None


def _format_command(extra: str, distribution: Distribution | None, prefix: Path) -> str:
    if distribution is None:
        root = Path(__file__).resolve().parents[1]
        is_checkout = (root / "pyproject.toml").is_file()
        return _quote([*_find_pip(), *_list_targets(str(root) if is_checkout else "", is_checkout, {extra})])
    source, is_editable = _read_origin(distribution)
    installer = (distribution.read_text("INSTALLER") or "").strip()
    receipt, metadata = prefix / "uv-receipt.toml", prefix / "pipx_metadata.json"
    # Tools for programs make an environment anew from what they are given: earlier extras are named again.
    if receipt.is_file():
        targets = _list_targets(source, is_editable, {extra, *_read_uv_extras(receipt)})
        return _quote(["uv", "tool", "install", *targets])
    if metadata.is_file():
        targets = _list_targets(source, is_editable, {extra, *_read_pipx_extras(metadata)})
        return _quote(["pipx", "install", "--force", *targets])
    if installer == "brew" or "Cellar" in prefix.parts:  # a formula has no extras
        pipx = _quote(["pipx", "install", *_list_targets("", False, {extra})])
        return f"brew uninstall {DISTRIBUTION} && brew install pipx && {pipx}"
    pip = ["uv", "pip", "install", "--python", sys.executable] if installer == "uv" else _find_pip()
    return _quote([*pip, *_list_targets(source, is_editable, {extra})])


def _find_pip() -> list[str]:
    """Return the words that start the pip of this Python, as short as the search path allows."""
    first = shutil.which("python")
    is_first = first is not None and Path(first) == Path(sys.executable)
    return ["python" if is_first else sys.executable, "-m", "pip", "install"]


def _list_targets(source: str, is_editable: bool, extras: set[str]) -> list[str]:
    """Return the arguments that name a source with extras; the source "" is the package index."""
    names = f"[{','.join(sorted(extras))}]"
    if is_editable:
        return ["--editable", f"{source}{names}"]
    return [f"{DISTRIBUTION}{names} @ {source}" if source else f"{DISTRIBUTION}{names}"]


def _read_origin(distribution: Distribution) -> tuple[str, bool]:
    """Return the address or the folder that a distribution was installed from, "" for an index."""
    facts = _as_mapping(json.loads(distribution.read_text("direct_url.json") or "{}"))
    address = str(facts.get("url", ""))
    if _as_mapping(facts.get("dir_info")).get("editable"):
        return url2pathname(urlsplit(address).path), True
    control = _as_mapping(facts.get("vcs_info"))
    if control:
        revision = control.get("requested_revision") or control.get("commit_id", "")
        address = f"{control.get('vcs')}+{address}@{revision}"
    folder = facts.get("subdirectory")
    return (f"{address}#subdirectory={folder}" if folder else address), False


def _read_uv_extras(receipt: Path) -> list[str]:
    import tomli  # here, as the rest of this module has to work without the base dependencies

    tool = _as_mapping(tomli.loads(receipt.read_text("utf-8")).get("tool"))
    return [
        extra
        for requirement in tool.get("requirements", ())
        if isinstance(requirement, dict) and requirement.get("name") == DISTRIBUTION
        for extra in requirement.get("extras", ())
    ]


def _read_pipx_extras(metadata: Path) -> list[str]:
    package = _as_mapping(_as_mapping(json.loads(metadata.read_text("utf-8"))).get("main_package"))
    extras = re.search(r"\[([\w\s,.-]*)\]", str(package.get("package_or_url", "")))
    return [extra.strip() for extra in extras[1].split(",")] if extras else []


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _quote(words: list[str]) -> str:
    # cmd.exe takes single quotes for a part of the word.
    return subprocess.list2cmdline(words) if os.name == "nt" else format_shell_command(words)
