"""The work of Core AI and of the delegates below it: specializing, loading, and an inference on each engine.

Public are the names of the frameworks, `InferenceFunction.run`, `AIModel.specialize`, `loadFunction`,
`MPSGraphDelegateKernel._coreAI_inferValue`, `GPURegionRuntime` and the Neural Engine's client; the order of
the frames between them is made up.
"""
# ruff: noqa: E501  a symbol is one line, however long

from __future__ import annotations

from sample_generator.app_work import SUBMIT_TO_GPU
from sample_generator.notation import work

TASK = """
    libsystem_pthread.dylib start_wqthread
    libsystem_pthread.dylib _pthread_wqthread
    libdispatch.dylib _dispatch_worker_thread2
    libdispatch.dylib _dispatch_root_queue_drain
    libswift_Concurrency.dylib swift_job_runImpl(swift::Job*, swift::SerialExecutorRef)
    SampleApp closure #1 in SceneView.refresh() @ SceneView.swift:72
"""
"""A thread of Swift's cooperative pool."""
ENCODE_SCENE = """
    SampleApp SceneEncoder.encode(_:) @ SceneEncoder.swift:48
"""
SPECIALIZE = work(
    "RUNTIME",
    "compile",
    """
    SampleApp SceneEncoder.prepare() @ SceneEncoder.swift:21
    CoreAI static AIModel.specialize(contentsOf:options:cache:cachePolicy:)
    CoreAIDelegates ?1
    CoreAICompiler ?1
    libxpc.dylib _xpc_serializer_pack
    """,
)
LOAD = work(
    "RUNTIME",
    "load",
    """
    SampleApp SceneEncoder.prepare() @ SceneEncoder.swift:24
    CoreAIRuntime AIModel.loadFunction(named:)
    CoreAIDelegates ?2
    MetalPerformanceShadersGraph -[MPSGraphExecutable initWithMPSGraphPackageAtURL:compilationDescriptor:]
    MetalPerformanceShadersGraph ?2
    """,
)

_CALL = """
    CoreAIRuntime InferenceFunction.run(inputs:states:outputViews:)
    CoreAIRuntime ?3
"""
INPUTS = work("RUNTIME", None, _CALL, "libswiftCore.dylib swift_retain", role="caller")
OUTPUTS = work("RUNTIME", None, _CALL, "CoreAIRuntime ?4", role="caller")

_MPSGRAPH = f"""
    {_CALL}
    MetalPerformanceShadersGraph MPSGraphDelegateKernel._coreAI_inferValue
    MetalPerformanceShadersGraph -[MPSGraphExecutable runInternalWithDevice:commandQueue:inputsArray:resultsArray:]
"""
BETWEEN_REGIONS = work("RUNTIME", "dispatch", _MPSGRAPH, "MetalPerformanceShadersGraph ?5", role="caller")
"""MPSGraph prepares its next part, on whichever engine that will be."""
_ANE = f"""
    {_MPSGRAPH}
    MetalPerformanceShadersGraph ?6
    AppleNeuralEngine -[_ANEClient doEvaluateDirectWithModel:options:request:qos:error:]
    AppleNeuralEngine -[_ANEProgramForEvaluation processRequest:model:qos:qIndex:modelStringID:options:returnValue:error:]
    ANEServices ANEProgramProcessRequestDirect
"""
ANE_SEND = work(
    "ANE",
    "dispatch",
    _ANE,
    """
    ANEServices ANE::ANEServicesDevice::ANE_ProgramSendRequest(ANEProgramRequestArgs*, void*)
    IOKit IOConnectCallAsyncMethod
    IOKit io_connect_async_method
    libsystem_kernel.dylib mach_msg2_internal
    libsystem_kernel.dylib mach_msg2_trap
    """,
    role="caller",
)
ANE_WAIT = work(
    "ANE",
    "wait",
    _ANE,
    """
    libdispatch.dylib _dispatch_semaphore_wait_slow
    libdispatch.dylib _dispatch_sema4_wait
    libsystem_kernel.dylib semaphore_wait_trap
    """,
    role="caller",
)
_GPU = f"""
    {_MPSGRAPH}
    MetalPerformanceShadersGraph GPURegionRuntime.evaluateOps
"""
GPU_ENCODE = work(
    "GPU",
    "dispatch",
    _GPU,
    """
    MetalPerformanceShadersGraph GPU::Conv2DOpHandler::encodeNDArrayOp(GPU::EncodeDescriptor*, NSArray*)
    MPSNDArray ?1
    AGXMetalG16X -[AGXG16XFamilyComputeContext dispatchThreadgroups:threadsPerThreadgroup:]
    """,
    role="caller",
)
GPU_SUBMIT = work("GPU", "dispatch", _GPU, "Metal -[_MTLCommandBuffer commit]", SUBMIT_TO_GPU, role="caller")
GPU_WAIT = work(
    "GPU",
    "wait",
    _GPU,
    """
    Metal -[_MTLCommandBuffer waitUntilCompleted]
    libsystem_pthread.dylib _pthread_cond_wait
    libsystem_kernel.dylib __psynch_cvwait
    """,
    role="caller",
)
BNNS = work(
    "CPU",
    "execute",
    _CALL,
    """
    BNNSCoreAIDelegate ?1
    libBNNS.dylib BNNSGraphContextExecute_v2
    libBNNS.dylib ?7
    """,
    role="caller",
)
