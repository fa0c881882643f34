"""Idle threads: drivers' own threads, sleeping threads, releases of models."""

from __future__ import annotations

import pytest
from stack_support import ASLEEP, E5_ANE, PREDICT, WORKER, verdict

KEXT = "AppleH11ANEInterface"
KERNEL_ROOT = ["kernel.release.t6030 | ???", "kernel.release.t6030 | call_continuation"]
GATE = (
    "kernel.release.t6030 | IOCommandGate::runAction(int (*)(OSObject*, void*), void*, void*, void*, void*)"
)
SLEEPS = [
    ["kernel.release.t8103 | thread_block_reason", "kernel.release.t8103 | lck_mtx_sleep"],
    ["kernel.release.t8103 | lck_mtx_sleep_deadline"],
    ["kernel | IORecursiveLockSleepDeadline", "kernel | IOWorkLoop::sleepGate(void*, unsigned int)"],
    ["kernel | machine_switch_context", "kernel | ???", "kernel | thread_block_reason"],
    ["kernel | IOCommandGate::commandSleep(void*, unsigned long long, unsigned int)"],
]
CLIENT = [
    "IOKit | IOConnectCallAsyncMethod",
    "ANEServices | H11ANEProgramProcessRequestDirect",
    "AppleNeuralEngine | -[_ANEClient doEvaluateDirectWithModel:options:request:qos:error:]",
]


@pytest.mark.parametrize(
    "function",
    [
        "H11ANEIn::MemoryPressureMonitorThread(void*)",
        "H11ANEIn::memoryWiringThreadEntry(void*, int)",
        "memoryWiringThreadEntry(void*, int)",
        "H11ANEIn::ANE_CheckForPendingRequests_gated(void*)",
        "ANEHWDevice::powerStateThreadLoop()",
        "H17ANEIn::requestQueueThreadEntry(void*)",
        "ANEDriver::watchdogFired(IOTimerEventSource*)",
        "ANEClientInterface::clientDied()",
    ],
)
def test_a_drivers_own_thread_is_idle_asleep_or_not(function):
    assert verdict(f"{KEXT} | {function}", *KERNEL_ROOT) == ("ANE", "idle")
    for sleep in SLEEPS:
        assert verdict(*sleep, f"{KEXT} | {function}", GATE, *KERNEL_ROOT) == ("ANE", "idle")


def test_what_a_drivers_own_thread_calls_in_the_driver_is_idle_too():
    stack = [
        f"{KEXT} | H11ANEIn::unwireBuffers(unsigned int)",
        f"{KEXT} | H11ANEIn::MemoryPressureMonitorThread(void*)",
    ]
    assert verdict(*stack, *KERNEL_ROOT) == ("ANE", "idle")


@pytest.mark.parametrize(
    "function",
    [
        "H11ANEIn::ANE_ProgramSendRequest_gated(H11ANEProgramRequestArgs*)",
        "H17ANEIn::submitInferenceRequest(ANERequest*)",
        "ANEHWDevice::processRequest(ANERequest*)",
        "ANEHWDevice::sendRequestWithWatchdog(ANERequest*)",
    ],
)
def test_a_request_through_the_same_driver_stays_dispatch(function):
    assert verdict(f"{KEXT} | {function}", *KERNEL_ROOT) == ("ANE", "dispatch")
    assert verdict(f"{KEXT} | {function}", GATE, *CLIENT) == ("ANE", "dispatch")


def test_a_request_that_sleeps_in_the_driver_waits_and_is_not_idle():
    for function in (
        "H11ANEIn::ANE_WaitForRequestCompletion_gated(void*)",
        "H11ANEIn::ANE_CheckForPendingRequests_gated(void*)",
    ):
        for sleep in SLEEPS:
            assert verdict(*sleep, f"{KEXT} | {function}", GATE, *CLIENT) == ("ANE", "wait")


def test_a_request_on_the_drivers_own_thread_is_work():
    stack = [
        f"{KEXT} | ANEHWDevice::submitRequest(ANERequest*)",
        f"{KEXT} | H17ANEIn::requestQueueThreadEntry(void*)",
    ]
    assert verdict(*stack, *KERNEL_ROOT) == ("ANE", "dispatch")


def test_a_function_of_the_driver_that_no_rule_names_is_idle_while_it_sleeps_without_a_client():
    unknown = f"{KEXT} | H19ANEIn::fooBar(void*)"
    assert verdict(*SLEEPS[0], unknown, GATE, *KERNEL_ROOT) == ("ANE", "idle")
    assert verdict(unknown, GATE, *KERNEL_ROOT) == ("ANE", "dispatch")
    assert verdict(*SLEEPS[0], unknown, GATE, *CLIENT) == ("ANE", "wait")
    assert verdict(*SLEEPS[0], unknown, GATE, "App | 0x1049") == ("ANE", "wait")


def test_names_of_other_peoples_threads_are_no_driver():
    for name in (
        "App | MemoryPressureMonitorThread(void*)",
        "AirApp | AirANE::workerThread()",
        "App | H1ANEThread",
    ):
        assert verdict(name)[0] != "ANE"


@pytest.mark.parametrize("sleep", SLEEPS, ids=lambda sleep: sleep[0].split(" | ")[1].split("(")[0])
def test_the_kernels_sleep_is_waiting_under_any_call(sleep):
    assert verdict(*sleep, "libsystem_kernel.dylib | mach_msg2_trap", E5_ANE, *PREDICT) == ("ANE", "wait")


def test_a_call_that_wakes_a_thread_is_no_sleep():
    for name in (
        "kernel | thread_unblock",
        "kernel | lck_mtx_unlock",
        "kernel | thread_wakeup_prim_internal",
    ):
        assert verdict(name, E5_ANE, *PREDICT) == ("ANE", "dispatch")


RELEASES = [
    "libobjc.A.dylib | _objc_rootDealloc",
    "libobjc.A.dylib | object_cxxDestructFromClass(objc_object*, objc_class*)",
    "CoreFoundation | _CFRelease",
]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "gpu",
    ["Metal | -[_MTLCommandQueue dealloc]", "MetalPerformanceShadersGraph | -[MPSGraphExecutable dealloc]"],
)
def test_releasing_a_model_is_unloading_and_no_work_of_the_gpu(release, gpu):
    assert verdict(gpu, release, "CoreML | -[MLE5Engine dealloc]", "App | main") == ("RUNTIME", "load")
    assert verdict(gpu, release, "App | Model.deinit", "App | main")[0] != "GPU"


def test_what_a_prediction_releases_is_part_of_the_call():
    assert verdict("Metal | -[_MTLCommandBuffer dealloc]", RELEASES[0], *PREDICT) == ("RUNTIME", None)


def test_gpu_work_that_releases_something_stays_gpu_work():
    run = "MetalPerformanceShadersGraph | -[MPSGraphExecutable runWithMTLCommandQueue:inputsArray:resultsArray:executionDescriptor:]"
    assert verdict(RELEASES[0], run, *PREDICT) == ("GPU", "dispatch")
    assert verdict("Metal | -[_MTLBuffer dealloc]", RELEASES[0], run, *PREDICT) == ("GPU", "dispatch")
    assert verdict("Metal | -[_MTLCommandBuffer commit]", "libobjc.A.dylib | objc_msgSend", *PREDICT) == (
        "GPU",
        "dispatch",
    )


def test_a_release_in_drawing_code_is_graphics():
    assert (
        verdict("Metal | -[_MTLTexture dealloc]", RELEASES[2], "QuartzCore | CA::Layer::~Layer()")[0]
        == "GRAPHICS"
    )


def test_sleep_of_a_worker_with_a_call_still_waits():
    assert verdict(*ASLEEP, E5_ANE, *WORKER) == ("ANE", "wait")


def test_a_release_around_the_runtime_is_unloading_unless_a_call_is_inside():
    gpu = ["Metal | ???", "Espresso | ???", "CoreML | ???"]
    assert verdict(*gpu, RELEASES[1], "Vision | ???") == ("RUNTIME", "load")
    assert verdict("Metal | ???", "Espresso | ???", *PREDICT[:1], RELEASES[1], "Vision | ???") == (
        "GPU",
        "dispatch",
    )
