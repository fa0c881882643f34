"""``tracekit symbols``: listings of libraries, the rules that can match on them, and what changed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from macho_support import macho

from tracekit.analysis.classification.rule_set import load_rules
from tracekit.cli import main
from tracekit.errors import InputError
from tracekit.markers.listings import Listing, read_listing
from tracekit.markers.presence import find_rule_presence

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "tracekit-symbols-1.schema.json").read_text("utf-8")
)
EVALUATE = "-[_ANEClient evaluateWithModel:options:request:qos:error:]"
SYMTAB = f"""\
(lldb) image dump symtab AppleNeuralEngine Espresso
Dumping symbol table for 2 modules.
Symtab, file = /System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine, num_symbols = 4:
               Debug symbol
               |Synthetic symbol
               ||Externally Visible
               |||
Index   UserID DSX Type            File Address/Value Load Address       Size               Flags      Name
------- ------ --- --------------- ------------------ ------------------ ------------------ ---------- -------
[    0]      1     Invalid         0x0000000000000318                    0x000000000000001c 0x00000003
[    1]      2   X Code            0x0000000100003f24 0x00000001a0003f24 0x0000000000000020 0x000f0000 {EVALUATE}
[    2]      3 D   ObjCClass       0x0000000100004000                    0x0000000000000020 0x000e0000 _ANEClient
[    3]      9   X Undefined       0x0000000000000000                    0x0000000000000000 0x00010000 BNNSFilterApply
Symtab, file = /System/Library/PrivateFrameworks/Espresso.framework/Espresso, num_symbols = 1 (sorted by name):
[    0]      1     Code            0x0000000100000ff0                    0x0000000000000006 0x001e0000 Espresso::BNNSEngine::convolution_kernel::__launch(int)
"""
NM = f"""\
/System/AppleNeuralEngine (for architecture arm64e):
0000000100003f24 T {EVALUATE}
0000000100003f30 t _ANEServicesInitialize
0000000100003f34 T __ZN8Espresso10BNNSEngine6launchEi
0000000100003f40 S _OBJC_CLASS_$__ANEClient
                 U _objc_msgSend
0000000100004000 D _kANEFDesignModelKey
"""
NM_M = f"""\
0000000100003f24 (__TEXT,__text) non-external {EVALUATE}
0000000100003f30 (__TEXT,__text) weak external _ANECCompile
                 (undefined) external _objc_msgSend (from libobjc)
0000000100004000 (__DATA,__data) external _kANE
"""


def written(folder: Path, text: str | bytes, name: str = "listing") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def listing(folder: Path, text: str | bytes, library: str = "") -> Listing:
    return read_listing(written(folder, text), library)


def test_a_symtab_of_lldb(tmp_path: Path) -> None:
    for text in (SYMTAB, SYMTAB.replace("\n", "\r\n").encode("utf-16"), gzip.compress(SYMTAB.encode())):
        result = listing(tmp_path, text)
        assert result.functions == {
            "AppleNeuralEngine": {EVALUATE},
            "Espresso": {"Espresso::BNNSEngine::convolution_kernel::__launch(int)"},
        }
        assert result.left_out == 3


def test_the_output_of_nm(tmp_path: Path) -> None:
    result = listing(tmp_path, NM)
    assert result.functions == {
        "AppleNeuralEngine": {EVALUATE, "ANEServicesInitialize", "Espresso::BNNSEngine::launch(int)"}
    }
    assert result.left_out == 3
    assert listing(tmp_path, NM_M, "libX.dylib").functions == {"libX": {EVALUATE, "ANECCompile"}}


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("_ANECCompile\n_BNNSFilterApply\n_OBJC_CLASS_$_A\n", {"ANECCompile", "BNNSFilterApply"}),
        ("ANECCompile\n_dispatch_x\nBNNSFilterApply\n", {"ANECCompile", "_dispatch_x", "BNNSFilterApply"}),
        (f"{EVALUATE}\n+[_ANEClient sharedConnection]\n", {EVALUATE, "+[_ANEClient sharedConnection]"}),
    ],
)
def test_plain_names(tmp_path: Path, text: str, functions: set[str]) -> None:
    assert listing(tmp_path, text).functions == {"": functions}


def test_a_difference_is_no_listing_of_methods(tmp_path: Path) -> None:
    text = f'# AppleNeuralEngine\n+  UUID: 1\nSymbols:\n+ {EVALUATE}\n- +[_ANEA b]\n+ _OBJC_CLASS_$_A\nCStrings:\n+ "_ANEString"\n'
    result = listing(tmp_path, text, "AppleNeuralEngine")
    assert (result.added, result.removed) == (
        {"AppleNeuralEngine": {EVALUATE}},
        {"AppleNeuralEngine": {"+[_ANEA b]"}},
    )
    assert result.functions == {}


def test_a_macho_file(tmp_path: Path) -> None:
    path = written(tmp_path, macho([(0x1000, EVALUATE), (0x1100, "_ANECCompile")]), "AppleNeuralEngine")
    assert read_listing(path).functions == {"AppleNeuralEngine": {EVALUATE, "ANECCompile"}}
    damaged = macho([(0x1000, EVALUATE)])[:200]
    with pytest.raises(InputError):
        read_listing(written(tmp_path, damaged, "cut"))


def test_rules_match_are_absent_or_not_listed(tmp_path: Path) -> None:
    result = {
        entry.rule.id: entry for entry in find_rule_presence(load_rules(), [listing(tmp_path, SYMTAB)]).rules
    }
    assert (result["ane.client-evaluate"].state, result["ane.client-evaluate"].functions) == (
        "matches",
        (EVALUATE,),
    )
    assert result["cpu.espresso-bnns"].libraries == ("Espresso",)
    assert result["ane.model-program"].state == "absent"  # of AppleNeuralEngine, which is listed
    assert result["cpu.bnns-filter"].state == "not listed"  # of libBNNS, which is not
    assert "thread.ane-services" not in result


def test_a_library_without_a_name_makes_no_rule_absent(tmp_path: Path) -> None:
    states = {entry.state for entry in find_rule_presence(load_rules(), [listing(tmp_path, EVALUATE)]).rules}
    assert states == {"matches", "not listed"}


def test_two_systems(tmp_path: Path) -> None:
    old = read_listing(written(tmp_path, NM, "old"))
    new = read_listing(written(tmp_path, NM.replace("evaluateWithModel", "runWithModel"), "new"))
    changed = {
        entry.rule.id: entry for entry in find_rule_presence(load_rules(), [new], [old]).rules if entry.change
    }
    assert changed["ane.client-evaluate"].change == "gone"
    assert changed["ane.client-evaluate"].gone == (EVALUATE,)
    fallback = changed["ane.framework"]
    assert (fallback.change, fallback.new) == (
        "other functions",
        ("-[_ANEClient runWithModel:options:request:qos:error:]",),
    )


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["symbols", *arguments])


def test_the_text_of_two_systems(tmp_path: Path) -> None:
    old = written(tmp_path, NM, "old")
    new = written(tmp_path, NM.replace("evaluateWithModel", "runWithModel"), "new")
    ran = run(new, "--old", old)
    assert ran.exit_code == 0, ran.output
    assert "3 functions: AppleNeuralEngine (3). Before: AppleNeuralEngine (3)." in ran.output
    assert (
        "ane.client-evaluate: no function left, 1 gone, 0 new\n    - -[_ANEClient evaluateWithModel"
        in ran.output
    )
    assert "Rules about these libraries without a match\n" in ran.output
    assert "A rule without a match here can still match on that system" in ran.output
    jsonschema.validate(json.loads(run(new, "--old", old, "--format", "json").output), SCHEMA)


def test_the_json(tmp_path: Path) -> None:
    ran = run(written(tmp_path, SYMTAB), "--format", "json")
    document = json.loads(ran.output)
    jsonschema.validate(document, SCHEMA)
    assert document["libraries"] == [
        {"name": "AppleNeuralEngine", "functions": 1},
        {"name": "Espresso", "functions": 1},
    ]
    rule = next(rule for rule in document["rules"] if rule["id"] == "ane.client-evaluate")
    assert (rule["state"], rule["functions"], rule["examples"], rule["old_functions"]) == (
        "matches",
        1,
        [EVALUATE],
        None,
    )


def test_differences_are_not_mixed_with_listings(tmp_path: Path) -> None:
    change, whole = written(tmp_path, f"+ {EVALUATE}\n", "change"), written(tmp_path, NM, "whole")
    assert "lists changes; name it without listings of whole libraries" in run(change, whole).stderr
    assert "lists changes already" in run(change, "--old", change).stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        '"a string"\n',
        "                 U _objc_msgSend\n",
        "Once upon a time\nthere was prose.\n",
    ],
)
def test_a_file_without_functions_is_refused(tmp_path: Path, text: str) -> None:
    ran = run(written(tmp_path, text))
    assert (ran.exit_code, "lists no function. Save what" in ran.stderr) == (3, True)


def test_a_missing_file_is_refused() -> None:
    assert "does not exist, or is a folder" in run("nowhere.txt").stderr


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    ran = run(written(tmp_path, "-[_ANEClient evaluate\x1b[31m]\n"))
    assert "\x1b" not in ran.output
    assert "\\x1b[31m" in ran.output


def test_the_real_difference(shared: Path) -> None:
    path = shared / "evidence" / "stack_dumps" / "symtab_AppleNeuralEngine_diff_excerpt.txt"
    lines = path.read_text().splitlines()
    result = read_listing(str(path), "AppleNeuralEngine")
    expected = {line[2:] for line in lines if line.startswith("+ ") and "_OBJC_CLASS_" not in line}
    assert (result.added, result.removed) == ({"AppleNeuralEngine": expected}, {})
    ran = run(str(path), "--library", "AppleNeuralEngine", "-v")
    assert "ane.framework: 0 gone, 4 new" in ran.output
    jsonschema.validate(json.loads(run(str(path), "--format", "json").output), SCHEMA)
    assert "A difference lists what changed and nothing that stayed" in ran.output
