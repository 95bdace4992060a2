"""Opening the built site: a server on localhost, a Chromium that reaches nothing else, what a page shows."""

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
    # A build with the model answers writes the contents that it used beside the site.
    used = SITE.parent / "contents.yml"
    contents = yaml.safe_load((used if used.exists() else ROOT / "_toc.yml").read_text(encoding="utf-8"))
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


def chromium_binary() -> str:
    """The machine's own Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    binary = next((found for name in names if (found := shutil.which(name))), None)
    if binary is None:
        lacking("no Chromium on this machine; install it, on Debian with: apt-get install chromium")
    return binary


@contextmanager
def launched():
    """A headless Chromium through Playwright; the machine's own, not one that Playwright downloads."""
    binary = chromium_binary()
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
        images: source, alt text, whether it is decoration, and the width that it decoded to, 0 if it did not.
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


# What a page shows, as functions of the page itself.
LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


def look(page, what: str):
    """Call one of the functions in look.js on a page."""
    return page.evaluate(f"() => ({LOOK}).{what}()")


def settled(page) -> None:
    """Wait until scripts have run and the fonts are there."""
    page.wait_for_load_state("load")
    look(page, "settled")


def visit(browser, address: str) -> Visit:
    """Open one page and look at it in every mode."""
    context, traffic = watched(browser, viewport={"width": 1280, "height": 900}, color_scheme="light")
    try:
        page = context.new_page()
        page.goto(address)
        settled(page)
        nodes, math = look(page, "math")
        images = look(page, "images")
        wide, faint, schemes = {}, {}, {}
        for scheme, width in MODES:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            look(page, "redrawn")
            schemes[scheme, width] = page.evaluate("() => document.documentElement.dataset.theme")
            wide[scheme, width] = look(page, "wide")
            if scheme not in faint:
                # Colours fade from one scheme to the other; measure where they arrive.
                page.add_style_tag(content="*, *::before, *::after { transition: none !important; }")
                faint[scheme] = look(page, "faint")
        return Visit(traffic, nodes, math, images, wide, faint, schemes)
    finally:
        context.close()
