"""The three vocabularies that every number in tracekit carries: engine, phase, basis."""

from enum import StrEnum

from tracekit.model.schemas import CORE_AI_LANGUAGE_MODELS


class Engine(StrEnum):
    """Engine that a sample or an interval worked for."""

    ANE = "ANE"
    GPU = "GPU"
    CPU = "CPU"
    """An ML engine on the CPU (BNNS, Espresso kernels, BLAS under an ML ancestor); not any other CPU work."""
    RUNTIME = "RUNTIME"
    """Core ML, Espresso or another ML runtime, with no engine visible on the stack."""
    GRAPHICS = "GRAPHICS"
    """Metal or its driver with no ML ancestor: rendering, or compute that the frames cannot name."""
    OTHER = "OTHER"
    UNKNOWN = "UNKNOWN"
    """No stack, no frame of it has a symbol, or a part of it is missing."""

    @property
    def serves_inference(self) -> bool:
        """True for the engines that a verdict can name."""
        return self in (Engine.ANE, Engine.GPU, Engine.CPU)


CALLERS_MISSING = "(callers missing)"
CALLEES_MISSING = "(callees missing)"
INCOMPLETE = (CALLERS_MISSING, CALLEES_MISSING)
"""Names of frames that replace the missing part of a stack: lines of a text may be cut out or damaged."""


class Phase(StrEnum):
    """Purpose of an engine's work. Work of no ML engine has no phase (``None``)."""

    EXECUTE = "execute"
    DISPATCH = "dispatch"
    WAIT = "wait"
    COPY = "copy"
    """Bind, cast, convert."""
    COMPILE = "compile"
    LOAD = "load"
    """Loading and unloading a model, opening and closing an engine."""
    IDLE = "idle"
    """A parked service thread: listed, never counted as an engine's work."""

    @property
    def is_inference(self) -> bool:
        """True for phases that count towards an inference and its verdict."""
        return self not in (Phase.COMPILE, Phase.LOAD, Phase.IDLE)


class Basis(StrEnum):
    """Source of a number. Numbers of different bases are never added up."""

    MEASURED = "measured"
    """An interval that the operating system reported."""
    SAMPLED = "sampled"
    """Samples times weight, on the host."""
    INFERRED = "inferred"
    """Deduced: a gap after a dispatch, a window guessed from stacks."""
    GIVEN = "given"
    """Stated by the user: the edges of a window from ``--window`` or a CSV file."""


class LogKind(StrEnum):
    """Content of a line in ``Trace.engine_log``."""

    REQUEST = "request"
    """A request to the Neural Engine that is done: its status is 0 where it was served."""
    FAILURE = "failure"
    """The error of a request, reported by a layer above; it is not counted as a request."""
    UNSUPPORTED = "unsupported operator"
    NOT_LOADED = "not loaded"
    """A program for the Neural Engine that could not be compiled or loaded."""
    LOADED = "loaded"
    """A program that the kernel's driver made for the engine: a model was loaded; that is not an
    inference."""


SUBSYSTEMS = frozenset(
    ("com.apple.ane", "com.apple.coreai", "com.apple.espresso", "com.apple.metalperformanceshadersgraph")
)
"""Of the frameworks below Core ML and Core AI, whose lines and signposts are read."""
REPORTING_SUBSYSTEMS = frozenset(("com.apple.coreml", "com.apple.appleneuralengine"))
"""Subsystems that log much else and pass on errors of the engine: only these lines of theirs are read."""
CALL_SIGNPOSTS = ((CORE_AI_LANGUAGE_MODELS, "LogitsInference"),)
"""Subsystem and name of signposts that hold one run of a model each: in Apple's package of language models
it is the forward pass (apple/coreai-models, InstrumentsProfiler.swift, BSD-3)."""
MODEL_IN_MESSAGE = r"\bmodel\s*[=:]\s*\"?([\w.-]{1,128})"
"""The way in which apps name a model in a signpost's message, for example ``model=SpeechEncoder``."""
LOG_KINDS: tuple[LogKind, ...] = tuple(LogKind)
LOGGED_WITHIN_NS = 1_000_000
"""Heuristic: the longest delay between the end of a request and the client's log line about it."""

CLOCKS_WITHIN_NS = 10_000_000
"""Heuristic: the largest clock error of a text that is laid over a recording. Both state their times to a
millisecond, and the wall clock is slewed by less than that in a recording."""

ENGINES: tuple[Engine, ...] = tuple(Engine)
SERVING: tuple[Engine, ...] = tuple(engine for engine in Engine if engine.serves_inference)
"""The engines that a verdict can name, the first of ``ENGINES``."""
ML_ENGINES = (Engine.ANE, Engine.GPU, Engine.CPU, Engine.RUNTIME)
"""Engines that show a model at work."""
PHASES: tuple[Phase, ...] = tuple(Phase)
ENGINE_CODE: dict[Engine, int] = {engine: code for code, engine in enumerate(ENGINES)}
PHASE_CODE: dict[Phase | None, int] = {None: -1} | {phase: code for code, phase in enumerate(PHASES)}

COMPUTE_UNITS = ("all", "cpuAndGPU", "cpuAndNeuralEngine", "cpuOnly")
"""The cases of Core ML's ``MLComputeUnits``, in Core ML's spelling: what an app allows, not what ran."""
CPU_ONLY = COMPUTE_UNITS[-1]
