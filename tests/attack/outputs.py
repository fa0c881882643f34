"""Every output of a recording as text, packed data unpacked."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
from collections.abc import Callable, Iterator

import pyarrow.parquet as pq

from tracekit import Analysis, analyze, compare
from tracekit.export.firefox import write_firefox
from tracekit.export.flat_tables import write_csv, write_parquet
from tracekit.export.folded import write_folded
from tracekit.export.perfetto import write_perfetto
from tracekit.export.pprof import write_pprof
from tracekit.export.speedscope import write_speedscope
from tracekit.load import trace_of
from tracekit.model.composite_cells import format_parts
from tracekit.parsers.combine import join_tables
from tracekit.parsers.in_memory import InMemorySource
from tracekit.parsers.pack.pack_writer import write_pack
from tracekit.report.analysis.json import to_json
from tracekit.report.analysis.markdown import to_markdown
from tracekit.report.analysis.text import TextLayout, to_text
from tracekit.report.comparison.json import to_json as comparison_json
from tracekit.report.comparison.markdown import to_markdown as comparison_markdown
from tracekit.report.comparison.text import to_text as comparison_text
from tracekit.report.html.page import to_html
from tracekit.report.pictures.svg import to_svg
from tracekit.report.pictures.timeline import timeline_picture
from tracekit.report.tables import formats, listing

_DATA = re.compile(r'<script type="application/octet-stream"[^>]*>([^<]*)</script>')
_OWN = re.compile(r"<style>.*?</style>|<script type=\"module\">.*?</script>", re.DOTALL)

Output = Callable[[Analysis], str]
"""The texts of an output of an analysis, one after the other."""


def pack_text(source: InMemorySource) -> str:
    with zipfile.ZipFile(io.BytesIO(write_pack(source, "0"))) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def cells_text(source: InMemorySource) -> str:
    """Return the composite cells as reports and tables show them: their parts as one text."""
    tables = [table for listed in source.contents.values() for table in listed]
    cells = [
        table.rows[column.mnemonic] for table in tables for column in table.columns if column.kind == "parts"
    ]
    return "\n".join(format_parts(cell) for column in cells for cell in column.dropna().unique())


def tables_text(source: InMemorySource) -> str:
    texts = [listing.list_text(source.name, list(source.runs), source.issues())]
    texts.append(listing.list_json(source.name, list(source.runs), source.issues()))
    for listed in source.contents.values():
        table = join_tables(list(listed))
        columns = formats.choose_columns(table, [])
        texts += [
            formats.to_text(table, columns),
            "".join(formats.csv_pieces(table, columns)),
            "".join(formats.json_pieces(table, columns)),
        ]
        out = io.BytesIO()
        formats.write_parquet(table, columns, out)
        texts.append(_parquet_text(out.getvalue()))
    return "\n".join(texts)


def analysis_of(source: InMemorySource) -> Analysis:
    return analyze(trace_of(source))


def _html(analysis: Analysis) -> str:
    page = to_html(analysis)
    unpacked = [
        gzip.decompress(base64.b64decode(data)).decode("utf-8", "replace") for data in _DATA.findall(page)
    ]
    assert unpacked
    return "\n".join([_DATA.sub("", _OWN.sub("", page)), *unpacked])


def _comparison(analysis: Analysis) -> str:
    comparison = compare(analysis, analysis)
    return "\n".join(write(comparison) for write in (comparison_json, comparison_markdown, comparison_text))


def _parquet_text(data: bytes) -> str:
    return str(pq.read_table(io.BytesIO(data)).to_pylist())


def _written(write: Callable[..., None], **options: str) -> Output:
    def text(analysis: Analysis) -> str:
        out = io.BytesIO()
        write(analysis, out, **options)
        data = out.getvalue()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return _parquet_text(data) if data.startswith(b"PAR1") else data.decode("utf-8", "replace")

    return text


def _outputs() -> Iterator[tuple[str, Output]]:
    yield "json", to_json
    yield "markdown", to_markdown
    yield "text", lambda analysis: to_text(analysis) + to_text(analysis, TextLayout(is_verbose=True))
    yield "html", _html
    yield "svg", lambda analysis: to_svg(timeline_picture(analysis))
    yield "comparison", _comparison
    for name, write in (
        ("folded", write_folded), ("speedscope", write_speedscope), ("pprof", write_pprof),
        ("perfetto", write_perfetto), ("firefox", write_firefox),
    ):  # fmt: skip
        yield name, _written(write)
    for table in ("samples", "windows", "attribution", "intervals", "segments"):
        yield f"csv of {table}", _written(write_csv, table=table)
        yield f"parquet of {table}", _written(write_parquet, table=table)


OUTPUTS = dict(_outputs())
