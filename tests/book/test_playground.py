"""The unit with sliders computes what refcells.scalar computes."""

import math
import os
import re
from pathlib import Path

import pytest
from pages import BOOK

from refcells import scalar

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def page():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        # On a build machine a missing browser is a fault, not a reason to look away.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{CHROMIUM} is not installed")
    box = re.search(r'<div class="lstm-playground".*?\n</div>', (BOOK / "lstm.md").read_text("utf-8"), re.S)
    script = (BOOK / "_static" / "playground.js").read_text("utf-8")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = browser.new_page()
        page.set_content(f"<!doctype html><script>{script}</script><main>{box[0]}</main>")
        page.wait_for_selector(".lstm-playground:not([hidden])")
        yield page
        browser.close()


def turn(page, **values):
    for name, value in values.items():
        slider = page.locator(f'input[name="{name}"]')
        slider.evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", str(value)
        )


def shown(page, name):
    return float(page.locator(f'[data-show="{name}"]').inner_text().replace("−", "-"))


@pytest.mark.parametrize(
    "at",
    [
        {"a_i": 0.2, "a_f": 1.0, "a_g": 0.9, "a_o": 0.7, "c_prev": 0.8},
        {"a_i": -8, "a_f": 8, "a_g": -3, "a_o": -8, "c_prev": -4.2},
        {"a_i": 7.5, "a_f": -6.1, "a_g": 2.4, "a_o": 3.3, "c_prev": 5},
    ],
)
def test_it_is_the_same_cell(page, at):
    turn(page, **at)
    i, f, o = (scalar.sigmoid(at[name]) for name in ("a_i", "a_f", "a_o"))
    g = math.tanh(at["a_g"])
    h, c = scalar.lstm_update(i, f, g, o, at["c_prev"])
    for name, value in {"i": i, "f": f, "g": g, "o": o, "h": h, "c": c}.items():
        assert shown(page, name) == pytest.approx(value, abs=5.1e-5), name


@pytest.mark.parametrize(
    ("button", "kept", "written"), [("copy", 1, 0), ("replace", 0, 1), ("add", 1, 1), ("hide", 1, 0)]
)
def test_the_buttons_do_what_they_say(page, button, kept, written):
    page.get_by_role("button", name="as above", exact=True).click()
    page.get_by_role("button", name=button, exact=True).click()
    assert shown(page, "c") == pytest.approx(kept * 0.8 + written * math.tanh(0.9), abs=1e-3)
    assert (abs(shown(page, "h")) < 1e-3) == (button == "hide")


def test_next_step_hands_the_cell_state_on(page):
    page.get_by_role("button", name="as above", exact=True).click()
    c = shown(page, "c")
    page.get_by_role("button", name=re.compile("next step")).click()
    assert shown(page, "c_prev") == pytest.approx(c, abs=0.051)  # the slider moves in tenths


def test_every_slider_has_a_label(page):
    for slider in page.locator("input[type=range]").all():
        assert page.locator(f'label[for="{slider.get_attribute("id")}"]').count() == 1
