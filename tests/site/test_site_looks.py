"""What a page looks like beyond its text: the first page's figure, the page for lost readers, print."""

import functools
import re
import threading
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from built_site import look, settled, watched
from test_site_links import begins

pytestmark = [pytest.mark.site, pytest.mark.browser]

STEPS = 8


@pytest.fixture
def opened(chromium):
    """Opens a window on an address, and closes what it opened."""
    contexts = []

    def open_(address, **options):
        context, traffic = watched(chromium, **{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(address)
        return page, traffic

    yield open_
    for context in contexts:
        context.close()


# --- the first page's figure ------------------------------------------------------------------------------------------


def dot(page) -> float:
    return float(page.locator(".course-hero .pulse").get_attribute("cx"))


def moves(page) -> bool:
    """Whether the dot is elsewhere after a while."""
    first = dot(page)
    page.wait_for_timeout(400)
    return dot(page) != first


def test_the_figure_moves_and_can_be_stopped(opened, address):
    page, traffic = opened(f"{address}/book/index.html", reduced_motion="no-preference")
    assert moves(page)
    page.get_by_role("button", name="Pause").click()
    assert not moves(page)
    page.get_by_role("button", name="Play").click()
    assert moves(page)
    assert traffic.complaints == []


def test_the_figure_rests_out_of_sight(opened, address):
    """A figure that nobody sees asks for no frames; back in the window it goes on."""
    page, _ = opened(f"{address}/book/index.html", reduced_motion="no-preference")
    assert moves(page)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_timeout(300)
    page.evaluate(
        "window.frames_ = 0; const ask = requestAnimationFrame;"
        "window.requestAnimationFrame = (what) => { frames_++; return ask(what); }; 0"
    )
    assert not moves(page)
    assert page.evaluate("frames_") == 0
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    assert moves(page)


def test_the_figure_rests_for_readers_who_want_less_motion(opened, address):
    page, _ = opened(f"{address}/book/index.html", reduced_motion="reduce")
    page.get_by_role("button", name="Play").wait_for()
    assert not moves(page)


def test_the_figure_follows_the_keyboard_and_shows_powers_of_the_gate(opened, address):
    page, _ = opened(f"{address}/book/index.html", reduced_motion="reduce")
    slider = page.get_by_role("slider", name=re.compile("Forget gate"))
    slider.focus()
    for key, gate in (("ArrowRight", 0.91), ("ArrowLeft", 0.90), ("Home", 0.5), ("End", 1.0)):
        slider.press(key)
        assert page.locator(".course-hero output").inner_text() == f"{gate:.2f}"
        left = [text.text_content() for text in page.locator(".course-hero [data-share]").all()]
        assert left == [
            "<1%" if 100 * gate**k < 1 else f"{int(100 * gate**k + 0.5)}%" for k in range(1, STEPS + 1)
        ]
        widths = [
            float(line.get_attribute("stroke-width"))
            for line in page.locator(".course-hero [data-left]").all()
        ]
        assert widths == pytest.approx([1 + 7 * gate**k for k in range(STEPS)], abs=0.006)
    page.locator('.course-hero [data-f="0.73"]').focus()
    page.keyboard.press("Enter")
    assert "A forget gate of 0.73 leaves" in page.locator(".course-hero-says").inner_text()


def test_the_figure_is_read_out_when_it_rests(opened, address):
    page, _ = opened(f"{address}/book/index.html", reduced_motion="reduce")
    spoken = page.locator(".course-hero-spoken")
    page.wait_for_timeout(1000)
    assert spoken.text_content() == ""
    page.evaluate(
        "window.said = []; new MutationObserver(() => said.push(1)).observe("
        "document.querySelector('.course-hero-spoken'), {childList: true})"
    )
    # All at once, as fast as an arrow key that is held down, on however slow a machine.
    page.get_by_role("slider", name=re.compile("Forget gate")).evaluate(
        "(slider) => { for (let k = 1; k <= 5; k++) { slider.value = 0.9 + k / 100;"
        " slider.dispatchEvent(new Event('input', { bubbles: true })); } }"
    )
    page.wait_for_function("said.length > 0")
    assert page.evaluate("said.length") == 1
    assert spoken.text_content().startswith("A forget gate of 0.95 leaves")
    assert page.locator(".course-hero [aria-live=polite]").count() == 0


@pytest.mark.parametrize("name", ["index", "lstm"])
def test_without_a_script_a_page_has_its_colours(opened, address, name):
    page, _ = opened(f"{address}/book/{name}.html", java_script_enabled=False)
    # Scripts are off for the page, not for whoever asks about it.
    colours = page.evaluate(
        "() => ['--pst-color-background', '--pst-color-text-base', '--pst-color-link', '--course-edge', '--course-soft']"
        ".map((name) => getComputedStyle(document.documentElement).getPropertyValue(name))"
    )
    assert all(colours), colours
    assert len(set(colours)) > 3
    if name == "index":
        cell = "getComputedStyle(document.querySelector('.course-hero .cell')).fill"
        line = "getComputedStyle(document.querySelector('.course-hero [data-left]')).stroke"
        assert page.evaluate(cell) != "rgb(0, 0, 0)"
        assert page.evaluate(line) not in ("none", "rgb(0, 0, 0)")


@pytest.mark.parametrize("name", ["lstm", "gru", "bptt"])
def test_a_playground_runs_on_its_page(opened, address, name):
    page, traffic = opened(f"{address}/book/{name}.html")
    box = page.locator(".playground:not([hidden])")
    box.wait_for()
    box.scroll_into_view_if_needed()
    assert box.is_visible()
    state = "[...document.querySelectorAll('.playground data')].map((d) => d.value).join()"
    before = page.evaluate(state)
    box.get_by_role("slider").first.press("ArrowRight")
    assert page.evaluate(state) != before
    assert traffic.complaints == []


def test_a_listing_in_a_box_can_be_scrolled_by_keyboard_once_it_is_open(opened, address):
    """Hidden it has another width, and may seem to fit."""
    page, _ = opened(f"{address}/book/answers/scalar_gru.html")
    box = page.locator(".admonition.dropdown").first
    box.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    box.locator(".admonition-title").click()
    wrong = (
        "() => [...document.querySelectorAll('.admonition.dropdown:not(.toggle-hidden) pre')]"
        ".filter((e) => (e.scrollWidth > e.clientWidth + 1) !== (e.tabIndex === 0)).length"
    )
    page.wait_for_function(f"({wrong})() === 0")
    assert page.evaluate("document.querySelector('.admonition.dropdown pre').tabIndex") == 0
    # A wider window needs no scrolling, a narrower one does.
    page.set_viewport_size({"width": 2400, "height": 900})
    page.wait_for_function("document.querySelector('.admonition.dropdown pre').tabIndex === -1")
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function("document.querySelector('.admonition.dropdown pre').tabIndex === 0")


def test_the_figure_is_there_without_a_script(opened, address):
    page, _ = opened(f"{address}/book/index.html", java_script_enabled=False)
    assert page.locator(".course-hero [data-share]").count() == STEPS
    assert not page.locator(".course-hero-controls").is_visible()
    assert "leaves 43% of the cell state after 8 steps" in page.locator(".course-hero-says").inner_text()


# --- the first address ------------------------------------------------------------------------------------------------


def test_the_sites_address_alone_is_a_page(opened, site, address):
    """Where it does not lead on at once, it can be read, and its link leads to the first page."""
    page, traffic = opened("about:blank")
    whole = (site / "index.html").read_text(encoding="utf-8")
    page.route(
        f"{address}/",
        lambda route: route.fulfill(
            body=re.sub(r'<meta http-equiv="refresh"[^>]*>', "", whole), content_type="text/html"
        ),
    )
    page.goto(f"{address}/")
    assert page.title() == "Learning to Remember"
    page.get_by_role("link", name="its first page").click()
    page.wait_for_url(f"{address}/book/index.html")
    assert traffic.complaints == []


# --- the page for lost readers ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def host(site, tmp_path_factory):
    """The site as `make serve` serves it; in the folder of the address that it was built for, if it was built for one."""
    from classroom.serve import Handler

    place, folder = begins(site.resolve() / "404.html").strip("/"), site.resolve()
    if place:
        folder = tmp_path_factory.mktemp("host")
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(site.resolve(), target_is_directory=True)
        (folder / "404.html").symlink_to(site.resolve() / "404.html")
    handler = functools.partial(
        type("Quiet", (Handler,), {"log_message": lambda *a: None}), directory=str(folder)
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{place}".rstrip("/")
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)


def test_a_lost_reader_without_scripts_has_links(opened, host):
    page, _ = opened(f"{host}/gone.html", java_script_enabled=False)
    root = urlsplit(host).path
    assert [link.get_attribute("href") for link in page.locator("a").all()] == [
        f"{root}/book/index.html",
        f"{root}/search.html",
    ]


def test_a_server_that_refuses_head_is_asked_otherwise(chromium, host):
    """The site may lie in a folder, and nothing but its list of pages says which."""
    context, _ = watched(chromium)
    page = context.new_page()

    def folder(route, request):
        if request.method == "HEAD":
            route.fulfill(status=405)
        elif request.url.endswith("/reader/objects.inv"):
            route.fulfill(status=200, body="x")
        else:
            route.fulfill(status=404)

    page.route("**/objects.inv", folder)

    def gone(route):
        answer = route.fetch(url=f"{host}/404.html")
        # As it is where the site was built without an address.
        route.fulfill(response=answer, body=re.sub(r"let base = .*;", "let base = null;", answer.text()))

    page.route("**/reader/deep/gone.html", gone)
    page.goto(f"{host}/reader/deep/gone.html")
    page.wait_for_function("document.querySelector('a').href.includes('/reader/book/index.html')")
    context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_a_lost_reader_is_led_back(opened, host, scheme, width):
    """From any depth, in light and dark and on a telephone, with text that stands out."""
    lost = f"{host}/book/answers/gone.html"
    page, traffic = opened(lost, color_scheme=scheme, viewport={"width": width, "height": 800})
    # The page looks for the site's beginning upwards from here, so it asks for a file that is not there.
    assert [one for one in traffic.broken if not one.endswith("/objects.inv")] == [f"HTTP 404 {lost}"]
    page.wait_for_function("() => [...document.querySelectorAll('a[data-to]')].every(a => a.href)")
    assert [link.evaluate("a => a.href") for link in page.locator("a").all()] == [
        f"{host}/book/index.html",
        f"{host}/search.html",
    ]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.evaluate(
        "() => { const a = document.createElement('article'); a.append(document.querySelector('main')); document.body.append(a); }"
    )
    assert look(page, "faint") == []
    dark = page.evaluate("() => getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    page.locator("a").first.click()
    page.wait_for_url(f"{host}/book/index.html")


@pytest.mark.parametrize("name", ["book/lstm", "search", "genindex"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_has_its_colours_before_the_themes_script_runs(chromium, address, scheme, name):
    context, _ = watched(chromium, color_scheme=scheme)
    context.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{address}/{name}.html", wait_until="domcontentloaded")
    assert page.evaluate("() => document.documentElement.dataset.theme") == scheme
    context.close()


def test_no_heading_is_cut_off_on_a_narrow_phone(opened, address):
    """The longest word of a title fits on one line."""
    page, _ = opened(f"{address}/book/bptt.html", viewport={"width": 320, "height": 700})
    wide = (
        "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.textContent)"
    )
    assert page.locator("article h1").count() == 1
    assert page.locator("article :is(h1, h2, h3)").evaluate_all(wide) == []


# --- formulas -----------------------------------------------------------------------------------------------------------


def test_a_wide_formula_scrolls_in_itself_and_the_keyboard_reaches_it(opened, address):
    page, _ = opened(f"{address}/book/bptt.html", viewport={"width": 360, "height": 800})
    settled(page)
    found = {True: 0, False: 0}
    for formula in page.locator("article .katex-display").all():
        formula.evaluate("node => node.scrollIntoView({block: 'center'})")
        wide = formula.evaluate("node => node.scrollWidth > node.clientWidth + 1")
        page.wait_for_function(
            "([node, wide]) => node.tabIndex === (wide ? 0 : -1)", arg=[formula.element_handle(), wide]
        )
        found[wide] += 1
        if wide and found[wide] == 1:
            formula.focus()
            page.keyboard.press("ArrowRight")
            page.wait_for_function("node => node.scrollLeft > 0", arg=formula.element_handle())
    assert found[True] > 0
    assert found[False] > 0


def test_a_formula_takes_the_colour_of_its_text(opened, address):
    for scheme in ("light", "dark"):
        page, _ = opened(f"{address}/book/lstm.html", color_scheme=scheme)
        settled(page)
        colours = page.locator("article p:has(.katex-html)").first.evaluate(
            "node => [node, ...node.querySelectorAll('.katex-html *')].map(one => getComputedStyle(one).color)"
        )
        assert len(set(colours)) == 1


def test_fonts_of_formulas_that_nobody_has_seen_are_there_for_print(opened, address):
    page, _ = opened(f"{address}/book/bptt.html", viewport={"width": 1280, "height": 600})
    settled(page)
    page.wait_for_function("() => document.fonts.check('16px KaTeX_Size2')")


# --- print ------------------------------------------------------------------------------------------------------------


def test_print_is_dark_on_white_without_what_is_only_for_a_screen(opened, address):
    page, _ = opened(f"{address}/book/lstm.html", color_scheme="dark")
    settled(page)
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.add_style_tag(content="*, *::before, *::after { transition: none !important; }")
    look(page, "redrawn")
    shown = page.evaluate(
        """() => {
          const style = (where, what) => getComputedStyle(document.querySelector(where))[what];
          const seen = where => [...document.querySelectorAll(where)].some(node => node.checkVisibility() && node.getBoundingClientRect().width > 1);
          return {
            ground: style('body', 'backgroundColor'),
            ink: style('article p', 'color'),
            code: [...document.querySelectorAll('div.highlight pre span')].slice(0, 60).map(node => getComputedStyle(node).color),
            figure: style('img.course-figure', 'filter'),
            later: style('article > section > section:last-of-type', 'contentVisibility'),
            screen: ['.bd-sidebar-primary', '.bd-header-article', '.prev-next-area', '.headerlink', 'button.copybtn', '.pg-buttons'].filter(seen),
          };
        }"""
    )
    assert shown["ground"] == "rgb(255, 255, 255)"
    assert shown["ink"] == "rgb(17, 17, 17)"
    assert shown["figure"] == "none"
    brightest = max(sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in shown["code"])
    assert brightest < 400, "code in the colours of dark mode"
    assert shown["later"] == "visible"
    assert shown["screen"] == []
    assert look(page, "faint") == []
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"


def test_sections_far_below_are_laid_out_when_they_come_near(opened, address):
    """What makes long chapters quick, and that an anchor far below is still found."""
    page, _ = opened(f"{address}/book/lstm.html")
    last = page.locator("article > section > section").last
    name = last.get_attribute("id")
    # Skipped contents have no text to be seen; a section that is laid out has.
    seen = "node => node.querySelector('p').checkVisibility({contentVisibilityAuto: true})"
    assert not last.evaluate(seen)
    page.evaluate("name => { location.hash = name; }", name)
    page.wait_for_function(
        "name => { const box = document.getElementById(name).getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0; }",
        arg=name,
    )
    look(page, "redrawn")
    assert last.evaluate(seen)
