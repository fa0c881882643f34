"""What a dashboard is started with: where it keeps things, whom it answers, and how much it takes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Bounds on what a visitor can make the server do."""

    upload_bytes: int = 64 << 30
    slice_bytes: int = 16 << 20
    """Of one request that brings a part of an upload."""
    upload_files: int = 20_000
    """In an uploaded folder; a bundle has some hundreds."""
    unfinished_uploads: int = 64
    unfinished_seconds: float = 24 * 3600
    """An upload to which nothing was added for so long is removed."""
    free_disk_bytes: int = 1 << 30
    """What an upload must leave free."""
    workers: int = 1
    """How many recordings are read at once; 0 reads none."""
    job_seconds: float = 2 * 3600
    job_memory_bytes: int = 0
    """What one worker may take; 0 is three quarters of the machine's memory."""
    download_seconds: float = 10 * 60
    """How long making one file to download may take."""
    download_memory_bytes: int = 0
    """What making one may take; 0 is as for a worker."""
    downloads: int = 2
    """How many are made at once."""
    job_starts: int = 3
    """A recording during which the server ended so often is not taken up again by itself."""
    deleted_seconds: float = 30 * 24 * 3600
    """How long a deletion can be undone."""


@dataclass(frozen=True)
class Settings:
    """Where the dashboard keeps recordings, and where it listens."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    """0 picks a free one."""
    token: str = ""
    """What a visitor must show; needed where ``host`` is not this machine alone."""
    allowed_hosts: tuple[str, ...] = ()
    """Names beside ``host`` under which the dashboard may be called."""
    remote_recording: bool = False
    """Whether recordings may be started also where others than this machine can reach the dashboard."""
    limits: Limits = field(default_factory=Limits)


def default_folder() -> Path:
    """Return where this system keeps a user's data: the library's place when none is named."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "tracekit"
