"""Questions about engines: which share of calls an engine served, and since when."""

from __future__ import annotations

from tracekit.fleet.questions.question import (
    BUILD,
    MODEL,
    OF,
    OF_MODEL,
    PLACE,
    SYSTEM,
    WHERE,
    declare_question,
)

_PER_RECORDING = f"""
    SELECT recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
        {MODEL} AS model, engine, sum(calls) AS calls, sum(served) AS served,
        sum(served) + sum(not_served) AS measured
    FROM engines WHERE {OF_MODEL} GROUP BY ALL"""

ENGINE_SHARE = declare_question(
    "engine-share",
    "Share of calls on an engine, of those that could be measured",
    f"""
    WITH runs AS ({_PER_RECORDING})
    SELECT app, device, device_model, system, build, model,
        sum(served) / nullif(sum(measured), 0) AS share,
        (sum(served) / sum(calls))::DOUBLE AS least_share,
        (sum(served) + sum(calls) - sum(measured)) / sum(calls) AS most_share,
        sum(served)::BIGINT AS served_calls, sum(measured)::BIGINT AS measured_calls,
        (sum(calls) - sum(measured))::BIGINT AS unmeasured_calls,
        count(*) FILTER (measured > 0) AS measured_recordings,
        count(*) FILTER (measured = 0) AS unmeasured_recordings
    FROM runs LEFT JOIN build_places USING (app, build)
    WHERE engine = $engine AND calls > 0
    GROUP BY app, device, device_model, system, build, place, model
    ORDER BY model, device, system, place NULLS FIRST, build""",
    {
        **WHERE,
        **SYSTEM,
        **BUILD,
        **OF,
        "share": ("Calls that the engine served, of those that could be measured.", "share"),
        "least_share": ("The same of all calls, if it served none of the others.", "share"),
        "most_share": ("The same of all calls, if it served all of the others.", "share"),
        "served_calls": ("Calls that the engine certainly served.", ""),
        "measured_calls": ("Calls of which it is known.", ""),
        "unmeasured_calls": ("Calls of which it is not known.", ""),
        "measured_recordings": ("Recordings with at least one call of which it is known.", ""),
        "unmeasured_recordings": ("Recordings with calls, and none of which it is known.", ""),
    },
    {"engines": ("engine", "served")},
    {"engine": ("ANE", "The engine: ANE, GPU or CPU.")},
)

LEFT_ENGINE = declare_question(
    "left-engine",
    "First build where a model left an engine",
    f"""
    WITH runs AS ({_PER_RECORDING}),
    builds AS (
        SELECT app, device, device_model, model, engine, build, place,
            string_agg(DISTINCT system, ', ' ORDER BY system) AS systems,
            sum(served) / sum(calls) AS least, 1 - (sum(measured) - sum(served)) / sum(calls) AS most
        FROM runs JOIN build_places USING (app, build) WHERE calls > 0
        GROUP BY app, device, device_model, model, engine, build, place),
    decided AS (
        SELECT *, least >= $used AS is_on,
            row_number() OVER (PARTITION BY app, device, device_model, model, engine ORDER BY place) AS number
        FROM builds WHERE least >= $used OR most < $used),
    departures AS (
        SELECT *, lag(is_on) OVER series AS was_on, lag(build) OVER series AS build_before,
            lag(least) OVER series AS least_before, lag(place) OVER series AS place_before,
            lag(systems) OVER series AS systems_before
        FROM decided
        WINDOW series AS (PARTITION BY app, device, device_model, model, engine ORDER BY place))
    SELECT d.model, d.app, d.device, d.device_model, d.engine, d.build_before AS last_build_on,
        d.build AS first_build_off, d.least_before AS least_share_before, d.most AS most_share_after,
        (SELECT count(*) FROM builds b WHERE b.app = d.app AND b.model = d.model AND b.device = d.device
            AND b.device_model = d.device_model AND b.engine = d.engine
            AND b.place > d.place_before AND b.place < d.place) AS undecided_builds_between,
        d.systems_before, d.systems,
        (SELECT min_by(b.build, b.place) FROM decided b
            WHERE b.app = d.app AND b.model = d.model AND b.device = d.device
            AND b.device_model = d.device_model AND b.engine = d.engine
            AND b.place > d.place AND b.is_on) AS back_in_build
    FROM departures d WHERE d.was_on AND NOT d.is_on
    QUALIFY row_number() OVER (
        PARTITION BY d.model, d.app, d.device, d.device_model, d.engine ORDER BY d.place) = 1
    ORDER BY d.place, d.model, d.device, d.engine""",
    {
        **OF,
        **WHERE,
        "engine": ("The engine that the model left.", ""),
        "last_build_on": ("The last build before, of those that are decided.", ""),
        "first_build_off": ("The first build in which fewer calls than the limit can have been served.", ""),
        "least_share_before": ("Calls that it certainly served in the build before.", "share"),
        "most_share_after": ("Calls that it may have served at most in the first build off.", "share"),
        "undecided_builds_between": ("Builds between both that could be on either side of the limit.", ""),
        "systems_before": ("The systems on which the last build on was recorded.", ""),
        "systems": ("The systems on which the first build off was recorded.", ""),
        "back_in_build": ("The first later build in which the engine is used again; empty if none is.", ""),
    },
    {"engines": ("engine", "served", "build")},
    {"used": (0.5, "The limit: an engine is used if it served at least this share of the calls.")},
    (
        "Calls of which the engine is not known count against every conclusion: a build that they could put"
        " on either side of the limit is not decided.",
    ),
)

QUESTIONS = (ENGINE_SHARE, LEFT_ENGINE)
