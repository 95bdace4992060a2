"""Links of the built site, read from its HTML: each one inside the site leads to something that is there."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from built_site import toc_pages

pytestmark = pytest.mark.site

# Elements that lead or load, and the attribute that says where to.
REFERENCES = {
    "a": "href",
    "area": "href",
    "link": "href",
    "form": "action",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
}


@cache
def parsed(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Every place in a page that a fragment can name."""
    soup = parsed(page)
    return frozenset(
        [node["id"] for node in soup.find_all(id=True)]
        + [node["name"] for node in soup.find_all("a", attrs={"name": True})]
    )


def references(page: Path) -> Iterator[tuple[str, str]]:
    for tag, attribute in REFERENCES.items():
        for node in parsed(page).find_all(tag):
            if node.get(attribute):
                yield tag, node[attribute]


def dead(site: Path, page: Path) -> list[str]:
    """Links of one page that lead nowhere. 404.html stands in for any address: its links alone begin at the server's root."""
    wrong = []
    anywhere = page == site / "404.html"
    for tag, reference in references(page):
        parts = urlsplit(reference)
        if parts.scheme in ("http", "https", "mailto", "data", "javascript") or parts.netloc:
            continue
        path = unquote(parts.path)
        if anywhere:
            if not path.startswith(begins(page)):
                wrong.append(f"<{tag}> {reference}: expected to begin with {begins(page)}")
                continue
            path = path.removeprefix(begins(page))
        elif path.startswith("/"):
            wrong.append(f"<{tag}> {reference}: from the server's root, which is not where the site must lie")
            continue
        target = (page.parent / path).resolve() if path else page
        if target.is_dir():
            target /= "index.html"
        if not target.is_relative_to(site):
            wrong.append(f"<{tag}> {reference}: leads out of the site")
        elif not target.is_file():
            wrong.append(f"<{tag}> {reference}: no such file")
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in anchors(target):
            wrong.append(f"<{tag}> {reference}: no such anchor")
    return wrong


@cache
def begins(page: Path) -> str:
    """Where on its server the site lies, as 404.html knows it; at the root, where it was built without an address."""
    return json.loads(re.search(r"let base = (.*);", page.read_text(encoding="utf-8"))[1]) or "/"


def html_pages(site: Path) -> list[Path]:
    return sorted(
        page
        for page in site.resolve().rglob("*.html")
        if "_static" not in page.relative_to(site.resolve()).parts
    )


def test_every_page_of_the_contents_is_built(site):
    assert [name for name in toc_pages() if not (site / f"{name}.html").is_file()] == []


def test_no_page_is_built_that_the_contents_do_not_name(site):
    names = {page.relative_to(site.resolve()).with_suffix("").as_posix() for page in html_pages(site)}
    extra = names - set(toc_pages()) - {"index", "genindex", "py-modindex", "search", "404"}
    assert extra == set(), "pages that _toc.yml does not name; if an earlier build left them, run: make clean"


def test_every_internal_link_and_anchor_resolves(site):
    found = {
        page.relative_to(site.resolve()).as_posix(): dead(site.resolve(), page) for page in html_pages(site)
    }
    assert len(found) > len(toc_pages())
    assert {page: links for page, links in found.items() if links} == {}


def test_every_id_is_there_once(site):
    """A link to one that is there twice leads to the first, wherever it was meant to lead."""
    twice = {}
    for page in html_pages(site):
        found = Counter(node["id"] for node in parsed(page).find_all(id=True))
        if more := [name for name, times in found.items() if times > 1]:
            twice[page.name] = more
    assert twice == {}


def leads(site: Path, name: str, selector: str) -> list[str]:
    """The pages that the links of one kind on a page lead to; `#` is the page itself."""
    page = site.resolve() / f"{name}.html"
    found = [link["href"] for link in parsed(page).select(selector)]
    paths = [(page.parent / link).resolve() if link != "#" else page for link in found]
    return [path.relative_to(site.resolve()).with_suffix("").as_posix() for path in paths]


def test_next_and_previous_follow_the_table_of_contents(site):
    pages = toc_pages()
    assert [leads(site, name, "a.right-next") for name in pages] == [[name] for name in pages[1:]] + [[]]
    assert [leads(site, name, "a.left-prev") for name in pages] == [[], *([name] for name in pages[:-1])]


def test_the_contents_at_the_side_name_every_page_in_order(site):
    for name in toc_pages():
        assert leads(site, name, "nav.bd-links a.reference.internal") == toc_pages()


def test_nothing_is_loaded_from_another_site(site):
    """A link may lead elsewhere; a script, a style sheet or a picture may not come from there."""
    foreign = []
    for page in html_pages(site):
        # A page's own whole address is a name, and nothing is loaded from it.
        names = {link["href"] for link in parsed(page).select('link[rel="canonical"]')}
        foreign += [
            f"{page.name}: <{tag}> {reference}"
            for tag, reference in references(page)
            if tag not in ("a", "area", "form")
            and (urlsplit(reference).scheme in ("http", "https") or reference.startswith("//"))
            and not (tag == "link" and reference in names)
        ]
    assert foreign == []


def test_external_links_are_whole_addresses(site):
    """A link to another site is https and names a host that exists in principle: no localhost, no example."""
    odd = [
        f"{page.name}: {reference}"
        for page in html_pages(site)
        for tag, reference in references(page)
        if tag == "a"
        and urlsplit(reference).netloc
        and (
            urlsplit(reference).scheme != "https"
            or "." not in urlsplit(reference).netloc
            or "example." in reference
        )
    ]
    assert odd == []


def test_every_picture_of_a_chapter_is_in_the_page_with_a_caption(site):
    """A computed figure stands in a <figure> with a caption, so that text can refer to it."""
    bare = [
        f"{page.name}: {image['src']}"
        for page in html_pages(site)
        for image in parsed(page).select("img.course-figure")
        if image.find_parent("figure") is None or image.find_parent("figure").find("figcaption") is None
    ]
    assert bare == []


def test_every_page_has_a_language_a_title_and_headings_in_order(site):
    """What a screen reader goes by: the language, the title, one heading of the first level, no level left out."""
    wrong = []
    for name in toc_pages():
        soup = parsed(site.resolve() / f"{name}.html")
        levels = [int(heading.name[1]) for heading in soup.select("article :is(h1, h2, h3, h4, h5, h6)")]
        if soup.html.get("lang") != "en":
            wrong.append(f"{name}: no language")
        if not soup.title or not soup.title.get_text().strip():
            wrong.append(f"{name}: no title")
        if levels.count(1) != 1 or levels[0] != 1:
            wrong.append(f"{name}: headings of the levels {levels}, expected one of level 1, first")
        if any(below - above > 1 for above, below in pairwise(levels)):
            wrong.append(f"{name}: a level is left out in {levels}")
    assert wrong == []


def test_dead_links_are_found_out(tmp_path):
    """The crawler finds each kind of dead link, and lets a good one pass."""
    (tmp_path / "good.html").write_text('<h1 id="here">Here</h1>', encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="good.html#here">1</a><a href="good.html#there">2</a><a href="gone.html">3</a>'
        '<a href="/good.html">4</a>'
        '<a href="../out.html">5</a><img src="gone.svg"><a href="#nowhere">6</a><a href="https://example.org">7</a>',
        encoding="utf-8",
    )
    found = dead(tmp_path, page)
    assert [line.split(": ")[0] for line in found] == [
        "<a> good.html#there",
        "<a> gone.html",
        "<a> /good.html",
        "<a> ../out.html",
        "<a> #nowhere",
        "<img> gone.svg",
    ]
