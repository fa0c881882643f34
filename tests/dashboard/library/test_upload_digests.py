"""An upload continues with the file that it was begun with, or not at all."""

from __future__ import annotations

import hashlib
import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from library_support import CONTENT, append, opened, received, send, tree

from tracekit_dashboard.errors import Conflict, NoSpace, OtherContent
from tracekit_dashboard.library import block_digest
from tracekit_dashboard.library.block_digest import BlockDigest
from tracekit_dashboard.library.library import Library

OTHER = CONTENT[:300] + b"!" + CONTENT[301:]
"""A file of the same size."""


def digest_of(content: bytes, block_bytes: int = 8 << 20) -> str:
    starts = range(0, len(content), block_bytes)
    blocks = [hashlib.sha256(content[start : start + block_bytes]).digest() for start in starts]
    return hashlib.sha256(b"".join(blocks)).hexdigest()


@pytest.fixture(params=[8 << 20, 1000, 350])
def block_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(block_digest, "BLOCK_BYTES", request.param)
    yield request.param


def put(
    library: Library, upload: str, content: bytes, start: int, end: int, block_bytes: int = 8 << 20
) -> int:
    """Send a slice with the digest of what is before it."""
    proof = digest_of(content[:start], block_bytes)
    return library.uploads.append(upload, start, io.BytesIO(content[start:end]), end - start, proof)


def test_the_digest_grows_with_the_bytes(block_bytes: int) -> None:
    digest = BlockDigest()
    for start in range(0, len(CONTENT), 123):
        assert digest.hexdigest() == digest_of(CONTENT[:start], block_bytes)
        digest.update(CONTENT[start : start + 123])
    assert (digest.hexdigest(), digest.size_bytes) == (digest_of(CONTENT, block_bytes), len(CONTENT))


@pytest.mark.parametrize("is_restarted", [False, True])
def test_another_file_is_refused_before_a_byte_is_added(
    tmp_path: Path, block_bytes: int, is_restarted: bool
) -> None:
    with opened(tmp_path) as library:
        upload = library.uploads.begin("x.xml", len(CONTENT))
        put(library, upload, CONTENT, 0, 700, block_bytes)
        if not is_restarted:
            continue_with_both(library, upload, block_bytes)
            return
    with opened(tmp_path) as library:
        continue_with_both(library, upload, block_bytes)


def continue_with_both(library: Library, upload: str, block_bytes: int) -> None:
    with pytest.raises(OtherContent, match=r"x\.xml is not the file of which 700 bytes are here") as refused:
        put(library, upload, OTHER, 700, 1500, block_bytes)
    assert "Choose it again" in str(refused.value)
    assert library.uploads.find_offset(upload) == 700
    assert received_so_far(library, upload) == CONTENT[:700]
    assert put(library, upload, CONTENT, 700, 1500, block_bytes) == 1500
    put(library, upload, CONTENT, 1500, len(CONTENT), block_bytes)
    recording = library.uploads.finish(upload, digest=digest_of(CONTENT, block_bytes))
    assert received(library, recording.id) == CONTENT


def received_so_far(library: Library, upload: str) -> bytes:
    return (library._store.upload(upload) / "input" / "recording").read_bytes()


def test_a_folder_is_one_row_of_bytes_for_the_digest(tmp_path: Path) -> None:
    files = [("X/a", CONTENT[:500]), ("X/empty", b""), ("X/b/c", CONTENT[500:])]
    with opened(tmp_path) as library:
        upload = library.uploads.begin("X", files=[(path, len(content)) for path, content in files])
        put(library, upload, CONTENT, 0, 700)
    with opened(tmp_path) as library:
        with pytest.raises(OtherContent):
            put(library, upload, OTHER, 700, 1500)
        assert put(library, upload, CONTENT, 700, len(CONTENT)) == len(CONTENT)


def test_what_comes_without_a_digest_is_compared_when_one_comes(library: Library) -> None:
    upload = library.uploads.begin("x.xml", len(CONTENT))
    append(library, upload, 0, CONTENT[:700])
    append(library, upload, 700, CONTENT[700:900])
    with pytest.raises(OtherContent):
        put(library, upload, OTHER, 900, 1500)
    assert put(library, upload, CONTENT, 900, 1500) == 1500


def test_a_slice_that_ends_early_counts_as_far_as_it_came(library: Library) -> None:
    upload = library.uploads.begin("x.xml", len(CONTENT))
    assert library.uploads.append(upload, 0, io.BytesIO(CONTENT[:300]), 700) == 300
    assert put(library, upload, CONTENT, 300, 900) == 900


def test_a_slice_that_cannot_be_written_does_not_count(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = library.uploads.begin("x.xml", len(CONTENT))
    put(library, upload, CONTENT, 0, 700)

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tracekit_dashboard.library.slices.write_offset", fail)
        with pytest.raises(NoSpace):
            put(library, upload, CONTENT, 700, 900)
    assert put(library, upload, CONTENT, 700, 1500) == 1500


def test_the_end_is_compared_too(library: Library) -> None:
    upload = library.uploads.begin("x.xml", len(CONTENT))
    send(library, upload, CONTENT)
    with pytest.raises(Conflict, match="did not arrive as it was sent"):
        library.uploads.finish(upload, digest=digest_of(OTHER))
    assert tree(library._store.folder) == []


def test_a_digest_takes_no_memory() -> None:
    digest, block = BlockDigest(), bytes(1 << 20)
    tracemalloc.start()
    for _ in range(64):
        digest.update(block)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
