"""Notebooks on Colab and Binder, where the course's repository has an address.

The address stands in one place, `repository: url` in _config.yml. With one on GitHub, each link to an exercise notebook or
to the capstone's is followed by links that open it on Colab and on Binder, and the first table with such links by what to
run first there: the cell that `make release` puts before all others (`classroom.preprocessors.install_cell`). Without one,
nothing appears. Binder installs the package itself, as .binder/ tells it.
"""

import re
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


def repository(options: dict[str, Any]) -> tuple[str, str] | None:
    """Owner and name on GitHub, and the branch; None where no address is set.

    Raises:
        ValueError: if the address is not one of a repository on GitHub, which is what Colab and Binder open here.
    """
    url = options.get("repository_url") or ""
    if not url:
        return None
    found = _GITHUB.match(url)
    if not found:
        raise ValueError(
            f"repository: url in _config.yml: expected https://github.com/owner/name, got {url!r}"
        )
    return found[1], options.get("repository_branch") or "main"


def links(name: str, branch: str, notebook: str) -> dict[str, str]:
    """Where a notebook of the repository opens, by service."""
    return {
        "Colab": f"https://colab.research.google.com/github/{name}/blob/{branch}/{notebook}",
        "Binder": f"https://mybinder.org/v2/gh/{name}/{branch}?urlpath=lab/tree/{notebook}",
    }


def in_the_repository(target: PurePosixPath) -> str | None:
    """Where a notebook that a page links for download stands in the repository; None for what cannot be opened elsewhere."""
    for folder, place in (("exercises", ""), ("starters", "book/")):
        if target.suffix == ".ipynb" and folder in target.parts:
            return place + "/".join(target.parts[target.parts.index(folder) :])
    return None


def offer(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add the links behind each download of a notebook to work in."""
    place = repository(app.config.html_theme_options)
    if place is None or app.builder.format != "html":
        return
    tables: list[nodes.Node] = []
    for reference in list(doctree.findall(addnodes.download_reference)):
        target = PurePosixPath(reference.get("reftarget", ""))
        notebook = in_the_repository(target)
        if notebook is None:
            continue
        at = reference.parent.index(reference) + 1
        added: list[nodes.Node] = []
        for service, url in links(*place, notebook).items():
            link = nodes.reference("", service, refuri=url, internal=False)
            link["reftitle"] = f"Open {target.name} on {service}"
            added += [nodes.Text(", "), link]
        reference.parent[at:at] = added
        table = reference.parent
        while table is not None and not isinstance(table, nodes.table):
            table = table.parent
        if table is not None and table not in tables:
            tables.append(table)
    for table in tables[:1]:
        text = (
            "On Colab, run the notebook's first cell before all others; it installs the course's package, which takes a "
            "moment. On Binder the package is there already, and the cell does nothing."
        )
        note = nodes.note("", nodes.paragraph("", text), classes=["run-elsewhere"])
        table.parent.insert(table.parent.index(table) + 1, note)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it."""
    app.connect("doctree-resolved", offer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
