"""Input that is not a valid export: one sentence, bounded memory, nothing written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from documents_support import TIME_PROFILE, document, node, one_table, schema, write

from tracekit.cli import main
from tracekit.errors import TracekitError
from tracekit.load import open_trace

pytestmark = pytest.mark.usefixtures("each_reader")

ROW = '<sample-time id="{0}">1</sample-time><sentinel/><sentinel/><sentinel/><sentinel/><weight id="{1}">5</weight><sentinel/>'
GOOD = one_table("time-profile", TIME_PROFILE, ROW.format(1, 2), ROW.format(3, 4))
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + level)} "{f"&{chr(97 + level)};" * 10}">' for level in range(20))
    + "]><trace-query-result>&u;</trace-query-result>"
)

CASES = {
    "empty": (b"", "is empty"),
    "white space": (b"  \n\n", "is empty"),
    "not XML": (b"1,2,3\n4,5,6\n", "is not XML"),
    "binary": (bytes(range(256)) * 50, "is not XML"),
    "a web page": (
        b"<!DOCTYPE html>\n<html><head><title>404</title></head><body>no</body></html>",
        "is a web page",
    ),
    "an older web page": (b"<HTML><BODY>no<BR></BODY></HTML>", "is a web page"),
    "another root": (b'<?xml version="1.0"?><plist><dict/></plist>', "root <plist>"),
    "cut off in a row": (
        GOOD.encode()[:-80],
        "ends in the middle of the document (after row 1 of 'time-profile')",
    ),
    "cut off in a tag": (GOOD.encode()[: GOOD.index("<sentinel") + 4], "ends in the middle"),
    "cut off before the first row": (GOOD.encode()[: GOOD.index("<row>")], "ends in the middle"),
    "cut off after the root": (b'<?xml version="1.0"?>\n<trace-query-result>\n', "ends in the middle"),
    "a dangling ref": (
        GOOD.replace('<weight id="4">5</weight>', '<weight ref="9"/>').encode(),
        "row 2 of 'time-profile' (line 4): <weight ref='9'/> refers to an id that was not defined",
    ),
    "a ref forward": (
        GOOD.replace('<weight id="2">5</weight>', '<weight ref="4"/>').encode(),
        "row 1 of 'time-profile'",
    ),
    "a ref to another kind": (
        GOOD.replace('<weight id="4">5</weight>', '<weight ref="1"/>').encode(),
        "<weight ref='1'/> refers to a <sample-time>",
    ),
    "an id twice": (GOOD.replace('id="4"', 'id="2"').encode(), "the id '2' is defined twice"),
    "a missing cell": (
        GOOD.replace('<weight id="4">5</weight>', "").encode(),
        "row 2 of 'time-profile' (line 4) has 6 cells where the schema has 7 columns",
    ),
    "a cell too many": (
        GOOD.replace('<weight id="4">5</weight>', '<weight id="4">5</weight><sentinel/>').encode(),
        "has 8 cells where the schema has 7 columns",
    ),
    "rows without a schema": (document(node("<row><sentinel/></row>")).encode(), "rows without a <schema>"),
    "a node without a schema": (document(node("")).encode(), "<node> without a <schema>"),
    "a schema without columns": (document(node('<schema name="x"></schema>')).encode(), "without columns"),
    "a document type": (
        GOOD.replace("<trace-q", "<!DOCTYPE trace-query-result><trace-q", 1).encode(),
        "document type",
    ),
    "an entity bomb": (BOMB.encode(), "document type"),
    "an external entity": (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><trace-query-result>&e;'
        b"</trace-query-result>",
        "document type",
    ),
    "a bad entity": (GOOD.replace("<sentinel/>", "&nbsp;", 1).encode(), "is not well-formed XML"),
    "an address of 80 bits": (
        one_table(
            "t",
            [("s", "backtrace")],
            '<backtrace id="1"><frame id="2" name="f" addr="0x1ffffffffffffffffffff"/></backtrace>',
        ).encode(),
        "is not a 64-bit number",
    ),
    "a control character": (GOOD.replace(">5<", ">\x01<", 1).encode(), "is not well-formed XML"),
    "bytes that are no UTF-8": (GOOD.encode().replace(b">5<", b">\xff\xfe<", 1), "is not well-formed XML"),
    "a cut-off gzip": (gzip.compress(GOOD.encode())[:-12], "damaged or cut-off gzip"),
    "a damaged gzip": (gzip.compress(os.urandom(3000))[:500] + bytes(900), "damaged or cut-off gzip"),
    "a zip archive": (b"PK\x03\x04" + bytes(60), "cannot be unpacked"),
    "a table of contents": (
        b'<?xml version="1.0"?><trace-toc><run number="1"><data><table schema="cpu-profile"/></data></run></trace-toc>',
        "is a table of contents",
    ),
    "a query without match": (document().encode(), "the query of the export matched nothing"),
    "a profile of Firefox": (
        b'{"meta":{"version":24,"stackwalk":1},"libs":[],"threads":[]}',
        "is a profile of the Firefox Profiler, which tracekit does not read.",
    ),
    "a profile of speedscope": (
        b'{"$schema":"https://www.speedscope.app/file-format-schema.json"}',
        "is a profile of speedscope, which",
    ),
    "an HTTP archive": (b'{"log":{"version":"1.2","creator":{}}}', "is an HTTP archive (HAR), which"),
    "folded stacks": (b"main;predict;run 12\nmain 3\n", "is a file of folded stacks, which"),
    "a database": (b"SQLite format 3\0" + bytes(100), "is an SQLite database, which"),
    "a track detail": (
        b'<?xml version="1.0"?><trace-query-result><node xpath=\'//trace-toc[1]/run[1]/tracks[1]/track[1]/details[1]/'
        b'detail[1]\'><row size="1" resident-%="2"/></node></trace-query-result>',
        "track detail",
    ),
    "a cell of another column": (
        GOOD.replace('<weight id="4">5</weight><sentinel/>', '<sentinel/><weight id="4">5</weight>').encode(),
        "row 2 of 'time-profile': column 'stack' is of type 'backtrace' and holds a <weight>",
    ),
    "a number that is empty": (
        GOOD.replace('<weight id="4">5</weight>', '<weight id="4"/>').encode(),
        "row 2 of 'time-profile': a <weight> holds no number",
    ),
    "a thread id that is a word": (
        one_table(
            "time-profile",
            TIME_PROFILE,
            ROW.format(1, 2).replace("<sentinel/>", '<thread id="5"><tid id="6">x</tid></thread>', 1),
        )
        .replace('id="5"', 'id="8"')
        .encode(),
        "row 1 of 'time-profile': the tid 'x' is not a number",
    ),
    "an address that is a word": (
        one_table(
            "time-sample",
            [("s", "kperf-bt")],
            '<kperf-bt id="1"><text-addresses id="2">1 -2</text-addresses></kperf-bt>',
        ).encode(),
        "row 1 of 'time-sample': the address '-2' is not a 64-bit number",
    ),
    "a row that is not a child of its table": (
        GOOD.replace("\n<row>", "\n<rows><row>").replace("</row></node>", "</row></rows></node>").encode(),
        "has 2 rows, and 1 were read",
    ),
    "rows outside a table": (
        GOOD.replace("<node ", "<table ").replace("</node>", "</table>").encode(),
        "outside a <node>",
    ),
    "a negative weight": (GOOD.replace(">5<", ">-5<", 1).encode(), "'weight'"),
    "a negative time": (GOOD.replace(">1<", ">-1<", 1).encode(), "'time'"),
    "a time beyond reason": (GOOD.replace(">1<", ">9223372036854775807<", 1).encode(), "'time'"),
    "weights beyond reason": (GOOD.replace(">5<", ">9000000000000000000<").encode(), "'weight'"),
    "a time that is missing": (
        GOOD.replace('<sample-time id="1">1</sample-time>', "<sentinel/>").encode(),
        "'time'",
    ),
    "deep nesting": (
        (b'<?xml version="1.0"?><trace-query-result>' + b"<a>" * 5000),
        "a nesting larger than any that xctrace writes",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_gets_one_sentence_and_exit_code_3(tmp_path: Path, case: str) -> None:
    content, message = CASES[case]
    output = tmp_path / "out.json"
    path = write(tmp_path, content)
    result = CliRunner().invoke(main, ["analyze", path, "-o", str(output)])
    assert result.exit_code == 3, result.output
    assert message in result.stderr
    assert "export.xml" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert os.listdir(tmp_path) == ["export.xml"]


def test_a_valid_export_is_read(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["analyze", write(tmp_path, GOOD)])
    assert result.exit_code == 0, result.output


def test_paths_without_an_export(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "X.trace").mkdir()
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", "<plist/>", "a.xml")
    os.mkfifo(tmp_path / "not-opened-here")
    for path, message in [
        (str(tmp_path / "missing.xml"), "does not exist"),
        (str(tmp_path / "empty"), "is a folder without a .trace and without exports"),
        (str(tmp_path / "X.trace"), "holds no recorded tables"),
        (str(tmp_path / "other"), "root <plist>"),
        ("/dev/null", "is not a file that holds an export"),
        ("/dev/zero", "is not a file that holds an export"),
    ]:
        result = CliRunner().invoke(main, ["analyze", path])
        assert (result.exit_code, message in result.stderr) == (3, True), (path, result.output)
        assert len(result.stderr.strip().splitlines()) == 1


ENDLESS = """
import sys
head, piece, count = sys.argv[1].encode(), sys.argv[2].encode() * 65536, int(sys.argv[3])
try:
    sys.stdout.buffer.write(head)
    for _ in range(count):
        sys.stdout.buffer.write(piece)
except BrokenPipeError:
    pass
"""
MEASURED = """
import pathlib, resource, sys
sys.argv = ["tracekit", "analyze", "-"]
from tracekit.cli import main
try:
    main()
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # there, ru_maxrss also counts the process that this one was forked from
        peak = int(status.read_text().partition("VmHWM:")[2].split()[0])
    print("PEAK", peak // 1024, file=sys.stderr)
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("head", "piece"),
    [
        ("", "x"),
        ("<trace-query-result>", "x"),
        ('<trace-query-result a="', "x"),
        ("<trace-query-result><!--", "x"),
        (
            "<trace-query-result><node xpath='a'>" + schema("t", [("a", "string")]) + "<row>",
            "<string>x</string>",
        ),
        ("<trace-query-result>", "<x/>"),
    ],
    ids=["text", "text in the root", "an attribute", "a comment", "one endless row", "other elements"],
)
def test_a_gigabyte_without_a_row_does_not_fill_memory(head: str, piece: str) -> None:
    count = 2**30 // (65536 * len(piece))
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, head, piece, str(count)], stdout=subprocess.PIPE
    ) as writer:
        result = subprocess.run(
            [sys.executable, "-c", MEASURED], stdin=writer.stdout, capture_output=True, text=True, check=False
        )
        assert writer.stdout is not None
        writer.stdout.close()
    assert result.returncode == 3, result.stderr
    assert result.stderr.startswith("Error: standard input: "), result.stderr
    peak_mb = int(result.stderr.rsplit("PEAK ", 1)[1])
    assert peak_mb < 800, result.stderr


def test_texts_are_named_as_texts_where_exports_were_meant(tmp_path):
    names = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    for name in names:
        Path(name).write_text(
            "Process:          App [42]\n\n  Thread 0x1    1 sample (1)\n  1  f + 4 (App + 8) [0x10]\n"
        )
    for several in (names, str(tmp_path)):
        with pytest.raises(TracekitError, match="Texts are analyzed one at a time; compare takes two"):
            open_trace(several)
