"""The results of checks as JUnit XML: one test case per requirement, for the CI's view of tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tracekit.checks.results import CheckResult
from tracekit.model.trace import Issue
from tracekit.report.checks.wording import reason, requirement_text, warnings
from tracekit.text import printable

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even as a reference (https://www.w3.org/TR/xml/#charsets)."""


def to_junit(results: Sequence[CheckResult], name: str, issues: Sequence[Issue] = ()) -> str:
    """Return the document; "open" and "not measurable" are errors there, to distinguish them from failures.

    The recording's warnings are the suite's output.
    """
    counts = {
        "tests": len(results),
        "failures": sum(result.outcome == "failed" for result in results),
        "errors": sum(result.outcome in ("open", "not measurable") for result in results),
    }
    totals = {key: str(value) for key, value in counts.items()}
    root = ET.Element("testsuites", {"name": "tracekit check", **totals})
    suite = ET.SubElement(root, "testsuite", {"name": _text(name), "skipped": "0", "time": "0", **totals})
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname="tracekit.check", name=_text(requirement_text(result)), time="0"
        )
        message = _text(reason(result))
        if result.outcome == "passed":
            ET.SubElement(case, "system-out").text = message
        else:
            kind = "failure" if result.outcome == "failed" else "error"
            type_ = result.outcome.replace(" ", "-")
            ET.SubElement(case, kind, message=message, type=type_).text = message
    if listed := warnings(issues):
        lines = [f"{issue.severity}: {_text(issue.message)} [{_text(issue.code)}]" for issue in listed]
        ET.SubElement(suite, "system-out").text = "\n".join(lines)
    ET.indent(root)
    document = ET.tostring(root, encoding="unicode").replace("##", "#&#35;")  # no command in a CI's log
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _text(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", printable(text))
