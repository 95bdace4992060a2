"""What a page says of itself, the sitemap, and 404.html: book/_ext/page_head.py."""

import io
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from bs4 import BeautifulSoup
from pages import BOOK, CHROMIUM_FLAGS, loaded

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def head():
    return loaded(BOOK / "_ext" / "page_head.py")


def course(tmp_path: Path, base: str = "") -> SimpleNamespace:
    return SimpleNamespace(
        outdir=str(tmp_path),
        config=SimpleNamespace(
            html_baseurl=base, html_title="Learning to Remember", root_doc="book/index", language="en"
        ),
        builder=SimpleNamespace(name="html", get_target_uri=lambda name: f"{name}.html"),
        env=SimpleNamespace(
            found_docs={"book/lstm", "book/index"},
            get_doctree=lambda name: document("Text.", description=f"What {name} is 'about'."),
        ),
    )


def document(*paragraphs: str, description: str | None = None):
    from docutils import nodes
    from docutils.utils import new_document

    doctree = new_document("x")
    section = nodes.section("", *[nodes.paragraph("", text) for text in paragraphs])
    doctree += section
    if description:
        doctree += nodes.meta("", name="description", content=description)
    return doctree


def tags(
    head, tmp_path, doctree, base="", title="3. <i>The</i> LSTM &amp; more", page="book/lstm"
) -> dict[str, str]:
    context = {"title": title, "metatags": "", "pathto": lambda name, _: f"../{name}"}
    head.described(course(tmp_path, base), page, "page.html", context, doctree)
    return named(BeautifulSoup(context["metatags"], "html.parser"))


def named(soup) -> dict[str, str]:
    """What each meta tag says, by its name."""
    return {
        node.get("name") or node.get("property"): node["content"]
        for node in soup.find_all("meta")
        if node.get("name") or node.get("property")
    }


def test_a_page_is_described_by_its_first_paragraphs(head, tmp_path):
    text = "A network that remembers, " * 20
    found = tags(head, tmp_path, document("Short.", text))
    assert found["description"] == found["og:description"]
    assert found["description"].startswith("Short. A network that remembers")
    assert head.SHORTEST <= len(found["description"]) <= head.LONGEST
    assert found["og:title"] == "3. The LSTM & more"
    assert found["og:image"] == "../_static/card.png"
    assert "og:url" not in found
    assert found["og:type"] == "article"


def test_a_description_ends_with_a_sentence_where_it_can(head, tmp_path):
    text = "A network that remembers what it read. " * 3 + "A sentence " + "that goes on " * 20
    assert (
        tags(head, tmp_path, document(text))["description"]
        == ("A network that remembers what it read. " * 3).strip()
    )


def test_every_page_in_the_contents_describes_itself():
    """By hand, not too long for a list of results, and no two alike; model answers are made, and take their first sentences."""
    contents = yaml.safe_load((BOOK.parent / "_toc.yml").read_text(encoding="utf-8"))
    names = [contents["root"]]
    for part in contents["parts"]:
        for entry in part["chapters"]:
            names += [entry["file"], *(below["file"] for below in entry.get("sections", []))]
    found = {}
    for name in names:
        head = (BOOK.parent / f"{name}.md").read_text(encoding="utf-8").split("---\n")[1]
        found[name] = yaml.safe_load(head)["myst"]["html_meta"]["description"]
    assert {name: text for name, text in found.items() if not 50 <= len(text) <= 160} == {}
    assert len(set(found.values())) == len(names) > 25


def test_a_description_of_its_own_is_not_said_twice(head, tmp_path):
    found = tags(head, tmp_path, document("Text " * 30, description='Its "own" words.'))
    assert "description" not in found  # it stands in the page already
    assert found["og:description"] == 'Its "own" words.'


def test_a_page_without_text_names_the_course(head, tmp_path):
    assert "a course on recurrent networks" in tags(head, tmp_path, None, title="Index")["description"]


def test_a_page_that_sphinx_makes_is_called_by_its_name(head, tmp_path):
    found = {name: tags(head, tmp_path, None, title=None, page=name) for name in head.MADE}
    assert {name: one["og:title"] for name, one in found.items()} == {
        "genindex": "Index",
        "py-modindex": "Python Module Index",
        "search": "Search",
    }
    texts = [one["description"] for one in found.values()]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert "Learning to Remember" in text
        assert head.SHORTEST <= len(text) <= head.LONGEST


def test_an_address_makes_card_and_page_absolute(head, tmp_path):
    found = tags(head, tmp_path, document("Text " * 30), base="https://example.org/course/")
    assert found["og:image"] == "https://example.org/course/_static/card.png"
    assert found["og:url"] == "https://example.org/course/book/lstm.html"


@pytest.mark.parametrize(
    ("given", "base"),
    [("", ""), ("https://example.org/c", "https://example.org/c/"), ("https://e.org/", "https://e.org/")],
)
def test_the_address_comes_from_the_variable(head, tmp_path, monkeypatch, given, base):
    monkeypatch.setenv("SITE_URL", given)
    app = course(tmp_path)
    head.address(app, app.config)
    assert app.config.html_baseurl == base


def test_an_address_that_is_none_is_an_error(head, tmp_path):
    app = course(tmp_path, "course.example")
    with pytest.raises(
        ValueError, match=r"expected an address as https://host/folder/, got 'course.example'"
    ):
        head.address(app, app.config)


def test_the_sitemap_names_every_page_where_there_is_an_address(head, tmp_path):
    head.extra_files(course(tmp_path, "https://example.org/course/"), None)
    listed = ElementTree.parse(tmp_path / "sitemap.xml").getroot()
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    assert listed.tag == f"{space}urlset"
    assert [place.text for place in listed.iter(f"{space}loc")] == [
        "https://example.org/course/book/index.html",
        "https://example.org/course/book/lstm.html",
    ]
    assert 'let base = "/course/";' in (tmp_path / "404.html").read_text(encoding="utf-8")


def test_without_an_address_there_is_no_sitemap(head, tmp_path):
    (tmp_path / "sitemap.xml").write_text("old")
    head.extra_files(course(tmp_path), None)
    assert not (tmp_path / "sitemap.xml").exists()
    assert "let base = null;" in (tmp_path / "404.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("base", ["", "https://example.org/course/"])
def test_the_address_alone_leads_on_and_is_described_as_the_first_page(head, tmp_path, base):
    head.extra_files(course(tmp_path, base), None)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>\n")
    soup = BeautifulSoup(page, "html.parser")
    assert soup.html["lang"] == "en"
    assert soup.title.get_text() == "Learning to Remember"
    found = named(soup)
    assert found["description"] == found["og:description"] == "What book/index is 'about'."
    assert found["og:title"] == "Learning to Remember"
    assert found["og:image"] == f"{base}_static/card.png"
    assert found.get("og:url") == (f"{base}book/index.html" if base else None)
    canonical = [link["href"] for link in soup.select('link[rel="canonical"]')]
    assert canonical == ([f"{base}book/index.html"] if base else [])
    assert soup.select_one('meta[http-equiv="refresh"]')["content"] == "0; url=book/index.html"
    assert [link["href"] for link in soup.select("main a")] == ["book/index.html"]
    assert [link["href"] for link in soup.select('link[rel*="icon"]')] == [one[1] for one in head.ICONS]


def test_the_page_for_lost_readers_needs_no_other_file(head, tmp_path):
    head.extra_files(course(tmp_path), None)
    soup = BeautifulSoup((tmp_path / "404.html").read_text(encoding="utf-8"), "html.parser")
    assert soup.select("link, img, script[src]") == []
    assert {link["data-to"] for link in soup.select("a")} == {"book/index.html", "search.html"}


def test_the_card_is_as_large_as_messages_show_it():
    from PIL import Image

    with Image.open(BOOK / "_static" / "card.png") as card:
        assert card.size == (1200, 630)


# --- icons ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def icons():
    return loaded(BOOK / "_ext" / "icons.py")


def test_the_icons_are_drawn_from_the_sign(icons, head):
    """What is kept is what is drawn now; another version of Pillow may round a pixel otherwise."""
    from PIL import Image, ImageChops, ImageStat

    assert [f"_static/{name}" for name, *_ in icons.ICONS] == [one[1] for one in head.ICONS[1:]]
    for (name, size, ground, free), (_, _, _, sizes) in zip(icons.ICONS, head.ICONS[1:], strict=True):
        with Image.open(BOOK / "_static" / name) as kept:
            assert sizes == f"{size}x{size}"
            assert kept.size == (size, size)
            apart = ImageChops.difference(kept.convert("RGBA"), icons.drawn(size, ground, free))
            assert max(ImageStat.Stat(apart).mean) < 0.5
            # A telephone shows what is transparent in black.
            assert kept.convert("RGBA").getpixel((0, 0)) == ((255, 255, 255, 255) if ground else (0, 0, 0, 0))


def test_icons_show_what_a_browser_makes_of_the_sign(icons):
    """An independent hand: Chromium's drawing of the SVG, in the same size on the same ground."""
    from PIL import Image, ImageChops, ImageStat

    playwright = pytest.importorskip("playwright.sync_api")
    binary = shutil.which("chromium")
    if not binary:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("chromium is not installed")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=binary, args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 96, "height": 96})
        page.set_content(
            "<style>html, body { margin: 0; background: #fff } svg { display: block; width: 96px; height: 96px }</style>"
            + icons.SIGN.read_text(encoding="utf-8")
        )
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    mine = icons.drawn(96, "white", 0.0).convert("RGB")
    assert max(ImageStat.Stat(ImageChops.difference(mine, shot)).mean) < 1.5


@pytest.mark.parametrize("body", ["<text>x</text>", '<path d="M0 0Q1 1 2 2" stroke="red" stroke-width="1"/>'])
def test_a_sign_that_cannot_be_drawn_is_an_error(icons, tmp_path, body):
    sign = tmp_path / "sign.svg"
    sign.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4">{body}</svg>')
    with pytest.raises(ValueError, match="is not drawn here"):
        icons.drawn(8, None, 0.0, sign)
