"""Measure ``tracekit model`` on large models, as a whole command.

    python benchmarks/model_files.py [--megabytes 300] [--operations 10000] [--out FILE.json]

Writes a package whose weights are a file, a specification with the weights in it, and a program of many
operations; prints the CPU seconds, the seconds on the clock and the peak of memory of each, with the start of
the program. Fails above 1 s of CPU time or 200 MiB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from multiprocessing import Process
from pathlib import Path
from subprocess import PIPE, Popen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "mlmodels"))

from proto_support import ints_value, message, model, operation, program, tensor_type

TARGET_SECONDS, TARGET_MIB = 1.0, 200.0
PROGRAM, NETWORK = 502, 500
_MIB = 1 << 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        inputs = {
            f"package of {chosen.megabytes} MB": (write_package, "Large.mlpackage", chosen.megabytes),
            f"network of {chosen.megabytes} MB": (write_network, "Large.mlmodel", chosen.megabytes),
            f"program of {chosen.operations:,} operations": (
                write_program,
                "Long.mlmodel",
                chosen.operations,
            ),
        }
        for name, (write, file_name, size) in inputs.items():
            path = Path(folder) / file_name
            # In a process of its own: a child's peak of memory begins with that of its parent.
            writer = Process(target=write, args=(path, size))
            writer.start()
            writer.join()
            figures[name] = measure(path)
            print(name, ", ".join(f"{value:.2f} {unit}" for unit, value in figures[name].items()))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(figures, indent=1) + "\n")
    exceeded = [
        name for name, cost in figures.items() if cost["CPU s"] > TARGET_SECONDS or cost["MiB"] > TARGET_MIB
    ]
    print(f"above {TARGET_SECONDS} s or {TARGET_MIB} MiB: {', '.join(exceeded) or 'none'}")
    return 1 if exceeded else 0


def write_package(package: Path, megabytes: int) -> None:
    """Write a package of 200 operations, its weights in a file of their own."""
    inner = package / "Data" / "com.apple.CoreML"
    (inner / "weights").mkdir(parents=True)
    write_weights(inner / "weights" / "weight.bin", megabytes)
    (inner / "model.mlmodel").write_bytes(model(PROGRAM, program(*list_operations(200))))
    items = {"a": {"path": "com.apple.CoreML/model.mlmodel"}, "b": {"path": "com.apple.CoreML/weights"}}
    (package / "Manifest.json").write_text(json.dumps({"itemInfoEntries": items, "rootModelIdentifier": "a"}))


def write_network(path: Path, megabytes: int) -> None:
    """Write a network of ten layers with the weights in it, as floats."""
    weights = os.urandom(megabytes * 100_000)
    layers = [
        message(
            (1, f"c{i}"), (2, f"x{i}"), (3, f"x{i + 1}"), (100, message((1, 8), (90, message((1, weights)))))
        )
        for i in range(10)
    ]
    path.write_bytes(model(NETWORK, message(*((1, layer) for layer in layers)), version=4))


def write_program(path: Path, count: int) -> None:
    path.write_bytes(model(PROGRAM, program(*list_operations(count))))


def write_weights(path: Path, megabytes: int) -> None:
    block = os.urandom(1_000_000)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(block)


def list_operations(count: int) -> list[bytes]:
    return [
        operation(
            "conv",
            (f"v{i}", tensor_type(10, 1, 128, 64, 64)),
            f"conv_{i}",
            x=f"v{i - 1}",
            strides=ints_value(1, 1),
        )
        for i in range(count)
    ]


def measure(path: Path) -> dict[str, float]:
    """Run the command once to warm the disk's cache, and return the cost of the second time."""
    command = [sys.executable, "-m", "tracekit", "model", str(path)]
    for _ in range(2):
        start = time.monotonic()
        with Popen(command, stdout=PIPE) as process:  # noqa: S603
            assert process.stdout is not None
            process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"tracekit model {path} ended with {process.returncode}")
        seconds = time.monotonic() - start
    unit = 1 if sys.platform == "darwin" else 1024
    return {"CPU s": usage.ru_utime + usage.ru_stime, "s": seconds, "MiB": usage.ru_maxrss * unit / _MIB}


if __name__ == "__main__":
    sys.exit(main())
