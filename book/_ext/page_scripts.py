"""Scripts and styles for the few pages that need them: a page pays only for what it holds."""

from typing import Any

from sphinx.application import Sphinx

# What to look for in a page's body, and the files that it asks for.
NEEDED = {
    "data-playground=": ("playground.css", "playground.js"),
    'class="try-it-page"': ("try_it.css", "try_it.js"),
}


def add_what_is_needed(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the files that a page's body asks for, scripts so that they wait until the page is there."""
    body = context.get("body", "")
    for mark, files in NEEDED.items():
        if mark not in body:
            continue
        for name in files:
            if name.endswith(".css"):
                app.add_css_file(name)
            else:
                app.add_js_file(name, defer="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it, before the course's own handler takes scripts off a page."""
    app.connect("html-page-context", add_what_is_needed)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
