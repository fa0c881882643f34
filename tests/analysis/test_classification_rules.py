"""The rules as data: the built-in file keeps its promises; a user's file is merged, or refused in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis.classification.frame_names import (
    MAX_SYMBOL,
    has_symbol,
    normalize_binary,
    normalize_frame,
)
from tracekit.analysis.classification.pattern_literals import find_required_literals
from tracekit.analysis.classification.rule_set import BUILT_IN as FILE
from tracekit.analysis.classification.rule_set import RuleSet, load_rules
from tracekit.analysis.classification.rules import Rule
from tracekit.analysis.classification.rules_file import read_rules_file
from tracekit.errors import InputError
from tracekit.model.vocabulary import Engine, Phase

BUILT_IN = load_rules()


def by_id(rule: Rule) -> str:
    return rule.id


@pytest.mark.parametrize("rule", BUILT_IN.rules, ids=by_id)
def test_the_example_of_every_rule_is_matched_by_this_very_rule_first(rule):
    assert rule.example is not None
    if rule.strength == "thread":
        match = BUILT_IN.match_thread(rule.example.thread)
    else:
        match = BUILT_IN.match(rule.example.binary, rule.example.symbol).rule
    assert BUILT_IN.rules[match].id == rule.id


@pytest.mark.parametrize("rule", BUILT_IN.rules, ids=by_id)
def test_every_rule_has_a_meaning_and_a_source(rule):
    assert rule.means
    assert rule.confidence in ("A", "B", "C")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+(#\d+|:[\w./-]+)?", rule.source), rule.source


def test_the_built_in_file_stands_every_check_of_a_users_file():
    assert read_rules_file(FILE).rules == BUILT_IN.rules


def test_ids_are_unique_and_name_the_engine():
    ids = [rule.id for rule in BUILT_IN.rules]
    assert len(set(ids)) == len(ids)
    prefixes = {Engine.ANE: "ane.", Engine.GPU: "gpu.", Engine.CPU: "cpu."}
    for rule in BUILT_IN.rules:
        if rule.engine in prefixes and rule.strength != "thread":
            assert rule.id.startswith(prefixes[rule.engine])


@pytest.mark.parametrize(
    ("recorded", "plain"),
    [
        ("libBNNS.dylib", "libBNNS"),
        ("com.apple.MetalPerformanceShaders.MPSCore", "MPSCore"),
        ("com.apple.framework.IOKit", "IOKit"),
        ("com.apple.espresso", "Espresso"),
        ("com.apple.vision.EspressoFramework", "Espresso"),
        ("com.apple.VN", "Vision"),
        ("com.macrabbit.Espresso", "com.macrabbit.Espresso"),
        ("espresso", "espresso"),
        ("...ple.CoreServices.CarbonCore", "CarbonCore"),
        ("libonnxruntime.1.17.0.dylib", "libonnxruntime"),
        ("libggml-metal.0.dylib", "libggml-metal"),
        ("libtensorflow_framework.2.dylib", "libtensorflow_framework"),
        ("_C.cpython-310-darwin.so", "_C"),
        ("core.abi3.so", "core"),
        ("libobjc.A.dylib", "libobjc"),
        ("libSystem.B.dylib", "libSystem"),
        ("libc++.1.dylib", "libc++"),
        ("/System/Library/PrivateFrameworks/Espresso.framework/Espresso", "Espresso"),
        ("AGXMetalG15X_B0", "AGXMetalG15X_B0"),
        ("kernel.release.t6030", "kernel.release.t6030"),
        ("My App", "My App"),
        ("com.apple.ANEServices (6.1 - 6.1)", "ANEServices"),
        ("libBNNS.dylib (288.60.2)", "libBNNS"),
        ("AppleH11ANEInterface + 501752", "AppleH11ANEInterface"),
        ("", ""),
    ],
)
def test_binaries_have_one_spelling(recorded, plain):
    assert normalize_binary(recorded) == plain


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [
        (
            "__ZNK4E5RT3Ops4Impl38AneInferenceOperationImplUsingAnefAPIs18EvaluateANERequestEP11_ANERequest",
            "E5RT::Ops::Impl::AneInferenceOperationImplUsingAnefAPIs::EvaluateANERequest(",
        ),
        ("_ZN2at6native12_GLOBAL__N_110add_kernelEv", "at::native::(anonymous namespace)::add_kernel("),
        ("-[_ANEModel program]", "-[_ANEModel program]"),
        ("_Zebra", "_Zebra"),
    ],
)
def test_mangled_names_become_readable(mangled, readable):
    assert normalize_frame("", mangled)[1] == readable


@pytest.mark.parametrize(
    ("binary", "symbol", "plain"),
    [
        (
            "",
            "mach_msg2_trap  (in libsystem_kernel.dylib) + 8  [0x18b58]",
            ("libsystem_kernel", "mach_msg2_trap"),
        ),
        ("", "???  (in ANEServices)  load address 0x1a8 + 0x5ec  [0x1a8]", ("ANEServices", "???")),
        ("", "??? (AppleH11ANEInterface + 501752) [0xfe00] 11", ("AppleH11ANEInterface", "???")),
        ("", "close() + 232 (AppleH11ANEInterface + 48) [0xfe00] 11", ("AppleH11ANEInterface", "close()")),
        (
            "",
            "frame #5: 0x0242 libBNNS.dylib`BNNSGraphContextExecute_v2 + 480",
            ("libBNNS", "BNNSGraphContextExecute_v2"),
        ),
        ("", "abort Address = 0x7fff (filename not found) [in libsystem_c.dylib]", ("libsystem_c", "abort")),
        ("Other", "start (in dyld) + 6", ("Other", "start")),
        ("CoreML", "-[MLModel x] (CoreML)", ("CoreML", "-[MLModel x]")),
        ("Flutter", "impeller::Draw() + 241 (render_pass_mtl.mm:241)", ("Flutter", "impeller::Draw()")),
        ("App", "run(data=1 bytes) at Audio.swift:296:34", ("App", "run(data=1 bytes)")),
        ("Kern", "0x18224b000 + 0xe08 \t// mach_msg_trap + 0x8", ("Kern", "mach_msg_trap")),
        ("Image", "__ZN2CI7Context6renderEPNS_4NodeE :59 (in CoreImage)", ("Image", "CI::Context::render(")),
        ("libmlx.dylib", "f(int) (.cold.1)", ("libmlx", "f(int) (.cold.1)")),
        ("App", "Foo.`default`.getter", ("App", "Foo.`default`.getter")),
    ],
)
def test_places_around_a_symbol_are_taken_away(binary, symbol, plain):
    assert normalize_frame(binary, symbol) == plain


def test_very_long_symbols_are_cut():
    assert len(normalize_frame("", "x" * 1_000_000)[1]) == MAX_SYMBOL


@pytest.mark.parametrize(
    "symbol",
    [
        "",
        "???",
        "0x1024044f0",
        "+ 0x12",
        "0x102f70000 + 499864",
        "<redacted>",
        "<redacted> + 192",
        "??? (AppleH11ANEInterface + 5) [0xfe00]",
        "___lldb_unnamed_symbol958",
    ],
)
def test_a_placeholder_is_no_symbol(symbol):
    assert not has_symbol(symbol)


@pytest.mark.parametrize("symbol", ["main", "main + 4", "-[A b]", "0xdead_handler", "operator+"])
def test_a_name_is_a_symbol(symbol):
    assert has_symbol(symbol)


PATTERNS = [
    r"\bggml_(?:backend_)?metal_",
    r"a?bc*de+fg",
    r"(?:ab|cde)f|gh(?:ij)?",
    r"[-+]\[_ANE(?:Client|Model) (?:do)?[eE]valuate",
    r"x{2,3}yz(?!q)",
    r"(?P<n>ab)+c",
    r"\w+",
    r"a\.b\(c|[]x]y",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(deadline=None)
@given(data=st.data())
def test_a_match_contains_one_of_the_literals_of_its_pattern(pattern, data):
    text = data.draw(st.from_regex(pattern, alphabet=st.characters(codec="ascii")))
    literals = find_required_literals(pattern)
    assert not literals or any(literal in text for literal in literals)


def test_literals_are_found_where_they_matter():
    assert find_required_literals(PATTERNS[0]) == ("ggml_",) or find_required_literals(PATTERNS[0]) == (
        "metal_",
    )
    assert find_required_literals(r"\bE5RT::|\be5rt_\w+") == ("E5RT::", "e5rt_")
    assert find_required_literals(r"\w+") == ()


@pytest.mark.parametrize(
    ("pattern", "symbol"),
    [
        ("(?i)mylib_kernel", "MyLib_Kernel"),
        ("(?i:mylib)_kernel", "MYLIB_kernel"),
        ("(?#ours)mylib", "mylib"),
        ("(?s:m.l)ib", "m\nlib"),
    ],
)
def test_a_rule_with_flags_or_a_comment_matches(pattern, symbol):
    assert RuleSet((Rule(id="mine", engine=Engine.CPU, symbol=pattern),)).match("App", symbol).rule == 0


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


OWN = """
[[rule]]
id = "cpu.mine"
engine = "CPU"
symbol = 'mylib::kernels::'
example = { binary = "App", symbol = "mylib::kernels::gemm(float*)" }
"""


def test_own_rules_come_before_the_built_in_ones(tmp_path):
    markers = load_rules(write(tmp_path, OWN))
    assert markers.rules[0].id == "cpu.mine"
    assert markers.rules[1:] == BUILT_IN.rules
    assert markers.rules[markers.match("App", "mylib::kernels::gemm(float*)").rule].id == "cpu.mine"


def test_phases_and_strength_have_defaults(tmp_path):
    rule = load_rules(write(tmp_path, OWN)).rules[0]
    assert (rule.strength, rule.phase) == ("decisive", Phase.EXECUTE)


def test_a_known_id_replaces_the_built_in_rule_in_its_place(tmp_path):
    text = '[[rule]]\nid = "cpu.bnns"\nengine = "OTHER"\nbinary = ["libBNNS"]\n'
    markers = load_rules(write(tmp_path, text))
    index = markers.index["cpu.bnns"]
    assert index == BUILT_IN.index["cpu.bnns"]
    assert markers.rules[index].engine is Engine.OTHER
    assert len(markers.rules) == len(BUILT_IN.rules)


def test_rules_can_be_disabled(tmp_path):
    markers = load_rules(write(tmp_path, 'disable = ["gpu.mps-core"]\n'))
    assert "gpu.mps-core" not in markers.index
    assert len(markers.rules) == len(BUILT_IN.rules) - 1


def rule(text: str) -> str:
    return f'[[rule]]\nid = "x"\n{text}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rule = 3", "'rule' must be a list of tables"),
        ("rules = []", "unknown key 'rules' (did you mean 'rule'?)"),
        ("[[rule]]\nengine = 'CPU'", "rule number 1: the rule needs an 'id'"),
        (rule("engine = 'CPU'"), "rule 'x': the rule matches nothing"),
        (rule("symbol = 'a'"), "rule 'x': the rule needs an 'engine'"),
        (rule("engine = 'ANE'\nsimbol = 'a'"), "unknown key 'simbol' (did you mean 'symbol'?)"),
        (rule("engine = 'gpu'\nsymbol = 'a'"), "'gpu' is not a valid engine (did you mean 'GPU'?)"),
        (rule("engine = 'UNKNOWN'\nsymbol = 'a'"), "'UNKNOWN' is not a valid engine"),
        (rule("engine = ['GPU']\nsymbol = 'a'"), "is not a valid engine"),
        (rule("engine = 'GPU'\nphase = 'run'\nsymbol = 'a'"), "'run' is not a valid phase"),
        (rule("engine = 'GPU'\nsymbol = '('"), "not a valid regular expression"),
        (
            rule("engine = 'GPU'\nsymbol = '[a--b]x'"),
            "ambiguous regular expression: Possible set difference at position 2",
        ),
        (rule("engine = 'GPU'\nsymbol = '(a+)+b'"), "repeats a group that itself repeats"),
        (rule("engine = 'GPU'\nsymbol = 7"), "'symbol' must be a string"),
        (rule("engine = 'GPU'\nbinary = 'Metal'"), "'binary' must be a list of strings"),
        (rule("engine = 'GPU'\nsymbol = 'a'\nancestor = 1"), "'ancestor' must be true or false"),
        (rule("engine = 'GPU'\nstrength = 'context'\nsymbol = 'a'"), "a context rule cannot name an engine"),
        (rule("engine = 'GPU'\nsymbol = 'a'\nscope = 'stack'"), 'needs phase = "load" or "compile"'),
        (
            rule("engine = 'GRAPHICS'\nsymbol = 'a'\nphase = 'wait'"),
            "a rule with engine GRAPHICS cannot have a phase",
        ),
        (rule("engine = 'GPU'\nsymbol = 'a'\notherwise = 'GRAPHICS'"), "'otherwise' needs strength"),
        (rule("engine = 'GPU'\nstrength = 'needs-ml'\nsymbol = 'a'\nboundary = 'call'"), "'boundary' needs"),
        (rule("engine = 'ANE'\nstrength = 'thread'\nsymbol = 'a'"), "a rule on thread names needs 'thread'"),
        (
            rule("engine = 'ANE'\nstrength = 'thread'\nthread = 'a'\nphase = 'dispatch'"),
            "a thread name does not prove work",
        ),
        (rule("engine = 'ANE'\nthread = 'a'"), "'thread' needs strength"),
        (rule("engine = 'ANE'\nsymbol = 'a'\nneeds_binary = true"), "'needs_binary' needs a 'binary'"),
        (
            rule("engine = 'ANE'\nsymbol = 'a'\nexample = { symbol = 'b' }"),
            "the rule does not match its own example",
        ),
        (rule("engine = 'ANE'\nsymbol = 'a'\nexample = 'a'"), "an example must be a table"),
        (
            rule("engine = 'ANE'\nsymbol = 'a'\ncounter_examples = [{ symbol = 'ba' }]"),
            "the rule matches its counter-example 'ba'",
        ),
        (rule("engine = 'ANE'\nsymbol = 'a'") * 2, "the id 'x' is used twice"),
        ("disable = ['gpu.mps-cor']", "not a built-in rule (did you mean 'gpu.mps-core'?)"),
        ("disable = 'all'", "'disable' must be a list of strings"),
        ("rule = [", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_users_file_gets_a_sentence(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_rules(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_rules(tmp_path / "nothing.toml")


def test_a_folder_is_no_file_of_rules(tmp_path):
    with pytest.raises(InputError, match="is not a file of rules"):
        load_rules(tmp_path)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a UTF-8 text file"):
        load_rules(path)


def test_a_huge_file(tmp_path):
    with pytest.raises(InputError, match="larger than 200 kB"):
        load_rules(write(tmp_path, "#" * 200_001))
    with pytest.raises(InputError, match="is not valid TOML: Exceeds the limit"):
        load_rules(write(tmp_path, "a = " + "9" * 5_000))
