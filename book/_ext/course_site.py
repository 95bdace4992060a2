"""What the site needs beyond Jupyter Book: an honest cache, all cores, and pages that load nothing from elsewhere.

Three things, each small:

- The execution cache is keyed by a hash of the package, the exercises and the book's data, so a page is run
  again when what it shows has changed.
- Pages that have to be run are run side by side, one a core, into the cache that MyST-NB then reads.
- The scripts of the theme's live-code button, which would fetch a library from another site, are left out.
"""

import hashlib
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

LOG = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]

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


def cores() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass(frozen=True)
class Page:
    """A page that has to be run.

    Attributes:
        path: its source.
        notebook: the source as a notebook, whose code cells are the key to the cache.
        read_as: how the cache's own tools would read it.
    """

    path: Path
    notebook: Any
    read_as: dict[str, Any]


def not_in_the_cache(env: BuildEnvironment, docnames: list[str], cache: Any) -> list[Page]:
    """The pages among `docnames` that MyST-NB would have to run, those with most code first."""
    from myst_nb.core.read import create_nb_reader

    settings, markdown = env.mystnb_config, env.myst_config
    pages = []
    for path in (Path(env.doc2path(name)) for name in docnames):
        if path.suffix not in (".md", ".ipynb"):
            continue
        if any(PurePosixPath(path.as_posix()).match(p) for p in settings.execution_excludepatterns):
            continue
        text = path.read_text(encoding="utf-8")
        reader = create_nb_reader(str(path), markdown, settings, text)
        if reader is None:  # a page without code
            continue
        notebook = reader.read(text)
        try:
            cache.match_cache_notebook(notebook)
        except KeyError:
            pages.append(Page(path, notebook, reader.read_fmt))
    return sorted(pages, key=lambda page: sum(len(c.source) for c in code_cells(page.notebook)), reverse=True)


def code_cells(notebook: Any) -> list[Any]:
    """The code cells of a notebook."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run_side_by_side(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Run the pages that are about to be read and not in the cache, one a core, and put them there.

    Each page has a kernel, a process of its own; a thread waits for each. A page that fails is left out: MyST-NB
    finds it missing, runs it again and reports it as it reports any other, with its name and the traceback. Output
    on stderr is in the cached notebook, and reported from there.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution

    settings = env.mystnb_config
    workers = cores()
    if settings.execution_mode != "cache" or workers < 2:
        return
    cache = get_cache(settings.execution_cache_path)
    pages = not_in_the_cache(env, docnames, cache)
    if len(pages) < 2:
        return
    LOG.info("running %d pages on %d cores", len(pages), workers)
    pool = ThreadPoolExecutor(workers)
    try:
        running = {
            pool.submit(
                single_nb_execution,
                page.notebook,
                cwd=str(page.path.parent.resolve()),
                timeout=settings.execution_timeout,
                allow_errors=settings.execution_allow_errors,
            ): page
            for page in pages
        }
        for done in as_completed(running):
            page = running[done]
            failed = done.exception() or done.result().err
            if failed is not None:
                LOG.info("%s: %s, to be run again", page.path.name, type(failed).__name__)
                continue
            record = cache.add_nb_to_project(str(page.path), read_data=page.read_as)
            bundle = CacheBundleIn(page.notebook, record.uri, data={"execution_seconds": done.result().time})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            LOG.info("%s: %.1f s", page.path.name, done.result().time)
    finally:  # an interrupted build starts no further page
        pool.shutdown(wait=True, cancel_futures=True)


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the three."""
    app.connect("config-inited", key_the_cache)
    app.connect("env-before-read-docs", run_side_by_side)
    app.connect("html-page-context", drop_live_code, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
