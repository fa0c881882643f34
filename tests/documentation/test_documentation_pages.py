"""The pages of the documentation: parts made from registries, links, navigation."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from sphinx.application import Sphinx

from docs.generators import PARTS, fill_parts
from docs.generators.example_pages import PAGES as EXAMPLE_PAGES
from tracekit.analysis.classification.rule_set import load_rules as load_stack_rules
from tracekit.fleet.schema import PLACE, TABLES
from tracekit.mlmodels.rules import load_rules
from tracekit.report.recipes.registry import RECIPES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def read_filled(page: str) -> str:
    return fill_parts((ROOT / "docs" / page).read_text("utf-8"))


def test_each_part_stands_in_one_place() -> None:
    names = re.findall(
        r"^```\{generated\} (\S+)$", "\n".join(p.read_text("utf-8") for p in PAGES), re.MULTILINE
    )
    assert Counter(names) == Counter(list(PARTS))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT / "docs").as_posix())
def test_each_page_begins_with_its_title_and_stands_in_the_navigation(path: Path) -> None:
    name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
    text = path.read_text("utf-8")
    assert re.match(r"(---\n.*?\n---\n\n)?# \S|```\{include\} \.\./[A-Z]+\.md", text, re.DOTALL)
    toctrees = re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / "docs/index.md").read_text("utf-8"), re.DOTALL)
    entries = re.findall(r"^(?:.*<)?([\w/-]+)>?$", "\n".join(toctrees), re.MULTILINE)
    assert name == "index" or entries.count(name) == 1


def test_the_site_shows_each_page_of_a_sample_recording() -> None:
    shown = re.findall(r'(?:href|src)="examples/([^"#]+)"', "".join(p.read_text("utf-8") for p in PAGES))
    assert set(shown) == set(EXAMPLE_PAGES)
    assert all((ROOT / "sample_traces" / sample).is_dir() for sample, _ in EXAMPLE_PAGES.values())


def test_every_rule_about_models_has_a_heading() -> None:
    assert re.findall(r"^### (\w\w\d\d)$", read_filled("rules.md"), re.MULTILINE) == [
        rule.id for rule in load_rules()
    ]


def test_every_rule_about_stacks_has_a_row() -> None:
    listed = re.findall(r"^\| `([\w.-]+)` \| [A-Z]* \|", read_filled("markers.md"), re.MULTILINE)
    assert listed == [rule.id for rule in load_stack_rules().rules]


def test_every_recipe_has_a_row_whose_chapter_exists() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|.*\[\]\((.+?)\) \|$", read_filled("recipes.md"), re.MULTILINE)
    assert rows == [(recipe.name, recipe.chapter) for recipe in RECIPES]


def test_every_table_of_a_dataset_has_its_columns() -> None:
    text = read_filled("fleet.md")
    for heading, columns in {"Every table": PLACE, **{f"`{name}`": TABLES[name] for name in TABLES}}.items():
        section = text.split(f"\n### {heading}\n")[1].split("\n#")[0]
        names = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        assert names == [name for name in columns if heading == "Every table" or name not in PLACE]


@pytest.mark.slow
def test_a_further_build_shows_what_changed_in_a_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.md").write_text("# Page\n\n```{generated} exit-codes\n```\n", "utf-8")
    for words in ("before", "after"):
        monkeypatch.setitem(PARTS, "exit-codes", words.title)
        site = Sphinx(
            tmp_path, ROOT / "docs", tmp_path / "out", tmp_path / "read", "text", status=None, warning=None
        )
        site.build()
        assert words.title() in (tmp_path / "out/index.txt").read_text("utf-8")
