"""Random call trees, written as each tool writes them, come back as the stacks that they were made of."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from text_support import codes, counted, trace_of_text, traces_of

from tracekit.errors import InputError

pytestmark = pytest.mark.integration

Stack = tuple[str, ...]
Node = tuple[str, int, list["Node"]]


def random_tree(rng: random.Random, depth: int = 0) -> Node:
    """Return a function with the samples that end in it and its callees."""
    callees = [random_tree(rng, depth + 1) for _ in range(rng.choice([0, 1, 1, 2, 3]) if depth < 9 else 0)]
    return f"f{rng.randrange(30)}", rng.randrange(4) if callees else rng.randrange(1, 50), callees


def stacks_of(node: Node, above: Stack = ()) -> Iterator[tuple[Stack, int]]:
    name, self_ms, callees = node
    if self_ms:
        yield (*above, name), self_ms
    for callee in callees:
        yield from stacks_of(callee, (*above, name))


def total(node: Node) -> int:
    return node[1] + sum(map(total, node[2]))


def as_sample(node: Node, rng: random.Random, level: int = 0) -> Iterator[str]:
    """Yield lines with any mark in any column of the indentation: they only lead the eye."""
    name, _, callees = node
    marks = "".join(f"{rng.choice(' +!:|')} " for _ in range(level + 1))
    yield f"    {marks}{total(node)} {name}  (in App) + {level}  [{hash_of(name):#x}]"
    for callee in callees:
        yield from as_sample(callee, rng, level + 1)


def as_spindump(node: Node, level: int = 0) -> Iterator[str]:
    name, _, callees = node
    is_kernel = not callees and hash_of(name) % 2
    marks = " " * (1 + 2 * level) + ("*" if is_kernel else " ")
    yield f"{marks}{total(node):<4} {name} + {level} (App + {level}) [{hash_of(name):#x}]"
    for callee in callees:
        yield from as_spindump(callee, level + 1)


def as_deep_copy(node: Node, level: int = 0) -> Iterator[str]:
    name, self_ms, callees = node
    yield f"{total(node)}.00 ms  50.0%\t{self_ms}.00 ms\t \t  {' ' * level}{name}"
    for callee in callees:
        yield from as_deep_copy(callee, level + 1)


def hash_of(name: str) -> int:
    return 0x1000 + 16 * int(name[1:]) + int(name[1:]) % 2


def sample(trees: list[Node]) -> Iterator[str]:
    yield "Call graph:"
    for number, tree in enumerate(trees):
        yield f"    {total(tree)} Thread_{number}"
        yield from as_sample(tree, random.Random(number))
    yield from ("", "Total number in stack (recursive counted multiple, when >=5):")


def spindump(trees: list[Node]) -> Iterator[str]:
    yield from ("Process:          App [42]", "")
    for number, tree in enumerate(trees, start=1):
        yield f"  Thread 0x{number:x}    {total(tree)} samples (1-{total(tree)})    priority 31 (base 31)"
        yield from as_spindump(tree)
        yield ""
    yield "  Binary Images:"


def deep_copy(trees: list[Node]) -> Iterator[str]:
    yield "Weight\tSelf Weight\t\tSymbol Name"
    yield f"{sum(map(total, trees))}.00 ms  100.0%\t0 s\t \tApp (42)"
    for number, tree in enumerate(trees, start=1):
        yield f"{total(tree)}.00 ms  50.0%\t0 s\t \t Worker  0x{number:x}"
        yield from as_deep_copy(tree)


@pytest.mark.parametrize("written", [sample, spindump, deep_copy])
def test_random_trees_come_back(tmp_path, written: Callable[[list[Node]], Iterator[str]]):
    rng = random.Random(20)
    for _ in range(5):
        # The last tree has a sample of its own, so that the interval of a copy is a millisecond.
        trees = [random_tree(rng) for _ in range(5)] + [("f1", 1, [])]
        trace = trace_of_text(tmp_path, "\n".join(written(trees)) + "\n")
        expected: Counter[Stack] = Counter()
        for tree in trees:
            for stack, self_ms in stacks_of(tree):
                expected[stack] += self_ms
        read: Counter[Stack] = Counter()
        for count, stack in counted(trace):
            read[stack] += count
        assert read == expected
        assert codes(trace) <= {"weight-assumed"}
        assert len(trace.threads[trace.threads["tid"] >= 0]) == len(trees)


def damaged(text: str, rng: random.Random) -> str:
    """Return a text with characters, lines and numbers replaced, removed, repeated and moved."""
    parts = list(text) if rng.random() < 0.5 else text.splitlines(keepends=True)
    for _ in range(rng.choice([1, 5, 40])):
        place, target = rng.randrange(len(parts)), rng.randrange(len(parts))
        choice = rng.randrange(5)
        if choice == 0:
            parts[place] = rng.choice('+!:|*()[]<> \t\n\r"0x9…\0') * rng.choice([1, 30])
        elif choice == 1:
            del parts[place : place + rng.choice([1, 5, 100])]
        elif choice == 2:
            parts[place:place] = parts[target : target + rng.choice([1, 50])]
        elif choice == 3:
            parts[place] = str(rng.choice([0, -1, 2**31, 2**63, 10**12, 10**13, 10**30]))
        else:
            parts[place], parts[target] = parts[target], parts[place]
        parts = parts or [""]
    return "".join(parts)


def read_damaged(folder, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        written = rng.choice([sample, spindump, deep_copy])
        text = damaged("\n".join(written([random_tree(rng, 5) for _ in range(3)])), rng)
        path = folder / "damaged.txt"
        path.write_text(text)
        with contextlib.suppress(InputError):
            assert all((trace.weights >= 0).all() for trace in traces_of(path))


def test_damaged_trees_are_read_or_refused(tmp_path):
    read_damaged(tmp_path, range(40))


@pytest.mark.fuzz
def test_many_damaged_trees_are_read_or_refused(tmp_path):
    read_damaged(tmp_path, range(40, 1500))
