"""What formgrader and feedback pages show of a student's HTML.

A notebook may hold any HTML, in words and in outputs, and nbconvert puts it into its pages as it is. A script in it would
run in the browser of whoever grades, on the address of their own Jupyter, where it may change grades. `nbgrader_config.py`
has nbconvert clean outputs (`sanitize_html`), with `cleaned` in the place of its own filter, which knows neither paragraphs
nor headings nor pictures. nbgrader's templates clean no words, so the filter that makes HTML of them does, and nbconvert's
write what an output says of a picture without quotation marks, so `PlainOutputs` leaves nothing there but numbers.
"""

import re
from typing import Any

import bleach
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.preprocessors import Preprocessor
from nbconvert.utils.base import NbConvertBase
from nbformat import NotebookNode
from pygments.token import STANDARD_TYPES
from traitlets import Bool

__all__ = ["CleanMarkdown", "PlainOutputs", "cleaned"]

TAGS = frozenset(
    [
        *("a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt"),
        *("em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s"),
        *("small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead"),
        *("tr", "u", "ul"),
    ]
)
# Classes that colour code, and those of a heading's link and of a table. A page's own have a meaning: a click on what has the
# class of the button for full marks gives full marks.
CLASSES = frozenset(STANDARD_TYPES.values()) | {"highlight", "hl-ipython3", "anchor-link", "dataframe"}
# Whose content is not for reading. What is not closed is no such element, and its text stays.
_UNREAD = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
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
    return name == "title" or (name == "class" and CLASSES.issuperset(value.split()))


def cleaned(element: str | bytes) -> str:
    """HTML without what runs, loads, or reaches into the page around it.

    Args:
        element: the HTML, as nbconvert hands it to its filter `clean_html`.
    """
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    text = _UNREAD.sub("", text)
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


class PlainOutputs(Preprocessor):
    """Leaves of what outputs say of themselves the size of a picture, which templates write into the page as it is."""

    enabled = Bool(True).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Rewrite one cell."""
        if cell.cell_type != "code":
            return cell, resources
        for part in (cell, *cell.outputs):
            if "execution_count" in part and type(part.execution_count) is not int:
                part.execution_count = None
        for output in cell.outputs:
            if "metadata" in output:
                output.metadata = _sizes(output.metadata)
        return cell, resources


def _sizes(metadata: Any) -> NotebookNode:
    """Width and height of pictures, as far as they are whole numbers."""
    told = NotebookNode()
    for kind, about in metadata.items() if isinstance(metadata, dict) else ():
        if isinstance(about, dict):
            sizes = {name: about[name] for name in ("width", "height") if type(about.get(name)) is int}
            if sizes:
                told[kind] = NotebookNode(sizes)
    return told
