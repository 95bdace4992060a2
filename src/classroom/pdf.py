"""The book as one PDF, printed by Chromium: `python -m classroom.pdf`; `make pdf` builds what it prints first.

What is printed is the book on one page, as Sphinx's builder `singlehtml` writes it. In Chromium what can be opened
is opened, and what only a browser can do gives way to a sentence that says where it is. Chromium then gives the PDF its
outline, from the headings, its links, and the tags by which it can be read aloud.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from classroom.course import ROOT
from classroom.errors import CourseError

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pypdf import PdfReader

PAGE = ROOT / "_build" / "singlehtml" / "index.html"
PDF = ROOT / "_build" / "pdf" / "learning-to-remember.pdf"

# A4 and the margins at its sides, in millimetres; a CSS pixel is a ninety-sixth of an inch.
SHEET, SIDE = (210, 297), 17
WIDTH = int((SHEET[0] - 2 * SIDE) / 25.4 * 96)

FOOTER = '<div style="width: 100%; text-align: center; font: 8px sans-serif; color: #444"><span class="pageNumber"></span></div>'

# The words of a heading; of a formula its letters once, which Chromium leaves out of an outline.
WORDS = r"""
heading => {
  const copy = heading.cloneNode(true);
  for (const drawn of copy.querySelectorAll('.katex-html, annotation')) drawn.remove();
  return copy.textContent.replace(/\s+/g, ' ').trim();
}
"""

# Makes the book's page one to print. Takes the book's title and the site's address, which may be empty.
PREPARE = r"""
async ({title, subtitle, site, width}) => {
  const article = document.querySelector('article.bd-article') || document.querySelector('article');
  if (!article) return ['no article on the page: is it the book as jupyter-book --builder singlehtml writes it?'];

  // The text alone, in light colours.
  document.documentElement.dataset.theme = document.documentElement.dataset.mode = 'light';
  const main = document.createElement('main');
  main.className = 'bd-content pdf';
  main.append(article);
  document.body.replaceChildren(main);

  // The page of the site that a place of the book is on, by the mark at each page's start.
  const marks = [...article.querySelectorAll('[id^="document-"]')];
  const page = node => {
    const before = marks.filter(mark => mark.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING).pop();
    return `${site}${before ? before.id.replace('document-', '') : 'book/index'}.html`;
  };
  const onTheSite = (node, what) => {
    const note = document.createElement('p');
    note.className = 'pdf-elsewhere';
    const where = document.createElement(site ? 'a' : 'code');
    where.textContent = page(node);
    if (site) where.href = where.textContent;
    note.append(`${what} on the course's website: `, where, '.');
    node.replaceWith(note);
  };
  for (const node of article.querySelectorAll('[data-playground]')) onTheSite(node, 'Here stands a playground with sliders');
  for (const node of article.querySelectorAll('.try-it-page')) onTheSite(node, 'These exercises can be written and checked');

  // Nothing is hidden on paper, and nothing can be pressed.
  for (const node of article.querySelectorAll('details')) node.open = true;
  for (const node of article.querySelectorAll('.toggle-hidden')) node.classList.remove('toggle-hidden');
  for (const node of article.querySelectorAll('script, button, input, .headerlink, .course-hero-controls, .toggle-button')) node.remove();
  for (const image of article.querySelectorAll('img')) image.loading = 'eager';

  // A link leads to a place in the book or to a whole address; to a file beside the site it would lead nowhere.
  const lost = [];
  for (const link of article.querySelectorAll('a[href]')) {
    const to = link.getAttribute('href');
    if (to.startsWith('#')) {
      if (!document.getElementById(decodeURIComponent(to.slice(1)))) lost.push(`a link to ${to}, which is nowhere`);
    } else if (!/^(https?|mailto):/.test(to)) link.removeAttribute('href');
  }

  // A title, and the contents by the headings of pages.
  const head = document.createElement('section');
  head.className = 'pdf-title';
  head.innerHTML = '<p class="pdf-name"></p><p class="pdf-subtitle"></p><p class="pdf-from"></p>';
  head.querySelector('.pdf-name').textContent = title;
  head.querySelector('.pdf-subtitle').textContent = subtitle;
  if (site) head.querySelector('.pdf-from').textContent = site;
  const contents = document.createElement('nav');
  contents.className = 'pdf-contents';
  contents.setAttribute('aria-label', 'Contents');
  for (const mark of marks) {
    const heading = mark.nextElementSibling?.querySelector?.('h1, h2, h3');
    if (!heading) continue;
    heading.closest('section').classList.add('pdf-page');
    heading.closest('section').prepend(mark);  // on the sheet of its page, not at the end of the one before
    const line = document.createElement('p');
    const link = document.createElement('a');
    link.href = `#${mark.id}`;
    link.textContent = (WORDS)(heading);
    line.className = `pdf-${heading.tagName.toLowerCase()}`;
    const sheet = document.createElement('span');
    sheet.className = 'pdf-number';
    line.append(link, sheet);
    contents.append(line);
  }
  main.prepend(head, contents);

  await document.fonts.ready;
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));

  // What is wider than the sheet is made as small as it takes.
  for (let round = 0; round < 3; round++)
    for (const node of article.querySelectorAll('table, svg:not(.katex svg), .katex-display')) {
      const place = node.parentElement.clientWidth || width, size = Number(node.style.zoom || 1);
      const wide = Math.max(node.getBoundingClientRect().width, node.scrollWidth * (node.localName === 'svg' ? 0 : 1));
      if (wide > place + 1 && size > 0.4) node.style.zoom = Math.max(0.4, 0.99 * size * place / wide);
    }
  const right = article.getBoundingClientRect().right + 2;
  const wide = [...article.querySelectorAll('table, pre, img, .katex .base, svg:not(.katex svg)')]
    .filter(node => node.getBoundingClientRect().right > right);

  return [
    ...lost,
    ...[...document.images].filter(image => !image.naturalWidth).map(image => `the picture ${image.getAttribute('src')} does not load`),
    ...[...article.querySelectorAll('.math')].filter(node => !node.querySelector('.katex-html')).map(node => `a formula is not set: ${node.textContent.trim().slice(0, 60)}`),
    ...[...article.querySelectorAll('.katex-error')].map(node => `a formula is broken: ${node.textContent.slice(0, 60)}`),
    ...wide.map(node => `wider than the sheet: ${node.tagName} ${node.textContent.trim().slice(0, 60)}`),
  ];
}
""".replace("WORDS", WORDS)

# Writes the numbers of sheets into the contents; takes them by the names of places, gives the places that have none.
NUMBER = """
sheets => [...document.querySelectorAll('.pdf-contents p')].flatMap(line => {
  const to = decodeURIComponent(line.querySelector('a').getAttribute('href').slice(1));
  line.querySelector('.pdf-number').textContent = sheets[to] ?? '';
  return to in sheets ? [] : [to];
})
"""

# What the outline's entries are called, in their order.
HEADINGS = f"() => [...document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')].map({WORDS})"

STYLE = """
html { font-size: 12.5px; }
html, body { background: #fff !important; height: auto; overflow: visible; }
body { font-size: 1rem; }
/* A shadow is printed as a picture, and round corners cost two megabytes; a frame that may not be broken leaves half a sheet
   empty. */
*, *::before, *::after { box-shadow: none !important; text-shadow: none !important; border-radius: 0 !important; }
main.pdf :is(div.highlight, .cell, .cell_input, .cell_output, .admonition, .sd-card) { break-inside: auto; }
main.pdf :is(p, pre) { orphans: 3; widows: 3; }
main.pdf .admonition { border: 1px solid #c9d3dc; border-left: 4px solid var(--pst-color-primary); }
main.pdf, main.pdf article { display: block; max-width: none; width: auto; margin: 0; padding: 0; overflow: visible; }
main.pdf .pdf-page { break-before: page; }
main.pdf .pdf-page .pdf-page { break-before: page; }
.pdf-title { text-align: center; padding-top: 32vh; }
.pdf-title .pdf-name { font-size: 2.6rem; font-weight: 600; margin-bottom: 0.6rem; }
.pdf-title .pdf-subtitle { font-size: 1.25rem; }
.pdf-contents { break-before: page; }
.pdf-contents p { display: flex; gap: 1rem; justify-content: space-between; margin: 0.35rem 0; break-inside: avoid; }
.pdf-contents .pdf-number { min-width: 3em; text-align: right; font-variant-numeric: tabular-nums; }
.pdf-contents p.pdf-h3 { margin-left: 1.5rem; }
.pdf-elsewhere { border-left: 3px solid #0b5a9a; padding: 0.2rem 0.8rem; }
main.pdf div.math, main.pdf .katex-display { overflow: visible !important; }
main.pdf table { overflow: visible !important; }
main.pdf pre, main.pdf code { white-space: pre-wrap !important; overflow-wrap: anywhere; }
main.pdf img { max-width: 100%; height: auto; }
main.pdf details > summary { list-style: none; }
"""


def chromium() -> str:
    """The machine's own Chromium.

    Raises:
        CourseError: if there is none.
    """
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise CourseError("no Chromium on this machine; on Debian: apt-get install chromium")
    return found


def write(
    page: Path, pdf: Path, *, site: str = "", title: str = "Learning to Remember", minutes: float = 20
) -> None:
    """Print a page as PDF.

    Args:
        page: the book as one HTML page.
        pdf: where to write.
        site: the website's address, for what is only there; empty where it has none.
        title: what stands on the first sheet.
        minutes: how long laying out, and printing, may take.

    Raises:
        CourseError: if there is no such page or no Chromium, or if a formula, picture or link is broken or something does
            not fit on the sheet; each is named. Nothing is written then.
    """
    if not page.is_file():
        raise CourseError(f"no page {page}; make it with: jupyter-book build . --builder singlehtml")
    try:
        from playwright.sync_api import sync_playwright
        from pypdf import PdfReader
    except ImportError as missing:
        raise CourseError(
            f"{missing.name} is not installed; run: python -m pip install -e '.[test]'"
        ) from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        part = pdf.with_suffix(".part")
        try:
            window = browser.new_page(color_scheme="light", viewport={"width": WIDTH, "height": 1000})
            window.set_default_timeout(60_000 * minutes)
            window.route("http*://**", lambda route: route.abort())  # the site loads nothing from elsewhere
            window.goto(page.resolve().as_uri(), wait_until="load")
            window.emulate_media(media="print", color_scheme="light")
            window.add_style_tag(content=STYLE)
            given = {
                "title": title,
                "subtitle": "Recurrent networks from scratch",
                "site": site,
                "width": WIDTH,
            }
            wrong = window.evaluate(PREPARE, given)
            if wrong:
                more = f"\n... and {len(wrong) - 20} more" if len(wrong) > 20 else ""
                raise CourseError(f"{page} is not fit to print:\n" + "\n".join(wrong[:20]) + more)
            pdf.parent.mkdir(parents=True, exist_ok=True)
            # Only a printed book tells on which sheet a page begins: what the first printing tells, the second one prints.
            _print(window, part)
            lost = window.evaluate(NUMBER, sheets(PdfReader(part)))
            if lost:
                raise CourseError(f"{page} was printed without the places {', '.join(lost[:20])}")
            _print(window, part)
            entitle(part, window.evaluate(HEADINGS))
            part.replace(pdf)
        finally:
            browser.close()
            part.unlink(missing_ok=True)


def _print(window: "Page", pdf: Path) -> None:
    """Print what a window shows."""
    window.pdf(
        path=pdf,
        width=f"{SHEET[0]}mm",
        height=f"{SHEET[1]}mm",
        margin={"top": "17mm", "bottom": "19mm", "left": f"{SIDE}mm", "right": f"{SIDE}mm"},
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
        outline=True,
        tagged=True,
    )


def sheets(reader: "PdfReader") -> dict[str, int]:
    """The number of the sheet that each place is on that a link in a PDF leads to.

    Args:
        reader: of a PDF as Chromium prints it: a place has the name that it has on the page.
    """
    numbers = {
        page.indirect_reference.idnum: k for k, page in enumerate(reader.pages, 1) if page.indirect_reference
    }
    places = {}
    for name, place in reader.named_destinations.items():
        sheet = getattr(place.page, "idnum", None)
        if sheet in numbers:
            places[unquote(name.removeprefix("/"))] = numbers[sheet]
    return places


def entitle(pdf: Path, titles: list[str]) -> None:
    """Give a PDF's outline its titles, in their order. Chromium writes the first one twice, and joins words across lines.

    Raises:
        CourseError: if the outline has not as many entries as there are titles.
    """
    from pypdf import PdfWriter
    from pypdf.generic import DictionaryObject, NameObject, TextStringObject

    writer = PdfWriter(pdf, incremental=True)
    entries: list[DictionaryObject] = []

    def collect(node: DictionaryObject) -> None:
        below = node.get("/First")
        while below is not None:
            entry = below.get_object()
            entries.append(entry)
            collect(entry)
            below = entry.get("/Next")

    collect(writer.root_object.get("/Outlines", DictionaryObject()))
    if len(entries) != len(titles):
        raise CourseError(f"the outline has {len(entries)} entries, and the book {len(titles)} headings")
    for entry, title in zip(entries, titles, strict=True):
        if entry["/Title"] != title:
            entry[NameObject("/Title")] = TextStringObject(title)
    writer.write(pdf)


def main(arguments: list[str] | None = None) -> int:
    """Command line: print the book."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.pdf", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the book on one page")
    parser.add_argument("--to", type=Path, default=PDF, help="where to write")
    options = parser.parse_args(arguments)
    site = os.environ.get("SITE_URL", "")
    try:
        write(options.page, options.to, site=f"{site.rstrip('/')}/" if site else "")
    except CourseError as error:
        print(f"classroom.pdf: {error}", file=sys.stderr)
        return 2
    print(options.to)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
