"""The binary at an address."""

from __future__ import annotations

import numpy as np

from tracekit.parsers.bundle.loaded_images import ImageMap, LoadedImage


def test_a_binary_that_is_listed_twice_at_one_place_is_one() -> None:
    """By the process and by the shared cache, with other segments beside its text."""
    image = ImageMap(
        (
            LoadedImage("A", "/usr/lib/a", "arm64", (("__TEXT", 0x1000, 0x100),)),
            LoadedImage("A", "/usr/lib/a", "arm64", (("__TEXT", 0x1000, 0x100), ("__DATA", 0x2000, 0x10))),
            LoadedImage("B", "/usr/lib/b", "arm64", (("__TEXT", 0x5000, 0x100),)),
            LoadedImage("C", "/usr/lib/c", "arm64", (("__TEXT", 0x5080, 0x100),)),
        )
    )
    parts, ambiguous = image.find(np.array([0x1010, 0x2001, 0x5010, 0x5090, 0x5100, 0x9000], np.uint64))
    assert [image.images[image.image_of_segment[part]].uuid if part >= 0 else "" for part in parts] == [
        "A",
        "A",
        "B",
        "",
        "C",
        "",
    ]
    assert ambiguous.tolist() == [False, False, False, True, False, False]
