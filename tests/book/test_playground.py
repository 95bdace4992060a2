"""The units with sliders compute what refcells.scalar computes, can be worked by keyboard, and leave no reader out."""

import json
import math
import os
import re
import shutil
from pathlib import Path

import pytest
from pages import BOOK, CHROMIUM_FLAGS

from refcells import scalar

pytestmark = pytest.mark.browser

SCRIPT = (BOOK / "_static" / "playground.js").read_text("utf-8")
STYLE = (BOOK / "_static" / "playground.css").read_text("utf-8")
# A factor that was measured has more digits than the slider.
MARKS = [["measured", 0.5303798], ["slow", 0.55], ["whole", 1.0], ["growing", 1.1]]

# What the tick does: the weights that the script gives a unit, written here a second time.
STILL = {"lstm": ((0.0,) * 4, (0.0,) * 4), "gru": ((0.0,) * 3, (0.0, 0.0, -1.5))}
ACTING = {
    "lstm": ((1.0, -0.5, 1.0, 0.5), (-0.5, 1.0, 0.5, 0.5)),
    "gru": ((0.5, 1.0, 1.0), (-0.5, -1.0, -1.5)),
}
START = {
    "lstm": {"x": 1.2, "h": 0.5, "c": 0.8, "f": 1.0, "i": 0.2, "o": 0.7, "g": 0.9},
    "gru": {"x": 1.0, "h": 0.8, "z": 0.8, "r": -0.3, "n": 0.9},
}


def markup(name):
    """A playground's markup, as it stands on its page."""
    found = re.search(
        rf'<div class="playground" data-playground="{name}".*?</div>',
        (BOOK / PAGES[name]).read_text("utf-8"),
        re.S,
    )
    return found[0].replace("{html.escape(json.dumps(marks))}", json.dumps(MARKS).replace('"', "&quot;"))


PAGES = {"lstm": "lstm.md", "gru": "gru.md", "highway": "bptt.md"}


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    binary = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(binary).exists():
        # On a build machine a missing browser is a fault, not a reason to look away.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{binary} is not installed")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=binary, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def opened(chromium, name, **options):
    page = chromium.new_page(**options)
    page.set_default_timeout(10_000)
    page.set_content(
        f'<!doctype html><html lang="en" data-theme="light"><title>t</title><style>{STYLE}</style>'
        f"<script>{SCRIPT}</script><main>{markup(name)}</main>"
    )
    if options.get("java_script_enabled", True):
        page.wait_for_selector(".playground:not([hidden])")
    return page


@pytest.fixture(scope="module")
def unit(chromium):
    """Gives the page of a playground, one for all tests, as it is at the start."""
    kept = {}

    def give(name):
        if name not in kept:
            kept[name] = opened(chromium, name)
        page = kept[name]
        if name != "highway":
            page.get_by_role("button", name="start again").click()
            page.get_by_role("button", name="as in the text").click()
        return page

    return give


def turn(page, **values):
    for name, value in values.items():
        page.locator(f'input[name="{name}"]').evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", str(value)
        )


def exact(page, key, by="value"):
    """A number of the page with all of its digits."""
    return float(page.locator(f'data[data-{by}="{key}"]').get_attribute("value"))


def expected(name, at, acting):
    """The step that Python computes for the sliders, as a dict of everything the page shows."""
    w_x, w_h = (ACTING if acting else STILL)[name]
    if name == "lstm":
        b = [at[k] for k in "ifgo"]
        gates = scalar.lstm_gates(at["x"], at["h"], w_x, w_h, b)
        h, c = scalar.lstm_step(at["x"], at["h"], at["c"], w_x, w_h, b)
        return dict(zip("ifgo", gates, strict=True)) | {"new h": h, "new c": c}
    b = [at[k] for k in "rzn"]
    r, z = scalar.gru_gates(at["x"], at["h"], w_x, w_h, b)
    n = scalar.gru_candidate(at["x"], at["h"], r, w_x, w_h, b)
    return {"r": r, "z": z, "n": n, "new h": scalar.gru_step(at["x"], at["h"], w_x, w_h, b)}


@pytest.mark.parametrize("acting", [False, True], ids=["still", "acting"])
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("lstm", {}),
        ("lstm", {"x": -2.3, "h": -0.9, "c": -4.2, "f": 8, "i": -8, "g": -3, "o": -8}),
        ("lstm", {"x": 0.1, "h": 1, "c": 5, "f": -6.1, "i": 7.5, "g": 2.4, "o": 3.3}),
        ("gru", {}),
        ("gru", {"x": -2.3, "h": -0.9, "z": -7.9, "r": 8, "n": 3}),
        ("gru", {"x": 3, "h": 1, "z": 6.1, "r": -4.4, "n": -2.7}),
    ],
)
def test_it_is_the_same_cell(unit, name, at, acting):
    page = unit(name)
    turn(page, **at)
    if acting:
        page.get_by_role("checkbox").check()
    for key, value in expected(name, START[name] | at, acting).items():
        assert exact(page, key) == pytest.approx(value, rel=0, abs=1e-12), key


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_it_starts_as_the_text_does(unit, name):
    page = unit(name)
    for key, value in START[name].items():
        assert exact(page, key, "at") == value
        assert float(page.locator(f'input[name="{key}"]').input_value()) == value
    # The numbers that the chapters work out by hand.
    shown = page.locator(".pg-equations").inner_text()
    for piece in {
        "lstm": ["σ(1.0) = 0.7311", "0.7311 × 0.8000 + 0.5498 × 0.7163", "= 0.9787", "= 0.5028"],
        "gru": [
            "σ(0.8) = 0.6900",
            "tanh(−1.5 × 0.4256 × 0.8000 + 0.9)",
            "0.3100 × 0.8000 + 0.6900 × 0.3708",
        ],
    }[name]:
        assert piece in shown


@pytest.mark.parametrize("acting", [False, True], ids=["still", "acting"])
@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_the_steps_are_a_walk(unit, name, acting):
    """Six steps are refcells' own walk over the inputs that the page shows; the states are handed on unrounded."""
    page = unit(name)
    if acting:
        page.get_by_role("checkbox").check()
    xs = [exact(page, f"x {k}", "step") for k in range(1, 7)]
    assert len(set(xs)) > 3
    step = page.get_by_role("button", name="next step")
    for _ in xs:
        step.click()
    assert step.is_disabled()
    w_x, w_h = (ACTING if acting else STILL)[name]
    at = START[name]
    if name == "lstm":
        hs, cs = scalar.lstm_forward(xs, w_x, w_h, [at[k] for k in "ifgo"], h0=at["h"], c0=at["c"])
        walked = {"h": hs, "c": cs}
    else:
        walked = {"h": scalar.gru_forward(xs, w_x, w_h, [at[k] for k in "rzn"], h0=at["h"])}
    for state, values in walked.items():
        came = [exact(page, f"{state} {k}", "step") for k in range(1, 7)]
        assert came == pytest.approx(values, rel=0, abs=1e-12)


def test_a_step_takes_the_input_that_the_reader_sets(unit):
    page = unit("lstm")
    page.get_by_role("button", name="next step").click()
    turn(page, x=2.5)
    assert exact(page, "x 2", "step") == 2.5
    page.get_by_role("button", name="next step").click()
    assert exact(page, "x 2", "step") == 2.5
    assert exact(page, "x", "at") == 0.3


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_as_in_the_text_begins_anew(chromium, name):
    """Numbers and walk alike, by that button alone."""
    page = opened(chromium, name)
    start = page.evaluate("[...document.querySelectorAll('data')].map((d) => d.value).join()")
    page.get_by_role("checkbox").check()
    turn(page, x=2.5)
    for _ in range(6):
        page.get_by_role("button", name="next step").click()
    page.get_by_role("button", name="as in the text").click()
    assert page.evaluate("[...document.querySelectorAll('data')].map((d) => d.value).join()") == start
    assert page.locator(".pg-steps > li.pg-ahead").count() == 6
    assert page.get_by_role("button", name="next step").is_enabled()
    assert not page.get_by_role("checkbox").is_checked()
    page.close()


@pytest.mark.parametrize(
    ("name", "button", "kept", "written", "shown"),
    [
        ("lstm", "copy", 1, 0, 1),
        ("lstm", "replace", 0, 1, 1),
        ("lstm", "add", 1, 1, 1),
        ("lstm", "hide", 1, 0, 0),
        ("gru", "copy", 1, 0, 1),
        ("gru", "replace", 0, 1, 1),
        ("gru", "start afresh", 0, 1, 1),
        ("gru", "half open", 0.5, 0.5, 1),
    ],
)
def test_the_buttons_do_what_they_say(unit, name, button, kept, written, shown):
    page = unit(name)
    page.get_by_role("button", name=button, exact=True).click()
    if name == "lstm":
        assert exact(page, "new c") == pytest.approx(kept * 0.8 + written * math.tanh(0.9), abs=1e-3)
        assert (abs(exact(page, "new h")) > 1e-3) == bool(shown)
    else:
        r = {"copy": scalar.sigmoid(-0.3), "replace": 1, "start afresh": 0, "half open": 0.5}[button]
        assert exact(page, "new h") == pytest.approx(
            kept * 0.8 + written * math.tanh(0.9 - 1.5 * r * 0.8), abs=1e-3
        )


@pytest.mark.parametrize(
    ("name", "slider", "colour"), [("lstm", "f", "keep"), ("lstm", "o", "show"), ("gru", "z", "write")]
)
def test_lines_are_as_wide_as_gates_are_open(unit, name, slider, colour):
    page = unit(name)
    widths = []
    for a in (-8, 0, 2, 8):
        turn(page, **{slider: a})
        widths.append(float(page.locator(f".pg-diagram .pg-{colour}").get_attribute("stroke-width")))
    assert widths == pytest.approx([10 * scalar.sigmoid(a) for a in (-8, 0, 2, 8)], abs=0.006)


@pytest.mark.parametrize(("factor", "steps"), [(0.8, 50), (0.55, 200), (1.2, 200), (0.999, 7), (1.0, 200)])
def test_what_is_left_of_a_gradient(unit, factor, steps):
    page = unit("highway")
    turn(page, factor=factor, steps=steps)
    assert exact(page, "left") == pytest.approx(factor**steps, rel=1e-12)
    if factor == 1:
        assert "stays whole" in page.locator(".pg-sum").inner_text()
    else:
        assert exact(page, "half") == pytest.approx(abs(math.log(0.5) / math.log(factor)), rel=1e-12)


def test_the_curve_is_the_logarithm(unit):
    """The end of the line that was walked lies where log10 of the share says, as long as it is in the picture."""
    page = unit("highway")
    turn(page, factor=0.9, steps=100)
    end = page.locator(".playground polyline.pg-content").get_attribute("points").split()[-1].split(",")
    top, one = (float(page.locator(f".pg-diagram line >> nth={k}").get_attribute("y1")) for k in (6, 4))
    decade = (one - top) / 6
    assert float(end[1]) == pytest.approx(one - 100 * math.log10(0.9) * decade, abs=1e-6)
    assert "left the picture" not in page.locator(".pg-sum").inner_text()
    turn(page, factor=0.7)
    assert "left the picture" in page.locator(".pg-sum").inner_text()


def test_named_factors_can_be_chosen(unit):
    page = unit("highway")
    turn(page, steps=10)
    for name, value in MARKS:
        page.get_by_role("button", name=f"{name}: {value:.3f}").click()
        assert exact(page, "left") == pytest.approx(round(value, 3) ** 10, rel=1e-12)


def test_what_is_shown_is_a_true_equation(chromium):
    """The factor with its digits, to the power, is the result with its digits: at the start and at every mark."""
    page = opened(chromium, "highway")
    superscript = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    for name, value in [(None, MARKS[0][1]), *MARKS]:
        if name:
            turn(page, steps=200)
            page.get_by_role("button", name=f"{name}: {value:.3f}").click()
        shown = page.locator(".pg-sum").inner_text().split(". ")[0]
        factor, steps, left = re.match(r"([\d.]+?)(50|200)\s*= (.*)$", shown).groups()
        mantissa, _, exponent = left.translate(superscript).partition(" × 10")
        digits = 4 if not exponent else len(mantissa.replace(".", ""))
        assert float(factor) == round(value, 3)
        assert float(mantissa) * 10 ** int(exponent or 0) == pytest.approx(
            float(factor) ** int(steps), rel=0.51 * 10 ** (1 - digits), abs=0
        ), shown
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_it_is_worked_by_keyboard_and_labelled(unit, name):
    page = unit(name)
    sliders = page.get_by_role("slider").all()
    assert len(sliders) == {"lstm": 7, "gru": 5, "highway": 2}[name]
    for slider in sliders:
        assert page.locator(f'label[for="{slider.get_attribute("id")}"]').inner_text().strip()
    first = sliders[0]
    before = float(first.input_value())
    first.press("ArrowRight")
    assert float(first.input_value()) > before
    # One Tab each, in the order of the page, and nothing that traps it.
    first.focus()
    names = []
    for _ in range(len(sliders) - 1):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.name"))
    assert names == [slider.get_attribute("name") for slider in sliders[1:]]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") in ("checkbox", "button")


@pytest.mark.parametrize("name", PAGES)
def test_it_is_silent_until_it_is_used(chromium, name):
    """A reader who opens the page wants its title read, not the numbers of a figure further down."""
    page = opened(chromium, name)
    page.wait_for_timeout(1000)
    assert page.get_by_role("status").text_content() == ""
    page.get_by_role("slider").first.press("ArrowRight")
    page.wait_for_function("document.querySelector('[role=status]').textContent")
    page.close()


def test_it_speaks_once_for_many_moves(unit):
    """A slider that is dragged does not make a screen reader read every value on its way."""
    page = unit("lstm")
    page.wait_for_timeout(800)
    page.evaluate(
        "window.said = []; new MutationObserver(() => said.push(1)).observe("
        "document.querySelector('[role=status]'), {childList: true})"
    )
    for a in range(10):
        turn(page, f=a / 2)
    page.wait_for_function("said.length > 0")
    assert page.evaluate("said.length") == 1
    assert page.get_by_role("status").inner_text().startswith("cell state 1.")


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_a_phone(chromium, name):
    page = opened(chromium, name, viewport={"width": 320, "height": 800}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    # A finger: on the last button that can be pressed at the start, and on the slider's far end.
    state = "[...document.querySelectorAll('data')].map((d) => d.value).join()"
    button = page.locator("button:enabled").nth(1)
    before = page.evaluate(state)
    button.tap()
    assert page.evaluate(state) != before
    slider = page.get_by_role("slider").first
    size = slider.bounding_box()
    before = page.evaluate(state)
    slider.tap(position={"x": 0.9 * size["width"], "y": size["height"] / 2})
    assert page.evaluate(state) != before
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_without_a_script_nothing_is_shown(chromium, name):
    page = opened(chromium, name, java_script_enabled=False)
    assert page.locator(".playground").count() == 1
    assert not page.locator(".playground").is_visible()
    page.close()
