"""Recordings of one build: which are shown to be, and what a comparison makes of their spread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from build_support import APP, INFO, of_build, with_binaries
from compare_support import recorded

import tracekit
from tracekit import Analysis, compare
from tracekit.comparison.builds import (
    ALONE,
    COMPARED,
    HIDDEN,
    NO_BINARY,
    NO_DEVICE,
    NO_MODEL,
    NO_TARGET,
    NO_UUID,
    OTHER,
    find_program_binaries,
    group_builds,
)

pytestmark = pytest.mark.integration

CODE = APP.replace("MacOS/App", "Frameworks/Code.framework/Code")
SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def grouped(recordings: list[Analysis], compared: Analysis | None = None) -> list[list[int]]:
    """Return the groups as the numbers of their recordings."""
    groups = group_builds(recordings, [compared or of_build("new", 99.0)]).groups
    return [[recordings.index(analysis) for analysis in group] for group in groups]


def left_out(*recordings: Analysis) -> dict[str, int]:
    return dict(group_builds(recordings, [of_build("new", 99.0)]).left_out)


def test_recordings_with_one_uuid_of_the_app_are_one_build() -> None:
    recordings = [
        of_build("A", 10),
        of_build("B", 20),
        of_build("A", 11),
        of_build("B", 21),
        of_build("C", 5),
    ]
    assert grouped(recordings) == [[0, 2], [1, 3]]
    assert left_out(*recordings) == {ALONE: 1}


def test_the_compared_recordings_and_copies_are_not_used() -> None:
    base = of_build("A", 10)
    copy = replace(base, trace=replace(base.trace, info=replace(INFO, name="copy")))
    builds = group_builds([copy, of_build("A", 11), of_build("A", 12), of_build("A", 12)], [base])
    assert ([len(group) for group in builds.groups], builds.left_out) == ([2], {COMPARED: 2})


@pytest.mark.parametrize(
    "info",
    [
        replace(INFO, process="Other"),
        replace(INFO, device="Another Mac"),
        replace(INFO, model="Mac mini"),
        replace(INFO, os="15.1"),
    ],
)
def test_what_ran_otherwise_is_not_used(info: tracekit.model.trace.TraceInfo) -> None:
    assert left_out(of_build("A", 10, info), of_build("A", 11, info)) == {OTHER: 2}


def test_other_models_are_not_used() -> None:
    assert left_out(of_build("A", 10, model="Larger"), of_build("A", 11, model="Larger")) == {OTHER: 2}


def test_what_a_recording_does_not_show_is_never_guessed() -> None:
    plain = recorded([10.0] * 5, info=INFO)
    assert left_out(of_build("A", 10, replace(INFO, pid=None))) == {NO_TARGET: 1}
    assert left_out(of_build("A", 10, replace(INFO, model=""))) == {NO_DEVICE: 1}
    assert left_out(of_build("A", 10, model="")) == {NO_MODEL: 1}
    assert left_out(plain) == {NO_BINARY: 1}
    assert left_out(of_build("")) == {NO_UUID: 1}
    assert left_out(of_build("00000000-0000-0000-0000-000000000000")) == {NO_UUID: 1}


@pytest.mark.parametrize(
    ("binaries", "main"),
    [
        ({"/private/var/containers/Bundle/Application/1234/App.app/App": "A"}, "App"),
        ({"/usr/local/bin/App": "A"}, "/usr/local/bin/App"),
        ({"/opt/App.framework/Versions/3/App.app/Contents/MacOS/App": "A"}, "Contents/MacOS/App"),
        ({"/opt/App.framework/Versions/3/App": "A"}, None),
        ({"/Applications/X.app/Contents/Frameworks/App.framework/App": "A"}, None),
        ({"/Applications/X.app/Contents/MacOS/Helper": "A"}, None),
        ({"/one/App": "A", "/two/App": "B"}, None),
        ({"App": "A"}, None),
    ],
)
def test_the_binary_of_the_program_is_the_one_with_its_name_where_programs_are(
    binaries: dict[str, str], main: str | None
) -> None:
    shown = find_program_binaries(with_binaries(recorded([10.0] * 5, info=INFO), binaries).trace)
    assert shown == (NO_BINARY if main is None else {main: "A"})


def test_binaries_of_other_processes_do_not_count() -> None:
    trace = of_build("A").trace
    other = replace(trace, threads=trace.threads.assign(pid=np.int64(8)))
    assert find_program_binaries(other) == NO_BINARY


def test_a_framework_that_changes_is_another_build_although_the_main_binary_stays() -> None:
    def recording(length: float, *code: str) -> Analysis:
        return with_binaries(
            of_build("A", length), {APP: "A", **dict.fromkeys([CODE], *code)} if code else {APP: "A"}
        )

    assert grouped([recording(10), recording(11, "X"), recording(12)]) == [[0, 1, 2]]
    changed = [recording(10, "X"), recording(11, "Y"), recording(12, "X"), recording(13), recording(14, "Y")]
    assert grouped(changed) == [[0, 2], [1, 4]]
    assert left_out(*changed) == {HIDDEN: 1}


def test_debug_code_beside_the_main_binary_identifies_the_build() -> None:
    def recording(length: float, uuid: str) -> Analysis:
        return with_binaries(of_build("A", length), {APP: "stub", f"{APP}.debug.dylib": uuid})

    assert grouped([recording(10, "X"), recording(11, "Y"), recording(12, "X")]) == [[0, 2]]


@pytest.mark.parametrize(
    "sample", ["foundation-models-macos27", "gpu-mpsgraph-macos15-bundle/recording.trace"]
)
def test_exports_and_bundles_show_the_binary_of_the_program(sample: str) -> None:
    shown = find_program_binaries(tracekit.open_trace(SAMPLES / sample))
    assert isinstance(shown, dict)
    assert list(shown) == ["Contents/MacOS/SampleApp"]
    assert len(shown["Contents/MacOS/SampleApp"]) == 36


def test_the_spread_within_builds_is_that_between_runs_whatever_their_levels() -> None:
    base, new = of_build("base", 10.0), of_build("new", 12.0)
    builds = [
        [of_build("A", 10), of_build("A", 10.4)],
        [of_build("B", 50), of_build("B", 51), of_build("B", 52)],
    ]
    comparison = compare(base, new, noise_from=builds)
    row = next(row for row in comparison.groups[0].rows if row.metric == "p50")
    assert (row.tested, row.judgement) == ("between runs", "higher")
    assert row.estimate is not None
    assert row.estimate.df == 3
    assert (comparison.noise_runs, comparison.noise_builds) == (5, 2)
    # One group of the same recordings would spread by their builds, and show nothing.
    together = compare(base, new, noise_from=[analysis for build in builds for analysis in build])
    assert together.groups[0].rows[0].judgement == "within the noise"
