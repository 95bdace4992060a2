"""What book/_ext/light_pages.py takes off a page, and what it must leave there."""

import base64
import io
import re
from pathlib import Path

import pytest
from pages import BOOK, loaded

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def pages():
    return loaded(BOOK / "_ext" / "light_pages.py")


HTML = """<!DOCTYPE html><html><head>
<meta name="viewport" content="width=device-width, initial-scale=1.0" />
<script data-cfasync="false">
    document.documentElement.dataset.mode = localStorage.getItem("mode") || "auto";
    document.documentElement.dataset.theme = localStorage.getItem("theme") || "auto";
  </script>
<!-- So that users can add custom icons -->
<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>
<link rel="preload" as="script" href="../_static/scripts/bootstrap.js" />
<script src="../_static/documentation_options.js?v=1"></script>
<script src="../_static/doctools.js?v=1"></script>
<script>let toggleHintShow = 'Click to show';</script>
<script data-prefix="p" src="../_static/design-tabs.js"></script>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<script src="../_static/searchtools.js"></script>
<script src="../searchindex.js"></script>
</head><body><i class="fa-solid fa-bars"></i><i class="fas fa-file" aria-hidden="true"></i><i class="fad">x</i>
<article><h1>T</h1><img alt="one" src="../_images/a.svg" /><h2>S</h2><img src="../_images/b.png"><img src="c.svg" width="3">
MATH</article>
<script defer src="../_static/scripts/bootstrap.js"></script></body></html>"""


@pytest.fixture
def sources(tmp_path):
    from PIL import Image

    (tmp_path / "a.svg").write_text(
        '<?xml version="1.0"?><svg viewBox="0 0 72 36" width="72pt" height="36pt"></svg>'
    )
    Image.new("RGB", (30, 20)).save(tmp_path / "b.png")
    return {name: tmp_path / name for name in ("a.svg", "b.png")}


def test_a_page_keeps_what_it_needs(pages, sources):
    html = HTML.replace("MATH", '<span class="math">x</span>')
    got = pages.light(html, options="const OPTIONS = 1;", sources=sources)
    for gone in ("fontawesome.js", 'rel="preload"', "searchtools", "searchindex", "documentation_options.js"):
        assert gone not in got
    assert got.count('name="viewport"') == 1
    assert "<script>const OPTIONS = 1;</script>" in got
    assert '<script defer src="../_static/doctools.js?v=1"></script>' in got
    assert '<script defer data-prefix="p" src="../_static/design-tabs.js"></script>' in got
    assert '<script defer src="../_static/scripts/bootstrap.js"></script>' in got
    assert "<script>let toggleHintShow" in got
    assert '<i aria-hidden="true" class="fa-solid fa-bars">' in got
    assert got.count("aria-hidden") == 2


def test_pictures_have_their_size_and_wait_below_the_first_section(pages, sources):
    got = pages.light(HTML, options="", sources=sources)
    assert '<img alt="one" src="../_images/a.svg" width="96" height="48" />' in got
    assert '<img src="../_images/b.png" width="30" height="20" loading="lazy" decoding="async" />' in got
    assert '<img src="c.svg" width="3" loading="lazy" decoding="async" />' in got


def test_what_a_screen_reader_misses_is_put_right(pages, sources):
    html = HTML.replace(
        "MATH",
        '<div id="pst-primary-sidebar" class="x"></div><summary><span class="toctree-toggle"></span></summary>'
        '<button class="btn search-button-field" title="Search" aria-label="Search">Search</button>'
        '<button class="other" aria-label="Search"></button>'
        '<summary aria-label="Toggle hidden content">Show code</summary>'
        '<th class="head"><p></p></th><th>x</th>'
        "<dt>f(<dl>\n<dd><em>x</em>,</dd>\n<dd><em>y</em></dd>\n</dl>\n)</dt><dl>\n<dt>t</dt><dd>d</dd>\n</dl>"
        '<div class="citation" role="doc-biblioentry"></div>'
        '<div class="course-steps docutils">\n<ol class="arabic simple"></ol></div><ol class="arabic"></ol>'
        '<section id="exercise-content"></section><section id="solution-content"></section><section id="my-content"></section>',
    )
    got = pages.light(html, options="", sources=sources)
    assert 'role="complementary" aria-label="The course"' in got
    assert '<summary aria-label="Pages below this one">' in got
    assert '<button class="btn search-button-field" title="Search">Search</button>' in got
    assert '<button class="other" aria-label="Search">' in got
    assert "<summary>Show code</summary>" in got
    assert '<td class="head"><p></p></td><th>x</th>' in got
    assert '<div class="sig-lines">\n<div><em>x</em>,</div>\n<div><em>y</em></div>\n</div>' in got
    assert "<dl>\n<dt>t</dt><dd>d</dd>\n</dl>" in got
    assert '<div class="citation" role="listitem">' in got
    assert '<ol role="list" class="arabic simple"></ol></div><ol class="arabic">' in got
    assert '<section></section><section></section><section id="my-content">' in got


def test_the_search_page_keeps_its_scripts_in_order(pages, sources):
    got = pages.light(HTML, options="", sources=sources, search=True)
    assert '<script src="../_static/searchtools.js"></script>' in got
    assert '<script src="../_static/documentation_options.js?v=1"></script>' in got


@pytest.mark.parametrize("search", [False, True])
def test_the_readers_colours_come_first_and_a_storage_that_is_refused_stops_nothing(pages, sources, search):
    got = pages.light(HTML, options="", sources=sources, search=search)
    first = got[got.index("<script") : got.index("</script>")]
    assert first.startswith(f'<script data-cfasync="false">{pages.STORAGE}')
    assert first.endswith(pages.COLOURS)
    assert '.dataset.mode = courseStorage.getItem("mode") || "auto";' in first
    assert got.count("localStorage.getItem") == 1
    with pytest.raises(ValueError, match="read the reader's colours once, found it 0 times"):
        pages.light(got, options="", sources=sources)


def test_scripts_keep_what_they_keep_through_the_pages_storage(pages):
    import sphinx

    static = Path(sphinx.__file__).parent / "themes/basic/static"
    got = pages.safely_kept((static / pages.HIGHLIGHT).read_text(encoding="utf-8"), "x")
    assert "localStorage" not in got
    assert got.count("courseStorage.") == 3
    for script in (got, "window.localStorage.getItem('x')", "const kept = localStorage;"):
        with pytest.raises(ValueError, match="expected the script to use localStorage by this name"):
            pages.safely_kept(script, "the script")


def test_the_size_of_a_picture_that_is_none_is_unknown(pages, tmp_path):
    (tmp_path / "x.svg").write_text("<svg viewBox='0 0 1 1'></svg>")
    assert pages.picture_size(tmp_path / "x.svg") is None
    assert pages.picture_size(tmp_path / "missing.svg") is None


@pytest.fixture(scope="module")
def theme():
    theme = pytest.importorskip("pydata_sphinx_theme")
    return Path(theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"


def test_the_sheet_keeps_the_icons_that_are_used_and_all_other_rules(pages, theme):
    from fontTools.ttLib import TTFont

    sheet = (theme / pages.SHEET).read_text(encoding="utf-8")
    font = (theme / f"{pages.FONT}.ttf").read_bytes()
    got = pages.trimmed_sheet(sheet, font, {"fa-bars", "fa-list"}, others='p::after { content: "\\f303" }')
    assert ".fa-bars:before" in got
    assert ".fa-volleyball:before" not in got
    rule = re.compile(r"[^{}]+\{[^{}]*\}")
    lost = set(rule.findall(sheet)) - set(rule.findall(got))
    odd = [
        text
        for text in lost
        if not re.match(r"\s*\.fa-[\w-]+:before", text.strip()) and "@font-face" not in text
    ]
    assert odd == []
    data = re.search(r"url\(data:font/woff;base64,([^)]+)\)", got)[1]
    glyphs = TTFont(io.BytesIO(base64.b64decode(data))).getBestCmap()
    # A page's own icon, one of another sheet's, and the theme's sign of a note.
    assert {0xF0C9, 0xF03A, 0xF303, 0xF05A} <= set(glyphs)
    assert len(base64.b64decode(data)) < 12_000
    assert got == pages.trimmed_sheet(
        sheet, font, ["fa-list", "fa-bars"], others='p::after { content: "\\f303" }'
    )


def test_a_sheet_without_the_font_is_an_error(pages, theme):
    with pytest.raises(ValueError, match="icon font once, found it 0 times"):
        pages.trimmed_sheet("p{}", (theme / f"{pages.FONT}.ttf").read_bytes(), [])


def test_the_script_looks_at_a_listing_when_it_comes_near(pages, theme):
    script = (theme / pages.SCRIPT).read_text(encoding="utf-8")
    got = pages.patient_script(script)
    assert len(got) - len(script) < 400
    assert "localStorage" not in got
    assert '"article table","article .katex-display"].join' in got
    assert ".tabIndex=e.scrollWidth" in got.split("\n")[0]
    assert ".tabIndex=e.scrollWidth" not in got.split("\n")[1]
    with pytest.raises(ValueError, match="look at all listings once, found it 0 times"):
        pages.patient_script(got)


def test_the_search_takes_the_text_of_a_formula_once(pages):
    import sphinx

    script = (Path(sphinx.__file__).parent / "themes/basic/static" / pages.SEARCH).read_text(encoding="utf-8")
    got = pages.formulas_once(script)
    assert got.count('".katex-html"') == 1
    assert "localStorage" not in got
    with pytest.raises(ValueError, match="what is no text once, found it 0 times"):
        pages.formulas_once(got)


def test_a_column_whose_heading_is_a_formula_alone_has_text(pages, sources):
    formula = (
        '<span class="math"><span class="katex"><span class="katex-mathml">READ</span>'
        '<span class="katex-html" aria-hidden="true">W</span></span></span>'
    )
    mathml = formula.replace("READ", "<math><msub><mi>W</mi> <mi>x</mi></msub></math>")
    table = f'<th class="head"><p>{mathml}</p></th><th><p>the {mathml}</p></th><th><p>{mathml} of</p></th>'
    got = pages.light(HTML.replace("MATH", table), options="", sources=sources)
    text = formula.replace("READ", "Wx")
    assert (
        f'<th class="head"><p>{text}</p></th><th><p>the {mathml}</p></th><th><p>{mathml} of</p></th>' in got
    )
