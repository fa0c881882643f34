"""Settings of a dashboard: its folder, its address and its limits."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit_dashboard.live_session import LiveSession


@dataclass(frozen=True)
class ServerLimits:
    """Bounds on what a visitor can make the server do."""

    upload_bytes: int = 64 << 30
    slice_bytes: int = 16 << 20
    """The size of one request of an upload."""
    upload_files: int = 20_000
    """The number of files in an uploaded folder; a bundle has some hundreds."""
    unfinished_uploads: int = 64
    unfinished_seconds: float = 24 * 3600
    """The time after which an upload that received nothing is removed."""
    free_disk_bytes: int = 1 << 30
    """The disk space that an upload must leave free."""
    workers: int = 1
    """The number of recordings that are read at once; 0 reads none."""
    jobs: int = 4
    """The number of jobs of all kinds that run at once, apart from recordings."""
    job_seconds: float = 15 * 60
    """The time for one reading, analysis or comparison; ten million samples take about 20 s."""
    job_memory_bytes: int = 0
    """The memory of one worker; 0 is three quarters of the machine's memory."""
    download_seconds: float = 10 * 60
    """The time for making one download."""
    download_memory_bytes: int = 0
    """The memory for making one download; 0 is as for a worker."""
    downloads: int = 2
    """The number of downloads that are made at once."""
    table_workers: int = 1
    """The number of tables that are read at once."""
    table_seconds: float = 20 * 60
    """The time for reading one table."""
    table_bytes: int = 4 << 30
    """The largest table that is stored for a page."""
    spare_seconds: float = 5 * 60
    """The time for which the last worker waits for another analysis of its recording."""
    spare_bytes: int = 1 << 30
    """A worker that took more memory does not wait."""
    job_starts: int = 3
    """The number of starts after which a recording that was never read to its end is marked as failed."""
    deleted_seconds: float = 30 * 24 * 3600
    """The time in which a deletion can be undone."""


@dataclass(frozen=True)
class Settings:
    """The dashboard's folder, its address and who may use it."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    """0 picks a free one."""
    token: str = ""
    """The secret that a visitor must present; required unless only this machine can reach ``host``."""
    allowed_hosts: tuple[str, ...] = ()
    """Further names by which browsers may call the dashboard."""
    remote_recording: bool = False
    """True allows recording even if other machines can reach the dashboard."""
    fleet: Path | None = None
    """A dataset of many recordings (``tracekit fleet run``), whose history is shown."""
    live: LiveSession | None = None
    """The stream that is watched."""
    limits: ServerLimits = field(default_factory=ServerLimits)


def find_default_folder() -> Path:
    """Return the default library: a folder in the place where this system keeps a user's data."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "tracekit"
