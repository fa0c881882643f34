"""Bombs as exports: XML that expands, nests, claims, repeats or refers to itself."""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from documents_support import THREAD, TIME_PROFILE, document, node, one_table, schema

from attack.bomb import Bomb, analyzed
from attack.bombs_archives import MIB, deflated, zeros
from attack.runner import ROOT

Text = Callable[[], str]
HEAD = '<?xml version="1.0"?>\n'
EMPTY = HEAD + "<trace-query-result></trace-query-result>\n"
STACK_REF = '<backtrace ref="9"/>'
NUMBER = (("n", "uint64"),)
LABEL = (("label", "formatted-label"),)


def laughs(levels: int, width: int) -> str:
    """Entities of which each has the last one ``width`` times."""
    entities = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * width}">' for level in range(1, levels))
    return f'{HEAD}<!DOCTYPE r [<!ENTITY e0 "lollollol">{entities}]><trace-query-result>&e{levels - 1};</trace-query-result>'


def quadratic() -> str:
    """One entity of a megabyte, used 50,000 times in a row."""
    return (
        f'{HEAD}<!DOCTYPE r [<!ENTITY a "{"a" * MIB}">]>'
        f"<trace-query-result><node>{'&a;' * 50_000}</node></trace-query-result>"
    )


def external(target: str) -> Text:
    return lambda: (
        f'{HEAD}<!DOCTYPE r [<!ENTITY a SYSTEM "{target}">]><trace-query-result>&a;</trace-query-result>'
    )


def parameter_entity() -> str:
    return f'{HEAD}<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]><trace-query-result/>'


def external_subset() -> str:
    return f'{HEAD}<!DOCTYPE r SYSTEM "file:///dev/zero"><trace-query-result/>'


def rows_of(columns: Sequence[tuple[str, str]], rows: Callable[[], Iterable[str]]) -> Text:
    return lambda: one_table("os-signpost", columns, *rows())


def samples(*rows: str) -> str:
    return one_table("time-profile", TIME_PROFILE, *rows)


def sample(stack: str, first: bool = True, time_id: int = 1) -> str:
    """A row of time-profile; only the first one states the thread and all others refer to it."""
    thread = THREAD if first else '<thread ref="2"/>'
    return f'<sample-time id="{time_id}">{time_id}</sample-time>{thread}<sentinel/><sentinel/><sentinel/><sentinel/>{stack}'


def frames_named(names: Sequence[str]) -> str:
    """A sample with a stack of these functions."""
    frames = "".join(
        f'<frame id="{number}" name={quoteattr(name)} addr="0x{number:x}"/>'
        for number, name in enumerate(names, 10)
    )
    return samples(sample(f'<backtrace id="9">{frames}</backtrace>'))


def long_symbols() -> str:
    """Symbols that begin like those of the rules, again and again: patterns must not backtrack for long."""
    rules = tomllib.loads((ROOT / "tracekit/analysis/classification/markers.toml").read_text())["rule"]
    examples = [rule["example"]["symbol"] for rule in rules if rule.get("example", {}).get("symbol")]
    return frames_named([(example + " ") * (60_000 // len(example)) for example in examples])


def nested_symbols() -> str:
    """Symbols of brackets, qualifiers and spaces only."""
    pieces = (
        "<",
        "(",
        ">",
        ")",
        "a<",
        "a(",
        "::",
        "std::a::",
        "-[",
        "[a ",
        "@objc ",
        "closure #1 in ",
        " ",
        "$s",
        "_Z",
        "~",
        "operator<",
    )
    return frames_named([piece * (500_000 // len(piece)) for piece in pieces])


def many_symbols() -> str:
    """300,000 functions of different names, each with the beginning of a rule's."""

    def stack(first: int) -> str:
        numbers = range(first, first + 1_000)
        frames = "".join(
            f'<frame id="{number}" name="Espresso::ANERuntimeEngine::{number}::x"/>' for number in numbers
        )
        return f'<backtrace id="{first - 1}">{frames}</backtrace>'

    firsts = range(2_000, 302_000, 1_001)
    return samples(
        *(sample(stack(first), number == 0, 400_000 + number) for number, first in enumerate(firsts))
    )


def many_frames() -> str:
    """One backtrace of 1.5 million frames."""
    frames = "".join(
        f'<frame id="{number}" name="f" addr="0x{number:x}"/>' for number in range(10, 1_500_000)
    )
    return samples(sample(f'<backtrace id="9">{frames}</backtrace>'))


def fan_out() -> str:
    """A backtrace of 100,000 frames to which 300,000 rows refer."""
    frames = "".join(
        f'<frame id="{number}" name="f{number}" addr="0x{number:x}"/>' for number in range(10, 100_000)
    )
    rows = (sample('<backtrace ref="9"/>', False, 200_000 + number) for number in range(300_000))
    return samples(sample(f'<backtrace id="9">{frames}</backtrace>'), *rows)


def shared_frames() -> str:
    """4,000 backtraces that each refer to the same 1,000 frames."""
    frames = "".join(
        f'<frame id="{number}" name="f{number}" addr="0x{number:x}"/>' for number in range(10, 1010)
    )
    refs = "".join(f'<frame ref="{number}"/>' for number in range(10, 1010))
    rows = (
        sample(f'<backtrace id="{20_000 + number}">{refs}</backtrace>', False, 50_000 + number)
        for number in range(4_000)
    )
    return samples(sample(f'<backtrace id="9">{frames}</backtrace>'), *rows)


def doubling(levels: int) -> str:
    """Labels of which each has the last one twice, by reference."""
    rows = ['<formatted-label id="1"><string id="1000000">x</string></formatted-label>']
    rows += [
        f'<formatted-label id="{level}"><formatted-label ref="{level - 1}"/><formatted-label ref="{level - 1}"/></formatted-label>'
        for level in range(2, levels)
    ]
    return one_table("os-signpost", LABEL, *rows)


def nested_parts(depth: int) -> str:
    return one_table("os-signpost", LABEL, "<formatted-label>" * depth + "</formatted-label>" * depth)


def self_reference() -> str:
    return one_table(
        "os-signpost", LABEL, '<formatted-label id="1"><formatted-label ref="1"/></formatted-label>'
    )


def chain() -> str:
    """A million labels of which each refers to the one before."""
    links = (
        f'<formatted-label id="{number}"><formatted-label ref="{number - 1}"/></formatted-label>'
        for number in range(2, 1_000_000)
    )
    return one_table("os-signpost", LABEL, '<formatted-label id="1"/>', *links)


def threads(count: int) -> str:
    """As many threads and processes as rows."""
    rows = (
        f'<sample-time id="{number}">{number}</sample-time><thread id="{number + 1}" fmt="T{number} (0x{number:x}) (A, pid: {number})">'
        f'<tid id="{number + 2}">{number}</tid><process id="{number + 3}" fmt="A ({number})"><pid id="{number + 4}">{number}</pid>'
        "</process></thread><sentinel/><sentinel/><sentinel/><sentinel/><sentinel/>"
        for number in range(1, 5 * count, 5)
    )
    return samples(*rows)


def addresses() -> str:
    """A list of 8 million addresses, and 20,000 rows that refer to it."""
    numbers = "1 " * 8_000_000
    stack = f'<kperf-bt id="9"><text-addresses id="10">{numbers}</text-addresses></kperf-bt>'
    rows = [f'<sample-time id="1">1</sample-time>{THREAD}{stack}']
    rows += [
        f'<sample-time id="{number}">1</sample-time><thread ref="2"/><kperf-bt ref="9"/>'
        for number in range(20, 20_000)
    ]
    return one_table(
        "kdebug-stacks", (("time", "sample-time"), ("thread", "thread"), ("stack", "kperf-bt")), *rows
    )


def tables(count: int, columns: int = 1, rows: str = "") -> str:
    described = [(f"c{number}", "uint64") for number in range(columns)]
    return document(
        *(node(schema(f"s{number}", described) + rows, table=number + 1) for number in range(count))
    )


def contents(runs: int, tables_of_each: int) -> str:
    """A table of contents of so many runs and tables, and nothing else."""
    listed = "".join(f'<table schema="s{number}"/>' for number in range(tables_of_each))
    listed_runs = "".join(
        f'<run number="{number}"><info/><data>{listed}</data></run>' for number in range(1, runs + 1)
    )
    return f"{HEAD}<trace-toc>{listed_runs}</trace-toc>"


def overlapping_intervals(count: int) -> str:
    """Intervals of the Neural Engine that all overlap."""
    columns = (("start", "start-time"), ("duration", "duration"), ("process", "process"))
    rows = (
        f'<start-time id="{number}">{number}</start-time><duration id="{number + count}">999999999</duration><sentinel/>'
        for number in range(1, count)
    )
    return one_table("ane-hw-intervals", columns, *rows)


def predictions(count: int) -> str:
    """Predictions that all contain one another."""
    columns = (
        ("start", "start-time"), ("duration", "duration"), ("process", "process"), ("event-type", "string"),
        ("model-name", "string"),
    )  # fmt: skip
    rows = (
        f'<start-time id="{number}">{number}</start-time><duration id="{number + count}">{3 * count - 2 * number}</duration>'
        '<sentinel/><string id="9999998">Prediction</string><string id="9999999">M</string>'
        if number == 1
        else f'<start-time id="{number}">{number}</start-time><duration id="{number + count}">{3 * count - 2 * number}</duration>'
        '<sentinel/><string ref="9999998"/><string ref="9999999"/>'
        for number in range(1, count)
    )
    return one_table("coreml-os-signpost", columns, *rows)


def many_attributes(count: int, form: str) -> str:
    return f"{HEAD}<trace-query-result {''.join(map(form.format, range(count)))}/>"


def gzipped_text(text: Text) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(gzip.compress(text().encode(), 1)) and None


def gzip_members(path: Path) -> None:
    """Four million gzip members without content."""
    path.write_bytes(gzip.compress(b"", 9) * 4_000_000)


def gzip_of_spaces(path: Path) -> None:
    deflated((HEAD.encode(), *zeros(8 << 30, b" ")), path)


def gzip_of_rows(path: Path) -> None:
    """Two gigabytes of rows that are all references."""
    table = one_table("s", NUMBER, '<uint64 id="1">1</uint64>', "@").encode()
    head, _, tail = table.partition(b"<row>@</row>")
    piece = b'<row><uint64 ref="1"/></row>\n' * 36_000
    deflated((head, *(piece for _ in range(2048)), tail), path)


def gzip_of_samples(path: Path) -> None:
    """Two million samples: 250 MB of good rows, which are an honest recording."""
    text = samples(sample('<backtrace id="9"><frame id="10" name="f" addr="0x1"/></backtrace>'), "@")
    head, _, tail = text.partition("<row>@</row>")

    def rows() -> Iterator[bytes]:
        for first in range(0, 2_000_000, 10_000):
            times = range(first + 100, first + 10_100)
            yield "".join(f"<row>{sample(STACK_REF, False, time)}</row>" for time in times).encode()

    deflated((head.encode(), *rows(), tail.encode()), path)


def encoded(encoding: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        text = one_table("s", NUMBER, *['<uint64 ref="1"/>'] * 1_000_000)
        path.write_bytes(text.replace('"1.0"', f'"1.0" encoding="{encoding}"', 1).encode(encoding))

    return write


def folder_of_exports(count: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.mkdir()
        for number in range(count):
            (path / f"{number}.xml").write_text(EMPTY)

    return write


def text_file(text: Text) -> Callable[[Path], None]:
    return lambda path: path.write_text(text()) and None


LONG = 90 * MIB
TEXTS: tuple[tuple[str, Text], ...] = (
    ("entities that multiply by ten", lambda: laughs(30, 10)),
    ("entities that double", lambda: laughs(60, 2)),
    ("one entity 50,000 times", quadratic),
    ("an endless file as an entity", external("file:///dev/zero")),
    ("a web page as an entity", external("http://192.0.2.1/x")),
    ("an endless parameter entity", parameter_entity),
    ("an endless document type", external_subset),
    ("ten million elements in one another", lambda: f"{HEAD}<trace-query-result>" + "<a>" * 10_000_000),
    ("an attribute of 90 MB", lambda: f'{HEAD}<trace-query-result a="{"x" * LONG}"/>'),
    ("a fmt of 90 MB", rows_of(NUMBER, lambda: [f'<uint64 id="1" fmt="{"x" * LONG}">1</uint64>'])),
    ("a text of 90 MB", lambda: one_table("s", (("n", "string"),), f"<string>{'x' * LONG}</string>")),
    ("a comment of 90 MB", lambda: f"{HEAD}<!--{'x' * LONG}-->{EMPTY}"),
    ("CDATA of 90 MB", lambda: f"{HEAD}<trace-query-result><![CDATA[{'x' * LONG}]]></trace-query-result>"),
    ("a number of a million digits", lambda: one_table("s", NUMBER, f"<uint64>{'9' * MIB}</uint64>")),
    ("an id of a million digits", lambda: one_table("s", NUMBER, f'<uint64 id="{"9" * MIB}">1</uint64>')),
    ("ids of 10^18", lambda: one_table("s", NUMBER, *(f'<uint64 id="{10**18 + n}">1</uint64>' for n in range(100_000)))),
    ("an id of 2^31 and references", lambda: one_table("s", NUMBER, '<uint64 id="2147483647">1</uint64>', *['<uint64 ref="2147483647"/>'] * 9)),
    ("five million attributes", lambda: many_attributes(5_000_000, "a{}='' ")),
    ("a million namespaces", lambda: many_attributes(1_000_000, "xmlns:a{}='b' ")),
    ("300,000 empty documents", lambda: EMPTY * 300_000),
    ("1.4 million empty documents", lambda: "<trace-query-result></trace-query-result>\n" * 1_400_000),
    ("100,000 documents of a table", lambda: tables(1) * 100_000),
    ("200,000 tables", lambda: tables(200_000)),
    ("one table of 500,000 columns", lambda: tables(1, 500_000)),
    ("500 tables of 1,000 columns", lambda: tables(500, 1_000)),
    ("a row of a million cells", rows_of(NUMBER, lambda: ["<uint64>1</uint64>" * 1_000_000])),
    ("a million rows without cells", rows_of(NUMBER, lambda: [""] * 1_000_000)),
    ("three million rows of one reference", rows_of(NUMBER, lambda: ['<uint64 id="1">1</uint64>', *['<uint64 ref="1"/>'] * 3_000_000])),
    ("references to nothing", rows_of(NUMBER, lambda: [f'<uint64 ref="{n}"/>' for n in range(1_000_000)])),
    ("labels that double", lambda: doubling(60)),
    ("labels in a million labels", lambda: nested_parts(1_000_000)),
    ("a label in itself", self_reference),
    ("a chain of a million labels", chain),
    ("a backtrace of 1.5 million frames", many_frames),
    ("a backtrace in 300,000 rows", fan_out),
    ("4 million references to frames", shared_frames),
    ("symbols that are 60 kB long", long_symbols),
    ("symbols of brackets", nested_symbols),
    ("300,000 symbols", many_symbols),
    ("a list of 8 million addresses", addresses),
    ("120,000 threads and processes", lambda: threads(120_000)),
    ("contents of 900,000 tables", lambda: contents(1, 900_000)),
    ("contents of 500,000 runs", lambda: contents(500_000, 1)),
    ("contents of 2,000 runs of 1,000 tables", lambda: contents(2_000, 1_000)),
    ("400,000 intervals that overlap", lambda: overlapping_intervals(400_000)),
    ("200,000 predictions in one another", lambda: predictions(200_000)),
    ("processing instructions", lambda: HEAD + "<?a b?>" * 10_000_000 + EMPTY),
)  # fmt: skip
FILES: tuple[tuple[str, str, Callable[[Path], None]], ...] = (
    ("8 GB of spaces in gzip", "x.xml.gz", gzip_of_spaces),
    ("2 GB of rows in gzip", "x.xml.gz", gzip_of_rows),
    ("two million samples in gzip", "x.xml.gz", gzip_of_samples),
    ("four million gzip members", "x.xml.gz", gzip_members),
    ("200,000 columns in gzip", "x.xml.gz", gzipped_text(lambda: tables(10, 200_000))),
    ("20 million empty documents in gzip", "x.xml.gz", lambda path: deflated((EMPTY.encode() * 20_000 for _ in range(1000)), path)),
    ("UTF-16", "x.xml", encoded("utf-16")),
    ("UTF-7", "x.xml", encoded("utf-7")),
    ("EBCDIC", "x.xml", encoded("cp037")),
    ("a folder of 30,000 exports", "exports", folder_of_exports(30_000)),
)  # fmt: skip
BOMBS: tuple[Bomb, ...] = (
    *(analyzed(f"export: {name}", "x.xml", text_file(text)) for name, text in TEXTS),
    *(analyzed(f"export: {name}", file, write) for name, file, write in FILES),
)
