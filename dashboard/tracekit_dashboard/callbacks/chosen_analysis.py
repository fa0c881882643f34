"""The analysis that the address of a recording's page names: ``?variant=<id>``, or options by their names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

from tracekit.cli.analysis_options import NAMES
from tracekit.errors import UsageError
from tracekit_dashboard.errors import Conflict, NotFound, TooLarge
from tracekit_dashboard.library.library import Library

FIRST = "first"
"""The variant's name in an address for the analysis without options, where another is the default."""
_MAX_FIELDS = 1_100


@dataclass(frozen=True)
class PageAnalysis:
    """The id of the analysis to show, the id of a variant being made, and a problem of the address."""

    analysis: str
    awaited: str = ""
    problem: str = ""


def choose_analysis(library: Library, recording: str, query: str) -> PageAnalysis:
    """Return the analysis of an address; a missing one is started, and the default shown meanwhile.

    An invalid address gives the default, and a sentence about the problem.
    """
    default = library.find_recording(recording).default_variant
    fallback = (
        default if default and library.analyses.open_variant(recording, default).state == "ready" else ""
    )
    try:
        variant = _find_variant(library, recording, query, default)
    except (UsageError, NotFound, Conflict, TooLarge) as error:
        return PageAnalysis(_join_id(recording, fallback), problem=str(error))
    if not variant or library.analyses.open_variant(recording, variant).state == "ready":
        return PageAnalysis(_join_id(recording, variant))
    return PageAnalysis(_join_id(recording, fallback), awaited=variant)


def find_shown_analysis(library: Library, recording: str, query: str) -> str:
    """Return the id of the analysis that an address shows, without starting one."""
    variant = (_parse_fields(query).get("variant") or [library.find_recording(recording).default_variant])[0]
    return _join_id(recording, "" if variant == FIRST else variant)


def _find_variant(library: Library, recording: str, query: str, default: str) -> str:
    fields = _parse_fields(query)
    options = {name: values for name, values in fields.items() if name in NAMES.values()}
    if "variant" in fields:
        if options or len(fields["variant"]) > 1:
            raise UsageError("The address names an analysis by its id and by options: leave one out.")
        variant = fields["variant"][0]
        return "" if variant == FIRST else library.analyses.find(recording, variant).id
    unknown = [name for name in fields if name not in NAMES.values()]
    if unknown and unknown != ["token"]:
        raise UsageError(
            f"'{unknown[0][:60]}' is no option of an analysis."
            f" The options are {', '.join(sorted(NAMES.values()))}."
        )
    if not options:
        return default
    values = {
        name: texts if name in ("window", "window-signpost") else _require_single(name, texts)
        for name, texts in options.items()
    }
    variant_of_options = library.analyses.request(recording, values)
    return "" if variant_of_options is None else variant_of_options.id


def _require_single(name: str, texts: list[str]) -> str:
    if len(texts) > 1:
        raise UsageError(f"The address gives {name} {len(texts):,} times; it takes one.")
    return texts[0]


def _parse_fields(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query.removeprefix("?"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise UsageError("The address has too many options.") from error


def _join_id(recording: str, variant: str) -> str:
    return f"{recording}.{variant}" if variant else recording
