"""The whole book as one page, for `make pdf`: Sphinx's builder `singlehtml`, with links that find their place.

Sphinx puts all pages into one and keeps their anchors as they are. Two chapters with a section 'Summary' then share an
anchor, and every link leads to the first. Here each anchor begins with the name of its page, and so does each link to it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.singlehtml import SingleFileHTMLBuilder


def start(page: str) -> str:
    """The anchor at a page's beginning."""
    return f"document-{page}"


def place(page: str, anchor: str) -> str:
    """The anchor of a place on a page, in the whole book."""
    return f"{page.replace('/', '-')}--{anchor}"


def target(address: str) -> str:
    """Where a link leads in the whole book; `#document-PAGE#ANCHOR` is how Sphinx names a place on another page."""
    page, sharp, anchor = address.removeprefix(f"#{start('')}").partition("#")
    return f"#{place(page, anchor)}" if sharp and address.startswith(f"#{start('')}") else address


def rename(node: nodes.Element, page: str) -> None:
    """Give every anchor below a node, and every link to one, the name that it has in the whole book."""
    for child in node.children:
        if isinstance(child, addnodes.start_of_file):
            rename(child, child["docname"])
        elif isinstance(child, nodes.Element):
            for attribute in ("ids", "backrefs"):
                if child.get(attribute):
                    child[attribute] = [place(page, anchor) for anchor in child[attribute]]
            if child.get("refid"):
                child["refid"] = place(page, child["refid"])
            elif child.get("refuri"):
                child["refuri"] = target(child["refuri"])
            rename(child, page)


class SinglePage(SingleFileHTMLBuilder):
    """Sphinx's builder of one page, its anchors told apart."""

    def init(self) -> None:
        """Know every node that pages in HTML may hold, also where an extension names this builder for some of its own."""
        super().init()
        known = self.app.registry.translation_handlers
        known[self.name] = {**known.get(self.format, {}), **known.get(self.name, {})}

    def get_outfilename(self, pagename: str) -> str:
        """The page stands above the folders that it names: links to pictures and styles are relative to there."""
        if pagename == self.config.root_doc:
            return str(Path(self.outdir, f"index{self.out_suffix}"))
        return super().get_outfilename(pagename)

    def assemble_doctree(self) -> nodes.document:
        """All pages in one tree."""
        tree = super().assemble_doctree()
        tree.insert(0, nodes.target("", "", ids=[start(self.config.root_doc)]))
        return tree

    def fix_refuris(self, tree: nodes.Node) -> None:
        """Called when all links of a tree are known, and for the navigation at the side."""
        if isinstance(tree, nodes.document):
            rename(tree, self.config.root_doc)
            return
        for link in tree.findall(nodes.reference):
            if "refuri" in link:
                link["refuri"] = target(link["refuri"])

    def assemble_toc_secnumbers(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Numbers of sections by the names that their anchors have now."""
        found = super().assemble_toc_secnumbers()
        return {root: renamed(numbers) for root, numbers in found.items()}

    def assemble_toc_fignumbers(self) -> dict[str, dict[str, dict[str, tuple[int, ...]]]]:
        """Numbers of figures and tables by the names that their anchors have now."""
        found = super().assemble_toc_fignumbers()
        return {
            root: {
                kind: {place(kind.rpartition("/")[0], anchor): number for anchor, number in numbers.items()}
                for kind, numbers in kinds.items()
            }
            for root, kinds in found.items()
        }


def renamed(numbers: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Sphinx's keys are `PAGE/#ANCHOR`, and `PAGE/` for the page's own heading."""
    found = {}
    for key, number in numbers.items():
        page, sharp, anchor = key.partition("/#")
        found[f"{page}/#{place(page, anchor)}" if sharp else key] = number
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the place of Sphinx's builder."""
    app.add_builder(SinglePage, override=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
