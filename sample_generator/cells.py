"""The values of a row: threads, processes, stacks, times, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_generator.notation import calls
from sample_generator.xml_writer import SENTINEL, Element

if TYPE_CHECKING:
    from sample_generator.addresses import Binary, Frame
    from sample_generator.recording import Lane, Recording, Sample


class Cells:
    """Writes the threads and stacks of one recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._platform = recording.platform
        self._fragments: dict[str, int] = {}
        self.app = process(recording.process, recording.pid)

    def thread(self, lane: Lane) -> Element:
        fmt = self._platform.thread_fmt.format(
            name=lane.name, tid=hex(lane.tid), process=self._recording.process, pid=self._recording.pid
        )
        return Element("thread", fmt, children=(Element("tid", hex(lane.tid), str(lane.tid)), self.app))

    def stack(self, sample: Sample) -> Element:
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
            self.app,
            self._fragment(addresses[:2]),
            self.app,
            self._fragment(addresses[2:]),
        )

    def _fragment(self, addresses: list[int]) -> Element:
        text = " ".join(map(str, addresses))
        number = self._fragments.setdefault(text, 2 * len(self._fragments) + 2)
        return Element("text-addresses", f"frag {number}", text)

    def kperf(self, sample: Sample) -> Element:
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
                self.app,
                Element("boolean", "No", "0"),
                *(Element("register-content", hex(content), str(content)) for content in registers),
            ),
        )

    def text_backtrace(self, lane: Lane) -> Element:
        """Return shape F: frames as elsewhere, but an unknown one is an offset without a binary."""
        stack = self._recording.addresses.place(lane.prediction_stack + _EMIT_SIGNPOST)
        unknown = Element("frame", attributes=(("name", "+ 0xe184"), ("addr", "0xe184")))
        return Element("text-backtrace", children=(*map(self._frame, stack), unknown))

    def emit_location(self) -> Element:
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


def named(tag: str, text: str) -> Element:
    return Element(tag, text, text)


def process(name: str, pid: int) -> Element:
    number = str(pid)
    # "TODO" is what xctrace itself writes here, in every real export.
    children = (Element("pid", number, number), Element("device-session", "TODO", "TODO"))
    return Element("process", f"{name} ({number})", children=children)


def time_cell(tag: str, time_ns: int) -> Element:
    micros = time_ns // 1000
    minutes, seconds = divmod(micros // 1_000_000, 60)
    fmt = f"{minutes:02}:{seconds:02}.{micros // 1000 % 1000:03}.{micros % 1000:03}"
    return Element(tag, fmt, str(time_ns))


def duration_cell(duration_ns: int) -> Element:
    units = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
    unit, size = next((pair for pair in units if duration_ns >= pair[1]), ("ns", 1))
    shown = f"{duration_ns / size:.2f}" if size > 1 else str(duration_ns)
    return Element("duration", f"{shown} {unit}", str(duration_ns))


def core_cell(core: int) -> Element:
    return Element("core", f"CPU {core} ({'E' if core < 4 else 'P'} Core)", str(core))


def weight_cell(weight_ns: int) -> Element:
    return Element("weight", f"{weight_ns / 1e6:.2f} ms", str(weight_ns))


def cycles_cell(cycles: int) -> Element:
    shown = f"{cycles / 1e6:.2f} M" if cycles >= 1_000_000 else f"{cycles / 1e3:.2f} k"
    return Element("cycle-weight", shown, str(cycles))


def number_cell(tag: str, number: int) -> Element:
    return Element(tag, f"{number:,}", str(number))


def hex_cell(tag: str, number: int, prefix: str = "0x") -> Element:
    return Element(tag, f"{prefix}{number:x}", str(number))


def composed(tag: str, *parts: str | int | Element) -> Element:
    """Return a text made of pieces: literals, hexadecimal numbers, values of other types."""
    children = tuple(map(_part, parts))
    return Element(tag, "".join(child.fmt or "" for child in children), children=children)


def _part(part: str | int | Element) -> Element:
    if isinstance(part, str):
        return named("narrative-text", part)
    return hex_cell("uint64-hex-lowercase", part, prefix="") if isinstance(part, int) else part


def counters_cell(values: tuple[int, ...]) -> Element:
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
