"""The conditions that rules are made of: small functions with parameters, by subject and name.

A condition in a file of rules names one in ``test``; its other keys are the parameters. Each function returns
what matched, in words (``kernel_sizes is 15 × 15``), or None. What the file does not state matches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tracekit.mlmodels.rules.model_predicates import (
    match_alternations,
    match_count,
    match_flexible,
    match_kind,
    match_last_axis,
    match_long_last_axis,
    match_state_width,
    match_unaligned_last_axis,
    match_weight_bytes,
)
from tracekit.mlmodels.rules.operation_predicates import (
    match_constant_value,
    match_dimension,
    match_fed_by,
    match_fed_by_any,
    match_feeds,
    match_inner_dimension,
    match_input,
    match_inside,
    match_number,
    match_output,
    match_padded_dilation,
    match_prime_factors,
    match_square,
    match_squared_input,
    match_table_size,
    match_text,
    match_unequal,
)

PREDICATES: Mapping[str, Mapping[str, Callable[..., str | None]]] = {
    "operation": {
        "output": match_output,
        "input": match_input,
        "number": match_number,
        "text": match_text,
        "prime-factors": match_prime_factors,
        "unequal": match_unequal,
        "dimension": match_dimension,
        "square": match_square,
        "inner-dimension": match_inner_dimension,
        "padded-dilation": match_padded_dilation,
        "constant-value": match_constant_value,
        "feeds": match_feeds,
        "fed-by": match_fed_by,
        "fed-by-any": match_fed_by_any,
        "table-size": match_table_size,
        "squared-input": match_squared_input,
        "inside": match_inside,
    },
    "feature": {
        "flexible": match_flexible,
        "long-last-axis": match_long_last_axis,
        "last-axis": match_last_axis,
        "unaligned-last-axis": match_unaligned_last_axis,
        "state-width": match_state_width,
    },
    "function": {"count": match_count, "alternations": match_alternations},
    "model": {"weight-bytes": match_weight_bytes, "kind": match_kind},
    "setting": {},
}
"""The conditions by what they are about, and by the name that files of rules have for them."""
