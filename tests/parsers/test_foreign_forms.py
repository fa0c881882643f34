"""Files of Apple's tools that hold no recording are named as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit
from tracekit.errors import InputError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raw.atrc", "ends in .atrc: raw data of a recording, which only Instruments reads."),
        ("RAW.ATRC", "ends in .atrc: raw data of a recording, which only Instruments reads."),
        ("draw.gputrace", "ends in .gputrace: a capture of Metal's debugger. It has no times of a running app"),
        ("leaks.memgraph", "ends in .memgraph: a memory graph."),
        ("Mine.tracetemplate", "ends in .tracetemplate: a template of Instruments. Record with it: tracekit record"),
        ("tests.xcresult", "ends in .xcresult: results of tests in Xcode. Name the .trace"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_known_ending_is_named(name: str, words: str, is_folder: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    if is_folder:
        (path / "Attachments").mkdir(parents=True)
    else:
        path.write_bytes(b"\x00\x01raw")
    with pytest.raises(InputError) as caught:
        tracekit.open_trace(path)
    assert str(caught.value).startswith(f"{path}: {words}")


def test_raw_data_have_the_command_that_imports_them(tmp_path: Path) -> None:
    (tmp_path / "my data.atrc").write_bytes(b"\x00")
    with pytest.raises(InputError) as caught:
        tracekit.open_trace(tmp_path / "my data.atrc")
    assert str(caught.value).endswith(
        f"xcrun xctrace import --input '{tmp_path}/my data.atrc' --template 'Time Profiler' --output 'my data.trace'"
    )


def test_content_that_is_read_matters_more_than_the_ending(tmp_path: Path) -> None:
    """An export that somebody saved with such a name is an export."""
    text = Path(__file__).resolve().parents[2] / "sample_traces/fallback-midway-ios27/time-profile.xml"
    (tmp_path / "export.atrc").write_bytes(text.read_bytes())
    assert len(tracekit.open_trace(tmp_path / "export.atrc").samples) == 384
