"""The strip of a model's operations: plan above call, in characters and as a picture."""

from __future__ import annotations

import pytest

from tracekit.analysis.model_join.joined_model import (
    Agreement,
    JoinedModel,
    JoinedOperation,
    JoinedSegment,
    OperationReason,
)
from tracekit.model.vocabulary import Basis, Engine
from tracekit.report.analysis.operator_strip import build_strip
from tracekit.report.document.blocks import StripLine, StripPart
from tracekit.report.document.html_strip import print_strip
from tracekit.report.document.strip_lines import format_legend, format_lines, place_labels

MS = 1_000_000


def model_of(
    *segments: tuple[int, Engine | None, Engine | None, tuple[int, int] | None], length_ms: int = 20
) -> JoinedModel:
    """Return a model of segments: operations, anticipated, observed, begin and end in the call in ms."""
    joined, operations = [], []
    for number, (count, anticipated, observed, edges_ms) in enumerate(segments):
        first = len(operations)
        agreement = Agreement.AGREES if anticipated is observed else Agreement.DIFFERS
        start, end = (edges_ms[0] * MS, edges_ms[1] * MS) if edges_ms else (None, None)
        is_off = anticipated not in (None, Engine.ANE)
        reasons = (OperationReason("run-time indices", "plan"),) if is_off else ()
        operations += [
            JoinedOperation("gather", f"gather_{first + index}", anticipated, number, reasons, "model.py:118")
            for index in range(count)
        ]
        joined.append(
            JoinedSegment(
                first, first + count, anticipated, observed, agreement, Basis.MEASURED, 3, start, end
            )
        )
    return JoinedModel(
        "Encoder", "Encoder.mlpackage", "plan.json", "compute plan", "main", 3, 1, length_ms * MS,
        tuple(operations), tuple(joined),
    )  # fmt: skip


ISLAND = model_of(
    (60, Engine.ANE, Engine.ANE, (0, 8)),
    (1, Engine.GPU, Engine.CPU, (10, 14)),
    (39, Engine.ANE, Engine.ANE, (15, 20)),
)


def test_an_operation_off_the_engine_has_a_sign_of_its_own_however_short_it_is() -> None:
    strip = build_strip(ISLAND, 0)
    assert strip is not None
    assert strip.caption == "100 operations of Encoder as anticipated, above the typical call."
    assert format_lines(strip, 26) == [
        "plan  AAAAAAAAAAAAGAAAAAAA",
        "call  AAAAAAAA--CCCC-AAAAA",
    ]
    assert format_legend(strip) == "A Neural Engine, G GPU, C CPU, - gap"


def test_parts_have_their_rows_their_time_in_the_recording_and_their_counterpart() -> None:
    strip = build_strip(ISLAND, 1_000 * MS)
    assert strip is not None
    before, island, after = strip.above.parts
    assert (before.rows, island.rows, after.rows) == (range(0), range(1), range(0))
    assert island.label == "gather_60"
    assert island.text == 'gather_60 (gather): GPU anticipated; the plan: "run-time indices"; model.py:118'
    assert before.text == "operations 1 to 60 of 100: Neural Engine anticipated"
    assert [(part.text, part.range_ns) for part in strip.below.parts] == [
        ("Neural Engine, 8.00 ms, Neural Engine anticipated: agrees", (1_000 * MS, 1_008 * MS)),
        ("gap, 2.00 ms", (1_008 * MS, 1_010 * MS)),
        ("CPU, 4.00 ms, GPU anticipated: differs", (1_010 * MS, 1_014 * MS)),
        ("gap, 1.00 ms", (1_014 * MS, 1_015 * MS)),
        ("Neural Engine, 5.00 ms, Neural Engine anticipated: agrees", (1_015 * MS, 1_020 * MS)),
    ]
    assert strip.links == ((0, 0), (1, 2), (2, 4))


def test_operations_side_by_side_off_the_engine_are_parts_of_one_segment() -> None:
    strip = build_strip(model_of((1, Engine.ANE, Engine.ANE, (0, 4)), (2, Engine.CPU, Engine.CPU, (5, 9))), 0)
    assert strip is not None
    assert [part.rows for part in strip.above.parts] == [range(0), range(1), range(1, 2)]
    assert strip.links == ((0, 0), (1, 2), (2, 2))


def test_what_is_not_stated_and_what_no_call_shows_is_never_an_engine() -> None:
    strip = build_strip(model_of((2, None, None, None), (2, Engine.ANE, None, (5, 10))), 0)
    assert strip is not None
    assert format_lines(strip, 26) == ["plan  ??????????AAAAAAAAAA", "call       ?????"]
    assert strip.below.parts[0].text == "engine not shown, 5.00 ms, Neural Engine anticipated: differs"
    unseen = build_strip(model_of((2, Engine.ANE, None, None)), 0)
    assert unseen is not None
    assert unseen.below.parts == ()
    assert unseen.caption == "2 operations of Encoder as anticipated. No call shows its segments."
    assert build_strip(model_of(), 0) is None


def test_very_many_operations_off_the_engine_are_drawn_as_segments() -> None:
    strip = build_strip(
        model_of((500, Engine.CPU, Engine.CPU, (0, 5)), (3, Engine.ANE, Engine.ANE, (6, 9))), 0
    )
    assert strip is not None
    assert [(part.label, part.rows) for part in strip.above.parts] == [
        ("500 operations", range(500)),
        ("", range(500, 500)),
    ]


@pytest.mark.parametrize(
    ("starts", "centers"),
    [
        ((0.2, 0.8), {0: 0.205, 1: 0.805}),
        ((0.2, 0.21, 0.8), {0: 0.205, 2: 0.805}),
        ((0.0, 0.99), {0: 0.095, 1: 0.955}),
    ],
)
def test_labels_never_cover_each_other_nor_leave_the_line(
    starts: tuple[float, ...], centers: dict[int, float]
) -> None:
    parts = tuple(StripPart(start, start + 0.01, 0, "", "gather_12") for start in starts)
    assert place_labels(StripLine("plan", parts), 0.01) == pytest.approx(centers)


def test_the_picture_keeps_within_its_width_and_names_what_it_draws() -> None:
    strip = build_strip(ISLAND, 0)
    assert strip is not None
    markup = print_strip(strip)
    assert 'data-first="0" data-end="1"' in markup
    assert 'data-from="10000000" data-to="14000000"' in markup
    title = 'gather_60 (gather): GPU anticipated; the plan: "run-time indices"; model.py:118'
    assert f"<title>{title}</title>" in markup
    assert "call: 0 ms" in markup
    assert "20.0 ms" in markup
