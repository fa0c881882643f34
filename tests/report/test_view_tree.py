"""The call tree: each path once, weights kept whatever is cut off."""

from __future__ import annotations

import numpy as np
import pytest
from documents_support import python_calls
from hypothesis import given
from hypothesis import strategies as st
from view_support import replace, stack_table

from tracekit.analysis.call_tree import CallTree, build_tree
from tracekit.model.tables import StackTable
from tracekit.report.viewmodel.tree import mark_system_binaries, prune, sum_totals

Stack = tuple[str, ...]


def paths(tree: CallTree, stacks: StackTable) -> list[str]:
    """Each node as the symbols from its root to it; what was cut off is "…"."""
    paths: list[str] = []
    for parent, function in zip(tree.parent.tolist(), tree.function.tolist(), strict=True):
        name = "…" if function < 0 else str(tree.symbols[function])
        paths.append(f"{paths[parent]}/{name}" if parent >= 0 else name)
    return paths


def table(*stacks: str) -> StackTable:
    """Stacks as root first words; the binary of "x:f" is x."""
    return stack_table([tuple(_frame(word) for word in reversed(stack.split())) for stack in stacks])


def _frame(word: str) -> str:
    binary, _, symbol = word.rpartition(":")
    return f"{binary or 'App'} | {symbol}"


def built(*stacks: str) -> tuple[CallTree, list[str]]:
    made = table(*stacks)
    tree = build_tree(made)
    return tree, paths(tree, made)


def test_stacks_share_what_they_have_in_common() -> None:
    tree, names = built("main a b", "main a c", "main")
    assert sorted(names) == ["main", "main/a", "main/a/b", "main/a/c"]
    assert [names[leaf] for leaf in tree.leaf] == ["main/a/b", "main/a/c", "main"]
    assert tree.parent.tolist()[names.index("main")] == -1


def test_parents_stand_before_their_children() -> None:
    tree, _ = built("a b c d", "a b", "x y", "a b c e")
    assert all(parent < node for node, parent in enumerate(tree.parent.tolist()))


def test_a_function_that_calls_itself_is_a_node_each_time() -> None:
    tree, names = built("f f f")
    assert (names, tree.leaf.tolist()) == (["f", "f/f", "f/f/f"], [2])


def test_functions_of_two_binaries_are_two() -> None:
    tree, names = built("a:main a:f", "a:main b:f")
    assert sorted(names) == ["main", "main/f", "main/f"]
    assert len(set(tree.leaf.tolist())) == 2


def test_a_function_at_two_addresses_is_one() -> None:
    made = table("main f", "main g")
    frames = made.frames.assign(symbol=made.frames["symbol"].astype("str").replace("g", "f"))
    tree = build_tree(replace(made, frames=frames))
    assert len(set(frames["address"])) == 3
    assert (len(tree), tree.leaf.tolist()) == (2, [1, 1])


def test_an_empty_stack_has_no_leaf() -> None:
    made = stack_table([(), ("App | main",)])
    tree = build_tree(made)
    assert (len(tree), tree.leaf.tolist()) == (1, [-1, 0])
    assert sum_totals(tree, np.array([5.0, 3.0])).tolist() == [3.0]


def test_no_stacks_no_nodes() -> None:
    tree = build_tree(StackTable.empty())
    assert (len(tree), len(tree.leaf)) == (0, 0)
    assert len(prune(tree, np.zeros(0), 5)) == 0


WEIGHED = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), max_size=5).map(tuple), st.integers(0, 9)), max_size=12
)


def _made(weighed: list[tuple[Stack, int]]) -> tuple[CallTree, StackTable, np.ndarray]:
    made = stack_table([tuple(f"App | {word}" for word in reversed(stack)) for stack, _ in weighed])
    return build_tree(made), made, np.array([weight for _, weight in weighed], np.float64)


@pytest.mark.integration
@given(WEIGHED)
def test_totals_equal_the_slow_count(weighed: list[tuple[Stack, int]]) -> None:
    tree, made, weights = _made(weighed)
    expected: dict[str, float] = {}
    for stack, weight in weighed:
        for depth in range(len(stack)):
            path = "/".join(stack[: depth + 1])
            expected[path] = expected.get(path, 0) + weight
    names = paths(tree, made)
    assert len(set(names)) == len(names)
    assert dict(zip(names, sum_totals(tree, weights).tolist(), strict=True)) == expected


@pytest.mark.integration
@given(WEIGHED, st.integers(1, 8))
def test_pruning_keeps_the_weight_and_the_tree(weighed: list[tuple[Stack, int]], most: int) -> None:
    tree, made, weights = _made(weighed)
    small = prune(tree, weights, most)
    assert all(-1 <= parent < node for node, parent in enumerate(small.parent.tolist()))
    assert int((small.function >= 0).sum()) == min(most, len(tree))
    whole, names = paths(tree, made), paths(small, made)
    assert len(set(names)) == len(names)
    for stack, (full, cut) in enumerate(zip(tree.leaf.tolist(), small.leaf.tolist(), strict=True)):
        assert (full < 0) == (cut < 0), stack
        if full >= 0:
            prefix = names[cut].removesuffix("…")
            assert whole[full] == names[cut] or f"{whole[full]}/".startswith(prefix)
            assert whole[full] not in names or names[cut] == whole[full]
    assert not {node for node in small.parent.tolist() if node >= 0 and small.function[node] < 0}


@pytest.mark.integration
@given(WEIGHED, st.integers(1, 8))
def test_what_is_kept_weighs_at_least_what_is_cut(weighed: list[tuple[Stack, int]], most: int) -> None:
    tree, made, weights = _made(weighed)
    names = set(paths(prune(tree, weights, most), made))
    total = dict(zip(paths(tree, made), sum_totals(tree, weights).tolist(), strict=True))
    remaining = [weight for name, weight in total.items() if name in names]
    assert min(remaining, default=0) >= max((w for name, w in total.items() if name not in names), default=0)


def test_what_is_cut_off_hangs_below_the_last_that_is_kept() -> None:
    made = table("main a x", "main a y", "main b", "other")
    tree = build_tree(made)
    small = prune(tree, np.array([5.0, 4.0, 3.0, 1.0]), 2)
    names = paths(small, made)
    assert sorted(names) == ["main", "main/a", "main/a/…", "main/…", "…"]
    assert [names[leaf] for leaf in small.leaf] == ["main/a/…", "main/a/…", "main/…", "…"]


def random_stacks(count: int) -> StackTable:
    dice = np.random.default_rng(3)
    depths = dice.integers(5, 60, count)
    base = table(" ".join(f"f{number}" for number in range(400)))
    offsets = np.concatenate([[0], np.cumsum(depths)]).astype(np.int64)
    return replace(base, offsets=offsets, frame_ids=dice.integers(0, 400, int(offsets[-1])).astype(np.int32))


@pytest.mark.integration
def test_python_does_no_work_per_stack() -> None:
    few, many = random_stacks(1_000), random_stacks(50_000)

    def calls(stacks: StackTable) -> int:
        return python_calls(lambda: prune(build_tree(stacks), np.ones(len(stacks)), 6_000))

    calls(few)
    assert calls(many) < 1.2 * calls(few)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/System/Library/Frameworks/CoreML.framework/CoreML", True),
        ("/usr/lib/libSystem.B.dylib", True),
        ("/usr/lib/system/libdispatch.dylib", True),
        ("/Users/x/Library/Developer/Xcode/iOS DeviceSupport/17.0/Symbols/usr/lib/libobjc.A.dylib", True),
        ("/System/Cryptexes/OS/System/Library/Frameworks/WebKit.framework/WebKit", True),
        ("/usr/local/lib/libfoo.dylib", False),
        ("/Applications/App.app/Contents/MacOS/App", False),
        ("/Users/x/System/Library/App", False),
        ("/private/var/containers/Bundle/Application/1/App.app/App", False),
        ("", False),
    ],
)
def test_what_came_with_the_system(path: str, expected: bool) -> None:
    assert mark_system_binaries(np.array([path], object)).tolist() == [expected]
