"""The fake xctrace exports tables of contents and tables in the documents that xctrace writes."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from fake_xctrace_support import ATTACH, Mac, ended, mac
from lxml import etree

from tracekit.detect import open_source

pytestmark = pytest.mark.integration

__all__ = ["mac"]


# Export ---------------------------------------------------------------------------------------------------

EMPTY = '<?xml version="1.0"?>\n<trace-query-result>\n</trace-query-result>\n'
NODE = "<node xpath='//trace-toc[1]/run[1]/data[1]/table[{}]'>{}</node>"
SCHEMA = '<schema name="{}"><col><mnemonic>value</mnemonic><name>Value</name><engineering-type>uint64</engineering-type></col></schema>'
TOC = (
    '<?xml version="1.0"?>\n\n<trace-toc>\n    <run number="1">\n        <data>\n'
    '            <table schema="a"/>\n            <table schema="b"/>\n            <table schema="a"/>\n'
    '            <table schema="c" codes="1"/>\n        </data>\n    </run>\n</trace-toc>\n'
)
EXPORTS = {
    "toc.xml": TOC,
    "a.xml": '<?xml version="1.0"?>\n<trace-query-result>\n'
    + NODE.format(1, SCHEMA.format("a") + '<row><thread id="1" fmt="T"><tid id="2">5</tid></thread></row>\n')
    + NODE.format(3, '<row><thread ref="1"/></row>\n<row><tid ref="2"/><tid id="3">6</tid></row>\n')
    + "</trace-query-result>\n",
    "b.xml": '<?xml version="1.0"?>\n<trace-query-result>\n'
    + NODE.format(
        2,
        SCHEMA.format("b")
        + '<row><string id="1" fmt="&lt;x id=&quot;1&quot;">1</string><string ref="1"/></row>\n',
    )
    + "</trace-query-result>\n",
}


@pytest.fixture
def recorded(mac: Mac, tmp_path: Path) -> Mac:
    """A trace of literal exports."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for name, content in EXPORTS.items():
        (folder / name).write_text(content)
    mac.fake.configure(recording=str(folder))
    mac.run(*ATTACH)
    return mac


def test_the_table_of_contents_is_exported(recorded: Mac) -> None:
    assert recorded.run("export", "--input", "a.trace", "--toc").stdout == TOC


def test_no_match_is_an_empty_document(recorded: Mac) -> None:
    assert recorded.export('/trace-toc/run[@number="2"]/data/table') == EMPTY
    assert len(EMPTY) == 65


def test_a_table_is_named_by_its_position(recorded: Mac) -> None:
    answer = recorded.export('/trace-toc/run[@number="1"]/data/table[@schema="b"]')
    assert answer == EXPORTS["b.xml"]


def test_several_tables_have_one_numbering_and_each_schema_once(recorded: Mac) -> None:
    answer = recorded.export('//table[@schema="a"] | //table[2]')
    first, second, third = (node.split("'>", 1) for node in answer.split("<node ")[1:])
    assert [document[0] for document in (first, second, third)] == [
        f"xpath='//trace-toc[1]/run[1]/data[1]/table[{index}]" for index in (1, 2, 3)
    ]
    assert (
        first[1]
        == SCHEMA.format("a") + '<row><thread id="1" fmt="T"><tid id="2">5</tid></thread></row>\n</node>'
    )
    assert (
        second[1]
        == SCHEMA.format("b")
        + '<row><string id="3" fmt="&lt;x id=&quot;1&quot;">1</string><string ref="3"/></row>\n</node>'
    )
    assert third[1].startswith(
        '<row><thread ref="1"/></row>\n<row><tid ref="2"/><tid id="4">6</tid></row>\n</node>'
    )


def test_a_schema_may_be_repeated_after_another(recorded: Mac) -> None:
    recorded.fake.configure(export={"schemas": "changed"})
    answer = etree.fromstring(recorded.export("//table[1] | //table[2] | //table[3]").encode())
    assert answer.xpath("node/schema/@name") == ["a", "b", "a"]
    answer = etree.fromstring(recorded.export("//table[1] | //table[3]").encode())
    assert answer.xpath("node/schema/@name") == ["a"]


def test_a_single_node_has_copies_of_its_references(recorded: Mac) -> None:
    assert recorded.export('//table[@schema="a"][2]') == (
        '<?xml version="1.0"?>\n<trace-query-result>\n' + NODE.format(
            3,
            SCHEMA.format("a") + '<row><thread id="1" fmt="T"><tid id="2">5</tid></thread></row>\n'
            '<row><tid ref="2"/><tid id="3">6</tid></row>\n',
        ) + "</trace-query-result>\n"
    )  # fmt: skip


def test_a_table_without_rows_has_a_schema(recorded: Mac) -> None:
    answer = etree.fromstring(recorded.export('//table[@schema="c" and contains(@codes, "1")]').encode())
    assert answer.xpath("node/schema/@name") == ["c"] and not answer.xpath("//row")


def test_processes_can_be_exported(mac: Mac) -> None:
    mac.run(*ATTACH)
    answer = etree.fromstring(
        mac.export('/trace-toc/run[@number="1"]/processes/process[@name="SampleApp"]').encode()
    )
    assert answer.xpath("node/@xpath") == ["//trace-toc[1]/run[1]/processes[1]/process[1]"]
    assert answer.xpath("node/process/@pid") == ["4711"]


def test_a_query_that_is_no_xpath_is_an_error(recorded: Mac) -> None:
    code, message = recorded.error("export", "--input", "a.trace", "--xpath", "//table[")
    assert (
        code == 10
        and message.startswith('Export failed: XQueryError:3 - "')
        and message.endswith('" at line:1')
    )


def test_an_export_may_go_to_a_file(recorded: Mac) -> None:
    done = recorded.run("export", "--input", "a.trace", "--xpath", "//table[2]", "--output", "b.xml")
    assert (done.returncode, done.stdout) == (0, "Finished export to the file: b.xml\n")
    assert (recorded.work / "b.xml").read_text() == EXPORTS["b.xml"]


def test_a_positional_trace_came_with_xcode_27(recorded: Mac) -> None:
    recorded.fake.configure(build="27A266a")
    assert recorded.run("export", "a.trace", "--toc").stdout == TOC


def test_an_appended_run_gets_the_next_number(recorded: Mac) -> None:
    for number in (2, 3):
        assert (
            recorded.run(
                "record", "--append-run", "--output", "a.trace", "--all-processes", "--time-limit", "10ms"
            ).returncode
            == 0
        )
        answer = etree.fromstring(
            recorded.export(f'/trace-toc/run[@number="{number}"]/data/table[2]').encode()
        )
        assert answer.xpath("node/@xpath") == [f"//trace-toc[1]/run[{number}]/data[1]/table[2]"]
        assert answer.xpath("count(//row)") == 1
    answer = recorded.export("//table[2]")
    assert re.findall(r'<string id="(\d+)"', answer) == ["1", "2", "3"]


def test_an_appended_run_is_read_natively_too(mac: Mac) -> None:
    mac.run(*ATTACH)
    append = ("record", "--append-run", "--output", "a.trace", "--all-processes", "--time-limit", "10ms")
    assert mac.run(*append).stdout.startswith("Starting recording with the Time Profiler template. Targeting")
    source = open_source(mac.work / "a.trace", via="native")
    assert [run.info.run for run in source.toc()] == [1, 2]
    first, second = (next(source.tables("time-profile", run)) for run in (1, 2))
    assert len(first) == len(second) == 289
    assert second.stacks.symbols.tolist() == first.stacks.symbols.tolist()
    assert "-[MPSGraphExecutable" in " ".join(map(str, second.stacks.symbols))


def test_a_crash_cuts_the_document_without_a_message(recorded: Mac) -> None:
    recorded.fake.configure(export={"crash": {"schema": "b", "after_bytes": 100}})
    done = recorded.run("export", "--input", "a.trace", "--xpath", "//table[2] | //table[4]")
    assert (done.returncode, len(done.stdout), done.stderr) == (-signal.SIGTRAP, 100, "")
    assert recorded.run("export", "--input", "a.trace", "--xpath", "//table[1]").returncode == 0
    assert not list(recorded.work.glob("core*"))


def test_an_export_may_write_nothing_or_fail(recorded: Mac) -> None:
    recorded.fake.configure(export={"says_nothing": True})
    done = recorded.run("export", "--input", "a.trace", "--toc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert recorded.error("export", "--input", "a.trace", "--toc", export={"fails": "Broken"}) == (
        1,
        "Broken",
    )


def test_a_slow_export_comes_in_chunks(recorded: Mac) -> None:
    child = recorded.start(
        "export", "--input", "a.trace", "--toc", export={"delay_seconds": 0.02, "chunk_bytes": 16}
    )
    assert child.stdout
    first = os.read(child.stdout.fileno(), 4096).decode()  # several chunks on a busy machine
    assert 0 < len(first) < len(TOC) and len(first) % 16 == 0
    code, remaining = ended(child)
    assert (code, first + remaining) == (0, TOC)
