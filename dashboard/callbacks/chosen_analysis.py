"""The analysis that the address of a recording's page names: ``?variant=<id>``, or options by their names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

from dashboard.errors import Conflict, NotFound, TooLarge
from dashboard.library.library import Library
from tracekit.cli.analysis_options import NAMES
from tracekit.errors import UsageError

FIRST = "first"
"""The variant's name in an address for the analysis without options, where another is the default."""
_MOST_FIELDS = 1_100


@dataclass(frozen=True)
class Chosen:
    """The id of the analysis to show, that of a variant under way, and a sentence about the address."""

    analysis: str
    awaited: str = ""
    problem: str = ""


def chosen_analysis(library: Library, recording: str, query: str) -> Chosen:
    """Return the analysis of an address; one that is not there yet is begun, and the default shown meanwhile.

    An address that names none is a sentence, and the default.
    """
    default = library.recording(recording).default_variant
    fallback = default if default and library.analyses.opened(recording, default).state == "ready" else ""
    try:
        variant = _variant(library, recording, query, default)
    except (UsageError, NotFound, Conflict, TooLarge) as error:
        return Chosen(_id(recording, fallback), problem=str(error))
    if not variant or library.analyses.opened(recording, variant).state == "ready":
        return Chosen(_id(recording, variant))
    return Chosen(_id(recording, fallback), awaited=variant)


def shown_analysis(library: Library, recording: str, query: str) -> str:
    """Return the id of the analysis that an address shows, and begin none."""
    variant = (_fields(query).get("variant") or [library.recording(recording).default_variant])[0]
    return _id(recording, "" if variant == FIRST else variant)


def _variant(library: Library, recording: str, query: str, default: str) -> str:
    fields = _fields(query)
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
        name: texts if name in ("window", "window-signpost") else _single(name, texts)
        for name, texts in options.items()
    }
    variant_of_options = library.analyses.request(recording, values)
    return "" if variant_of_options is None else variant_of_options.id


def _single(name: str, texts: list[str]) -> str:
    if len(texts) > 1:
        raise UsageError(f"The address gives {name} {len(texts):,} times; it takes one.")
    return texts[0]


def _fields(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query.removeprefix("?"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise UsageError("The address has too many options.") from error


def _id(recording: str, variant: str) -> str:
    return f"{recording}.{variant}" if variant else recording
