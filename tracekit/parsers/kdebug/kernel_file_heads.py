"""The first bytes of kdebug streams and of stackshots, by which files are recognised without reading more.

Sources: bsd/sys/kdebug_private.h and osfmk/kern/kcdata.h of apple-oss-distributions/xnu.
"""

from __future__ import annotations

import struct

HEAD_BYTES = 64

KDEBUG_1 = b"\x01\x01\xaa\x55"
KDEBUG_2 = b"\x00\x02\xaa\x55"
KDEBUG_3_OF_KPERF = b"\x00\x03\xaa\x55"
KDEBUG_3_OF_KERNEL = b"\x00\x10\x00\x00"
STACKSHOT = b"\x07\x58\xa2\x59"
COMPRESSED_KCDATA = b"PMOC"

KDEBUG_3_HEADER = struct.Struct("<4sIQIIQQIIII")
"""``kd_header_v3``: tag, version, bytes that follow, nanoseconds of a tick (n/d), times, zone, flags."""


def is_kernel_recording(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is a kdebug stream of any version, or a stackshot."""
    if head.startswith(KDEBUG_3_OF_KERNEL):  # four bytes that other files may begin with
        return len(head) >= KDEBUG_3_HEADER.size and _is_plausible(head)
    return head.startswith((KDEBUG_1, KDEBUG_2, KDEBUG_3_OF_KPERF, STACKSHOT, COMPRESSED_KCDATA))


def _is_plausible(head: bytes) -> bool:
    _, version, header_bytes, numerator, denominator, *_ = KDEBUG_3_HEADER.unpack_from(head)
    return bool(version <= 16 and 40 <= header_bytes <= 1 << 20 and 0 < denominator <= numerator <= 10**10)
