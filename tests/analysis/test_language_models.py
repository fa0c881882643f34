"""Requests to language models: spans of signposts in, requests, tokens, phases and growth out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from evidence_support import OTHER_APP, Signpost, ane, core_ai, gpu
from generation_support import analysis_of, decode, extend, generate, generations_of, prompt, span
from sample_recordings import sample_analysis
from scipy import stats
from trace_support import MS

from tracekit.analysis.generation.growth import FEWEST_TOKENS, fit_growth
from tracekit.analysis.generation.span_rules import SpanRole, read_span_rules
from tracekit.errors import InputError, TracekitError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
WITH_REQUESTS = ["language-model-macos27", "language-model-leaves-engine-macos27"]


@pytest.mark.integration
@pytest.mark.parametrize("recording", WITH_REQUESTS)
def test_samples_hold_their_truth_to_the_token(recording: str) -> None:
    truth = json.loads((SAMPLES / recording / "truth.json").read_text())["requests"]
    analysis = sample_analysis(recording)
    requests, tokens = analysis.to_frame("requests"), analysis.to_frame("tokens")
    assert requests[["model", "start_ns", "prompt_tokens"]].to_dict("records") == [
        {name: request[name] for name in ("model", "start_ns", "prompt_tokens")} for request in truth
    ]
    assert [
        group[["time_ns", "context", "engines"]].values.tolist() for _, group in tokens.groupby("request")
    ] == [request["tokens"] for request in truth]
    times = [[time_ns for time_ns, *_ in request["tokens"]] for request in truth]
    assert requests["tokens"].tolist() == [len(of_request) for of_request in times]
    assert requests["first_token_ns"].tolist() == [
        of_request[0] - request["start_ns"] for of_request, request in zip(times, truth, strict=True)
    ]
    assert requests["tokens_per_second"].tolist() == pytest.approx(
        [(len(of_request) - 1) * 1e9 / (of_request[-1] - of_request[0]) for of_request in times]
    )


def test_the_package_marks_one_span_more_than_tokens() -> None:
    generations = generations_of(generate(10, prompt_tokens=100, tokens=4))
    assert generations.token_counts.tolist() == [4]
    assert generations.first_token_ns.tolist() == [50 * MS]
    assert generations.decode_ns.tolist() == [30 * MS]
    assert generations.rates.tolist() == pytest.approx([100.0])
    assert generations.prefill_rates.tolist() == pytest.approx([2000.0])
    assert generations.tokens.context.tolist() == [100, 101, 102, 103]


def test_without_texts_each_span_that_ended_is_a_token() -> None:
    posts = [prompt(0, 50, 100), extend(50, 60, 1, 101), extend(60, 75, 2, 102)]
    generations = generations_of(posts)
    assert generations.token_counts.tolist() == [3]
    assert (generations.tokens.length_ns // MS).tolist() == [50, 10, 15]


def test_constrained_decoding_has_one_span_for_all_tokens() -> None:
    # Its texts begin with step 1, the first of them inside the prompt.
    posts = [
        prompt(0, 50, 100),
        decode(49, 1),
        extend(50, 90, 0, 1),
        decode(60, 2),
        decode(70, 3),
        decode(80, 4),
    ]
    generations = generations_of(posts)
    assert generations.token_counts.tolist() == [4]
    assert generations.first_token_ns.tolist() == [49 * MS]
    assert generations.decode_ns.tolist() == [31 * MS]


def test_requests_one_after_another() -> None:
    generations = generations_of([*generate(0, 100, 3), *generate(200, 100, 5)])
    assert generations.token_counts.tolist() == [3, 5]
    assert not generations.requests.overlaps.any()


def test_context_separates_the_tokens_of_requests_at_once() -> None:
    posts = [*generate(0, 100, 8), *generate(20, 300, 4)]
    generations = generations_of(posts)
    assert generations.token_counts.tolist() == [8, 4]
    assert generations.requests.overlaps.tolist() == [True, True]
    assert not generations.requests.is_mixed.any()
    assert (generations.tokens.time_ns[generations.tokens.request == 1] // MS).tolist() == [70, 80, 90, 100]


def test_requests_at_once_with_prompts_of_one_length_are_left_out() -> None:
    generations = generations_of([*generate(0, 100, 8), *generate(20, 100, 4), *generate(900, 70, 4)])
    assert generations.requests.is_mixed.tolist() == [True, True, False]
    assert generations.token_counts.tolist() == [-1, -1, 4]
    assert np.isnan(generations.rates[:2]).all()
    assert generations.first_token_ns.tolist()[:2] == [-1, -1]


def test_requests_of_two_processes_at_once_are_apart() -> None:
    generations = generations_of([*generate(0, 100, 8), *generate(5, 100, 4, pid=OTHER_APP)])
    assert generations.token_counts.tolist() == [8, 4]
    assert not generations.requests.overlaps.any()


def test_spans_that_never_end() -> None:
    posts = [
        prompt(0, 50, 100),
        extend(50, 60, 1, 101),
        span("Extend", 60, 60, "step=2, tokens=102", kind="begin"),
        span("Prompt", 200, 200, "tokens=70", kind="begin"),
    ]
    generations = generations_of(posts)
    assert generations.token_counts.tolist() == [2, 0]
    assert generations.requests.is_cut.tolist() == [True, True]
    assert generations.first_token_ns.tolist() == [50 * MS, -1]


def test_tokens_before_the_first_prefill_are_of_no_request() -> None:
    generations = generations_of([extend(1, 5, 7, 107), extend(6, 9, 8, 108), *generate(20, 50, 2)])
    assert generations.requests.orphans == 2
    assert generations.token_counts.tolist() == [2]


@pytest.mark.parametrize("number", ["99999999999999999999", "-5", "1e9", "twelve", "", "0x10", "7.5"])
def test_numbers_that_are_none_are_unknown(number: str) -> None:
    generations = generations_of([span("Prompt", 0, 50, f"tokens={number}"), extend(50, 60, 1, 101)])
    assert generations.requests.prompt_tokens.tolist() == [-1]
    assert generations.tokens.context.tolist() == [-1, -1]
    assert generations.token_counts.tolist() == [2]


def test_a_key_is_no_part_of_another() -> None:
    posts = [span("Prompt", 0, 50, "max_tokens=512, tokens=9"), span("ModelLoad", 0, 1, "model=Chat-4B, x=1")]
    generations = generations_of(posts)
    assert generations.requests.prompt_tokens.tolist() == [9]
    assert generations.models.tolist() == ["Chat-4B"]


def test_the_model_is_unknown_where_a_process_loaded_two() -> None:
    loads = [span("ModelLoad", 0, 1, f"model={name}") for name in ("A", "B")]
    assert generations_of([*loads, *generate(5, 9, 2)]).models.tolist() == [""]


def test_the_model_is_the_only_one_that_the_process_calls_in_the_time_of_the_request() -> None:
    requests = [*generate(10, 9, 2), *generate(200, 9, 2), *generate(400, 9, 2), *generate(405, 8, 2, pid=8)]
    calls = [
        core_ai(20, 40, model="Chat"),
        core_ai(50, 80, model="Draft"),  # ends behind the request
        core_ai(210, 220, model="Chat"),
        core_ai(230, 240, model="Draft"),
        core_ai(390, 405, model="Chat"),  # begins before it
        core_ai(410, 420, model="Draft", pid=8),
    ]
    assert generations_of(requests, calls).models.tolist() == ["Chat", "", "", "Draft"]


def test_engines_are_those_of_the_calls_of_each_token() -> None:
    # Prefill on the Neural Engine, then two tokens there and two on the GPU; a detector runs beside them once.
    calls = [(1, 48), (51, 59), (61, 69), (71, 79), (81, 89)]
    rows = [core_ai(start, end, model="Chat") for start, end in calls]
    rows += [ane(start + 1, end - 1, "Chat") for start, end in calls[:3]]
    rows += [gpu(start + 1, end - 1) for start, end in calls[3:]]
    rows += [core_ai(52, 54, model="Detector"), ane(52.2, 53.8, "Detector")]
    analysis = analysis_of(generate(0, 100, 5), rows)
    assert analysis.to_frame("tokens")["engines"].tolist() == ["ANE", "ANE", "ANE", "GPU", "GPU"]


def test_no_call_shows_the_engine_of_requests_at_once() -> None:
    rows = [core_ai(51, 59, model="Chat"), ane(52, 58, "Chat")]
    tokens = analysis_of([*generate(0, 100, 3), *generate(20, 300, 3)], rows).to_frame("tokens")
    assert tokens["engines"].isna().all()


def test_phases_have_budgets_that_sum_to_their_lengths() -> None:
    calls = [(1, 48), (51, 59), (61, 69)]
    rows = [core_ai(start, end, model="Chat") for start, end in calls]
    rows += [ane(2, 42, "Chat"), ane(52, 58, "Chat"), ane(62, 68, "Chat")]
    posts = [*generate(0, 100, 3), span("Sample", 59, 60), span("Sample", 69, 69.5), span("Sample", 52, 53)]
    frame = analysis_of(posts, rows).to_frame("requests")
    row = frame.iloc[0]
    assert (row["prefill_ANE_ns"], row["decode_ANE_ns"]) == (40 * MS, 12 * MS)
    assert (row["prefill_gap_ns"], row["decode_gap_ns"]) == (3 * MS, 4 * MS)
    # What lies in a call is part of the call.
    assert row["decode_sampling_ns"] == 1.5 * MS
    inner = ("gap", "sampling", "cache")
    for phase in ("prefill", "decode"):
        parts = [
            name
            for name in frame
            if name.startswith(f"{phase}_") and name.endswith("_ns") and name.split("_")[1] not in inner
        ]
        assert row[[name for name in parts if name != f"{phase}_ns"]].sum() == row[f"{phase}_ns"]


def test_a_recording_without_such_signposts_has_none() -> None:
    analysis = analysis_of([Signpost(0, 10, "org.example.App/x/Prompt", message="tokens=7")])
    assert analysis.generations is None
    assert analysis.to_frame("requests").empty
    assert analysis.to_frame("tokens").empty


@pytest.mark.integration
def test_recordings_without_such_signposts_import_nothing_for_them() -> None:
    code = (
        "import sys; from tracekit.cli import main\n"
        "try: main(['analyze', sys.argv[1]])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if 'analysis.generation' in name or 'requests_section' in name])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, SAMPLES / "ane-e5rt-macos26"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines()[-1] == "[]"


# Spans of an app -------------------------------------------------------------------------------------------


LLAMA = """
[[span]]
role = "prefill"
signpost = "org.example.Chat/llama/prompt"
tokens = "n_tokens"
yields = 0

[[span]]
role = "token"
signpost = "org.example.Chat/llama/token*"
tokens = "accepted"
"""


def of_app(name: str, start: float, end: float, message: str = "") -> Signpost:
    return Signpost(start, end, f"org.example.Chat/llama/{name}", message=message)


def test_spans_of_an_app(tmp_path: Path) -> None:
    path = tmp_path / "spans.toml"
    path.write_text(LLAMA)
    # Speculative decoding: several tokens at a time.
    posts = [
        of_app("prompt", 0, 40, "n_tokens=64"),
        of_app("token", 40, 50, "accepted=1"),
        of_app("token-verified", 50, 70, "accepted=4"),
        of_app("token", 70, 90, "accepted=3"),
        of_app("token", 90, 95, "accepted=0"),
    ]
    generations = generations_of(posts, request_spans=path)
    assert generations.token_counts.tolist() == [8]
    assert generations.first_token_ns.tolist() == [50 * MS]
    assert generations.rates.tolist() == pytest.approx([7 / 0.040])
    assert generations.tokens.number.tolist() == [1, 5, 8]
    assert generations.tokens.context.tolist() == [64, 65, 69]


def test_spans_of_an_app_at_once_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "spans.toml"
    path.write_text(LLAMA)
    posts = [
        of_app("prompt", 0, 40),
        of_app("token", 40, 50),
        of_app("prompt", 45, 60),
        of_app("token", 60, 70),
    ]
    assert generations_of(posts, request_spans=path).requests.is_mixed.tolist() == [True, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "needs a list of [[span]] tables"),
        ("x = 1", "needs a list of [[span]] tables"),
        ("span = 1", "needs a list of [[span]] tables"),
        ("span = [1]", "span 1 is not a table"),
        ("[[span]]\nrole = 'decode'", "span 1 needs a role: prefill, token, text"),
        ("[[span]]\nrole = 'token'", "span 1 needs a signpost"),
        ("[[span]]\nrole = 'token'\nsignpost = 'x/y'", "span 1 needs a signpost"),
        ("[[span]]\nrole = 'token'\nsignpost = 'a/b/c'\nstep = 'a b'", "'step' is the name of a key"),
        ("[[span]]\nrole = 'token'\nsignpost = 'a/b/c'\nyields = 2", "'yields' is 1"),
        ("[[span]]\nrole = 'token'\nsignpost = 'a/b/c'\ncolour = 'x'", "unknown key 'colour'"),
        ("[[span]", "is not valid TOML"),
        ("[[span]]\nrole = []", "span 1 needs a role"),
    ],
)
def test_mistakes_in_a_file_of_spans(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "spans.toml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_span_rules(path)
    assert problem in str(raised.value)
    assert "spans.toml" in str(raised.value)


def test_a_file_of_spans_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.toml"):
        with pytest.raises(TracekitError, match="--request-spans"):
            read_span_rules(path)


def test_a_file_of_spans(tmp_path: Path) -> None:
    path = tmp_path / "spans.toml"
    path.write_text(LLAMA)
    assert [rule.role for rule in read_span_rules(path)] == [SpanRole.PREFILL, SpanRole.TOKEN]


# Growth ----------------------------------------------------------------------------------------------------


def test_growth_is_the_slope_of_least_squares() -> None:
    context = np.arange(100, 400)
    length_ns = 5_000_000 + 2_000 * context + np.random.default_rng(1).integers(-50_000, 50_000, 300)
    growth = fit_growth(context, length_ns)
    assert growth is not None
    assert growth.slope_ns == pytest.approx(1000 * stats.linregress(context, length_ns).slope)
    assert growth.low_ns < 2_000_000 < growth.high_ns
    assert growth.is_clear
    assert (growth.tokens, growth.least_context, growth.most_context) == (300, 100, 399)


def test_few_tokens_show_no_growth() -> None:
    context = np.arange(FEWEST_TOKENS - 1)
    assert fit_growth(context, 1000 * context) is None


@pytest.mark.integration
@pytest.mark.parametrize("resemblance", [0.0, 0.6])
def test_intervals_of_growth_cover_the_truth(resemblance: float) -> None:
    # Slow tokens come in spells: an interval that took them for independent would miss far more often.
    random, covered, trials = np.random.default_rng(7), 0, 300
    context = np.arange(1000, 1200)
    for _ in range(trials):
        noise = np.zeros(200)
        steps = random.normal(0, 100_000, 200)
        for row in range(1, 200):
            noise[row] = resemblance * noise[row - 1] + steps[row]
        growth = fit_growth(context, (9_000_000 + 1_500 * context + noise).astype(np.int64))
        assert growth is not None
        covered += growth.low_ns <= 1_500_000 <= growth.high_ns
    assert covered / trials >= 0.90
