"""Lists of binary images: where each binary of a process was loaded. A list is not evidence of work.

    0x7ff806966000 -     0x7ff80699fff7  libsystem_kernel.dylib (8792.41.9) <0C2FD2C9-…>  /usr/lib/system/…
       0x103746000 -        0x103a80ffb +rg (0) <7DBD2D57-…> /usr/local/Cellar/ripgrep/11.0.1/bin/rg
   *0xffffff80002dc000 - 0xffffff8000cdbfff  kernel (8792.41.9) <BF7C9676-…>__TEXT  /System/Library/…
       0x103f04000 -                ???  ???  <B87012E0-…>

Formats: ``sample`` and spindump of macOS 10.9 to 26 (real files). A name may be a bundle's identifier,
whereas frames name the file; so images are found by the last part of the path.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from tracekit.frozen import frozen

_MAX_CHARACTERS = 10_000
_IMAGE = re.compile(
    r" *\*?0x(?P<start>[0-9a-f]{1,16}) - +(?:0x(?P<end>[0-9a-f]{1,16})|\?\?\?)  ?\+?(?P<label>[^<\s][^<]*)"
    r"<(?P<uuid>[0-9A-Fa-f-]{32,36})>(?P<segment>\w*)(?: +(?P<path>.*))?$"
)
_TEXT_SEGMENTS = ("", "__TEXT")


@frozen
class ListedImage:
    """One binary. ``load_address`` is 0 where the list has the address of another segment."""

    path: str
    uuid: str
    start: int
    end: int
    load_address: int


@dataclass
class BinaryImages:
    """The images of one process, found by the name and the address of a frame.

    Frames name a binary without a name by its UUID: ``??? (<B87012E0-…> + 2879)``.
    """

    arch: str = ""
    _by_name: dict[str, list[ListedImage]] = field(default_factory=dict)
    _starts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: str) -> bool:
        """Add the image of a line; False if the line has none."""
        match = _IMAGE.match(line) if len(line) < _MAX_CHARACTERS else None
        if match is None:
            return False
        start = int(match["start"], 16)
        path = (match["path"] or "").strip()
        # A kernel extension has its identifier as path; frames have that, or only the end of it.
        identifier = path if path and "/" not in path else match["label"].split()[0]
        names = [path.rpartition("/")[2]] if "/" in path else [identifier, identifier.rpartition(".")[2]]
        uuid = match["uuid"].upper()
        image = ListedImage(
            path if "/" in path else "",
            uuid,
            start,
            int(match["end"], 16) if match["end"] else -1,
            start if match["segment"] in _TEXT_SEGMENTS else 0,
        )
        for name in {*names, f"<{uuid}>"}:
            self._by_name.setdefault(name, []).append(image)
            self._starts.pop(name, None)
        return True

    def find(self, name: str, address: int) -> ListedImage | None:
        """Return the image that a frame names, by its address where several have that name."""
        images = self._by_name.get(name, [])
        if len(images) < 2:
            return images[0] if images else None
        if name not in self._starts:
            images.sort(key=lambda image: image.start)
            self._starts[name] = [image.start for image in images]
        nearest = images[bisect_right(self._starts[name], address) - 1]
        return nearest if nearest.start <= address <= nearest.end else None
