"""No output of a redacted recording has a private name: the search of ``attack/redaction.py``, short.

``TRACEKIT_EXAMPLES=1000`` tries 200 recordings; by default there are a few.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attack.redaction import case
from click.testing import CliRunner
from documents_support import document, node, schema, write
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit import analyze
from tracekit.cli import main
from tracekit.detect import open_source
from tracekit.load import trace_of
from tracekit.model.schemas import READ_TABLES
from tracekit.parsers.in_memory import read_into_memory
from tracekit.redact.redacted_source import redact_source

pytestmark = pytest.mark.integration

TOC = """<trace-toc><run number="1"><info><target><device name="Jo's Mac" model="MacBook Pro" platform="macOS"/>
<process name="{process}" pid="7"/></target><summary><template-name>/Users/jo/T.tracetemplate</template-name></summary>
</info><data><table schema="time-profile"/></data></run></trace-toc>"""
CASES = settings.default.max_examples // 5


@pytest.mark.integration
@settings(max_examples=CASES)
@given(st.integers(0, 2**32))
def test_no_output_has_a_private_name(seed: int) -> None:
    assert case(seed).finds == ()


@pytest.mark.integration
def test_every_output_is_searched() -> None:
    assert case(1, all_outputs=True).finds == ()


def test_the_process_to_keep_may_be_called_like_a_user(tmp_path: Path) -> None:
    toc = TOC.replace("/Users/jo/", "/Users/joanna/")
    result = _report(tmp_path, toc, "joanna-tool")
    assert (result["process"], result["pid"]) == ("user-tool", 7)


def test_a_process_of_the_table_of_contents_alone_is_removed(tmp_path: Path) -> None:
    toc = TOC.replace("<summary>", "<summary><end-reason>Hermitd asked for it</end-reason>").replace(
        "<data>", '<processes><process name="hermitd" pid="55" path="/x"/></processes><data>'
    )
    assert _report(tmp_path, toc, "App")["end_reason"] == "other-process asked for it"


def _report(folder: Path, toc: str, process: str) -> Any:
    """Return what a redacted report says of a recording with this table of contents and process."""
    columns = [("time", "sample-time"), ("thread", "thread"), ("weight", "weight"), ("stack", "backtrace")]
    thread = (
        f'<thread fmt="Main Thread (0x1f) ({process}, pid: 7)"><tid>31</tid>'
        f'<process fmt="{process} (7)"><pid>7</pid></process></thread>'
    )
    row = f"<row><sample-time>1000</sample-time>{thread}<weight>5</weight><sentinel/></row>"
    write(folder, document(node(schema("time-profile", columns) + row, 1)), "time-profile.xml")
    write(folder, toc.format(process=process), "toc.xml")
    arguments = ["report", str(folder), "--redact", "--process", process, "--format", "json", "-o", "-"]
    written = CliRunner().invoke(main, arguments)
    assert written.exit_code == 0, written.output
    return json.loads(written.stdout)["recording"]


def test_a_redacted_log_has_requests_only_and_their_result_is_the_same() -> None:
    """Rows of the Neural Engine that the log gives to another process leave together with its lines."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "failing-requests-macos27"
    source = read_into_memory(open_source(folder, schemas=READ_TABLES))
    whole, kept = (
        analyze(trace_of(shared), signposts=["Inference/encode"])
        for shared in (source, redact_source(source))
    )
    assert kept.verdicts.names == whole.verdicts.names
    assert kept.requests.served.tolist() == whole.requests.served.tolist()
    assert [process.process for process in kept.requests.processes] == ["SampleApp"]
    assert kept.engine_totals[0].busy_ns == whole.engine_totals[0].busy_ns
    (log,) = redact_source(source).contents[1, "os-log"]
    assert set(log.rows["subsystem"]) == {"com.apple.ane", "com.apple.espresso"}
