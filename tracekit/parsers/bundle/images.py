"""Which binary lay where: the image lists of ``form.template``, per process.

A *signature* is a list of images: path, UUID, architecture, segments with their addresses, and when the image
was loaded and unloaded. A process has one of its own; what it took from the shared cache stands, relative to
the cache, once for all processes, and the process names which of these it had.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.errors import DamagedFileError
from tracekit.parsers.bundle.keyed_archive import KeyedArchive
from tracekit.parsers.bundle.uniquer import Words

FORM = "form.template"
KERNEL_PID = 0

_STORES = "com.apple.xray.symbolstoremanager.symbolstores"
_SIGNATURE = "com.apple.xray.symbolstore.signature"
_KERNEL = "com.apple.xray.symbolstore.kern.signatures"
_CACHE = "com.apple.xray.symbolstore.sharedcache.signatures"

_HEADER = struct.Struct("<6I")
_IMAGE = struct.Struct("<16s2I2Q4I")
_SEGMENT = struct.Struct("<16s2Q")
_CACHE_TAIL = struct.Struct("<2I16sQ")
_MAGIC = 0xFF01_FF02
_CACHE_MAGIC = 0x00C0_FFEE
_MOST_IMAGES = 20_000

# The cache's images share one __LINKEDIT, and nothing runs in either.
_NO_CODE = frozenset({"__PAGEZERO", "__LINKEDIT"})
_USER_ADDRESS = np.uint64(0x7FFF_FFFF_FFFF)
"""Bits of an address proper; above them arm64e keeps its signature."""

_ARCHITECTURES = {
    (0x0100_000C, 2): "arm64e",
    (0x0100_000C, 1): "arm64v8",
    (0x0100_000C, 0): "arm64",
    (0x0200_000C, 1): "arm64_32",
    (0x0100_0007, 8): "x86_64h",
    (0x0100_0007, 3): "x86_64",
    (0x0000_0007, 3): "i386",
}
_SUBTYPE_BITS = 0x00FF_FFFF  # above them are capabilities


@dataclass(frozen=True)
class Image:
    """One binary in one process: ``segments`` are (name, address, size in bytes) as they lay in memory."""

    uuid: str
    path: str
    arch: str
    segments: tuple[tuple[str, int, int], ...]

    @property
    def name(self) -> str:
        """The file's name, as stacks show it."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def load_address(self) -> int:
        """Where its text lay; 0 when it has none."""
        return next((address for name, address, _ in self.segments if name == "__TEXT"), 0)

    def moved(self, base: int) -> Image:
        """Return the image with its segments ``base`` higher."""
        segments = tuple((n, (a + base) % 2**64, size) for n, a, size in self.segments)
        return Image(self.uuid, self.path, self.arch, segments)


class ImageMap:
    """The images of one process by address. ``images`` may be empty: nothing is found then."""

    def __init__(self, images: tuple[Image, ...]) -> None:
        self.images = images
        # A binary may be listed twice at one place, by the process and by the shared cache: that is one.
        places = {
            (address, size, image.uuid): (at, segment)
            for at, image in enumerate(images)
            for segment, (name, address, size) in enumerate(image.segments)
            if name not in _NO_CODE and size and address + size < 2**64
        }
        parts = sorted((address, size, *place) for (address, size, _), place in places.items())
        self._starts = np.array([start for start, _, _, _ in parts], np.uint64)
        self._ends = np.array([start + size for start, size, _, _ in parts], np.uint64)
        self._sorted_ends = np.sort(self._ends)
        self.image_of_part = np.array([image for _, _, image, _ in parts], np.int64)
        self.segment_of_part = np.array([segment for _, _, _, segment in parts], np.int64)

    def find(self, addresses: Words) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return for each address its part (of ``image_of_part``), -1 for none, and which are ambiguous.

        An address is ambiguous when several images lay there one after another: it has part -1.
        """
        if not len(self._starts):
            return np.full(len(addresses), -1, np.int64), np.zeros(len(addresses), bool)
        below = np.searchsorted(self._starts, addresses, side="right")
        part = below - 1
        inside = (part >= 0) & (addresses < self._ends[part])
        ambiguous = below - np.searchsorted(self._sorted_ends, addresses, side="right") > 1
        return np.where(inside & ~ambiguous, part, -1), ambiguous


def lookup_addresses(addresses: Words, pid: int) -> Words:
    """Return addresses without their signatures; the kernel's have none."""
    return addresses if pid == KERNEL_PID else addresses & _USER_ADDRESS


class RunImages:
    """The image maps of one run's processes, read when they are asked for."""

    def __init__(self, form: KeyedArchive | None, run: int) -> None:
        self._form = form
        self._run = run
        self._maps: dict[int, ImageMap] = {}
        self._stores = self._stores_by_pid()
        self._shared: dict[bytes, dict[Any, Any]] = {}

    @property
    def pids(self) -> set[int]:
        """The processes whose images are known."""
        return set(self._stores)

    def of(self, pid: int) -> ImageMap:
        """Return the images of a process. Raises ``DamagedFileError``."""
        if pid not in self._maps:
            self._maps[pid] = ImageMap(tuple(_distinct(self._images(pid))))
        return self._maps[pid]

    def _stores_by_pid(self) -> dict[int, Any]:
        """Stores are named ``<device>.<pid>``."""
        if self._form is None:
            return {}
        stores = self._form.items(self._form.get(self._form.top(_STORES), self._run))
        pids = {name: str(name).rpartition(".")[2] for name in stores}
        return {int(pid): stores[name] for name, pid in pids.items() if pid.isdecimal() and len(pid) < 11}

    def _images(self, pid: int) -> Iterator[Image]:
        if self._form is None:
            return
        store = self._form.follow(self._stores.get(pid))
        signature = self._form.get(store, _SIGNATURE)
        if pid == KERNEL_PID and not isinstance(signature, bytes):
            signature = self._form.get(self._form.top(_KERNEL), self._run)
        if not isinstance(signature, bytes):
            return
        images, cache, base = parse_signature(signature)
        yield from images
        shared = self._shared_images(cache)
        keys = self._form.elements(self._form.get(store, "dsc_load_addresses"))
        left = _MOST_IMAGES
        for key in dict.fromkeys(key for key in keys if isinstance(key, int)):
            blob = self._form.follow(shared.get(key))
            if isinstance(blob, bytes):
                images = parse_signature(blob)[0]
                left -= len(images)
                if left < 0:
                    raise DamagedFileError(FORM, f"has more than {_MOST_IMAGES} images in one process")
                yield from (image.moved(base) for image in images)

    def _shared_images(self, cache: bytes) -> dict[Any, Any]:
        if self._form is None or not cache:
            return {}
        if cache not in self._shared:
            self._shared[cache] = self._form.items(self._form.get(self._form.top(_CACHE), cache))
        return self._shared[cache]


def _distinct(images: Iterator[Image]) -> Iterator[Image]:
    """An image that was unloaded and came back to the same place is one image."""
    return iter(dict.fromkeys(images))


def parse_signature(data: bytes) -> tuple[list[Image], bytes, int]:
    """Return the images, the shared cache's UUID (b"" for none) and where the cache lay.

    Raises ``DamagedFileError`` for anything that is not laid out as a signature.
    """
    try:
        magic, _, _, _, _, count = _HEADER.unpack_from(data)
        if magic != _MAGIC or count > _MOST_IMAGES:
            raise DamagedFileError(FORM, "has an image list that does not begin as one")
        images = []
        at = _HEADER.size
        for _ in range(count):
            image, at = _parse_image(data, at)
            images.append(image)
    except struct.error as error:
        raise DamagedFileError(FORM, "has an image list that is cut off") from error
    if len(data) >= at + _CACHE_TAIL.size:
        mark, _, cache, base = _CACHE_TAIL.unpack_from(data, at)
        if mark == _CACHE_MAGIC:
            return images, cache, base
    return images, b"", 0


def _parse_image(data: bytes, at: int) -> tuple[Image, int]:
    identity, _, _, _, _, cpu, subtype, segment_count, path_bytes = _IMAGE.unpack_from(data, at)
    at += _IMAGE.size
    if at + path_bytes + segment_count * _SEGMENT.size > len(data):
        raise DamagedFileError(FORM, "has an image list that is cut off")
    path = data[at : at + path_bytes].split(b"\0", 1)[0].decode("utf-8", "replace")
    at += path_bytes
    segments = tuple(
        (name.rstrip(b"\0").decode("ascii", "replace"), address, size)
        for name, address, size in _SEGMENT.iter_unpack(data[at : at + segment_count * _SEGMENT.size])
    )
    arch = _ARCHITECTURES.get((cpu, subtype & _SUBTYPE_BITS), "")
    name = str(uuid.UUID(bytes=identity)).upper()
    return Image(name, path, arch, segments), at + segment_count * _SEGMENT.size
