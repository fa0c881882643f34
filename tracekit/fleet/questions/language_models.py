"""Questions about requests to language models: their speed, and the engines of their phases."""

from __future__ import annotations

from tracekit.fleet.questions.question import (
    BUILD,
    IN_PLACE,
    MOST_DEGREES,
    PLACE,
    STUDENT,
    SYSTEM,
    WHERE,
    declare_question,
)

_OF_MODEL = f"{IN_PLACE} AND ($model = '' OR model = $model)"
_OF_RECORDING = f"""
    recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
    coalesce(model, '') AS model"""
_OF = {"model": ("The language model; empty where requests may be to several.", "")}

REQUEST_SPEED = declare_question(
    "request-speed",
    "Language models: time to first token and tokens per second, with intervals",
    f"""
    WITH student(degrees, t) AS (VALUES {STUDENT}),
    of_model AS (
        SELECT *, coalesce(decode_tokens > 0 AND decode_ns > 0, false) AS has_decode
        FROM requests WHERE {_OF_MODEL}),
    runs AS (
        SELECT {_OF_RECORDING}, count(*) AS requests,
            count(*) FILTER (first_token_ns > 0) AS with_first_token,
            count(*) FILTER (has_decode) AS with_decode,
            ln(quantile_disc(first_token_ns, 0.5) FILTER (first_token_ns > 0)) AS first_token,
            ln(1e9 * sum(decode_tokens) FILTER (has_decode) / sum(decode_ns) FILTER (has_decode)) AS rate
        FROM of_model GROUP BY ALL),
    summed AS (
        SELECT model, app, device, device_model, system, build, count(*) AS recordings,
            sum(requests)::BIGINT AS requests,
            sum(requests - with_first_token)::BIGINT AS requests_without_first_token,
            sum(requests - with_decode)::BIGINT AS requests_without_decode,
            count(first_token) AS first_token_runs, avg(first_token) AS first_token_mean,
            stddev_samp(first_token) AS first_token_spread,
            count(rate) AS rate_runs, avg(rate) AS rate_mean, stddev_samp(rate) AS rate_spread
        FROM runs GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, recordings, requests,
        exp(first_token_mean) / 1e6 AS first_token_ms,
        exp(first_token_mean - f.t * first_token_spread / sqrt(first_token_runs)) / 1e6 AS first_token_low_ms,
        exp(first_token_mean + f.t * first_token_spread / sqrt(first_token_runs)) / 1e6
            AS first_token_high_ms,
        requests_without_first_token,
        exp(rate_mean) AS tokens_per_second,
        exp(rate_mean - r.t * rate_spread / sqrt(rate_runs)) AS tokens_per_second_low,
        exp(rate_mean + r.t * rate_spread / sqrt(rate_runs)) AS tokens_per_second_high,
        requests_without_decode
    FROM summed LEFT JOIN student f ON f.degrees = least(first_token_runs - 1, {MOST_DEGREES})
        LEFT JOIN student r ON r.degrees = least(rate_runs - 1, {MOST_DEGREES})
        LEFT JOIN build_places USING (app, build)
    ORDER BY model, device, system, place NULLS FIRST, build""",
    {
        **_OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        "recordings": ("Recordings with requests to the model.", ""),
        "requests": ("All of their requests.", ""),
        "first_token_ms": ("The geometric mean over recordings of their median time to first token.", "ms"),
        "first_token_low_ms": (
            "Lower end of its 95 % interval (Student's t of logarithms); empty for one recording.",
            "ms",
        ),
        "first_token_high_ms": ("Upper end of the interval.", "ms"),
        "requests_without_first_token": ("Requests whose first token is not seen, or may be another's.", ""),
        "tokens_per_second": (
            "The geometric mean over recordings of their tokens after the first of each request, by the sum"
            " of the times from first to last token.",
            "tokens/s",
        ),
        "tokens_per_second_low": ("Lower end of its 95 % interval; empty for one recording.", "tokens/s"),
        "tokens_per_second_high": ("Upper end of the interval.", "tokens/s"),
        "requests_without_decode": (
            "Requests without a second token, or whose tokens may be another's: not in the rate.",
            "",
        ),
    },
    {"requests": ("first_token_ns",)},
)


def _select_phase(phase: str, length: str) -> str:
    return f"""
        SELECT {_OF_RECORDING}, '{phase}' AS phase, {length} AS length_ns,
            CASE $engine WHEN 'ANE' THEN {phase}_ane_ns WHEN 'GPU' THEN {phase}_gpu_ns
                ELSE {phase}_cpu_ns END AS busy_ns
        FROM requests WHERE {_OF_MODEL} AND {length} > 0"""


PHASE_ENGINES = declare_question(
    "phase-engines",
    "Language models: share of prefill and of decode in which an engine worked",
    f"""
    WITH phases AS ({_select_phase("prefill", "first_token_ns")}
        UNION ALL BY NAME {_select_phase("decode", "decode_ns")}),
    runs AS (
        SELECT recording, app, device, device_model, system, build, model, phase,
            count(busy_ns) AS measured, count(*) AS requests,
            sum(busy_ns) AS busy_ns, sum(length_ns) FILTER (busy_ns IS NOT NULL) AS length_ns
        FROM phases GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, phase,
        sum(busy_ns) / sum(length_ns) AS share,
        (min(busy_ns / length_ns))::DOUBLE AS least_share, (max(busy_ns / length_ns))::DOUBLE AS most_share,
        sum(measured)::BIGINT AS measured_requests, sum(requests - measured)::BIGINT AS unmeasured_requests,
        count(*) FILTER (measured > 0) AS measured_recordings,
        count(*) FILTER (measured = 0) AS unmeasured_recordings
    FROM runs LEFT JOIN build_places USING (app, build)
    GROUP BY model, app, device, device_model, system, build, place, phase
    ORDER BY model, device, system, place NULLS FIRST, build, phase DESC""",
    {
        **_OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        "phase": ("prefill, up to the first token, or decode, from the first token to the last.", ""),
        "share": ("Its time in which the engine worked for the process, of all measured requests.", "share"),
        "least_share": ("The recording with the least.", "share"),
        "most_share": ("The recording with the most.", "share"),
        "measured_requests": ("Requests whose phase is known, and the engine's work in it.", ""),
        "unmeasured_requests": (
            "Requests whose phase is known, and the engine's work is not: nothing measured it, or others of"
            " the process share their time.",
            "",
        ),
        "measured_recordings": ("Recordings with at least one such measured request.", ""),
        "unmeasured_recordings": ("Recordings with requests, and none of them measured.", ""),
    },
    {"requests": ("first_token_ns",)},
    {"engine": ("ANE", "The engine: ANE, GPU or CPU.")},
)

QUESTIONS = (REQUEST_SPEED, PHASE_ENGINES)
