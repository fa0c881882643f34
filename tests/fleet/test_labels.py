"""Labels come from names, files and tables; where these contradict each other, nothing is chosen silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.errors import InputError, UsageError
from tracekit.fleet.labels import LabelSources, NamePattern, collect_labels, parse_labels
from tracekit.fleet.recording_inputs import RecordingInput, find_recordings

APP = RecordingInput("/lab/iPhone 17/Shop-1.4-ci.trace.zip")


@pytest.mark.parametrize(
    ("pattern", "labels"),
    [
        ("{app}-{build}-{device}", {"app": "Shop", "build": "1.4", "device": "ci"}),
        ("{device}/Shop-{build}-ci", {"device": "iPhone 17", "build": "1.4"}),
        ("{app}_{build}", None),
        ("{app}-{build}", None),  # Shop and 1.4-ci, or Shop-1.4 and ci
    ],
)
def test_a_pattern_reads_the_labels_of_a_name_where_it_fits_in_one_way(
    pattern: str, labels: dict[str, str] | None
) -> None:
    assert NamePattern.from_text(pattern).match_labels(APP) == labels


@pytest.mark.parametrize("pattern", ["", "build", "{build}{app}", "{build}-{build}", "{}", "{a b}-x", "{1}"])
def test_a_pattern_without_clear_fields_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="is no pattern"):
        NamePattern.from_text(pattern)


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("Shop-7.trace", "7"),
        ("Shop-7.tracekit.zip", "7"),
        ("Shop-7.trace.tar.gz", "7"),
        ("Shop-7.xml.gz", "7"),
        ("Shop-7.5", "7.5"),
    ],
)
def test_the_ending_of_a_recording_is_no_part_of_a_label(name: str, build: str) -> None:
    assert NamePattern.from_text("Shop-{build}").match_labels(RecordingInput(f"/lab/{name}")) == {
        "build": build
    }


def test_names_that_do_not_fit_are_named() -> None:
    labelled = collect_labels(
        [APP, RecordingInput("/lab/other.trace")],
        LabelSources(NamePattern.from_text("{app}-{build}-{device}")),
    )
    assert [len(labels) for labels in labelled.labels] == [3, 0]
    assert labelled.notes == (
        "1 recording without labels of the name: not of the form {app}-{build}-{device}, or in more than one"
        " way (other.trace).",
    )


def folder_with(tmp_path: Path, labels: object, table: str = "") -> list[RecordingInput]:
    (tmp_path / "Shop-7.trace").mkdir()
    (tmp_path / "Shop-7.trace.labels.json").write_text(json.dumps(labels))
    (tmp_path / "labels.csv").write_text(table)
    return find_recordings([str(tmp_path)])


def test_sources_complete_each_other(tmp_path: Path) -> None:
    recordings = folder_with(tmp_path, {"branch": "main", "build": 7}, "path,farm\nShop-7.trace,lab 2\n")
    sources = LabelSources(
        NamePattern.from_text("Shop-{build}"), str(tmp_path / "labels.csv"), {"team": "vision"}
    )
    assert collect_labels(recordings, sources).labels == (
        {"build": "7", "branch": "main", "farm": "lab 2", "team": "vision"},
    )


def test_sources_that_contradict_each_other_stop_the_run(tmp_path: Path) -> None:
    recordings = folder_with(tmp_path, {"build": "8"})
    with pytest.raises(UsageError, match="contradict each other in 1 place") as caught:
        collect_labels(recordings, LabelSources(NamePattern.from_text("Shop-{build}")))
    assert caught.value.lines == (
        f"{tmp_path}/Shop-7.trace: build is '7' by the name, '8' by {tmp_path}/Shop-7.trace.labels.json",
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("name,build\na,7\n", "needs one column path or recording"),
        (
            "recording,build\nShop-7.trace,7\nShop-7.trace,8\n",
            r"line 3: build of 'Shop-7.trace' is '8', above it is '7'",
        ),
        ("recording,build\nShop-7.trace,7,8\n", "line 2 has another number of cells"),
        ("recording,b d\nShop-7.trace,7\n", "'b d' is no name of a label"),
        ("recording,build\nShop-7.trace," + "x" * 300 + "\n", "no text of at most 200"),
    ],
)
def test_a_table_that_is_not_clear_is_refused(tmp_path: Path, table: str, message: str) -> None:
    recordings = folder_with(tmp_path, {}, table)
    with pytest.raises((UsageError, InputError), match=message):
        collect_labels(recordings, LabelSources(table=str(tmp_path / "labels.csv")))


def test_a_name_in_a_table_that_two_recordings_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("recording,build\nA.trace,7\n")
    twins = [RecordingInput("/x/A.trace"), RecordingInput("/y/A.trace")]
    with pytest.raises(UsageError, match="is the name of 2 recordings"):
        collect_labels(twins, LabelSources(table=str(tmp_path / "labels.csv")))


def test_rows_of_a_table_without_a_recording_are_counted(tmp_path: Path) -> None:
    recordings = folder_with(tmp_path, {}, "recording,build\nShop-7.trace,7\nShop-8.trace,8\n")
    labelled = collect_labels(recordings, LabelSources(table=str(tmp_path / "labels.csv")))
    assert labelled.labels == ({"build": "7"},)
    assert labelled.notes == (f"{tmp_path}/labels.csv: 1 row of recordings that are not among the inputs.",)


@pytest.mark.parametrize("content", ["[1]", "{", '{"build": null}', '{"build": ["7"]}', '{"a b": "7"}'])
def test_a_damaged_file_of_labels_is_refused(tmp_path: Path, content: str) -> None:
    recordings = folder_with(tmp_path, {})
    (tmp_path / "Shop-7.trace.labels.json").write_text(content)
    with pytest.raises(InputError, match=r"Shop-7\.trace\.labels\.json"):
        collect_labels(recordings, LabelSources())


def test_labels_of_all_recordings_are_given_by_name_and_value() -> None:
    assert parse_labels(["branch=main", "farm=lab=2"]) == {"branch": "main", "farm": "lab=2"}
    for texts in (["branch"], ["branch=a", "branch=b"]):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            parse_labels(texts)


def test_a_cell_in_quotes_may_have_lines(tmp_path: Path) -> None:
    recordings = folder_with(tmp_path, {}, 'path,note\r\nShop-7.trace,"1\n2"\r\n')
    labelled = collect_labels(recordings, LabelSources(table=str(tmp_path / "labels.csv")))
    assert labelled.labels == ({"note": r"1\n2"},)
