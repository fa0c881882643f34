"""The languages of requirements and changes, as blocks of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tracekit.checks.grammar import GRAMMARS


def write_grammar(name: str) -> str:
    """Return a grammar with a line for each form."""
    grammar = GRAMMARS[name]
    width = max(map(len, grammar))
    lines = [
        f"{word if number == 0 else '':<{width}} {'|' if number else '='} {form}\n"
        for word, forms in grammar.items()
        for number, form in enumerate(forms)
    ]
    return f"```text\n{''.join(lines)}```"


PARTS: Mapping[str, Callable[[], str]] = {
    f"grammar-of-{name}": partial(write_grammar, name) for name in GRAMMARS
}
