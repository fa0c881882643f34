"""Elements and the bundle: recorded text never becomes markup, and modules that break the rules are refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from view_support import ROOT

from tracekit.report.html import bundle
from tracekit.report.html.bundle import bundled, joined
from tracekit.report.html.elements import Html, join, table, tag

PLACES = {
    "/report-assets": ROOT / "tracekit" / "report" / "assets",
    "/assets": ROOT / "dashboard" / "tracekit_dashboard" / "assets",
}
MODULES = sorted(path for folder in PLACES.values() for path in folder.rglob("*.js"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</script><img src=x onerror=alert(1)>", "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"),
        ("a & b", "a &amp; b"),
        ("&lt;", "&amp;lt;"),
        ("]]> <!-- ${x}", "]]&gt; &lt;!-- ${x}"),
        ("\0", "\\x00"),
        ("\u202e", "\\u202e"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\ud800", "\\ud800"),
        ("two\nlines", "two\nlines"),
        ("\r", "\\r"),
        (7, "7"),
        ("", ""),
    ],
)
def test_text_is_escaped(text: object, expected: str) -> None:
    assert tag("p", text) == f"<p>{expected}</p>"
    assert join([text, None]) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('" onload="x', "&quot; onload=&quot;x"),
        ("' onload='x", "&#x27; onload=&#x27;x"),
        ("<>", "&lt;&gt;"),
        ("\u202e\0", "\\u202e\\x00"),
    ],
)
def test_attributes_are_escaped(value: str, expected: str) -> None:
    assert tag("p", title=value) == f'<p title="{expected}"></p>'


def test_names_of_attributes() -> None:
    assert tag("p", class_="a", aria_label="b", id=3, viewBox="0") == (
        '<p class="a" aria-label="b" id="3" viewBox="0"></p>'
    )
    assert tag("p", hidden=True, lang=None, dir=False, title="") == '<p hidden title=""></p>'


def test_markup_made_here_stays_and_void_elements_have_no_end() -> None:
    assert tag("p", tag("br"), Html("<b>"), "<b>") == "<p><br><b>&lt;b&gt;</p>"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_markup_joined_with_text_is_text() -> None:
    """Adding up gives a plain string, which is escaped: forgetting ``join`` is ugly and never dangerous."""
    assert tag("p", tag("b", "x") + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


def test_a_table() -> None:
    made = table(["name", "n"], [["<a>", 1], [tag("b", "x"), None]], [False, True], "Things")
    assert made == (
        '<div class="table-scroll" tabindex="0" role="region" aria-label="Things, table"><table><caption>Things</caption>'
        '<thead><tr><th scope="col">name</th><th scope="col" class="number">n</th></tr></thead>'
        '<tbody><tr><td>&lt;a&gt;</td><td class="number">1</td></tr>'
        '<tr><td><b>x</b></td><td class="number"></td></tr></tbody></table></div>'
    )
    assert table(["name"], [], [False], "Nothing") == ""


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        table(["a", "b"], [["x"]], [False, False], "t")


# The bundle -----------------------------------------------------------------------------------------------


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Modules of the test in the place of the assets."""
    files: dict[str, str] = {}
    monkeypatch.setattr(bundle, "asset", files.__getitem__)
    bundled.cache_clear()
    yield files
    bundled.cache_clear()


def test_what_is_imported_stands_before_and_once(modules: dict[str, str]) -> None:
    modules["a.js"] = 'import { b } from "./b.js";\nimport { c } from "./c.js";\nb(c);\n'
    modules["b.js"] = 'import { c } from "./c.js";\n\nexport function b() {}\n'
    modules["c.js"] = "export const c = 1;\nexport async function d() {}\nexport class E {}\n"
    assert bundled("a.js") == (
        "const c = 1;\nasync function d() {}\nclass E {}\n\nfunction b() {}\n\nb(c);\n"
    )


def test_modules_of_two_folders() -> None:
    files = {
        "/assets/a.js": 'import { c } from "/report-assets/c.js";\nimport { b } from "./b.js";\nb(c);\n',
        "/assets/b.js": "export function b() {}\n",
        "/report-assets/c.js": 'import { d } from "./b.js";\nexport const c = d;\n',
        "/report-assets/b.js": "export const d = 1;\n",
    }
    assert joined("/assets/a.js", files.__getitem__) == (
        "const d = 1;\n\nconst c = d;\n\nfunction b() {}\n\nb(c);\n"
    )


def test_an_import_over_several_lines(modules: dict[str, str]) -> None:
    modules["a.js"] = 'import {\n  b,\n  c,\n} from "./b.js";\nb();\n'
    modules["b.js"] = "export function b() {}\nexport let c;\n"
    assert bundled("a.js") == "function b() {}\nlet c;\n\nb();\n"


def test_the_word_export_in_a_text_stays(modules: dict[str, str]) -> None:
    modules["a.js"] = 'const text = "export const x";\n  export = 3; // export function of old\n'
    assert bundled("a.js") == modules["a.js"]


def test_comments_on_lines_of_their_own_are_dropped(modules: dict[str, str]) -> None:
    modules["a.js"] = (
        "// The module.\nconst a = 1; // stays\n\n/**\n * A function,\n * in words.\n */\n"
        "export function b() {\n  /** One line. */\n  // why\n  return 'http://x'; /* stays */\n}\n"
    )
    assert bundled("a.js") == (
        "const a = 1; // stays\n\nfunction b() {\n  return 'http://x'; /* stays */\n}\n"
    )


@pytest.mark.parametrize("names", [["a.js"], ["a.js", "b.js"], ["a.js", "b.js", "c.js"]])
def test_modules_that_import_each_other_are_refused(names: list[str], modules: dict[str, str]) -> None:
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        modules[name] = f'import {{ x }} from "./{following}";\n'
    with pytest.raises(AssertionError, match=re.escape(" → ".join([*names, names[0]]))):
        bundled("a.js")


def test_a_module_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        bundled("nonsense.js")


_NAMED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class|var) +([\w$]+|[{\[][^=]*)", re.MULTILINE
)
_IMPORT = re.compile(r'import \{([\w$,\s]+)\} from "(\.{1,2}|/report-assets)/([a-z_/]+\.js)";\n')
_EXPORT = re.compile(r"export (?:async )?(?:function|const|let|class) [\w$]+")


def top_level_names(text: str) -> list[str]:
    names: list[str] = []
    for match in _NAMED.findall(text):
        names += re.findall(r"[\w$]+", match)
    return names


def test_top_level_names_are_found_whatever_declares_them() -> None:
    text = "export function a() {\n  const inner = 1;\n}\nlet b = 1;\nconst { c, d } = x;\nclass E {}\nasync function f() {}\n"
    assert top_level_names(text) == ["a", "b", "c", "d", "E", "f"]


def test_no_two_modules_share_a_top_level_name() -> None:
    counted = Counter(name for path in MODULES for name in top_level_names(path.read_text("utf-8")))
    assert len(counted) > 100
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(path.parts[-3:]))
def test_modules_keep_to_the_forms_that_can_be_put_together(path: Path) -> None:
    text = path.read_text("utf-8")
    remaining = _EXPORT.sub("", _IMPORT.sub("", text))
    assert re.findall(r"^\s*(?:import|export)\b.*", remaining, re.MULTILINE) == []
    assert not re.search(r"\bimport\s*\(|\bimport\.meta\b", remaining)
    assert "\r" not in text


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(path.parts[-3:]))
def test_what_a_module_imports_is_exported_there(path: Path) -> None:
    for names, place, file in _IMPORT.findall(path.read_text("utf-8")):
        exported = (PLACES.get(place, path.parent / place) / file).read_text("utf-8")
        for name in re.findall(r"[\w$]+", names):
            assert re.search(
                rf"^export (?:async )?(?:function|const|let|class) {re.escape(name)}\b",
                exported,
                re.MULTILINE,
            ), name


def test_the_page_is_put_together_without_an_import_or_export_left() -> None:
    whole = bundled("main.js")
    assert re.findall(r"^\s*(?:import|export)\b.*", whole, re.MULTILINE) == []
    assert bundled("main.js") is whole
