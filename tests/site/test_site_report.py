"""The site's report fails where a target is missed, and axe-core finds nothing of the course's on any page."""

import copy

import pytest
import site_report
from built_site import MODES, lacking, look, settled, toc_pages, watched

pytestmark = pytest.mark.site

WHEN = {"when": "2026-01-01T00:00:00+00:00", "served": "gzip", "load": (0.0, 0.0, 0.0)}
SCORES = {"performance": 100, "accessibility": 100, "best-practices": 100, "seo": 100}
RUN = {"failed": [], "tbt": 10, "fcp": 100, "lcp": 100, "cls": 0, "benchmark": 1000, "load": 0, "runs": 1}
GOOD = {
    **WHEN,
    "weight": {"book/lstm": {"bytes": {}, "total": 250_000, "requests": 9, "foreign": []}},
    "blocking": {"book/lstm": {"tbt": 10, "tasks": 0, "longest": 0, "doing": "", "elements": 9}},
    "theme": {"light": [], "dark": []},
    "axe": {"book/lstm": {scheme: {"ours": [], "theme": [["region", "p"]]} for scheme in ("light", "dark")}},
    "lighthouse": {"book/lstm": {form: {**RUN, "scores": SCORES} for form in ("desktop", "phone")}},
    "links": {"links": 9, "pages": 1, "dead": {}},
    "alt": {"images": 1, "problems": []},
}


def told(monkeypatch, tmp_path, report) -> tuple[int, str]:
    """What the command gives for a report, and what it wrote."""
    (tmp_path / "index.html").write_text("x", encoding="utf-8")
    monkeypatch.setattr(site_report, "measure", lambda *_: report)
    monkeypatch.setattr(site_report, "WORK", tmp_path / "work")
    given = site_report.main(["--site", str(tmp_path)])
    return given, (tmp_path / "work" / "report.md").read_text(encoding="utf-8")


def test_a_report_that_misses_nothing_passes(monkeypatch, tmp_path):
    given, written = told(monkeypatch, tmp_path, GOOD)
    assert given == 0
    assert "Nothing: every target is met." in written


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("weight", "book/lstm", "total"), 600_000, "600 KB at first load, more than 500"),
        (("weight", "book/lstm", "foreign"), ["https://x.example/a.js"], "asks for https://x.example/a.js"),
        (("blocking", "book/lstm", "tbt"), 300, "blocked for 300 ms"),
        (("axe", "book/lstm", "dark", "ours"), [["label", "input"]], "dark: label at input"),
        (("links", "dead"), {"book/lstm": ["<a> gone.html"]}, "book/lstm: <a> gone.html"),
        (("alt", "problems"), ["book/lstm: no alt text"], "book/lstm: no alt text"),
        (
            ("lighthouse", "book/lstm", "phone", "scores"),
            {**SCORES, "performance": 59},
            "performance phone 59, expected 60",
        ),
        (("lighthouse", "book/lstm", "phone", "tbt"), 201, "total blocking time 201 ms"),
    ],
)
def test_a_report_that_misses_a_target_fails(monkeypatch, tmp_path, where, value, words):
    report = copy.deepcopy(GOOD)
    part = report
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    given, written = told(monkeypatch, tmp_path, report)
    assert given == 1
    assert words in written.split("## Missed")[1]


# --- axe-core ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def axe() -> str:
    try:
        return site_report.tool("axe-core", "axe.min.js").read_text(encoding="utf-8")
    except SystemExit:
        lacking("axe-core is not there and cannot be fetched with npm")


@pytest.fixture(scope="module")
def themes(chromium, axe) -> set[tuple[str, str]]:
    """What a bare page of the theme breaks, and the theme's pages beside it; by rule and selector."""
    bare = site_report.bare_site()
    names = ["index", *(name for name in site_report.BESIDE if (bare / f"{name}.html").exists())]
    with site_report.hosted(bare) as url:
        return {
            one
            for name in names
            for scheme, width in MODES
            for one in site_report.findings(chromium, f"{url}/{name}.html", axe, scheme, width)
        }


def look_at(page, axe, scheme: str, width: int) -> set[tuple[str, str]]:
    """What axe-core finds on a page that is open, in one of the modes."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    look(page, "redrawn")
    if not page.evaluate("() => 'axe' in globalThis"):
        page.evaluate(axe)
    return site_report.violations(page)


@pytest.mark.browser
@pytest.mark.long
def test_axe_finds_nothing_of_ours_on_any_page(chromium, site, axe, themes):
    """On a telephone in the dark and in a wide window in the light; `make site-report` looks at both colours in the wide one."""
    found = {}
    with site_report.hosted(site) as url:
        context, _ = watched(chromium)
        for name in (*toc_pages(), *site_report.BESIDE):
            page = context.new_page()
            page.route(f"{url}/{name}.html", site_report.stays)
            page.goto(f"{url}/{name}.html")
            settled(page)
            site_report.laid_open(page)
            # A formula's drawing is hidden from screen readers, and has the colour of its text: a letter of it will do here.
            page.evaluate(
                "() => document.querySelectorAll('.katex-html').forEach((one) => one.replaceChildren('x'))"
            )
            for scheme, width in (("dark", 390), ("light", 1280)):
                if ours := look_at(page, axe, scheme, width) - themes:
                    found[name, scheme, width] = sorted(ours)
            page.close()
        context.close()
    assert found == {}


@pytest.mark.browser
@pytest.mark.long
def test_axe_finds_nothing_of_ours_where_verdicts_are_shown(chromium, site, axe, themes):
    """'Try it' as a reader sees it who has checked two cells, one of them wrong."""
    if not (site / "_static" / "pyodide").is_dir():
        lacking("the site was built without Pyodide's core; with a connection: make site")
    update = "def {name}(z, n, h_prev):\n    print(z)\n    return {result}\n"
    found = {}
    with site_report.hosted(site) as url:
        context, _ = watched(chromium)
        page = context.new_page()
        page.goto(f"{url}/book/try-it.html")
        for name, result, kind in (
            ("gru_update", "(1 - z) * h_prev + z * n", "right"),
            ("gru_candidate", "n", "wrong"),
        ):
            page.locator(f"#try-{name}").fill(update.format(name=name, result=result))
            page.get_by_role("button", name=f"Check {name}", exact=True).click()
            page.locator(f".try-it:has(#try-{name}) .try-it-{kind}").wait_for(timeout=120_000)
        site_report.laid_open(page)
        for scheme, width in MODES:
            if ours := look_at(page, axe, scheme, width) - themes:
                found[scheme, width] = sorted(ours)
        context.close()
    assert found == {}


@pytest.mark.browser
@pytest.mark.long
def test_axe_finds_what_is_wrong(chromium, axe, tmp_path):
    """The control: a page with a faint word, and a field without a name."""
    (tmp_path / "bad.html").write_text(
        '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><p style="color: #bbb">faint</p><input></main>',
        encoding="utf-8",
    )
    with site_report.hosted(tmp_path) as url:
        found = site_report.findings(chromium, f"{url}/bad.html", axe, "light")
    assert {rule for rule, _ in found} == {"color-contrast", "label"}
