"""The pages that an instructor opens from disk about a class: nothing from elsewhere, readable in every mode."""

import pytest
import site_report
from built_site import MODES, watched

from classroom.class_report import ClassNumbers, report_page
from classroom.class_report.numbers import (
    Discrimination,
    Failure,
    Misconception,
    Notebook,
    Question,
    Submission,
)
from classroom.similar import Found, Match, Pair, similar_page
from classroom.similar.compare import Answer

pytestmark = pytest.mark.browser

STUDENTS = ["ann", "ben", "cem-with-a-name-as-long-as-learning-platforms-make-them-2026"]


def report() -> str:
    rows = [
        Submission("ann", "one", "graded", 5.0, 6.0, 0, 2.5, []),
        Submission("ben", "one", "repaired", 2.0, 6.0, 1, 40.0, ["a cell was split"], slow=True),
        Submission(STUDENTS[2], "one", "failed", 0.0, 6.0, 0, 0.1, ["the file is empty"]),
    ]
    asked = [
        Question(
            "one",
            "test-a",
            "Exercise 1",
            False,
            4.0,
            {"ann": 1.0, "ben": 0.5},
            0,
            Discrimination(0.5, 0.1, 0.8),
        ),
        Question(
            "one", "words", "In your own words", True, 2.0, {"ann": 0.5}, 1, Discrimination(why="some wait")
        ),
    ]
    numbers = ClassNumbers("small", STUDENTS, rows, asked)
    numbers.misconceptions = [Misconception("swapped", "two are swapped.", ("ben",), (("one", "test-a", 1),))]
    numbers.failures = [Failure("one", "test-a", "h differs\nin every case", ("ann",))]
    numbers.notebooks = [Notebook("one", (2.5, 40.0))]
    numbers.totals, numbers.total_most, numbers.left_out = {"ann": 4.0, "ben": 2.0}, 4.0, asked[1:]
    return report_page(numbers)


def similar() -> str:
    long = "def walk(x):\n    return [" + "a_long_name, " * 20 + "x]  # and why"
    left, right = Answer("ann", "walk", long), Answer("ben", "walk", long.replace("a_long", "my_long"))
    match = Match("walk", left, right, 0.9, 50, ((0, 40), (60, 90)), ((0, 40), (60, 90)))
    pair = Pair("one", "ann", "ben", False, (match,))
    shared = [("one", "walk", 1, 2, True)]
    return similar_page(
        Found("small", 3, [pair], [], shared, [("cem", "one", "the file is empty")], 0.75, 0.4)
    )


@pytest.fixture(scope="module", params=[report, similar], ids=["report", "similar"])
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(request.param(), encoding="utf-8")
    return path


@pytest.mark.parametrize(("scheme", "width"), MODES)
def test_page_opens_from_disk_and_fits_the_window(chromium, file, scheme, width):
    context, traffic = watched(chromium, viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert (traffic.foreign, traffic.broken, traffic.complaints) == ([], [], [])
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        # With the keyboard one reaches the content first, and every table that may have to be scrolled.
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#content"
        assert page.locator(".scroll:not([tabindex='0'])").count() == 0
    finally:
        context.close()


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), MODES)
def test_axe_finds_nothing(chromium, file, scheme, width):
    axe = site_report.tool("axe-core", "axe.min.js").read_text(encoding="utf-8")
    # The page's policy lets no script run; here one has to.
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        page.evaluate(axe)
        found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
    finally:
        context.close()
    assert [(one["id"], node["target"]) for one in found for node in one["nodes"]] == []
