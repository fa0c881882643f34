"""The formats of downloads, each with the command that makes it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.installation import format_install_command
from tracekit_dashboard.errors import NotFound


@dataclass(frozen=True)
class DownloadFormat:
    """A format: its name in addresses, its texts in the menu, and the command that makes it."""

    name: str
    title: str
    purpose: str
    ending: str
    media_type: str
    command: tuple[str, ...]
    can_redact: bool = False
    has_notes: bool = False
    """True if notes pinned to times are part of it (``--note-at``)."""
    needs: str = ""
    """The module of an optional dependency."""

    @property
    def is_available(self) -> bool:
        """Return True if the required module is installed."""
        return not self.needs or _is_installed(self.needs)

    def build_file_name(self, stem: str, redact: bool, process: str = "") -> str:
        """Return the name of the file; ``process`` is the pid to keep, if one was chosen."""
        suffix = f"-{process}" if process else ""
        return f"{stem}{f'.redacted{suffix}' if redact else ''}{self.ending}"


def _build_report_command(name: str) -> tuple[str, ...]:
    return ("report", "--format", name)


def _build_table_command(name: str) -> tuple[str, ...]:
    return ("export", "--to", "csv", "--table", name)


FORMATS = {
    file_format.name: file_format
    for file_format in (
        DownloadFormat(
            "html",
            "Report (HTML)",
            "one file to attach to a ticket, with the timeline and the flame graph",
            ".html",
            "text/html",
            _build_report_command("html"),
            can_redact=True,
            has_notes=True,
        ),
        DownloadFormat(
            "markdown",
            "Report (Markdown)",
            "for the text of a ticket",
            ".md",
            "text/markdown",
            _build_report_command("markdown"),
            can_redact=True,
            has_notes=True,
        ),
        DownloadFormat(
            "png",
            "Timeline (PNG)",
            "a picture for a chat or a slide",
            ".png",
            "image/png",
            _build_report_command("png"),
            can_redact=True,
            has_notes=True,
            needs="PIL",
        ),
        DownloadFormat(
            "svg",
            "Timeline (SVG)",
            "the same as a drawing, sharp at any size",
            ".svg",
            "image/svg+xml",
            _build_report_command("svg"),
            can_redact=True,
            has_notes=True,
        ),
        DownloadFormat(
            "windows",
            "Calls (CSV)",
            "one row per call, for a spreadsheet",
            ".windows.csv",
            "text/csv",
            _build_table_command("windows"),
        ),
        DownloadFormat(
            "samples",
            "Samples (CSV)",
            "one row per sample, with its engine and call",
            ".samples.csv",
            "text/csv",
            _build_table_command("samples"),
        ),
        DownloadFormat(
            "speedscope",
            "speedscope",
            "flame graphs at speedscope.app",
            ".speedscope.json",
            "application/json",
            ("export", "--to", "speedscope"),
        ),
        DownloadFormat(
            "firefox",
            "Firefox Profiler",
            "stacks and calls over time at profiler.firefox.com",
            ".firefox.json",
            "application/json",
            ("export", "--to", "firefox"),
        ),
        DownloadFormat(
            "folded",
            "Folded stacks",
            "for flamegraph.pl, inferno and others",
            ".folded",
            "text/plain",
            ("export", "--to", "folded"),
        ),
        DownloadFormat(
            "perfetto",
            "Perfetto",
            "a timeline at ui.perfetto.dev",
            ".pftrace",
            "application/octet-stream",
            ("export", "--to", "perfetto"),
            needs="perfetto",
        ),
        DownloadFormat(
            "pprof",
            "pprof",
            "for go tool pprof, Pyroscope and others",
            ".pb.gz",
            "application/octet-stream",
            ("export", "--to", "pprof"),
            needs="google.protobuf",
        ),
        DownloadFormat(
            "json",
            "Analysis (JSON)",
            "the whole analysis, for programs",
            ".analysis.json",
            "application/json",
            _build_report_command("json"),
            can_redact=True,
        ),
    )
}


def list_available() -> list[DownloadFormat]:
    """Return the formats whose dependencies are installed."""
    return [file_format for file_format in FORMATS.values() if file_format.is_available]


def choose_format(name: str, redact: bool) -> DownloadFormat:
    """Return a format by its name.

    Raises ``NotFound`` for an unknown format, ``UsageError`` if it cannot be made or redacted here.
    """
    file_format = FORMATS.get(name)
    if file_format is None:
        raise NotFound(f"There is no such download; there are {', '.join(FORMATS)}.")
    if not file_format.is_available:
        raise UsageError(
            f"{file_format.title} needs a package that is not installed."
            f" Install it with: {format_install_command(name)}"
        )
    if redact and not file_format.can_redact:
        raise UsageError(f"{file_format.title} cannot be redacted; the reports can.")
    return file_format


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False
