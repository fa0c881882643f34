"""Plans as texts, and short words for what is read of them."""

from __future__ import annotations

from pathlib import Path

from tracekit.errors import InputError
from tracekit.mlmodels.plans import Plan, read_plan
from tracekit.mlmodels.plans.plan_segments import list_segments

SHARED = Path(__file__).resolve().parents[4] / "shared"

ANALYTICS = """program(1.3)
[buildInfo = dict<string, string>({{"coremlc-version", "3600.25.2"}})]
{
    func main<ios18>(tensor<fp16, [1, 8]> x) [Launch_ane_ms = fp64(0x1p-3)] {
            tensor<fp16, [1, 8]> a = conv(weight = tensor<fp16, [8]>(BLOBFILE(path = string("w.bin"), offset = uint64(64))), x = x)[BackendSupport = list<string, 5>(["unsupported", "mps_graph", "bnns", "classic_cpu", "ane"]), EstimatedRuntime = dict<string, fp64>({{"ane", 0.25}, {"bnns", 0x1p+0}}), SelectedBackend = string("ane"), milId = uint64(0), name = string("conv_0")];
            tensor<fp16, [1, 8]> b = topk(x = a)[BackendSupport = list<string, 5>(["unsupported", "unsupported", "bnns", "classic_cpu", "unsupported"]), EstimatedRuntime = dict<string, fp64>({{"bnns", 0.5}, {"classic_cpu", 0.75}}), SelectedBackend = string("bnns"), ValidationMessage = dict<string, string>({{"ane", "Unsupported \\"topk\\""}, {"mps_graph", "no"}}), milId = uint64(1), name = string("topk_0")];
            tensor<fp16, [1, 8]> c = relu(x = b)[BackendSupport = list<string, 5>(["unsupported", "mps_graph", "bnns", "classic_cpu", "ane"]), EstimatedRuntime = dict<string, fp64>({{"ane", 0.125}, {"mps_graph", 0.25}}), SelectedBackend = string("mps_graph"), milId = uint64(2), name = string("relu_0")];
            tensor<fp16, [1, 8]> d = gelu(x = c)[SelectedBackend = string("jit_call"), milId = uint64(3), name = string("gelu_0")];
        } -> (d);
}
"""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def runs(plan: Plan) -> list[list[tuple[str | None, int]]]:
    """Return the segments of each function: engines with the number of their operations."""
    return [
        [
            (segment.engine and segment.engine.value, segment.end - segment.first)
            for segment in list_segments(item)
        ]
        for item in plan.functions
    ]


def problem_of(path: Path) -> str:
    """Return the problem of a path that is refused."""
    try:
        read_plan(path)
    except InputError as error:
        return error.problem
    raise AssertionError(f"{path} was read")
