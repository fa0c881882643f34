"""Further analyses of a recording: requests, states, defaults, sizes, and what is refused."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from library_support import EXPORTS, FACTS, ONE_READER, SUMMARY, XML, opened, ready, settled, upload, wait_for

from tracekit.errors import UsageError
from tracekit_dashboard.errors import Conflict, NotFound, TooLarge
from tracekit_dashboard.jobs.download_formats import choose_format
from tracekit_dashboard.library.analyses import GivenFile
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.run_inventory import INVENTORY, read_inventory
from tracekit_dashboard.library.variants import Variant

RUN_2 = {"run": 2}
CALLS = b"start_ns,end_ns,label\n1000,2000,first\n"


@pytest.fixture
def recording(library: Library) -> str:
    return ready(library, upload(library, "x", XML))


def give(name: str, content: bytes) -> GivenFile:
    return GivenFile(name, BytesIO(content))


def requested(library: Library, recording: str, values: Mapping[str, Any], **files: GivenFile) -> Variant:
    variant = library.analyses.request(recording, values, {k.replace("_", "-"): f for k, f in files.items()})
    assert variant is not None
    return variant


def made(library: Library, variant: Variant, verdict: str = "of the variant") -> None:
    """Let the variant be made, as if by a worker."""
    assert library._catalog.variants.claim(()) == (variant.recording, variant.id)
    results = library._store.results(variant.analysis)
    results.mkdir()
    (results / "summary.json").write_text(
        json.dumps({**json.loads(SUMMARY), "verdict": verdict, "samples": 7})
    )
    (results / "view.bin.gz").write_bytes(b"x" * 500)
    assert library._variant_jobs._adopt_results((variant.recording, variant.id))


def test_the_same_options_are_the_same_analysis(library: Library, recording: str) -> None:
    first = requested(library, recording, {"run": 2, "process": "App"})
    assert (first.state, first.options) == ("waiting", {"process": "App", "run": 2})
    assert requested(library, recording, {"process": "App", "run": "2", "thread": ""}) == first
    assert library.analyses.list_variants(recording) == [first]
    assert library.analyses.request(recording, {"windows": "auto"}) is None


def test_results_of_a_variant_stand_beside_the_first_ones(library: Library, recording: str) -> None:
    variant = requested(library, recording, RUN_2)
    with pytest.raises(NotFound, match="x is not ready: waiting"):
        library.find_results(variant.analysis)
    made(library, variant)
    assert library.find_view(variant.analysis).read_bytes() == b"x" * 500
    shown = library.find_recording(variant.analysis)
    assert (shown.id, shown.name, shown.samples, shown.verdict) == (
        variant.analysis,
        "x",
        7,
        "of the variant",
    )
    assert library.find_recording(recording).verdict == FACTS["verdict"]
    assert library.find_results(recording) != library.find_results(variant.analysis)
    assert library.build_arguments(variant.analysis) == ["--run=2"]


def test_the_default_is_the_one_of_the_library_s_row(library: Library, recording: str) -> None:
    variant = requested(library, recording, RUN_2)
    with pytest.raises(Conflict, match="ready"):
        library.analyses.set_default(recording, variant.id)
    made(library, variant)
    library.analyses.set_default(recording, variant.id)
    row = library.list_recordings()[0]
    assert (row.default_variant, row.verdict, row.samples) == (variant.id, "of the variant", 7)
    library.analyses.remove(recording, variant.id)
    row = library.list_recordings()[0]
    assert (row.default_variant, row.verdict, row.samples) == ("", "", 0)
    assert library.analyses.list_variants(recording) == []
    assert not library._store.variant(recording, variant.id).exists()


def test_sizes_and_drops_include_variants(library: Library, recording: str) -> None:
    library.note_results(recording)
    before = library.measure_disk_use().results_bytes
    variant = requested(library, recording, RUN_2)
    made(library, variant)
    assert library.measure_disk_use().results_bytes >= before + 500
    library.drop_results(recording)
    assert library.measure_disk_use().results_bytes == 0
    assert not library._store.results(variant.analysis).exists()
    assert library.analyses.find(recording, variant.id).state == "dropped"
    assert library.analyses.open_variant(recording, variant.id).state == "waiting"
    made(library, variant)
    assert library.find_recording(recording).is_dropped  # its own results are still gone


def test_reading_again_drops_what_was_made_of_the_earlier_file(library: Library, recording: str) -> None:
    variant = requested(library, recording, RUN_2)
    made(library, variant)
    library.retry(recording)
    assert library.analyses.find(recording, variant.id).state == "dropped"


def test_files_of_options_are_kept_in_the_variant_s_folder(library: Library, recording: str) -> None:
    variant = requested(library, recording, {}, windows_csv=give("calls of today.csv", CALLS))
    stored = variant.options["windows-csv"]
    assert (stored["name"], len(stored["sha256"])) == ("calls of today.csv", 64)
    copy = library._store.variant(recording, variant.id) / "windows.csv"
    assert copy.read_bytes() == CALLS
    assert library.build_arguments(variant.analysis) == [f"--windows-csv={copy}"]
    other = requested(library, recording, {}, windows_csv=give("calls of today.csv", CALLS + b"3000,4000,\n"))
    assert other.id != variant.id
    assert list(library._store.trash.iterdir()) == []


def test_cancelled_work_can_be_requested_again(library: Library, recording: str) -> None:
    variant = requested(library, recording, RUN_2)
    library.analyses.cancel(recording, variant.id)
    assert library.analyses.find(recording, variant.id).state == "cancelled"
    assert library._catalog.variants.claim(()) is None
    assert requested(library, recording, RUN_2).state == "waiting"


@pytest.mark.parametrize(
    ("values", "files", "sentence"),
    [
        ({"run": "two"}, {}, "run is the number of a run"),
        ({"windows": "coreml", "window": ["1ms-2ms"]}, {}, "Choose calls in one way"),
        (
            {"window-signpost": ["a/b/c"]},
            {"windows-csv": give("calls.csv", CALLS)},
            "Choose calls in one way",
        ),
        ({"windows-csv": "/etc/passwd"}, {}, "windows-csv is a file: choose it on the recording's page."),
        ({"markers": "../../x"}, {}, "markers is a file"),
        ({}, {"passwd": give("calls.csv", CALLS)}, "No file belongs to 'passwd'"),
        ({}, {"windows-csv": give("../../a\n.csv", b"x,y\n")}, "a .csv: has no columns start_ns,end_ns"),
        ({}, {"windows-csv": give("a.csv", b"\xff\xfe\0")}, "a.csv"),
        ({}, {"markers": give("r.toml", b"[[rule]]\nid = 1\n")}, "r.toml"),
    ],
)
def test_refused_requests(
    library: Library, recording: str, values: dict[str, Any], files: dict[str, GivenFile], sentence: str
) -> None:
    with pytest.raises(UsageError) as error:
        library.analyses.request(recording, values, files)
    assert sentence in str(error.value)
    assert str(library._store.folder) not in str(error.value)
    assert library.analyses.list_variants(recording) == []
    assert list(library._store.trash.iterdir()) == []


def test_a_large_file_is_refused(library: Library, recording: str) -> None:
    with pytest.raises(TooLarge, match=r"a\.csv is larger than 2 MB"):
        library.analyses.request(recording, {}, {"windows-csv": give("a.csv", bytes((2 << 20) + 1))})


def test_variants_of_other_recordings_and_malformed_ids(library: Library, recording: str) -> None:
    variant = requested(library, recording, RUN_2)
    made(library, variant)
    other = ready(library, upload(library, "y", XML))
    for analysis in (f"{other}.{variant.id}", f"{recording}.../../x", f"{recording}.{'0' * 16}"):
        with pytest.raises(NotFound):
            library.find_results(analysis)
    with pytest.raises(NotFound):
        library._store.results(f"{recording}.../../x")


def test_removing_one_while_another_is_removed_counts_what_is_left(
    library: Library, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request removes a variant between the listing of all and of its files."""
    first, second, third = (requested(library, recording, {"run": run}) for run in (2, 3, 4))
    for variant in (first, second, third):
        made(library, variant)
    vanishing = library._store.variant(recording, second.id)
    scandir = os.scandir

    def remove_and_list(path: Any) -> Any:
        if path in (vanishing, str(vanishing)):
            library._store.discard(vanishing)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", remove_and_list)
    library.analyses.remove(recording, first.id)
    assert not vanishing.exists()
    size_bytes = len(SUMMARY) + sum(map(disk_bytes, library._store.variant(recording, third.id).rglob("*")))
    assert library.find_recording(recording).results_bytes == size_bytes


def disk_bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def test_a_recording_takes_a_bounded_number_of_variants(
    library: Library, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit_dashboard.library.analyses._MAX_VARIANTS", 2)
    requested(library, recording, {"run": 2})
    requested(library, recording, {"run": 3})
    with pytest.raises(UsageError, match="has 2 analyses already"):
        requested(library, recording, {"run": 4})
    assert requested(library, recording, {"run": 3}).options == {"run": 3}


def test_work_of_a_killed_server_is_resumed(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = ready(library, upload(library, "x", XML))
        half, done = (requested(library, recording, {"run": run}) for run in (2, 3))
        library._catalog.variants.claim(())
        library._catalog.variants.claim([(half.recording, half.id)])
        results = library._store.results(done.analysis)
        results.mkdir()
        (results / "summary.json").write_text(SUMMARY)
    with opened(tmp_path) as library:
        assert library.analyses.find(recording, half.id).state == "waiting"
        assert library.analyses.find(recording, done.id).state == "ready"


def test_a_catalog_of_an_earlier_version_gets_the_default(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        recording = ready(library, upload(library, "x", XML))
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite3")) as catalog:
        catalog.execute("ALTER TABLE recordings DROP COLUMN default_variant")
        catalog.execute("DROP TABLE variants")
    with opened(tmp_path) as library:
        assert library.find_recording(recording).default_variant == ""
        assert library.analyses.list_variants(recording) == []


@pytest.mark.integration
def test_a_worker_makes_a_variant_and_states_what_it_cannot_make(tmp_path: Path) -> None:
    with opened(tmp_path, ONE_READER) as library:
        recording = settled(library, library.add_file(EXPORTS)).id
        choices = read_inventory(library.find_result(recording, INVENTORY))
        assert [run["run"] for run in choices["runs"]] == [1]
        (subsystem, category, name, count), *_ = choices["signposts"]
        good = requested(library, recording, {"window-signpost": [f"{subsystem}/{category}/{name}"]})
        bad = requested(library, recording, {"process": "nobody"})
        unfinished = ("waiting", "reading")
        wait_for(
            lambda: not any(each.state in unfinished for each in library.analyses.list_variants(recording))
        )
        good = library.analyses.find(recording, good.id)
        assert (good.state, good.windows) == ("ready", count)
        table = library.downloads.find_or_make(good.analysis, choose_format("windows", False)).read_text(
            "utf-8"
        )
        assert table.count(f",{name},") == count  # a download is of the variant
        bad = library.analyses.find(recording, bad.id)
        assert bad.state == "failed"
        assert "has no samples of a process 'nobody'" in bad.message
        assert library.find_recording(recording).state == "ready"
