"""``unshare -rm python full_disk.py FOLDER KB``: a library on a disk of so many kilobytes, and what comes of it.

Prints the error of each step; then the disk grows, and everything works.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from library_support import BUNDLE, ONE_READER, removed, send, settled, tree, zipped

from tracekit.errors import TracekitError
from tracekit_dashboard.library.library import Library


def disk(folder: Path, *options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", str(folder)], check=True)


def write_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")


@contextmanager
def printed_errors(step: str) -> Iterator[None]:
    try:
        yield
    except TracekitError as error:
        write_line(f"{step}: {type(error).__name__}: {error}")


def use(folder: Path) -> None:
    """Upload and read a bundle; whatever is left of it is taken away again."""
    content = zipped(BUNDLE)
    with printed_errors("start"):
        library = Library(folder, ONE_READER)
        try:
            with printed_errors("upload"):
                number = library.uploads.begin("Camera.zip", len(content))
                send(library, number, content, 8_000)
                recording = settled(library, library.uploads.finish(number), 60)
                write_line(f"{recording.state}: {recording.message}")
            for upload in library.uploads.list_unfinished():
                library.uploads.cancel(upload.id)
            for remaining in library.list_recordings():
                with printed_errors("purge"):
                    removed(library, remaining.id)
            write_line(f"left: {tree(folder) if not library.list_recordings() else 'recordings'}")
        finally:
            library.close()


def main(folder: Path, kilobytes: str) -> None:
    disk(folder, f"size={kilobytes}k")
    use(folder)
    disk(folder, "remount", "size=100m")
    use(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
