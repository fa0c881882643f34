"""Bombs as texts of other tools: reports of stacks, logs and power, read alone and laid over a recording.

    python tests/attack/text_bombs.py [--cases 1000] [--seconds 600] [--only spindump] [--keep FOLDER]

Each has the size in which its kind costs the most within 100 MB; no line is too long for the limit of lines,
which would refuse it before its reader is reached.
"""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

if __name__ == "__main__":
    sys.path[:0] = [
        str(Path(__file__).resolve().parents[2] / name) for name in ("", "tests", "tests/support")
    ]

from attack import bombs
from attack.bomb import Bomb
from attack.runner import ROOT

Lines: TypeAlias = Iterable[str]
Line: TypeAlias = Callable[[int], str]
MOST_BYTES = 98_000_000
"""Just below the 100 MB of the promise."""
EXPORT = str(ROOT / "sample_traces" / "ane-e5rt-macos26")


def repeated(line: Line, size: int = MOST_BYTES) -> Iterator[str]:
    """Yield the lines of 0, 1, 2, … until they have so many characters."""
    written = number = 0
    while written < size:
        text = line(number)
        written += len(text)
        number += 1
        yield text


def written(path: Path, *parts: Lines) -> None:
    """Write the lines of the parts, compressed where the name ends with ``gz``."""
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(text.encode() for text in chain(*parts))


# Call trees -------------------------------------------------------------------------------------------------

SAMPLE = (
    "Analysis of sampling App (pid 123) every 1 millisecond\nProcess:         App [123]\n"
    "Code Type:       ARM64\nDate/Time:       2026-01-01 12:00:00.000 +0000\n\nCall graph:\n"
)
THREAD = "    999999999 Thread_1   DispatchQueue_1: com.apple.main-thread  (serial)\n"
SPINDUMP = (
    "Date/Time:        2026-01-01 12:00:00.000 +0000\nEnd time:         2026-01-01 12:00:10.000 +0000\n"
    "OS Version:       macOS 26.0 (Build 25A354)\nArchitecture:     arm64e\n\nData Source:      Stackshots\n\n"
    "Duration:         10.00s\nSteps:            1001 (10ms sampling interval)\n\nProcess:          App [123]\n\n"
)
SPUN = '  Thread 0x1    DispatchQueue "com.apple.main-thread"(1)    999999999 samples (1-9)    priority 31\n'
POWERSTATS = "Data Source:      Microstackshots\n\nPowerstats for:   App [123]\nNum samples:      999999999\n"
COPY = "Weight\tSelf Weight\t\tSymbol Name\n9999999.00 ms  100.0%\t0 s\t \tApp (42)\n"


def stair(line: Callable[[int, int], str], depth: int) -> Iterator[str]:
    """Yield the lines of one stack: ``line`` gets a level and a number."""
    return (line(level, level) for level in range(depth))


def deep_and_wide(line: Callable[[int, int], str], depth: int = 400) -> Iterator[str]:
    """Yield the stack, and below its end a different callee on each line."""
    return chain(stair(line, depth), repeated(lambda number: line(depth, depth + number)))


def zigzag(line: Callable[[int, int], str]) -> Iterator[str]:
    """Yield stacks that grow to a depth of 300 and begin again, each with functions of its own."""
    return repeated(lambda number: line(number % 300, number))


def sampled(level: int, number: int) -> str:
    count = 999_999_999 if level < 400 else 1
    return f"    {' ' * (2 * level + 2)}{count} f{number}  (in App) + 1  [0x{number + 2**32:x}]\n"


def sampled_zigzag(level: int, number: int) -> str:
    return f"    {' ' * (2 * level + 2)}{1000 - level} f{number}\n"


def spun(level: int, number: int) -> str:
    return f"  {' ' * (2 * level)}{999_999_999 if level < 400 else 1}  f{number} (App + 1) [0x{number:x}]\n"


def copied(level: int, number: int) -> str:
    weight = "999999.00 ms  100.0%\t0 s" if level < 400 else "1.00 ms    0.0%\t1.00 ms"
    return f"{weight}\t \t {' ' * level}f{number}\n"


def plain(text: str, *body: Lines) -> Callable[[Path], None]:
    return lambda path: written(path, (text,), *body)


def of_lines(head: str, line: Line, size: int = MOST_BYTES) -> Callable[[Path], None]:
    return lambda path: written(path, (head,), repeated(line, size))


def of_trees(head: str, tree: Callable[[], Lines]) -> Callable[[Path], None]:
    return lambda path: written(path, (head,), tree())


TREES: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("sample: distinct functions", of_lines(SAMPLE + THREAD, lambda n: f"    + 1 f{n}  (in App) + 1  [0x{n:x}]\n")),
    ("sample: short distinct functions", of_lines(SAMPLE + THREAD, lambda n: f"    + 1 {n:x}\n")),
    ("sample: deep and wide", of_trees(SAMPLE + THREAD, lambda: deep_and_wide(sampled))),
    ("sample: deeper and deeper", of_lines(SAMPLE + THREAD, lambda n: f"{' ' * (n + 5)}9 f\n")),
    ("sample: zigzag", of_trees(SAMPLE + THREAD, lambda: zigzag(sampled_zigzag))),
    ("sample: threads", of_lines(SAMPLE, lambda n: f"    1 Thread_{n}   DispatchQueue_{n}: q{n}  (serial)\n    + 1 f\n")),
    ("sample: reports", of_lines("", lambda n: f"Analysis of sampling App (pid {n}) every 1 millisecond\n\nCall graph:\n    1 Thread_1\n    + 1 f\n\n")),
    ("sample: 800 reports", of_lines("", lambda n: f"Analysis of sampling App (pid {n}) every 1 millisecond\n\nCall graph:\n    1 Thread_1\n    + 1 f\n\n", 80_000)),
    ("sample: images", of_lines(SAMPLE + THREAD + "    + 1 f  (in L1) + 1  [0x1]\n\nBinary Images:\n", lambda n: f"       0x{n * 4096:x} -        0x{n * 4096 + 9:x} +L{n} (0) <{n:032x}> /A/L{n}\n")),
    ("sample: cuts", of_lines(SAMPLE + "    1 Thread_1\n", lambda n: f"    {' ' * (n % 9)}+ {n % 9 + 1} f\n    ...\n")),
    ("spindump: distinct functions", of_lines(SPINDUMP + SPUN, lambda n: f"  1  f{n} (App + 1) [0x{n:x}] (running)\n")),
    ("spindump: deep and wide", of_trees(SPINDUMP + SPUN, lambda: deep_and_wide(spun))),
    ("spindump: threads", of_lines(SPINDUMP, lambda n: f"  Thread 0x{n + 1:x}    1 samples (1)\n  1  f (App + 1) [0x1]\n")),
    ("spindump: threads of long stacks", of_trees(SPINDUMP, lambda: repeated(lambda n: f"  Thread 0x{n + 1:x}    9 samples (1)\n" + "".join(f"  {' ' * d}9 f{d} (A + 1) [0x{d:x}]\n" for d in range(60))))),
    ("spindump: processes", of_lines(SPINDUMP, lambda n: f"Process:          P{n} [{n}]\n\n  Thread 0x{n + 1:x}    1 samples (1)\n  1  f (App + 1) [0x1]\n\n  Binary Images:\n           0x1 -  0x9  App (1)  <{n:032x}>  /A/App\n\n")),
    ("spindump: reports", of_lines("", lambda n: f"Date/Time:        2026-01-01 12:00:00.000 +0000\n\nProcess:          P{n} [{n}]\n\n  Thread 0x{n + 1:x}    1 samples (1)\n  1  f (App + 1) [0x1]\n\n")),
    ("spindump: a thread of many ids", of_trees(SPINDUMP, lambda: ("  Thread " + ",".join(f"0x{n:x}" for n in range(1_500_000)) + "    9 samples (1-9)\n  9  f (App + 1) [0x1]\n",))),
    ("microstackshots: distinct functions", of_lines(POWERSTATS, lambda n: f"  1  f{n} (App + 1) [0x{n:x}]\n")),
    ("deep copy: distinct functions", of_lines(COPY, lambda n: f"1.00 ms  0.0%\t1.00 ms\t \t f{n}\n")),
    ("deep copy: deep and wide", of_trees(COPY, lambda: deep_and_wide(copied))),
    ("deep copy: threads", of_lines(COPY, lambda n: f"1.00 ms  0.0%\t0 s\t \t Worker  0x{n:x}\n1.00 ms  0.0%\t1.00 ms\t \t  f\n")),
    ("deep copy: copies", of_lines("", lambda n: f"Weight\tSelf Weight\t\tSymbol Name\n1.00 ms  0.0%\t1.00 ms\t \tf{n}\n")),
)  # fmt: skip


def packed_functions(path: Path) -> None:
    """200 MB of distinct functions in a .gz of 30 MB."""
    written(path, (SAMPLE + THREAD,), repeated(lambda number: f"    + 1 f{number}\n", 200_000_000))


# Reports of the system and of debuggers ---------------------------------------------------------------------

IPS = (
    '{"app_name":"App","timestamp":"2026-01-01 12:00:00.00 +0000","bug_type":"309","os_version":"macOS 26"}\n'
)
SHOT = '{"bug_type":"288"}\n'
CRASH = (
    "Incident Identifier: 1\nProcess:         App [123]\nCode Type: ARM-64\n"
    "Date/Time: 2026-01-01 12:00:00.000 +0000\n\nException Type:  EXC_CRASH (SIGABRT)\n\n"
)
LLDB = "* thread #1, queue = 'com.apple.main-thread', stop reason = signal SIGSTOP\n"


def json_of(head: str, begin: str, element: Line, end: str, size: int = 60_000_000) -> Callable[[Path], None]:
    """Return the writer of a document of many elements, a thousand on a line."""

    def write(path: Path) -> None:
        lines = repeated(lambda n: "".join(element(1000 * n + i) for i in range(1000)) + "\n", size)
        written(path, (head, begin), lines, (end,))

    return write


def stackshot(size: int = 40_000_000) -> Callable[[Path], None]:
    """Return the writer of a stackshot like a whole system's: threads of 40 frames, few of them of their own."""
    fields = (
        '"continuation":[0,1234567],"id":%d,"lastRunTime":123.25,"pageFaults":12,"name":"worker","priority":31,'
        '"qosEffective":"QOS_CLASS_DEFAULT","schedFlags":["sched"],"state":["TH_WAIT","TH_UNINT"],"systemTime":1.5,'
        '"systemUsec":12,"userTime":0.25,"userUsec":31'
    )

    def thread(number: int) -> str:
        frames = ",".join(f"[{n % 7},{(number * 7 + n * 31) % 9973 * 4}]" for n in range(40))
        return f'"{number}":{{{fields % number},"userFrames":[{frames}],"kernelFrames":[[1,4096],[1,8192]]}}'

    def process(number: int) -> str:
        threads = ",".join(thread(8 * number + n) for n in range(8))
        return f'"{number}":{{"pid":{number},"procname":"p{number}","threadById":{{{threads}}}}},\n'

    images = ",".join(f'["{n:032x}",{n * 2**32},"P"]' for n in range(8))
    end = f'"999999":{{}}}},"binaryImages":[{images}]}}'
    return lambda path: written(path, (SHOT + '{"processByPid":{',), repeated(process, size), (end,))


REPORTS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("ips: 900 documents", of_lines(IPS, lambda n: '{"threads":[{"frames":[{"symbol":"f"}]}]}\n', 900 * 42)),
    ("ips: 4,000 documents", of_lines(IPS, lambda n: '{"threads":[{"frames":[{"symbol":"f"}]}]}\n', 4000 * 42)),
    ("ips: two million documents", of_lines(IPS, lambda n: '{"threads":[{"frames":[{}]}]}\n', 60_000_000)),
    ("ips: headers", of_lines(IPS, lambda n: '{"bug_type":"309"}\n', 60_000_000)),
    ("ips: empty objects", json_of(IPS, '{"threads":[', lambda n: "{},", "{}]}")),
    ("ips: empty lists", json_of(IPS, '{"threads":[', lambda n: "[],", "[]]}")),
    ("ips: frames that are empty objects", json_of(IPS, '{"threads":[{"frames":[', lambda n: "{},", "{}]}]}")),
    ("ips: frames that are empty lists", json_of(IPS, '{"threads":[{"frames":[', lambda n: "[],", "{}]}]}")),
    ("ips: unused objects", json_of(IPS, '{"x":[', lambda n: '{"":0},', '0],"threads":[{"frames":[{}]}]}')),
    ("ips: nested lists", json_of(IPS, '{"x":[', lambda n: "[[0]],", '0],"threads":[{"frames":[{}]}]}')),
    ("ips: nested lists below the limit", json_of(IPS, '{"x":[', lambda n: "[[0]],", '0],"threads":[{"frames":[{}]}]}', 27_000_000)),
    ("ips: keys below the limit", json_of(IPS, "{", lambda n: f'"{n:x}Ā":{{}},', '"threads":[{"frames":[{}]}]}', 23_000_000)),
    ("ips: numbers", json_of(IPS, '{"x":[', lambda n: "1.1,", '0],"threads":[{"frames":[{}]}]}')),
    ("ips: digits", json_of(IPS, '{"x":[', lambda n: "1,", '0],"threads":[{"frames":[{}]}]}')),
    ("ips: short texts", json_of(IPS, '{"x":[', lambda n: '"Āb",', '0],"threads":[{"frames":[{}]}]}', 50_000_000)),
    ("ips: keys", json_of(IPS, "{", lambda n: f'"{n:x}":{{}},', '"threads":[{"frames":[{}]}]}')),
    ("ips: one key again and again", json_of(IPS, "{", lambda n: '"a":[],', '"threads":[{"frames":[{}]}]}')),
    ("ips: emoji", json_of(IPS, '{"x":[', lambda n: '"' + "x" * 60 + '",', '"😀"],"threads":[{"frames":[{}]}]}')),
    ("ips: white space", json_of(IPS, "", lambda n: " " * 60, '{"threads":[{"frames":[{}]}]}')),
    ("ips: empty lines", json_of(IPS, "", lambda n: "\n", '{"threads":[{"frames":[{}]}]}')),
    ("ips: threads", json_of(IPS, '{"threads":[', lambda n: '{"frames":[{}]},', "{}]}")),
    ("ips: 500,000 named threads", json_of(IPS, '{"threads":[', lambda n: f'{{"id":{n},"name":"n{n}","frames":[{{"symbol":"f{n}"}}]}},', "{}]}", 24_000_000)),
    ("ips: an honest stackshot of 40 MB", stackshot()),
    ("ips: distinct frames of a stackshot", json_of(SHOT, '{"processByPid":{"1":{"threadById":{"1":{"userFrames":[', lambda n: f"[0,{n}],", '[0,1]]}}}},"binaryImages":[["x",0,"P"]]}', 45_000_000)),
    ("ips: processes", json_of(SHOT, '{"processByPid":{', lambda n: f'"{n}":{{"procname":"p{n}","threadById":{{"{n}":{{"userFrames":[[0,{n}]]}}}}}},', '"0":{}},"binaryImages":[["x",0,"P"]]}')),
    ("ips: images", json_of(IPS, '{"usedImages":[', lambda n: f'{{"base":{n * 100},"size":99,"name":"L{n}"}},', '0],"threads":[{"frames":[{"imageIndex":5,"imageOffset":1}]}]}', 20_000_000)),
    ("crash: threads", of_lines(CRASH, lambda n: f"Thread {n}:\n0   App  \t0x0000000100000000 f + 1\n\n")),
    ("crash: frames", of_lines(CRASH + "Thread 0 Crashed:\n", lambda n: f"{n % 9999}   App  \t0x{n + 2**32:016x} f{n} + 1 (a.m:1)\n")),
    ("crash: reports", of_lines("", lambda n: f"Process:   App [{n}]\nException Type:  E\nThread 0:\n0   App  \t0x0000000100000000 f + 1\n\n")),
    ("crash: images", of_lines(CRASH + "Thread 0:\n0   L1  \t0x0000000100000000 f + 1\n\nBinary Images:\n", lambda n: f"   0x{n * 4096:x} - 0x{n * 4096 + 4095:x} L{n} arm64 <{n:032x}> /A/L{n}\n")),
    ("lldb: frames", of_lines(LLDB, lambda n: f"    frame #{n}: 0x{n + 2**32:016x} App`f{n} + 1 at a.m:{n}:1 [opt]\n")),
    ("lldb: threads", of_lines("(lldb) bt all\n", lambda n: f"  thread #{n}, name = 'n{n}'\n    frame #0: 0x1 App`f\n")),
    ("lldb: processes", of_lines(LLDB, lambda n: f"Process {n} stopped\n* thread #1\n    frame #0: 0x1 App`f\n")),
    ("lldb: hits", of_lines('{"tracekit": "lldb-hits", "version": 1}\n', lambda n: f'{{"time": {n}, "tid": {n}, "rule": "r", "stack": [[0, {n}, "f{n}", false]]}}\n')),
    ("lldb: headers of hits", of_lines("", lambda n: f'{{"tracekit": "lldb-hits", "version": 1}}\n{{"time": {n}, "tid": 1, "rule": "r", "stack": [[0, 1, "f", false]]}}\n')),
)  # fmt: skip

# Logs and power ---------------------------------------------------------------------------------------------

LOG = "Timestamp                       Thread     Type        Activity             PID    TTL  \n"
SYSLOG = "Timestamp                       (process)[PID]    \n"
POWER = "Machine model: Mac14,2\nOS version: 25A354\n\n"
PLIST = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>elapsed_ns</key>'
    "<integer>1000000000</integer><key>timestamp</key><date>2026-01-01T12:00:00Z</date>"
    "<key>processor</key><dict><key>ane_energy</key><real>1</real></dict>%s</dict></plist>"
)


def stamp(number: int) -> str:
    return f"2026-01-01 12:00:{number // 10**6 % 60:02}.{number % 10**6:06}+0000"


def message(number: int) -> str:
    return f"ANE{number % 4}: setPowerStateGated: {number % 2}"


def logged(number: int) -> str:
    return f"{stamp(number)} 0x{number:x}    Default     0x0                  {number}    0    kernel: (H11ANE) {message(number)}\n"


def logged_object(number: int) -> str:
    return (
        f'{{"timestamp":"{stamp(number)}","eventMessage":"H11ANE {message(number)}","processID":{number},'
        f'"threadID":{number},"senderImagePath":"/a","subsystem":"com.apple.ane","processImagePath":"/b"}}'
    )


def measured(number: int) -> str:
    return (
        f"*** Sampled system activity (Thu Jan  1 12:{number // 60 % 60:02}:{number % 60:02} 2026 +0000) (1000.00ms elapsed)"
        f" ***\n\n**** Processor usage ****\n\nCPU Power: {number} mW\nGPU Power: 1 mW\nANE Power: 1 mW\n"
    )


OTHERS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("log: lines of the engine", of_lines(LOG, logged)),
    ("log: syslog", of_lines(SYSLOG, lambda n: f"{stamp(n)}  localhost kernel[{n}]: (H11ANE) {message(n)}\n")),
    ("log: a message of many lines", of_lines(LOG + logged(0), lambda n: f"{message(n)} ProcessRequestDirect\n")),
    ("log: ndjson", of_lines("", lambda n: logged_object(n) + "\n")),
    ("log: an array", lambda path: written(path, ("[",), repeated(lambda n: f"{',' * (n > 0)}{{\n{logged_object(n)[1:-1]}\n}}"), ("]",))),
    ("power: samples", of_lines(POWER, measured)),
    ("power: one sample", of_lines(POWER + measured(0), lambda n: f"CPU {n} Power: {n} mW\n")),
    ("power: property lists", of_lines("", lambda n: PLIST % "" + "\0")),
    ("power: a property list of arrays", json_of("", PLIST.partition("%s")[0] + "<key>x</key><array>", lambda n: "<array/>", "</array></dict></plist>", MOST_BYTES)),
    ("power: json", of_lines("", lambda n: f'{{"timestamp":"2026-01-01T12:{n // 60 % 60:02}:{n % 60:02}+00:00","ane_power":1,"cpu_power":{n}}}\n')),
)  # fmt: skip

# Overlays ---------------------------------------------------------------------------------------------------

LAID_OVER = (
    "log: lines of the engine", "log: ndjson", "power: samples", "sample: distinct functions",
    "spindump: deep and wide", "ips: 4,000 documents", "ips: empty objects",
)  # fmt: skip


def zipped(count: int, line: Callable[[int], str], size: int) -> Callable[[Path], None]:
    """Return the writer of a zip of texts."""

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(count):
                archive.writestr(f"{number}.txt", LOG + "".join(repeated(line, size)))

    return write


def text(name: str, write: Callable[[Path], None], file: str = "X.txt") -> Bomb:
    """Return a bomb that is analyzed alone."""
    return Bomb(f"text: {name}", lambda folder: write(folder / file), ("analyze", f"{{}}/{file}"))


def overlay(name: str, write: Callable[[Path], object], *files: str) -> Bomb:
    """Return a bomb that is laid over a recording; ``write`` gets the path of the first file."""
    options = (option for file in files for option in ("--with", file))
    return Bomb(
        f"overlay: {name}",
        lambda folder: write(Path(files[0].replace("{}", str(folder)))),
        ("analyze", EXPORT, *options),
    )


KINDS = (*TREES, *REPORTS, *OTHERS)
BOMBS: tuple[Bomb, ...] = (
    *(text(name, write) for name, write in KINDS),
    text("sample: distinct functions in gzip", packed_functions, "X.txt.gz"),
    *(overlay(name, write, "{}/X.txt") for name, write in KINDS if name in LAID_OVER),
    overlay("a zip of 100 logs", zipped(100, logged, 3_000_000), "{}/X.zip"),
    overlay("a zip of 20,000 logs", zipped(20_000, logged, 10), "{}/X.zip"),
    overlay("a zip of a log of 900 MB", zipped(1, lambda number: " " * 999 + "\n", 900_000_000), "{}/X.zip"),
    overlay("one log 100 times", of_lines(LOG, logged, 900_000), *["{}/X.txt"] * 100),
    overlay("the device of zeros", lambda path: None, "/dev/zero"),
)


if __name__ == "__main__":
    raise SystemExit(bombs.main(bombs=BOMBS, doc=__doc__))
