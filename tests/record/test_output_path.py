"""The path of a recording: whatever happens, an earlier one stays whole until the new one is there."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from tracekit.errors import UsageError
from tracekit.record import output_path as output_path_module
from tracekit.record.output_path import check_output_path, reserve_output_path


def bundle(path: Path, content: str = "old", runs: int = 1) -> Path:
    """Make a finished recording, identified by ``content``."""
    path.mkdir(parents=True)
    (path / "form.template").write_text(content)
    for number in range(1, runs + 1):
        add_run(path, number, content)
    return path


def add_run(path: Path, number: int, content: str) -> None:
    (path / f"Trace{number}.run").mkdir()
    (path / f"Trace{number}.run" / "data").write_text(content)


def content(path: Path) -> str:
    """Return the content of the recording at ``path``; "" where it is not whole."""
    try:
        texts = {file.read_text() for file in (path / "form.template", path / "Trace1.run" / "data")}
    except OSError:
        return ""
    return texts.pop() if len(texts) == 1 else ""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refusal(final: Path, *, replace: bool = False, append: bool = False) -> str:
    with pytest.raises(UsageError) as caught:
        check_output_path(final, replace=replace, append=append)
    return str(caught.value)


# Before anything is recorded ------------------------------------------------------------------------------


def test_a_fresh_name_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_output_path(tmp_path / "x.trace", replace=False, append=False)
    monkeypatch.chdir(tmp_path)
    check_output_path(Path("x.trace"), replace=False, append=False)


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    final = bundle(tmp_path / "x.trace")
    assert refusal(final) == f"{final} exists and will not be overwritten without --force."
    check_output_path(final, replace=True, append=False)


def test_a_link_to_nothing_is_something_that_exists(tmp_path: Path) -> None:
    (tmp_path / "x.trace").symlink_to("nowhere")
    assert "exists and will not be overwritten" in refusal(tmp_path / "x.trace")


def test_force_replaces_nothing_but_recordings(tmp_path: Path) -> None:
    (tmp_path / "file.trace").write_text("mine")
    (tmp_path / "folder.trace").mkdir()
    (tmp_path / "folder.trace" / "thesis.txt").write_text("mine")
    (tmp_path / "link.trace").symlink_to(bundle(tmp_path / "x.trace"))
    for name in ("file.trace", "folder.trace", "link.trace"):
        assert "is not a recording and will not be overwritten" in refusal(tmp_path / name, replace=True)


@pytest.mark.parametrize("inside", ["Trace1.run", "Attachments", "form.template", ""])
def test_force_replaces_an_unfinished_or_empty_recording(tmp_path: Path, inside: str) -> None:
    (tmp_path / "x.trace" / inside).mkdir(parents=True)
    check_output_path(tmp_path / "x.trace", replace=True, append=False)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "its folder does not exist" in refusal(tmp_path / "no" / "x.trace")


def test_a_name_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "its folder does not exist" in refusal(tmp_path / "file" / "x.trace")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_named(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "its folder is not writable" in refusal(tmp_path / "locked" / "x.trace")


@pytest.mark.parametrize("kind", ["nothing", "file", "folder"])
def test_a_run_is_added_to_recordings_only(tmp_path: Path, kind: str) -> None:
    final = tmp_path / "x.trace"
    if kind == "file":
        final.write_text("mine")
    elif kind == "folder":
        final.mkdir()
        (final / "thesis.txt").write_text("mine")
    assert "is not a recording, so no run can be added to it" in refusal(final, append=True)


# Writing to it ---------------------------------------------------------------------------------------------


def test_a_fresh_recording_is_written_in_place(tmp_path: Path) -> None:
    output = reserve_output_path(tmp_path / "x.trace", append=False)
    assert output.working == output.final
    bundle(output.working, "new")
    assert output.commit() == tmp_path / "x.trace"
    assert content(tmp_path / "x.trace") == "new"


@pytest.mark.parametrize("good", [True, False])
def test_a_bad_recording_without_predecessor_stays_where_it_is(tmp_path: Path, good: bool) -> None:
    output = reserve_output_path(tmp_path / "x.trace", append=False)
    bundle(output.working, "new")
    assert content(output.commit() if good else output.restore()) == "new"
    assert names(tmp_path) == ["x.trace"]


def test_a_good_recording_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=False)
    bundle(output.working, "new")
    assert content(output.final) == "old"
    assert content(output.commit()) == "new"
    assert names(tmp_path) == ["x.trace"]


def test_a_bad_recording_leaves_the_earlier_one_and_stays_beside_it(tmp_path: Path) -> None:
    """Both have a Trace1.run, and what the new one holds may be recovered: it is no copy of the old one."""
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=False)
    output.working.mkdir()
    add_run(output.working, 1, "unfinished")
    left = output.restore()
    assert content(tmp_path / "x.trace") == "old"
    assert (left / "Trace1.run" / "data").read_text() == "unfinished"


def test_a_recording_that_never_began_leaves_the_earlier_one_alone(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=False)
    output.restore()
    assert names(tmp_path) == ["x.trace"]
    assert content(tmp_path / "x.trace") == "old"


def test_earlier_attempts_are_not_overwritten(tmp_path: Path) -> None:
    final = bundle(tmp_path / "x.trace")
    bundle(tmp_path / "x.new.trace", "earlier attempt")
    output = reserve_output_path(final, append=False)
    bundle(output.working, "new")
    output.commit()
    assert (content(final), content(tmp_path / "x.new.trace")) == ("new", "earlier attempt")
    assert names(tmp_path) == ["x.new.trace", "x.trace"]


def test_an_earlier_recording_may_be_removed_meanwhile(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=False)
    bundle(output.working, "new")
    shutil.rmtree(output.final)
    assert content(output.commit()) == "new"


# Adding a run ---------------------------------------------------------------------------------------------


def test_a_run_is_added_to_a_copy_which_takes_the_originals_place(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=True)
    assert content(output.working) == "old"
    add_run(output.working, 2, "second")
    assert not (output.final / "Trace2.run").exists()
    assert output.commit() == output.final
    assert (output.final / "Trace2.run" / "data").read_text() == "second"
    assert names(tmp_path) == ["x.trace"]


def test_a_copy_that_was_spoilt_before_a_run_was_added_is_removed(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=True)
    (output.working / "form.template").write_text("spoilt")
    output.restore()
    assert names(tmp_path) == ["x.trace"]
    assert content(output.final) == "old"


def test_a_copy_with_a_bad_further_run_is_kept_beside_the_original(tmp_path: Path) -> None:
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=True)
    add_run(output.working, 2, "unfinished")
    left = output.restore()
    assert (left / "Trace2.run" / "data").read_text() == "unfinished"
    assert content(output.final) == "old"
    assert not (output.final / "Trace2.run").exists()


def test_a_run_added_through_a_link_leaves_nothing_beside_it(tmp_path: Path) -> None:
    bundle(tmp_path / "elsewhere" / "x.trace")
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "x.trace"
    link.symlink_to(tmp_path / "elsewhere" / "x.trace")
    check_output_path(link, replace=False, append=True)
    output = reserve_output_path(link, append=True)
    add_run(output.working, 2, "second")
    output.commit()
    assert (link / "Trace2.run" / "data").read_text() == "second"
    assert names(tmp_path / "here") == ["x.trace"]
    assert content(tmp_path / "elsewhere" / "x.trace") == "old"


def test_without_space_for_a_copy_no_run_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_path_module, "measure_free_bytes", lambda _folder: 3)
    monkeypatch.setattr(output_path_module.sys, "platform", "linux")  # on APFS a copy takes no space
    with pytest.raises(UsageError, match="there is no space for a copy"):
        reserve_output_path(bundle(tmp_path / "x.trace"), append=True)
    assert names(tmp_path) == ["x.trace"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_copy_that_is_broken_off_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def copy(_source: Path, target: Path, **_more: object) -> None:
        (target / "half").mkdir(parents=True)
        raise error

    monkeypatch.setattr(output_path_module.sys, "platform", "linux")
    monkeypatch.setattr(output_path_module.shutil, "copytree", copy)
    with pytest.raises(UsageError if isinstance(error, OSError) else KeyboardInterrupt):
        reserve_output_path(bundle(tmp_path / "x.trace"), append=True)
    assert names(tmp_path) == ["x.trace"]
    assert content(tmp_path / "x.trace") == "old"


# Killed at any step ---------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process was killed: nothing runs any more."""


@pytest.mark.parametrize("append", [False, True], ids=["force", "append"])
@pytest.mark.parametrize("step", range(6))
def test_killed_at_any_step_both_or_one_of_the_recordings_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, append: bool
) -> None:
    """Every rename and every removed file is a step; from the last on, nothing happens at all."""
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=append)
    if append:
        shutil.rmtree(output.working)
    bundle(output.working, "new", runs=2 if append else 1)
    steps = 0

    def dies_at(name: str, owner: object) -> None:
        real = getattr(owner, name)

        def call(*arguments: object, **more: object) -> object:
            nonlocal steps
            steps += 1
            if steps > step:
                raise Killed
            return real(*arguments, **more)

        monkeypatch.setattr(owner, name, call)

    dies_at("rename", Path)
    dies_at("unlink", os)
    dies_at("rmdir", os)
    with suppress(Killed):
        output.commit()
    whole = {name: content(tmp_path / name) for name in names(tmp_path)}
    assert "new" in whole.values(), "the new recording was made, and is there"
    if whole.get("x.trace") != "new":
        assert "old" in whole.values(), "until the new one is in its place, the old one is there"


def test_the_renames_are_the_first_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would not die between them."""
    output = reserve_output_path(bundle(tmp_path / "x.trace"), append=False)
    bundle(output.working, "new")
    calls: list[str] = []
    real_rename, real_rmtree = Path.rename, shutil.rmtree
    monkeypatch.setattr(Path, "rename", lambda *a: calls.append("rename") or real_rename(*a))
    monkeypatch.setattr(shutil, "rmtree", lambda *a, **k: calls.append("rmtree") or real_rmtree(*a, **k))
    output.commit()
    assert calls == ["rename", "rename", "rmtree"]
