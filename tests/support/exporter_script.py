"""A script that plays `xctrace export`, with one behaviour for each test."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tracekit.xctrace.tool import Xctrace
from tracekit.xctrace.xctrace_source import XctraceSource

SCRIPT = """#!{python} -IS
import os, signal, sys, time
from pathlib import Path
home = Path(__file__).parent
words = dict(zip(sys.argv[2:], sys.argv[3:]))
assert sys.argv[1] == "export" and "--output" not in words
query = "toc" if "--toc" in sys.argv else words["--xpath"]
tables = [int(part.rpartition("[")[2].rstrip("]")) for part in query.split(" | ")] if query != "toc" else []
with open(home / "log", "a") as log:
    log.write(query + "\\n")
(home / "pid").write_text(str(os.getpid()))
def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()
def wait_for(name):
    until = time.monotonic() + 10
    while not (home / name).exists():
        if time.monotonic() > until:
            sys.exit("waited in vain for " + name)
        time.sleep(0.01)
def end():
    say("</trace-query-result>")
    sys.exit()
if query == "toc":
    say((home / "toc.xml").read_text())
    sys.exit()
say('<?xml version="1.0"?><trace-query-result>')
def node(table, rows=3):
    name = "table-%d" % table
    say("<node xpath='//trace-toc[1]/run[1]/data[1]/table[%d]'><schema name='%s'>" % (table, name))
    say("<col><mnemonic>time</mnemonic><name>T</name><engineering-type>sample-time</engineering-type></col>")
    say("</schema>" + "<row><sample-time>7</sample-time></row>" * rows + "</node>")
{behaviour}
for table in tables:
    node(table)
end()
"""


def three_tables(home: Path) -> Path:
    """Write the table of contents that the script prints: `table-1` to `table-3`."""
    tables = "".join(f'<table schema="table-{number}"/>' for number in (1, 2, 3))
    contents = f'<?xml version="1.0"?>\n<trace-toc><run number="1"><data>{tables}</data></run></trace-toc>'
    (home / "toc.xml").write_text(contents)
    return home


def install(home: Path, behaviour: str = "pass") -> Xctrace:
    script = home / "xctrace"
    script.write_text(SCRIPT.format(python=sys.executable, behaviour=behaviour))
    script.chmod(0o755)
    return Xctrace(str(script))


def open_source(home: Path, behaviour: str = "pass", tables: tuple[int, ...] = (1, 2, 3)) -> XctraceSource:
    tool = install(home, behaviour)
    return XctraceSource(tool, "x.trace", "x.trace", [f"table-{number}" for number in tables])


def table_numbers(home: Path) -> list[list[int]]:
    """The tables of each export so far, without the table of contents."""
    queries = (home / "log").read_text().splitlines()
    return [
        [int(part.rpartition("[")[2].rstrip("]")) for part in query.split(" | ")]
        for query in queries
        if query != "toc"
    ]


def row_counts(source: XctraceSource) -> list[int | None]:
    return [table.row_count for table in source.toc()[0].tables]


def is_gone(home: Path) -> bool:
    try:
        os.kill(int((home / "pid").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def no_thread_is_left() -> bool:
    return not any(thread.name == "xctrace export" for thread in threading.enumerate())
