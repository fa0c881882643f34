"""A dashboard's library with one synthetic recording, as ``report_size.py`` makes it."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

from report_size import synthetic

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from tracekit import Trace, __version__  # noqa: E402
from tracekit.analysis import analyze  # noqa: E402
from tracekit_dashboard.library.catalog import Catalog, make_recording  # noqa: E402
from tracekit_dashboard.library.reading_results import RESULTS_VERSION, write_results  # noqa: E402
from tracekit_dashboard.library.store import Store, make_id  # noqa: E402


def library_of(folder: Path, samples: int, stacks: int, windows: int, threads: int) -> Path:
    """Return a library with one recording.

    One that the folder has already is used if it would be made alike.
    """
    library = folder / str(samples)
    made = {"samples": samples, "stacks": stacks, "windows": windows, "threads": threads}
    made |= {"format": RESULTS_VERSION, "version": __version__}
    note = library.with_suffix(".json")
    if not (library.exists() and note.exists() and json.loads(note.read_text()) == made):
        shutil.rmtree(library, ignore_errors=True)
        _fill(library, synthetic(samples, stacks, windows, threads))
        note.write_text(json.dumps(made))
    return library


def _fill(library: Path, trace: Trace) -> None:
    """Make a library with one analysed recording."""
    begun = time.perf_counter()
    samples = len(trace.samples)
    analysis = analyze(trace, windows="coreml")
    analysed = time.perf_counter()
    store, lock = Store.open_locked(library)
    recording = make_recording(make_id(), f"{samples:,} samples", "upload", 0)
    results = store.results(recording.id)
    results.mkdir(parents=True)
    write_results(results, analysis)
    catalog = Catalog(store)
    catalog.add(recording, b"", "")
    catalog.change(recording.id, state="ready", samples=samples, windows=len(analysis.window_rows))
    catalog.close()
    lock.release()
    size = sum(file.stat().st_size for file in results.rglob("*") if file.is_file())
    print(
        f"{samples:,} samples: analysed in {analysed - begun:.1f} s,"
        f" written in {time.perf_counter() - analysed:.1f} s, {size / 1e6:.0f} MB on the disk"
    )
