"""Other runtimes than Core ML, and what only looks like inference: literal stacks, literal verdicts."""

from __future__ import annotations

import pytest
from stack_support import E5_ANE, E5_CPU, LOAD, MARKERS, PREDICT, WORKER, classified, frame, verdict


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (
            [
                "libBLAS.dylib | APL_sgemm",
                "libBLAS.dylib | cblas_sgemm",
                "libtorch_cpu.dylib | at::native::cpublas::gemm(int)",
            ],
            ("CPU", "execute"),
        ),
        (
            [
                "MPSNDArray | ___lldb_unnamed_symbol1550",
                "libmetal_plugin.dylib | metal_plugin::MPSApplyMomentumOp<float>::Compute(int)",
            ],
            ("GPU", "dispatch"),
        ),
        (
            [
                "MetalPerformanceShadersGraph | -[MPSGraphExecutable commonPostInit:]",
                "MetalPerformanceShadersGraph | -[MPSGraph compileWithDevice:feeds:targetTensors:]",
                "libtorch_cpu.dylib | at::native::mps::runMPSGraph(at::mps::MPSStream*)",
            ],
            ("GPU", "compile"),
        ),
        (
            [
                "libmlx.dylib | mlx::core::metal::CommandEncoder::set_input_array(int)",
                "libmlx.dylib | mlx::core::Gather::eval_gpu(std::__1::vector<int>)",
                "libmlx.dylib | mlx::core::async_eval(std::__1::vector<mlx::core::array>)",
            ],
            ("GPU", "dispatch"),
        ),
        (
            [
                "AGXMetalG14X | -[AGXG14XFamilyCommandBuffer blitCommandEncoder]",
                "libmlx.dylib | mlx::core::QuantizedMatmul::eval_gpu(int)",
            ],
            ("GPU", "dispatch"),
        ),
        (
            ["libBLAS.dylib | cblas_sgemm", "libmlx.dylib | mlx::core::Matmul::eval_cpu(int)"],
            ("CPU", "execute"),
        ),
        (
            [
                " | AGX::ComputeContext::setBuffer_impl<AGXBuffer>",
                " | ggml_metal_op_cpy",
                " | ggml_metal_graph_compute",
            ],
            ("GPU", "dispatch"),
        ),
        (["Aiko | ggml_metal_add_buffer", "Aiko | whisper_model_load"], ("GPU", "load")),
        (["libggml-cpu.dylib | ggml_vec_dot_q4_K_q8_K", "libllama.dylib | llama_decode"], ("CPU", "execute")),
        (
            ["libBLAS.dylib | cblas_sgemm", "libggml-blas.dylib | ggml_backend_blas_graph_compute"],
            ("CPU", "execute"),
        ),
        (["libsystem_m.dylib | expf", "libllama.dylib | llama_sampler_sample"], ("RUNTIME", None)),
        (
            [
                "Translate | ruy::KernelFloatNeon(ruy::KernelParamsFloat<8, 8> const&)",
                "Translate | TfLiteStatus tflite::ops::builtin::fully_connected::Eval<1>(TfLiteContext*)",
                "Translate | tflite::impl::Interpreter::Invoke()",
            ],
            ("CPU", "execute"),
        ),
        (
            [
                "App | xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_ld128",
                "App | xnn_compute_gemm",
                "App | thread_parallelize_2d_tile_2d_dynamic",
            ],
            ("CPU", "execute"),
        ),
        (
            ["Metal | -[_MTLCommandBuffer commit]", "App | tflite::gpu::metal::InferenceContext::Encode()"],
            ("GPU", "dispatch"),
        ),
        (
            [
                E5_ANE,
                *PREDICT,
                "App | tflite::delegates::coreml::CoreMlDelegateKernel::Invoke(int)",
            ],
            ("ANE", "dispatch"),
        ),
        (["App | TfLiteInterpreterCreate"], ("RUNTIME", "load")),
        (
            [
                "onnxruntime_pybind11_state.so | MlasSgemmOperation(int)",
                "onnxruntime_pybind11_state.so | onnxruntime::InferenceSession::Run(int)",
            ],
            ("CPU", "execute"),
        ),
        (
            [E5_CPU, *PREDICT, "libonnxruntime.1.17.0.dylib | onnxruntime::coreml::Execution::Predict(int)"],
            ("CPU", "execute"),
        ),
        (
            [
                "com.apple.MLCompute | -[MLCDeviceCPU(MLCEngineDispatch) dispatchGradientLayer:]",
                "com.apple.MLCompute | -[MLCTrainingGraph executeGradientWithBatchSize:options:]",
            ],
            ("CPU", "execute"),
        ),
        (
            [
                "App | torch::executor::native::opt_mm_out(int)",
                "App | executorch::runtime::Method::execute()",
            ],
            ("CPU", "execute"),
        ),
        (
            ["libBLAS.dylib | cblas_sgemm", "libctranslate2.4.dylib | ctranslate2::ops::Gemm::compute()"],
            ("CPU", "execute"),
        ),
    ],
)
def test_other_runtimes(frames, expected):
    assert verdict(*frames, *WORKER) == expected


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        ("libmlx.dylib | mlx::core::matmul_bnns<_MLX_BFloat16>", ("CPU", "execute")),
        ("App | static BNNS.apply(_:to:)", ("CPU", "execute")),
        ("libonnxruntime.1.4.0.dylib | .LComputeBlockBy4Loop830+0x168", ("CPU", "execute")),
        ("libggml-metal.0.9.5.dylib | ggml_metal_rsets_free", ("GPU", "load")),
        ("libggml-metal.0.9.5.dylib | ggml_metal_encoder_free", ("GPU", "dispatch")),
        ("libggml-metal.so | ???", ("GPU", "dispatch")),
        ("libmetal_plugin.dylib | 0x18df9", ("GPU", "dispatch")),
        ("libtorch_cpu.dylib | MPSStream::copy", ("GPU", "dispatch")),
        (
            "cake | _$LT$candle_core..metal_backend..MetalStorage$u20$as$u20$Backend$GT$::matmul",
            ("GPU", "dispatch"),
        ),
        ("cake | candle_core::cpu_backend::utils::binary_map", ("CPU", "execute")),
        ("cake | candle_nn::linear::Linear::forward", ("RUNTIME", None)),
    ],
)
def test_back_ends_by_one_frame(leaf, expected):
    assert verdict(leaf, *WORKER) == expected


def test_a_library_without_symbols_is_still_context_for_its_callees():
    assert verdict("libBLAS.dylib | cblas_sgemm", "libonnxruntime.1.17.0.dylib | ???") == ("CPU", "execute")


@pytest.mark.parametrize(
    ("leaf", "phase"),
    [
        (" | _ANEClient compileModel", "compile"),
        (" | _ANEDaemonConnection loadModel", "load"),
        (" | _ANEClient evaluateWithModel", "dispatch"),
        ("AppleNeuralEngine | +[_ANEModel modelAtURL:key:]", "load"),
        (
            "AppleNeuralEngine | -[_ANEProgramIOSurfacesMapper mapIOSurfacesWithModel:request:error:]",
            "copy",
        ),
        (" | ???  (in AppleNeuralEngine)  load address 0x1a8 + 0x5ec  [0x1a8b0]", "dispatch"),
    ],
)
def test_the_ane_client_in_other_spellings(leaf, phase):
    assert verdict(leaf, *WORKER) == ("ANE", phase)


def test_sleep_is_seen_behind_an_offset():
    leaf = "libsystem_kernel.dylib | __psynch_cvwait + 8"
    assert verdict(leaf, "libtorch_cpu.dylib | at::mps::MPSStream::commitAndWait() + 12") == ("GPU", "wait")


def test_mangled_symbols_are_read_too():
    assert verdict("libmlx.dylib | __ZN3mlx4core3gpu4evalERNS0_5arrayE") == ("GPU", "dispatch")


@pytest.mark.parametrize(
    "frames",
    [
        ["libdispatch.dylib | _dispatch_lane_serial_drain", "Finder | -[Plane drawLane:]"],
        ["com.macrabbit.Espresso | -[CCThreadedConnection workerThreadRunLoop]"],
        ["Espresso | Espresso.Decoder.step(token:)"],
        ["AirApp | FREDispatchStatusEventAsync", "AirApp | -[ANEHelper onStatus:]", "AirApp | ANEFinalizer"],
        ["AirApp | _ANEHelper_dispatchStatusEvent"],
        ["com.zingelements.zinglab | ZingEditorCompileThread::run()"],
        ["Mantle | -[MTLModel initWithDictionary:error:]", "App | +[MTLJSONAdapter modelOfClass:]"],
        [
            "libBLAS.dylib | cblas_sgemm",
            "_multiarray_umath.cpython-310-darwin.so | DOUBLE_matmul",
            "Python | PyObject_Call",
        ],
        ["App | MPSPacketParser::parse()", "App | mps_to_kmh"],
        ["select.cpython-310-darwin.so | select_kqueue_control_impl", "Python | method_vectorcall_FASTCALL"],
        ["App | HTMLParser::parse()", "App | Format::at::x()"],
    ],
)
def test_lookalikes_are_other(frames):
    assert verdict(*frames, *WORKER) == ("OTHER", None)


@pytest.mark.parametrize(
    "frames",
    [
        [
            "IOGPU | IOGPUResourceCreate",
            "AGXMetalG16P_B0 | -[AGXBuffer initWithDevice:]",
            "Maps | mbgl::metal::Drawable::draw()",
        ],
        [
            "com.apple.IOAccelerator | ioAccelResourceFinalize",
            "com.apple.AMDMTLBronzeDriver | -[BronzeMtlTexture dealloc]",
            "com.apple.CoreImage | CI::MetalContext::after_render()",
        ],
        [
            "libdispatch.dylib | __DISPATCH_WAIT_FOR_QUEUE__",
            "CoreImage | CI::MetalContext::render_node(CI::TileTask*)",
        ],
        ["QuartzCore | -[CAMetalLayer nextDrawable]", "UnityFramework | 0x1234"],
        [
            "Metal | -[_MTLCommandBuffer commit]",
            "SceneKit | -[SCNRenderer _drawScene:]",
            "App | ARView.update()",
        ],
        ["Metal | -[_MTLDevice newComputePipelineStateWithFunction:error:]", "Game | Shaders::load()"],
        [
            "AGXMetalG13X | 0x1fddc171c",
            "libANGLE.dylib | rx::ContextMtl::flush()",
            "WebKit | WebKit::RemoteGraphicsContextGL::paint()",
        ],
        [
            "Metal | -[_MTLCommandBuffer commit]",
            "MPSCore | MPSKernel::encode()",
            "MPSImage | -[MPSImageGaussianBlur encodeToCommandBuffer:]",
            "Photos | blur()",
        ],
        [
            "MPSCore | MPSDevice::GetMPSLibrary_DoNotUse(MPSLibraryInfo const*)",
            " | -[MPSImageLanczosScale initWithDevice:]",
        ],
        [
            "VideoToolbox | VTPixelTransferSessionTransferImage",
            "Metal | -[_MTLCommandBuffer commit]",
            "AVFoundation | -[AVPlayer play]",
        ],
    ],
)
def test_drawing_is_not_inference(frames):
    assert verdict(*frames, *WORKER) == ("GRAPHICS", None)


def test_metal_counts_for_a_model_only_through_ml_frames():
    commit = "Metal | -[_MTLCommandBuffer commit]"
    assert verdict(commit, "Espresso | ___lldb_unnamed_symbol1", *PREDICT) == ("GPU", "dispatch")
    assert verdict(commit, "QuartzCore | CA::Layer::display()", "App | done()", *PREDICT) == (
        "GRAPHICS",
        None,
    )
    assert verdict(commit, "CoreImage | -[CIContext render:toCVPixelBuffer:]", *PREDICT) == (
        "RUNTIME",
        "copy",
    )


def test_vision_is_no_proof_for_what_it_calls():
    detector = "Vision | -[VNDetectRectanglesRequest internalPerformRevision:inContext:error:]"
    assert verdict("libBLAS.dylib | cblas_sgemm", detector) == ("RUNTIME", None)
    assert verdict("libBNNS.dylib | 0x1234", detector) == ("CPU", "execute")


def test_asking_whether_there_is_an_ane_is_not_using_it():
    assert verdict("AppleNeuralEngine | +[_ANEDeviceInfo hasANE]", *LOAD) == ("RUNTIME", "load")


# Core AI ----------------------------------------------------------------------------------------------------

CORE_AI_CALL = "CoreAIRuntime | InferenceFunction.run(inputs:states:outputViews:)"
TO_MPSGRAPH = [
    "MetalPerformanceShadersGraph | MPSGraphDelegateKernel._coreAI_inferValue",
    "CoreAIRuntime | 0x1fc905348",
    CORE_AI_CALL,
]
RUN_GRAPH = "MetalPerformanceShadersGraph | -[MPSGraphExecutable runInternalWithDevice:]"
IN_GPU = "MetalPerformanceShadersGraph | GPURegionRuntime.evaluateOps"
TO_ANE = "AppleNeuralEngine | -[_ANEClient evaluateWithModel:options:request:qos:error:]"


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        # MPSGraph serves both the GPU and the Neural Engine: alone it shows neither.
        ([RUN_GRAPH, *TO_MPSGRAPH], ("RUNTIME", "dispatch")),
        (["MetalPerformanceShadersGraph | 0x1fc905348", *TO_MPSGRAPH], ("RUNTIME", "dispatch")),
        ([IN_GPU, RUN_GRAPH, *TO_MPSGRAPH], ("GPU", "dispatch")),
        (
            ["Metal | MTL3On4CommandBuffer.waitUntilCompleted", IN_GPU, RUN_GRAPH, *TO_MPSGRAPH],
            ("GPU", "wait"),
        ),
        (["Metal | -[_MTLCommandBuffer commit]", RUN_GRAPH, *TO_MPSGRAPH], ("GPU", "dispatch")),
        ([TO_ANE, RUN_GRAPH, *TO_MPSGRAPH], ("ANE", "dispatch")),
        ([RUN_GRAPH, "App | Filter.apply()"], ("GPU", "dispatch")),
        (["BNNSCoreAIDelegate | 0x1fc905348", CORE_AI_CALL], ("CPU", "execute")),
        (
            ["libBNNS.dylib | BNNSGraphContextExecute_v2", "BNNSCoreAIDelegate | 0x1", CORE_AI_CALL],
            ("CPU", "execute"),
        ),
        ([CORE_AI_CALL, "App | Scene.encode()"], ("RUNTIME", None)),
        (["ODIE | 0x1fc905348", "App | Scene.encode()"], ("RUNTIME", None)),
        (["CoreAIRuntime | 0x1", "CoreAIRuntime | AIModel.loadFunction(named:)"], ("RUNTIME", "load")),
        (
            [
                "MetalPerformanceShadersGraph | -[MPSGraphExecutable initWithMPSGraphPackageAtURL:]",
                "CoreAI | static AIModel.specialize(contentsOf:options:cache:cachePolicy:)",
            ],
            ("RUNTIME", "load"),
        ),
        (["CoreAICompiler | 0x1", "App | Scene.load()"], ("RUNTIME", "compile")),
        (["TokenGenerationCore | 0x1", "App | Scene.encode()"], ("RUNTIME", None)),
        (["FoundationModels | LanguageModelSession.respond(to:options:)", "App | ask()"], ("RUNTIME", None)),
        (["App | MyAIModel.run()", "App | InferenceFunctions.run()"], ("OTHER", None)),
    ],
)
def test_core_ai(frames: list[str], expected: tuple[str, str | None]) -> None:
    assert verdict(*frames) == expected


def test_an_inference_of_core_ai_is_a_call() -> None:
    classification = classified([[RUN_GRAPH, *TO_MPSGRAPH], ["CoreAIRuntime | 0x1"]])
    assert classification.boundary.tolist() == [3, -1]


def test_metal_4s_machine_learning_encoder_is_inference_on_the_gpu() -> None:
    encoder = "Metal | -[_MTL4MachineLearningCommandEncoder dispatchNetworkWithIntermediatesHeap:]"
    assert verdict(encoder, "App | Model.run()") == ("GPU", "dispatch")
    assert verdict("App | MTL4::MachineLearningCommandEncoder::dispatchNetwork(MTL::Heap*)") == (
        "GPU",
        "dispatch",
    )
    compiles = "Metal | -[_MTL4Compiler newMachineLearningPipelineStateWithDescriptor:error:]"
    assert verdict(compiles, "App | Model.init()") == ("GPU", "compile")
    drawing = "Metal | -[_MTL4RenderCommandEncoder drawPrimitives:vertexStart:vertexCount:]"
    assert verdict(drawing, "App | View.draw()")[0] == "GRAPHICS"


def test_mlx_kernels_for_the_neural_accelerators_are_named_as_such() -> None:
    nax = "libmlx.dylib | mlx::core::steel_matmul_regular_axpby_nax(mlx::core::Stream const&)"
    assert verdict(nax) == ("GPU", "dispatch")
    rule = MARKERS.rules[MARKERS.match(*frame(nax)).rule]
    assert (rule.id, "Neural Accelerators" in rule.means) == ("gpu.mlx-neural-accelerators", True)
    plain = MARKERS.rules[MARKERS.match("libmlx.dylib", "mlx::core::Matmul::eval_gpu(std::vector<int>)").rule]
    assert plain.id == "gpu.mlx"
