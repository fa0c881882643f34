"""Recordings of probes read back: literal calls in, where they ran and what follows out."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from evidence_support import Interval, Signpost, ane, gpu, prediction, with_evidence
from trace_support import BNNS, UI, Sample, trace_of

from tracekit import open_trace
from tracekit.errors import NotMeasurableError
from tracekit.model.vocabulary import Basis, Engine
from tracekit.probes.probe_manifest import ProbeManifest
from tracekit.probes.probe_question import list_probes
from tracekit.probes.probe_reading import Conclusion, Placement, ProbeResults, ProbeRow, read_probes
from tracekit.probes.proposals import format_rules, propose_rules
from tracekit.report.document.text_printer import Page, print_text
from tracekit.report.probes.document import build_probes

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
CONTROL, POOL = "control_128x64x64", "max_pool_kernel13_stride1_fp16_128x64x64"
POSTS = "tracekit.probes/calls/probe"


def manifest(*questions: str, settings: Sequence[str] = ("cpuAndNeuralEngine",)) -> ProbeManifest:
    return ProbeManifest(list_probes(questions or ("max_pool:kernel=13",)), tuple(settings), 4, {}, {})


def calls(
    name: str, start: float, *parts: tuple[float, float], count: int = 4, setting: str = ""
) -> Iterator[Interval | Signpost]:
    """Calls of 8 ms each 10 ms, with parts of the Neural Engine in each, and the runner's marks around them."""
    for number in range(count):
        begin = start + 10 * number
        yield prediction(begin + 1, begin + 9, "" if setting else name)
        for first, last in parts:
            yield ane(begin + first, begin + last, f"{name}_main__Op{first}_AneInference Prediction")
        if setting:
            yield Signpost(begin, begin + 9.5, POSTS, message=f"{name} {setting} {number + 1}")


def read(
    *rows: Interval | Signpost,
    samples: Sequence[Sample] = (),
    asked: ProbeManifest | None = None,
    units: str = "",
) -> ProbeResults:
    quiet: list[Sample] = [(0, "a", UI), (400, "a", UI)]
    trace = with_evidence(
        trace_of(sorted([*quiet, *samples])),
        [row for row in rows if isinstance(row, Interval)],
        signposts=[row for row in rows if isinstance(row, Signpost)],
    )
    return read_probes(trace, asked or manifest(), units)


def row(results: ProbeResults, name: str, setting: str = "") -> ProbeRow:
    (found,) = [row for row in results.rows if (row.probe.name, row.setting) == (name, setting)]
    return found


def test_a_probe_in_one_submission_beside_its_control_stays() -> None:
    results = read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 6.5)))
    found = row(results, POOL)
    assert (found.placement, found.conclusion) == (Placement.WHOLE, Conclusion.STAYS)
    assert (found.calls, found.engines, found.submissions, found.basis) == (
        3,
        (Engine.ANE,),
        1,
        Basis.MEASURED,
    )
    assert found.busy_ns == 4_500_000
    assert row(results, CONTROL).conclusion is Conclusion.IS_CONTROL


def test_two_submissions_are_a_split() -> None:
    found = row(read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 4), (5, 7))), POOL)
    assert (found.placement, found.submissions, found.conclusion) == (Placement.SPLIT, 2, Conclusion.SPLITS)


def test_one_submission_beside_the_gpu_is_a_split() -> None:
    on_gpu = [gpu(60 + 10 * number + 5, 60 + 10 * number + 8) for number in range(4)]
    found = row(read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 4)), *on_gpu), POOL)
    assert (found.placement, found.engines) == (Placement.SPLIT, (Engine.ANE, Engine.GPU))


def test_calls_on_another_engine_alone_take_the_whole_model() -> None:
    on_gpu = [gpu(60 + 10 * number + 2, 60 + 10 * number + 8) for number in range(4)]
    found = row(read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60), *on_gpu), POOL)
    assert (found.placement, found.submissions) == (Placement.OTHER, 0)
    assert (found.engines, found.conclusion) == ((Engine.GPU,), Conclusion.WHOLE_LEAVES)


def test_one_submission_of_half_the_controls_time_is_no_whole_probe() -> None:
    """Without samples the CPU's part cannot be seen, and the beginning alone is one submission, too."""
    found = row(read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 4))), POOL)
    assert (found.placement, found.conclusion) == (Placement.SHORT, Conclusion.OPEN)


def test_a_stride_makes_the_second_half_of_a_sandwich_shorter() -> None:
    """A quarter of the pixels: (1 + 1/4) / 2 of the control's 4 ms are 2.5 ms, of which 2 are enough."""
    strided = POOL.replace("stride1", "stride2")
    rows = [*calls(CONTROL, 10, (2, 6)), *calls(strided, 60, (2, 4))]
    assert (
        row(read(*rows, asked=manifest("max_pool:kernel=13,stride=2")), strided).conclusion
        is Conclusion.STAYS
    )


@pytest.mark.parametrize(
    ("control", "placement"),
    [
        ([], Placement.ABSENT),
        (list(calls(CONTROL, 10, (2, 6), count=3)), Placement.ABSENT),  # the first is no evidence
        (list(calls(CONTROL, 10, (2, 4), (5, 6))), Placement.SPLIT),
        (list(calls(CONTROL, 10)), Placement.UNKNOWN),
    ],
)
def test_nothing_follows_without_a_control_on_the_engine(
    control: list[Interval], placement: Placement
) -> None:
    results = read(*control, *calls(POOL, 60, (2, 4), (5, 7)))
    assert row(results, CONTROL).placement is placement
    assert row(results, POOL).conclusion is Conclusion.NO_CONTROL
    assert propose_rules(results) == []


def test_calls_that_differ_show_nothing() -> None:
    rows = [
        *calls(CONTROL, 10, (2, 6)),
        *calls(POOL, 60, (2, 6), count=3),
        *calls(POOL, 90, (2, 4), (5, 6), count=2),
    ]
    found = row(read(*rows), POOL)
    assert (found.placement, found.conclusion) == (Placement.VARIES, Conclusion.OPEN)


def test_without_the_engines_table_another_engines_work_shows_nothing() -> None:
    """Samples of BNNS in each call, and no table of the Neural Engine: it may have worked beside them."""
    samples: list[Sample] = [
        (start + offset, "a", BNNS) for start in range(10, 100, 10) for offset in range(2, 8)
    ]
    rows = [prediction(start + 1, start + 9, CONTROL if start < 50 else POOL) for start in range(10, 100, 10)]
    results = read(*rows, samples=samples)
    assert row(results, POOL).placement is Placement.UNKNOWN
    assert row(results, POOL).conclusion is Conclusion.NO_CONTROL


def test_marks_name_the_probe_and_the_setting_of_each_call() -> None:
    settings = ("all", "cpuAndNeuralEngine")
    on_gpu = [gpu(110 + 10 * number + 2, 110 + 10 * number + 8) for number in range(4)]
    results = read(
        *calls(CONTROL, 10, (2, 6), setting="cpuAndNeuralEngine"),
        *calls(POOL, 60, (2, 4), (5, 7), setting="cpuAndNeuralEngine"),
        *calls(POOL, 110, setting="all"),
        *calls(CONTROL, 160, (2, 6), setting="all"),
        *on_gpu,
        asked=manifest(settings=settings),
    )
    assert results.is_marked
    assert row(results, POOL, "cpuAndNeuralEngine").conclusion is Conclusion.SPLITS
    assert row(results, POOL, "all").conclusion is Conclusion.WHOLE_LEAVES
    assert propose_rules(results) == []  # the settings disagree


@pytest.mark.parametrize("message", ["x", f"{POOL} everything 1", f"{POOL} all x", "../x all 1", ""])
def test_marks_of_other_forms_name_no_probe(message: str) -> None:
    marks = [Signpost(10 * n, 10 * n + 9.5, POSTS, message=message) for n in range(1, 6)]
    rows = [prediction(10 * n + 1, 10 * n + 9, "") for n in range(1, 6)]
    with pytest.raises(NotMeasurableError, match="no call is one of a probe in this manifest"):
        read(*rows, *marks)


def test_a_recording_of_other_models_is_named() -> None:
    with pytest.raises(
        NotMeasurableError, match="no call is one of a probe in this manifest; its calls are of Net"
    ):
        read(*calls("Net", 10, (2, 6)))


def test_a_proposal_has_the_numbers_that_were_asked_and_no_others() -> None:
    rows = [*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 4), (5, 7))]
    results = read(*rows, units="cpuAndNeuralEngine")
    (rule,) = tomllib.loads(format_rules(propose_rules(results)))["rule"]
    (claim,) = rule["claim"]
    assert rule["id"] == f"PROBE_{POOL}"
    assert (claim["effect"], claim["kinds"], claim["units"]) == (
        "leaves",
        ["max_pool"],
        ["cpuAndNeuralEngine"],
    )
    assert claim["conditions"] == [
        {"test": "output", "dtypes": ["fp16"]},
        {"test": "number", "parameter": "kernel_sizes", "one_of": [13]},
        {"test": "number", "parameter": "strides", "one_of": [1]},
    ]
    assert "between convolutions of 128 × 64 × 64" in claim["scope"]


def test_the_document_states_the_evidence_and_its_limits() -> None:
    text = print_text(
        build_probes(read(*calls(CONTROL, 10, (2, 6)), *calls(POOL, 60, (2, 4), (5, 7)))), Page(160)
    )
    words = " ".join(text.split())
    assert "1 question (operation and setting): 1 splits the model." in words
    assert "max_pool kernel 13 splits a model that is on the Neural Engine" in words
    assert "The calls are not marked by the runner" in words


def renamed(sample: str, folder: Path, names: dict[str, str]) -> Path:
    """A sample recording whose models have the names of probes."""
    target = folder / sample
    shutil.copytree(SAMPLES / sample, target)
    for path in target.glob("*.xml"):
        text = path.read_text()
        for old, new in names.items():
            text = text.replace(old, new)
        path.write_text(text)
    return target


@pytest.mark.integration
def test_a_sample_recording_in_which_one_model_is_on_the_cpu(tmp_path: Path) -> None:
    softmax = "softmax_fp16_128x64x64"
    names = {"Detector": CONTROL, "SequenceTagger": softmax}
    path = renamed("concurrent-engines-macos27", tmp_path, names)
    found = row(read_probes(open_trace(path), manifest("softmax")), softmax)
    assert (found.placement, found.engines) == (Placement.OTHER, (Engine.CPU,))
    assert (found.conclusion, found.calls) == (Conclusion.WHOLE_LEAVES, 3)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("sample", "model", "placement"),
    [
        ("ane-intervals-macos26", "SpeechEncoder", Placement.VARIES),
        ("fallback-midway-ios27", "SpeechEncoder", Placement.VARIES),
        ("concurrent-models-ios27", "Detector", Placement.WHOLE),
    ],
)
def test_sample_recordings_without_a_control(
    tmp_path: Path, sample: str, model: str, placement: Placement
) -> None:
    results = read_probes(open_trace(renamed(sample, tmp_path, {model: POOL})), manifest())
    assert row(results, POOL).placement is placement
    assert row(results, POOL).conclusion is Conclusion.NO_CONTROL
