"""Thread roots, and the work of an app beside its model: user interface, drawing, input and output."""

from __future__ import annotations

from sample_generator.notation import Work, work

# Thread roots ---------------------------------------------------------------------------------------------

MAIN_THREAD = """
    dyld start
    SampleApp main @ main.swift:12
    AppKit NSApplicationMain
    AppKit -[NSApplication run]
    AppKit -[NSApplication(NSEventRouting) _nextEventMatchingEventMask:untilDate:inMode:dequeue:]
    AppKit _DPSNextEvent
    HIToolbox _BlockUntilNextEventMatchingListInModeWithFilter
    HIToolbox ReceiveNextEventCommon
    HIToolbox RunCurrentEventLoopInMode
    CoreFoundation CFRunLoopRunSpecific
    CoreFoundation __CFRunLoopRun
    CoreFoundation __CFRunLoopDoObservers
    CoreFoundation __CFRUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION__
"""
MAIN_THREAD_26 = MAIN_THREAD.replace(" CFRunLoopRunSpecific", " _CFRunLoopRunSpecificWithOptions")
MAIN_THREAD_IOS = """
    dyld start
    SampleApp main @ main.swift:12
    UIKitCore UIApplicationMain
    UIKitCore -[UIApplication _run]
    GraphicsServices GSEventRunModal
    CoreFoundation _CFRunLoopRunSpecificWithOptions
    CoreFoundation __CFRunLoopRun
    CoreFoundation __CFRunLoopDoObservers
    CoreFoundation __CFRUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION__
"""
SERIAL_QUEUE = """
    libsystem_pthread.dylib start_wqthread
    libsystem_pthread.dylib _pthread_wqthread
    libdispatch.dylib _dispatch_workloop_worker_thread
    libdispatch.dylib _dispatch_root_queue_drain_deferred_wlh
    libdispatch.dylib _dispatch_lane_invoke
    libdispatch.dylib _dispatch_lane_serial_drain
    libdispatch.dylib _dispatch_client_callout
    libdispatch.dylib _dispatch_call_block_and_release
"""
CONCURRENT_QUEUE = """
    libsystem_pthread.dylib start_wqthread
    libsystem_pthread.dylib _pthread_wqthread
    libdispatch.dylib _dispatch_worker_thread2
    libdispatch.dylib _dispatch_root_queue_drain
    libdispatch.dylib _dispatch_async_redirect_invoke
    libdispatch.dylib _dispatch_continuation_pop
    libdispatch.dylib _dispatch_client_callout
    libdispatch.dylib _dispatch_call_block_and_release
"""
COMMAND_LINE = """
    dyld start
    SampleTool main @ main.swift:5
    SampleTool Benchmark.run(_:) @ Benchmark.swift:31
"""

# The app, its user interface and its drawing --------------------------------------------------------------

UI_LAYOUT = work(
    "OTHER",
    None,
    """
    AppKit ___NSRunLoopObserverCreateWithHandler_block_invoke
    AppKit -[NSWindow layoutIfNeeded]
    AppKit -[NSView _layoutSubtreeWithOldSize:]
    SampleApp WaveformView.layout() @ WaveformView.swift:44
    CoreText CTLineCreateWithAttributedString
    CoreText TLine::SetTrailingWhitespaceWidth(double)
    libobjc.A.dylib objc_msgSend
    """,
)
UI_MODEL = work(
    "OTHER",
    None,
    """
    AppKit ___NSRunLoopObserverCreateWithHandler_block_invoke
    SampleApp WaveformView.update(levels:) @ WaveformView.swift:71
    libswiftCore.dylib swift_retain
    """,
)
EVENT_THREAD = work(
    "OTHER",
    None,
    """
    libsystem_pthread.dylib thread_start
    libsystem_pthread.dylib _pthread_start
    AppKit _NSEventThread
    CoreFoundation _CFRunLoopRunSpecificWithOptions
    CoreFoundation __CFRunLoopRun
    CoreFoundation __CFRunLoopServiceMachPort
    libsystem_kernel.dylib mach_msg2_trap
    """,
)
UI_IOS = work(
    "OTHER",
    None,
    """
    UIKitCore _UIUpdateSequenceRun
    UIKitCore -[UIView(CALayerDelegate) layoutSublayersOfLayer:]
    SampleApp TranscriptView.layoutSubviews() @ TranscriptView.swift:38
    libswiftCore.dylib swift_release
    """,
)
UI_INLINED = work(
    "OTHER",
    None,
    """
    UIKitCore _UIUpdateSequenceRun
    SampleApp TranscriptView.append(_:) @ TranscriptView.swift:52
    SampleApp Array.append(_:) [inlined]
    SampleApp specialized Array._reserveCapacityAssumingUniqueBuffer(oldCount:) [inlined]
    """,
)
UI_STRIPPED = work(
    "OTHER",
    None,
    """
    AppKit ___NSRunLoopObserverCreateWithHandler_block_invoke
    SampleApp ?10
    SampleApp ?11
    SampleApp ?12
    """,
)
"""An app without symbols: the frames of the system still identify the user interface."""
JIT_CODE = work(
    "OTHER",
    None,
    """
    AppKit ___NSRunLoopObserverCreateWithHandler_block_invoke
    SampleApp ScriptHost.evaluate(_:) @ ScriptHost.swift:19
    JavaScriptCore JSEvaluateScript
    JavaScriptCore JSC::Interpreter::executeProgram(JSC::SourceCode const&, JSC::JSGlobalObject*)
    JavaScriptCore llint_entry
    - ?20
    - ?21
    """,
)
"""The two leaf frames were compiled at run time: an address and no binary."""

_DRAW = """
    QuartzCore CA::Transaction::commit()
    QuartzCore CA::Context::commit_transaction(CA::Transaction*, double, double*)
    QuartzCore CA::Layer::display_if_needed(CA::Transaction*)
    QuartzCore -[CALayer _display]
    MetalKit -[MTKView draw]
    SampleApp PreviewRenderer.draw(in:) @ PreviewRenderer.swift:88
"""
SUBMIT_TO_GPU = """
    Metal -[_MTLCommandQueue _submitAvailableCommandBuffers]
    IOGPU -[IOGPUMetalCommandQueue submitCommandBuffers:count:]
    IOGPU IOGPUCommandQueueSubmitCommandBuffers
    IOKit IOConnectCallMethod
    IOKit io_connect_method
    libsystem_kernel.dylib mach_msg2_internal
    libsystem_kernel.dylib mach_msg2_trap
"""
DRAW_DRAWABLE = work(
    "GRAPHICS",
    None,
    _DRAW,
    """
    QuartzCore -[CAMetalLayer nextDrawable]
    Metal -[_MTLDevice newTextureWithDescriptor:iosurface:plane:slice:]
    AGXMetalG15X_B0 -[AGXG15XFamilyDevice newTextureWithDescriptor:iosurface:plane:]
    """,
)
DRAW_ENCODE = work(
    "GRAPHICS", None, _DRAW, "AGXMetalG15X_B0 -[AGXG15XFamilyRenderContext setFragmentTexture:atIndex:]"
)
DRAW_SUBMIT = work("GRAPHICS", None, _DRAW, "Metal -[_MTLCommandBuffer commit]", SUBMIT_TO_GPU)
METAL_COMPLETION = work(
    "GRAPHICS",
    None,
    """
    Metal -[_MTLCommandQueue commandBufferDidComplete:startTime:completionTime:error:]
    Metal -[_MTLCommandBuffer didCompleteWithStartTime:endTime:error:]
    IOGPU IOGPUMetalCommandBufferStorageDealloc
    """,
)
"""On com.Metal.CompletionQueueDispatch: its frames do not show whether a picture or a model was completed."""

LOAD_AUDIO = work(
    "OTHER",
    None,
    """
    SampleApp AudioSource.nextWindow() @ AudioSource.swift:27
    AudioToolbox ExtAudioFileRead
    libsystem_kernel.dylib read
    """,
)
SPECTROGRAM = work(
    "OTHER",
    None,
    """
    SampleApp Spectrogram.transform(_:) @ Spectrogram.swift:63
    libvDSP.dylib vDSP_fft_zrip
    """,
)
"""Signal processing with Accelerate by the app itself: not the model."""
DECODE_TEXT = work(
    "OTHER",
    None,
    """
    SampleApp Decoder.bestPath(_:) @ Decoder.swift:105
    libswiftCore.dylib Dictionary.subscript.getter
    libsystem_malloc.dylib _xzm_free
    """,
)
RESIZE_IMAGE = work(
    "OTHER",
    None,
    """
    SampleApp ImageSource.nextTile() @ ImageSource.swift:40
    CoreGraphics CGContextDrawImage
    CoreGraphics ripc_DrawImage
    """,
)
DRAW_MASK = work(
    "OTHER",
    None,
    """
    SampleApp MaskStore.merge(_:) @ MaskStore.swift:77
    libsystem_platform.dylib _platform_memmove
    """,
)
TAKE_BUFFER = work(
    "OTHER",
    None,
    """
    SampleApp ImageSource.nextBuffer() @ ImageSource.swift:52
    CoreVideo CVPixelBufferCreate
    IOSurface IOSurfaceCreate
    """,
)
"""A new buffer for each image, where a pool would hand out the same few."""
FIND_EDGES = work(
    "OTHER",
    None,
    """
    SampleApp EdgeFilter.apply(to:) @ EdgeFilter.swift:31
    libsystem_m.dylib hypot
    """,
)
TOOL_INPUT = work("OTHER", None, "SampleTool Benchmark.fill(_:) @ Benchmark.swift:58")
TOOL_OUTPUT = work(
    "OTHER",
    None,
    """
    SampleTool Benchmark.check(_:) @ Benchmark.swift:74
    libsystem_m.dylib exp
    """,
)
WRITE_PROMPT = work(
    "OTHER",
    None,
    """
    SampleApp Assistant.compose(_:) @ Assistant.swift:24
    libswiftCore.dylib String.append(_:)
    """,
)
SHOW_ANSWER = work(
    "OTHER",
    None,
    """
    SampleApp Assistant.show(_:) @ Assistant.swift:57
    libswiftCore.dylib swift_retain
    """,
)
"""The work of an app around a language model that another process runs."""
NO_SYMBOLS = work(
    "UNKNOWN",
    None,
    """
    - ?30
    - ?31
    - ?32
    - ?33
    """,
)
"""A thread without any information, not even its images."""
NO_STACK = Work("UNKNOWN", None, None)
"""The sampler missed: the row has a weight and a sentinel instead of a stack."""
