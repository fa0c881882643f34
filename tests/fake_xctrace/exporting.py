"""`xctrace export`: the table of contents, or what an XPath query over it selects."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fake_xctrace.bundles import EXPORTS
from fake_xctrace.catalogue import XCODE_27
from fake_xctrace.documents import answer, contents
from fake_xctrace.machine import Console, Machine, Refusal, write_all
from fake_xctrace.options import exclude, parse, usage_error
from fake_xctrace.plan import is_finished

EXPORT_FAILED = 10
"""Documented for the missing template (public notes); invented for the other failures of an export."""


def export(machine: Machine, arguments: list[str], console: Console) -> int:
    """Run the command and return its exit code; crashes end the process."""
    parsed = parse("export", arguments, machine.build, positional=int(machine.build >= XCODE_27))
    exclude(parsed, "export", machine.build, "--toc", "--xpath", "--har")
    shown = parsed.value("--input") or next(iter(parsed.positional), None)
    if shown is None or ("--input" in parsed and parsed.positional):
        raise usage_error("export", "Provide one input file", machine.build)  # invented wording
    if not any(name in parsed for name in ("--toc", "--xpath", "--har")):
        raise usage_error("export", "Provide either --toc or --xpath", machine.build)  # invented wording
    behaviour = machine["export"]
    if behaviour.get("fails"):
        raise Refusal(behaviour["fails"])
    if behaviour.get("says_nothing"):
        return 0
    runs = _runs(Path(shown))
    if "--har" in parsed:
        raise Refusal("Export failed: No HTTP traffic was recorded", EXPORT_FAILED)  # invented wording
    query = parsed.value("--xpath")
    document, schemas = (contents(runs), set()) if query is None else _answer(runs, query, behaviour)
    output = parsed.value("--output")
    _write(document, output, behaviour, crashes=behaviour.get("crash", {}).get("schema") in schemas)
    if output:
        console.write(f"Finished export to the file: {output}")
    return 0


def _runs(bundle: Path) -> list[Path]:
    """Return the folders with the exports of each run."""
    if not bundle.exists():
        raise Refusal(f"Export failed: The file does not exist: {bundle}", EXPORT_FAILED)  # invented wording
    if not is_finished(bundle):
        raise Refusal("Export failed: Document Missing Template Error", EXPORT_FAILED)  # cargo-instruments#88
    runs = sorted((bundle / EXPORTS).glob("run*"), key=lambda path: int(path.name[3:]))
    if not runs:
        raise Refusal(f"Export failed: fake xctrace: no exports of {bundle}", EXPORT_FAILED)
    return runs


def _answer(runs: list[Path], query: str, behaviour: dict[str, Any]) -> tuple[bytes, set[str]]:
    try:
        return answer(runs, query, schemas_once=behaviour.get("schemas", "once") == "once")
    except ValueError as error:
        # google/perfetto#7253 quotes: XQueryError:3 - "invalid token (P) - …" at line:2
        raise Refusal(
            f'Export failed: XQueryError:3 - "{error} - {query}" at line:1', EXPORT_FAILED
        ) from error


def _write(document: bytes, output: str | None, behaviour: dict[str, Any], crashes: bool) -> None:
    end = min(behaviour["crash"]["after_bytes"], len(document)) if crashes else len(document)
    step = behaviour.get("chunk_bytes", 65536)
    with _stream(output) as stream:
        for start in range(0, end, step):
            time.sleep(behaviour.get("delay_seconds", 0))
            write_all(stream, document[start : min(start + step, end)])
    if crashes:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), signal.SIGTRAP)  # in mid-export and without a message (sforteln)


@contextlib.contextmanager
def _stream(output: str | None) -> Iterator[int]:
    if output is None:
        yield 1
        return
    try:
        stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    except OSError as error:
        raise Refusal(
            f"Export failed: {error.strerror}: {output}", EXPORT_FAILED
        ) from error  # invented wording
    try:
        yield stream
    finally:
        os.close(stream)
