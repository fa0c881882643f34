"""Both readers give the same tables for every real export, however its bytes are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents_support import SHARED
from xml_readers import READERS, outcome

from tracekit.parsers.xml import accelerator

pytestmark = pytest.mark.skipif(
    not accelerator.is_compiled(), reason="installed without the compiled scanner"
)
FILES = sorted(path.relative_to(SHARED / "traces") for path in (SHARED / "traces").rglob("*.xml"))


@pytest.mark.integration
@pytest.mark.parametrize("file", FILES, ids=str)
def test_both_readers_agree(file: Path) -> None:
    data = (SHARED / "traces" / file).read_bytes()
    for sizes in ((1 << 22,), (1 << 18,), (4093,), (977, 1, 64)):
        expected, accelerated = (
            outcome(data, reader, sizes, tables=sizes[0] > 1 << 20) for reader in READERS
        )
        assert accelerated == expected, sizes
