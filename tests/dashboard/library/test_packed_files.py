"""Files of symbols in the library: one zip for each analysis, from a visitor or from the command line."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from library_support import XML, ready, upload
from macho_support import OTHER_UUID, UUID_OF_APP, dsym, macho, recording

import tracekit
from tracekit.errors import InputError, UsageError
from tracekit.model.trace import Trace
from tracekit_dashboard.library import packed_files
from tracekit_dashboard.library.analyses import GivenFile
from tracekit_dashboard.library.library import Library
from tracekit_dashboard.library.packed_files import wrap_symbols, zip_symbols
from tracekit_dashboard.library.variants import with_files

MAP = f"UUID: {UUID_OF_APP} (arm64) App\n1000 T _first\n".encode()


def opened_with(tmp_path: Path, packed: bytes, identity: str = UUID_OF_APP) -> Trace:
    path = tmp_path / "symbols.zip"
    path.write_bytes(packed)
    return tracekit.open_trace(recording(tmp_path, (0x1001,), identity=identity), symbols=[path])


@pytest.mark.parametrize(("name", "content"), [("App", macho([(0x1000, "_first")])), ("map.txt", MAP)])
def test_a_single_file_keeps_its_name(tmp_path: Path, name: str, content: bytes) -> None:
    def wrapped(name: str, content: bytes) -> bytes:
        with wrap_symbols(name, BytesIO(content)) as file:
            return file.read()

    packed = wrapped(name, content)
    assert wrapped("again.zip", packed) == packed == wrapped(name, content)
    assert list(opened_with(tmp_path, packed).stacks.symbols) == ["first"]
    refused = opened_with(tmp_path, packed, OTHER_UUID)
    message = {issue.code: issue.message for issue in refused.issues}["symbols-of-other-build"]
    assert message.startswith(f"{name}{'.symbols' if name == 'map.txt' else ''} is of another build of App")
    assert UUID_OF_APP in message
    assert OTHER_UUID in message


def test_paths_of_the_command_line_become_one_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "App").write_bytes(macho([(0x1000, "_first")]))
    packed = zip_symbols([str(folder), str(dsym(tmp_path))])
    assert list(opened_with(tmp_path, packed).stacks.symbols) == ["first"]
    with pytest.raises(InputError, match="does not exist"):
        zip_symbols([str(tmp_path / "missing")])
    monkeypatch.setattr(packed_files, "MAX_LOCAL_BYTES", 10)
    with pytest.raises(UsageError, match="name only those of the recorded build"):
        zip_symbols([str(folder)])


def test_an_analysis_keeps_its_file(library: Library) -> None:
    recorded = ready(library, upload(library, "x", XML))
    with wrap_symbols("App", BytesIO(macho([(0x1000, "_first")]))) as file:
        content = file.read()
    variant = library.analyses.request(recorded, {}, {"symbols": GivenFile("App", BytesIO(content))})
    assert variant is not None
    folder = library._store.variant(recorded, variant.id)
    assert Path(*with_files(variant.options, folder).symbols).read_bytes() == content
    # Another analysis with the same file and a further option; a path in its place is none.
    other = library.analyses.request(recorded, {**variant.options, "run": 2})
    assert other is not None
    assert other.options["symbols"] == variant.options["symbols"]
    with pytest.raises(UsageError, match="symbols is a file"):
        library.analyses.request(recorded, {"symbols": ["/etc/passwd"]})
