"""The images (loaded binaries) of each process, with their addresses, from ``form.template``.

A *signature* is a list of images: path, UUID, architecture, segments with their addresses, and when the image
was loaded and unloaded. Each process has one. The images of the shared cache are stored once for all
processes, with addresses relative to the cache, and each process lists the ones that it had loaded.

    signature   6 × u32: magic ff01ff02, …, number of images │ image │ image │ … │ tail
    image       16 bytes UUID, 2 × u32, u64 loaded, u64 unloaded, u32 CPU, u32 subtype, u32 segments,
                u32 bytes of the path │ path, zero-terminated │ segment │ segment │ …
    segment     16 bytes name, u64 address, u64 size
    tail        u32 magic 00c0ffee, u32, 16 bytes UUID of the shared cache, u64 its address

Source: every binary compared with exports of the same recordings. The kernel's images are read in the same
way, but no export has confirmed this: no recording with kernel stacks was available.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.columns import IntArray
from tracekit.parsers.bundle.bundle_files import DamagedFileError
from tracekit.parsers.bundle.interned import Words
from tracekit.parsers.bundle.keyed_archive import KeyedArchive

DOCUMENT_FILE = "form.template"
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
_MAX_IMAGES = 20_000

# No code runs in either, and the cache's images share one __LINKEDIT.
_NO_CODE = frozenset({"__PAGEZERO", "__LINKEDIT"})
_USER_ADDRESS = np.uint64(0x7FFF_FFFF_FFFF)
"""The bits of the address itself; arm64e keeps the pointer's signature above them."""

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


def find_architecture(cpu: int, subtype: int) -> str:
    """Return the name of an architecture; "" for architectures of other platforms."""
    return _ARCHITECTURES.get((cpu, subtype & _SUBTYPE_BITS), "")


@frozen
class LoadedImage:
    """One binary in one process: ``segments`` are (name, address, size in bytes) as mapped into memory."""

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
        """The address of its text segment; 0 when it has none."""
        return next((address for name, address, _ in self.segments if name == "__TEXT"), 0)

    def move(self, base: int) -> LoadedImage:
        """Return the image with its segments ``base`` higher."""
        segments = tuple((n, (a + base) % 2**64, size) for n, a, size in self.segments)
        return LoadedImage(self.uuid, self.path, self.arch, segments)


class ImageMap:
    """The images of one process by address. ``images`` may be empty: then no address has an image."""

    def __init__(self, images: tuple[LoadedImage, ...]) -> None:
        self.images = images
        # A binary may be listed twice at one address, by the process and by the shared cache: it counts once.
        origins = {
            (address, size, image.uuid): (image_number, index)
            for image_number, image in enumerate(images)
            for index, (name, address, size) in enumerate(image.segments)
            if name not in _NO_CODE and size and address + size < 2**64
        }
        segments = sorted((address, size, *origin) for (address, size, _), origin in origins.items())
        self._starts = np.array([start for start, _, _, _ in segments], np.uint64)
        self._ends = np.array([start + size for start, size, _, _ in segments], np.uint64)
        self._sorted_ends = np.sort(self._ends)
        self.image_of_segment = np.array([image for _, _, image, _ in segments], np.int64)
        self.index_in_image = np.array([index for _, _, _, index in segments], np.int64)

    def find(self, addresses: Words) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return the segment (of ``image_of_segment``) of each address, -1 for none, and which are ambiguous.

        An address is ambiguous when several images were loaded there one after another: it has segment -1.
        """
        if not len(self._starts):
            return np.full(len(addresses), -1, np.int64), np.zeros(len(addresses), bool)
        # Segments that begin minus segments that end at or below the address = segments around it.
        begun_count = np.searchsorted(self._starts, addresses, side="right")
        segment = begun_count - 1
        is_inside = (segment >= 0) & (addresses < self._ends[segment])
        ambiguous = begun_count - np.searchsorted(self._sorted_ends, addresses, side="right") > 1
        return np.where(is_inside & ~ambiguous, segment, -1), ambiguous


def lookup_addresses(addresses: Words, pid: int) -> Words:
    """Return addresses without pointer signatures; the kernel's have none."""
    return addresses if pid == KERNEL_PID else addresses & _USER_ADDRESS


class RunImages:
    """The image maps of one run's processes, each read on first use."""

    def __init__(self, document: KeyedArchive | None, run: int) -> None:
        self._document = document
        self._run = run
        self._maps: dict[int, ImageMap] = {}
        self._stores = self._list_stores()
        self._shared: dict[bytes, dict[Any, Any]] = {}

    @property
    def pids(self) -> set[int]:
        """The processes with known images."""
        return set(self._stores)

    def get_map(self, pid: int) -> ImageMap:
        """Return the images of a process. Raises ``DamagedFileError``."""
        if pid not in self._maps:
            self._maps[pid] = ImageMap(tuple(_iter_distinct(self._iter_images(pid))))
        return self._maps[pid]

    def _list_stores(self) -> dict[int, Any]:
        """Return the symbol stores by pid; in the document they are named ``<device>.<pid>``."""
        if self._document is None:
            return {}
        stores = self._document.items(self._document.get(self._document.top(_STORES), self._run))
        pids = {name: str(name).rpartition(".")[2] for name in stores}
        return {int(pid): stores[name] for name, pid in pids.items() if pid.isdecimal() and len(pid) < 11}

    def _iter_images(self, pid: int) -> Iterator[LoadedImage]:
        if self._document is None:
            return
        store = self._document.follow(self._stores.get(pid))
        # The kernel's images may be stored apart from those of processes.
        signature = self._document.get(store, _SIGNATURE)
        if pid == KERNEL_PID and not isinstance(signature, bytes):
            signature = self._document.get(self._document.top(_KERNEL), self._run)
        if not isinstance(signature, bytes):
            return
        # A process has images of its own, and those of the shared cache that it used. The latter are stored
        # once for all processes, at addresses relative to the cache, and are moved to where this process had
        # it.
        images, cache, base = parse_signature(signature)
        yield from images
        shared = self._read_shared_images(cache)
        keys = self._document.elements(self._document.get(store, "dsc_load_addresses"))
        images_left = _MAX_IMAGES
        for key in dict.fromkeys(key for key in keys if isinstance(key, int)):
            blob = self._document.follow(shared.get(key))
            if isinstance(blob, bytes):
                images = parse_signature(blob)[0]
                images_left -= len(images)
                if images_left < 0:
                    raise DamagedFileError(
                        DOCUMENT_FILE, f"has more than {_MAX_IMAGES} images in one process"
                    )
                yield from (image.move(base) for image in images)

    def _read_shared_images(self, cache: bytes) -> dict[Any, Any]:
        if self._document is None or not cache:
            return {}
        if cache not in self._shared:
            self._shared[cache] = self._document.items(self._document.get(self._document.top(_CACHE), cache))
        return self._shared[cache]


def _iter_distinct(images: Iterator[LoadedImage]) -> Iterator[LoadedImage]:
    """Yield each image once: one that was unloaded and loaded again at the same address is one image."""
    return iter(dict.fromkeys(images))


def parse_signature(data: bytes) -> tuple[list[LoadedImage], bytes, int]:
    """Return the images, the shared cache's UUID (b"" for none) and the cache's address.

    Raises ``DamagedFileError`` for data with another layout.
    """
    try:
        magic, _, _, _, _, count = _HEADER.unpack_from(data)
        if magic != _MAGIC or count > _MAX_IMAGES:
            raise DamagedFileError(DOCUMENT_FILE, "has an image list that does not begin like one")
        images = []
        offset = _HEADER.size
        for _ in range(count):
            image, offset = _parse_image(data, offset)
            images.append(image)
    except struct.error as error:
        raise DamagedFileError(DOCUMENT_FILE, "has an image list that is cut off") from error
    if len(data) >= offset + _CACHE_TAIL.size:
        magic, _, cache, base = _CACHE_TAIL.unpack_from(data, offset)
        if magic == _CACHE_MAGIC:
            return images, cache, base
    return images, b"", 0


def _parse_image(data: bytes, offset: int) -> tuple[LoadedImage, int]:
    identity, _, _, _, _, cpu, subtype, segment_count, path_bytes = _IMAGE.unpack_from(data, offset)
    offset += _IMAGE.size
    if offset + path_bytes + segment_count * _SEGMENT.size > len(data):
        raise DamagedFileError(DOCUMENT_FILE, "has an image list that is cut off")
    path = data[offset : offset + path_bytes].split(b"\0", 1)[0].decode("utf-8", "replace")
    offset += path_bytes
    segments = tuple(
        (name.rstrip(b"\0").decode("ascii", "replace"), address, size)
        for name, address, size in _SEGMENT.iter_unpack(data[offset : offset + segment_count * _SEGMENT.size])
    )
    name = str(uuid.UUID(bytes=identity)).upper()
    return LoadedImage(
        name, path, find_architecture(cpu, subtype), segments
    ), offset + segment_count * _SEGMENT.size
