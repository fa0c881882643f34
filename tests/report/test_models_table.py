"""The headline of several models: a sentence, what costs most, and a short table in every format."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_support import ane, prediction, with_evidence
from sample_recordings import sample_analysis
from trace_support import UI, trace_of

from tracekit import Analysis, analyze
from tracekit.report.analysis.document import build_document
from tracekit.report.analysis.extent import PAGE, SHORT_TEXT
from tracekit.report.analysis.models_table import list_models
from tracekit.report.document.html_printer import print_html

SAMPLES = Path(__file__).parents[2] / "sample_traces"
WAITING = [
    ["model", "engine", "calls", "median", "costs most"],
    ["Segmenter", "Neural Engine", "10", "17.9 ms", "324 ms (sampled): work between calls"],
    ["Tagger", "Neural Engine", "6", "30.9 ms", "77.3 ms (inferred): idle time"],
    ["Classifier", "Neural Engine", "5", "25.4 ms", "43.2 ms: the blocked main thread"],
]


def models_in_turn(count: int) -> Analysis:
    """Return one call each of so many models, the first the longest, all on the Neural Engine."""
    rows = []
    for number in range(count):
        start, length = number * 50.0, 40.0 - number
        model = f"Model{number + 1}"
        rows += [prediction(start, start + length, model), ane(start + 5, start + 15, f"{model}_main")]
    return analyze(with_evidence(trace_of([(0, "a", UI)]), rows))


@pytest.mark.integration
def test_the_sentence_has_the_models_and_what_costs_most() -> None:
    assert sample_analysis("waiting-app-ios27").headline == (
        "Segmenter, Tagger and Classifier ran on the Neural Engine in all 21 calls."
        " Costs most: work between calls (Segmenter), 324 ms (sampled)."
    )


@pytest.mark.integration
def test_the_table_in_text_fits_a_terminal() -> None:
    lines = sample_analysis("waiting-app-ios27").to_text().splitlines()
    start = next(row for row, line in enumerate(lines) if line.startswith("model  "))
    table = lines[start : start + 4]
    assert [" ".join(line.split()) for line in table] == [" ".join(row) for row in WAITING]
    assert max(map(len, table)) <= 80


@pytest.mark.integration
def test_the_table_in_markdown() -> None:
    lines = sample_analysis("waiting-app-ios27").to_markdown().splitlines()
    start = next(row for row, line in enumerate(lines) if line.startswith("| model "))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start : start + 5]]
    assert [cells[0], *cells[2:]] == WAITING


@pytest.mark.integration
def test_a_page_draws_the_parts_of_the_budgets() -> None:
    document = build_document(sample_analysis("waiting-app-ios27"), PAGE)
    markup = print_html(document)["verdict"]
    titles = [part.split("</title>")[0] for part in markup.split("<title>")[1:]]
    assert [title.split(",")[0] for title in titles] == [
        "Neural Engine 48 %",
        "Neural Engine 27 %",
        "Neural Engine 68 %",
    ]
    assert "idle 42 %" in titles[1]
    assert markup.count('class="of-ANE"') == 3


@pytest.mark.integration
def test_one_model_has_a_sentence_only() -> None:
    assert list_models(sample_analysis("fallback-midway-ios27")) == ()


@pytest.mark.integration
def test_a_model_without_a_warning_has_the_largest_part_of_its_calls() -> None:
    (table,) = list_models(sample_analysis("concurrent-engines-macos27"))
    assert dict(zip(table.columns[0].texts, table.columns[4].texts, strict=True)) == {
        "Detector": "54.2 ms: Neural Engine",
        "Upscaler": "50.2 ms: GPU",
        "SequenceTagger": "55.0 ms: CPU inference",
    }


def test_of_many_models_five_are_listed() -> None:
    analysis = models_in_turn(7)
    (table,) = list_models(analysis)
    assert table.columns[0].texts == ["Model1", "Model2", "Model3", "Model4", "Model5"]
    assert analysis.headline.endswith("And 2 more models.")
    assert "Model6" not in str(build_document(analysis, SHORT_TEXT)[0])
