"""Rows of the GPU's instruments: an app that computes and draws, beside the window server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sample_generator import app_work
from sample_generator.cells import composed, duration_cell, hex_cell, named, number_cell, process
from sample_generator.dice import Dice
from sample_generator.evidence import Span
from sample_generator.recording import on_clock
from sample_generator.xml_writer import SENTINEL, Element

if TYPE_CHECKING:
    from sample_generator.recording import EngineWork, Recording

MPS = "mps-hw-intervals"
METAL = "metal-gpu-intervals"
_DEVICE = named("metal-device-name", "Synthetic GPU")
_WINDOW_SERVER = ("WindowServer", 181)
_VSYNC_NS = 16_666_667
_EXECUTABLE = 0x10F5A4470
"""Address of the MPSGraph that the labels name."""


@dataclass
class GpuTimeline:
    """The work of the GPU in a recording; command buffers are numbered in order of use."""

    recording: Recording
    next_command_buffer: int = 0xA7_1000

    def __post_init__(self) -> None:
        self._dice = Dice(f"GPU of {self.recording.name}")

    def spans(self) -> list[Span]:
        """Return the rows of both tables: the model's work, the app's pictures, the window server's."""
        spans = []
        for turn, work in enumerate(work for work in self.recording.engine_work if work.engine == "GPU"):
            spans += self._model(work, turn)
        pictures = [sample for sample in self.recording.samples if sample.work is app_work.DRAW_SUBMIT]
        for turn, sample in enumerate(pictures):
            spans += self._picture(sample.time_ns + 310_000, turn)
        for turn in range(self.recording.end_ns // _VSYNC_NS):
            spans += self._window_server(turn * _VSYNC_NS + 3_120_000, turn)
        return spans

    def _model(self, work: EngineWork, turn: int) -> list[Span]:
        """Return one command buffer: two graphs of MPS, two kicks of the GPU, one more nested in the first.

        In every second call the kicks overlap; otherwise there is a little time between them, into which the
        second graph reaches.
        """
        length = work.end_ns - work.start_ns
        buffer = self._command_buffer()

        def part(begin: float, end: float) -> tuple[int, int]:
            return on_clock(work.start_ns + int(length * begin)), on_clock(work.start_ns + int(length * end))

        app = (self.recording.process, self.recording.pid)
        second = 0.46 if turn % 2 else 0.58
        rows = [
            self._mps(part(0.03, 0.44), buffer),
            self._mps(part(0.55, 0.97), buffer),
            self._metal(part(0.0, 0.52), "Compute", app, buffer, meaning=("GPU", "execute")),
            self._metal(part(0.1, 0.31), "Compute", app, buffer, depth=1, meaning=("GPU", "execute")),
            self._metal(part(second, 1.0), "Compute", app, buffer, meaning=("GPU", "execute")),
        ]
        return [replace(row, inference=work.inference) for row in rows]

    def _picture(self, start_ns: int, turn: int) -> list[Span]:
        """Return the app's own drawing, which has nothing to do with the model."""
        app, buffer = (self.recording.process, self.recording.pid), self._command_buffer()
        fragment_ns = start_ns + 400_000 + self._dice.below(300_000)
        rows = [
            self._metal(self._lasting(start_ns, 600_000), "Vertex", app, buffer),
            self._metal(self._lasting(fragment_ns, 1_300_000), "Fragment", app, buffer),
        ]
        if turn % 3 == 0:
            nested = self._lasting(fragment_ns + 200_000, 300_000)
            rows.append(self._metal(nested, "Fragment", app, buffer, depth=1))
        return rows

    def _window_server(self, start_ns: int, turn: int) -> list[Span]:
        buffer = self._command_buffer()
        kinds = ("Compute", "Fragment") if turn % 4 == 0 else ("Fragment",)
        return [
            self._metal(self._lasting(start_ns + place * 350_000, 400_000), kind, _WINDOW_SERVER, buffer)
            for place, kind in enumerate(kinds)
        ]

    def handed(self, span: tuple[int, int]) -> Span:
        """Return the row of a program that MPSGraph handed to the ANE: it equals the ANE's own row."""
        row = self._mps(span, self._command_buffer())
        return Span(MPS, *span, "ANE", None, row.cells, pid=row.pid)

    # Rows -------------------------------------------------------------------------------------------------

    def _mps(self, span: tuple[int, int], buffer: int) -> Span:
        """Return a row of MPS: its process is null, as in every known export."""
        label = composed("formatted-label", "MPSGraph:0x", _EXECUTABLE, " (CommandBuffer: 0x", buffer, ")")
        cells = (
            named("mps-event-name", "MPSGraph"),
            SENTINEL,
            SENTINEL,
            number_cell("metal-nesting-level", 0),
            label,
            named("gpu-state", "Active"),
            number_cell("connection-uuid64", 0),
            number_cell("render-buffer-depth", 0),
            SENTINEL,
            _DEVICE,
            Element("metal-object-label", "", ""),
        )
        return Span(MPS, *span, "GPU", "execute", cells, pid=self.recording.pid)

    def _metal(
        self,
        span: tuple[int, int],
        channel: str,
        client: tuple[str, int],
        buffer: int,
        *,
        depth: int = 0,
        meaning: tuple[str, str | None] = ("GRAPHICS", None),
    ) -> Span:
        name, pid = client
        submission = 0x47E0_0000 + buffer
        latency_ns = 300_000 + self._dice.below(900_000)
        label = composed("formatted-label", f"GPU Execution      ( {name} ({pid}) )  0x", submission)
        cells = (
            named("gpu-channel-name", channel),
            SENTINEL,
            duration_cell(latency_ns),
            number_cell("metal-nesting-level", depth),
            label,
            named("gpu-state", "Active"),
            number_cell("connection-uuid64", 1 if client == _WINDOW_SERVER else 13),
            number_cell("render-buffer-depth", depth),
            process(name, pid),
            _DEVICE,
            named("metal-object-label", "n/a"),
            composed("formatted-label", "n/a"),
            Element("size-in-bytes", "0 B", "0"),
            hex_cell("metal-command-buffer-id", buffer),
            hex_cell("metal-command-buffer-id", buffer + 8),
            number_cell("uint64", submission),
        )
        return Span(METAL, *span, *meaning, cells, pid=pid, depth=depth, by_app=client != _WINDOW_SERVER)

    def _command_buffer(self) -> int:
        self.next_command_buffer += 0x10
        return self.next_command_buffer

    def _lasting(self, start_ns: int, about_ns: int) -> tuple[int, int]:
        length_ns = about_ns * 3 // 4 + self._dice.below(about_ns // 2)
        return on_clock(start_ns), on_clock(start_ns + length_ns)
