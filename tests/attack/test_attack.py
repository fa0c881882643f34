"""A few attempts of every attack, so that the programs of ``make attack`` do not rot and their findings stay fixed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attack import bombs, forged_requests, kills, mutations, run, text_bombs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the attacks limit processes as POSIX does")

SMALL_BOMBS = (
    "tar: sparse member of 8 TB",
    "tar: pax record of 1 GB in xz",
    "zip: a directory of 2^63 members",
    "export: entities that double",
    "bundle: FIFOs and devices",
    "pack: arrays of 2^63 values claimed",
    "check: a TOML number of 10 million digits",
    "symbols: a small zip of many attributes",
    "symbols: an origin that is its own",
)


SMALL_TEXTS = ("text: ips: 4,000 documents", "text: ips: nested lists", "overlay: the device of zeros")


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SMALL_BOMBS)
def test_a_bomb_ends_in_a_verdict_or_a_sentence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bombs.main(["--only", name]) == 0, capsys.readouterr().out


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SMALL_TEXTS)
def test_a_text_ends_in_a_verdict_or_a_sentence(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bombs.main(["--only", name], text_bombs.BOMBS) == 0, capsys.readouterr().out


def test_an_attack_states_what_it_had_no_time_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert bombs.main(["--seconds", "0"], text_bombs.BOMBS) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert f"total 0 of {len(text_bombs.BOMBS)}: the others had no time in 0 s" in output


@pytest.mark.fuzz
def test_mutated_inputs_end_in_a_result_or_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutations.main(["--cases", "4", "--seed", "3"]) == 0, capsys.readouterr().out


@pytest.mark.integration
def test_forged_requests_are_refused_and_leave_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert forged_requests.main(["--cases", "120"]) == 0, capsys.readouterr().out


@pytest.mark.integration
def test_a_killed_server_loses_no_acknowledged_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kills.main(["--cases", "1", "--seed", "2"]) == 0, capsys.readouterr().out


def test_there_are_sixty_kinds_of_bombs_and_more() -> None:
    assert len(bombs.BOMBS) > 60
    assert len({bomb.name for bomb in bombs.BOMBS}) == len(bombs.BOMBS)
    assert set(SMALL_BOMBS) <= {bomb.name for bomb in bombs.BOMBS}


def test_the_parts_of_all_attacks_exist_and_share_the_time() -> None:
    assert all((run.HERE / part.program).is_file() and part.weight > 0 for part in run.PARTS)
    assert {"bombs.py", "text_bombs.py"} <= {part.program for part in run.PARTS}


def test_every_kind_of_text_has_a_bomb() -> None:
    names = {bomb.name for bomb in text_bombs.BOMBS}
    assert len(names) == len(text_bombs.BOMBS)
    assert set(SMALL_TEXTS) <= names
    assert {name.split(": ")[1] for name in names if name.startswith("text: ")} == {
        "crash", "deep copy", "ips", "lldb", "log", "microstackshots", "power", "sample", "spindump",
    }  # fmt: skip
