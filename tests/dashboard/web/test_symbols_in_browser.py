"""Files that a visitor adds to a recording in a real browser: symbols, and texts laid over it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from browser_support import barriers
from dashboard_support import PATIENCE_MS, Serve, eventually, opened
from macho_support import OTHER_UUID, dsym, macho, recording

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"

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
    tab.expected.append("400")
    refusal = tab.locator("#symbols .problem")
    refusal.wait_for(timeout=PATIENCE_MS)
    assert refusal.inner_text().startswith("hostile.txt holds no symbols: it is neither a Mach-O file nor")
    other = tmp_path / "App"
    other.write_bytes(macho([(0x1000, "_first")], identity=OTHER_UUID))
    analyze_with(tab, other)
    tab.get_by_text("is of no build in this recording").wait_for(timeout=PATIENCE_MS)
    assert f"its UUID is {OTHER_UUID}. The recording needs the symbols of App (" in refusal.inner_text()
    dsym(tmp_path / "build")
    (tmp_path / "build" / "large").write_bytes(
        random.Random(1).randbytes(20_000_000)
    )  # files are sent as they are
    packed = shutil.make_archive(str(tmp_path / "dSYMs"), "zip", tmp_path / "build")
    analyze_with(tab, Path(packed))
    tab.locator("#options .chip", has_text="dSYMs.zip").wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert "from App.dSYM, matched by UUID" in tab.locator("#issues").text_content()
    assert "Binaries without symbols" not in tab.locator("#evidence").text_content()


def test_a_text_is_laid_over_the_recording(serve: Serve, tab: Any, tmp_path: Path) -> None:
    served = serve(SAMPLES / "ane-e5rt-macos26")
    opened(tab, f"{served.address}#tab=evidence")
    text = tmp_path / "other.txt"
    report = (
        "Analysis of sampling Other (pid 9) every 1 millisecond\nDate/Time: {}\nCall graph:\n    5 Thread_1\n"
    )
    frame = "    + 5 main  (in Other) + 1  [0x1]\n"

    def lay_over(date: str) -> None:
        text.write_text(report.format(date) + frame)
        tab.get_by_label("Text", exact=True).set_input_files(text)
        tab.get_by_role("button", name="Lay over the recording").click()

    lay_over("2020-01-01 12:00:00.000 +0000")
    tab.locator("#options .problem", has_text="is of another time").wait_for(timeout=PATIENCE_MS)
    lay_over("2026-01-01 12:00:00.010 +0000")
    tab.wait_for_url("**?variant=*", timeout=PATIENCE_MS)
    tab.locator("#options .chip", has_text="other.txt").wait_for(timeout=PATIENCE_MS)
    eventually(tab, "document.documentElement.dataset.ready")
    assert "other.txt is laid over the recording by wall clock" in tab.locator("#recording").text_content()
