"""A student's HTML in the pages of nbgrader: nothing of it runs, and words, tables and pictures stay."""

import os
import shutil
import time
from pathlib import Path

import nbgrader.server_extensions.formgrader
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from traitlets.config import Config

from classroom.course import ROOT, configuration
from classroom.safe_html import cleaned

FORMGRADER = Path(nbgrader.server_extensions.formgrader.__file__).parent
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
EVIL = (
    "<script>ran('script')</script><img src=x onerror=\"ran('img')\"><svg onload=\"ran('svg')\"></svg>"
    "<a href=\"javascript:ran('link')\">x</a><iframe srcdoc=\"<script>parent.ran('frame')</script>\"></iframe>"
    '<details open ontoggle="ran(\'details\')">d</details><form action="/formgrader/api"><button>b</button></form>'
    '<style>body { display: none }</style><p id="words-one-comment" style="position: fixed">p</p>'
)
WORDS = """# Why

An *answer* with $a<b$ and `x < y`.

|gate|value|
|----|-----|
|f   |0.7  |

![a sketch](attachment:sketch.png) [a paper](https://example.org/paper) [bad](javascript:ran(1))

"""


def notebook():
    shown = [
        {"text/html": f"{EVIL}<table><tr><th>1</th></tr></table>"},
        {"application/javascript": "ran('output')"},
        {
            "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg' onload='ran(1)'><script>ran(1)</script></svg>"
        },
        {"text/markdown": EVIL},
        {"text/latex": f"$x$ {EVIL}"},
        {"image/png": "\"><script>ran('png')</script>"},
        {"image/png": PNG},
        {"application/vnd.jupyter.widget-view+json": {"model_id": "</script><script>ran('widget')</script>"}},
    ]
    outputs = [new_output("display_data", data=data) for data in shown]
    # Templates write these without quotation marks.
    said = [
        {"image/png": {"width": "1 onerror=ran('width')", "height": 3}},
        {"filenames": {"image/png": "https://example.org/who-looks.png"}},
        {"isolated": True},
    ]
    outputs += [new_output("display_data", data={"image/png": PNG}, metadata=about) for about in said]
    outputs += [
        new_output("stream", name="stdout", text=EVIL),
        new_output("error", ename=EVIL, evalue=EVIL, traceback=[EVIL]),
    ]
    return new_notebook(
        cells=[
            new_markdown_cell(WORDS + EVIL, attachments={"sketch.png": {"image/png": PNG}}),
            new_raw_cell(EVIL),
            new_code_cell(
                f"x = 1  # {EVIL}", outputs=outputs, metadata={"tags": ['"><script>ran(1)</script>']}
            ),
        ],
        metadata={
            "language_info": {"name": "python"},
            "widgets": {
                "application/vnd.jupyter.widget-state+json": {
                    "state": "</script><script>ran('state')</script>"
                }
            },
        },
    )


def page(template, config):
    """A notebook as nbgrader shows it, by one of its templates."""
    settings = Config()
    settings.HTMLExporter.template_name = template
    settings.HTMLExporter.extra_template_basedirs = [str(FORMGRADER / "templates")]
    settings.HTMLExporter.extra_template_paths = [
        str(FORMGRADER / "static" / "node_modules" / "bootstrap" / "dist" / "css")
    ]
    settings.merge(config)
    about = {"index": 0, "total": 1, "base_url": "", "student": "ana", "submission_id": "1"}
    scores = {"score": 0, "max_score": 1, "comments": {}, "scores": {}, "late_penalty": 0}
    html, _ = HTMLExporter(config=settings).from_notebook_node(notebook(), {**about, "nbgrader": scores})
    return html


def ours():
    """What the course's nbgrader_config.py says of pages."""
    return Config(HTMLExporter=configuration(ROOT).HTMLExporter)


def running(html):
    """What could run, in words."""
    soup = BeautifulSoup(html, "html.parser")
    found = [str(script) for script in soup("script") if "ran(" in str(script.string)]
    for element in soup(True):
        for name, value in element.attrs.items():
            if "ran(" in str(value) and (name.startswith("on") or name in ("href", "srcdoc")):
                found.append(f"{element.name} {name}")
    return found


TEMPLATES = ("formgrade", "feedback")


@pytest.mark.filterwarnings("ignore:Your element with mimetype")
@pytest.mark.parametrize("template", TEMPLATES)
def test_nothing_of_a_students_html_could_run(template):
    assert len(running(page(template, Config()))) > 10  # nbgrader alone shows it all
    html = page(template, ours())
    assert running(html) == []
    soup = BeautifulSoup(html, "html.parser")
    assert soup.find(id="words-one-comment") is None
    assert "who-looks" not in html
    assert soup.find("img", height="3") is not None
    inside = soup.select_one("#notebook-container")
    assert [element.name for element in inside(["iframe", "form", "style", "script", "svg"])] == []


@pytest.mark.filterwarnings("ignore:Your element with mimetype")
@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_student_writes_can_be_read(template):
    soup = BeautifulSoup(page(template, ours()), "html.parser").select_one("#notebook-container")
    assert soup.h1.get_text().startswith("Why")
    assert soup.em.get_text() == "answer"
    assert "$a<b$" in soup.get_text()
    assert [cell.get_text() for cell in soup.select("td")][:2] == ["f", "0.7"]
    assert soup.find("img", alt="a sketch")["src"] == f"data:image/png;base64,{PNG}"
    assert soup.find("a", string="a paper")["href"] == "https://example.org/paper"
    assert soup.select(".output_png img")[-1]["src"].endswith(PNG)
    assert soup.select_one(".highlight .o").get_text() == "="  # code has its colours
    assert "<p>" not in soup.get_text().replace(EVIL, "")


def served(html):
    """What answers a browser's request with a page."""
    return lambda route: route.fulfill(body=html, content_type="text/html")


@pytest.mark.filterwarnings("ignore:Your element with mimetype")
@pytest.mark.browser
@pytest.mark.parametrize("template", TEMPLATES)
def test_nothing_runs_in_a_browser(template):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    binary = shutil.which("chromium")
    if binary is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("chromium is not installed")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        told = []
        for config in (Config(), ours()):
            opened = browser.new_page()
            opened.add_init_script("window.happened = []; window.ran = (what) => happened.push(what);")
            opened.route("**/*", lambda route: route.abort())
            opened.route("**/graded", served(page(template, config)))
            opened.goto("http://course.test/graded", wait_until="domcontentloaded")
            began = time.monotonic()
            if not told:
                opened.wait_for_function("['script', 'img', 'svg'].every((one) => happened.includes(one))")
                patience = 1000 * (time.monotonic() - began)
            else:
                opened.wait_for_timeout(300 + 2 * patience)
            told.append(set(opened.evaluate("happened")))
        browser.close()
    assert {"script", "img", "svg"} <= told[0]
    assert told[1] == set()


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("<p>a < b &amp; c</p>", "<p>a &lt; b &amp; c</p>"),
        ("<SCRIPT>x</SCRIPT>text", "text"),
        ("<scr<script>x</script>ipt>y", None),
        ('<img src="https://example.org/who-looks.png" alt="far">', '<img alt="far">'),
        ("A <title> is <object>, a <script> not.", "A  is , a  not."),
        ('<div class="full-credit">m</div>', "<div>m</div>"),
        ('<span class="k score">m</span>', "<span>m</span>"),
        ('<span class="k">m</span>', '<span class="k">m</span>'),
        ('<img src="data:text/html;base64,AAAA" alt="page">', '<img alt="page">'),
        ('<a href=" JavaScript:x">l</a>', "<a>l</a>"),
        (
            '<table><tr><td colspan="2" onclick="ran(1)">1</td></tr></table>',
            '<table><tbody><tr><td colspan="2">1</td></tr></tbody></table>',
        ),
        (b"<b>bytes</b>", "<b>bytes</b>"),
    ],
)
def test_html_is_cleaned(html, left):
    came = cleaned(html)
    assert running(came) == []
    assert "<script" not in came.lower()
    if left is not None:
        assert came == left
