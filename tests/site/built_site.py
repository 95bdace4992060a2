"""Opening the built site: a server on localhost, a Chromium that reaches nothing else, and what a page shows in it."""

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"

# Every mode that a page is looked at in: the colour scheme and the width of the window in CSS pixels.
MODES = [("light", 1280), ("dark", 1280), ("dark", 390), ("light", 390)]

# Nothing of the browser's own may look like a page's request, and no name but localhost's resolves.
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def lacking(what: str) -> NoReturn:
    """Skip what cannot be tested here; in continuous integration, where it must be testable, fail."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def toc_pages() -> list[str]:
    """Every page of the table of contents, in its order, the landing page first."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [contents["root"]]

    def collect(node: object) -> None:
        if isinstance(node, dict):
            if "glob" in node:
                raise ValueError(f"_toc.yml names pages by a pattern ({node['glob']}); this reads names only")
            if "file" in node:
                pages.append(node["file"])
            for key in ("parts", "subtrees", "chapters", "sections", "entries"):
                collect(node.get(key))
        elif isinstance(node, list):
            for entry in node:
                collect(entry)

    collect(contents)
    return pages


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of localhost; gives the address without a slash at its end."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@contextmanager
def launched():
    """A headless Chromium through Playwright; the machine's own, not one that Playwright downloads."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    binary = next((found for name in names if (found := shutil.which(name))), None)
    if binary is None:
        lacking("no Chromium on this machine; install it, on Debian with: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("Playwright is not installed; run: python -m pip install -e '.[test]'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=CHROMIUM_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def is_local(url: str) -> bool:
    """Whether a request stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob", "file") or parts.hostname in ("127.0.0.1", "localhost")


@dataclass
class Traffic:
    """What a browser context asked for and complained about, as it happened.

    Attributes:
        foreign: addresses on other machines that were asked for, none of which were let through.
        broken: requests that failed or were answered with an HTTP error.
        complaints: console errors and warnings, and exceptions that no script caught.
    """

    foreign: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def watched(browser, **options):
    """A new browser context and the record of its traffic."""
    context = browser.new_context(**options)
    context.set_default_timeout(15_000)
    traffic = Traffic()

    def route(route) -> None:
        url = route.request.url
        if is_local(url):
            route.continue_()
        else:
            traffic.foreign.append(url)
            route.abort()

    def failed(request) -> None:
        # Leaving a page ends what it was still loading, which is nothing that is missing.
        if is_local(request.url) and "ERR_ABORTED" not in (request.failure or ""):
            traffic.broken.append(f"{request.failure} {request.url}")

    def answered(response) -> None:
        if response.status >= 400:
            traffic.broken.append(f"HTTP {response.status} {response.url}")

    def said(message) -> None:
        if message.type in ("error", "warning"):
            traffic.complaints.append(f"{message.type}: {message.text}")

    context.route("**/*", route)
    context.on("requestfailed", failed)
    context.on("response", answered)
    context.on("console", said)
    context.on("weberror", lambda error: traffic.complaints.append(f"exception: {error.error}"))
    context.on("page", lambda page: page.on("websocket", lambda socket: traffic.foreign.append(socket.url)))
    return context, traffic


@dataclass
class Visit:
    """What one page shows.

    Attributes:
        traffic: requests and complaints while it was open.
        math_nodes: how many pieces of mathematics the page holds.
        math: each one that is not rendered, or rendered as an error, or left as TeX in the text.
        images: source, alt text, whether it is decoration, and whether it could be decoded to something with a width.
        wide: by mode, what is wider than the window.
        faint: by colour scheme, text with too little contrast to its ground.
        schemes: the colour scheme that the page really took in each mode.
    """

    traffic: Traffic
    math_nodes: int
    math: list[str]
    images: list[dict]
    wide: dict[tuple[str, int], list[str]]
    faint: dict[str, list[str]]
    schemes: dict[tuple[str, int], str]


MATH = r"""
() => {
  const wrong = [];
  const nodes = [...document.querySelectorAll('.math')];
  const name = node => (node.dataset.tex || node.textContent).trim().slice(0, 60);
  for (const node of nodes) {
    const drawn = node.querySelector('mjx-container');
    if (!drawn) wrong.push('not rendered: ' + name(node));
    else if (node.checkVisibility() && drawn.getBoundingClientRect().width < 1) wrong.push('rendered without a width: ' + name(node));
  }
  for (const node of document.querySelectorAll('mjx-merror'))
    wrong.push('error: ' + (node.getAttribute('data-mjx-error') || node.textContent));
  // MathJax draws the name of an unknown command in red instead of stopping.
  for (const node of document.querySelectorAll('mjx-mtext'))
    if (!node.closest('mjx-merror') && /red/.test(node.getAttribute('style') || '')) wrong.push('unknown command: ' + (node.getAttribute('data-latex') || node.innerHTML.slice(0, 60)));
  const article = document.querySelector('article') || document.body;
  const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (text.parentElement.closest('pre, code, script, style, mjx-container, .math, textarea')) continue;
    if (/\\[a-zA-Z]{2,}|\\[(\[]|\$[^$\n]+\$/.test(text.data)) wrong.push('TeX in the text: ' + text.data.trim().slice(0, 80));
  }
  return [nodes.length, wrong];
}
"""

IMAGES = r"""
async () => Promise.all([...document.images].map(async image => {
  image.loading = 'eager';
  await image.decode().catch(() => {});
  return {
    src: image.getAttribute('src'), alt: image.getAttribute('alt'), width: image.naturalWidth,
    decoration: image.getAttribute('role') === 'presentation' || image.getAttribute('aria-hidden') === 'true',
  };
}))
"""

WIDE = r"""
() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  const page = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
  if (page > width) found.push(`the page itself: ${page} of ${width} px`);
  const main = document.querySelector('main') || document.body;
  const covered = [];
  for (const node of main.querySelectorAll('*')) {
    // The theme's drawer of the page's contents waits beside the window; opening it is tested elsewhere.
    if (node.closest('mjx-assistive-mml, .bd-sidebar-secondary') || covered.some(c => c.contains(node))) continue;
    const box = node.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || box.right <= width + 1) continue;
    // What scrolls in itself may be wide inside, as long as its own frame fits.
    const fits = frame => /auto|scroll/.test(getComputedStyle(frame).overflowX) && frame.getBoundingClientRect().right <= width + 1;
    let frame = node.parentElement;
    while (frame !== main && !fits(frame)) frame = frame.parentElement;
    if (frame !== main) continue;
    covered.push(node);
    const label = node.tagName.toLowerCase() + (node.id ? '#' + node.id : '') + [...node.classList].map(c => '.' + c).join('');
    found.push(`${label} ends at ${Math.round(box.right)} of ${width} px: ${(node.textContent.trim() || 'in ' + node.closest('p, li, td, div').textContent.trim()).slice(0, 60)}`);
  }
  return found;
}
"""

# WCAG 2.1, success criterion 1.4.3: contrast of text to the first opaque ground behind it.
FAINT = r"""
() => {
  const parse = text => {
    const canvas = parse.canvas || (parse.canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}));
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const ground = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = new Map();
  for (const node of document.querySelectorAll('article :is(p, li, td, th, figcaption, .caption-text, h1, h2, h3, h4, dt, dd, a:not(.headerlink))')) {
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
    const box = node.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(getComputedStyle(node).fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) {
      const key = `${node.tagName.toLowerCase()}${[...node.classList].map(c => '.' + c).join('')} ${ratio.toFixed(2)}`;
      if (!found.has(key)) found.set(key, `${key}: ${node.textContent.trim().slice(0, 50)}`);
    }
  }
  return [...found.values()];
}
"""


def settled(page) -> None:
    """Wait until scripts have run and the mathematics is set."""
    page.wait_for_load_state("load")
    page.evaluate(
        "() => window.MathJax && window.MathJax.startup ? window.MathJax.startup.promise.then(() => null) : null"
    )
    page.evaluate("() => document.fonts.ready.then(() => null)")


def visit(browser, address: str) -> Visit:
    """Open one page and look at it in every mode."""
    context, traffic = watched(browser, viewport={"width": 1280, "height": 900}, color_scheme="light")
    try:
        page = context.new_page()
        page.goto(address)
        settled(page)
        nodes, math = page.evaluate(MATH)
        images = page.evaluate(IMAGES)
        wide, faint, schemes = {}, {}, {}
        for scheme, width in MODES:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            # Two frames: the theme hears of the new scheme, and the page is laid out again.
            page.evaluate(
                "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
            )
            schemes[scheme, width] = page.evaluate("() => document.documentElement.dataset.theme")
            wide[scheme, width] = page.evaluate(WIDE)
            if scheme not in faint:
                # Colours fade from one scheme to the other; measure where they arrive.
                page.add_style_tag(content="*, *::before, *::after { transition: none !important; }")
                faint[scheme] = page.evaluate(FAINT)
        return Visit(traffic, nodes, math, images, wide, faint, schemes)
    finally:
        context.close()
