"""Write the synthetic recordings into OUT_DIR, or compare the files there with --check."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scenarios import RECORDINGS

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out_dir", nargs="?", type=Path, default=HERE, metavar="OUT_DIR")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    options = parser.parse_args(arguments)

    generated = {
        options.out_dir / name / file: text.encode()
        for name, play in RECORDINGS.items()
        for file, text in play().items()
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
    stale = [
        path for path, content in generated.items() if not path.is_file() or path.read_bytes() != content
    ]
    on_disk = {path for path in out_dir.glob("*/*") if path.parent.name != "__pycache__"}
    for path in sorted({*stale, *(on_disk - generated.keys())}):
        print(f"{path} is not what the generator writes", file=sys.stderr)
    return 1 if stale or on_disk - generated.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
