"""A digest of a long row of bytes that a page can compute, too, and that grows with the bytes::

    SHA-256(SHA-256(block 0) ‖ SHA-256(block 1) ‖ …)    blocks of 8 MiB, the last one as long as it is

A browser's ``crypto.subtle`` hashes a whole buffer at once: of gigabytes, it can only hash blocks.
``assets/block_digest.js`` has the same definition.
"""

from __future__ import annotations

import hashlib
from copy import copy
from typing import Protocol, Self

BLOCK_BYTES = 8 << 20


class BlockDigest:
    """The digest of the bytes given so far, in constant memory."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._whole = hashlib.sha256()
        """Of the digests of the whole blocks."""
        self._block = hashlib.sha256()
        """Of the bytes after them."""

    def copy(self) -> Self:
        """Return a digest of the same bytes that grows apart."""
        digest = copy(self)
        digest._whole, digest._block = self._whole.copy(), self._block.copy()
        return digest

    def update(self, data: bytes) -> None:
        """Add bytes."""
        remaining = memoryview(data)
        while remaining:
            piece = remaining[: BLOCK_BYTES - self.size_bytes % BLOCK_BYTES]
            self._block.update(piece)
            self.size_bytes += len(piece)
            remaining = remaining[len(piece) :]
            if self.size_bytes % BLOCK_BYTES == 0:
                self._whole.update(self._block.digest())
                self._block = hashlib.sha256()

    def hexdigest(self) -> str:
        """Return the digest as 64 hex digits."""
        whole = self._whole.copy()
        if self.size_bytes % BLOCK_BYTES:
            whole.update(self._block.digest())
        return whole.hexdigest()


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""


class Digested:
    """A source whose bytes are added to a digest as they are read."""

    def __init__(self, stream: Readable, digest: BlockDigest) -> None:
        self._stream, self._digest = stream, digest

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        data = self._stream.read(size)
        self._digest.update(data)
        return data
