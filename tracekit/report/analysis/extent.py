"""The part of an analysis that each format prints, in the same words and digits."""

from __future__ import annotations

from tracekit.frozen import frozen


@frozen
class Extent:
    """The part of an analysis that a document has.

    ``left_out`` names sections. Where the list of calls ``is_folded``, equal ones are one row. A page's
    script replaces the table of calls by one of all calls, whose marks are those of the document:
    ``has_all_calls``.
    """

    is_verbose: bool
    most_calls: int
    most_threads: int
    most_alike: int = 40
    """The number of limits of one code to write out; a line names the number of the others."""
    most_findings: int = 60
    most_log_lines: int = 20
    most_operations: int = 20
    most_stacks: int = 8
    left_out: frozenset[str] = frozenset()
    has_all_calls: bool = False
    is_folded: bool = False
    has_explanations: bool = False
    """Whether findings and limits have with them what their names mean."""
    recording: str = ""
    """The recording in commands, as the user named it; "" for its name alone."""
    files: tuple[str, ...] = ()
    """Models and plans in commands, as the user named them; any other has its name alone."""

    def explain(self, name: str) -> tuple[str, ...]:
        """Return what the name of a finding means, in paragraphs, where the document has explanations."""
        return explain_name(name) if self.has_explanations else ()


def explain_name(name: str) -> tuple[str, ...]:
    """Return what the name of a finding or an issue means, in paragraphs."""
    from tracekit.report.explanation.documented_texts import find_paragraphs  # read for pages only

    return find_paragraphs(name)


SHORT_TEXT = Extent(
    False,
    12,
    12,
    most_alike=3,
    left_out=frozenset({"log", "stacks", "counters", "submissions", "questions"}),
    is_folded=True,
)
VERBOSE_TEXT = Extent(True, 40, 60, most_operations=60, left_out=frozenset({"stacks", "questions"}))
TICKET = Extent(
    False, 0, 20, most_alike=10, most_findings=20, most_log_lines=10, most_stacks=5,
    left_out=frozenset({"windows", "counters", "questions"}),
)  # fmt: skip
PAGE = Extent(
    True, 60, 500, most_log_lines=40, most_operations=400, has_all_calls=True, has_explanations=True
)
NOTEBOOK = Extent(
    True, 20, 20, most_alike=10, most_findings=5,
    left_out=frozenset({"timeline", "calltree", "flame", "stacks", "counters", "engines", "latency",
                        "submissions", "evidence", "recording", "questions"}),
)  # fmt: skip
