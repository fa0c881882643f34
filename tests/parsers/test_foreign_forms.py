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


SYSMONTAP = """[
    {
        "PerCPUUsage": [{"CPU_TotalLoad": 11.9}],
        "EndMachAbsTime": 656566442146,
        "CPUCount": 2,
        "StartMachAbsTime": 656542341717
    },
    {"Processes": [["WeChat", {"cpuUsage": 13.85, "pid": 519}]]}
]"""


@pytest.mark.parametrize(
    "text",
    [
        SYSMONTAP,
        "[('WeChat', {'cpuUsage': 0.036, 'memVirtualSize': 2179284992, 'name': 'WeChat', 'pid': 99269})]",
        "{'currentTime': '2021-05-11 14:14:40.259059', 'fps': 52}",
        "{403: {'net.packets.delta': 119, 'time': 1620720061.06, 'pid': 403}}",
        "{403: {'energy.cost': 1.5, 'energy.gpu.cost': 0}}",
        "[{'execName': 'MobileNotes', 'state_description': 'Foreground Running', 'mach_absolute_time': 27205542}]",
        "Memory  >> {'App Memory': '699.69 MiB', 'Cached Files': '1.48 GiB'}",
        '"connection-update{\\"RxPackets\\": 2}"',
        "MyApp(42)                  MACH_vmfault (0x1300008)         DBG_MACH          DBG_MACH_VM",
    ],
)
def test_what_other_programs_read_of_a_device_has_the_command_that_records_it(
    text: str, tmp_path: Path
) -> None:
    """The forms that py-ios-device prints, from its sources and its README."""
    (tmp_path / "printed.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        tracekit.open_trace(tmp_path / "printed.txt")
    assert "in which no engine is" in str(caught.value)
    assert "tracekit record --via pymobiledevice3" in str(caught.value)
