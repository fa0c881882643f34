"""An app's use of a model: its calls around a prediction, and a prediction on each engine and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator import coreai_work as ai
from sample_generator import coreml_work as ml

if TYPE_CHECKING:
    from sample_generator.notation import Work
    from sample_generator.recording import Lane

PREDICTION = "-[MLModel predictionFromFeatures:error:]"
"""The call by which stacks show a prediction of Core ML; they name no model."""
TRANSCRIBER = """
    SampleApp thunk for @escaping @callee_guaranteed @Sendable () -> ()
    SampleApp closure #1 in Transcriber.start() @ Transcriber.swift:58
"""
SEGMENTER = """
    SampleApp thunk for @escaping @callee_guaranteed () -> ()
    SampleApp closure #1 in Segmenter.run(on:) @ Segmenter.swift:36
"""


def encode(model: str) -> str:
    """Return the transcriber's call of a model; Xcode generates a class of the model's name."""
    return f"""
    SampleApp Transcriber.encode(_:) @ Transcriber.swift:91
    SampleApp {model}.prediction(input:) @ {model}.swift:214
    """


def segment(model: str) -> str:
    return f"""
    SampleApp Segmenter.segment(_:) @ Segmenter.swift:64
    SampleApp {model}.prediction(input:) @ {model}.swift:178
    """


def benchmark_step(model: str) -> str:
    return f"""
    SampleTool Benchmark.step(_:) @ Benchmark.swift:66
    SampleTool {model}.prediction(input:) @ {model}.swift:151
    """


# What happens in one prediction ---------------------------------------------------------------------------


def e5_begin(caller: Lane, worker: Lane, *, seen_waiting: bool = True) -> None:
    """Bind the inputs, hand the stream to E5RT's queue and wait for it."""
    caller.on(ml.E5_FEATURES)
    caller.on(ml.E5_BIND, 2)
    caller.on(ml.E5_SUBMIT)
    worker.wait_for(caller)
    if seen_waiting:
        caller.on(ml.E5_WAIT)


def e5_end(caller: Lane, worker: Lane) -> None:
    caller.wait_for(worker)
    caller.on(ml.E5_OUTPUT)


def e5_on_ane(caller: Lane, worker: Lane, busy: int) -> None:
    """Cast, send the request, be off the CPU while the ANE works, cast back."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    worker.on(ml.E5_ANE_PREPARE)
    worker.on(ml.E5_ANE_SEND)
    worker.off(busy, "ANE")
    worker.on(ml.E5_ANE_WAIT)
    worker.on(ml.E5_CAST)
    e5_end(caller, worker)


def e5_on_cpu(caller: Lane, worker: Lane, busy: int) -> None:
    """Compute on the worker; the caller is blocked and not seen, but its worker is at every tick."""
    e5_begin(caller, worker, seen_waiting=False)
    worker.on(ml.E5_CAST)
    bnns(worker, busy)
    e5_end(caller, worker)


def bnns(worker: Lane, steps: int, *, operation: int = 0) -> None:
    """Compute on the worker."""
    first = worker.tick
    for step in range(steps):
        worker.on(ml.E5_BNNS_GEMM if step % 3 == 2 else ml.E5_BNNS_LSTM)
    worker.served_by("CPU", first, operation=operation)


def e5_in_three(caller: Lane, worker: Lane, before: int, middle: int, after: int) -> None:
    """Run a model of which the ANE cannot do the middle: ANE, CPU, ANE, all in one prediction."""
    e5_in_pieces(caller, worker, [before, after], [middle])


def e5_in_pieces(caller: Lane, worker: Lane, pieces: list[int], between: list[int]) -> None:
    """Run a model in pieces on the ANE, with kernels on the CPU between each two of them."""
    e5_begin(caller, worker)
    worker.on(ml.E5_CAST)
    for number, busy in enumerate(pieces):
        if number:
            bnns(worker, between[number - 1], operation=2 * number - 1)
            worker.on(ml.E5_ANE_PREPARE)
        worker.on(ml.E5_ANE_SEND)
        worker.off(busy, "ANE", operation=2 * number)
        worker.on(ml.E5_ANE_WAIT)
    worker.on(ml.E5_CAST)
    e5_end(caller, worker)


def e5_on_gpu(caller: Lane, worker: Lane, busy: int) -> None:
    """Encode the graph, commit, wait until the command buffer has completed."""
    e5_begin(caller, worker)
    worker.on(ml.E5_MPSGRAPH_CONV, 3)
    worker.on(ml.E5_MPSGRAPH_SUBMIT)
    worker.on(ml.E5_MPSGRAPH_WAIT)
    worker.off(busy, "GPU")
    worker.on(ml.E5_MPSGRAPH_WAIT)
    e5_end(caller, worker)


def nn_on_ane(caller: Lane, busy: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY, 2)
    caller.on(ml.NN_ANE_PREPARE)
    caller.on(ml.NN_ANE_SEND, 2)
    caller.off(busy, "ANE")
    caller.on(ml.NN_ANE_WAIT)


def nn_on_gpu(caller: Lane, busy: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY)
    caller.on(ml.NN_MPS_IMAGE)
    caller.on(ml.NN_MPS_CONV, 6)
    caller.on(ml.NN_MPS_SUBMIT)
    caller.on(ml.NN_MPS_WAIT)
    caller.off(busy)
    caller.on(ml.NN_MPS_WAIT)
    caller.on(ml.NN_FEATURES)


def nn_on_cpu(caller: Lane, steps: int) -> None:
    caller.on(ml.NN_FEATURES)
    caller.on(ml.NN_COPY)
    first = caller.tick
    caller.on(ml.NN_BNNS_CONV, 2)
    for _ in range(steps):
        caller.on(ml.NN_BNNS_LSTM, 3)
        caller.on(ml.NN_BNNS_GEMM, 2)
        caller.on(ml.NN_ELEMENTWISE)
    caller.served_by("CPU", first)
    caller.on(ml.NN_FEATURES)


def ai_on_ane(caller: Lane, busy: int, regions: int = 1, *, between: int = 1) -> None:
    """Run a model of Core AI in regions on the ANE, with MPSGraph at work on the CPU between them."""
    caller.on(ai.INPUTS)
    for region in range(regions):
        caller.on(ai.BETWEEN_REGIONS, between)
        caller.on(ai.ANE_SEND)
        caller.off(busy, "ANE", operation=region)
    caller.on(ai.ANE_WAIT)
    caller.on(ai.OUTPUTS)


def ai_on_gpu(caller: Lane, busy: int) -> None:
    """Run a model of Core AI on the GPU."""
    caller.on(ai.INPUTS)
    caller.on(ai.BETWEEN_REGIONS)
    caller.on(ai.GPU_ENCODE, 2)
    caller.on(ai.GPU_SUBMIT)
    caller.off(busy, "GPU")
    caller.on(ai.GPU_WAIT)
    caller.on(ai.OUTPUTS)


def user_interface(main: Lane, until: Lane, frames_of_work: list[Work], every: int = 17) -> None:
    """Update the screen in steady rhythm until another thread is done."""
    step = 0
    while main.tick < until.tick:
        main.on(frames_of_work[step % len(frames_of_work)])
        main.on(frames_of_work[(step + 1) % len(frames_of_work)])
        main.off(every - 2)
        step += 1
