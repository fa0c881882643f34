"""Operations matched by the graph: names change, operations come and go, branches swap places."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.mlmodels.plans import PlannedOperation
from tracekit.mlmodels.plans.operation_matching import Matching, match_operations

LAYER = ["norm", "linear", "sdpa", "linear", "add", "norm", "linear", "gelu", "linear", "add"]


def chain(kinds: Sequence[str], prefix: str, names: Sequence[str] | None = None) -> list[PlannedOperation]:
    """Return operations each of which takes the value of the one before; values are named by the prefix."""
    return [
        PlannedOperation(
            kind,
            names[index] if names else f"{prefix}{index}",
            inputs=(f"{prefix}{index - 1}" if index else "image", f"{prefix}_weight{index}"),
            outputs=(f"{prefix}{index}",),
        )
        for index, kind in enumerate(kinds)
    ]


def graph(text: str, prefix: str = "", *, is_named: bool = True) -> list[PlannedOperation]:
    """Return operations of lines such as ``add = sum(conv_1, conv_2)``."""
    operations = []
    for line in text.strip().splitlines():
        name, _, call = line.strip().partition(" = ")
        kind, _, inputs = call.rstrip(")").partition("(")
        values = tuple(f"{prefix}{value.strip()}" for value in inputs.split(",") if value.strip())
        operations.append(
            PlannedOperation(
                kind, f"{prefix}{name}" if is_named else "", inputs=values, outputs=(f"{prefix}{name}",)
            )
        )
    return operations


def test_names_do_not_matter() -> None:
    kinds = ["conv", "relu", "conv", "relu", "pool", "conv", "relu", "softmax"]
    matching = match_operations(chain(kinds, "a"), chain([f"ios18.{kind}" for kind in kinds], "renamed_"))
    assert matching == Matching(tuple((index, index) for index in range(8)))


def test_names_that_mislead_do_not_matter() -> None:
    base = chain(["conv", "relu", "pool", "softmax"], "v", ["op_1", "op_2", "op_3", "op_4"])
    new = chain(["cast", "conv", "relu", "pool", "softmax"], "v", ["op_1", "op_2", "op_3", "op_4", "op_5"])
    assert match_operations(base, new).pairs == ((0, 1), (1, 2), (2, 3), (3, 4))


def test_an_inserted_operation_is_the_one_without_a_counterpart() -> None:
    base = chain(LAYER * 4, "a")
    kinds = LAYER * 4
    new = chain([*kinds[:17], "cast", *kinds[17:]], "b")
    matching = match_operations(base, new)
    assert matching.pairs == tuple((index, index if index < 17 else index + 1) for index in range(40))
    assert (matching.ambiguous_base, matching.ambiguous_new) == ((), ())
    # And removed, seen from the other side.
    assert match_operations(new, base).pairs == tuple((new, base) for base, new in matching.pairs)


def test_operations_between_several_changes_match() -> None:
    kinds = LAYER * 6
    new = [*kinds[:9], "cast", *kinds[9:25], "reshape", *kinds[25:40], "cast", *kinds[40:]]
    matching = match_operations(chain(kinds, "a"), chain(new, "b"))
    assert len(matching.pairs) == 60
    assert all(kinds[base] == new[position] for base, position in matching.pairs)


def test_a_removed_layer_of_equal_ones_is_ambiguous_without_names() -> None:
    matching = match_operations(chain(LAYER * 6, "a"), chain(LAYER * 5, "b"))
    assert matching.pairs == ()
    assert (len(matching.ambiguous_base), len(matching.ambiguous_new)) == (60, 50)


def test_names_decide_which_of_equal_layers_is_removed() -> None:
    names = [f"layer_{index // 10}/{index % 10}" for index in range(60)]
    kept = [*names[:20], *names[30:]]
    matching = match_operations(chain(LAYER * 6, "a", names), chain(LAYER * 5, "b", kept))
    assert [names[base] for base, _ in matching.pairs] == kept
    assert all(names[base] == kept[new] for base, new in matching.pairs)
    assert (matching.ambiguous_base, matching.ambiguous_new) == ((), ())


BRANCHES = """
    stem = conv(image)
    left_1 = conv(stem)
    left_2 = relu(left_1)
    right_1 = pool(stem)
    right_2 = conv(right_1)
    joined = concat(left_2, right_2)
    out = softmax(joined)
"""
SWAPPED = """
    stem = conv(image)
    right_1 = pool(stem)
    right_2 = conv(right_1)
    left_1 = conv(stem)
    left_2 = relu(left_1)
    joined = concat(left_2, right_2)
    out = softmax(joined)
"""


def test_branches_in_another_order_match() -> None:
    matching = match_operations(graph(BRANCHES, "a_"), graph(SWAPPED, "b_"))
    assert matching.pairs == ((0, 0), (1, 3), (2, 4), (3, 1), (4, 2), (5, 5), (6, 6))


def test_equal_branches_differ_by_the_input_that_they_feed() -> None:
    text = "a = conv(image)\nb = conv(image)\njoined = concat({}, {})\nout = softmax(joined)"
    matching = match_operations(graph(text.format("a", "b"), "x"), graph(text.format("b", "a"), "y"))
    assert matching.pairs == ((0, 1), (1, 0), (2, 2), (3, 3))


TWINS = "a = conv(image)\nb = conv(image)"


def test_twins_are_ambiguous_unless_named() -> None:
    matching = match_operations(graph(TWINS, "x"), graph(TWINS, "y"))
    assert matching == Matching((), (0, 1), (0, 1))
    assert match_operations(graph(TWINS), list(reversed(graph(TWINS)))).pairs == ((0, 1), (1, 0))


def test_plans_without_edges_match_in_their_order() -> None:
    def plain(*kinds: str) -> list[PlannedOperation]:
        return [PlannedOperation(kind) for kind in kinds]

    matching = match_operations(plain("conv", "relu", "softmax"), plain("conv", "cast", "relu", "softmax"))
    assert matching.pairs == ((0, 0), (1, 2), (2, 3))
    # One side has edges: both are taken in their order.
    matching = match_operations(chain(["conv", "relu"], "a"), plain("conv", "relu"))
    assert matching.pairs == ((0, 0), (1, 1))


def test_without_kinds_names_describe_and_numbers_do_not() -> None:
    base = [PlannedOperation("", name, outputs=(name,)) for name in ("conv_out", "relu_out")]
    assert match_operations(base, list(reversed(base))).pairs == ((0, 1), (1, 0))
    numbered = [PlannedOperation("", str(number)) for number in range(3)]
    assert match_operations(numbered, numbered) == Matching((), (0, 1, 2), (0, 1, 2))


def test_other_models_do_not_match() -> None:
    matching = match_operations(chain(LAYER * 3, "a"), chain(["conv", "bn", "relu6"] * 12, "b"))
    assert matching.pairs == ()


def test_values_that_refer_to_themselves_or_later_ones_are_no_edges() -> None:
    operations = [
        PlannedOperation("conv", "a", inputs=("a", "c"), outputs=("a",)),
        PlannedOperation("relu", "b", inputs=("a", "b"), outputs=("b", "b")),
        PlannedOperation("pool", "c", inputs=("b",), outputs=("c",)),
    ]
    assert match_operations(operations, operations).pairs == ((0, 0), (1, 1), (2, 2))


def test_nothing_matches_nothing() -> None:
    assert match_operations([], []) == Matching(())
    assert match_operations([], chain(["conv"], "a")) == Matching(())


@given(
    kinds=st.lists(st.sampled_from(["conv", "relu", "add", "pool"]), min_size=1, max_size=25),
    seed=st.integers(0, 10_000),
)
def test_what_is_matched_is_the_same_operation(kinds: list[str], seed: int) -> None:
    """A random graph with its values renamed, some operations removed, in another topological order."""
    source = random.Random(seed)
    inputs = [
        [source.randrange(index) for _ in range(source.randint(0, 2))] if index else []
        for index in range(len(kinds))
    ]
    base = [
        PlannedOperation(kind, inputs=tuple(f"a{value}" for value in inputs[index]), outputs=(f"a{index}",))
        for index, kind in enumerate(kinds)
    ]
    order: list[int] = []
    while len(order) < len(kinds):
        ready = [i for i in range(len(kinds)) if i not in order and set(inputs[i]) <= set(order)]
        order.append(source.choice(ready))
    new = [
        PlannedOperation(
            kinds[index], inputs=tuple(f"b{value}" for value in inputs[index]), outputs=(f"b{index}",)
        )
        for index in order
    ]
    matching = match_operations(base, new)
    # The graphs are equal: an operation is matched with one that is computed, and used, in the same way.
    for position, other in matching.pairs:
        assert unfold(kinds, inputs, position) == unfold(kinds, inputs, order[other])
    assert len({other for _, other in matching.pairs}) == len(matching.pairs)
    unmatched = set(range(len(base))) - {position for position, _ in matching.pairs}
    if any(inputs):
        assert unmatched <= set(matching.ambiguous_base)


def unfold(kinds: list[str], inputs: list[list[int]], index: int) -> object:
    return kinds[index], tuple(unfold(kinds, inputs, value) for value in inputs[index])


@pytest.mark.integration
def test_twenty_thousand_operations_are_matched() -> None:
    """How long that takes is measured by benchmarks/plan_matching.py."""
    kinds = LAYER * 2_000
    base, new = chain(kinds, "a"), chain([*kinds[:5_005], "cast", *kinds[5_005:], "argmax"], "b")
    assert len(match_operations(base, new).pairs) == 20_000


@pytest.mark.integration
def test_a_value_with_many_uses_leaves_alike_operations_open() -> None:
    operations = [PlannedOperation("conv", "stem", outputs=("stem",))]
    operations += [
        PlannedOperation("relu", f"r{index}", inputs=("stem",), outputs=(f"r{index}",))
        for index in range(20_000)
    ]
    assert ("conv", "conv") in [
        (operations[before].kind, operations[after].kind)
        for before, after in match_operations(operations, operations).pairs
    ]
