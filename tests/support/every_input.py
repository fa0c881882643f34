"""An input of every kind that tracekit reads: a row for each of docs/guide.md's table, made from small samples."""

from __future__ import annotations

import gzip
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from kdebug_files import (
    TICKS_PER_MS,
    sample,
    write_device_folder,
    write_stackshot,
    write_task,
    write_thread,
    write_version_2,
)
from thread_support import SAMPLE_TEXT

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
EXPORTS = SAMPLES / "fallback-midway-ios27"
BUNDLE = SAMPLES / "gpu-mpsgraph-macos15-bundle"

TEXTS = {
    "process-usage": """\
{"tracekit": "process-usage", "version": 1, "timestamp": "2026-11-28T09:00:00.000000+00:00", "interval_ms": 100,\
 "processes": [{"pid": 42, "name": "App", "neural_bytes": 85000000, "energy_nj": 0, "instructions": 0}], "unreadable": 3}
""",
    "engine-presence": """\
{"tracekit": "engine-presence", "version": 1, "timestamp": "2026-11-28T09:00:00.200000+00:00", "interval_ms": 200,\
 "channels": [{"group": "PMP0", "subgroup": "DCS Floor", "name": "ANE-DCS-BW", "states": [["F1", 4], ["F2", 20]]}]}
""",
    "stackshot": """\
{"mach_absolute_time": 1, "usecs_since_epoch": 2, "task_snapshots": {"1": {"task_snapshot": {"ts_pid": 42,
"ts_p_comm": "App"}, "thread_snapshots": {"7": {"thread_snapshot": {"ths_thread_id": 7, "ths_state": 4},
"pth_name": "main", "user_stack_frames": [{"lr": 4096}]}}}}}
""",
    "sample": SAMPLE_TEXT,
    "spindump": """\
Date/Time:        2025-12-17 19:00:41.615 -0500
OS Version:       macOS 26.2 (Build 25C56)
Report Version:   67
Command:          App
PID:              42
Steps:            10 (10ms sampling interval)

Process:          App [42]
Thread 0x5a1    DispatchQueue "com.apple.main-thread"(1)    10 samples (1-10)
  10  start + 1 (dyld + 100) [0x180001000]
    10  main + 2 (App + 200) [0x100001000]
""",
    "deep-copy": "Weight\tSelf Weight\tSymbol Names\n4.00 s  100.0%\t1.00 s\tmain\n3.00 s   75.0%\t3.00 s\t draw()\n",
    "ips": """\
{"app_name":"App","bug_type":"309","os_version":"iPhone OS 17.5 (21F79)","name":"App"}
{"pid":42,"procName":"App","threads":[{"id":1,"frames":[{"imageIndex":0,"imageOffset":16,"symbol":"main"}]}],
"usedImages":[{"name":"App","uuid":"42fd89f7-30be-3ac5-a40a-4c1a99438dfb","base":4294967296,"size":4096}]}
""",
    "lldb-hits": """\
{"tracekit": "lldb-hits", "version": 1, "start": 1700000000.0, "process": "App", "pid": 42, "rules": ["ane.request"]}
{"module": 0, "name": "App", "path": "/App", "uuid": "", "address": 4096}
{"time": 81, "rule": "ane.request", "tid": 7, "name": "main", "queue": "", "stack": [[0, 4096, "f", false]]}
{"time": 99, "counts": {"ane.request": 1}, "kept": 1, "errors": 0}
""",
    "lldb": """\
* thread #1, queue = 'com.apple.main-thread', stop reason = signal SIGSTOP
  * frame #0: 0x00000001cf9e17bc libsystem_kernel.dylib`__ulock_wait + 8
    frame #1: 0x0000000100003f24 App`main(argc=1) at main.m:14:9 [opt]
""",
    "crash-text": """\
Incident Identifier: 0
Process:             App [3769]
Date/Time:           2017-05-25 20:34:37.0354 +0800
OS Version:          iPhone OS 10.1.1 (14B100)
Exception Type:  EXC_CRASH (SIGABRT)

Thread 0 Crashed:
0   libsystem_kernel.dylib        \t0x0000000186ee416c mach_msg_trap + 8
1   App                           \t0x0000000100801000 0x100070000 + 7094768
""",
    "powermetrics": "".join(
        f"*** Sampled system activity (Tue Nov 28 14:37:{second} 2023 +0100) (1000.00ms elapsed) ***\n"
        f"CPU Power: 100 mW\nGPU Power: 20 mW\nANE Power: {second} mW\n\n"
        for second in range(10, 14)
    ),
    "powermetrics-plist": plistlib.dumps(
        {"elapsed_ns": 10**9, "processor": {"ane_energy": 10, "cpu_energy": 50, "combined_power": 60.0}}
    ).decode(),
    "power-json": "".join(
        f'{{"timestamp":"2026-01-01T12:00:0{second}Z","ane_power":0.5,"cpu_power":1.5,"gpu_power":0.1}}\n'
        for second in range(4)
    ),
    "log": "".join(
        f"2024-03-26 10:00:0{second}.000000-0700 0x1f3      Default     0x0    42     0    App:"
        " (AppleNeuralEngine) [com.apple.ane:client] doLoadModel\n"
        for second in range(4)
    ),
}
"""A text of each kind, by the kind's name."""


def _write_exports(place: Path) -> Path:
    shutil.copytree(EXPORTS, place / "exports")
    return place / "exports"


def _write_packed_export(place: Path) -> Path:
    content = (EXPORTS / "time-profile.xml").read_bytes()
    (place / "time-profile.xml.gz").write_bytes(gzip.compress(content, 1))
    return place / "time-profile.xml.gz"


def _write_bundle(place: Path) -> Path:
    (bundle,) = BUNDLE.glob("*.trace")
    shutil.copytree(bundle, place / "bundle.trace")
    return place / "bundle.trace"


def _write_packed_bundle(place: Path) -> Path:
    (bundle,) = BUNDLE.glob("*.trace")
    return Path(shutil.make_archive(str(place / "packed.trace"), "zip", bundle.parent, bundle.name))


def _write_pack(place: Path) -> Path:
    pack = place / "recording.tracekit.zip"
    command = [sys.executable, "-m", "tracekit", "pack", str(EXPORTS), "-o", str(pack)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return pack


def _write_other_table(place: Path) -> Path:
    (place / "other.xml").write_text(
        "<?xml version=\"1.0\"?><trace-query-result><node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        '<schema name="new"><col><mnemonic>time</mnemonic><name>Time</name>'
        "<engineering-type>start-time</engineering-type></col></schema>"
        '<row><start-time id="1" fmt="00:01">1000000</start-time></row></node></trace-query-result>'
    )
    return place / "other.xml"


def _write_text(kind: str) -> Callable[[Path], Path]:
    def write(place: Path) -> Path:
        (place / f"{kind}.txt").write_text(TEXTS[kind], "utf-8")
        return place / f"{kind}.txt"

    return write


def _write_kdebug_stream(place: Path) -> Path:
    events = [part for tick in range(5) for part in sample(tick * TICKS_PER_MS, [0x1000, 0x2000])]
    (place / "app.ktrace").write_bytes(write_version_2(events, [(1, 42, "App")]))
    return place / "app.ktrace"


def _write_kernel_stackshot(place: Path) -> Path:
    task = write_task(42, "App", [write_thread(101, 4, [0x1000, 0x2000], name="render")])
    (place / "app.kcdata").write_bytes(write_stackshot([task]))
    return place / "app.kcdata"


INPUTS: dict[str, Callable[[Path], Path]] = {
    "exports": _write_exports,
    "a packed export": _write_packed_export,
    "a bundle": _write_bundle,
    "a packed bundle": _write_packed_bundle,
    "a pack": _write_pack,
    "a table without calls": _write_other_table,
    "a kdebug stream": _write_kdebug_stream,
    "a stackshot of the kernel": _write_kernel_stackshot,
    "a device's recording": lambda place: write_device_folder(place / "x.device"),
    **{kind: _write_text(kind) for kind in TEXTS},
}
"""Each writes an input into a folder and returns it."""
