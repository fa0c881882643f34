"""A recording as a native `.trace` bundle: the same samples as its XML export, in Instruments' own files."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sample_generator.addresses import made_up_uuid
from sample_generator.bundle_document import RunInfo, SharedCache
from sample_generator.bundle_images import Image, Line, Loaded, Segment, Symbol
from sample_generator.bundle_schemas import HANGS, TIME_PROFILE
from sample_generator.bundle_values import Process, Thread, leaf_and_callers
from sample_generator.bundle_writer import BundleWriter, Issue, stored
from sample_generator.keyed_archive import Boxed, Mutable

if TYPE_CHECKING:
    from sample_generator.addresses import Binary, Frame
    from sample_generator.bundle_writer import Files
    from sample_generator.recording import Recording, Sample

_BLOCK_SIZE = 0x800
"""Small, so that even this much data fills several blocks."""
_CACHE_BASE = 0x180000000
_CACHE_DATA = 0x70000000
"""Distance from the text to the data of an image in the shared cache."""
_FUNCTION_SIZE = 0x100
"""No function of a recording is shorter, and no call in it is at a larger offset."""
_PAGE = 0x4000
_NEW_YEAR_2026_NOON = 1_767_268_800.0
_PROFILE_ATTRIBUTES = {
    "target-pid": "SINGLE",
    "context-switch-sampling": False,
    "high-frequency-sampling": False,
    "needs-kernel-callstack": False,
    "record-waiting-threads": False,
}


def bundle(recording: Recording) -> Files:
    """Return the files of a bundle whose time profile is this recording's."""
    app = Process(recording.pid, recording.process, recording.platform.executable(recording.process))
    kernel = Process(0, "kernel", "kernel")
    threads = {
        lane: Thread(lane.tid, app, "" if lane.name == app.name else lane.name, lane.name == "Main Thread")
        for lane in recording.lanes
    }
    writer = BundleWriter(_BLOCK_SIZE, compress=stored)
    run = writer.run(_info(recording), [app, kernel], threads.values())
    run.process_tables()
    run.table("potential-hangs", HANGS, [], attributes={"target-pid": "SINGLE", "hangs-threshold": 250})
    rows = [_row(sample, threads[sample.lane]) for sample in recording.samples]
    run.table("time-profile", TIME_PROFILE, rows, attributes=_PROFILE_ATTRIBUTES)
    images = _images(recording)
    run.load(app, *(image for image in images if _text_address(image) < _CACHE_BASE))
    run.load_shared_cache(app, _shared_cache(images), _CACHE_BASE)
    run.load_nothing(kernel)
    run.issues.append(Issue("Data stream: Time Mapping", type=2))
    return writer.files()


def _info(recording: Recording) -> RunInfo:
    """Return the same facts as the XML's table of contents."""
    platform = recording.platform
    note = Mutable([{"Notes": "Synthetic: written by a program, not recorded"}])
    return RunInfo(
        instruments=platform.instruments,
        template="Time Profiler",
        start=_NEW_YEAR_2026_NOON,
        duration=recording.end_ns / 10**9,
        process=recording.process,
        pid=recording.pid,
        arguments=f"--synthetic {recording.name}",
        device_uuid=made_up_uuid(f"device {platform.model}"),
        model=platform.model,
        platform=platform.device,
        os_version=platform.os_version,
        more={
            "_targetTerminationInformation": Boxed(0),
            "_recordingSettings": {"Time Profiler": note},
        },
    )


def _row(sample: Sample, thread: Thread) -> tuple[Any, ...]:
    app = thread.process
    frames = sample.frames and leaf_and_callers(app, [frame.address for frame in sample.frames])
    return sample.time_ns, thread, app, sample.core, "Running", sample.weight, frames


# Images ---------------------------------------------------------------------------------------------------


def _images(recording: Recording) -> list[Loaded]:
    """Return the binaries of all stacks at their addresses, each with the functions that stacks hit in it."""
    functions: dict[Binary, dict[int, Frame]] = defaultdict(dict)
    for sample in recording.samples:
        for frame in sample.frames or ():
            if frame.binary:
                functions[frame.binary].setdefault(frame.function_start, frame)
    return [_image(binary, list(frames.values())) for binary, frames in sorted(functions.items(), key=_place)]


def _place(functions: tuple[Binary, Any]) -> int:
    return functions[0].load_address


def _image(binary: Binary, functions: list[Frame]) -> Loaded:
    base = binary.load_address
    end = max(frame.function_start for frame in functions) + _FUNCTION_SIZE - base
    size = -(-end // _PAGE) * _PAGE
    segments = (Segment("__TEXT", 0, size), Segment("__DATA", size, _PAGE))
    image = Image(
        UUID(binary.uuid),
        binary.path,
        segments,
        tuple(_symbol(frame, base) for frame in functions),
        tuple(_line(frame, base) for frame in functions if frame.source),
        "arm64" if binary.name.startswith("Sample") else "arm64e",
    )
    if base < _CACHE_BASE:
        return Loaded(image, image.at(base))
    return Loaded(image, image.at({"__TEXT": base, "__DATA": base + _CACHE_DATA}))


def _symbol(frame: Frame, base: int) -> Symbol:
    """Return the function of a frame; one without a name is called by its address, as Instruments does."""
    symbol = frame.symbol or hex(frame.function_start)
    return Symbol(frame.function_start - base, _FUNCTION_SIZE, *_names(symbol))


def _line(frame: Frame, base: int) -> Line:
    file, line = frame.source or ("", 0)
    path = f"/Users/sample/SampleApp/Sources/{file}"
    return Line(frame.function_start - base, _FUNCTION_SIZE, path, line)


def _names(symbol: str) -> tuple[str, str]:
    """Return a function's name for the linker and for display.

    As in real archives, C has both and mangled C++ only the former. Where the mangled name is not known, the
    name for display is used instead.
    """
    if re.fullmatch(r"(?!0x)\w+", symbol):
        return f"_{symbol}", symbol
    if re.fullmatch(r"\w+(::\w+)+\(\)", symbol):
        parts = symbol.removesuffix("()").split("::")
        return f"__ZN{''.join(f'{len(part)}{part}' for part in parts)}Ev", ""
    return symbol, symbol


def _text_address(loaded: Loaded) -> int:
    return loaded.segments[0].address


def _shared_cache(images: list[Loaded]) -> SharedCache:
    """Return the images of the system, whose segments count from the beginning of the cache."""
    inside = [image.moved(-_CACHE_BASE) for image in images if _text_address(image) >= _CACHE_BASE]
    return SharedCache(UUID(made_up_uuid("shared cache")), {_text_address(image): image for image in inside})
