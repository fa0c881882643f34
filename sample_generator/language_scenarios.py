"""The recordings of apps that run a language model with Apple's package: one on the ANE throughout, one not.

The package marks each step by a signpost (``InstrumentsProfiler.swift`` of apple/coreai-models): the prompt
up to its first token (``Prompt``), each time between two tokens (``Extend``), a token that becomes text
(``Decode``), and inside of these the forward passes, the sampling and the growth of the cache. After the last
token an ``Extend`` begins that no token ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sample_generator import app_work as app
from sample_generator import coreai_work as ai
from sample_generator import language_work as work
from sample_generator import platforms as p
from sample_generator import toc
from sample_generator.evidence import Evidence, Generation, Signpost, Token
from sample_generator.evidence_coreai import ODIE, call_spans, preparing_spans, region, region_spans
from sample_generator.evidence_gpu import METAL, MPS, GpuTimeline
from sample_generator.predictions import ai_on_ane, ai_on_gpu, user_interface
from sample_generator.recording import PERIOD_NS, Recording, on_clock
from sample_generator.recording_files import files

if TYPE_CHECKING:
    from sample_generator.platforms import Platform
    from sample_generator.recording import Lane
    from sample_generator.recording_files import Files

_ANE = "ane-hw-intervals"
_SUBSYSTEM = "com.apple.coreai-models.performance"
_ENGINE = "StaticShape"
_CONTEXT_OF_ENGINE = 2048
"""Tokens of context beyond which the model of the first recording leaves the Neural Engine."""


@dataclass
class _Chat:
    """An app's thread that generates text, with the signposts of the package and the truth of each token."""

    recording: Recording
    lane: Lane
    model: str
    signposts: list[Signpost] = field(default_factory=list)
    generations: list[Generation] = field(default_factory=list)

    def mark(
        self, kind: Literal["Begin", "End"], name: str, before_ns: int, metadata: str, number: int
    ) -> int:
        """Write a signpost just before the lane's tick, and return its time."""
        time_ns = on_clock(self.lane.tick * PERIOD_NS - before_ns)
        self.signposts.append(
            Signpost(time_ns, kind, self.lane, "", name, "performance", _SUBSYSTEM, metadata, number)
        )
        return time_ns

    def begin(self, name: str, before_ns: int, metadata: str = "") -> tuple[str, int, int]:
        """Begin a span of its own number."""
        number = 0xE000 + len(self.signposts)
        return name, number, self.mark("Begin", name, before_ns, metadata, number)

    def end(self, span: tuple[str, int, int], before_ns: int) -> int:
        """End a span."""
        name, number, _ = span
        return self.mark("End", name, before_ns, "", number)

    def generate(self, prompt_tokens: int, tokens: int, sampling: int, leaves_engine: bool = False) -> None:
        """Play a request: the prompt in chunks of 512 tokens, then one token after another."""
        step_span = self.begin("Prompt", 450_000, f"tokens={prompt_tokens}")
        generation = Generation(self.model, step_span[2], prompt_tokens)
        self.lane.on(work.TOKENIZE)
        for first in range(0, prompt_tokens, 512):
            if first:
                self.lane.on(work.NEXT_CHUNK)
            size = min(512, prompt_tokens - first)
            self._forward(first, size, "ANE", 6 + size // 64)
        self._sample(sampling)
        for number in range(tokens):
            self.end(step_span, 250_000)
            context = prompt_tokens + number
            of_token = "GPU" if number and self._is_off(context, leaves_engine) else "ANE"
            text_span = self.begin("Decode", 240_000, f"step={number}")
            generation.tokens.append(Token(text_span[2], context, of_token))
            self.end(text_span, 230_000)
            metadata = f"tokens={context + 1}, step={number + 1}"
            step_span = self.begin(
                "Extend", 220_000, metadata if number % 2 else ", ".join(metadata.split(", ")[::-1])
            )
            if number + 1 < tokens:
                if (context + 1) % 256 == 0:
                    cache_span = self.begin("CacheManagement", 215_000, "operation=grow")
                    self.lane.on(work.GROW_CACHE)
                    self.end(cache_span, 260_000)
                engine = "GPU" if self._is_off(context + 1, leaves_engine) else "ANE"
                self._forward(context, 1, engine, 9 + number % 2 if engine == "ANE" else 15 + number % 3)
                self._sample(sampling)
        self.lane.on(work.TOKENIZE)
        self.end(step_span, 250_000)
        self.generations.append(generation)

    def _is_off(self, context: int, leaves_engine: bool) -> bool:
        """Return whether the pass for a token with so many tokens before it is on the GPU."""
        return leaves_engine and context >= _CONTEXT_OF_ENGINE

    def _forward(self, position: int, size: int, engine: Literal["ANE", "GPU"], busy: int) -> None:
        span = self.begin("LogitsInference", 212_000, f"step={position}, tokens={size}, engine={_ENGINE}")
        with self.recording.inference(self.lane, self.model, engine):
            if engine == "ANE":
                ai_on_ane(self.lane, busy)
            else:
                ai_on_gpu(self.lane, busy)
        self.end(span, 290_000)

    def _sample(self, ticks: int) -> None:
        span = self.begin("Sample", 285_000, "strategy=topK, temperature=0.700")
        self.lane.on(work.SAMPLE_TOKEN, ticks)
        self.end(span, 260_000)


def _play(
    name: str, platform: Platform, pid: int, model: str
) -> tuple[Recording, Lane, _Chat, tuple[int, int, int, int]]:
    """Return a recording whose model has been loaded, its main thread, its chat, and the ticks of loading."""
    recording = Recording(name, platform, pid=pid)
    main = recording.lane(
        "Main Thread", app.MAIN_THREAD_IOS if platform.device == "iOS" else app.MAIN_THREAD_26
    )
    task = recording.lane(None, work.CHAT_TASK, work.GENERATE)
    chat = _Chat(recording, task, model)
    task.off(4)
    span = chat.begin("ModelLoad", 450_000, f"model={model}")
    task.on(ai.SPECIALIZE, 2)
    task.off(20)
    task.on(ai.SPECIALIZE)
    specialized = task.tick
    task.on(ai.LOAD, 4)
    loaded = task.tick
    task.on(ai.LOAD, 2)
    chat.end(span, 250_000)
    recording.shows("compiled-in-run", model)
    return recording, main, chat, (4, specialized, loaded, task.tick)


def _write(recording: Recording, chat: _Chat, ticks: tuple[int, int, int, int], on_gpu: bool) -> Files:
    timeline = GpuTimeline(recording)
    spans = [
        *preparing_spans(recording, chat.model, "main", ticks),
        *call_spans(recording, {chat.model: "main"}),
        *region_spans(recording, region("main"), [chat.model], names_model=False, twins=timeline),
        *(timeline.spans() if on_gpu else []),
    ]
    evidence = Evidence(
        interval_tables=(ODIE, _ANE, MPS, *((METAL,) if on_gpu else ())),
        spans=spans,
        signposts=sorted(chat.signposts, key=lambda post: post.time_ns),
        generations=chat.generations,
    )
    return files(recording, toc.Contents(recording, "Core AI", toc.CORE_AI_SIGNPOSTS), evidence)


def language_model_macos27() -> Files:
    """A language model on the ANE throughout, in two requests."""
    recording, main, chat, ticks = _play("language-model-macos27", p.XCODE_27_MACOS_27, 2410, "Chat")
    for prompt_tokens, tokens in ((200, 24), (530, 6)):
        chat.lane.off(30)
        chat.generate(prompt_tokens, tokens, sampling=1)
    user_interface(main, chat.lane, [app.UI_LAYOUT, app.UI_MODEL], every=41)
    recording.finish()
    return _write(recording, chat, ticks, on_gpu=False)


def language_model_leaves_engine_macos27() -> Files:
    """A language model whose decode leaves the ANE at 2,048 tokens of context, with slow sampling."""
    name = "language-model-leaves-engine-macos27"
    recording, main, chat, ticks = _play(name, p.XCODE_27_MACOS_27, 2417, "Chat")
    for prompt_tokens, tokens in ((600, 6), (2036, 36)):
        chat.lane.off(30)
        chat.generate(prompt_tokens, tokens, sampling=4, leaves_engine=True)
    user_interface(main, chat.lane, [app.UI_LAYOUT, app.UI_MODEL], every=41)
    recording.finish()
    off_engine = next(call.index for call in recording.inferences if call.engine == "GPU")
    recording.shows("decode-left-engine", chat.model, first_call=off_engine)
    recording.shows("slow-sampling", chat.model, first_call=2)  # behind the two chunks of the first prompt
    return _write(recording, chat, ticks, on_gpu=True)
