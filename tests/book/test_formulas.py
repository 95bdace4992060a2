"""Formulas that are set when the site is built: book/_ext/formulas.py, and where KaTeX comes from."""

import re
import subprocess
import sys

import pytest
from bs4 import BeautifulSoup
from pages import BOOK

pytest.importorskip("sphinx")
sys.path.insert(0, str(BOOK / "_ext"))

import formulas
import npm_packages
from sphinx.errors import ExtensionError

CONF = f"""
import sys
sys.path.insert(0, {str(BOOK / "_ext")!r})
extensions = ["formulas"]
numfig = True
math_numfig = True
html_theme = "basic"
html_permalinks = True
"""
PAGES = {
    "index": "Course\n======\n\n.. toctree::\n   :numbered:\n\n   one\n   two\n\nNo formula here.\n",
    "one": "One\n===\n\nThe unit (:math:`h_t`), which :math:`\\sigma` reads; :math:`a_t = W_x x_t + W_h h_{t-1} + b_{xt} + b_{ht}`. See :eq:`update`.\n\n"
    ".. math::\n   :label: update\n\n   h_t = \\tanh(a_t)\n\n"
    ".. math::\n\n   a = b\n\n   c = d\n\n"
    ".. math::\n   :nowrap:\n\n   \\begin{align}x &= y \\\\ z &= u\\end{align}\n",
    "two": "Two\n===\n\nText, and as :eq:`update` says.\n\nLater\n-----\n\n.. list-table::\n   :header-rows: 1\n\n   * - :math:`\\overrightarrow{h}`\n"
    "   * - :math:`\\lVert W \\rVert`\n",
}


def build(folder, pages, builder="html"):
    """Build some pages, in a process of its own as any build; gives what it said last."""
    folder.mkdir(exist_ok=True)
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", builder, str(folder), str(folder / builder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def built(folder, pages, builder="html"):
    done = build(folder, pages, builder)
    assert done.returncode == 0, done.stderr
    return folder / builder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return built(tmp_path_factory.mktemp("site") / "book", PAGES)


@pytest.fixture(scope="module")
def soups(site):
    return {name: BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser") for name in PAGES}


def test_a_formula_is_read_as_mathml_and_seen_as_html(soups):
    nodes = [node for name in ("one", "two") for node in soups[name].select(".math")]
    assert len(nodes) == 8
    for node in nodes:
        assert node.select_one(".katex-mathml > math").get_text().strip()
        assert node.select_one(".katex-html")["aria-hidden"] == "true"
        assert not node.select("annotation, .katex-error")
        assert "\\" not in node.get_text()
    assert [node.select_one(".katex-mathml").get_text() for node in nodes[:2]] == ["ht", "σ"]
    # A column whose heading is a formula alone has text.
    assert soups["two"].select_one("th math").get_text().strip()


def test_numbers_and_references_are_sphinxs(soups):
    shown = soups["one"].select(".eqno")
    assert [node.get_text().rstrip("¶#") for node in shown] == ["(1.1)"]
    name = shown[0].find_parent("div")["id"]
    for page, address in (("one", f"#{name}"), ("two", f"one.html#{name}")):
        link = soups[page].select_one(f'a[href="{address}"]:not(.headerlink)')
        assert link.get_text() == "(1.1)"
    assert not soups["one"].select(".eqn-num")


def test_lines_of_a_formula_stand_one_below_another(soups):
    assert len(soups["one"].select("div.math")[1].select("mtr")) == 2
    assert formulas.displayed("a = b") == "a = b"
    assert formulas.displayed(r"a &= b \\ c &= d") == r"\begin{split}a &= b \\ c &= d\end{split}"
    whole = "\\begin{aligned}\na \\\\\nb\n\\end{aligned}"
    assert formulas.displayed(f"\n{whole}\n") == whole
    assert formulas.displayed(r"\begin{align*}a\end{align*}") == r"\begin{align*}a\end{align*}"


def test_a_formula_keeps_its_punctuation_and_breaks_if_it_is_long(soups):
    joined = soups["one"].select(".course-joined")
    ends = [[part for part in span.contents if isinstance(part, str)] for span in joined]
    assert ends == [["(", "),"], ["."]]
    whole = ["course-whole" in node["class"] for node in soups["one"].select("span.math")]
    assert whole == [True, True, False]
    assert "The unit (" in soups["one"].select_one("p").get_text()


def test_a_page_asks_for_the_style_sheet_only_if_it_has_formulas(site, soups):
    for name, wanted, early in (("index", 0, 0), ("one", 1, 2), ("two", 1, 0)):
        links = soups[name].select("link[href]")
        assert len([link for link in links if formulas.SHEET in link["href"]]) == wanted, name
        fonts = [link for link in links if link.get("as") == "font"]
        assert len(fonts) == early, name
        assert all((site / link["href"]).is_file() for link in fonts)
    assert not any("mathjax" in str(soup).lower() for soup in soups.values())
    assert not list(site.rglob("katex*.js"))


def test_the_style_sheet_names_fonts_that_are_served(site):
    sheet = site / "_static" / formulas.SHEET
    fonts = re.findall(r"url\(([^)]+)\)", sheet.read_text("utf-8"))
    assert len(fonts) >= 16
    assert all(font.endswith(".woff2") and (sheet.parent / font).is_file() for font in fonts)


def test_a_page_asks_for_the_fonts_of_its_formulas(site, soups):
    asked = {
        name: re.findall(r'"((?:italic )?(?:700 )?16px KaTeX_\w+)"', str(soup))
        for name, soup in soups.items()
    }
    assert asked["index"] == []
    assert asked["one"] == ["16px KaTeX_Main", "italic 16px KaTeX_Math"]
    sheet = (site / "_static" / formulas.SHEET).read_text("utf-8")
    for tex, font in (
        (r"\left( \frac{a}{\frac{b}{c}} \right)", "16px KaTeX_Size4"),
        (r"\mathbb{R}", "16px KaTeX_AMS"),
        (r"\boldsymbol{h}", "italic 700 16px KaTeX_Math"),
        (r"\sum_t", "16px KaTeX_Size2"),
    ):
        assert font in formulas.faces(formulas.typeset(tex, True), sheet), tex


def test_the_book_on_one_page_has_the_same_formulas(tmp_path):
    out = built(tmp_path / "book", PAGES, "singlehtml")
    soup = BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser")
    assert len(soup.select(".math .katex-html")) == 8
    assert [node.get_text().rstrip("¶#") for node in soup.select(".eqno")] == ["(1.1)"]
    assert len([link for link in soup.select("link[href]") if formulas.SHEET in link["href"]]) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (":math:`\\nosuchcommand x`", 4, r"Undefined control sequence: \nosuchcommand"),
        ("x\n\n.. math::\n\n   \\left( x", 6, "KaTeX parse error"),
        (":math:`x_é`", 4, "unicodeTextInMathMode"),
    ],
)
def test_a_formula_that_cannot_be_set_ends_every_build(tmp_path, text, line, words):
    """Also the next one, which finds the other pages written."""
    pages = {"index": f"Course\n======\n\n{text}\n"}
    for _ in range(2):
        done = build(tmp_path / "book", pages)
        assert done.returncode != 0
        assert f"index.rst:{line}: a formula cannot be set" in done.stderr
        assert words in done.stderr
        assert text.splitlines()[-1].removeprefix(":math:").strip(" `") in done.stderr


def test_a_build_without_katex_says_what_is_missing(tmp_path, monkeypatch):
    nowhere = formulas.Package("katex", "0.0.0", "sha512-", ("LICENSE",), tmp_path / "katex")
    monkeypatch.setattr(formulas, "KATEX", nowhere)
    monkeypatch.setattr(npm_packages.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ExtensionError, match="KaTeX, which sets the formulas, is missing: npm is not installed"
    ):
        formulas.configure(None, None)
