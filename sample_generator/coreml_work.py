"""The work of Core ML and of the engines below it: loading, and predicting on the new and on the old path.

Symbols that public stacks show are written as there; the frames between them are made up to look alike.
"""
# ruff: noqa: E501  a symbol is one line, however long

from __future__ import annotations

from sample_generator.app_work import CONCURRENT_QUEUE, SUBMIT_TO_GPU
from sample_generator.notation import Work, work

_BATCH = "std::__1::shared_ptr<Espresso::abstract_batch> const&"
_SEGMENT = "Espresso::net_compiler_segment_based::segment_t const&"
_STRING = "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>> const&"

# Loading a model ------------------------------------------------------------------------------------------

_LOAD = """
    CoreML +[MLModel modelWithContentsOfURL:configuration:error:]
    CoreML -[MLModelAssetResourceFactory modelWithConfiguration:error:]
    libdispatch.dylib _dispatch_lane_barrier_sync_invoke_and_complete
    libdispatch.dylib _dispatch_client_callout
    CoreML __60-[MLModelAssetResourceFactory modelWithConfiguration:error:]_block_invoke
    CoreML -[MLModelAssetResourceFactoryOnDiskImpl modelWithConfiguration:error:]
    CoreML +[MLLoader loadModelFromAssetAtURL:configuration:error:]
    CoreML +[MLLoader _loadModelFromAssetAtURL:configuration:loaderEvent:error:]
    CoreML +[MLLoader _loadModelFromArchive:configuration:loaderEvent:useUpdatableModelLoaders:error:]
"""
_LOAD_E5 = f"""
    {_LOAD}
    CoreML -[MLE5ProgramLibrary prepareAndReturnError:]
    Espresso e5rt_program_function_create
    Espresso E5RT::Ops::PreCompiledComputeOperation::PrepareOpForEncode()
    Espresso E5RT::Ops::PreCompiledComputeOperation::Impl::PrepareOpForEncode()
"""
_LOAD_ANE = """
    AppleNeuralEngine -[_ANEClient loadModel:options:qos:error:]
    AppleNeuralEngine -[_ANEClient doLoadModel:options:qos:error:]
    AppleNeuralEngine -[_ANEDaemonConnection loadModel:sandboxExtension:options:qos:withReply:]
    Foundation -[NSXPCConnection _sendInvocation:orArguments:count:methodSignature:selector:withProxy:]
    libxpc.dylib _xpc_serializer_pack
"""
LOAD_PARSE = work(
    "RUNTIME",
    "load",
    _LOAD,
    """
    CoreML -[MLModelDescription initFromModelDescriptionSpecification:error:]
    CoreFoundation -[__NSDictionaryM setObject:forKeyedSubscript:]
    """,
)
LOAD_E5_ANE = work(
    "ANE", "load", _LOAD_E5, "Espresso E5RT::Ops::AneInferenceOperation::PrepareOpForEncode()", _LOAD_ANE
)
LOAD_E5_GPU = work(
    "GPU",
    "load",
    _LOAD_E5,
    f"""
    Espresso E5RT::Ops::MpsGraphInferenceOperation::PrepareOpForEncode()
    Espresso E5RT::Ops::MpsGraphInferenceOperation::Impl::PrepareOpForEncode()
    Espresso E5RT::SharedResourceManager::GetOrCreateResource({_STRING}, E5RT::SharedResourceType, {_STRING}, NSDictionary*)
    Espresso E5RT::SharedResourceFactory::GetMPSGraphExecutable({_STRING}, NSDictionary*)
    MetalPerformanceShadersGraph -[MPSGraphExecutable initWithMPSGraphPackageAtURL:compilationDescriptor:]
    MetalPerformanceShadersGraph ?1
    """,
)
COMPILE_BNNS = work(
    "CPU",
    "compile",
    """
    CoreML -[MLE5ProgramLibrary createOperationForFunctionName:error:]
    Espresso e5rt_e5_compiler_compile
    Espresso E5RT::OnDeviceAOTCompilerInterface::Compile(E5RT::CompileOptions const&)
    libBNNS.dylib bnns::GraphCompile(bnns::GraphCompileOptions const&)
    libBNNS.dylib ?1
    """,
)
"""On queue MLE5ProgramLibrary.lazyInitQueue."""

_REBUILD_PLAN = f"""
    {_LOAD}
    CoreML -[MLNeuralNetworkEngine initWithContainer:configuration:error:]
    CoreML -[MLNeuralNetworkEngine rebuildPlan:]
    Espresso espresso_plan_build
    Espresso EspressoLight::espresso_plan::build()
"""
LOAD_NN_PLAN = work(
    "RUNTIME",
    "load",
    _REBUILD_PLAN,
    "Espresso Espresso::cpu_context_transfer_algo_t::cpu_context_transfer_algo_t(Espresso::cpu_context_transfer_algo_options const&)",
)
LOAD_NN_ANE = work(
    "ANE",
    "load",
    _REBUILD_PLAN,
    f"Espresso Espresso::ANERuntimeEngine::compiler::build_segment({_BATCH}, int, {_SEGMENT})",
    _LOAD_ANE,
)
LOAD_NN_GPU = work(
    "GPU",
    "load",
    _REBUILD_PLAN,
    """
    Espresso Espresso::context_metal::context_metal(Espresso::context_metal_options const&)
    Espresso Espresso::MPSEngine::context::context(std::__1::shared_ptr<Espresso::abstract_context> const&)
    libc++.1.dylib std::__1::mutex::lock()
    """,
)

# A prediction on the new path: Core ML's MLE5Engine and Espresso's E5RT (mlprogram, macOS 13 and later) ---

E5RT_QUEUE = f"""
    {CONCURRENT_QUEUE}
    Espresso ?1
    Espresso E5RT::AsyncTask::SafeExecuteTask()
"""
"""A worker of com.apple.e5rt.concurrentExecutionQueue: no prediction frame shows the call it works for."""
_E5_CALL = """
    CoreML -[MLModel predictionFromFeatures:error:]
    CoreML -[MLDelegateModel predictionFromFeatures:options:error:]
    CoreML -[MLE5Engine predictionFromFeatures:options:error:]
    CoreML -[MLE5Engine _predictionFromFeatures:options:error:]
    CoreML -[MLE5Engine _predictionFromFeatures:stream:options:error:]
"""
_E5_EXECUTE = f"""
    {_E5_CALL}
    CoreML -[MLE5ExecutionStream executeForInputFeatures:options:error:]
    CoreML -[MLE5ExecutionStream _executeStream:error:]
    Espresso e5rt_execution_stream_execute_sync
    Espresso E5RT::ExecutionStream::ExecuteStreamSync()
"""
_SEMAPHORE_WAIT = """
    libdispatch.dylib _dispatch_semaphore_wait_slow
    libdispatch.dylib _dispatch_sema4_wait
    libsystem_kernel.dylib semaphore_wait_trap
"""
E5_FEATURES = work(
    "RUNTIME",
    None,
    _E5_CALL,
    """
    CoreML -[MLDictionaryFeatureProvider featureValueForName:]
    CoreFoundation -[__NSDictionaryI objectForKeyedSubscript:]
    """,
    role="caller",
)
E5_BIND = work(
    "RUNTIME",
    "copy",
    _E5_CALL,
    """
    CoreML -[MLE5Engine _cleanUpAndReconfigureStream:forInputFeatures:error:]
    Espresso e5rt_io_port_bind_buffer_object
    Espresso E5RT::IOPort::BindMemoryObject(std::__1::shared_ptr<E5RT::MemoryObject> const&)
    libsystem_platform.dylib _platform_memmove
    """,
    role="caller",
)
E5_SUBMIT = work(
    "RUNTIME",
    None,
    _E5_EXECUTE,
    """
    libdispatch.dylib _dispatch_root_queue_poke_slow
    libsystem_pthread.dylib _pthread_workqueue_addthreads
    """,
    role="caller",
)
E5_WAIT = work("RUNTIME", "wait", _E5_EXECUTE, _SEMAPHORE_WAIT, role="caller")
E5_OUTPUT = work(
    "RUNTIME",
    None,
    _E5_CALL,
    """
    CoreML -[MLDictionaryFeatureProvider initWithFeatureValueDictionary:error:]
    libobjc.A.dylib objc_retain
    """,
    role="caller",
)

E5_CAST = work(
    "RUNTIME",
    "copy",
    """
    Espresso E5RT::Ops::CastOperation::ExecuteSync()
    Espresso E5RT::Ops::CastOperation::Impl::ExecuteSync()
    """,
    role="worker",
)
_E5_ANE = """
    Espresso E5RT::Ops::AneInferenceOperation::ExecuteSync()
    Espresso E5RT::Ops::AneInferenceOperation::Impl::ExecuteSync()
    Espresso E5RT::Ops::Impl::AneInferenceOperationImplUsingAnefAPIs::EvaluateANERequest(_ANERequest*) const
    AppleNeuralEngine -[_ANEClient doEvaluateDirectWithModel:options:request:qos:error:]
"""
_ANE_PROGRAM = """
    AppleNeuralEngine -[_ANEProgramForEvaluation processRequest:model:qos:qIndex:modelStringID:options:returnValue:error:]
    ANEServices ANEProgramProcessRequestDirect
"""
_SEND_TO_KERNEL = """
    IOKit IOConnectCallAsyncMethod
    IOKit io_connect_async_method
    libsystem_kernel.dylib mach_msg2_internal
    libsystem_kernel.dylib mach_msg2_trap
"""
E5_ANE_PREPARE = work(
    "ANE",
    "dispatch",
    _E5_ANE,
    """
    AppleNeuralEngine -[_ANERequest validate]
    IOSurface IOSurfaceGetAllocSize
    """,
    role="worker",
)
E5_ANE_SEND = work(
    "ANE",
    "dispatch",
    _E5_ANE,
    _ANE_PROGRAM,
    "ANEServices ANE::ANEServicesDevice::ANE_ProgramSendRequest(ANEProgramRequestArgs*, void*)",
    _SEND_TO_KERNEL,
    role="worker",
)
E5_ANE_WAIT = work("ANE", "wait", _E5_ANE, _ANE_PROGRAM, _SEMAPHORE_WAIT, role="worker")

_E5_BNNS = """
    Espresso E5RT::Ops::BnnsCpuInferenceOperation::ExecuteSync()
    Espresso E5RT::Ops::BnnsCpuInferenceOperation::Impl::ExecuteSync()
    libBNNS.dylib BNNSGraphContextExecute_v2
    libBNNS.dylib ?2
    libBNNS.dylib ?3
"""
E5_BNNS_LSTM = work("CPU", "execute", _E5_BNNS, "libBNNS.dylib ?4", role="worker")
E5_BNNS_GEMM = work(
    "CPU",
    "execute",
    _E5_BNNS,
    """
    libBLAS.dylib cblas_sgemm
    libBLAS.dylib APL_sgemm
    """,
    role="worker",
)

_E5_MPSGRAPH = """
    Espresso E5RT::Ops::MpsGraphInferenceOperation::ExecuteSync()
    Espresso E5RT::Ops::MpsGraphInferenceOperation::Impl::ExecuteSync()
    MetalPerformanceShadersGraph -[MPSGraphExecutable runWithMTLCommandQueue:inputsArray:resultsArray:executionDescriptor:]
"""
_MPSGRAPH_ENCODE = """
    MetalPerformanceShadersGraph -[MPSGraphExecutable encodeToCommandBuffer:inputsArray:resultsArray:executionDescriptor:]
    MetalPerformanceShadersGraph GPU::BaseOpHandler::encodeOp(GPU::EncodeDescriptor*)
"""
E5_MPSGRAPH_CONV = work(
    "GPU",
    "dispatch",
    _E5_MPSGRAPH,
    _MPSGRAPH_ENCODE,
    """
    MetalPerformanceShadersGraph GPU::Conv2DOpHandler::encodeNDArrayOp(GPU::EncodeDescriptor*, NSArray*)
    MPSNDArray ?1
    MPSCore ?2
    AGXMetalG15X_B0 -[AGXG15XFamilyComputeContext dispatchThreadgroups:threadsPerThreadgroup:]
    """,
    role="worker",
)
E5_MPSGRAPH_SUBMIT = work(
    "GPU", "dispatch", _E5_MPSGRAPH, "Metal -[_MTLCommandBuffer commit]", SUBMIT_TO_GPU, role="worker"
)
_WAIT_UNTIL_COMPLETED = """
    Metal -[_MTLCommandBuffer waitUntilCompleted]
    libsystem_pthread.dylib _pthread_cond_wait
    libsystem_kernel.dylib __psynch_cvwait
"""
E5_MPSGRAPH_WAIT = work("GPU", "wait", _E5_MPSGRAPH, _WAIT_UNTIL_COMPLETED, role="worker")

# A prediction on the old path: MLNeuralNetworkEngine and Espresso's engines, all on the caller's thread ---

_NN_CALL = """
    CoreML -[MLModel predictionFromFeatures:error:]
    CoreML -[MLDelegateModel predictionFromFeatures:options:error:]
    CoreML -[MLNeuralNetworkEngine predictionFromFeatures:options:error:]
    CoreML -[MLNeuralNetworkEngine evaluateInputs:bufferIndex:options:error:]
"""
_NN_EXECUTE = f"""
    {_NN_CALL}
    CoreML -[MLNeuralNetworkEngine executePlan:error:]
    Espresso espresso_plan_execute_sync
    Espresso EspressoLight::espresso_plan::execute_sync()
    Espresso EspressoLight::espresso_plan::dispatch_task_on_compute_batch({_BATCH}, std::__1::shared_ptr<EspressoLight::plan_task_t> const&)
"""
NN_FEATURES = work(
    "RUNTIME",
    None,
    _NN_CALL,
    """
    CoreML -[MLMultiArray initWithShape:dataType:error:]
    libsystem_malloc.dylib szone_malloc_should_clear
    """,
    role="caller",
)
NN_COPY = work(
    "RUNTIME",
    "copy",
    _NN_EXECUTE,
    """
    Espresso EspressoLight::espresso_plan::__copy_inputs(std::__1::shared_ptr<EspressoLight::plan_task_t> const&)
    libsystem_platform.dylib _platform_memmove
    """,
    role="caller",
)
_NN_ANE = f"""
    Espresso Espresso::net_compiler_segment_based::__forward({_BATCH})
    Espresso Espresso::ANERuntimeEngine::compiler::__forward_segment({_BATCH}, int, {_SEGMENT})
    AppleNeuralEngine -[_ANEClient evaluateWithModel:options:request:qos:error:]
    AppleNeuralEngine -[_ANEClient doEvaluateDirectWithModel:options:request:qos:error:]
"""
_H11ANE_PROGRAM = """
    AppleNeuralEngine -[_ANEProgramForEvaluation processRequest:qos:qIndex:modelStringID:options:error:]
    ANEServices H11ANEProgramProcessRequestDirect
"""
NN_ANE_PREPARE = work(
    "ANE", "dispatch", _NN_EXECUTE, _NN_ANE, "AppleNeuralEngine -[_ANEModel program]", role="caller"
)
NN_ANE_SEND = work(
    "ANE",
    "dispatch",
    _NN_EXECUTE,
    _NN_ANE,
    _H11ANE_PROGRAM,
    "ANEServices H11ANE::H11ANEDevice::ANE_ProgramSendRequest(H11ANEProgramRequestArgs*, void*)",
    _SEND_TO_KERNEL,
    role="caller",
)
NN_ANE_WAIT = work("ANE", "wait", _NN_EXECUTE, _NN_ANE, _H11ANE_PROGRAM, _SEMAPHORE_WAIT, role="caller")

_NN_LAYER = f"""
    Espresso Espresso::net::__forward({_BATCH})
    Espresso Espresso::layer::__launch({_BATCH})
"""
_NN_MPS = f"""
    {_NN_LAYER}
    Espresso Espresso::MPSEngine::context::__launch_kernel({_BATCH}, Espresso::base_kernel*)
"""
NN_MPS_CONV = work(
    "GPU",
    "dispatch",
    _NN_EXECUTE,
    _NN_MPS,
    """
    MPSNeuralNetwork -[MPSCNNConvolution encodeToCommandBuffer:sourceImage:destinationImage:]
    MPSNeuralNetwork ?1
    AGXMetalG15X_B0 -[AGXG15XFamilyComputeContext setTexture:atIndex:]
    """,
    role="caller",
)
NN_MPS_IMAGE = work(
    "GPU",
    "dispatch",
    _NN_EXECUTE,
    _NN_MPS,
    "Espresso Espresso::MPSEngine::blob_container::get_mps_image()",
    role="caller",
)
NN_MPS_SUBMIT = work(
    "GPU",
    "dispatch",
    _NN_EXECUTE,
    _NN_MPS,
    "Metal -[_MTLCommandBuffer commit]",
    SUBMIT_TO_GPU,
    role="caller",
)
NN_MPS_WAIT = work(
    "GPU",
    "wait",
    _NN_EXECUTE,
    "Espresso Espresso::MPSEngine::context::synchronize()",
    _WAIT_UNTIL_COMPLETED,
    role="caller",
)
_NN_BNNS = f"""
    {_NN_LAYER}
    Espresso Espresso::BNNSEngine::lstm_kernel::__launch({_BATCH})
"""
NN_BNNS_LSTM = work(
    "CPU",
    "execute",
    _NN_EXECUTE,
    _NN_BNNS,
    """
    libBNNS.dylib BNNSDirectApplyLSTMBatchCaching
    libBNNS.dylib ?5
    """,
    role="caller",
)
NN_BNNS_GEMM = work(
    "CPU",
    "execute",
    _NN_EXECUTE,
    _NN_BNNS,
    """
    libBLAS.dylib cblas_sgemm
    libBLAS.dylib APL_sgemm
    """,
    role="caller",
)
NN_BNNS_CONV = work(
    "CPU",
    "execute",
    _NN_EXECUTE,
    _NN_LAYER,
    f"""
    Espresso Espresso::BNNSEngine::convolution_kernel::__launch({_BATCH})
    libBNNS.dylib BNNSFilterApplyBatch
    libBNNS.dylib ?6
    """,
    role="caller",
)
NN_ELEMENTWISE = work(
    "CPU",
    "execute",
    _NN_EXECUTE,
    _NN_LAYER,
    f"Espresso Espresso::elementwise_kernel_cpu::__launch({_BATCH})",
    role="caller",
)

# The thread that only shows that this process opened the ANE --------------------------------------------------


def ane_services_thread(thread_start: str, run_loop: str) -> Work:
    """Return the parked run loop of the thread that ANEServices keeps for the life of the process."""
    return work(
        "ANE",
        "idle",
        f"""
        libsystem_pthread.dylib thread_start
        libsystem_pthread.dylib _pthread_start
        ANEServices {thread_start}
        CoreFoundation CFRunLoopRun
        CoreFoundation {run_loop}
        CoreFoundation __CFRunLoopRun
        CoreFoundation __CFRunLoopServiceMachPort
        libsystem_kernel.dylib mach_msg
        libsystem_kernel.dylib mach_msg_overwrite
        libsystem_kernel.dylib mach_msg2_internal
        libsystem_kernel.dylib mach_msg2_trap
        """,
    )


H11_ANE_IDLE = ane_services_thread(
    "H11ANE::H11ANEServicesThreadStart(H11ANE::H11ANEServicesThreadParams*)", "CFRunLoopRunSpecific"
)
ANE_IDLE = ane_services_thread(
    "ANE::ANEServicesThreadStart(ANE::ANEServicesThreadParams*)", "_CFRunLoopRunSpecificWithOptions"
)
