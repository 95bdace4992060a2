"""Finding one's way: links, search, the colour switch, a telephone, a folder without a server."""

import re

import pytest
from bs4 import BeautifulSoup
from built_site import look, settled, toc_pages, watched

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGES = toc_pages()
LSTM = "book/lstm"


@pytest.fixture
def page(chromium, address):
    """A window on the site; at the end, nothing has been asked of another machine and nothing has failed."""
    context, traffic = watched(chromium, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield context.new_page()
    context.close()
    assert traffic.foreign == []
    assert traffic.broken == []


def at(address: str, name: str) -> re.Pattern[str]:
    """The address of a page, with or without a fragment and a query."""
    return re.compile(re.escape(f"{address}/{name}.html") + r"([?#].*)?$")


def test_the_address_alone_leads_to_the_landing_page(page, address):
    page.goto(f"{address}/")
    page.wait_for_url(at(address, PAGES[0]))
    assert page.locator("article h1").count() == 1


def test_from_the_landing_page_to_the_lstm_chapter(page, address):
    page.goto(f"{address}/{PAGES[0]}.html")
    page.locator("article a:visible", has_text="LSTM").first.click()
    page.wait_for_url(at(address, LSTM))
    settled(page)
    assert "LSTM" in page.locator("article h1").inner_text()
    assert page.locator("article div.math .katex-html").count() > 0


def test_cards_of_the_landing_page_are_links_all_over(page, address):
    page.goto(f"{address}/{PAGES[0]}.html")
    cards = page.locator("article .sd-card:has(a.sd-stretched-link)")
    assert cards.count() > 0
    for card in cards.all():
        card.scroll_into_view_if_needed()
        assert card.evaluate(
            """card => {
              const box = card.getBoundingClientRect();
              const link = card.querySelector('a.sd-stretched-link');
              const [x, y, width, height] = [box.x, box.y, box.width, box.height];
              const at = share => document.elementFromPoint(x + share * width, y + share * height);
              return [0.1, 0.5, 0.9].every(share => at(share) === link);
            }"""
        )


def test_the_contents_at_the_side_lead_on(page, address):
    """That they name every page, test_site_links.py reads from the HTML; here they are clicked."""
    page.goto(f"{address}/{PAGES[0]}.html")
    for name in (LSTM, PAGES[-1]):
        page.locator("nav.bd-links").locator(f'a[href$="{name.split("/")[-1]}.html"]').first.click()
        page.wait_for_url(at(address, name), wait_until="domcontentloaded")


def test_next_and_previous_lead_there_and_back(page, address):
    page.goto(f"{address}/{PAGES[0]}.html")
    page.locator("a.right-next").click()
    page.wait_for_url(at(address, PAGES[1]), wait_until="domcontentloaded")
    page.locator("a.left-prev").click()
    page.wait_for_url(at(address, PAGES[0]), wait_until="domcontentloaded")


def test_contents_of_a_page_lead_to_its_sections(page, address):
    page.goto(f"{address}/{LSTM}.html")
    settled(page)
    entry = page.locator(".bd-sidebar-secondary nav a").last
    target = entry.get_attribute("href")
    entry.click()
    page.wait_for_url(at(address, LSTM))
    heading = page.locator(f"[id='{target[1:]}'] :is(h2, h3, h4)").first
    heading.wait_for(state="visible")
    page.wait_for_function(
        "box => box.getBoundingClientRect().top < innerHeight", arg=heading.element_handle()
    )


def results(page) -> list[str]:
    """Where the entries of a finished search lead, best first."""
    page.wait_for_function(
        """() => {
          const heading = document.querySelector('#search-results h2');
          const summary = document.querySelector('#search-results .search-summary');
          return heading && !/Searching/.test(heading.textContent) && summary && summary.textContent.trim();
        }"""
    )
    return [
        re.sub(r"[?#].*", "", link.get_attribute("href"))
        for link in page.locator("#search-results ul.search li > a").all()
    ]


def search_finds_the_lstm(page):
    """Type into the search that is open; its page is among the first that are found."""
    field = page.locator("#pst-search-dialog input[name=q]")
    field.fill("forget gate")
    field.press("Enter")
    page.wait_for_url(re.compile(r"/search\.html\?q=forget"))
    assert f"{LSTM}.html" in results(page)[:3]


def test_a_word_typed_into_the_search_finds_its_page(page, address):
    page.goto(f"{address}/{PAGES[0]}.html")
    page.locator(".search-button__button:visible").first.click()
    search_finds_the_lstm(page)
    page.locator(f"#search-results ul.search li > a[href^='{LSTM}.html']").first.click()
    page.wait_for_url(at(address, LSTM))


def test_a_search_shows_a_formula_once_and_without_tex(page, address):
    """The GRU chapter comes to the chrono initialisation in a sentence with two formulas."""
    page.goto(f"{address}/search.html?q=chrono")
    results(page)
    shown = page.locator("#search-results li", has=page.locator("a[href^='book/gru.html']")).first
    shown.locator("p.context", has_text="chrono").wait_for()
    words = shown.inner_text()
    assert "bi=−bf means i=1−f" in words
    assert "\\" not in words


@pytest.mark.long
def test_every_page_is_found_by_its_title(page, address, site):
    missed = {}
    for name in PAGES:
        heading = BeautifulSoup(
            (site / f"{name}.html").read_text(encoding="utf-8"), "html.parser"
        ).select_one("article h1")
        for extra in heading.select(".section-number, .headerlink"):
            extra.decompose()
        title = heading.get_text().strip()
        page.goto(f"{address}/search.html?q={title}")
        found = results(page)
        if f"{name}.html" not in found[:3]:
            missed[title] = found[:3]
    assert missed == {}


def test_a_word_that_is_nowhere_finds_nothing(page, address):
    page.goto(f"{address}/search.html?q=quetzalcoatl")
    assert results(page) == []


def ground(page) -> float:
    """Lightness of the page's ground, from 0 to 255."""
    colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return sum(float(channel) for channel in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_the_colour_switch_works_and_is_remembered(page, address):
    page.goto(f"{address}/{PAGES[0]}.html")
    theme = "() => document.documentElement.dataset.theme"
    switch = page.locator(".theme-switch-button:visible").first
    seen = {page.evaluate(theme): ground(page)}
    for _ in range(3):  # light, dark, as the system
        switch.click()
        seen[page.evaluate(theme)] = ground(page)
    assert sorted(seen) == ["dark", "light"]
    assert seen["dark"] < 60
    assert seen["light"] > 200
    while page.evaluate(theme) != "dark":
        switch.click()
    page.goto(f"{address}/{LSTM}.html")
    assert page.evaluate(theme) == "dark"
    assert ground(page) < 60


def test_the_contents_open_on_a_telephone(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/{PAGES[0]}.html")
    entry = page.locator('a[href$="lstm.html"]:visible', has_text=re.compile(r"^\s*\d+\. "))
    assert entry.count() == 0
    page.locator("button.primary-toggle:visible").click()
    entry.first.click()
    page.wait_for_url(at(address, LSTM))
    page.wait_for_load_state("load")
    page.locator("button.secondary-toggle:visible").click()
    section = page.locator('a[href^="#"]:visible').filter(has_not=page.locator("css=.headerlink")).last
    box = section.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


REFUSED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } });"


def test_a_telephone_whose_browser_keeps_nothing_has_all_of_the_page(chromium, address):
    """With site data blocked, asking for the storage alone is an error; nothing of the page may hang on it."""
    context, traffic = watched(
        chromium, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    try:
        context.add_init_script(REFUSED)
        page = context.new_page()
        theme = "() => document.documentElement.dataset.theme"
        page.goto(f"{address}/{PAGES[0]}.html", wait_until="domcontentloaded")
        assert page.evaluate(theme) == "dark"
        page.wait_for_load_state("load")
        switch = page.locator(".theme-switch-button:visible").first
        seen = []
        for _ in range(3):
            switch.tap()
            seen.append((page.evaluate("() => document.documentElement.dataset.mode"), page.evaluate(theme)))
        assert seen == [("light", "light"), ("dark", "dark"), ("auto", "dark")]
        page.locator("button.primary-toggle:visible").tap()
        page.locator('a[href$="lstm.html"]:visible', has_text=re.compile(r"^\s*\d+\. ")).first.tap()
        page.wait_for_url(at(address, LSTM))
        page.wait_for_load_state("load")
        page.locator(".search-button__button:visible").first.tap()
        search_finds_the_lstm(page)
        page.locator(f"#search-results ul.search li > a[href^='{LSTM}.html']").first.tap()
        page.wait_for_url(at(address, LSTM))
        settled(page)
        assert (traffic.foreign, traffic.broken, traffic.complaints) == ([], [], [])
    finally:
        context.close()


def test_the_site_works_from_a_folder_without_a_server(chromium, site):
    context, traffic = watched(chromium, viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.goto((site / f"{LSTM}.html").as_uri())
        settled(page)
        nodes = page.locator("article .math")
        assert nodes.count() > 0
        assert look(page, "math")[1] == []
        assert page.evaluate("() => document.fonts.check('16px KaTeX_Math')")
        assert all(image["width"] > 0 for image in look(page, "images"))
        page.goto(f"{(site / 'search.html').as_uri()}?q=forget gate")
        page.locator("#search-results ul.search li > a").first.wait_for()
        assert any(
            f"{LSTM}.html" in link.get_attribute("href")
            for link in page.locator("#search-results ul.search li > a").all()
        )
        assert traffic.foreign == []
    finally:
        context.close()
