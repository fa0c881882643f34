"""The work of an app that generates text around the calls of its language model. All frames are made up."""

from __future__ import annotations

from sample_generator.notation import work

CHAT_TASK = """
    libsystem_pthread.dylib start_wqthread
    libsystem_pthread.dylib _pthread_wqthread
    libdispatch.dylib _dispatch_worker_thread2
    libdispatch.dylib _dispatch_root_queue_drain
    libswift_Concurrency.dylib swift_job_runImpl(swift::Job*, swift::SerialExecutorRef)
    SampleApp closure #1 in ChatView.send() @ ChatView.swift:88
"""
GENERATE = """
    SampleApp LanguageModel.generate(prompt:) @ LanguageModel.swift:132
"""
TOKENIZE = work("OTHER", None, "SampleApp Tokenizer.encode(text:) @ Tokenizer.swift:51")
SAMPLE_TOKEN = work(
    "OTHER", None, "SampleApp SamplingConfiguration.sampleToken(from:step:) @ Sampling.swift:77"
)
NEXT_CHUNK = work("OTHER", None, "SampleApp LanguageModel.prefill(chunk:) @ LanguageModel.swift:171")
GROW_CACHE = work("OTHER", None, "SampleApp KVCache.ensureCapacity(forContextLength:) @ KVCache.swift:64")
