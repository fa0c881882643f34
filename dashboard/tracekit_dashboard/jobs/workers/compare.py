"""``python -m ….workers.compare``: open both → compare → write what the page needs.

The server writes one line of JSON (a ``Pair``) to standard input and keeps it open, see ``worker_process``.
The worker prints the same messages as ``read``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.errors import TracekitError
from tracekit_dashboard.jobs import worker_process
from tracekit_dashboard.jobs.worker_process import Channel
from tracekit_dashboard.jobs.workers.failures import describe_failure
from tracekit_dashboard.jobs.workers.read import read_and_analyse

if TYPE_CHECKING:
    from tracekit.analysis.result import Analysis
    from tracekit.comparison.result import Comparison

SECTIONS, HTML, MARKDOWN, JSON = "sections.json", "comparison.html", "comparison.md", "comparison.json"
DIFFERENCE = "difference.bin"


@dataclass(frozen=True)
class Pair:
    """The recordings to compare, BASE first: ``paths`` as ``os.fsencode`` in hex; ``names`` are for display.

    ``folder`` is made for the results.
    """

    names: tuple[str, str]
    paths: tuple[str, str]
    uploaded: tuple[bool, bool]
    folder: str


def run_task() -> int:
    """Do one comparison and return the exit code."""
    channel = Channel.on_standard_output()
    pair = Pair(**json.loads(sys.stdin.buffer.readline()))
    worker_process.end_with_server()
    worker_process.limit_resources()
    return do_comparison(pair, channel)


def do_comparison(pair: Pair, channel: Channel) -> int:
    """Compare, and return the exit code; a failure is sent to the server."""
    sides: list[Analysis] = []
    # A comparison needs both analyses, and the library's results are documents made from them: so both
    # recordings are read again, one after the other.
    for name, display_name, path, uploaded in zip(
        ("BASE", "NEW"), pair.names, _decode_paths(pair), pair.uploaded, strict=True
    ):
        try:
            sides.append(read_and_analyse(path, display_name, uploaded, channel, f" {name}"))
        except (TracekitError, MemoryError, OSError, RecursionError) as error:
            channel.send(failed=describe_failure(error, display_name, path))
            return 1
    try:
        _write_contents(Path(pair.folder), sides, channel)
    except MemoryError:
        channel.send(failed="Comparing them needs more memory than a worker may use.")
        return 1
    except OSError as error:
        traceback.print_exc()
        channel.send(failed=f"The comparison could not be written: {error.strerror or 'the disk failed'}.")
        return 1
    return 0


def _decode_paths(pair: Pair) -> list[Path]:
    return [Path(os.fsdecode(bytes.fromhex(path))) for path in pair.paths]


def _write_contents(folder: Path, sides: Sequence[Analysis], channel: Channel) -> None:
    from tracekit.comparison import compare

    channel.begin_stage("comparing")
    base, new = sides
    comparison = compare([base], [new])
    channel.begin_stage("writing")
    folder.mkdir(mode=0o700)
    for name, content in _CONTENTS.items():
        with (folder / name).open("wb") as file:
            written = content(comparison, base, new)
            file.write(written if isinstance(written, bytes) else written.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())


def _render_sections(comparison: Comparison, base: Analysis, new: Analysis) -> str:
    from tracekit.report.html.compare_page import sections, timeline_place
    from tracekit.report.html.elements import join

    places = join([timeline_place("base", base.trace.info.name), timeline_place("new", new.trace.info.name)])
    return json.dumps({name: str(markup) for name, markup in sections(comparison, places).items()})


def _render_html(comparison: Comparison, base: Analysis, new: Analysis) -> str:
    from tracekit.report.html.compare_page import to_html

    return to_html(comparison, base, new)


def _render_markdown(comparison: Comparison, _base: Analysis, _new: Analysis) -> str:
    from tracekit.report.comparison.markdown import to_markdown

    return to_markdown(comparison)


def _render_json(comparison: Comparison, _base: Analysis, _new: Analysis) -> str:
    from tracekit.report.comparison.json import to_json

    return to_json(comparison)


def _render_difference(comparison: Comparison, base: Analysis, new: Analysis) -> bytes:
    from tracekit.report.viewmodel.difference import difference_block

    return difference_block(comparison, base, new)


_CONTENTS: dict[str, Callable[[Comparison, Analysis, Analysis], str | bytes]] = {
    SECTIONS: _render_sections,
    HTML: _render_html,
    MARKDOWN: _render_markdown,
    JSON: _render_json,
    DIFFERENCE: _render_difference,
}


if __name__ == "__main__":
    worker_process.run_worker(run_task)
