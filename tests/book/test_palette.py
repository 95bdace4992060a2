"""The one palette: it stands out from both grounds (WCAG 2.1, 1.4.3), and its colours stay apart for every kind of eye."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from pages import BOOK

from refcells.figures import style

colorspacious = pytest.importorskip("colorspacious")
STATIC = BOOK / "_static"

# Lines, filled boxes with white text in them, and labels.
COLOURS = {**style.COLOURS, "ink": style.INK, "muted": style.MUTED}


def rgb(code: str) -> np.ndarray:
    """Red, green and blue from 0 to 1."""
    return np.array([int(code[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """WCAG 2.1's contrast ratio."""

    def luminance(colour: np.ndarray) -> float:
        linear = np.where(colour <= 0.03928, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def filtered(colour: np.ndarray) -> np.ndarray:
    """What dark mode's filter in course.css makes of a figure's colour.

    Source: W3C, Filter Effects Module Level 1, sections 8.1.6 to 8.1.8 (the matrices of saturate, hue-rotate and invert).
    """
    css = (STATIC / "course.css").read_text(encoding="utf-8")
    rule = re.search(r'data-theme="dark"\] img\.course-figure \{ filter: ([^;]+);', css)[1]
    steps = re.findall(r"([\w-]+)\(([\d.]+)(?:deg)?\)", rule)
    assert {name for name, _ in steps} <= {"invert", "hue-rotate", "saturate"}
    grey = np.tile([0.213, 0.715, 0.072], (3, 1))
    sine = np.array([[-0.213, -0.715, 0.928], [0.143, 0.140, -0.283], [-0.787, 0.715, 0.072]])
    for name, value in steps:
        amount = float(value)
        if name == "invert":
            colour = colour * (1 - 2 * amount) + amount
        elif name == "saturate":
            colour = (grey + amount * (np.eye(3) - grey)) @ colour
        else:
            turn = np.radians(amount)
            colour = (grey + np.cos(turn) * (np.eye(3) - grey) + np.sin(turn) * sine) @ colour
        colour = np.clip(colour, 0, 1)
    return colour


def dark_ground() -> np.ndarray:
    """The theme's ground in dark mode."""
    theme = pytest.importorskip("pydata_sphinx_theme")
    path = "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css"
    sheet = (Path(theme.__file__).parent / path).read_text(encoding="utf-8")
    found = {code for code in re.findall(r"--pst-color-background:(#[0-9a-f]{6})\b", sheet)}
    assert len(found) == 1, f"expected one dark ground in the theme's sheet, found {found}"
    return rgb(found.pop())


MODES = {"light": lambda colour: colour, "dark": filtered}


@pytest.mark.parametrize("name", COLOURS)
def test_colours_of_figures_stand_out_from_both_grounds(name):
    colour = rgb(COLOURS[name])
    assert contrast(colour, np.ones(3)) >= 4.5
    assert contrast(filtered(colour), dark_ground()) >= 4.5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("eye", [None, "protanomaly", "deuteranomaly", "tritanomaly"])
def test_colours_stay_apart_for_every_kind_of_eye(mode, eye):
    """At least 8 in CAM02-UCS, eight times what is just noticed, with a whole kind of cone missing (Machado et al., 2009)."""
    seen = {name: MODES[mode](rgb(code)) for name, code in style.COLOURS.items()}
    if eye:
        space = {"name": "sRGB1+CVD", "cvd_type": eye, "severity": 100}
        seen = {
            name: np.clip(colorspacious.cspace_convert(colour, space, "sRGB1"), 0, 1)
            for name, colour in seen.items()
        }
    close = {
        pair: distance
        for pair in itertools.combinations(seen, 2)
        if (distance := colorspacious.deltaE(seen[pair[0]], seen[pair[1]], input_space="sRGB1")) < 8
    }
    assert close == {}


def variables(selector: str, sheet: str = "playground.css") -> dict[str, str]:
    """The colours that a rule of a style sheet names."""
    css = (STATIC / sheet).read_text(encoding="utf-8")
    rule = re.search(rf"^{re.escape(selector)} \{{([^}}]*)\}}", css, re.M)[1]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", rule))


ROLES = {"keep": "f", "write": "i", "content": "g", "show": "o"}


def test_playgrounds_have_the_colours_of_the_figures():
    light = variables(".playground")
    assert {role: light[role] for role in ROLES} == {role: style.GATES[gate] for role, gate in ROLES.items()}
    dark = variables('html[data-theme="dark"] .playground')
    for role in ROLES:
        np.testing.assert_allclose(rgb(dark[role]), filtered(rgb(light[role])), atol=1.01 / 255)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_and_lines_of_the_site_stand_out(mode):
    """The site's own colours, on the page's ground and on that of its boxes."""
    named = variables(f'html[data-theme="{mode}"]', "course.css")
    grounds = [np.ones(3) if mode == "light" else dark_ground(), rgb(named["course-soft"])]
    play = variables(".playground" if mode == "light" else 'html[data-theme="dark"] .playground')
    for name in ("pst-color-primary", "pst-color-link", "course-state"):
        assert min(contrast(rgb(named[name]), ground) for ground in grounds) >= 4.5, name
    for role in ROLES:
        assert min(contrast(rgb(play[role]), ground) for ground in grounds) >= 4.5, role


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_for_lost_readers_stands_out(scheme):
    text = (BOOK / "_ext" / "page_head.py").read_text(encoding="utf-8")
    found = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", line)) for line in re.findall(r":root \{\{.*", text)]
    assert len(found) == 2
    colours = found[0] if scheme == "light" else {**found[0], **found[1]}
    ground = rgb(colours["ground"])
    assert contrast(rgb(colours["ink"]), ground) >= 4.5
    assert contrast(rgb(colours["link"]), ground) >= 4.5
    # Lines of a drawing: success criterion 1.4.11.
    assert contrast(rgb(colours["cell"]), ground) >= 3
    assert contrast(rgb(colours["state"]), ground) >= 3
