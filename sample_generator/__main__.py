"""Write the synthetic recordings into OUT_DIR, or compare the files there with --check."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from pathlib import Path

from sample_generator.bundle_writer import issues_in
from sample_generator.scenarios import RECORDINGS

SAMPLE_TRACES = Path(__file__).resolve().parents[1] / "sample_traces"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m sample_generator", description=__doc__)
    parser.add_argument("out_dir", nargs="?", type=Path, default=SAMPLE_TRACES, metavar="OUT_DIR")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    options = parser.parse_args(arguments)

    generated = {
        options.out_dir / name / file: content.encode() if isinstance(content, str) else content
        for name, play in RECORDINGS.items()
        for file, content in play().items()
    }
    if options.check:
        return check(generated, options.out_dir)
    for path, content in generated.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    total = sum(map(len, generated.values()))
    print(f"Wrote {len(RECORDINGS)} recordings, {total / 1e6:.2f} MB, to {options.out_dir}", file=sys.stderr)
    return 0


def check(generated: dict[Path, bytes], out_dir: Path) -> int:
    """Return 1 and name the files that are missing, stale or left over."""
    stale = {path for path, content in generated.items() if not path.is_file() or not same(path, content)}
    below = (path for folder in out_dir.iterdir() if folder.is_dir() for path in folder.rglob("*"))
    on_disk = {path for path in below if path.is_file() and "__pycache__" not in path.parts}
    for path in sorted(stale | (on_disk - generated.keys())):
        print(f"{path} is not what the generator writes", file=sys.stderr)
    return 1 if stale or on_disk - generated.keys() else 0


def same(path: Path, content: bytes) -> bool:
    """Return whether a file has this content; databases are compared by their rows.

    Versions of SQLite may lay out the same rows differently.
    """
    on_disk = path.read_bytes()
    if on_disk == content or path.suffix != ".storedata":
        return on_disk == content
    try:
        return issues_in(on_disk) == issues_in(content)
    except sqlite3.DatabaseError:
        return False


if __name__ == "__main__":
    sys.exit(main())
