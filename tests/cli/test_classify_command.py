"""``tracekit classify``: JSON Lines in, JSON Lines out, and a sentence for everything that is neither."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tracekit.cli.classify import MAX_LINE, classify_command
from tracekit.errors import InputError, UsageError

BNNS = {"frames": [{"binary": "libBNNS.dylib", "symbol": "BNNSFilterApplyBatch"}]}
ANE_THREAD = {
    "frames": [{"symbol": "mach_msg2_trap"}],
    "thread_name": "ANEServicesThread",
    "label": "ignored",
}


def run(*arguments, stacks=(), text=None):
    text = text if text is not None else "".join(json.dumps(stack) + "\n" for stack in stacks)
    return CliRunner().invoke(classify_command, [str(argument) for argument in arguments], input=text)


def verdicts(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_text_with_stacks_is_classified_row_by_row(tmp_path):
    path = tmp_path / "sample.txt"
    path.write_text(
        "Call graph:\n    5 Thread_7: H11ANEServicesThread\n      5 mach_msg2_trap  (in libsystem_kernel.dylib) + 8  [0x10]\n"
        "    9 Thread_8\n      9 BNNSFilterApplyBatch  (in libBNNS.dylib) + 4  [0x20]\n[… lines cut …]\n"
    )
    results = verdicts(run(path))
    assert [(result["id"]["tid"], result["id"]["samples"], result["engine"]) for result in results] == [
        (7, 5, "ANE"),
        (8, 9, "CPU"),
    ]
    path.write_text("Call graph:\n    9 Thread_8\n      9 main  (in App) + 4  [0x20]\n[… lines cut …]\n")
    (result,) = verdicts(run(path))
    assert result["engine"] == "UNKNOWN" and "a part of the stack is missing" in result["why"]


def test_one_line_out_per_line_in_in_order():
    results = verdicts(run(stacks=[BNNS | {"id": "a"}, ANE_THREAD, {"frames": []}]))
    assert results == [
        {
            "id": "a",
            "engine": "CPU",
            "phase": "execute",
            "rule": "cpu.bnns-filter",
            "frame": {"index": 0, "binary": "libBNNS.dylib", "symbol": "BNNSFilterApplyBatch"},
            "why": "BNNS runs one layer on the CPU",
        },
        {
            "engine": "ANE",
            "phase": "idle",
            "rule": "thread.ane-services",
            "frame": None,
            "why": "thread 'ANEServicesThread': the name of the ANE's notification thread:"
            " this process has opened the ANE",
        },
        {"engine": "UNKNOWN", "phase": None, "rule": None, "frame": None, "why": "the stack is empty"},
    ]


def test_a_file_and_standard_input_give_the_same(tmp_path):
    path = tmp_path / "stacks.jsonl"
    path.write_text(json.dumps(BNNS) + "\n\n" + json.dumps(ANE_THREAD), encoding="utf-8")
    assert run(path).stdout == run("-", stacks=[BNNS, ANE_THREAD]).stdout


def test_nothing_in_nothing_out():
    assert verdicts(run(text="")) == []


def test_text_of_a_hostile_stack_stays_in_its_line():
    symbol = "a\nb\x1b[31m\ud800\u2028"
    (verdict,) = verdicts(run(stacks=[{"frames": [{"binary": "libBNNS", "symbol": symbol}]}]))
    assert verdict["frame"]["symbol"] == symbol


def test_own_rules(tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text('[[rule]]\nid = "mine"\nengine = "GPU"\nsymbol = "^mine"\n', encoding="utf-8")
    (verdict,) = verdicts(run("--markers", rules, stacks=[{"frames": [{"binary": "", "symbol": "mine()"}]}]))
    assert (verdict["engine"], verdict["rule"]) == ("GPU", "mine")
    assert verdict["why"] == "rule mine matches this frame"


def test_a_result_file_appears_whole(tmp_path):
    target = tmp_path / "verdicts.jsonl"
    result = run("-o", target, stacks=[BNNS])
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(target.read_text(encoding="utf-8"))["engine"] == "CPU"


def test_a_result_file_is_not_overwritten_without_force(tmp_path):
    target = tmp_path / "verdicts.jsonl"
    target.write_text("precious", encoding="utf-8")
    result = run("-o", target, stacks=[BNNS])
    assert isinstance(result.exception, UsageError)
    assert target.read_text(encoding="utf-8") == "precious"
    assert run("-o", target, "--force", stacks=[BNNS]).exit_code == 0
    assert "CPU" in target.read_text(encoding="utf-8")


def test_a_bad_line_leaves_no_file_behind(tmp_path):
    target = tmp_path / "verdicts.jsonl"
    result = run("-o", target, text=json.dumps(BNNS) + "\n{\n")
    assert isinstance(result.exception, InputError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "standard input, line 2: is not JSON: see column 2. Give one JSON object per line."),
        ("[]", "line 2: a stack must be an object"),
        ('{"stack": []}', 'a list of "frames"'),
        ('{"frames": ["a"]}', "frame 0 must be an object"),
        ('{"frames": [{"symbol": 3}]}', '"symbol" must be a string'),
        ("[" * 100_000, "is not a stack: a number is too long, or it is nested too deeply"),
        ("1" * 100_000, "is not a stack: a number is too long, or it is nested too deeply"),
        ("\x00", "is not JSON"),
    ],
)
def test_a_bad_line_is_named(line, words):
    result = run(text=json.dumps(BNNS) + "\n" + line + "\n")
    assert isinstance(result.exception, InputError)
    assert result.exception.exit_code == 3
    assert words in str(result.exception)
    assert "Traceback" not in result.output


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "stacks.jsonl"
    path.write_bytes(b'{"frames": [{"symbol": "\xff\xfe"}]}\n')
    result = run(path)
    assert isinstance(result.exception, InputError)
    assert "stacks.jsonl, line 1: is not UTF-8 text: see byte 25." in str(result.exception)


def test_a_line_without_end():
    result = run(text="x" * (MAX_LINE + 2))
    assert isinstance(result.exception, InputError)
    assert "longer than 16 MB" in str(result.exception)


def test_inputs_that_are_not_there_or_no_file(tmp_path):
    assert "does not exist" in str(run(tmp_path / "nothing").exception)
    assert "is not a file" in str(run(tmp_path).exception)
    assert "Check the path given to --markers" in str(
        run("--markers", tmp_path / "nothing", stacks=[BNNS]).exception
    )


def test_the_output_must_be_possible_before_any_work(tmp_path):
    assert isinstance(run("-o", tmp_path, stacks=[BNNS]).exception, UsageError)
    assert isinstance(run("-o", tmp_path / "no" / "where", stacks=[BNNS]).exception, UsageError)


def test_the_help_has_an_example():
    assert "tracekit classify stacks.jsonl --markers my-rules.toml" in run("--help").output


@pytest.mark.integration
def test_a_kill_leaves_nothing_half_written(tmp_path):
    output = tmp_path / "verdicts.jsonl"
    command = [sys.executable, "-m", "tracekit", "classify", "-", "-o", str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b'{"frames": []}\n' * 100_000)
        process.stdin.flush()
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
