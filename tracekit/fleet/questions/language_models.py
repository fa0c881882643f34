"""Questions about requests to language models: their speed, and the engines of their phases.

Requests that signposts mark and those that Foundation Models reports as a whole are never in one number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
from tracekit.frozen import frozen
from tracekit.model.schemas import MODEL_INFERENCE, SIGNPOST_EVENTS

_OF_MODEL = f"{IN_PLACE} AND ($model = '' OR model = $model)"
_OF_RECORDING = f"""
    recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
    coalesce(model, '') AS model"""
_OF = {"model": ("The language model; empty where requests may be to several.", "")}

_INTERVAL = {
    "low": "Lower end of its 95 % interval (Student's t of logarithms); empty for one recording.",
    "high": "Upper end of the interval.",
}


@frozen
class _Speeds:
    """The numbers of a question about requests of a source: a time of each, and tokens by a time.

    ``counts`` are conditions of requests to count. A condition that is null is false.
    """

    source: str
    time: str
    time_ns: str
    has_time: str
    rate: str
    tokens: str
    tokens_ns: str
    has_rate: str
    counts: Mapping[str, str]

    @property
    def sql(self) -> str:
        """The SELECT of the question."""
        counts = list(self.counts)
        return f"""
    WITH student(degrees, t) AS (VALUES {STUDENT}),
    of_source AS (SELECT * FROM requests WHERE {_OF_MODEL} AND source = '{self.source}'),
    runs AS (
        SELECT {_OF_RECORDING}, count(*) AS requests,
            {_join(f"count(*) FILTER ({self.counts[name]}) AS {name}" for name in counts)},
            ln(quantile_disc({self.time_ns}, 0.5) FILTER ({self.has_time})) AS time,
            ln(1e9 * nullif(sum({self.tokens}) FILTER ({self.has_rate}), 0)
                / sum({self.tokens_ns}) FILTER ({self.has_rate})) AS rate
        FROM of_source GROUP BY ALL),
    summed AS (
        SELECT model, app, device, device_model, system, build, count(*) AS recordings,
            sum(requests)::BIGINT AS requests, {_join(f"sum({name})::BIGINT AS {name}" for name in counts)},
            count(time) AS time_runs, avg(time) AS time_mean,
            stddev_samp(time) / sqrt(time_runs) AS time_error,
            count(rate) AS rate_runs, avg(rate) AS rate_mean,
            stddev_samp(rate) / sqrt(rate_runs) AS rate_error
        FROM runs GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, recordings, requests, {_join(counts)},
        exp(time_mean) / 1e6 AS {self.time}_ms,
        exp(time_mean - f.t * time_error) / 1e6 AS {self.time}_low_ms,
        exp(time_mean + f.t * time_error) / 1e6 AS {self.time}_high_ms,
        exp(rate_mean) AS {self.rate},
        exp(rate_mean - r.t * rate_error) AS {self.rate}_low,
        exp(rate_mean + r.t * rate_error) AS {self.rate}_high
    FROM summed LEFT JOIN student f ON f.degrees = least(time_runs - 1, {MOST_DEGREES})
        LEFT JOIN student r ON r.degrees = least(rate_runs - 1, {MOST_DEGREES})
        LEFT JOIN build_places USING (app, build)
    ORDER BY model, device, system, place NULLS FIRST, build"""

    def describe_columns(self, counts: Mapping[str, str], time: str, rate: str) -> dict[str, tuple[str, str]]:
        """Return the meaning and the unit of each column."""
        return {
            **_OF,
            **WHERE,
            **SYSTEM,
            **BUILD,
            "recordings": ("Recordings with requests to the model.", ""),
            "requests": ("All of their requests.", ""),
            **{name: (meaning, "") for name, meaning in counts.items()},
            f"{self.time}_ms": (time, "ms"),
            **{f"{self.time}_{end}_ms": (meaning, "ms") for end, meaning in _INTERVAL.items()},
            self.rate: (rate, "tokens/s"),
            **{f"{self.rate}_{end}": (meaning, "tokens/s") for end, meaning in _INTERVAL.items()},
        }


def _join(texts: Iterable[str]) -> str:
    return ", ".join(texts)


_HAS_DECODE = "coalesce(decode_tokens > 0 AND decode_ns > 0, false)"
_MARKED = _Speeds(
    source=SIGNPOST_EVENTS,
    time="first_token",
    time_ns="first_token_ns",
    has_time="first_token_ns > 0",
    rate="tokens_per_second",
    tokens="decode_tokens",
    tokens_ns="decode_ns",
    has_rate=_HAS_DECODE,
    counts={
        "requests_without_first_token": "NOT coalesce(first_token_ns > 0, false)",
        "requests_without_decode": f"NOT {_HAS_DECODE}",
    },
)
REQUEST_SPEED = declare_question(
    "request-speed",
    "Language models: time to first token and tokens per second, with intervals",
    _MARKED.sql,
    _MARKED.describe_columns(
        {
            "requests_without_first_token": "Requests whose first token is not seen, or may be another's.",
            "requests_without_decode": "Requests without a second token, or whose tokens may be another's:"
            " not in the rate.",
        },
        "The geometric mean over recordings of their median time to first token.",
        "The geometric mean over recordings of their tokens after the first of each request, by the sum of"
        " the times from first to last token.",
    ),
    {"requests": ("first_token_ns",)},
)
_IS_COMPLETE = "length_ns IS NOT NULL AND NOT coalesce(errors > 0, false)"
_REPORTED = _Speeds(
    source=MODEL_INFERENCE,
    time="length",
    time_ns="length_ns",
    has_time=f"{_IS_COMPLETE} AND length_ns > 0",
    rate="response_tokens_per_second",
    tokens="tokens",
    tokens_ns="length_ns",
    has_rate=f"{_IS_COMPLETE} AND length_ns > 0 AND tokens IS NOT NULL",
    counts={
        "failed_requests": "errors > 0",
        "requests_without_end": "length_ns IS NULL AND NOT coalesce(errors > 0, false)",
    },
)
REPORTED_SPEED = declare_question(
    "reported-request-speed",
    "Foundation Models: length of requests and tokens of the response per second, with intervals",
    _REPORTED.sql,
    _REPORTED.describe_columns(
        {
            "failed_requests": "Requests with errors, as reported: in no length and in no rate.",
            "requests_without_end": "Further requests whose end was not recorded: likewise.",
        },
        "The geometric mean over recordings of the median length of their other requests.",
        "The geometric mean over recordings of the tokens of all responses, as reported, by the lengths of"
        " the whole requests, with the time before the first token.",
    ),
    {"requests": ("length_ns",)},
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

QUESTIONS = (REQUEST_SPEED, PHASE_ENGINES, REPORTED_SPEED)
