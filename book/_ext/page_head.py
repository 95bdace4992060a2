"""What a page says of itself to search engines and to those who pass its address on.

- A description: the page's own (`html_meta: description` in its head), or else its first paragraph.
- A title, description and card for links in messages (Open Graph), the card being book/_static/card.png; icons as
  pictures, for those who take no SVG (book/_ext/icons.py draws them).
- Where the site has an address (`html_baseurl`, or the variable SITE_URL when it is built), absolute addresses of page
  and card, and sitemap.xml. Without an address there is none, since a sitemap names whole addresses only.
- index.html, which leads on to the first page and says the same of itself, for those who pass on the site's address alone.
- 404.html, for hosts that show it: one file that needs no other, since it stands in for any address.
"""

import json
import os
import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

CARD = "_static/card.png"
ICONS = (
    ("icon", "_static/favicon.svg", "image/svg+xml", "any"),
    ("icon", "_static/favicon.png", "image/png", "96x96"),
    ("apple-touch-icon", "_static/apple-touch-icon.png", "image/png", "180x180"),
)
SHORTEST, LONGEST = 50, 160

# Pages that Sphinx makes, which have no text of their own: title and description.
MADE = {
    "genindex": (
        "Index",
        "The index of {course}: every term, function and class of the course in alphabetical order, each with the place that explains it.",
    ),
    "py-modindex": (
        "Python Module Index",
        "The modules of refcells, the Python package of {course}: recurrent cells from plain floats to PyTorch, each with its reference.",
    ),
    "search": (
        "Search",
        "Search {course}: every chapter, exercise page and reference of the course on recurrent networks, in your browser alone.",
    ),
}


def address(app: Sphinx, config: Config) -> None:
    """Take the site's address from SITE_URL where the configuration names none; check that it is one."""
    url = config.html_baseurl or os.environ.get("SITE_URL", "")
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
        raise ValueError(
            f"SITE_URL or html_baseurl: expected an address as https://host/folder/, got {url!r}"
        )
    config.html_baseurl = f"{url.rstrip('/')}/" if url else ""


def first_paragraphs(doctree: nodes.document | None) -> str:
    """What a page says first, at most LONGEST characters of it: whole sentences, or else cut at a word."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        if isinstance(paragraph.parent, nodes.section):
            text = f"{text} {' '.join(paragraph.astext().split())}".strip()
        if len(text) >= SHORTEST:
            break
    if len(text) <= LONGEST:
        return text
    whole = re.match(rf".{{{SHORTEST - 1},{LONGEST - 1}}}[.?!](?=\s)", text)
    return whole[0] if whole else text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def own_description(doctree: nodes.document | None) -> str:
    """The description that a page's head gives, empty where it gives none."""
    for node in doctree.findall(nodes.meta) if doctree is not None else ():
        if node.get("name") == "description":
            return node["content"]
    return ""


def card(config: Config, *, kind: str, title: str, text: str, image: str, url: str = "") -> list[str]:
    """The tags by which a link in a message gets a title, a description and a picture."""
    tags = [
        f'<meta property="{name}" content="{escape(value)}" />'
        for name, value in (
            ("og:type", kind),
            ("og:site_name", config.html_title),
            ("og:title", title),
            ("og:description", text),
            ("og:image", image),
            (
                "og:image:alt",
                "Learning to Remember. Gradient against lag before training: an RNN and a default LSTM fall, an LSTM with chrono initialisation stays",
            ),
            *([("og:url", url)] if url else []),
        )
    ]
    return [*tags, '<meta name="twitter:card" content="summary_large_image" />']


def described(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add description, card and icons to the head of a page."""
    config = app.config
    title, text = MADE.get(pagename, (context.get("title") or config.html_title, ""))
    title = unescape(re.sub(r"<[^>]+>", "", title))
    own = own_description(doctree)
    text = own or text.format(course=config.html_title) or first_paragraphs(doctree)
    if not text:
        text = f"{title}: part of {config.html_title}, a course on recurrent networks from scratch."
    base = config.html_baseurl
    tags = [] if own else [f'<meta name="description" content="{escape(text)}" />']
    tags += card(
        config,
        kind="article" if doctree is not None else "website",
        title=title,
        text=text,
        image=f"{base}{CARD}" if base else context["pathto"](CARD, True),
        url=f"{base}{app.builder.get_target_uri(pagename)}" if base else "",
    )
    tags += [icon(*one, pathto=context["pathto"]) for one in ICONS[1:]]  # the theme links the first
    context["metatags"] = context.get("metatags", "") + "\n    " + "\n    ".join(tags)


def icon(
    relation: str,
    path: str,
    kind: str,
    sizes: str,
    *,
    pathto: Callable[[str, bool], str] = lambda path, _: path,
) -> str:
    """The tag of one icon, from where `pathto` leads from; by default from the site's own folder."""
    return f'<link rel="{relation}" type="{kind}" sizes="{sizes}" href="{pathto(path, True)}" />'


def sitemap(app: Sphinx) -> str:
    """sitemap.xml: every page of the contents, by its whole address."""
    pages = sorted(app.env.found_docs)
    rows = "".join(
        f"  <url><loc>{escape(app.config.html_baseurl + app.builder.get_target_uri(name))}</loc></url>\n"
        for name in pages
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{rows}</urlset>\n"
    )


def front(app: Sphinx) -> str:
    """index.html: what the site's address alone gives. It leads on to the first page, and a message shows it as that one."""
    config, base = app.config, app.config.html_baseurl
    first = app.builder.get_target_uri(config.root_doc)
    doctree = app.env.get_doctree(config.root_doc)
    text = own_description(doctree) or first_paragraphs(doctree) or config.html_title
    title, url = escape(config.html_title), f"{base}{first}" if base else ""
    head = [
        '<meta charset="utf-8" />',
        '<meta name="viewport" content="width=device-width, initial-scale=1" />',
        f"<title>{title}</title>",
        f'<meta name="description" content="{escape(text)}" />',
        *card(config, kind="website", title=config.html_title, text=text, image=f"{base}{CARD}", url=url),
        *([f'<link rel="canonical" href="{escape(url)}" />'] if base else []),
        *(icon(*one) for one in ICONS),
        f'<meta http-equiv="refresh" content="0; url={escape(first)}" />',
        "<style>:root { color-scheme: light dark; --ink: #1b2530; --ground: #ffffff; --link: #0b5a9a; }",
        "@media (prefers-color-scheme: dark) { :root { --ink: #e3e9ef; --ground: #121519; --link: #7db8ec; } }",
        "body { margin: 2rem; background: var(--ground); color: var(--ink); font: 1.1rem/1.55 system-ui, sans-serif; } a { color: var(--link); }</style>",
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(config.language)}">\n<head>\n'
        + "\n".join(head)
        + f'\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p>The course begins on <a href="{escape(first)}">its first page</a>.</p>\n'
        "</main>\n</body>\n</html>\n"
    )


NOT_FOUND = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="robots" content="noindex" />
<title>Page not found &#8212; {title}</title>
<meta name="description" content="There is no page at this address. The course's first page and its chapters are one click away." />
<style>
:root {{ color-scheme: light dark; --ink: #1b2530; --ground: #ffffff; --link: #0b5a9a; --cell: #2f7fc1; --state: #d9742f; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e3e9ef; --ground: #121519; --link: #7db8ec; }} }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--ink);
  font: 1.1rem/1.55 system-ui, sans-serif; }}
main {{ max-width: 34rem; padding: 2rem; }}
h1 {{ font-size: 2rem; line-height: 1.2; margin: 1rem 0; }}
a {{ color: var(--link); }}
svg {{ width: 5rem; height: 5rem; }}
</style>
</head>
<body>
<main>
<svg viewBox="0 0 64 64" role="img" aria-label="A cell whose state got lost on the way">
<rect x="12" y="17" width="40" height="34" rx="9" fill="none" stroke="var(--cell)" stroke-width="4.5"/>
<path d="M2 27H24M42 27H62" stroke="var(--state)" stroke-width="4.5" stroke-linecap="round" stroke-dasharray="1 8" fill="none"/>
</svg>
<h1>This page was not remembered</h1>
<p>There is no page at this address. It may have moved, or the link that led here has a mistake in it.</p>
<p><a href="{known}{root}" data-to="{root}">{title}, the first page</a><br>
<a href="{known}search.html" data-to="search.html">Search the course</a></p>
</main>
<script>
// Where the site begins: known when it was built, or else the nearest folder above that holds its list of pages.
(async () => {{
  let base = {base};
  const folders = location.pathname.split("/").slice(1, -1);
  for (let depth = folders.length; base === null && depth >= 0; depth--) {{
    const here = "/" + folders.slice(0, depth).map((name) => name + "/").join("");
    const ask = (method) => fetch(here + "objects.inv", {{ method }}).catch(() => null);
    let answer = await ask("HEAD");
    if (!answer || ![200, 404].includes(answer.status)) answer = await ask("GET"); // some servers refuse HEAD
    if (answer && answer.ok) base = here;
  }}
  if (base !== null) for (const link of document.querySelectorAll("a[data-to]")) link.href = base + link.dataset.to;
}})();
</script>
</body>
</html>
"""


def extra_files(app: Sphinx, exception: Exception | None) -> None:
    """Write index.html and 404.html, and the sitemap where the site has an address."""
    if exception is not None or app.builder.name != "html":
        return
    base = app.config.html_baseurl
    known = urlsplit(base).path or "/" if base else None
    page = NOT_FOUND.format(
        title=escape(app.config.html_title),
        root=escape(app.builder.get_target_uri(app.config.root_doc)),
        base=json.dumps(known),
        known=escape(known or "/"),
    )
    Path(app.outdir, "404.html").write_text(page, encoding="utf-8")
    Path(app.outdir, "index.html").write_text(front(app), encoding="utf-8")
    listed = Path(app.outdir, "sitemap.xml")
    if base:
        listed.write_text(sitemap(app), encoding="utf-8")
    else:
        listed.unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the three."""
    app.connect("config-inited", address)
    app.connect("html-page-context", described, priority=800)
    app.connect("build-finished", extra_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
