"""Recipes: the question, what a recording lacks for it, and the first sentence of its reply."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache

import click
import pytest
from energy_support import BACK_TO_BACK, priced
from evidence_support import ane, core_ml, prediction, with_evidence
from trace_support import CALL, trace_of
from view_support import ROOT

import tracekit
from docs.generators.recipes import write_command
from tracekit import Analysis, analyze
from tracekit.cli import main
from tracekit.errors import NotMeasurableError, UsageError
from tracekit.model.vocabulary import Engine
from tracekit.report.recipes.answers import answer_recipe, find_shortfall, list_recipes
from tracekit.report.recipes.document import build_list, build_tables
from tracekit.report.recipes.query import Query
from tracekit.report.recipes.registry import RECIPES, Recipe, find_recipe

OTHER_LABEL = "Photos_main__Op0_AneInference"
EVERY_CALL = [(0.0, "a", CALL)]


@cache
def sample(name: str, compute_units: str = "") -> Analysis:
    trace = tracekit.open_trace(ROOT / "sample_traces" / name)
    return tracekit.analyze(trace, compute_units=compute_units)


def analysis_of(*rows: object) -> Analysis:
    return analyze(with_evidence(trace_of(EVERY_CALL), rows))  # type: ignore[arg-type]


def many_calls(slow: int | None = None) -> Analysis:
    """30 calls of 10 ms each, one of which may take 60 ms."""
    rows = []
    for number in range(30):
        start, end = 100.0 * number, 100.0 * number + (60 if number == slow else 10)
        rows += [prediction(start, end), ane(start + 1, end - 1)]
    return analysis_of(*rows)


def ask(name: str, analysis: Analysis, row: int | None = None, base: Analysis | None = None) -> str:
    return answer_recipe(find_recipe(name), Query(analysis, row, base)).sentence


ANSWERED = {
    "engines": ("fallback-midway-ios27", "SpeechEncoder left the Neural Engine after its 6th call"),
    "slow-call": ("waiting-app-ios27", "Call 4 of Segmenter took 24.9 ms, the typical call 17.9 ms"),
    "call-time": ("waiting-app-ios27", "21 calls took 504 ms in all: Neural Engine 45 %"),
    "language-model": (
        "language-model-leaves-engine-macos27",
        "The first token took 37.2 ms (median of 2 requests); decode made 42.4 tokens per second. Engines by"
        " token: prefill ANE, decode ANE 16, GPU 24.",
    ),
    "left-engine": ("fallback-midway-ios27", "SpeechEncoder left the Neural Engine"),
    "pieces": ("waiting-app-ios27", "No model is seen with half of its calls cut into pieces"),
    "first-call": ("concurrent-models-ios27", "No model is seen to be compiled, or loaded again"),
    "idle": ("waiting-app-ios27", "Calls of Tagger idle for 12.0 ms of 30.9 ms"),
    "contention": ("waiting-app-ios27", "The Neural Engine worked for PersonSegmenter"),
    "between-calls": ("waiting-app-ios27", "Between calls of Segmenter, the app computes longer"),
    "copies": ("waiting-app-ios27", "Images or arrays are converted again and again"),
    "refused": ("failing-requests-macos27", "SpeechEncoder: 3 requests to the Neural Engine failed"),
    "engine-users": ("waiting-app-ios27", "The Neural Engine's 24 rows by owner: calls of SampleApp 228 ms"),
}
REFUSED = {
    "engines": ("kperf-samples-macos26", "it shows no call of a model"),
    "slow-call": ("foundation-models-macos27", "no model has three calls to compare"),
    "call-time": ("kperf-samples-macos26", "it shows no call of a model"),
    "language-model": ("fallback-midway-ios27", "no signpost marks a request to a language model"),
    "left-engine": ("failing-requests-macos27", "the engine of 3 of 10 calls is unknown"),
    "requested-engine": ("waiting-app-ios27", "the compute units that the app requested are not known"),
    "pieces": ("ane-espresso-macos13", "no table measured the ANE"),
    "first-call": ("waiting-app-ios27", "Classifier has 4 calls after its first, and 5 are needed"),
    "idle": ("ane-espresso-macos13", "of no call is it known whether anything worked"),
    "contention": ("ane-espresso-macos13", "no table measured the ANE"),
    "gpu-sharing": ("waiting-app-ios27", "no table that shows it was recorded: metal-gpu-intervals"),
    "between-calls": ("kperf-samples-macos26", "it shows no call of a model"),
    "copies": ("kperf-samples-macos26", "it shows no call of a model"),
    "lengths": ("waiting-app-ios27", "Classifier has 4 calls after its first, and 20 are needed"),
    "refused": ("waiting-app-ios27", "no log here has a request to the Neural Engine"),
    "engine-users": ("ane-espresso-macos13", "it has no table of the Neural Engine"),
    "energy": ("waiting-app-ios27", "nothing in it measures power"),
    "slower": ("waiting-app-ios27", "it takes a second recording"),
}
BY_OTHER_MEANS = {"requested-engine", "gpu-sharing", "lengths", "energy", "slower"}
"""Recipes whose answers need an option, another recording, or more calls than the samples have."""


def test_every_recipe_is_answered_here_and_refused_here() -> None:
    names = {recipe.name for recipe in RECIPES}
    assert names == {*ANSWERED, *BY_OTHER_MEANS}
    assert names == {*REFUSED}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_recording_answers_with_a_sentence(name: str) -> None:
    recording, beginning = ANSWERED[name]
    assert ask(name, sample(recording)).startswith(beginning)


@pytest.mark.parametrize("name", REFUSED)
def test_a_recording_that_does_not_answer_states_the_reason(name: str) -> None:
    recording, reason = REFUSED[name]
    shortfall = find_shortfall(find_recipe(name), Query(sample(recording)))
    assert shortfall is not None
    assert shortfall.reason.startswith(reason)
    with pytest.raises(NotMeasurableError, match="This recording does not answer"):
        ask(name, sample(recording))


def test_what_the_samples_do_not_answer_other_recordings_do() -> None:
    assert ask("requested-engine", sample("concurrent-models-ios27", "all")) == (
        "No model is seen off the engines that the app requested."
    )
    assert ask("lengths", many_calls()).startswith("On its usual engine, no model is seen with single long")
    assert "60.0 ms" in ask("lengths", many_calls(slow=17))
    assert ask("energy", priced(BACK_TO_BACK, [1000] * 20)).startswith("A call of Net took 20 mJ (ANE)")
    waiting = sample("waiting-app-ios27")
    assert ask("slower", waiting, base=waiting).startswith("BASE and NEW are the same recording.")


def test_the_slow_call_is_the_one_that_is_asked_for() -> None:
    analysis = many_calls(slow=17)
    assert ask("slow-call", analysis).startswith("Call 18 of Net took 60.0 ms, the typical call 10.0 ms")
    assert "it is 50.0 ms longer. The part that changed most: Neural Engine +50.0 ms" in ask(
        "slow-call", analysis
    )
    assert ask("slow-call", analysis, row=4).startswith("Call 5 of Net")


def test_a_part_that_changed_by_more_than_the_length_is_not_its_cause() -> None:
    """Alternating engines: the call is 2 ms longer, and the engine did 16 ms more."""
    text = ask("slow-call", sample("spill-into-next-call-macos27"))
    assert "it is 2.00 ms longer. The part that changed most: Neural Engine +16" in text


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [prediction(0, 10), ane(1, 9), prediction(20, 30), ane(21, 29)],
            "No other process is seen on the Neural Engine: all of its 2 rows are of calls of App7 (16.0 ms).",
        ),
        (
            [prediction(0, 10), ane(1, 5), ane(5, 9, label=OTHER_LABEL)],
            "The Neural Engine's 2 rows by owner: calls of",
        ),
        (
            [prediction(0, 10), prediction(0, 10, model="Twin"), ane(1, 9, label="")],
            "Whether another process used the Neural Engine cannot be checked: its table (1 row)",
        ),
    ],
)
def test_rows_of_the_neural_engine_by_owner(rows: list[object], text: str) -> None:
    assert ask("engine-users", analysis_of(*rows)).startswith(text)


def test_nothing_is_denied_that_contested_work_may_be() -> None:
    """The engine worked in each call, for it or for another process: it may be in part on the engine."""
    query = Query(sample("same-name-two-processes-macos27"))
    for name in ("left-engine", "pieces", "contention"):
        shortfall = find_shortfall(find_recipe(name), query)
        assert shortfall is not None
        assert shortfall.reason == (
            "in 7 of 7 calls, the Neural Engine worked for the call or for another owner, and nothing decides"
            " which"
        )


def test_rows_that_name_no_owner_deny_no_contention() -> None:
    shortfall = find_shortfall(find_recipe("contention"), Query(sample("ane-intervals-macos26")))
    assert shortfall is not None
    assert shortfall.reason.startswith("rows of the Neural Engine name no process")


def test_other_work_is_stated_where_no_finding_is() -> None:
    """The engine works for others for 1 ms of 40 ms, less than a finding begins at, and 3 ms for another call."""
    rows = [prediction(0, 40), ane(1, 2, label=OTHER_LABEL), ane(2, 30)]
    twin = [prediction(37, 60, model="Twin"), ane(37, 55, label="Twin_main__Op0_AneInference")]
    beginning = "While calls ran on the Neural Engine (40.0 ms in all), it also worked"
    assert ask("contention", analysis_of(*rows)) == f"{beginning} 1.00 ms for other owners."
    text = ask("contention", analysis_of(*rows, *twin))
    assert text.endswith("it also worked 1.00 ms for other owners and 3.00 ms for other work of the app.")
    quiet = analysis_of(prediction(0, 20), ane(1, 19))
    assert ask("contention", quiet) == (
        "While calls ran on the Neural Engine, it is not seen to work for anything else."
    )


def test_one_call_does_not_show_that_an_engine_is_kept() -> None:
    shortfall = find_shortfall(find_recipe("left-engine"), Query(analysis_of(prediction(0, 10), ane(1, 9))))
    assert shortfall is not None
    assert shortfall.reason == "no model is seen with a second call"


def test_ranges_that_are_given_deny_nothing() -> None:
    trace = tracekit.open_trace(ROOT / "sample_traces" / "waiting-app-ios27")
    analysis = tracekit.analyze(trace, windows=["0ms-300ms", "300ms-700ms"])
    for entry in list_recipes(Query(analysis)):
        if entry.recipe.name in ("left-engine", "pieces", "contention", "idle", "copies"):
            assert entry.shortfall is not None
            assert entry.shortfall.reason.startswith("its ranges are given")
            assert entry.shortfall.step is not None
            assert entry.shortfall.step.text == "Analyze it without them."
    assert "the app 228 ms" in ask("engine-users", analysis)


def test_lengths_on_two_engines_are_too_few_of_each() -> None:
    """11 calls of 10 ms on the engine and 11 of 30 ms off it are two kinds of length."""
    rows = []
    for number in range(24):
        start = 100.0 * number
        rows += (
            [prediction(start, start + 10), ane(start + 1, start + 9)]
            if number % 2
            else [prediction(start, start + 30), core_ml(start + 1, start + 29, Engine.CPU)]
        )
    shortfall = find_shortfall(find_recipe("lengths"), Query(analysis_of(*rows)))
    assert shortfall is not None
    assert shortfall.reason.startswith("fewer than 20 measured calls of Net are alike")


def test_no_call_is_named_slow_where_none_is() -> None:
    rows = [
        row for start in (0, 20, 40, 60) for row in (prediction(start, start + 10), ane(start + 1, start + 9))
    ]
    assert (
        ask("slow-call", analysis_of(*rows))
        == "No call is clearly longer than the typical call of its model."
    )
    rows += [prediction(100, 900, model="Twin"), ane(101, 899, label="Twin_main__Op0_AneInference")]
    text = "No call is clearly longer than the typical call of a model that has one."
    assert ask("slow-call", analysis_of(*rows)) == text


def test_calls_at_the_same_time_are_each_counted_whole() -> None:
    rows = [prediction(0, 10), prediction(5, 15, model="Twin")]
    text = ask("call-time", analysis_of(*rows))
    assert text.startswith("2 calls (some at the same time, each counted whole) took 20.0 ms in all")
    assert ask("call-time", analysis_of(prediction(0, 10))).startswith("The only call took 10.0 ms in all")
    assert ask("call-time", sample("back-to-back-macos15")).startswith("One call, or several in a row, took")


def test_only_some_work_of_the_neural_engine_is_one_row() -> None:
    text = ask("engine-users", analysis_of(prediction(0, 10), ane(1, 9)))
    assert (
        text == "No other process is seen on the Neural Engine: its only row is of calls of App7 (8.00 ms)."
    )


def test_findings_beyond_those_that_are_listed_count() -> None:
    rows: list[object] = []
    for number in range(60):
        name = f"{chr(ord('a') + number // 20)}{chr(ord('a') + number % 20)}Net"
        start = 100.0 * number
        rows += [
            prediction(start, start + 10, model=name),
            ane(start + 1, start + 9, label=f"{name}_main__Op0_AneInference"),
        ]
        rows += [prediction(start + 20, start + 30, model=name)]
        rows += [core_ml(start + 21, start + 29, Engine.CPU, name)]
    text = ask("left-engine", analysis_of(*rows))
    assert text.endswith(" And 59 more findings.")


def test_processes_of_one_name_have_their_numbers() -> None:
    trace = with_evidence(
        trace_of([(0.0, "a", CALL), (100.0, "b", CALL)], processes={"b": 8}),
        [
            prediction(0, 10),
            ane(1, 9, pid=7),
            prediction(100, 110, pid=8),
            ane(101, 106, pid=8),
        ],
    )
    twins = replace(trace, threads=trace.threads.assign(process="App"))
    assert ask("engine-users", analyze(twins)) == (
        "The Neural Engine's 2 rows by owner: calls of App (process 7) 8.00 ms, calls of App (process 8) 5.00 ms."
    )


def test_names_of_a_recording_are_escaped_and_cut_in_reasons() -> None:
    analysis = analysis_of(
        *(prediction(20.0 * n, 20.0 * n + 10, model="\x1b[31m" + "x" * 9_000) for n in range(3))
    )
    shortfall = find_shortfall(find_recipe("lengths"), Query(analysis))
    assert shortfall is not None
    assert shortfall.reason.startswith("\\x1b[31mxxx")
    assert len(shortfall.reason) < 120


def test_what_is_not_known_is_not_denied() -> None:
    """A question with "No:" behind it reads as denied."""
    _, refused = build_list(list_recipes(Query(sample("waiting-app-ios27"))))
    texts = [item.text for item in refused.blocks[0].items]  # type: ignore[union-attr]
    assert texts
    assert all("? Not known: " in text for text in texts)


def test_rows_without_a_process_are_not_called_the_apps() -> None:
    text = ask("engine-users", sample("ane-intervals-macos26"))
    assert text.startswith("Whether another process used the Neural Engine cannot be checked")


def test_a_phone_gets_no_step_that_only_a_mac_can_take() -> None:
    shortfall = find_shortfall(find_recipe("energy"), Query(sample("waiting-app-ios27")))
    assert shortfall is not None
    assert shortfall.step is None
    analysis = sample("ane-espresso-macos13")
    info = replace(analysis.trace.info, platform="macOS")
    on_mac = replace(analysis, trace=replace(analysis.trace, info=info))
    shortfall = find_shortfall(find_recipe("energy"), Query(on_mac))
    assert shortfall is not None
    assert shortfall.step is not None
    assert "--with power" in shortfall.step.command


def test_chapters_of_recipes_are_in_the_documentation() -> None:
    for recipe in RECIPES:
        page, _, anchor = recipe.chapter.partition("#")
        headings = {
            line.lstrip("# ").lower().replace(" ", "-").replace(":", "").replace(",", "")
            for line in (ROOT / "docs" / page).read_text("utf-8").splitlines()
            if line.startswith("#")
        }
        assert not anchor or anchor in headings, recipe.name


def test_the_page_has_the_section_that_shows_each_answer() -> None:
    table, _ = build_tables(sample("waiting-app-ios27"))
    rows = {question: place for (question, _), _, (place, _) in table.rows}
    assert rows["Which engine served each call?"] == "Calls"
    assert rows["Did a model leave its engine, and when?"] == "Findings"
    assert rows["Who else used the Neural Engine?"] == "Timeline"


def test_the_list_has_each_recipe_once() -> None:
    entries = list_recipes(Query(sample("waiting-app-ios27")))
    assert [entry.recipe.name for entry in entries] == [recipe.name for recipe in RECIPES]
    answered, refused = build_list(entries)
    assert len(answered.blocks[0].items) + len(refused.blocks[0].items) == len(RECIPES)  # type: ignore[union-attr]


def test_an_unknown_recipe_is_answered_with_its_neighbours() -> None:
    with pytest.raises(UsageError, match=r"'slow-cal'\. Similar names: slow-call"):
        find_recipe("slow-cal")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_each_command_of_the_skill_exists(recipe: Recipe) -> None:
    _, name, *words = shlex.split(write_command(recipe))
    command = main.get_command(click.Context(main), name)
    assert command is not None
    options = [word for word in words if word.startswith("--")]
    assert all(any(option in param.opts for param in command.params) for option in options)


def test_core_ml_calls_of_the_cpu_have_no_row_of_the_engine() -> None:
    analysis = analysis_of(prediction(0, 10), core_ml(1, 9, Engine.CPU))
    shortfall = find_shortfall(find_recipe("engine-users"), Query(analysis))
    assert shortfall is not None
    assert shortfall.reason == "it has no table of the Neural Engine"
