"""What the site needs beyond Jupyter Book: an honest cache, and pages that load nothing from elsewhere.

Three things, each small:

- The execution cache is keyed by a hash of the package, the exercises and the book's data, so a page is run
  again when what it shows has changed.
- The scripts of the theme's live-code button, which would fetch a library from another site, are left out.
- Of the MathJax package only what the pages use is kept: 31 MB become 2.
"""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]

# What tex-chtml.js may ask for: its fonts, and TeX packages that it loads on first use.
MATHJAX_KEPT = ("tex-chtml.js", "output/chtml/fonts/", "input/tex/extensions/")

# What the live-code extension writes at the end of a page.
LIVE_CODE = re.compile(
    r"<script type=\"text/x-thebe-config\">.*?</script>\s*(<script>kernelName = '[^']*'</script>)?", re.DOTALL
)


def code_hash(root: Path = ROOT) -> str:
    """A short hash of everything that a page's output depends on beyond its own text."""
    digest = hashlib.sha256()
    read = [
        *(root / "src" / "refcells").rglob("*.py"),
        *(root / "exercises").rglob("*.ipynb"),
        *(root / "book").rglob("*.json"),
    ]
    for path in sorted(read):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def key_the_cache(app: Sphinx, config: Config) -> None:
    """Give this state of the code its own cache; a new cache path also makes Sphinx read all pages again."""
    cache = ROOT / "_build" / ".jupyter_cache"
    current = cache / code_hash()
    config.nb_execution_cache_path = str(current)
    if cache.is_dir():
        for old in cache.iterdir():
            if old.is_dir() and old != current:
                shutil.rmtree(old, ignore_errors=True)


def drop_live_code(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Take the live-code scripts, styles and settings off a page: they name places on other sites."""

    def live(asset: Any) -> bool:
        body = getattr(asset, "attributes", {}).get("body", "")
        return "thebe" in f"{getattr(asset, 'filename', None) or asset} {body}"

    for kind in ("script_files", "css_files"):
        context[kind] = [asset for asset in context.get(kind, []) if not live(asset)]
    if "body" in context:
        context["body"] = LIVE_CODE.sub("", context["body"])


def trim_mathjax(app: Sphinx, exception: Exception | None) -> None:
    """Remove the MathJax variants that no page asks for."""
    folder = Path(app.outdir) / "_static" / "mathjax"
    if exception is not None or not folder.is_dir():
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif not name.startswith(MATHJAX_KEPT):
            path.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the three."""
    app.connect("config-inited", key_the_cache)
    app.connect("html-page-context", drop_live_code, priority=900)
    app.connect("build-finished", trim_mathjax, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
