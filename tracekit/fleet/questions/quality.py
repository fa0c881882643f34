"""Questions about recordings: how many could not show an engine, and the issues of those."""

from __future__ import annotations

from tracekit.fleet.questions.question import BUILD, IN_PLACE, PLACE, SYSTEM, WHERE, declare_question
from tracekit.fleet.schema import METRICKIT

_OUTCOMES = f"""
    WITH shown AS (
        SELECT recording, sum(calls) AS calls, sum(served) + sum(not_served) AS measured,
            sum(unknown) AS unknown
        FROM engines GROUP BY recording),
    outcomes AS (
        SELECT r.recording, {PLACE}, coalesce(system, '') AS system, coalesce(build, '') AS build,
            CASE WHEN state <> 'analyzed' THEN state
                WHEN coalesce(s.calls, 0) = 0 THEN 'no calls'
                WHEN measured = 0 THEN 'no engine'
                WHEN unknown > 0 THEN 'partly'
                ELSE 'all' END AS outcome
        FROM recordings r LEFT JOIN shown s ON s.recording = r.recording
        WHERE coalesce(kind, '') <> '{METRICKIT}' AND {IN_PLACE})"""
_USELESS = "outcome NOT IN ('partly', 'all')"

UNDETERMINED = declare_question(
    "undetermined",
    "Recordings that could not show which engine served their calls",
    f"""{_OUTCOMES}
    SELECT app, device, device_model, system, build, count(*) AS recordings,
        count(*) FILTER (outcome = 'all') AS all_calls, count(*) FILTER (outcome = 'partly') AS some_calls,
        count(*) FILTER (outcome = 'no engine') AS no_engine,
        count(*) FILTER (outcome = 'no calls') AS no_calls,
        count(*) FILTER (outcome = 'failed') AS failed, count(*) FILTER (outcome = 'killed') AS killed
    FROM outcomes LEFT JOIN build_places USING (app, build)
    GROUP BY app, device, device_model, system, build, place
    ORDER BY device, system, place NULLS FIRST, build""",
    {
        **WHERE,
        **SYSTEM,
        **BUILD,
        "recordings": ("All recordings: the sum of the next six.", ""),
        "all_calls": ("Each call is known to have been served by each engine or not.", ""),
        "some_calls": ("That is known of some calls and engines, and not of others.", ""),
        "no_engine": ("Recordings with calls, and no engine is known for any.", ""),
        "no_calls": ("Recordings without calls.", ""),
        "failed": ("Files that cannot be read.", ""),
        "killed": ("Files whose analysis ended its worker.", ""),
    },
    {"recordings": ("state",)},
)

USELESS_ISSUES = declare_question(
    "useless-issues",
    "Issues of recordings that show no engine",
    f"""{_OUTCOMES},
    of_recordings AS (
        SELECT DISTINCT recording, issue, severity FROM issues
        UNION ALL
        SELECT recording, reason, state FROM recordings WHERE state <> 'analyzed'),
    counts AS (
        SELECT count(*) AS recordings, count(*) FILTER ({_USELESS}) AS useless FROM outcomes)
    SELECT i.issue, i.severity, count(*) AS recordings, count(*) FILTER ({_USELESS}) AS useless,
        count(*) FILTER ({_USELESS}) / count(*) AS useless_share,
        (c.useless - count(*) FILTER ({_USELESS})) / nullif(c.recordings - count(*), 0)
            AS useless_share_without
    FROM of_recordings i JOIN outcomes USING (recording), counts c
    GROUP BY i.issue, i.severity, c.recordings, c.useless
    HAVING count(*) FILTER ({_USELESS}) > 0
    ORDER BY useless DESC, i.issue""",
    {
        "issue": ("The code of the issue; for a file that was not analyzed, the reason.", ""),
        "severity": ("Its severity; for a file that was not analyzed, failed or killed.", ""),
        "recordings": ("Recordings with the issue.", ""),
        "useless": ("Those of them without any call of which an engine is known.", ""),
        "useless_share": ("The share of these.", "share"),
        "useless_share_without": ("The same share of the recordings without the issue.", "share"),
    },
    {"recordings": ("state",)},
    notes=("An issue that goes with a useless recording is not proven to be its cause.",),
)

QUESTIONS = (UNDETERMINED, USELESS_ISSUES)
