"""Pages for tests of the JavaScript: a small and a big `tracekit-view/2`, written from the format's description.

Nothing of the product's Python takes part, so that a mistake in it cannot hide one in the page.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import posixpath
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ASSETS = Path(__file__).resolve().parents[2] / "tracekit" / "report" / "assets"
ENGINES = ["ANE", "GPU", "CPU", "RUNTIME", "GRAPHICS", "OTHER", "UNKNOWN"]
ANE, GPU, CPU, RUNTIME, GRAPHICS, OTHER, UNKNOWN = range(7)
PHASES = ["execute", "dispatch", "wait", "copy", "compile", "load", "idle", None]
NO_PHASE = 7
TYPES = {"u1": "u8", "i1": "i8", "u2": "u16", "u4": "u32", "i4": "i32", "f4": "f32", "f8": "f64"}
SECTIONS = [
    "verdict",
    "evidence",
    "timeline",
    "windows",
    "engines",
    "latency",
    "calltree",
    "flame",
    "stacks",
    "counters",
    "recording",
    "issues",
]
SYSTEM = 1


@dataclass
class Payload:
    """Collects arrays and strings, then packs them behind their header."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)

    def text(self, value: str) -> int:
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)

    def array(self, values: Any, kind: str) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.ascontiguousarray(values, dtype=f"<{kind}")
        return name

    def packed(self) -> bytes:
        places: dict[str, list[Any]] = {}
        header = self.header | {"strings": self.strings, "arrays": places}
        for name, values in self.arrays.items():
            places[name] = [TYPES[values.dtype.str[1:]], 9_000_000_000, len(values)]
        room = 4 + len(_json(header))
        offset = room + -room % 8
        for name, values in self.arrays.items():
            places[name][1] = offset
            offset += values.nbytes + -values.nbytes % 8
        text = _json(header)
        body = struct.pack("<I", len(text)) + text
        body += bytes(min(places[name][1] for name in places) - len(body)) if places else b""
        for values in self.arrays.values():
            body += values.tobytes() + bytes(-values.nbytes % 8)
        return body


def _json(header: dict[str, Any]) -> bytes:
    text = json.dumps(header, ensure_ascii=True)
    return re.sub(r'("u8"|"i8"|"u16"|"u32"|"i32"|"f32"|"f64"), (\d+)', _fixed_width, text).encode()


def _fixed_width(match: re.Match[str]) -> str:
    return f"{match[1]}, {match[2]:>10}"


def small_view(names: dict[str, str] | None = None, *, windows: bool = True, samples: bool = True) -> bytes:
    """Two threads over 100 ms, sampled every ms; ten windows of 8 ms on the ANE or the CPU; exact.

    ``names`` replaces texts: window, model, thread, symbol, binary, process, span.
    """
    called = {
        "window": "Detect", "model": "Detector", "thread": "com.apple.main-thread", "symbol": "BNNSFilterApply",
        "binary": "libBNNS.dylib", "process": "Camera", "span": "Neural Engine Prediction",
    } | (names or {})  # fmt: skip
    payload = Payload({})
    nodes = _small_nodes(payload, called)
    times = np.repeat(np.arange(100) * 1e6, 2) if samples else np.zeros(0)
    lane = np.tile([0, 1], 100)[: len(times)]
    in_window = (times % 10e6) < 8e6
    leaf = np.where(lane == 1, 6, np.where(in_window, np.where(times < 50e6, 3, 5), 1))
    engine = np.array([OTHER, OTHER, RUNTIME, ANE, RUNTIME, CPU, OTHER])[leaf]
    starts = np.arange(10) * 10e6 if windows else np.zeros(0)
    count = len(starts)
    verdict = [payload.text("ANE" if start < 50e6 else "CPU") for start in starts]
    string = payload.text
    payload.header = _header(100e6, "Served by the ANE, then by the CPU.") | {
        "exact": True,
        "bin_ns": 0,
        "bins": 200,
        "lanes": [
            _lane(payload, times[lane == each], engine[lane == each], 100e6, 200, label, called["process"], each)
            for each, label in enumerate([called["thread"], "worker"])
        ],
        "spans": [
            {
                "label": string("ANE (ane-hw-intervals-internal)"), "engine": ANE, "basis": "measured", "source": string("ane-hw-intervals"),
                "start": payload.array(np.arange(5) * 10e6 + 1e6, "f8"),
                "end": payload.array(np.arange(5) * 10e6 + 7e6, "f8"),
                "name": payload.array([string(called["span"])] * 5, "u4"),
                "own": payload.array([1, 1, 1, 1, 0], "u1"), "count": 5,
                "occupancy": payload.array(np.tile([0, 0, *[255] * 12, *[0] * 6], 10) * (np.arange(200) < 100), "u1"),
            }
        ],
        "windows": _windows(payload, starts, starts + 8e6, verdict, called, np.zeros(count)),
        "budget": _budget(payload, np.full(count, 8e6), verdict),
        "tracks": [
            {"name": string("thermal state"), "unit": string("level"),
             "time": payload.array([0, 30e6, 60e6], "f8"), "value": payload.array([0, 2, np.nan], "f8")}
        ],
        "signposts": [
            {"label": string("app"), "start": payload.array([5e6, 40e6], "f8"),
             "end": payload.array([25e6, 40e6], "f8"), "name": payload.array([string("frame"), string("tap")], "u4")}
        ],
        **_samples(payload, times, lane, leaf, engine * 16 + np.where(engine == CPU, 0, np.where(engine == ANE, 1, NO_PHASE)), ("bnns-kernel", CPU)),
        "nodes": nodes,
    }  # fmt: skip
    return payload.packed()


def _samples(
    payload: Payload,
    times: np.ndarray,
    lane: np.ndarray,
    leaf: np.ndarray,
    kind: np.ndarray,
    rule: tuple[str, int] | None = None,
    number: np.ndarray | None = None,
    edges: np.ndarray | None = None,
) -> dict[str, Any]:
    """Samples of a millisecond each, lane by lane, and their stacks. ``rule`` decided those of an engine, by their leaf."""
    order = np.lexsort((times, lane))
    number = np.ones(len(times)) if number is None else number
    pairs, stack = np.unique(np.stack([leaf, kind]), axis=1, return_inverse=True)
    stack = stack.reshape(-1)
    decided = pairs[1] >> 4 == (rule[1] if rule else -1)
    counts = np.bincount(stack, number, pairs.shape[1])
    return {
        "samples": {
            "count": len(times), "of_lane": payload.array(np.bincount(lane.astype(int), minlength=2), "u4"),
            **_times(payload, times[order], edges), "stack": payload.array(stack[order], "u4"),
            "weight": payload.array(number[order] * 1e6, "f8"), "number": payload.array(number[order], "u4"),
        },
        "stacks": {
            "count": pairs.shape[1], "node": payload.array(pairs[0], "i4"), "kind": payload.array(pairs[1], "u1"),
            "rule": payload.array(decided - 1, "i4"), "deciding": payload.array(decided - 1, "i4"),
            "weight": payload.array(counts * 1e6, "f8"), "number": payload.array(counts, "f8"),
            "rules": [[payload.text(rule[0]), payload.text("a kernel of BNNS")]] if rule else [],
        },
    }  # fmt: skip


def _times(payload: Payload, times: np.ndarray, edges: np.ndarray | None) -> dict[str, Any]:
    if edges is not None:
        edge = np.searchsorted(edges, times)
        return {"edges": payload.array(edges, "f8"), "edge": payload.array(edge, "u4")}
    steps = np.diff(times, prepend=0)
    jumps = np.flatnonzero((steps < 0) | (np.arange(len(times)) == 0))
    steps[jumps] = 0
    return {
        "step": payload.array(steps, "u4"),
        "jump_row": payload.array(jumps, "u4"),
        "jump_time": payload.array(times[jumps], "f8"),
    }


def _small_nodes(payload: Payload, called: dict[str, str]) -> dict[str, Any]:
    """main → (render, predict → (ane, run → bnns)); worker: 0 main, 1 render, 2 predict, 3 ane, 4 run, 5 bnns, 6 loop."""
    rows = [
        (-1, "main", "Camera", 0),
        (0, "render", "Camera", 0),
        (0, "predict", "CoreML", SYSTEM),
        (2, "ANEProgramProcessRequest", "ANEServices", SYSTEM),
        (2, "run", "Espresso", SYSTEM),
        (4, called["symbol"], called["binary"], SYSTEM),
        (-1, "worker_loop", "Camera", 0),
    ]
    return {
        "count": len(rows),
        "parent": payload.array([row[0] for row in rows], "i4"),
        "name": payload.array([payload.text(row[1]) for row in rows], "u4"),
        "binary": payload.array([payload.text(row[2]) for row in rows], "u4"),
        "flags": payload.array([row[3] for row in rows], "u1"),
    }


def big_view(rows: int = 300_000, nodes: int = 50_000, windows: int = 1_000, lanes: int = 30) -> bytes:
    """A minute of 30 threads in bins, as the report holds a million samples; seeded, the same every time."""
    dice = np.random.default_rng(7)
    duration, bins = 60e9, 8192
    payload = Payload({})
    bin_ns = duration / bins
    time = np.sort(dice.integers(0, bins, rows)) * bin_ns
    lane = np.minimum(dice.geometric(0.12, rows) - 1, lanes - 1)
    parent, engine_of = _big_tree(dice, nodes)
    leaf = dice.integers(nodes // 2, nodes, rows)
    number = dice.integers(1, 7, rows)
    starts = np.sort(dice.uniform(0, duration - 50e6, windows))
    lengths = dice.lognormal(16.5, 0.4, windows)
    verdict = [payload.text(name) for name in dice.choice(["ANE", "GPU", "CPU", "MIXED", "UNKNOWN"], windows)]
    called = {"window": "Prediction", "model": "Segmenter"}
    symbols = [payload_text(payload, f"symbol_{each}_of_a_rather_long_name") for each in range(4000)]
    binaries = [
        payload_text(payload, name) for name in ("App", "CoreML", "Espresso", "libBNNS.dylib", "ANEServices")
    ]
    engine = engine_of[leaf]
    busy = np.sort(dice.uniform(0, duration, 15_000))
    payload.header = _header(duration, "Mixed: 40 % of the calls were served by the ANE.") | {
        "exact": False,
        "bin_ns": bin_ns,
        "bins": bins,
        "lanes": [
            {
                "label": payload.text(f"worker {each}"), "process": payload.text("App"), "tid": 100 + each,
                "weight": float(number[lane == each].sum() * 1e6), "samples": int(number[lane == each].sum()),
                "engines": list(range(6)),
                "occupancy": payload.array(dice.integers(0, 42, 6 * bins), "u1"),
            }
            for each in range(lanes)
        ],
        "spans": [
            {"label": payload.text(name), "engine": engine_code, "basis": "measured", "source": payload.text("table"),
             "start": payload.array(busy, "f8"), "end": payload.array(busy + 2e6, "f8"),
             "name": payload.array(np.full(len(busy), payload.text("Neural Engine Prediction")), "u4"),
             "own": payload.array(np.ones(len(busy)), "u1"), "count": len(busy),
             "occupancy": payload.array(dice.integers(0, 255, bins), "u1")}
            for name, engine_code in (("ANE", ANE), ("GPU", GPU))
        ],
        "windows": _windows(payload, starts, starts + lengths, verdict, called, np.zeros(windows)),
        "budget": _budget(payload, lengths, verdict),
        "tracks": [{"name": payload.text("power"), "unit": payload.text("W"),
                    "time": payload.array(np.arange(600) * 1e8, "f8"), "value": payload.array(dice.uniform(1, 9, 600), "f8")}],
        "signposts": [],
        **_samples(payload, time, lane, leaf, engine * 16 + NO_PHASE, number=number, edges=np.arange(bins + 1) * bin_ns),
        "nodes": {
            "count": nodes, "parent": payload.array(parent, "i4"),
            "name": payload.array(np.array(symbols)[dice.integers(0, 4000, nodes)], "u4"),
            "binary": payload.array(np.array(binaries)[dice.integers(0, 5, nodes)], "u4"),
            "flags": payload.array(dice.integers(0, 2, nodes), "u1"),
        },
    }  # fmt: skip
    return payload.packed()


def payload_text(payload: Payload, value: str) -> int:
    """Without the search for an equal string, which takes long for thousands."""
    payload.strings.append(value)
    return len(payload.strings) - 1


def _big_tree(dice: np.random.Generator, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Parents before children, some 25 deep; below each of the first calls one engine."""
    parent = np.full(nodes, -1, dtype=np.int64)
    for node in range(1, nodes):
        parent[node] = dice.integers(max(0, node - 1 - node // 4), node)
    engine = np.zeros(nodes, dtype=np.int64)
    for node in range(1, nodes):
        engine[node] = node % 6 if node < 24 else engine[parent[node]]
    return parent, engine


def _header(duration: float, verdict: str) -> dict[str, Any]:
    latency = {"p50_ns": 8e6, "p90_ns": 9e6, "p99_ns": 12e6, "first_ns": 8e6,
               "warm_p50_ns": 8e6, "warm_p90_ns": 9e6, "warm_p99_ns": 12e6}  # fmt: skip
    return {
        "format": "tracekit-view/2", "tracekit": "0.1.0", "title": "Fixture", "note": "", "link": "",
        "verdict": verdict, "duration_ns": duration, "unit": "ns", "engines": ENGINES,
        "serving": ["ANE", "GPU", "CPU"], "phases": PHASES, "period_ns": 1e6,
        "engine_rows": [], "latency": latency | {"models": {}}, "counters": None, "evidence": [],
        "recording": [["device", "iPhone"]], "commands": [], "issues": [],
    }  # fmt: skip


def _lane(
    payload: Payload,
    times: np.ndarray,
    engines: np.ndarray,
    duration: float,
    bins: int,
    label: str,
    process: str,
    tid: int,
) -> dict[str, Any]:
    present = sorted(set(engines.tolist())) or [OTHER]
    planes = np.zeros((len(present), bins), dtype=np.uint8)
    per_period = int(1e6 * bins / duration)
    for time, engine in zip(times, engines, strict=True):
        first = int(time * bins / duration)
        planes[present.index(int(engine)), first : first + per_period] = 255
    return {
        "label": payload.text(label), "process": payload.text(process), "tid": tid, "weight": len(times) * 1e6,
        "samples": len(times), "engines": present, "occupancy": payload.array(planes.ravel(), "u1"),
    }  # fmt: skip


def _windows(
    payload: Payload,
    starts: np.ndarray,
    ends: np.ndarray,
    verdict: list[int],
    called: dict[str, str],
    lane: np.ndarray,
) -> dict[str, Any]:
    count = len(starts)
    served = np.array([payload.strings[each] for each in verdict])

    def repeated(text: str) -> str:
        return payload.array(np.full(count, payload.text(text)), "u4")

    fields = {
        "call": payload.array(np.arange(count) + 1, "u4"),
        "equal": payload.array(find_first_equal(served), "u4"),
        "group": repeated(called["model"]),
        "start": payload.array(starts, "f8"), "end": payload.array(ends, "f8"),
        "label": repeated(called["window"]), "model": repeated(called["model"]), "source": repeated("coreml-os-signpost"),
        "basis": repeated("measured"), "verdict": payload.array(verdict, "u4"),
        "why": repeated("its samples say so"), "reason": repeated("samples"), "difference": repeated(""), "lane": payload.array(lane, "i4"),
        "first": payload.array(np.arange(count) == 0, "u1"),
    }  # fmt: skip
    samples = {name: f"{name}_samples" for name in ENGINES[:4]}
    columns = [
        {"key": "call", "head": "Call", "kind": "call"}, {"key": "model", "head": "Model", "kind": "text"},
        {"key": "start_ns", "head": "Start", "kind": "time"}, {"key": "length", "head": "Length", "kind": "time"},
        {"key": "verdict", "head": "Verdict", "kind": "verdict"},
        {"key": "busy", "head": "ANE busy", "kind": "busy", "note": "measured"},
        {"key": "waiting", "head": "Waiting for ANE", "kind": "waiting", "note": "inferred"},
        {"key": "ANE_samples", "head": "Host samples", "kind": "part", "parts": samples},
        {"key": "label", "head": "Label", "kind": "text"}, {"key": "why", "head": "Why", "kind": "text"},
    ]  # fmt: skip
    values = {
        **{name: fields[name] for name in ("call", "model", "verdict", "label", "why")},
        "start_ns": fields["start"],
        "length": payload.array(ends - starts, "f8"),
        "busy": payload.array(np.where(served == "ANE", 6e6, np.nan), "f8"),
        "waiting": payload.array(np.where(served == "ANE", 1e6, 0), "f8"),
        **{key: payload.array(np.where(served == name, 8, 0), "u4") for name, key in samples.items()},
    }
    return {"count": count, "noun": "call", **fields, "columns": columns, "values": values}


def find_first_equal(served: np.ndarray) -> np.ndarray:
    """Each call, or the first of the calls in a row that one engine served."""
    begins = np.append(True, served[1:] != served[:-1])[: len(served)]
    return np.flatnonzero(begins)[np.cumsum(begins) - 1] if len(served) else np.zeros(0, int)


def _budget(payload: Payload, lengths: np.ndarray, verdict: list[int]) -> dict[str, Any]:
    """A quarter of each call is the runtime's, the rest its engine's; nothing says what others do."""
    keys = {"ANE": 0, "CPU": 1}
    served = np.array([keys.get(payload.strings[each], 3) for each in verdict], np.int64)
    pieces = np.stack([lengths / 4, lengths - lengths / 4], axis=1)
    parts = (
        ("ANE", "Neural Engine", "ANE", "measured"), ("CPU", "CPU inference", "CPU", "sampled"),
        ("runtime", "ML runtime", "RUNTIME", "sampled"), ("unknown", "not shown", None, None),
    )  # fmt: skip
    names = ("key", "name", "engine", "basis")
    return {
        "parts": [{**dict(zip(names, part, strict=True)), "meaning": part[1]} for part in parts],
        "counts": payload.array(np.full(len(lengths), 2), "u4"),
        "part": payload.array(np.stack([np.full(len(lengths), 2), served], axis=1).ravel(), "u1"),
        "length": payload.array(pieces.ravel(), "f8"),
        "typical": payload.array(np.zeros(len(lengths)), "i4"),
    }


def script() -> str:
    """The modules in the order of their imports, as one script."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        folder = posixpath.dirname(name)
        for imported in re.findall(
            r'^import .* from "(\..+?)";$', (ASSETS / name).read_text("utf-8"), re.MULTILINE
        ):
            visit(posixpath.normpath(posixpath.join(folder, imported)))
        done.append(name)

    visit("main.js")
    text = "".join((ASSETS / name).read_text("utf-8") for name in done)
    return re.sub(r"^export ", "", re.sub(r"^import .*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)


def page(view: bytes, script_text: str | None = None) -> str:
    """The report's markup as the JavaScript expects it, with a strict Content-Security-Policy."""
    code = script() if script_text is None else script_text
    style = (ASSETS / "page.css").read_text("utf-8")
    data = base64.b64encode(gzip.compress(view, 6)).decode()
    policy = f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    sections = "".join(
        f'<section id="{name}"><h2>{name.title()}</h2>{_static(name)}</section>\n' for name in SECTIONS
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Fixture</title><style>{style}</style></head><body><header><h1>Fixture</h1></header>"
        f'<div id="toolbar"></div><div id="status" role="status" aria-live="polite"></div><main>{sections}</main>'
        f'<script type="application/octet-stream" id="tracekit-data">{data}</script>'
        f'<script type="module">{code}</script></body></html>'
    )


def _static(name: str) -> str:
    drawing = (
        '<svg viewBox="0 0 100 20" role="img" aria-label="timeline"><rect width="100" height="20"/></svg>'
    )
    return {
        "timeline": f'<figure id="timeline-static">{drawing}</figure>',
        "windows": '<div id="windows-static"><table><tr><th>window</th></tr><tr><td>0</td></tr></table></div>',
    }.get(name, "" if name in ("calltree", "flame") else "<p>static</p>")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
