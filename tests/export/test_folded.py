"""Folded stacks: literal lines, and what the readers of the format do with them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from export_support import AWKWARD, RECORDINGS, awkward, two_windows, with_names, written
from sample_recordings import sample_analysis
from trace_support import UI, trace_of

from tracekit import analyze
from tracekit.export.folded import write_folded

pytestmark = pytest.mark.integration

CALL = "App`main;CoreML`-[MLModel predictionFromFeatures:error:]"
ANE = f"{CALL};Espresso`Espresso::ANERuntimeEngine::compiler::__forward_segment(int);ANEServices`H11ANEProgramProcessRequestDirect"
BNNS = f"{CALL};Espresso`Espresso::BNNSEngine::convolution_kernel::__launch;libBNNS.dylib`BNNSFilterApply"


def test_root_first_leaf_last_weight_at_the_end() -> None:
    assert written(write_folded, two_windows()).decode().splitlines() == [
        f"App7 (7);main (0x1);[ANE];[dispatch];{ANE} 1000000",
        f"App7 (7);main (0x1);[ANE];[wait];{ANE};libsystem_kernel.dylib`semaphore_wait_trap 2000000",
        f"App7 (7);main (0x1);[CPU];[execute];{BNNS} 3000000",
        "App7 (7);main (0x1);[OTHER];App`main;AppKit`-[NSView drawRect:] 1000000",
        "App7 (7);worker (0x2);[UNKNOWN];[no stack] 5000000",
    ]


def test_the_root_is_chosen() -> None:
    assert written(write_folded, two_windows(), root=("window", "engine")).decode().splitlines() == [
        "[no range];[OTHER];App`main;AppKit`-[NSView drawRect:] 1000000",
        f"[range 1 (a)];[ANE];{ANE} 1000000",
        f"[range 1 (a)];[ANE];{ANE};libsystem_kernel.dylib`semaphore_wait_trap 2000000",
        f"[range 2 (b)];[CPU];{BNNS} 3000000",
        "[range 2 (b)];[UNKNOWN];[no stack] 5000000",
    ]
    assert (
        "App`main;AppKit`-[NSView drawRect:] 1000000\n"
        in written(write_folded, two_windows(), root=()).decode()
    )


@pytest.mark.parametrize(
    ("symbol", "leaf"),
    [
        ("closure 12", "closure_12"),  # flamegraph.pl and inferno would read "12 1000000" as two profiles
        ("operator 1.5", "operator_1.5"),
        ("a;b", "a:b"),
        ("two\nlines", "two\\nlines"),
        ("7", "App`7"),
        ("", "App`(no name)"),
    ],
)
def test_a_name_cannot_change_the_meaning_of_a_line(symbol: str, leaf: str) -> None:
    trace = trace_of([(0.0, "main", ("App | leaf",))])
    frames = trace.stacks.frames.assign(symbol=[symbol])
    trace = replace(trace, stacks=replace(trace.stacks, frames=frames.astype({"symbol": "str"})))
    line = written(write_folded, analyze(trace, windows="stacks"), root=()).decode()
    assert line in (f"{leaf} 1000000\n", f"App`{leaf} 1000000\n")


def test_a_line_is_no_comment() -> None:
    analysis = analyze(with_names(trace_of([(0.0, "main", UI)]), "# x"))
    assert written(write_folded, analysis).startswith(b"_# x (7);")


def weights(text: str) -> int:
    """As inferno and flamegraph.pl read lines: all behind the last blank, and not a second number before it."""
    lines = text.splitlines()
    assert all(re.fullmatch(r"\S.*[^\s;] \d+", line) for line in lines)
    assert not any(re.search(r"\s[\d.]+ \d+$", line) for line in lines)
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines)


@pytest.mark.parametrize("name", RECORDINGS)
def test_no_weight_is_lost(name: str) -> None:
    analysis = sample_analysis(name)
    for root in (None, ("engine", "window", "phase"), ()):
        text = written(write_folded, analysis, **({} if root is None else {"root": root})).decode()
        assert weights(text) == analysis.trace.weights.sum()


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_traces_give_valid_lines(name: str) -> None:
    analysis = awkward()[name]
    assert weights(written(write_folded, analysis).decode()) == analysis.trace.weights.sum()
