"""Core ML and threads: literal stacks in, literal verdicts out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from stack_support import (
    ASLEEP,
    E5_ANE,
    E5_CPU,
    E5_TASK,
    LOAD,
    MARKERS,
    PREDICT,
    WORKER,
    classified,
    frame,
    verdict,
)

from tracekit.analysis.classification.classify import apply_idle_threads, classify
from tracekit.analysis.classification.rule_set import RuleSet
from tracekit.cli.stack_records import MalformedRecordError, StackRecord, classify_records
from tracekit.model.columns import BINARIES, FRAMES
from tracekit.model.tables import StackTable
from tracekit.model.vocabulary import ENGINES, PHASE_CODE, Engine, Phase


@pytest.mark.parametrize(
    ("marker", "engine", "phase"),
    [
        ("ANEServices | ANEProgramProcessRequestDirect", "ANE", "dispatch"),
        ("ANEServices | H11ANEProgramProcessRequestDirect", "ANE", "dispatch"),
        (
            "ANEServices | H11ANE::H11ANEServicesThreadStart(H11ANE::H11ANEServicesThreadParams*)",
            "ANE",
            "idle",
        ),
        ("Espresso | Espresso::ANERuntimeEngine::compiler::__forward_segment(int)", "ANE", "dispatch"),
        ("AppleNeuralEngine | -[_ANEModel program]", "ANE", "dispatch"),
        ("Espresso | Espresso::MPSEngine::context::__launch_kernel(int)", "GPU", "dispatch"),
        ("Espresso | Espresso::MPSEngine::blob_container::get_mps_image()", "GPU", "dispatch"),
        ("Espresso | Espresso::MetalLowmemEngine::context::run()", "GPU", "dispatch"),
        ("Espresso | Espresso::BNNSEngine::inner_product_kernel::__launch(int)", "CPU", "execute"),
        ("Espresso | Espresso::BNNSEngine::convolution_kernel::__launch(int)", "CPU", "execute"),
        ("Espresso | Espresso::elementwise_kernel_cpu::__launch(int)", "CPU", "execute"),
        ("Espresso | Espresso::layer::__launch(int)", "RUNTIME", None),
        ("Espresso | Espresso::net::__forward(int)", "RUNTIME", None),
        ("Metal | -[_MTLCommandBuffer commit]", "GRAPHICS", None),
        (" | -[MTLIOAccelCommandQueue submitCommandBuffers:count:]", "GRAPHICS", None),
        ("MPSNeuralNetwork | 0x12", "GPU", "dispatch"),
        (" | -[MPSNNGraph encodeToCommandBuffer:sourceImages:]", "GPU", "dispatch"),
        (E5_ANE, "ANE", "dispatch"),
        (E5_CPU, "CPU", "execute"),
        ("Espresso | E5RT::Ops::MpsGraphInferenceOperation::ExecuteSync()", "GPU", "dispatch"),
        ("libBNNS.dylib | BNNSGraphContextExecute_v2", "CPU", "execute"),
    ],
)
def test_one_marker_alone(marker, engine, phase):
    assert verdict(marker, *WORKER) == (engine, phase)


def test_the_old_path_to_the_ane():
    assert verdict(
        "ANEServices | H11ANEProgramProcessRequestDirect",
        "AppleNeuralEngine | -[_ANEClient evaluateWithModel:options:request:qos:error:]",
        "Espresso | Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        "Espresso | EspressoLight::espresso_plan::execute_sync()",
        "CoreML | -[MLNeuralNetworkEngine executePlan:error:]",
        *PREDICT,
    ) == ("ANE", "dispatch")


def test_bnns_under_an_ane_plan_is_cpu():
    frames = [
        "libBNNS.dylib | BNNSFilterApplyBatch",
        "Espresso | Espresso::BNNSEngine::convolution_kernel::__launch(int)",
        "Espresso | Espresso::ANERuntimeEngine::compiler::__forward_segment(int)",
        *PREDICT,
    ]
    assert verdict(*frames) == ("CPU", "execute")


def test_a_cast_in_an_ane_plan_is_a_copy_of_the_runtime():
    frames = ["libvDSP.dylib | vDSP_vdpsp", "Espresso | E5RT::Ops::CastOperation::ExecuteSync()", E5_ANE]
    assert verdict(*frames) == ("RUNTIME", "copy")


def test_array_conversion_under_core_ml_is_not_the_cpu_engine():
    assert verdict("libvDSP.dylib | vDSP_vdpsp", "CoreML | <redacted>", *PREDICT) == ("RUNTIME", "copy")
    assert verdict("libvDSP.dylib | vDSP_vdpsp", "App | Synth.render()") == ("OTHER", None)


def test_binding_of_inputs():
    assert verdict(
        "Espresso | E5RT::IOPortImpl::BindMemoryObject(std::__1::shared_ptr<E5RT::MemoryObject>, bool)",
        "Espresso | e5rt_io_port_bind_buffer_object",
        "CoreML | -[MLE5InputPort reset]",
        "CoreML | -[MLE5Engine _cleanUpAndReconfigureStream:forInputFeatures:error:]",
    ) == ("RUNTIME", "copy")


def test_planning_names_no_engine():
    frames = [
        "Espresso | Espresso::BNNSEngine::convolution_kernel::is_valid_for_engine(int) const",
        "Espresso | is_kernel_available_on_engine(unsigned long)",
        "Espresso | Espresso::cpu_context_transfer_algo_t::check_all_kernels_availability_on_context(int)",
        "Espresso | Espresso::get_net_info_ir(int)",
    ]
    assert verdict(*frames) == ("RUNTIME", "load")
    assert verdict(*frames[1:]) == ("RUNTIME", "load")


def test_planning_for_the_ane_is_never_inference():
    frames = [
        "Espresso | Espresso::ANECompilerEngine::convolution_kernel::is_valid_for_engine(int) const",
        "Espresso | is_kernel_available_on_engine(unsigned long)",
    ]
    assert verdict(*frames) == ("ANE", "load")


@pytest.mark.parametrize("leaf", ["CoreML | 0x1a26cdf68", "Espresso | ___lldb_unnamed_symbol60645"])
def test_core_ml_without_symbols(leaf):
    assert verdict(leaf, *WORKER) == ("RUNTIME", None)


def test_vision_over_core_ml_over_the_ane():
    frames = [E5_ANE, *PREDICT, "Vision | -[VNCoreMLRequest internalPerformRevision:inContext:error:]"]
    assert verdict(*frames) == ("ANE", "dispatch")


def test_a_sleeping_host_waits_for_the_ane():
    assert verdict(*ASLEEP, E5_ANE, *PREDICT) == ("ANE", "wait")


def test_a_message_to_the_driver_is_dispatch():
    frames = ["libsystem_kernel.dylib | mach_msg2_trap", "IOKit | IOConnectCallMethod"]
    assert verdict(*frames, "ANEServices | ANE_ProgramSendRequest", *PREDICT) == ("ANE", "dispatch")


def test_a_prediction_that_waits_for_its_queue():
    frames = ["libsystem_kernel.dylib | kevent_id", "libdispatch.dylib | __DISPATCH_WAIT_FOR_QUEUE__"]
    assert verdict(*frames, "CoreML | -[MLNeuralNetworkEngine evaluateBatch:options:error:]") == (
        "RUNTIME",
        "wait",
    )


def test_work_between_the_sleep_and_the_leaf_is_no_wait():
    assert verdict("App | poll()", *ASLEEP, E5_ANE) == ("ANE", "dispatch")


def test_waiting_for_a_command_buffer_of_a_model():
    frames = [*ASLEEP, "Metal | -[_MTLCommandBuffer waitUntilCompleted]"]
    assert verdict(*frames, "libtorch_cpu.dylib | at::mps::MPSStream::synchronize()") == ("GPU", "wait")
    assert verdict(*frames, "Espresso | e5rt_execution_stream_execute_sync") == ("GPU", "wait")
    assert verdict(*frames, "Game | Renderer::endFrame()") == ("GRAPHICS", None)


def test_executing_while_loading_is_load():
    assert verdict("libBNNS.dylib | BNNSGraphContextExecute_v2", E5_CPU, *LOAD) == ("CPU", "load")


def test_compiling_inside_a_prediction_is_compile():
    assert verdict(
        "MetalPerformanceShadersGraph | GPU::MatMulOpHandler::postInitializeHook()",
        "MetalPerformanceShadersGraph | -[MPSGraphExecutable specializeWithDevice:inputTypes:]",
        "Espresso | E5RT::Ops::MpsGraphInferenceOperation::Impl::SubmitWorkToMpsGraph()",
        *PREDICT,
    ) == ("GPU", "compile")


def test_the_load_frame_nearest_to_the_leaf_names_the_phase():
    compile_frame = "libBNNS.dylib | bnns::GraphCompile"
    assert verdict(compile_frame, "Espresso | E5RT::OnDeviceAOTCompilerInterface::Compile", *LOAD) == (
        "CPU",
        "compile",
    )
    assert verdict("Espresso | E5RT::Ops::BnnsCpuInferenceOperation::PrepareOpForEncode()", *LOAD) == (
        "CPU",
        "load",
    )


def test_a_prediction_in_the_completion_of_a_load_is_no_load():
    block = "CoreML | __61+[MLModel loadContentsOfURL:configuration:completionHandler:]_block_invoke"
    assert verdict(E5_ANE, *PREDICT, block, *WORKER) == ("ANE", "dispatch")


def test_teardown_is_idle_on_the_drivers_side_and_load_on_the_clients():
    frames = [
        "kernel.release.t6030 | IOCommandGate::runAction()",
        "AppleH11ANEInterface | ANEClientDevice::close()",
    ]
    assert verdict(*frames, "kernel.release.t6030 | ???") == ("ANE", "idle")
    assert verdict(*frames, "AppleNeuralEngine | -[_ANEDeviceController stop]") == ("ANE", "load")


def test_a_parked_service_thread_is_idle():
    frames = ["libsystem_kernel.dylib | mach_msg2_trap", "CoreFoundation | CFRunLoopRun"]
    assert verdict(*frames, thread="ANEServicesThread") == ("ANE", "idle")
    assert verdict(*frames, thread="H11ANEServicesThread  0x2fc48 (App, pid: 3)") == ("ANE", "idle")
    assert verdict(thread="ANEServicesThread") == ("ANE", "idle")
    assert verdict("CoreFoundation | 0x18ba42c0c", thread="ANEServicesThread") == ("ANE", "idle")
    assert verdict(*frames, thread="com.apple.NSURLConnectionLoader") == ("OTHER", None)


def test_a_name_does_not_outweigh_a_frame():
    assert verdict("App | work()", thread="ANEServicesThread") == ("OTHER", None)
    assert verdict(E5_CPU, thread="ANEServicesThread") == ("CPU", "execute")


@pytest.mark.parametrize(
    "loop",
    [
        "libc10.dylib | c10::ThreadPool::main_loop(unsigned long)",
        "libmlx.dylib | mlx::core::scheduler::StreamThread::thread_fn()",
        "libonnxruntime.1.17.0.dylib | onnxruntime::concurrency::ThreadPoolTempl<Env>::WorkerLoop(int)",
        "libggml-cpu.dylib | ggml_graph_compute_secondary_thread",
        "App | ruy::Thread::ThreadFunc(void*)",
    ],
)
def test_a_runtimes_parked_pool_is_idle_until_it_works(loop):
    assert verdict(*ASLEEP, loop, *WORKER) == ("RUNTIME", "idle")
    assert verdict("App | task()", loop, *WORKER) == ("RUNTIME", None)
    assert verdict("libBNNS.dylib | BNNSFilterApply", loop, *WORKER) == ("CPU", "execute")


def test_thread_pools_of_other_libraries_belong_to_no_engine():
    assert verdict(*ASLEEP, "libomp.dylib | __kmp_suspend_64") == ("OTHER", None)
    assert verdict(*ASLEEP, "libopenblas.0.dylib | blas_thread_server") == ("OTHER", None)


def test_unknown_is_a_stack_without_any_symbol():
    assert verdict() == ("UNKNOWN", None)
    assert verdict("App | 0x1024", "App | ???", "libdispatch.dylib | ") == ("UNKNOWN", None)


def test_a_named_leaf_does_not_show_its_caller():
    """Xcode 14 and older export addresses, and the name of the leaf alone."""
    assert verdict(" | objc_msgSend", " | 0x2000", " | 0x3000") == ("UNKNOWN", None)
    assert verdict(" | objc_msgSend", " | main", " | 0x3000") == ("OTHER", None)
    assert verdict("App | work", "App | 0x2000", "App | 0x3000") == ("OTHER", None)
    assert verdict(" | BNNSFilterApplyBatch", " | 0x2000", " | 0x3000") == ("CPU", "execute")
    assert verdict("App | 0x1024", "App | main") == ("OTHER", None)


def test_the_frame_that_decided_is_named():
    (verdict,) = classify_records(
        [StackRecord((("libsystem_kernel.dylib", "__psynch_cvwait"), frame(E5_ANE)), id=7)], MARKERS
    )
    assert verdict == {
        "id": 7,
        "engine": "ANE",
        "phase": "wait",
        "rule": "ane.e5rt-op",
        "frame": {"index": 1, "binary": "Espresso", "symbol": frame(E5_ANE)[1]},
        "why": "Core ML's runtime hands a segment to the ANE and waits for it; its thread sleeps",
    }


def test_why_names_the_rule_that_made_it_a_load():
    (verdict,) = classify_records([StackRecord(tuple(map(frame, [E5_CPU, *LOAD])))], MARKERS)
    assert verdict["why"].endswith("phase load because of rule runtime.coreml-load: Core ML loads a model")


def test_more_records_than_one_batch():
    records = [StackRecord((("", "main"),), id=number) for number in range(9000)]
    assert [verdict["id"] for verdict in classify_records(records, MARKERS)] == list(range(9000))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "must be an object"),
        ({}, 'a list of "frames"'),
        ({"frames": [3]}, "frame 0 must be an object"),
        ({"frames": [{"symbol": 3}]}, 'frame 0: "symbol" must be a string'),
        ({"frames": [], "thread_name": []}, '"thread_name" must be a string'),
    ],
)
def test_malformed_records(value, words):
    with pytest.raises(MalformedRecordError, match=words):
        StackRecord.from_json(value)


def test_the_boundary_is_the_outermost_call():
    stack = [
        E5_CPU,
        "Espresso | e5rt_execution_stream_execute_sync",
        "CoreML | -[MLE5Engine _predictionFromFeatures:options:error:]",
        "CoreML | -[MLModel predictionFromFeatures:options:error:]",
        "App | main",
    ]
    classification = classified([stack, [E5_TASK], ["App | main"], []])
    assert classification.boundary.tolist() == [3, -1, -1, -1]
    assert MARKERS.rules[classification.boundary_rule[0]].id == "runtime.coreml-predict"
    assert classification.boundary_rule.tolist()[1:] == [-1, -1, -1]


@pytest.mark.parametrize(
    "call",
    [
        "CoreML | -[MLDelegateModel predictionsFromBatch:options:error:]",
        "CoreML | -[MLNeuralNetworkEngine evaluateInputs:bufferIndex:options:error:]",
        "Espresso | espresso_plan_execute_sync",
        "Espresso | ExecuteStreamSync",
        "App | TfLiteInterpreterInvoke",
        "App | onnxruntime::InferenceSession::Run(OrtRunOptions const&)",
        "App | mlx_eval",
        "App | llama_decode",
        "App | whisper_full_with_state",
        "App | ggml_backend_graph_compute",
        "App | torch::jit::mobile::Module::forward(int)",
    ],
)
def test_entries_of_runtimes_are_boundaries(call):
    assert classified([["App | helper", call, "App | main"]]).boundary.tolist() == [1]


def test_a_worker_works_for_a_call_on_another_thread():
    classification = classified(
        [
            [E5_CPU, E5_TASK, *WORKER],
            [E5_CPU, E5_TASK, *PREDICT],
            [*ASLEEP, "libmlx.dylib | mlx::core::scheduler::StreamThread::thread_fn()"],
            [E5_CPU, *WORKER],
        ]
    )
    assert classification.worker.tolist() == [True, False, False, False]


def test_names_of_service_threads():
    names = [
        "ANEServicesThread",
        "Main Thread",
        "H11ANEServicesThread 0x1 (App, pid: 1)",
        "",
        "PLANEServicesThread",
    ]
    assert [MARKERS.match_thread(name) >= 0 for name in names] == [True, False, True, False, False]


def test_samples_take_their_stacks_verdict_and_bare_ones_their_threads():
    classification = classified([["libsystem_kernel.dylib | mach_msg2_trap"], [E5_CPU]])
    stack_ids = np.array([0, 0, 1, -1, -1, 0], np.int32)
    thread_ids = np.array([0, 1, 1, 1, 0, -1], np.int32)
    engine, phase = apply_idle_threads(
        classification, stack_ids, thread_ids, ["Main", "ANEServicesThread"], MARKERS
    )
    assert [str(ENGINES[code]) for code in engine] == ["OTHER", "ANE", "CPU", "ANE", "UNKNOWN", "OTHER"]
    assert phase.tolist() == [
        -1,
        PHASE_CODE[Phase.IDLE],
        PHASE_CODE[Phase.EXECUTE],
        PHASE_CODE[Phase.IDLE],
        -1,
        -1,
    ]


def test_an_empty_table():
    classification = classify(StackTable.empty(), MARKERS)
    assert len(classification) == 0
    assert (
        classification.engine.dtype == np.int8
        and classification.rule.dtype == np.int32
        and classification.deciding.dtype == np.int64
    )


def test_a_table_whose_frames_have_no_binary():
    frames = (
        FRAMES.empty()
        .reindex(range(1))
        .assign(symbol=pd.Series(["ggml_metal_graph_compute"], dtype="category"), binary_id=np.int32([-1]))
    )
    table = StackTable(np.array([0, 1, 1]), np.array([0], np.int32), frames, BINARIES.empty())
    classification = classify(table, MARKERS)
    assert [ENGINES[code] for code in classification.engine] == [Engine.GPU, Engine.UNKNOWN]


def test_stacks_are_classified_once_for_the_same_rules() -> None:
    stacks = StackTable.from_stacks([[("ANEServices", "ANEProgramProcessRequestDirect")]])
    first = classify(stacks, MARKERS)
    assert classify(stacks, replace(MARKERS)) is first
    assert ENGINES[classify(stacks, RuleSet(())).engine[0]] is Engine.OTHER
    assert ENGINES[classify(stacks, MARKERS).engine[0]] is Engine.ANE
