"""Files of symbols that a visitor adds in a real browser: names for the recording's addresses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Serve, eventually, opened
from macho_support import dsym, recording

pytestmark = pytest.mark.browser


def analyze_with(tab: Any, path: Path) -> None:
    tab.get_by_label("File of symbols").set_input_files(path)
    tab.get_by_role("button", name="Analyze with these symbols").click()


def test_a_zip_of_dsyms_names_the_functions(serve: Serve, tab: Any, tmp_path: Path, axe: str) -> None:
    for name in ("recording", "build"):
        (tmp_path / name).mkdir()
    served = serve(Path(recording(tmp_path / "recording", (0x2F1, 0x338))))
    opened(tab, f"{served.address}#tab=evidence")
    assert "Binaries without symbols" in tab.locator("#evidence").inner_text()
    assert barriers(tab, axe) == []
    hostile = tmp_path / "hostile.txt"
    hostile.write_text("-1 T nothing\n" * 1000)
    analyze_with(tab, hostile)
    tab.wait_for_url("**?variant=*", timeout=PATIENCE_MS)
    tab.locator("#options .chip", has_text="hostile.txt").wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert (
        "hostile.txt.symbols is neither a Mach-O file nor a symbol map"
        in tab.locator("#issues").text_content()
    )
    packed = shutil.make_archive(str(tmp_path / "dSYMs"), "zip", dsym(tmp_path / "build").parent)
    tab.locator("#tab-evidence").click()
    analyze_with(tab, Path(packed))
    tab.locator("#options .chip", has_text="dSYMs.zip").wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert "from App.dSYM, matched by UUID" in tab.locator("#issues").text_content()
    assert "Binaries without symbols" not in tab.locator("#evidence").text_content()
