"""Private names are recognised however they are spelled, and common words of code are left alone."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest
from attack.leaks import leaks
from attack.private_names import home, random_secrets, spelled
from hypothesis import given
from hypothesis import strategies as st

from tracekit.redact.folder_names import find_users_and_volumes
from tracekit.redact.rewriting import TextRewriter, rewrite_parts
from tracekit.redact.words import PrivateNames

NAMES = PrivateNames(
    own=frozenset({"App", "Viewer Helper"}),
    others=frozenset(
        {"Secretd", "Secretd Agent", "App Helper", "log", "Viewer", "main", "sh", "Instruments"}
    ),
    devices=frozenset({"José’s MacBook Pro"}),
    users=frozenset({"alice", "alice smith", "max", "bob", "al", "jhalvorsen", "jenkins", "core"}),
    volumes=frozenset({"halvorsen disk", "projects", "core ml"}),
)
REWRITER = TextRewriter(NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/Users/alice/x", "~/x"),
        ("/Users/zoe/x", "~/x"),
        (r"\/Users\/alice\/x", r"~\/x"),
        (r"\\\/Users\\\/alice\\\/x", r"~\\\/x"),
        ("//Users//alice/x", "/~/x"),
        ("/Users/./alice/x", "~/x"),
        ("/users/ALICE/x", "~/x"),
        ("%2FUsers%2Falice%2Fx", "~%2Fx"),
        ("%252FUsers%252Falice%252Fx", "~%252Fx"),
        ("&#x2F;Users&#47;alice&#x2f;x", "~&#x2f;x"),
        ("&amp;#x2F;Users&amp;#x2F;alice", "~"),
        (r"\u002fUsers\u002falice\u002fx", r"~\u002fx"),
        (r"\\u002fUsers\\x2falice\057x", r"~\057x"),
        (r"C:\Users\nina\x", r"C:~\x"),
        ("/Users/alice smith/x", "~/x"),
        ("/Users/zoe o’hara/x", "~/x"),
        ("'/Users/zoe' and /Users/bob, too", "'~' and ~, too"),
        ("file:///Users/alice/x", "file://~/x"),
        ("/home/zoe/x", "~/x"),
        ("/Users/max/x", "~/x"),
        ("/Users/Shared/x", "/Users/Shared/x"),
        ("/Library/Java/Contents/Home/lib/x", "/Library/Java/Contents/Home/lib/x"),
    ],
)
def test_home_folders(text: str, expected: str) -> None:
    assert REWRITER.rewrite_text(text) == expected
    assert REWRITER.rewrite_code([text]) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("José’s MacBook Pro", "device"),
        ("Jose's MacBook Pro", "device"),
        ("jose‘s_macbook_pro", "device"),
        ("Joses-MacBook-Pro.local", "device.local"),
        (unicodedata.normalize("NFD", "JOSÉ’S MACBOOK PRO 2"), "device 2"),
        ("Jos%C3%A9%E2%80%99s%20MacBook+Pro", "device"),
        (r"Jos\u00e9\u2019s MacBook Pro", "device"),
        ("alice_tmp by Alice, ALICE’s", "user_tmp by user, user’s"),
        ("-[AliceKit run] malice aliced", "-[userKit run] malice aliced"),
        (r"first\nalice", r"first\nuser"),
        ("alice.smith@example.com", "user@example.com"),
        ("Secretd, SECRETD-agent, secretdish", "other-process, other-process, secretdish"),
        ("std::max(Max)", "std::max(Max)"),
        ("log a catalog, Log", "other-process a catalog, Log"),
        ("App Helper, App, Viewer Helper", "other-process, App, Viewer Helper"),
        ("Viewer", "other-process"),
        ("main thread", "other-process thread"),
        (
            "Instruments reported while recording: Secretd",
            "Instruments reported while recording: other-process",
        ),
    ],
)
def test_names_in_texts(text: str, expected: str) -> None:
    assert REWRITER.rewrite_text(text) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("main", "main"),
        ("bob::run(int)", "bob::run(int)"),
        ("log", "log"),
        ("-[Viewer show]", "-[Viewer show]"),
        ("alice::run(secretd::Client&)", "user::run(other-process::Client&)"),
        ("$s5alice3AppV", "$s5user3AppV"),
        ("jose_s_macbook_pro", "device"),
        ("SecretD2F_server", "SecretD2F_server"),
        ("aliceView", "userView"),
    ],
)
def test_names_in_code(symbol: str, expected: str) -> None:
    assert REWRITER.rewrite_code([symbol]) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("libalice.dylib, libAlice, libbob.a", "libuser.dylib, libuser, libuser.a"),
        ("malice libmalice libalicex", "malice libmalice libalicex"),
        ("/opt/myalice/x and alicetool.app", "/opt/myuser/x and usertool.app"),
        ("@rpath/Xalice.framework/Xalice", "@rpath/Xuser.framework/Xuser"),
        ("/opt/challicenge/x", "/opt/challicenge/x"),
        ("xjhalvorsenx", "xuserx"),
        ("/data/max/x, /srv/al, /srv/libmax.dylib", "/data/user/x, /srv/user, /srv/libuser.dylib"),
        ("min/max, max/min, /data/maximum/x, final", "min/max, max/min, /data/maximum/x, final"),
        ("/opt/jenkins/x, /opt/core/CoreML.mlmodelc", "/opt/jenkins/x, /opt/core/CoreML.mlmodelc"),
        ("/System/Library/alice.framework/libalice", "/System/Library/alice.framework/libalice"),
        ("/x/RuntimeRoot/usr/lib/alice and alice", "/x/RuntimeRoot/usr/lib/alice and user"),
        ("/Users/zoe/System/Library/alice", "~/System/Library/user"),
        ("/Applications/My System/Library/alice", "/Applications/My System/Library/user"),
    ],
)
def test_users_in_paths_and_names_of_files(text: str, expected: str) -> None:
    assert REWRITER.rewrite_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/Volumes/T7/x", "/Volumes/volume/x"),
        ("/Volumes/Zoe’s Old Disk/x", "/Volumes/volume/x"),
        ("/Volumes/Zoe's Disk", "/Volumes/volume"),
        ("'/Volumes/T7' of", "'/Volumes/volume' of"),
        ("file:///Volumes/Zoe%20Disk/x", "file:///Volumes/volume/x"),
        (r"\/Volumes\/Zoe Disk\/x", r"\/Volumes\/volume\/x"),
        ("copied to Halvorsen_Disk", "copied to volume"),
        ("projects in CoreML", "projects in CoreML"),
        ("/Volumes/Data/Users/zoe/x", "/Volumes/volume~/x"),
        ("/System/Volumes/Preboot/x", "/System/Volumes/Preboot/x"),
        ("/Library/Developer/CoreSimulator/Volumes/iOS_21A328/x",) * 2,
    ],
)
def test_volumes(text: str, expected: str) -> None:
    assert REWRITER.rewrite_text(text) == expected


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("libalice.dylib", "", "libuser.dylib"),
        ("alicetool", "/opt/alicetool", "usertool"),
        ("Max", "/opt/Max", "user"),
        ("MaxPlugin", "", "MaxPlugin"),
        ("CoreML", "", "CoreML"),
        ("Alice", "/System/Library/Frameworks/Alice.framework/Alice", "Alice"),
        ("Alice", "/opt/System/Library/Alice", "user"),
        ("Alice", "/System/Library/Frameworks/Other", "user"),
    ],
)
def test_names_of_binaries(name: str, path: str, expected: str) -> None:
    assert REWRITER.rewrite_binaries([name], [path]) == [expected]


@pytest.mark.integration
def test_many_names_in_a_long_path_take_linear_time() -> None:
    text = "/x" * 200_000 + " /max/libalice" * 50_000
    started = time.process_time()
    assert REWRITER.rewrite_text(text).endswith(" /user/libuser" * 50_000)
    assert time.process_time() - started < 10


def test_a_name_that_begins_in_one_part_of_a_cell_and_ends_in_the_next() -> None:
    cell = (("string", "see /Us"), ("label", (("string", "ers/ali"), ("uint64", 7))), ("string", "ce"))
    spread = (("string", "Secr"), ("string", "etd ran"), ("uint64", 5))
    glued = (("state", "Fair"), ("string", "ali"), ("string", "ce"), ("state", "Fair"))
    assert rewrite_parts(REWRITER, frozenset(), [cell, spread, glued]) == [
        (("string", "see ~"), ("label", (("string", ""), ("uint64", 7))), ("string", "ce")),
        (("string", "other-process"), ("string", " ran"), ("uint64", 5)),
        (("state", "Fair"), ("string", "user"), ("string", ""), ("state", "Fair")),
    ]


def test_users_are_learned_from_home_folders() -> None:
    texts = [
        r"\/Users\/zoe\/x",
        "/Users/anna maria/y",
        "/USERS/Bo7/z",
        "https://example.com/users/carl",
        "/home/dora",
    ]
    assert find_users_and_volumes(texts)[0] == {"zoe", "anna maria", "anna", "bo7", "dora"}


def test_what_was_rewritten_stays() -> None:
    texts = ["/Users/alice/x on José’s MacBook Pro by Secretd", "user device other-process ~", "a\0b alice"]
    once = REWRITER.rewrite_texts(texts)
    assert REWRITER.rewrite_texts(once) == once
    assert once[2] == "a\0b user"


@given(st.integers(0, 2**32))
def test_no_spelling_of_a_name_is_left(seed: int) -> None:
    dice = random.Random(seed)
    secrets = random_secrets(dice)
    names = PrivateNames(
        own=frozenset({"App"}),
        others=frozenset({*secrets.processes, secrets.listed_process}),
        devices=frozenset({secrets.device}),
        users=frozenset(secrets.users),
        volumes=frozenset({secrets.volume}),
    )
    rewriter = TextRewriter(names)
    texts = [spelled(dice, name) for name in secrets.everything()] + [home(dice, secrets.users[0])]
    for written in (rewriter.rewrite_texts(texts), rewriter.rewrite_code(texts)):
        assert not leaks("\n".join(written), secrets.everything())


@given(st.text(max_size=40), st.text(max_size=10))
def test_a_text_without_names_is_unchanged(text: str, after: str) -> None:
    rewriter = TextRewriter(PrivateNames(devices=frozenset({"Qzxvw Qzxvw"}), users=frozenset({"vqxjz"})))
    assert rewriter.rewrite_texts([text]) == [text]
    assert rewriter.rewrite_texts([f"{text} vqxjz {after}"]) == [f"{text} user {after}"]
