"""The timeline as SVG and PNG: whole files that need nothing, with the page's colours."""

from __future__ import annotations

import builtins
import io
import re
import tomllib
import xml.etree.ElementTree as ET
from typing import Any

import pandas as pd
import pytest
from sample_recordings import sample_analysis
from view_support import (
    ANE,
    BNNS,
    MS,
    RECORDINGS,
    ROOT,
    UI,
    analyze,
    ane,
    manual,
    prediction,
    replace,
    trace_of,
    with_evidence,
    with_tracks,
)

from tracekit import Analysis
from tracekit.errors import UsageError
from tracekit.installation import format_install_command
from tracekit.model.vocabulary import ENGINES
from tracekit.report.pictures.png import to_png
from tracekit.report.pictures.shapes import COLOURS, Line, Picture, Rect, Words
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</text><script>alert(1)</script>",
    "]]>",
    "a\0b",
    "a\u202eb",
    "&amp;",
    '"',
    "x" * 10_000,
    "\ud800",
    "a\uffffb",
    "a\ufffeb",
]


def literal(word: str = "main") -> Analysis:
    trace = trace_of(
        [(0, "ui", UI, 4 * MS), (10, "work", ANE), (12, "work", ANE), (30, "work", BNNS, 3 * MS)]
    )
    trace = with_evidence(
        trace, [ane(10, 14, label=word), prediction(10, 20, model=word), prediction(30, 40)]
    )
    trace = with_tracks(trace, [(0, 1.0), (5 * MS, float("nan")), (20 * MS, 3.0)], name="Power")
    threads = trace.threads.assign(name=trace.threads["name"].replace("work", word))
    return analyze(replace(trace, threads=threads, info=replace(trace.info, name=word)))


def svg(analysis: Analysis) -> ET.Element:
    return ET.fromstring(to_svg(timeline_picture(analysis)))


def words(picture: Picture) -> list[str]:
    return [shape.text for shape in picture.shapes if isinstance(shape, Words)]


def image(data: bytes) -> Any:
    opened_image = pytest.importorskip("PIL.Image", reason="Pillow is not installed").open(io.BytesIO(data))
    opened_image.load()
    return opened_image


# SVG ------------------------------------------------------------------------------------------------------


@pytest.mark.integration
@pytest.mark.parametrize("name", RECORDINGS)
def test_an_svg_stands_alone(name: str) -> None:
    picture = timeline_picture(sample_analysis(name))
    root = svg(sample_analysis(name))
    assert root.tag == f"{SVG}svg"
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "path", "text", "polyline")
    }
    assert root[0].tag == f"{SVG}title"
    assert (
        root[0].text
        == f"Timeline of {sample_analysis(name).trace.info.name}: {sample_analysis(name).headline}"
    )
    assert (root.get("width"), root.get("height")) == (str(picture.width), str(picture.height))
    assert root.get("viewBox") == f"0 0 {picture.width} {picture.height}"
    for element in root.iter():
        assert not {
            key for key in element.attrib if "href" in key or key in ("style", "src") or key.startswith("on")
        }
        assert not any("url(" in value for value in element.attrib.values())
    assert len(to_svg(picture)) < 1_000_000


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_rectangle_is_in_the_svg_in_its_colour(name: str) -> None:
    """Neighbours of one colour are one path, which may lose none of them."""
    expected = sorted(
        (
            round(shape.x, 2),
            round(shape.y, 2),
            round(shape.width, 2),
            round(shape.height, 2),
            COLOURS[shape.fill],
        )
        for shape in timeline_picture(sample_analysis(name)).shapes
        if isinstance(shape, Rect)
    )
    drawn = sorted(
        (*(float(number) for number in box), str(path.get("fill")))
        for path in svg(sample_analysis(name)).iter(f"{SVG}path")
        for box in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z", path.get("d", ""))
    )
    assert drawn == expected


@pytest.mark.integration
@pytest.mark.parametrize("word", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_names_leave_the_svg_well_formed(word: str) -> None:
    harmless = [element.tag for element in svg(literal()).iter()]
    analysis = literal()
    info = replace(analysis.trace.info, name=word)
    analysis = (
        literal(word) if "\ud800" not in word else replace(analysis, trace=replace(analysis.trace, info=info))
    )
    assert [element.tag for element in svg(analysis).iter()] == harmless
    assert to_svg(timeline_picture(analysis)).encode("utf-8")


@pytest.mark.parametrize("name", RECORDINGS)
def test_everything_lies_within_the_picture(name: str) -> None:
    picture = timeline_picture(sample_analysis(name))
    for shape in picture.shapes:
        if isinstance(shape, Rect):
            assert min(shape.width, shape.height) > 0
            assert 0 <= shape.x <= shape.x + shape.width <= picture.width + 1e-6
            assert 0 <= shape.y <= shape.y + shape.height <= picture.height + 1e-6
            assert shape.fill in COLOURS
            assert 0 < shape.opacity <= 1
        elif isinstance(shape, Line):
            assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in shape.points)
            assert shape.stroke in COLOURS
        else:
            assert 0 <= shape.x <= picture.width
            assert 0 <= shape.y <= picture.height
            assert shape.fill in COLOURS


# What is drawn --------------------------------------------------------------------------------------------


def at_time(x: float, duration_ms: float) -> float:
    """The time in ms that lies at a place; the lanes reach from 264 to 1186."""
    return (x - 264) / 922 * duration_ms


def test_windows_lanes_and_tracks_have_their_names() -> None:
    texts = words(timeline_picture(literal()))
    for name in ("main", "Net", "Neural Engine", "main (0x2)", "ui (0x1)", "Power"):
        assert name in texts, name


def boxes_of(picture: Picture, name: str) -> list[Rect]:
    """The calls of the lane with that name: from its label down to the next one."""
    (label,) = [s for s in picture.shapes if isinstance(s, Words) and (s.text, s.size) == (name, 12)]
    labels = [s.y for s in picture.shapes if isinstance(s, Words) and s.x == label.x and s.size == label.size]
    below = min((y for y in labels if y > label.y), default=1e9)
    return [s for s in picture.shapes if isinstance(s, Rect) and label.y - 15 <= s.y < below - 15]


def test_calls_stand_at_their_time_in_the_lane_of_their_model_and_the_colour_of_their_verdict() -> None:
    analysis = literal()
    assert analysis.verdicts.names == ["ANE", "CPU"]
    models = analysis.window_rows["model"].tolist()
    picture = timeline_picture(analysis)
    boxes = [box for model in models for box in boxes_of(picture, model)]
    assert [(box.fill, box.height) for box in boxes] == [("ANE", 18), ("CPU", 18)]
    edges = [at_time(edge, 40) for box in boxes for edge in (box.x, box.x + box.width)]
    assert edges == pytest.approx([10, 20, 30, 40], abs=0.1)


def test_calls_at_the_same_time_have_lines_of_their_own_and_others_are_counted() -> None:
    windows = [manual(start, 30) for start in (0, 1, 2, 3, 4)] + [manual(31, 40)]
    picture = timeline_picture(analyze(trace_of([(0, "main", ANE)]), windows=windows))
    boxes = boxes_of(picture, "ranges")
    assert [box.y - boxes[0].y for box in boxes] == [0, 16, 32, 48, 0]
    assert "1 more at once" in words(picture)


def test_many_models_have_a_lane_each_and_the_rarest_share_one() -> None:
    predictions = [prediction(number, number + 1, model=f"model {number % 14}") for number in range(27)]
    picture = timeline_picture(analyze(with_evidence(trace_of([(0, "main", ANE)]), predictions)))
    texts = words(picture)
    names = [text for text in texts if text.startswith("model ")]
    assert names == [f"model {number}" for number in range(11)] and "3 other models" in texts


def test_a_lane_of_little_work_has_a_scale_of_its_own() -> None:
    rows = [(0, "main", ANE, 30_000), (40, "other", ANE, MS)]
    picture = timeline_picture(analyze(trace_of(rows), windows=[manual(0, 100)]))
    assert "max 50 %" in words(picture) or "max 20 %" in words(picture)


def test_a_measured_interval_is_drawn_where_it_lies() -> None:
    picture = timeline_picture(literal())
    (label,) = [s for s in picture.shapes if isinstance(s, Words) and s.text == "Neural Engine"]
    pieces = [
        s
        for s in picture.shapes
        if isinstance(s, Rect) and label.y - 15 <= s.y < label.y + 10 and s.fill == "ANE"
    ]
    assert at_time(min(shape.x for shape in pieces), 40) == pytest.approx(10, abs=0.1)
    assert at_time(max(shape.x + shape.width for shape in pieces), 40) == pytest.approx(14, abs=0.1)


def test_other_peoples_work_is_faint() -> None:
    rects = [
        shape
        for shape in timeline_picture(sample_analysis("fallback-midway-ios27")).shapes
        if isinstance(shape, Rect)
    ]
    assert {shape.opacity for shape in rects if shape.fill == "ANE"} == {0.3, 1.0}


def test_many_threads_are_counted() -> None:
    rows = [(index, f"thread {index}", ANE) for index in range(40)]
    picture = timeline_picture(analyze(trace_of(rows)))
    assert "and 28 more threads" in words(picture)
    assert picture.height < 700


@pytest.mark.integration
def test_many_windows_are_drawn_once_per_point() -> None:
    windows = [manual(index / 100, (index + 1) / 100) for index in range(20_000)]
    picture = timeline_picture(analyze(trace_of([(0, "main", ANE)]), windows=windows))
    assert len(picture.shapes) < 3_000


def test_a_whole_run_is_no_window() -> None:
    assert "all calls" not in words(timeline_picture(analyze(trace_of([(0, "main", UI)]))))


def test_the_legend_names_what_is_drawn() -> None:
    picture = timeline_picture(literal())
    texts = words(picture)
    drawn = {shape.fill for shape in picture.shapes if isinstance(shape, Rect)} & {
        str(name) for name in ENGINES
    }
    assert {name for name in texts if name in COLOURS} == drawn


@pytest.mark.parametrize("duration_ms", [0.000001, 0.5, 40, 1_000, 36_000_000])
def test_the_axis_has_a_few_ticks_whatever_the_length(duration_ms: float) -> None:
    analysis = analyze(trace_of([]), windows=[manual(0, duration_ms)])
    ticks = [text for text in words(timeline_picture(analysis)) if re.fullmatch(r"[\d.]+ (s|ms|µs|ns)", text)]
    assert 2 <= len(ticks) <= 12
    assert ticks[0].startswith("0 ")
    assert len(set(ticks)) == len(ticks)


@pytest.mark.parametrize("rows", [[], [(0, "main", None)]], ids=["no samples", "no stacks"])
def test_a_recording_that_lacks_things_has_a_picture(rows: list[Any]) -> None:
    analysis = analyze(trace_of(rows))
    assert svg(analysis).tag == f"{SVG}svg"
    assert image(to_png(timeline_picture(analysis))).size[0] == 2400


def test_a_long_track_is_drawn_to_its_end() -> None:
    trace = with_tracks(
        trace_of([(0, "main", UI)]), [(index * MS, float(index % 7)) for index in range(3_000)]
    )
    lines = [element.get("points") or "" for element in svg(analyze(trace)).iter(f"{SVG}polyline")]
    points = max(lines, key=len).split(" ")
    assert len(points) > 100
    assert all(re.fullmatch(r"[\d.]+,[\d.]+", point) for point in points)
    assert float(points[-1].split(",")[0]) == pytest.approx(1186, abs=1)


def test_a_track_that_is_never_known_has_a_lane() -> None:
    trace = with_tracks(trace_of([(0, "main", UI)]), [(0, float("nan"))])
    assert "Power" in words(timeline_picture(analyze(trace)))


# PNG ------------------------------------------------------------------------------------------------------


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["ane-intervals-macos26", "concurrent-models-ios27", "counters-bnns-macos15"]
)
def test_a_png_shows_the_picture(name: str) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    picture = timeline_picture(sample_analysis(name))
    data = to_png(picture)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) < 1_000_000
    opened_image = image(data).convert("RGB")
    assert opened_image.size == (picture.width * 2, picture.height * 2)
    seen = {colour for _, colour in opened_image.getcolors(1 << 24)}
    fills = {shape.fill for shape in picture.shapes if isinstance(shape, Rect) and shape.opacity == 1}
    for role in fills:
        rgb = tuple(bytes.fromhex(COLOURS[role][1:]))
        assert min(max(abs(a - b) for a, b in zip(rgb, colour, strict=True)) for colour in seen) <= 6, role


@pytest.mark.integration
def test_the_same_picture_gives_the_same_bytes() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    assert to_png(timeline_picture(literal())) == to_png(timeline_picture(literal()))


def test_shapes_lie_where_they_are_put() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    picture = Picture(
        20, 10, "", [Rect(5, 2, 10, 4, "ANE"), Rect(0, 9, 0.1, 0.1, "CPU"), Line(((0, 0), (20, 0)), "text")]
    )
    opened_image = image(to_png(picture)).convert("RGB")

    def role(x: int, y: int) -> str:
        distance = {
            name: sum(
                abs(a - b)
                for a, b in zip(opened_image.getpixel((x, y)), bytes.fromhex(text[1:]), strict=True)
            )
            for name, text in COLOURS.items()
        }
        return min(distance, key=lambda name: distance[name])

    assert [role(9, 8), role(10, 8), role(29, 8), role(30, 8)] == ["surface", "ANE", "ANE", "surface"]
    assert [role(20, 3), role(20, 4), role(20, 11), role(20, 12)] == ["surface", "ANE", "ANE", "surface"]
    assert role(0, 18) == "CPU"
    assert role(10, 0) == "text"


@pytest.mark.integration
@pytest.mark.parametrize("word", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_names_leave_the_png_readable(word: str) -> None:
    analysis = literal() if "\ud800" in word else literal(word)
    info = replace(analysis.trace.info, name=word)
    picture = timeline_picture(replace(analysis, trace=replace(analysis.trace, info=info)))
    pytest.importorskip("PIL", reason="Pillow is not installed")
    assert image(to_png(picture)).size[0] == 2400


def test_without_pillow_the_message_names_the_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match=r"PNG needs Pillow.*" + re.escape(format_install_command("png"))):
        to_png(Picture(10, 10))


def test_the_extra_that_the_message_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [requirement.split(">")[0].lower() for requirement in extras["png"]] == ["pillow"]


# Colours --------------------------------------------------------------------------------------------------


def test_the_colours_are_those_of_the_pages_light_theme() -> None:
    sheet = (ROOT / "tracekit" / "report" / "assets" / "page.css").read_text("utf-8")
    light = dict(re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}),", sheet))
    assert {
        f"engine-{role.lower()}" if role.isupper() else role: colour for role, colour in COLOURS.items()
    } == {
        name: light.get(name)
        for name in (f"engine-{role.lower()}" if role.isupper() else role for role in COLOURS)
    }


def test_every_engine_and_verdict_has_a_colour() -> None:
    assert {*map(str, ENGINES), "MIXED"} <= set(COLOURS)
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in COLOURS.values())


def test_unknown_threads_and_names_are_strings() -> None:
    trace = trace_of([(0, "main", ANE)])
    threads = trace.threads.assign(name=pd.Series([""], dtype="str"))
    assert " (0x1)" in words(timeline_picture(analyze(replace(trace, threads=threads))))
