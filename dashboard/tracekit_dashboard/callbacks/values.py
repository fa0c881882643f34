"""Values from the browser: a callback runs only with the components and the types that it declares.

Dash passes on whatever a request contains. Checked here once, for all callbacks, a forged request is refused
with a sentence, and an exception in a callback is an error of tracekit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import dash

from tracekit.errors import UsageError
from tracekit_dashboard.error_responses import MALFORMED


def check_values(app: dash.Dash) -> None:
    """Make every callback refuse requests that do not fit it; the last one must have been registered."""
    for callback in app.callback_map.values():
        if "callback" in callback:  # the browser's own callbacks have none
            callback["callback"] = _check_callback(callback)


def _check_callback(callback: dict[str, Any]) -> Callable[..., Any]:
    run = callback["callback"]
    function = run.__wrapped__
    hints = get_type_hints(function)
    types = [hints[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]
    declared = [*callback["inputs"], *callback["state"]]

    @wraps(run)
    def checked(*values: Any, callback_context: Any, **options: Any) -> Any:
        given = [*callback_context.inputs_list, *callback_context.states_list]
        triggers = {trigger["prop_id"] for trigger in callback_context.triggered_inputs}
        if not (
            len(given) == len(declared)
            and all(map(_is_component, declared, given))
            and triggers <= callback_context.input_values.keys()
            and len(values) == len(types)
            and all(map(has_type, values, types))
        ):
            raise UsageError(MALFORMED)
        return run(*values, callback_context=callback_context, **options)

    return checked


def _is_component(declared: dict[str, str], given: Any) -> bool:
    """Return True for a component's property as a callback declares it, or, for a pattern, all that fit."""
    if isinstance(given, list):
        return "ALL" in declared["id"] and all(_is_component(declared, component) for component in given)
    if not isinstance(given, dict) or given.get("property") != declared["property"]:
        return False
    if not declared["id"].startswith("{"):
        return bool(given.get("id") == declared["id"])
    pattern, part = json.loads(declared["id"]), given.get("id")
    return (
        isinstance(part, dict)
        and part.keys() == pattern.keys()
        and all(has_type(part[name], str) for name in part)
        and all(part[name] == value for name, value in pattern.items() if isinstance(value, str))
    )


def has_type(value: object, hint: Any) -> bool:
    """Return True if a value decoded from JSON has the type of an annotation."""
    arguments: Sequence[Any] = get_args(hint)
    match get_origin(hint) or hint:
        case kind if kind in (Union, UnionType):
            return any(has_type(value, argument) for argument in arguments)
        case kind if kind is list:
            return isinstance(value, list) and all(has_type(item, arguments[0]) for item in value)
        case kind if kind is dict:
            return isinstance(value, dict) and all(has_type(item, arguments[1]) for item in value.values())
        case kind if kind is str:
            return isinstance(value, str) and not any(
                "\ud800" <= character <= "\udfff" for character in value
            )
        case kind if kind is int:
            # A button that was never pressed has no number of presses.
            return value is None or (isinstance(value, int) and not isinstance(value, bool))
        case kind if kind is Any:
            return True
        case kind:
            return isinstance(value, NoneType if kind is None else kind)
