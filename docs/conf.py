"""The documentation site: Markdown pages with parts made from tracekit's registries (``make docs``)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tracekit  # noqa: E402 - of this checkout
from docs.generators import fill_parts, has_parts  # noqa: E402
from docs.generators.example_pages import write_pages  # noqa: E402

project = "tracekit"
version = release = tracekit.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["generators", "site"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
add_module_names = False
suppress_warnings = ["myst.header"]  # a part that is made begins at the level that it has in its page

html_theme = "furo"
html_title = f"tracekit {release}"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs/site/search_scores.js")
html_copy_source = False
html_show_sphinx = html_show_copyright = False
templates_path: list[str] = []


def setup(app: Sphinx) -> None:
    """Fill the pages while they are read, and write the pages of sample recordings that they show."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("env-get-outdated", _list_made_pages)
    app.connect("source-read", _fill_page)
    app.connect("autodoc-process-signature", _hide_fields)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("build-finished", _add_pages)


def _list_made_pages(_app: Sphinx, env: BuildEnvironment, *_changes: set[str]) -> list[str]:
    """Return the pages that a further build reads again: a part changes with the code, not with its page."""
    return [name for name in env.found_docs if has_parts(Path(env.doc2path(name)).read_text("utf-8"))]


def _fill_page(_app: Sphinx, _name: str, source: list[str]) -> None:
    source[0] = fill_parts(source[0])


def _hide_fields(_app: Sphinx, kind: str, *_described: object) -> tuple[str, str] | None:
    """Return no parameters for a class: functions return its objects, and no caller makes one."""
    return ("", "") if kind in {"class", "exception"} else None


def _link_pages(
    _app: Sphinx, _kind: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Make links of the pages that a docstring names as files of the repository."""
    lines[:] = [re.sub(r"docs/([\w-]+)\.md", r":doc:`/\1`", line) for line in lines]


def _add_pages(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write_pages(Path(app.outdir) / "examples")
