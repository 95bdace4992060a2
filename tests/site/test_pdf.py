"""The book as PDF: the one page that it is printed from (book/_ext/single_page.py), and the printing (classroom.pdf)."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from built_site import ROOT, lacking, toc_pages

from classroom import pdf
from classroom.errors import CourseError

pytestmark = [pytest.mark.site, pytest.mark.browser]

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["sphinx.ext.mathjax", "single_page"]
root_doc = "book/index"
html_theme = "basic"
html_permalinks = True
numfig = True
"""
PAGES = {
    "index": "The course\n==========\n\nSee :doc:`one`.\n\n.. toctree::\n   :numbered:\n\n   one\n   two\n",
    "one": "The first\n=========\n\n.. figure:: dot.png\n   :name: dot\n   :alt: A dot.\n\n   The first dot.\n\n"
    "Summary\n-------\n\nAs :ref:`the other <two-summary>` says, and :numref:`dot`; :ref:`this <one-summary>`.\n\n"
    ".. _one-summary:\n\nMore\n----\n\nText of the first.\n",
    "two": "The second\n==========\n\n.. _two-summary:\n\nSummary\n-------\n\nSee :numref:`dot` and :doc:`one`.\n",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """A book of three pages, two of which have a section of the same name, on one page."""
    pytest.importorskip("sphinx")
    from PIL import Image
    from sphinx.application import Sphinx

    folder = tmp_path_factory.mktemp("book")
    (folder / "book").mkdir()
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    for name, text in PAGES.items():
        (folder / "book" / f"{name}.rst").write_text(text, encoding="utf-8")
    Image.new("RGB", (40, 30)).save(folder / "book" / "dot.png")
    out = folder / "out"
    app = Sphinx(folder, folder, out, folder / "doctrees", "singlehtml", status=None, warningiserror=True)
    app.build()
    assert app.statuscode == 0
    return out / "index.html"


@pytest.fixture(scope="module")
def soup(book) -> BeautifulSoup:
    return BeautifulSoup(book.read_text(encoding="utf-8"), "html.parser")


def test_every_anchor_is_there_once_and_every_link_finds_its_own(soup):
    body = soup.select_one("div.body")
    names = [node["id"] for node in body.find_all(id=True)]
    assert len(names) == len(set(names))
    led = {link.get_text(): link["href"] for link in body.select("a.reference.internal")}
    assert led["the other"] == "#book-two--two-summary"
    assert led["this"] == "#book-one--one-summary"
    assert led["The first"] == "#document-book/one"
    for link in body.select('a[href^="#"]'):
        assert soup.find(id=link["href"][1:]), link
    place = soup.find(id="book-two--two-summary")
    assert "See Fig. 1.1" in (place if place.name == "section" else place.find_parent("section")).get_text()


def test_numbers_of_sections_and_figures_stay(soup):
    headings = [
        re.sub(r"[¶#\s]+$", "", node.get_text()) for node in soup.select("div.body :is(h1, h2, h3, h4)")
    ]
    assert [h for h in headings if h[0].isdigit()] == [
        "1. The first",
        "1.1. Summary",
        "1.2. More",
        "2. The second",
        "2.1. Summary",
    ]
    assert soup.select_one("figcaption .caption-number").get_text().strip() == "Fig. 1.1"


def test_pictures_are_found_from_where_the_page_stands(book, soup):
    assert (book.parent / soup.select_one("div.body img")["src"]).is_file()


SHEET = """<!doctype html><html lang="en"><head><title>x</title></head><body><nav>not printed</nav>
<article class="bd-article"><span id="document-book/index"></span><section id="a"><h1>The course
of <em>letters</em> <span class="katex"><span class="katex-mathml"><math><mi>W</mi></math></span><span class="katex-html" aria-hidden="true">W</span></span><a class="headerlink" href="#a">#</a></h1>
<p>Text, <a href="#b">the chapter</a>, <a href="_downloads/x.ipynb">a file</a>, <a href="https://example.org/">elsewhere</a>.</p>
<img src="dot.png" alt="A dot on white ground"><span id="document-book/one"></span>
<section id="b"><h2>A chapter</h2><details><summary>Show</summary><p>the folded answer</p></details>
<div class="playground" data-playground="lstm">the unit itself</div><button>press</button>
<table style="width: 1500px"><tr><td>left end</td><td>right end</td></tr></table>BODY</section></section></article></body></html>"""


@pytest.fixture
def sheet(tmp_path):
    from PIL import Image

    pytest.importorskip("playwright")
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        lacking("no Chromium on this machine; install it, on Debian with: apt-get install chromium")
    Image.new("RGB", (40, 30)).save(tmp_path / "dot.png")

    def written(body: str = "") -> Path:
        page = tmp_path / "index.html"
        page.write_text(SHEET.replace("BODY", body), encoding="utf-8")
        return page

    return written


def outline(entries) -> list:
    """Titles of a PDF's outline, those below one as a list after it."""
    return [outline(entry) if isinstance(entry, list) else entry.title for entry in entries]


def spoken(reader) -> list[str | None]:
    """What stands for each figure of a PDF where it is read aloud, in the order of its tags; None where nothing does."""
    found = []

    def collect(node):
        node = node.get_object()
        if isinstance(node, list):
            for one in node:
                collect(one)
        elif isinstance(node, dict):
            if node.get("/S") == "/Figure":
                found.append(node.get("/Alt"))
            if "/K" in node:
                collect(node["/K"])

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # sections, boxes and formulas, one in another
    try:
        collect(reader.trailer["/Root"]["/StructTreeRoot"])
    finally:
        sys.setrecursionlimit(limit)
    return found


def test_titles_that_are_not_the_outlines_are_an_error(sheet, tmp_path):
    pytest.importorskip("pypdf")
    target = tmp_path / "book.pdf"
    pdf.write(sheet(), target)
    with pytest.raises(CourseError, match="the outline has 2 entries, and the book 1 headings"):
        pdf.entitle(target, ["The course"])


def test_a_page_is_printed_with_outline_tags_and_links(sheet, tmp_path):
    pypdf = pytest.importorskip("pypdf")
    target = tmp_path / "out" / "book.pdf"
    pdf.write(
        sheet('<table><tr><td style="min-width: 30px">narrow</td></tr></table>'),
        target,
        site="https://course.example/",
    )
    reader = pypdf.PdfReader(target)
    assert outline(reader.outline) == ["The course of letters W", ["A chapter"]]
    root = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert spoken(reader) == ["A dot on white ground"]
    assert root["/Lang"].startswith("en")
    text = "\n".join(page.extract_text() for page in reader.pages)
    assert "the folded answer" in text
    assert "https://course.example/book/one.html" in text
    assert "right end" in text
    for gone in ("not printed", "the unit itself", "press"):
        assert gone not in text
    links = [note.get_object() for page in reader.pages for note in page.get("/Annots", [])]
    outward = [link["/A"]["/URI"] for link in links if "/URI" in link.get("/A", {})]
    assert set(outward) == {"https://example.org/", "https://course.example/book/one.html"}
    assert len(links) - len(outward) >= 3, "links inside the book: the contents' two, the text's one"
    # Title, contents, the two pages, with the numbers that the contents give.
    assert len(reader.pages) == 4
    assert reader.pages[1].extract_text().split("\n")[:2] == ["The course of letters W 3", "A chapter 4"]
    assert pdf.sheets(reader) == {"document-book/index": 3, "document-book/one": 4, "b": 4}
    assert not target.with_suffix(".part").exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<img src="gone.png" alt="">', "the picture gone.png does not load"),
        ('<p><a href="#nowhere">x</a></p>', "a link to #nowhere, which is nowhere"),
        ('<div class="math">\\[x\\]</div>', r"a formula is not set: \[x\]"),
        ('<svg style="width: 2000px; height: 9px"></svg>', "wider than the sheet: svg"),
    ],
)
def test_what_is_broken_is_named_and_nothing_is_printed(sheet, tmp_path, body, reason):
    target = tmp_path / "book.pdf"
    with pytest.raises(CourseError, match=re.escape(reason)):
        pdf.write(sheet(body), target)
    assert not target.exists()


def test_a_missing_page_says_how_to_make_it(tmp_path, capsys):
    assert pdf.main(["--page", str(tmp_path / "index.html")]) == 2
    assert "jupyter-book build . --builder singlehtml" in capsys.readouterr().err


@pytest.mark.long
def test_the_whole_book_is_printed(site):
    """`make pdf`, or what it made since the site was built: every page in the outline, nothing left as TeX."""
    import subprocess

    pypdf = pytest.importorskip("pypdf")
    if not pdf.PDF.exists() or pdf.PDF.stat().st_mtime < (site / "index.html").stat().st_mtime:
        done = subprocess.run(["make", "pdf"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    reader = pypdf.PdfReader(pdf.PDF)
    alt = spoken(reader)
    titles = []

    def collect(entries):
        for entry in entries:
            collect(entry) if isinstance(entry, list) else titles.append(" ".join(entry.title.split()))

    collect(reader.outline)
    for name in toc_pages():
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        heading = page.select_one("article h1")
        for sign in heading.select(".headerlink, .katex-html"):
            sign.decompose()
        assert titles.count(" ".join(heading.get_text().split())) == 1, name
    assert len(reader.pages) > 100
    text = "\n".join(page.extract_text() for page in reader.pages)
    prose = re.sub(r"(?m)^.*(\\n|r\"|r').*$", "", text)
    assert re.findall(r"\\(?:frac|sigma|partial|odot|text|begin)\b", prose) == []
    one = BeautifulSoup(pdf.PAGE.read_text(encoding="utf-8"), "html.parser")
    figures = one.select("article img.course-figure")
    assert len(figures) > 30
    assert all((pdf.PAGE.parent / image["src"]).is_file() for image in figures)
    for image in figures:
        assert image["alt"] in alt
