"""``tracekit lldb`` in a small lldb: breakpoints that count and continue, and a file that is a recording."""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_lldb import Debugger, Module, PosixPattern, Target, import_script

from tracekit import analyze
from tracekit.analysis.classification.frame_names import normalize_frame
from tracekit.analysis.classification.rule_set import load_rules
from tracekit.cli import main
from tracekit.errors import InputError, UsageError
from tracekit.load import open_trace
from tracekit.markers.breakpoints import REQUEST_RULES, ScriptOptions, choose_rules, write_script
from tracekit.markers.expressions import remove_possessive_repetitions, to_posix_expression
from tracekit.model.vocabulary import Engine

EVALUATE = "-[_ANEClient evaluateWithModel:options:request:qos:error:]"
PREDICT = "-[MLModel predictionFromFeatures:error:]"
LANE = "_dispatch_lane_invoke"
PLANE = "-[Plane_ANEClient evaluateAll]"
RUNTIME_ENGINE = "Espresso::ANERuntimeEngine::compiler::__forward_segment(int)"
LOAD = "-[_ANEClient doLoadModel:options:qos:error:]"


@pytest.fixture
def target() -> Target:
    ane = Module("/System/AppleNeuralEngine.framework/AppleNeuralEngine", [EVALUATE, LOAD])
    espresso = Module("/System/Espresso.framework/Espresso", [RUNTIME_ENGINE], start=0x9000)
    app = Module(
        "/Applications/App.app/App", [PREDICT, LANE, PLANE, "main", f"x::{RUNTIME_ENGINE}"], start=0x20000
    )
    return Target([ane, espresso, app])


@pytest.fixture(autouse=True)
def forget_the_script() -> Iterator[None]:
    yield
    sys.modules.pop("counting", None)


def script(folder: Path, *engines: Engine, **options: Any) -> Path:
    path = folder / "counting.py"
    settings = ScriptOptions(hits=str(folder / "hits.jsonl"), **options)
    path.write_text(write_script(choose_rules(load_rules(), engines or (Engine.ANE,)), settings))
    return path


def lines(folder: Path, name: str = "hits.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_the_script_needs_only_an_old_python(tmp_path: Path) -> None:
    tree = ast.parse(script(tmp_path).read_text(), feature_version=(3, 9))
    imported = {node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "datetime", "fnmatch", "json", "os", "re", "sys", "time", "typing"}


def test_hits_are_counted_and_the_program_goes_on(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path), Debugger(target))
    assert target.call([EVALUATE, PREDICT, "main"], tid=11, queue="com.apple.main-thread") == 0
    assert target.call([RUNTIME_ENGINE, "main"], tid=12, name="worker") == 0
    trace = open_trace(tmp_path / "hits.jsonl")
    assert (trace.info.kind, trace.info.process, trace.info.pid) == ("lldb-hits", "App", 4242)
    assert (trace.weight_unit, trace.weights.tolist(), trace.has_timeline) == ("hits", [1, 1], True)
    assert (trace.samples["time_ns"] >= 0).all()
    assert trace.threads[["tid", "name"]].to_numpy().tolist() == [
        [11, "com.apple.main-thread"],
        [12, "worker"],
    ]
    shown = [trace.stacks.symbol_names[trace.stacks.symbol_codes[row]] for row in trace.stacks.stack(0)]
    assert shown == [EVALUATE, PREDICT, "main"]
    binaries = trace.stacks.binaries.set_index("name")
    assert binaries.loc["Espresso", ["uuid", "load_address"]].tolist() == [target.modules[0].uuid, 0x9000]
    engines = analyze(trace).engines.set_index("engine")["samples"]
    assert engines["ANE"] == 2


def test_functions_that_only_lldbs_wider_expression_matches_are_no_hits(
    tmp_path: Path, target: Target
) -> None:
    module = import_script(script(tmp_path), Debugger(target))
    assert any(PLANE in breakpoint_set.locations for breakpoint_set in target.breakpoints.values())
    target.call([PLANE, "main"])
    target.call([f"x::{RUNTIME_ENGINE}", "main"])  # a function of this name in the app is not Espresso's
    assert module._LOG.counts == {}
    locations = [b.locations[PLANE] for b in target.breakpoints.values() if PLANE in b.locations]
    assert [location.is_enabled for location in locations] == [False] * len(locations)


def test_a_function_with_the_breakpoints_of_several_rules_is_one_hit_of_the_first(
    tmp_path: Path, target: Target
) -> None:
    module = import_script(script(tmp_path), Debugger(target))
    assert sum(EVALUATE in breakpoint_set.locations for breakpoint_set in target.breakpoints.values()) > 1
    target.call([EVALUATE])
    target.call([LOAD])
    assert module._LOG.counts == {"ane.client-evaluate": 1, "ane.client-load": 1}


def test_the_first_request_stops_once(
    tmp_path: Path, target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    import_script(script(tmp_path, stop_on_first_request=True), Debugger(target))
    assert [target.call([function]) for function in (LOAD, EVALUATE, EVALUATE)] == [0, 1, 0]
    assert f"the first request to the Neural Engine: {EVALUATE}" in capsys.readouterr().out


def test_hits_after_the_limit_are_counted_without_a_stack(tmp_path: Path, target: Target) -> None:
    module = import_script(script(tmp_path, most_hits=3, frames=1), Debugger(target))
    for _ in range(10):
        target.call([EVALUATE, PREDICT])
    module.print_hits(None, "", None, {})
    assert [len(line["stack"]) for line in lines(tmp_path) if "stack" in line] == [1, 1, 1]
    trace = open_trace(tmp_path / "hits.jsonl")
    left = next(issue for issue in trace.issues if issue.code == "hits-not-kept")
    assert (len(trace.samples), left.count) == (3, 7)
    assert left.message.endswith("after the first 3: 7 of ane.client-evaluate")
    answer = analyze(trace).to_text()
    assert "10 hits were counted; 7 of them have no thread and no stack" in answer.replace("\n ", "")
    assert "hits.jsonl, hits of breakpoints in lldb" in answer


def test_a_damaged_count_leaves_the_others_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "hits.jsonl"
    hit = '{"time": 1, "rule": "ane.client-load", "tid": 7, "stack": []}'
    counts = '{"time": 9, "counts": {"ane.client-load": -3, "ane.client-evaluate": 12}, "errors": 0}'
    path.write_text(f'{{"tracekit": "lldb-hits", "version": 1, "process": "Foo"}}\n{hit}\n{counts}\n')
    trace = open_trace(path)
    issues = {issue.code: issue.count for issue in trace.issues}
    assert (issues["hits-not-kept"], issues["document-damaged"]) == (12, 1)
    # Nothing that a recording of Instruments would need is advised for a text.
    answer = analyze(trace).to_text()
    assert "Record again" not in answer and "Record with Xcode" not in answer


def test_the_file_stays_small_after_the_limit(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path, most_hits=2), Debugger(target))
    for _ in range(500):
        target.call([EVALUATE])
    assert len(lines(tmp_path)) < 10


def test_a_rule_that_matches_too_many_functions_is_left_out(
    tmp_path: Path, target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    target.modules.append(
        Module("/a/libtorch.dylib", [f"at::native::cpublas::gemm{number}" for number in range(30)])
    )
    import_script(script(tmp_path, Engine.CPU, most_functions=20), Debugger(target))
    assert "cpu.torch-kernel is left out: 30 functions match it." in capsys.readouterr().out
    assert target.call(["at::native::cpublas::gemm3"]) == 0
    assert not [line for line in lines(tmp_path) if "stack" in line]


def test_no_file_is_replaced_and_a_later_program_gets_another(tmp_path: Path, target: Target) -> None:
    debugger = Debugger(target)
    module = import_script(script(tmp_path), debugger)
    target.call([EVALUATE])
    module.set_breakpoints(debugger, "", None, {})
    assert [line["counts"] for line in lines(tmp_path) if "counts" in line] == [{"ane.client-evaluate": 1}]
    assert lines(tmp_path, "hits-2.jsonl")[0]["tracekit"] == "lldb-hits"
    assert debugger.commands == [
        "command script add -o -f counting.set_breakpoints tracekit-start",
        "command script add -o -f counting.print_hits tracekit-hits",
    ]


def test_without_a_program_nothing_is_set(
    tmp_path: Path, target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    target.is_valid = False
    module = import_script(script(tmp_path), Debugger(target))
    module.print_hits(None, "", None, {})
    assert "no program. Load one (target create) or attach to one" in capsys.readouterr().out
    assert not (tmp_path / "hits.jsonl").exists()


def test_a_failure_of_lldb_is_counted_and_the_program_goes_on(
    tmp_path: Path, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_script(script(tmp_path), Debugger(target))
    target.call([EVALUATE])
    monkeypatch.setattr(Module, "GetFileSpec", lambda _: None)
    assert target.call([EVALUATE]) == 0
    module._LOG.write_counts()
    issues = {issue.code: issue.count for issue in open_trace(tmp_path / "hits.jsonl").issues}
    assert issues["hits-not-recorded"] >= 1


def test_lldbs_expressions_match_what_the_rules_match() -> None:
    rules = [rule for rule in load_rules().rules if rule.symbol and rule.example is not None]
    assert len(rules) > 100
    for rule in rules:
        assert rule.example is not None
        symbol = normalize_frame(rule.example.binary, rule.example.symbol)[1]
        assert PosixPattern(to_posix_expression(rule.symbol)).search(symbol), rule.id


@pytest.mark.parametrize(
    ("pattern", "expression"),
    [
        (r"\bfoo(?:bar|baz)?\w+\b", "foo(bar|baz)?[A-Za-z0-9_]+"),
        (r"^a(?!b)(?<=c)[^\]x-]+?$", "^a[^]x-]+$"),
        (r"[\w.]*+(?:|x)\.", r"[A-Za-z0-9_.]*((x)?)\."),
        (r"(?:\b|)", ""),
        (r"[-+]\[A", r"[+-]\[A"),
        (r"a{2,3}+\S", "a{2,3}[^[:space:]]"),
        (r"[]^]", "[]^]"),
    ],
)
def test_expressions_for_lldb(pattern: str, expression: str) -> None:
    assert to_posix_expression(pattern) == expression


def test_possessive_repetitions_are_not_for_older_python() -> None:
    assert remove_possessive_repetitions(r"a++[+]b?+c\++") == r"a+[+]b?c\++"


def test_each_rule_of_requests_is_a_rule() -> None:
    assert set(REQUEST_RULES) <= set(load_rules().index)


def test_rules_that_cannot_be_breakpoints_are_listed_in_the_script(tmp_path: Path) -> None:
    text = script(tmp_path).read_text()
    assert "#   ane.framework matches any function of a library\n" in text
    assert "#   thread.ane-services matches names of threads\n" in text


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        (["no.rule"], "'no.rule' is not a rule."),
        (
            ["ane.framework"],
            "The rule ane.framework cannot be a breakpoint: it matches any function of a library.",
        ),
    ],
)
def test_rules_that_are_named_wrongly(ids: list[str], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        choose_rules(load_rules(), [], ids)
    assert str(raised.value).startswith(problem)


def test_a_stop_without_breakpoints_on_requests_is_refused() -> None:
    chosen = choose_rules(load_rules(), [Engine.GPU])
    with pytest.raises(UsageError, match="needs the breakpoints of the Neural Engine"):
        write_script(chosen, ScriptOptions(stop_on_first_request=True))


def test_the_command_writes_the_script(tmp_path: Path) -> None:
    runner = CliRunner()
    path = tmp_path / "ane_hits.py"
    arguments = [
        "lldb",
        "--engine",
        "ane",
        "--engine",
        "RUNTIME",
        "--rule",
        "gpu.metal-wait",
        "-o",
        str(path),
    ]
    ran = runner.invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    assert "ane_hits.py: breakpoints of" in ran.stderr
    text = path.read_text()
    assert "'runtime.coreml-predict'" in text
    assert "'gpu.metal-wait'" in text
    refused = runner.invoke(main, ["lldb", "-o", str(tmp_path / "my-hits.py")])
    assert refused.exit_code == 2
    assert "lldb imports the script as a module" in refused.stderr


def test_a_text_of_hits_that_is_damaged_keeps_the_rest(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path), Debugger(target))
    target.call([EVALUATE])
    path = tmp_path / "hits.jsonl"
    broken = [
        '{"time": 1, "rule"',
        "[]",
        '{"time": -1, "rule": "a", "tid": 1, "stack": []}',
        '{"stack": [[0]]}',
        "{}",
    ]
    path.write_text(path.read_text() + "\n".join(broken))
    trace = open_trace(path)
    damaged = next(issue for issue in trace.issues if issue.code == "document-damaged")
    assert (len(trace.samples), damaged.count) == (1, 5)


def test_a_file_without_hits_is_refused(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path), Debugger(target))
    with pytest.raises(InputError, match="has no hit: no function with a breakpoint was called"):
        open_trace(tmp_path / "hits.jsonl")


def test_hits_have_no_calls_and_no_latency(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path), Debugger(target))
    target.call([EVALUATE, PREDICT])
    trace = open_trace(tmp_path / "hits.jsonl")
    assert len(analyze(trace).windows) == 0
    assert any(issue.code == "breakpoints-slow" for issue in trace.issues)
    with pytest.raises(UsageError, match="is of breakpoints, which stretch all times"):
        analyze(trace, windows="stacks")
    ran = CliRunner().invoke(main, ["analyze", str(tmp_path / "hits.jsonl")])
    assert ran.exit_code == 0, ran.output
    assert "Of 1 hit of the only thread of App, 1 dispatched work to the Neural Engine" in ran.output


def test_hits_are_exported_with_their_unit(tmp_path: Path, target: Target) -> None:
    import_script(script(tmp_path), Debugger(target))
    target.call([EVALUATE, PREDICT])
    out = tmp_path / "hits.pb.gz"
    assert CliRunner().invoke(main, ["export", str(tmp_path / "hits.jsonl"), "-o", str(out)]).exit_code == 0
    text = gzip.decompress(out.read_bytes())
    assert b"samples" in text
    assert b"hits" in text
