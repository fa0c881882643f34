"""A recording's rows as the elements of each exported table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from notation import calls
from toc import DOCUMENTATION
from xml_writer import SENTINEL, Element, Node, Schema, query_result

if TYPE_CHECKING:
    from addresses import Binary, Frame
    from recording import Inference, Lane, Recording, Sample

_BACKTRACE_TYPE = {
    "text-addresses": "backtrace",
    "backtrace": "backtrace",
    "tagged-inner": "tagged-backtrace",
    "tagged": "tagged-backtrace",
}
_WHO = (
    ("time", "Sample Time", "sample-time"),
    ("thread", "Thread", "thread"),
    ("process", "Process", "process"),
    ("core", "Core", "core"),
    ("thread-state", "State", "thread-state"),
)
_COLUMNS = {
    "time-profile": (*_WHO, ("weight", "Weight", "weight"), ("stack", "Backtrace", "STACK")),
    "cpu-profile": (*_WHO, ("weight", "Cycles", "cycle-weight"), ("stack", "Backtrace", "STACK")),
    "counters-profile": (
        *_WHO,
        ("stack", "Backtrace", "backtrace"),
        ("weight", "Weight", "any"),
        ("counters-array", "Counter Value Array", "pmc-events"),
    ),
    "time-sample": (
        ("time", "Timestamp", "sample-time"),
        ("thread", "Thread", "thread"),
        ("core-index", "Core Index", "core"),
        ("thread-state", "Thread State", "thread-state"),
        ("cp-kernel-callstack", "Kernel Callstack ID", "kperf-bt"),
        ("cp-user-callstack", "User Callstack ID", "kperf-bt"),
        ("sample-type", "Sample type", "time-sample-kind"),
    ),
    "os-signpost": (
        ("time", "Timestamp", "event-time"),
        ("thread", "Thread", "thread"),
        ("process", "Process", "process"),
        ("event-type", "Event Type", "event-type"),
        ("scope", "Scope", "string"),
        ("identifier", "Signpost identifier", "os-signpost-identifier"),
        ("name", "Name", "signpost-name"),
        ("format-string", "Format String", "format-string"),
        ("backtrace", "Backtrace", "text-backtrace"),
        ("subsystem", "Subsystem", "subsystem"),
        ("category", "Category", "category"),
        ("message", "Message", "os-log-metadata"),
        ("emit-location", "Emit Location", "return-location"),
    ),
    "ane-hw-intervals-internal": (
        ("start", "Creation", "start-time"),
        ("duration", "Duration", "duration"),
        ("channel-name", "Channel Name", "ane-event-name"),
        ("event-depth", "Depth", "metal-nesting-level"),
        ("event-label", "Label", "formatted-label"),
        ("state", "State", "gpu-state"),
        ("color", "Color", "render-buffer-depth"),
    ),
    "coreml-os-signpost": (
        ("start", "Creation", "start-time"),
        ("duration", "Duration", "duration"),
        ("full-layout-id", "Full events view Layout ID", "layout-id"),
        ("event-label", "Event", "coreml-model-event"),
        ("model-name", "Model name", "coreml-model-name"),
        (
            "model-specific-track-model-name",
            "Model name to display in the model specific track disclosed view",
            "formatted-label",
        ),
        ("fully-qualified-model", "Model", "formatted-label"),
        ("parent-model-name", "Parent model name", "coreml-model-name"),
        ("model-level", "Model Level: top or sub", "coreml-model-level"),
        ("event-type", "Type of event", "string"),
        ("color", "Status Color", "event-concept"),
        ("graph-event-label", "Graph event label", "formatted-label"),
    ),
}


def sampling_table(recording: Recording, table_index: int) -> str:
    """Return the export of the recording's sampling table."""
    export = _Export(recording)
    rows = [export.row(sample) for sample in recording.samples]
    return query_result(_schema(recording, recording.table), [Node(table_index, rows)])


def empty_table(recording: Recording, schema: str, table_indexes: list[int]) -> str:
    """Return the export of tables that exist and hold nothing."""
    return query_result(_schema(recording, schema), [Node(index) for index in table_indexes])


def signposts(recording: Recording, table_indexes: list[int], rows_in: int) -> str:
    """Return the app's Begin and End around each inference; the other tables of the schema are empty."""
    export = _Export(recording)
    rows = [
        export.signpost(time_ns, kind, one)
        for one in recording.inferences
        for time_ns, kind in ((one.start_ns, "Begin"), (one.end_ns, "End"))
    ]
    nodes = [Node(index, rows if index == rows_in else []) for index in table_indexes]
    return query_result(_schema(recording, "os-signpost"), nodes)


def _schema(recording: Recording, name: str) -> Schema:
    stack = _BACKTRACE_TYPE[recording.platform.shape]
    columns = tuple(
        (mnemonic, shown, stack if kind == "STACK" else kind) for mnemonic, shown, kind in _COLUMNS[name]
    )
    return Schema(name, columns, DOCUMENTATION.get(name) if recording.platform.documented else None)


class _Export:
    """Turns samples and signposts of one recording into rows."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._platform = recording.platform
        self._fragments: dict[str, int] = {}
        pid = str(recording.pid)
        self._process = Element(
            "process",
            f"{recording.process} ({pid})",
            # "TODO" is what xctrace itself writes here, in every real export.
            children=(Element("pid", pid, pid), Element("device-session", "TODO", "TODO")),
        )

    # Rows -------------------------------------------------------------------------------------------------

    def row(self, sample: Sample) -> tuple[Element, ...]:
        time = _time("sample-time", sample.time_ns)
        thread = self._thread(sample.lane)
        state = _named("thread-state", "Blocked" if sample.stackshot else "Running")
        core_kind = "E" if sample.core < 4 else "P"
        core = Element("core", f"CPU {sample.core} ({core_kind} Core)", str(sample.core))
        if self._recording.table == "time-sample":
            kind = ("Stackshot", "3") if sample.stackshot else ("Timer Fired", "0")
            where = SENTINEL if sample.stackshot else core
            return (
                time,
                thread,
                where,
                state,
                SENTINEL,
                self._kperf(sample),
                Element("time-sample-kind", *kind),
            )
        who = (time, thread, self._process, core, state)
        if self._recording.table == "counters-profile":
            return *who, self._stack(sample), _weight(sample.weight), _counters(sample.counters)
        if self._recording.table == "cpu-profile":
            return *who, _cycles(sample.weight), self._stack(sample)
        return *who, _weight(sample.weight), self._stack(sample)

    def signpost(self, time_ns: int, kind: str, inference: Inference) -> tuple[Element, ...]:
        return (
            _time("event-time", time_ns),
            self._thread(inference.lane),
            self._process,
            _named("event-type", kind),
            _named("string", "Process"),
            Element("os-signpost-identifier", "OS_SIGNPOST_ID_EXCLUSIVE", "17216892719917625070"),
            _named("signpost-name", "Inference"),
            _named("format-string", "model=%{public}s"),
            self._text_backtrace(inference.lane),
            _named("subsystem", "org.example.SampleApp"),
            _named("category", "PointsOfInterest"),
            Element(
                "os-log-metadata",
                f"model={inference.label}",
                children=(_named("narrative-text", "model="), _named("string", inference.label)),
            ),
            self._emit_location(),
        )

    # Cells ------------------------------------------------------------------------------------------------

    def _thread(self, lane: Lane) -> Element:
        fmt = self._platform.thread_fmt.format(
            name=lane.name, tid=hex(lane.tid), process=self._recording.process, pid=self._recording.pid
        )
        return Element("thread", fmt, children=(Element("tid", hex(lane.tid), str(lane.tid)), self._process))

    def _stack(self, sample: Sample) -> Element:
        """Return the stack in the shape of this version of Xcode: A, B, C or D."""
        if sample.frames is None:
            return SENTINEL
        leaf = sample.frames[0].symbol or hex(sample.frames[0].address)
        fmt = f"{leaf} ← ({len(sample.frames) - 1} other frames)"
        if self._platform.shape == "text-addresses":
            return Element("backtrace", fmt, children=self._addresses_in_two(sample.frames))
        frames = tuple(map(self._frame, sample.frames))
        if self._platform.shape == "backtrace" or self._recording.table == "counters-profile":
            return Element("backtrace", children=frames)
        if self._platform.shape == "tagged-inner":
            inner = Element("backtrace", children=frames)
            return Element("tagged-backtrace", fmt, children=(inner, Element("uint64", "0", "0")))
        return Element("tagged-backtrace", fmt, children=frames)

    def _frame(self, frame: Frame) -> Element:
        children = [_binary(frame.binary)] if frame.binary else []
        if frame.source:
            file, line = frame.source
            path = Element("path", text=f"/Users/sample/SampleApp/Sources/{file}")
            children.append(
                Element("source", children=(path,), attributes=(("line", str(line)),), numbered=False)
            )
        attributes = [("name", frame.symbol or self._unnamed(frame)), ("addr", hex(frame.address))]
        if frame.inlined:
            attributes.append(("inlined", "true"))
        return Element("frame", children=tuple(children), attributes=tuple(attributes))

    def _unnamed(self, frame: Frame) -> str:
        if frame.binary is None or self._platform.unnamed_as == "address":
            return hex(frame.address)
        return hex(frame.function_start if self._platform.unnamed_as == "function" else frame.address - 1)

    def _addresses_in_two(self, frames: tuple[Frame, ...]) -> tuple[Element, ...]:
        """Return shape A's fragments: the calls next to the leaf, and the tail that many stacks share."""
        addresses = [frame.address for frame in frames]
        return (
            self._process,
            self._fragment(addresses[:2]),
            self._process,
            self._fragment(addresses[2:]),
        )

    def _fragment(self, addresses: list[int]) -> Element:
        text = " ".join(map(str, addresses))
        number = self._fragments.setdefault(text, 2 * len(self._fragments) + 2)
        return Element("text-addresses", f"frag {number}", text)

    def _kperf(self, sample: Sample) -> Element:
        """Return shape E: the PC, the callers up to a 0, and the link register; no symbols, nothing biased.

        A stackshot has no registers and repeats the PC as its first address.
        """
        frames = sample.frames or ()
        pc, callers = frames[0].address - 1, [frame.address for frame in frames[1:]]
        addresses = [pc, *callers] if sample.stackshot else [*callers, 0]
        registers = () if sample.stackshot else (frames[0].function_start + 0x24,)
        return Element(
            "kperf-bt",
            f"PC:{pc:#x}, {len(addresses)} frames, {len(registers)} regs, pid: {self._recording.pid}",
            children=(
                self._fragment(addresses),
                Element("text-address", hex(pc), str(pc)),
                self._process,
                Element("boolean", "No", "0"),
                *(Element("register-content", hex(content), str(content)) for content in registers),
            ),
        )

    def _text_backtrace(self, lane: Lane) -> Element:
        """Return shape F: frames as elsewhere, but an unknown one is an offset without a binary."""
        stack = self._recording.addresses.place(lane.prediction_stack + _EMIT_SIGNPOST)
        unknown = Element("frame", attributes=(("name", "+ 0xe184"), ("addr", "0xe184")))
        return Element("text-backtrace", children=(*map(self._frame, stack), unknown))

    def _emit_location(self) -> Element:
        uuid = self._recording.addresses.binary("SampleApp").uuid
        halves = [int(uuid.replace("-", "")[part : part + 16], 16) for part in (0, 16)]
        return Element(
            "return-location",
            "SampleApp.Transcriber.encode(_:)  SampleApp",
            children=(
                Element(
                    "uuid",
                    uuid,
                    children=tuple(Element("eight-byte-array", hex(half), str(half)) for half in halves),
                ),
                Element("mach-o-vm-offset", "0x1a40", str(0x1A40)),
            ),
        )


_EMIT_SIGNPOST = calls("libsystem_trace.dylib _os_signpost_emit_with_name_impl")


def _named(tag: str, text: str) -> Element:
    return Element(tag, text, text)


def _time(tag: str, time_ns: int) -> Element:
    micros = time_ns // 1000
    minutes, seconds = divmod(micros // 1_000_000, 60)
    fmt = f"{minutes:02}:{seconds:02}.{micros // 1000 % 1000:03}.{micros % 1000:03}"
    return Element(tag, fmt, str(time_ns))


def _weight(weight_ns: int) -> Element:
    return Element("weight", f"{weight_ns / 1e6:.2f} ms", str(weight_ns))


def _cycles(cycles: int) -> Element:
    shown = f"{cycles / 1e6:.2f} M" if cycles >= 1_000_000 else f"{cycles / 1e3:.2f} k"
    return Element("cycle-weight", shown, str(cycles))


def _counters(values: tuple[int, ...]) -> Element:
    return Element("pmc-events", ", ".join(f"({value:,})" for value in values), " ".join(map(str, values)))


def _binary(binary: Binary) -> Element:
    return Element(
        "binary",
        attributes=(
            ("name", binary.name),
            ("UUID", binary.uuid),
            ("arch", "arm64" if binary.name.startswith("Sample") else "arm64e"),
            ("load-addr", hex(binary.load_address)),
            ("path", binary.path),
        ),
    )
