"""Documents: how they arrive (gzip, concatenated, in pieces), and the content of a table of contents."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from documents_support import column, document, node, one_table, schema, source_of, write
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import InputError
from tracekit.parsers.xml.documents import read_documents
from tracekit.parsers.xml.index import DocumentIndex, index_file
from tracekit.parsers.xml.stream import DocumentStream
from tracekit.parsers.xml.value_store import QueryResult
from tracekit.parsers.xml.xml_source import XmlFile, XmlSource

pytestmark = pytest.mark.usefixtures("each_reader")

COLUMNS = [("n", "uint64")]
DEEP = one_table("s", COLUMNS, f'<uint64 id="1">{"<a>" * 300}1{"</a>" * 300}</uint64>')
FIRST = one_table("s", COLUMNS, '<uint64 id="1">1</uint64>', '<uint64 id="2">2</uint64>')
SECOND = document(node(schema("s", COLUMNS) + '<row><uint64 id="1">3</uint64></row>', table=2))
TOC = """<?xml version="1.0"?>

<trace-toc>
    <run number="1">
        <info>
            <target>
                <device platform="macOS" model="Mac Studio" name="Studio" os-version="26.5 (25F71)" uuid="U"/>
                <process type="attached" name="App" pid="7"/>
            </target>
            <summary>
                <start-date>2026-06-04T07:00:40.915-07:00</start-date>
                <duration>3.450364</duration>
                <instruments-version>16.0 (17F42)</instruments-version>
                <template-name>Blank</template-name>
            </summary>
        </info>
        <data>
            <table schema="s" target-pid="SINGLE" documentation="words"/>
            <table schema="s" trigger="pmi" pmc-events="&quot;A&quot; &quot;B&quot;"/>
            <table schema="ane-hw-intervals-internal"/>
        </data>
    </run>
</trace-toc>
"""


def numbers(source: XmlSource, run: int = 1) -> list[object]:
    return [value for table in source.tables("s", run) for value in column(table, "n")]


def test_gzip(tmp_path: Path) -> None:
    assert numbers(source_of(write(tmp_path, gzip.compress(FIRST.encode()), "export.xml.gz"))) == [1, 2]


@pytest.mark.parametrize("between", ["", "\n\n", "\ufeff"])
def test_several_documents_in_one_file_have_their_own_ids(tmp_path: Path, between: str) -> None:
    assert numbers(source_of(write(tmp_path, FIRST + between + SECOND))) == [1, 2, 3]


def test_documents_without_a_declaration_between_them(tmp_path: Path) -> None:
    bare = SECOND.removeprefix('<?xml version="1.0"?>\n')
    assert numbers(source_of(write(tmp_path, FIRST + bare))) == [1, 2, 3]


def test_a_folder_of_exports_is_one_source(tmp_path: Path) -> None:
    files = [
        write(tmp_path, text, name) for name, text in [("a.xml", FIRST), ("b.xml", SECOND), ("toc.xml", TOC)]
    ]
    source = source_of(*files)
    assert numbers(source) == [1, 2, 3]
    assert source.has_toc
    (run,) = source.toc()
    assert [(t.index, t.schema, t.row_count) for t in run.tables] == [
        (1, "s", 2),
        (2, "s", 1),
        (3, "ane-hw-intervals-internal", None),
    ]
    assert run.tables[1].attributes == {"trigger": "pmi", "pmc-events": '"A" "B"'}


def test_a_table_of_contents_has_device_process_and_template(tmp_path: Path) -> None:
    (run,) = source_of(write(tmp_path, TOC)).toc()
    info = run.info
    assert (info.device, info.model, info.os, info.platform) == (
        "Studio",
        "Mac Studio",
        "26.5 (25F71)",
        "macOS",
    )
    assert (info.process, info.pid, info.template) == ("App", 7, "Blank")
    assert (info.instruments, info.duration_ns) == ("16.0 (17F42)", 3_450_364_000)


def test_a_table_of_contents_of_a_failed_recording(tmp_path: Path) -> None:
    text = '<?xml version="1.0"?><trace-toc><run number="2"><info><summary><duration/></summary></info><data/></run></trace-toc>'
    (run,) = source_of(write(tmp_path, text)).toc()
    assert (run.info.run, run.info.duration_ns, run.info.pid, run.info.process) == (2, None, None, "")


def test_no_match_is_not_an_empty_table(tmp_path: Path) -> None:
    nothing = source_of(write(tmp_path, document()))
    empty = source_of(write(tmp_path, one_table("s", COLUMNS)))
    assert nothing.toc() == ()
    assert [issue.code for issue in nothing.issues()] == ["query-without-match"]
    assert [(t.schema, t.row_count) for t in empty.toc()[0].tables] == [("s", 0)]
    assert empty.issues() == ()


def test_other_xml_files_of_a_folder_are_skipped_and_named(tmp_path: Path) -> None:
    source = source_of(write(tmp_path, FIRST, "a.xml"), write(tmp_path, "<plist/>", "b.xml"))
    assert numbers(source) == [1, 2]
    assert [issue.code for issue in source.issues()] == ["file-skipped"]
    assert "b.xml" in source.issues()[0].message


def test_tables_of_contents_of_different_recordings_do_not_mix(tmp_path: Path) -> None:
    second = TOC.replace("Studio", "Mini")
    with pytest.raises(InputError, match="different recordings"):
        source_of(write(tmp_path, TOC, "a.xml"), write(tmp_path, second, "b.xml"))


def test_a_table_that_was_exported_twice_counts_once(tmp_path: Path) -> None:
    shorter = one_table("s", COLUMNS, '<uint64 id="1">1</uint64>')
    source = source_of(write(tmp_path, shorter, "a.xml"), write(tmp_path, FIRST, "b.xml"))
    assert numbers(source) == [1, 2]
    (issue,) = source.issues()
    assert (issue.code, issue.severity) == ("table-exported-twice", "warning")


def test_an_export_that_does_not_fit_the_table_of_contents_is_named(tmp_path: Path) -> None:
    unlisted = one_table("x", COLUMNS, '<uint64 id="1">1</uint64>')
    source = source_of(write(tmp_path, TOC, "toc.xml"), write(tmp_path, unlisted, "x.xml"))
    assert [issue.code for issue in source.issues()] == ["toc-mismatch"]


@given(
    st.lists(st.integers(1, 60), max_size=40),
    st.sampled_from([[FIRST, SECOND], ["\ufeff" + FIRST, "\n" + TOC, "\n\n\ufeff" + SECOND]]),
)
def test_however_the_bytes_are_cut_the_documents_are_the_same(sizes: list[int], texts: list[str]) -> None:
    data = "".join(texts).encode()
    pieces, start = [], 0
    for size in sizes:
        pieces.append(data[start : start + size])
        start += size
    pieces.append(data[start:])

    def documents(chunks: list[bytes]) -> list[bytes]:
        stream = DocumentStream(iter(chunks))
        parts = []
        while stream.skip_blank():
            parts.append(b"".join(stream.read_document()))
        return parts

    def tables(chunks: list[bytes]) -> list[tuple[str | None, int, int]]:
        index = DocumentIndex()
        for chunk in chunks:
            index.feed(chunk)
        return [(table.schema, table.index, table.rows) for table in index.tables]

    expected = [text.strip("\n\ufeff").encode() for text in texts]
    assert documents([data]) == expected
    assert documents([piece for piece in pieces if piece]) == expected
    assert tables(pieces) == tables([data])


def test_the_index_and_the_parser_count_the_same_rows(tmp_path: Path) -> None:
    path = write(tmp_path, FIRST + SECOND)
    parsed = [len(n.cells) for d in read_documents(path) if isinstance(d, QueryResult) for n in d.nodes]
    assert parsed == [t.rows for index in index_file(path) for t in index.tables] == [2, 1]


_MARKUP = [b"<node xpath='/run[1]/table[7]'>", b'<schema name="a">', b"<!-- <row> -->", b"<?note?>"]
_CELLS = [
    b"<row>",
    b"<row/>",
    b'<row id="1">',
    b"<row\n>",
    b"<rows>",
    b"<roe>",
    b"</row>",
    b"</tid>",
    b"<network>",
    b"a",
]


@given(st.lists(st.sampled_from(_MARKUP + 3 * _CELLS), max_size=30), st.integers(1, 40))
def test_the_index_counts_rows_and_nothing_that_resembles_them(tokens: list[bytes], size: int) -> None:
    tokens = [_MARKUP[0], *tokens, b"</trace-query-result>"]
    data = b"".join(tokens)
    index = DocumentIndex()
    for start in range(0, len(data), size):
        index.feed(data[start : start + size])
    rows = [len(re.findall(rb"<row[\s/>]", part)) for part in data.split(_MARKUP[0])[1:]]
    assert [table.rows for table in index.tables] == rows
    assert index.rows == sum(rows)
    assert index.exact == (not {_MARKUP[2], _MARKUP[3]} & {*tokens})
    assert index.closed


def test_progress_counts_bytes_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(FIRST.encode() * 3), "a.xml.gz")
    reports: list[tuple[int, int | None]] = []
    XmlFile(path, lambda done, total: reports.append((done, total))).load_documents()
    assert reports[-1] == (Path(path).stat().st_size, Path(path).stat().st_size)


def test_messages_do_not_name_options_of_libxml2(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a text or a nesting larger than any that xctrace writes") as caught:
        source_of(write(tmp_path, DEEP))
    assert "XML_PARSE_HUGE" not in str(caught.value)
