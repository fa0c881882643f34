"""MIL text: ``model.mil`` of a compiled model, and ``analytics.mil``, the same with more attributes.

The text has no published grammar. This reads what compiled models hold: a function's header, and statements
like ``type name = kind(parameter = value, …)[attribute = value, …];``. What lies between statements, the
braces of blocks, only changes the depth.
"""

from __future__ import annotations

import re
from math import inf

from tracekit.mlmodels.program import (
    BLOB,
    CONSTANT_VALUES,
    MAX_OPERATIONS,
    Constant,
    Function,
    Operation,
    Value,
    ValueType,
)
from tracekit.mlmodels.protobuf_wire import DamagedModelError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<number>[-+]?(?:0x[\da-fA-F.]+p[-+]?\d+|inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))
      | (?P<word>[A-Za-z_@][\w.@/]*)
      | (?P<mark>->|[()\[\]{}<>=,;:?-])
    )""",
    re.VERBOSE,
)
_MAX_DEPTH = 64
_WITHOUT_RESULT = frozenset({"write_state"})
"""Kinds of operations whose statements begin with the kind, because they give no value."""
_MAX_TOKENS = 10_000_000
"""Five times those of a program with 20,000 operations, and some twenty seconds."""
_ELSEWHERE = "BLOBFILE"
_BOOLEANS = {"true": True, "false": False}
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}


def read_program(text: str) -> list[Function]:
    """Return the functions of a text. Raises ``DamagedModelError``."""
    tokens = _Tokens(text)
    if tokens.take() != "program":
        raise DamagedModelError("is no MIL text: it does not begin with 'program'")
    functions = []
    while tokens.next:
        if tokens.take() == "func":
            functions.append(_read_function(tokens))
    if not functions:
        raise DamagedModelError("is a MIL text without a function")
    return functions


class _Tokens:
    """The tokens of a text, with a look at the next one; the empty token is the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = self._count = 0
        self.next = ""
        self.next_kind = ""
        self.blob: tuple[Constant, ...] = ()
        """The place of the values of the constant that was read last, if they are in another file."""
        self._advance()

    def take(self, expected: str = "") -> str:
        """Return the next token and move on; raise at the end, and for another than ``expected``."""
        token = self.next
        if not token:
            raise self.damage("ends too soon")
        if expected and token != expected:
            raise self.damage(f"has {token[:40]!r} where {expected!r} belongs")
        self._advance()
        return token

    def skip(self, expected: str) -> bool:
        """Move past the next token if it is ``expected``."""
        if self.next != expected:
            return False
        self._advance()
        return True

    def take_blob(self) -> tuple[Constant, ...]:
        """Return the place of the values that were read last, once; an empty one if none was read since."""
        blob, self.blob = self.blob, ()
        return blob

    def damage(self, problem: str) -> DamagedModelError:
        line = self._text.count("\n", 0, self._position) + 1
        return DamagedModelError(f"{problem} (line {line:,})")

    def _advance(self) -> None:
        self._count += 1
        if self._count > _MAX_TOKENS:
            raise self.damage(f"has more than {_MAX_TOKENS:,} words and marks")
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            rest = self._text[self._position : self._position + 40].strip()
            if rest:
                raise self.damage(f"has {rest!r}, which no MIL text has")
            self.next = self.next_kind = ""
            return
        self._position = match.end()
        self.next_kind = match.lastgroup or ""
        self.next = match[self.next_kind]


def _read_function(tokens: _Tokens) -> Function:
    name = tokens.take()
    opset = ""
    if tokens.skip("<"):
        opset = tokens.take()
        tokens.take(">")
    tokens.take("(")
    inputs = []
    while not tokens.skip(")"):
        inputs.append(_read_typed_name(tokens))
        tokens.skip(",")
    attributes = _read_attributes(tokens)
    operations, outputs = _read_body(tokens)
    return Function(name, tuple(inputs), outputs, tuple(operations), opset, attributes)


def _read_body(tokens: _Tokens) -> tuple[list[Operation], tuple[str, ...]]:
    operations: list[Operation] = []
    tokens.take("{")
    depth = 0
    while True:
        if not tokens.next:
            raise tokens.damage("ends within a function")
        if tokens.skip("{"):
            depth += 1
            if depth > _MAX_DEPTH:
                raise tokens.damage(f"has operations {depth} deep")
        elif tokens.skip("}"):
            depth -= 1
            names = _read_outputs(tokens)
            if depth < 0:
                return operations, names
        elif tokens.next_kind == "word":
            operation = _read_statement(tokens, depth)
            if operation is not None:
                operations.append(operation)
            if len(operations) > MAX_OPERATIONS:
                raise tokens.damage(f"holds more than {MAX_OPERATIONS:,} operations")
        else:
            tokens.take()


def _read_outputs(tokens: _Tokens) -> tuple[str, ...]:
    """Read ``-> (name, …)`` behind a block."""
    if not tokens.skip("->"):
        return ()
    tokens.take("(")
    names = []
    while not tokens.skip(")"):
        names.append(tokens.take())
        tokens.skip(",")
    return tuple(names)


def _read_statement(tokens: _Tokens, depth: int) -> Operation | None:
    """Read ``type name[, type name] = kind<opset>(…)[…]``; None for words that begin no statement."""
    outputs: list[Value] = []
    while tokens.next not in _WITHOUT_RESULT:
        value = _read_typed_name(tokens)
        if not value.name:
            return None  # the header of a block
        outputs.append(value)
        if not tokens.skip(","):
            tokens.take("=")
            break
    kind = tokens.take()
    if tokens.next == "<":
        _skip_brackets(tokens)
    inputs: list[tuple[str, str]] = []
    given: dict[str, Constant] = {}
    types: dict[str, ValueType] = {}
    tokens.take("(")
    while not tokens.skip(")"):
        parameter = tokens.take()
        tokens.take("=")
        _read_argument(tokens, parameter, inputs, given, types)
        tokens.skip(",")
    tokens.take_blob()  # of a parameter that is given in place
    attributes = given | _read_attributes(tokens)
    if blob := tokens.take_blob():
        attributes[BLOB] = blob
    name = attributes.pop("name", "")
    return Operation(kind, str(name), tuple(inputs), tuple(outputs), attributes, depth, constant_types=types)


def _read_argument(
    tokens: _Tokens,
    parameter: str,
    inputs: list[tuple[str, str]],
    given: dict[str, Constant],
    types: dict[str, ValueType],
) -> None:
    """Read the value of a parameter: the name of a value, several in brackets, or a constant in place."""
    if tokens.skip("("):
        while not tokens.skip(")"):
            _read_argument(tokens, parameter, inputs, given, types)
            tokens.skip(",")
        return
    if tokens.next_kind == "word":
        word = tokens.take()
        if tokens.next not in ("<", "("):
            inputs.append((parameter, word))
            return
        types[parameter], constant = _read_typed_constant(tokens, word)
    else:
        constant = _read_constant(tokens, 0)
    if constant is not None:
        given[parameter] = constant


# Types ------------------------------------------------------------------------------------------------------


def _read_typed_name(tokens: _Tokens) -> Value:
    word = tokens.take()
    value_type = _read_type(tokens, word, 0)
    return Value(tokens.take() if tokens.next_kind == "word" else "", value_type)


def _read_type(tokens: _Tokens, word: str, depth: int) -> ValueType:
    """Read what follows the first word of a type: ``tensor<fp16, [1, 64]>``, ``list<string, 5>``."""
    if depth > _MAX_DEPTH:
        raise tokens.damage(f"has types {depth} deep")
    if not tokens.skip("<"):
        return ValueType(word, (), "tensor")
    inner = _read_type(tokens, tokens.take(), depth + 1)
    shape = inner.shape
    while tokens.skip(","):
        if tokens.next_kind == "word":
            part = tokens.take()
            is_shape = part == "shape"
            if not tokens.skip("="):  # the second type of a dictionary or tuple
                _read_type(tokens, part, depth + 1)
                continue
            dimensions = _read_dimensions(tokens)
            shape = dimensions if is_shape else shape
        elif tokens.next == "[":
            shape = _read_dimensions(tokens)
        else:
            tokens.take()  # the length of a list
    tokens.take(">")
    container = {"tensor_buffer": "tensor", "dict": "dictionary"}.get(word, word)
    return ValueType(inner.dtype, shape, container)


def _read_dimensions(tokens: _Tokens) -> tuple[int | None, ...]:
    tokens.take("[")
    dimensions: list[int | None] = []
    while not tokens.skip("]"):
        kind, token = tokens.next_kind, tokens.take()
        if (kind, token) != ("mark", ","):
            dimensions.append(int(token) if kind == "number" and token.lstrip("-").isdigit() else None)
    return tuple(dimensions)


# Constants --------------------------------------------------------------------------------------------------


def _read_attributes(tokens: _Tokens) -> dict[str, Constant]:
    attributes: dict[str, Constant] = {}
    if not tokens.skip("["):
        return attributes
    while not tokens.skip("]"):
        name = tokens.take()
        tokens.take("=")
        constant = _read_constant(tokens, 0)
        if constant is not None:
            attributes[name] = constant
        tokens.skip(",")
    return attributes


def _read_constant(tokens: _Tokens, depth: int) -> Constant | None:
    """Return a constant; None for one that is in another file, or too long to be kept."""
    if depth > _MAX_DEPTH:
        raise tokens.damage(f"has constants {depth} deep")
    kind, token = tokens.next_kind, tokens.take()
    if kind == "text":
        return _unescape(token)
    if kind == "number":
        return _read_number(token)
    if token in ("[", "{", "("):
        return _read_items(tokens, _OPEN[token], depth)
    if kind == "word":
        if token in _BOOLEANS:
            return _BOOLEANS[token]
        if token == _ELSEWHERE:
            tokens.blob = _read_blob(tokens)
            return None
        return _read_typed_constant(tokens, token)[1]
    raise tokens.damage(f"has {token[:40]!r} where a value belongs" if token else "ends within a value")


def _read_typed_constant(tokens: _Tokens, word: str) -> tuple[ValueType, Constant | None]:
    """Read what follows the first word of ``tensor<int32, [2]>([1, 1])``: the type and the constant."""
    value_type = _read_type(tokens, word, 0)
    tokens.take("(")
    constant = _read_constant(tokens, 1)
    tokens.take(")")
    return value_type, constant


def _read_blob(tokens: _Tokens) -> tuple[Constant, ...]:
    """Read ``(path = string("…"), offset = uint64(64))``: the values that the names have."""
    values: list[Constant] = []
    tokens.take("(")
    while not tokens.skip(")"):
        tokens.take()
        tokens.take("=")
        value = _read_constant(tokens, 1)
        if value is not None:
            values.append(value)
        tokens.skip(",")
    return tuple(values)


def _read_items(tokens: _Tokens, close: str, depth: int) -> Constant | None:
    items: list[Constant] = []
    is_short = True
    while not tokens.skip(close):
        item = _read_constant(tokens, depth + 1)
        if item is None or len(items) >= CONSTANT_VALUES:
            is_short = False
        elif is_short:
            items.append(item)
        tokens.skip(",")
    return tuple(items) if is_short else None


def _read_number(token: str) -> Constant:
    if "x" in token:
        try:
            return float.fromhex(token)
        except OverflowError:
            return -inf if token.startswith("-") else inf
        except ValueError as error:
            raise DamagedModelError(f"has {token[:40]!r} where a number belongs") from error
    return int(token) if token.lstrip("+-").isdigit() and len(token) < 40 else float(token)


def _unescape(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _skip_brackets(tokens: _Tokens) -> None:
    """Move past a bracket and all that is in it, of its kind or another."""
    depth = 0
    while True:
        if not tokens.next:
            raise tokens.damage("ends within a bracket")
        mark = tokens.next if tokens.next_kind == "mark" else ""
        tokens.take()
        depth += (mark in _OPEN) - (mark in _OPEN.values())
        if depth <= 0:
            return
