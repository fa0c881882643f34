"""Questions about segments and energy of calls."""

from __future__ import annotations

from tracekit.fleet.questions.question import (
    BUILD,
    IN_PLACE,
    MODEL,
    OF,
    OF_MODEL,
    PLACE,
    SYSTEM,
    WHERE,
    declare_question,
)

SEGMENTS = declare_question(
    "segments",
    "Segments per call: how often a call changes its engine",
    f"""
    WITH by_recording AS (
        SELECT recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
            {MODEL} AS model, count(*) AS segments, count(*) FILTER (segment = 1) AS calls,
            max(segment) AS most, count(*) FILTER (segment = 2) AS divided
        FROM segments WHERE {OF_MODEL} GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, sum(segments) / sum(calls) AS segments_per_call,
        max(most) AS most_segments, sum(divided) / sum(calls) AS divided_share, sum(calls)::BIGINT AS calls,
        count(*) AS recordings
    FROM by_recording LEFT JOIN build_places USING (app, build)
    GROUP BY model, app, device, device_model, system, build, place HAVING sum(calls) > 0
    ORDER BY model, device, system, place NULLS FIRST, build""",
    {
        **OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        "segments_per_call": ("The mean number of segments of a call.", ""),
        "most_segments": ("The most that a call has.", ""),
        "divided_share": ("Calls with more than one segment.", "share"),
        "calls": ("Calls of which segments are known; the others are not counted.", ""),
        "recordings": ("Recordings with such calls.", ""),
    },
    {"segments": ("segment",)},
)

ENERGY = declare_question(
    "energy",
    "Energy of a call, by chip",
    f"""
    SELECT app, coalesce(chip, '') AS chip, rail, coalesce(model, '') AS model, coalesce(build, '') AS build,
        sum(energy_per_call_nj * calls) / sum(calls) FILTER (energy_per_call_nj IS NOT NULL) / 1e6
            AS energy_per_call_mj,
        min(energy_per_call_nj) / 1e6 AS least_mj, max(energy_per_call_nj) / 1e6 AS most_mj,
        sum(calls) FILTER (energy_per_call_nj IS NOT NULL) AS calls,
        count(DISTINCT recording) FILTER (energy_per_call_nj IS NOT NULL) AS recordings,
        count(DISTINCT recording) FILTER (energy_per_call_nj IS NULL) AS unknown_recordings,
        coalesce(string_agg(DISTINCT reason, ', ' ORDER BY reason) FILTER (energy_per_call_nj IS NULL), '')
            AS reasons
    FROM (SELECT * REPLACE (coalesce(app, '') AS app) FROM energy)
        LEFT JOIN build_places USING (app, build)
    WHERE {IN_PLACE} AND ($model = '' OR model = $model)
    GROUP BY 1, 2, 3, 4, 5, place
    ORDER BY chip, rail, model, place NULLS FIRST, build""",
    {
        "app": WHERE["app"],
        "chip": ("The chip.", ""),
        "rail": ("The power rail.", ""),
        **OF,
        **BUILD,
        "energy_per_call_mj": ("The mean energy of a call, over all calls of which it is known.", "mJ"),
        "least_mj": ("The recording with the least.", "mJ"),
        "most_mj": ("The recording with the most.", "mJ"),
        "calls": ("The calls over which it was measured.", ""),
        "recordings": ("Recordings that measured it.", ""),
        "unknown_recordings": ("Recordings in which it is not known.", ""),
        "reasons": ("Why it is not known there.", ""),
    },
    {"energy": ("energy_per_call_nj",)},
)

QUESTIONS = (SEGMENTS, ENERGY)
