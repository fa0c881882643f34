"""What became of requirements, as JUnit XML: one test case each, for the CI's own view of tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tracekit.checks.judge import Result
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import named, reason, warnings
from tracekit.text import printable

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even as a reference (https://www.w3.org/TR/xml/#charsets)."""


def to_junit(results: Sequence[Result], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return the document; what is not measurable is an error, so that it can be told from a failure.

    The recording's warnings are the suite's output.
    """
    counts = {
        "tests": len(results),
        "failures": sum(result.outcome == "failed" for result in results),
        "errors": sum(result.outcome == "not measurable" for result in results),
    }
    totals = {key: str(value) for key, value in counts.items()}
    root = ET.Element("testsuites", {"name": "tracekit check", **totals})
    suite = ET.SubElement(root, "testsuite", {"name": _text(name), "skipped": "0", "time": "0", **totals})
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname="tracekit.check", name=_text(named(result)), time="0"
        )
        told = _text(reason(result))
        if result.outcome == "passed":
            ET.SubElement(case, "system-out").text = told
        else:
            kind = "failure" if result.outcome == "failed" else "error"
            type_ = result.outcome.replace(" ", "-")
            ET.SubElement(case, kind, message=told, type=type_).text = told
    if warned := warnings(issues):
        told = "\n".join(f"{one.severity}: {_text(one.message)} [{_text(one.code)}]" for one in warned)
        ET.SubElement(suite, "system-out").text = told
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _text(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))
