"""Every page of the site in a reader's browser: nothing from elsewhere, nothing broken, nothing too wide."""

import shutil
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest
from built_site import MODES, Visit, served, toc_pages, visit

pytestmark = [pytest.mark.site, pytest.mark.browser]

# Console messages that may stay, each with its reason. There are none.
JUSTIFIED: tuple[str, ...] = ()


# Pages that the contents do not name, and that a reader comes to all the same.
MADE = ["search", "search.html?q=chrono", "genindex", "py-modindex"]


@pytest.fixture(scope="module", params=[*toc_pages(), *MADE])
def shown(request, chromium, address) -> Visit:
    name, _, query = request.param.partition(".html")
    return visit(chromium, f"{address}/{name}.html{query}")


def test_no_request_leaves_localhost(shown):
    assert shown.traffic.foreign == []


def test_every_request_is_answered(shown):
    assert shown.traffic.broken == []


def test_console_is_silent(shown):
    assert [
        said for said in shown.traffic.complaints if not any(allowed in said for allowed in JUSTIFIED)
    ] == []


def test_mathematics_is_rendered(shown):
    assert shown.math == []


def test_images_load(shown):
    assert [image["src"] for image in shown.images if image["width"] == 0] == []


def alt_problem(image: dict) -> str | None:
    """What is wrong with an image's alt text, if anything is."""
    alt, name = image["alt"], PurePosixPath(urlsplit(image["src"]).path)
    if alt is None:
        return "no alt text"
    if not alt.strip():
        return None if image["decoration"] else "empty alt text on an image that is not marked as decoration"
    if alt.strip() in (image["src"], name.name, name.stem) or PurePosixPath(alt.strip()).suffix in (
        ".svg",
        ".png",
        ".jpg",
        ".gif",
        ".webp",
    ):
        return f"a file name as alt text: {alt}"
    # A picture that carries an argument needs a sentence or more; a logo needs its name.
    if "_images" in name.parts and len(alt.split()) < 8:
        return f"alt text that cannot stand for a figure: {alt}"
    return None


def test_images_have_alt_text(shown):
    assert {image["src"]: problem for image in shown.images if (problem := alt_problem(image))} == {}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode[0]}-{mode[1]}px")
def test_nothing_is_wider_than_the_window(shown, mode):
    assert shown.schemes[mode] == mode[0], "the page did not follow the system's colour scheme"
    assert shown.wide[mode] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(shown, scheme):
    assert shown.faint[scheme] == []


def test_a_broken_page_is_found_out(chromium, site, tmp_path):
    """Each check above finds the fault that it is there for, on a page that has them all."""
    shutil.copy(Path(__file__).with_name("broken.html"), tmp_path)
    with served(tmp_path) as url:
        found = visit(chromium, f"{url}/broken.html")
    assert found.traffic.foreign == ["https://example.org/library.js"]
    assert sorted(line.split(url)[1] for line in found.traffic.broken) == ["/_images/gone.png", "/missing.js"]
    complaints = "\n".join(found.traffic.complaints)
    assert "exception: " in complaints
    assert "warning: something is deprecated" in complaints
    assert found.math_nodes == 5
    kinds = sorted(line.split(":")[0] for line in found.math)
    assert kinds == [
        "TeX in the text",
        "error",
        "not rendered",
        "not rendered",
        "nothing to read out",
        "seen twice, the style sheet is missing",
    ]
    assert [image["width"] for image in found.images] == [0, 1]
    assert [bool(alt_problem(image)) for image in found.images] == [True, True]
    assert [len(found.wide[mode]) for mode in MODES] == [0, 0, 2, 2]
    assert [len(found.faint[scheme]) for scheme in ("light", "dark")] == [1, 1]
