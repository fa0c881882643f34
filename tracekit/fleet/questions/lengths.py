"""Questions about lengths of calls: cold and warm, the part that grew, outliers, loads after an update."""

from __future__ import annotations

from tracekit.fleet.questions.question import (
    BUILD,
    MODEL,
    MOST_DEGREES,
    OF,
    OF_MODEL,
    PLACE,
    STUDENT,
    SYSTEM,
    WHERE,
    declare_question,
)

_SOURCE = {"source": ("What showed the calls: lengths of other sources cannot be compared.", "")}

LATENCY = declare_question(
    "latency",
    "Latency of calls, cold and warm, with intervals",
    f"""
    WITH student(degrees, t) AS (VALUES {STUDENT}),
    of_model AS (
        SELECT *, {MODEL} AS name, coalesce(source, '') AS shown_by FROM models WHERE {OF_MODEL}),
    runs AS (
        SELECT 'warm' AS state, recording, {PLACE}, coalesce(system, '') AS system,
            coalesce(build, '') AS build, name, shown_by, sum(calls) AS calls,
            avg(ln(p50_ns)) AS log_length, max(p90_ns) AS p90_ns
        FROM of_model WHERE p50_ns > 0 GROUP BY ALL
        UNION ALL BY NAME
        SELECT 'cold' AS state, recording, {PLACE}, coalesce(system, '') AS system,
            coalesce(build, '') AS build, name, shown_by, count(*) AS calls, avg(ln(first_ns)) AS log_length
        FROM of_model WHERE first_ns > 0 GROUP BY ALL),
    summed AS (
        SELECT name AS model, app, device, device_model, system, build, shown_by AS source, state,
            count(*) AS recordings, sum(calls)::BIGINT AS calls, avg(log_length) AS mean,
            stddev_samp(log_length) AS spread, median(p90_ns) AS p90
        FROM runs GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, source, state, recordings, calls,
        exp(mean) / 1e6 AS length_ms,
        exp(mean - t * spread / sqrt(recordings)) / 1e6 AS low_ms,
        exp(mean + t * spread / sqrt(recordings)) / 1e6 AS high_ms,
        p90 / 1e6 AS p90_ms
    FROM summed LEFT JOIN student ON degrees = least(recordings - 1, {MOST_DEGREES})
        LEFT JOIN build_places USING (app, build)
    ORDER BY model, device, system, place NULLS FIRST, source, state""",
    {
        **OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        **_SOURCE,
        "state": ("cold: the first call after a load that was recorded; warm: all calls but the first.", ""),
        "recordings": ("The number of recordings: the runs that the interval is about.", ""),
        "calls": ("The number of their calls.", ""),
        "length_ms": ("The geometric mean over recordings of the median length of their calls.", "ms"),
        "low_ms": ("Lower end of its 95 % interval (Student's t of logarithms); empty for one run.", "ms"),
        "high_ms": ("Upper end of the interval.", "ms"),
        "p90_ms": ("The median of the recordings' 90th percentiles; empty where none has 10 calls.", "ms"),
    },
    {"models": ("p50_ns",)},
)

SYSTEM_CHANGE = declare_question(
    "system-change",
    "What changed with a system version",
    f"""
    WITH runs AS (
        SELECT recording, {PLACE}, coalesce(system, '') AS system, build, {MODEL} AS model,
            coalesce(source, '') AS source, min(recorded) AS recorded, avg(ln(p50_ns)) AS log_length
        FROM models WHERE p50_ns > 0 AND system <> '' AND device <> '' AND {OF_MODEL} GROUP BY ALL),
    served AS (
        SELECT recording, {MODEL} AS model, sum(served) AS served, sum(served) + sum(not_served) AS measured
        FROM engines WHERE engine = 'ANE' AND {OF_MODEL} GROUP BY ALL),
    systems AS (
        SELECT app, device, device_model, model, source, system, count(*) AS recordings,
            min(recorded) AS since, sum(served)::BIGINT AS served, sum(measured)::BIGINT AS measured
        FROM runs LEFT JOIN served USING (recording, model) GROUP BY ALL),
    pairs AS (
        SELECT *, lag(system) OVER series AS before, lag(since) OVER series AS since_before,
            lag(recordings) OVER series AS recordings_before,
            lag(served) OVER series AS served_before, lag(measured) OVER series AS measured_before
        FROM systems WHERE since IS NOT NULL
        WINDOW series AS (PARTITION BY app, device, device_model, model, source ORDER BY since, system)),
    builds AS (
        SELECT app, device, device_model, model, source, system, build, avg(log_length) AS level
        FROM runs WHERE build <> '' GROUP BY ALL),
    on_both AS (
        SELECT p.app, p.device, p.device_model, p.model, p.source, p.system, count(*) AS builds_on_both,
            exp(median(n.level - o.level)) AS ratio
        FROM pairs p
        JOIN builds n ON (n.app, n.device, n.device_model, n.model, n.source, n.system)
            = (p.app, p.device, p.device_model, p.model, p.source, p.system)
        JOIN builds o ON (o.app, o.device, o.device_model, o.model, o.source, o.system, o.build)
            = (p.app, p.device, p.device_model, p.model, p.source, p.before, n.build)
        GROUP BY ALL)
    SELECT model, app, device, device_model, source, before AS system_before, system AS system_after,
        since AS first_recorded, recordings_before, recordings AS recordings_after,
        coalesce(builds_on_both, 0) AS builds_on_both, 100 * (ratio - 1) AS length_change,
        served_before / nullif(measured_before, 0) AS ane_share_before,
        served / nullif(measured, 0) AS ane_share_after
    FROM pairs LEFT JOIN on_both USING (app, device, device_model, model, source, system)
    WHERE since > since_before
    ORDER BY since, model, device, source""",
    {
        **OF,
        **WHERE,
        **_SOURCE,
        "system_before": ("The system that the device had before.", ""),
        "system_after": ("The system that it had then.", ""),
        "first_recorded": ("The first recording of the device on it.", ""),
        "recordings_before": ("Recordings on the system before.", ""),
        "recordings_after": ("Recordings on the system after.", ""),
        "builds_on_both": ("Builds that were recorded on both: only these separate system and build.", ""),
        "length_change": ("The median change of length over these builds; empty without one.", "percent"),
        "ane_share_before": ("Calls on the Neural Engine of those that could be measured, before.", "share"),
        "ane_share_after": ("The same after.", "share"),
    },
    {"models": ("p50_ns", "system", "recorded")},
    notes=(
        "Shares are over all builds of a system. A change of length is given only by builds that were"
        " recorded on both systems: otherwise it could be the build's. Recordings without a date or a"
        " device's name are left out.",
    ),
)

_PARTS = {
    "length": "length_ns",
    "Neural Engine": "ane_busy_ns",
    "GPU": "gpu_busy_ns",
    "CPU": "cpu_busy_ns",
    "waiting for the Neural Engine": "ane_waiting_ns",
    "waiting for the GPU": "gpu_waiting_ns",
    "waiting for the CPU": "cpu_waiting_ns",
    "compiling and loading": "preparing_ns",
    "idle": "idle_ns",
}
_PART_ROWS = " UNION ALL ".join(
    f"SELECT model, app, device, device_model, source, build, '{part}' AS part, {number} AS number,"
    f" avg({column}) AS mean, count({column}) AS known FROM warm GROUP BY ALL"
    for number, (part, column) in enumerate(_PARTS.items())
)

GROWN_PART = declare_question(
    "grown-part",
    "The part of the call that grew between two builds",
    f"""
    WITH series AS (
        SELECT {MODEL} AS model, {PLACE}, coalesce(source, '') AS source, build, place
        FROM (SELECT * REPLACE (coalesce(app, '') AS app) FROM models)
            JOIN build_places USING (app, build)
        WHERE p50_ns > 0 AND {OF_MODEL} GROUP BY ALL),
    chosen AS (
        SELECT model, app, device, device_model, source,
            coalesce(nullif($after, ''), max_by(build, place)) AS after,
            coalesce(nullif($before, ''), list(build ORDER BY place DESC)[2]) AS before
        FROM series GROUP BY ALL),
    calls_of AS (
        SELECT {MODEL} AS model, {PLACE}, coalesce(source, '') AS source, build,
            {", ".join(_PARTS.values())}
        FROM calls WHERE NOT "first" AND length_ns IS NOT NULL AND {OF_MODEL}),
    warm AS (
        SELECT c.* FROM calls_of c JOIN chosen h USING (model, app, device, device_model, source)
        WHERE c.build IN (h.before, h.after)),
    parts AS ({_PART_ROWS})
    SELECT model, app, device, device_model, source, part, b.build AS build_before, a.build AS build_after,
        b.mean / 1e6 AS before_ms, a.mean / 1e6 AS after_ms, (a.mean - b.mean) / 1e6 AS change_ms,
        b.known AS calls_before, a.known AS calls_after
    FROM chosen h
    JOIN parts b USING (model, app, device, device_model, source)
    JOIN parts a USING (model, app, device, device_model, source, part)
    WHERE b.build = h.before AND a.build = h.after AND b.known > 0 AND a.known > 0
    ORDER BY model, device, source, b.number""",
    {
        **OF,
        **WHERE,
        **_SOURCE,
        "part": ("The part of the call.", ""),
        "build_before": ("The build before.", ""),
        "build_after": ("The build after.", ""),
        "before_ms": ("The mean of the part in calls of the build before of which it is known.", "ms"),
        "after_ms": ("The same in the build after.", "ms"),
        "change_ms": ("The difference of both.", "ms"),
        "calls_before": ("Calls of the build before of which the part is known.", ""),
        "calls_after": ("The same in the build after.", ""),
    },
    {"calls": ("length_ns", "build"), "models": ("p50_ns",)},
    {
        "before": ("", "The build before; by default the last but one of each series."),
        "after": ("", "The build after; by default the last of each series."),
    },
    (
        "First calls are left out. Engines work at the same time and calls wait while engines work: parts"
        " overlap, and do not sum to the length. A part that is not known in both builds is not listed.",
    ),
)

OUTLIERS = declare_question(
    "outliers",
    "Recordings that are unlike the others of their kind",
    f"""
    WITH runs AS (
        SELECT recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
            {MODEL} AS model, coalesce(source, '') AS source, avg(ln(p50_ns)) AS level
        FROM models WHERE p50_ns > 0 AND {OF_MODEL} GROUP BY ALL),
    kinds AS (
        SELECT app, device, device_model, system, build, model, source, count(*) AS recordings,
            median(level) AS middle, greatest(1.4826 * mad(level), 0.005) AS spread
        FROM runs GROUP BY ALL)
    SELECT model, app, device, device_model, system, build, source, recording, r.name, r.path,
        exp(level) / 1e6 AS length_ms, exp(middle) / 1e6 AS middle_ms,
        100 * (exp(level - middle) - 1) AS difference, (level - middle) / spread AS spreads, recordings
    FROM runs JOIN kinds USING (app, device, device_model, system, build, model, source)
        LEFT JOIN (SELECT recording, name, path FROM recordings) r USING (recording)
    WHERE recordings >= 5 AND abs(level - middle) > $spreads * spread
    ORDER BY abs(spreads) DESC, recording, model""",
    {
        **OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        **_SOURCE,
        "recording": ("The recording.", ""),
        "name": ("The file's name.", ""),
        "path": ("Where it was read from.", ""),
        "length_ms": ("The median length of its calls.", "ms"),
        "middle_ms": ("The median of all recordings of its device, system, build and model.", "ms"),
        "difference": ("Its difference from the middle.", "percent"),
        "spreads": ("The difference in robust spreads (1.4826 MAD of logarithms, at least 0.5 %).", ""),
        "recordings": ("The number of recordings of this device, system, build and model: at least 5.", ""),
    },
    {"models": ("p50_ns",)},
    {"spreads": (3.5, "The number of spreads beyond which a recording is listed.")},
)

LOADS = declare_question(
    "loads",
    "Loads and first calls after an update of system or app",
    f"""
    WITH runs AS (
        SELECT recording, recorded, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
            {MODEL} AS model, sum(load_ns) AS load_ns, max(first_ns) AS first_ns
        FROM models WHERE recorded IS NOT NULL AND device <> '' AND {OF_MODEL} GROUP BY ALL),
    ordered AS (
        SELECT *, row_number() OVER of_both AS number, lag(system) OVER series AS system_before,
            lag(build) OVER series AS build_before
        FROM runs
        WINDOW series AS (PARTITION BY app, device, device_model, model ORDER BY recorded, recording),
            of_both AS (PARTITION BY app, device, device_model, model, system, build
                ORDER BY recorded, recording))
    SELECT model, app, device, device_model, system, build,
        CASE WHEN first(system_before ORDER BY number) IS NULL THEN 'first recording'
            WHEN first(system_before ORDER BY number) <> system
                AND first(build_before ORDER BY number) <> build THEN 'system and build'
            WHEN first(system_before ORDER BY number) <> system THEN 'system'
            ELSE 'build' END AS updated,
        min(recorded) AS first_recorded,
        max(load_ns) FILTER (number = 1) / 1e6 AS load_ms, max(first_ns) FILTER (number = 1) / 1e6 AS cold_ms,
        median(load_ns) FILTER (number > 1) / 1e6 AS later_load_ms,
        median(first_ns) FILTER (number > 1) / 1e6 AS later_cold_ms,
        count(*) FILTER (number > 1 AND load_ns IS NOT NULL) AS later_loads,
        count(*) FILTER (number > 1) AS later_recordings
    FROM ordered GROUP BY model, app, device, device_model, system, build
    HAVING count(load_ns) + count(first_ns) > 0
    ORDER BY first_recorded, model, device""",
    {
        **OF,
        **WHERE,
        **SYSTEM,
        **BUILD,
        "updated": ("What differs from the device's recording before: system, build or both.", ""),
        "first_recorded": ("The first recording on this system and build.", ""),
        "load_ms": ("Its loads and compilations; empty where it recorded none.", "ms"),
        "cold_ms": ("Its first call after a load.", "ms"),
        "later_load_ms": ("The median of later recordings that recorded loads.", "ms"),
        "later_cold_ms": ("The median of their first calls after a load.", "ms"),
        "later_loads": ("Later recordings that recorded loads.", ""),
        "later_recordings": ("All later recordings on this system and build.", ""),
    },
    {"models": ("load_ns", "recorded")},
    notes=("Recordings without a date or a device's name are left out: their order is not known.",),
)

QUESTIONS = (LATENCY, SYSTEM_CHANGE, GROWN_PART, OUTLIERS, LOADS)
