"""Transforms of single stacks, written as loops: what a chain does to a tree is checked against it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

Frame = tuple[str, str]
"""Symbol and library."""
Stack = tuple[Frame, ...]
"""Outermost frame first."""
HIDDEN = ("(only hidden frames)", "")
WORD = 1 << 32


def base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def key_of(frame: Frame) -> str:
    return base36(zlib.crc32("\0".join(frame).encode()))


def library_key_of(library: str) -> str:
    return base36(zlib.crc32(f"\0{library}".encode()))


def path_key_of(stack: Stack) -> str:
    key = 0
    for frame in stack:
        key = ((key + 1) * 2_654_435_761 % WORD) ^ zlib.crc32("\0".join(frame).encode())
    return base36(key)


def transformed(stack: Stack, chain: str, system: Iterable[Frame]) -> Stack | None:
    """Return a stack after a chain, None if it is dropped; an empty stack stays as it is."""
    result: Stack | None = stack
    of_system = set(system)
    for step in filter(None, chain.split("~")):
        if result:
            result = _after(result, step, of_system)
    return result


def folded(
    stacks: Iterable[tuple[Stack, int]], chain: str, system: Iterable[Frame]
) -> tuple[dict[str, int], int]:
    """Return the weight of each stack that a chain leaves, as ``main;work``, and what it drops."""
    weights: dict[str, int] = {}
    dropped = 0
    for stack, weight in stacks:
        left = transformed(stack, chain, system)
        if left is None:
            dropped += weight
        else:
            path = ";".join(symbol for symbol, _ in left)
            weights[path] = weights.get(path, 0) + weight
    return weights, dropped


def _after(stack: Stack, step: str, system: set[Frame]) -> Stack | None:
    kind, _, argument = step.partition(":")
    keys = [key_of(frame) for frame in stack]
    libraries = [library_key_of(library) for _, library in stack]
    match kind:
        case "focus":
            return stack[keys.index(argument) :] if argument in keys else None
        case "subtree":
            key, path = argument.split(".")
            ends = [
                end for end in range(len(stack)) if path_key_of(stack[: end + 1]) == path and keys[end] == key
            ]
            return stack[ends[0] :] if ends else None
        case "self":
            return stack if keys[-1] == argument else None
        case "drop":
            return None if argument in keys else stack
        case "charge":
            return _left(stack, [key != argument for key in keys])
        case "charge-lib":
            return _left(stack, [library != argument for library in libraries])
        case "system":
            return _left(stack, [stack[0] == HIDDEN or frame not in system for frame in stack])
        case "flat":
            return tuple(
                frame for index, frame in enumerate(stack) if index == 0 or stack[index - 1] != frame
            )
        case "recursion":
            if argument not in keys:
                return stack
            last = len(keys) - 1 - keys[::-1].index(argument)
            return stack[: keys.index(argument)] + stack[last:]
        case "collapse-lib":
            frames: list[Frame] = []
            for index, (frame, library) in enumerate(zip(stack, libraries, strict=True)):
                if library != argument:
                    frames.append(frame)
                elif index == 0 or libraries[index - 1] != argument:
                    frames.append((f"({frame[1]})", frame[1]))
                    if frame in system:
                        system.add(frames[-1])
            return tuple(frames)
    raise AssertionError(step)


def _left(stack: Stack, stays: Sequence[bool]) -> Stack:
    """What has no caller left to be charged to stands below one root, by the library of its innermost frame."""
    left = tuple(frame for frame, is_left in zip(stack, stays, strict=True) if is_left)
    return left or (HIDDEN, (f"({stack[-1][1]})", stack[-1][1]))
