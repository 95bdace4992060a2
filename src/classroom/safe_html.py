"""What formgrader and feedback pages show of a student's HTML.

A notebook may hold any HTML, in words and in outputs, and nbconvert puts it into its pages as it is. A script in it would
run in the browser of whoever grades, on the address of their own Jupyter, where it may change grades. `nbgrader_config.py`
has nbconvert clean outputs (`sanitize_html`), with `cleaned` in the place of its own filter, which knows neither paragraphs
nor headings nor pictures. nbgrader's templates clean no words, so the filter that makes HTML of them does.
"""

import re
from typing import Any

import bleach
from bs4 import BeautifulSoup
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.utils.base import NbConvertBase

__all__ = ["CleanMarkdown", "cleaned"]

TAGS = frozenset(
    [
        *("a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt"),
        *("em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s"),
        *("small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead"),
        *("tr", "u", "ul"),
    ]
)
# What an element of the page is not: its content goes with it.
DROPPED = ("script", "style", "template", "iframe", "object", "noscript", "title")
# Pictures come inside the page: one from elsewhere would tell that place who looks.
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*\Z")
_LINK = re.compile(r"(?:https?:|mailto:|#)", re.IGNORECASE)


def _kept(tag: str, name: str, value: str) -> bool:
    """Whether an element keeps an attribute. Not `id` or `name`, which the page's own scripts look for."""
    if tag == "img":
        return name in ("alt", "width", "height") or (name == "src" and bool(_PICTURE.match(value)))
    if tag == "a" and name == "href":
        return bool(_LINK.match(value.strip()))
    if tag in ("td", "th") and name in ("colspan", "rowspan"):
        return value.isdigit()
    # Colours of code are classes.
    return name == "title" or (name == "class" and tag in ("a", "code", "div", "pre", "span"))


def cleaned(element: str | bytes) -> str:
    """HTML without what runs, loads, or reaches into the page around it.

    Args:
        element: the HTML, as nbconvert hands it to its filter `clean_html`.
    """
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    if any(f"<{name}" in text.lower() for name in DROPPED):
        soup = BeautifulSoup(text, "html.parser")
        for found in soup(DROPPED):
            found.decompose()
        text = str(soup)
    return bleach.clean(
        text, tags=TAGS, attributes=_kept, protocols={"http", "https", "mailto", "data"}, strip=True
    )


class CleanMarkdown(NbConvertBase):
    """The exporter's own filter `markdown2html`, and then `cleaned`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        pass_context(self)

    def __call__(self, context: Context, source: str) -> str:
        """HTML of a cell's Markdown."""
        return cleaned(self.parent.markdown2html(context, source))
