"""Links that open an exercise on Colab and Binder, where the repository has an address: book/_ext/run_elsewhere.py."""

import os
import stat
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from pages import BOOK, loaded

pytest.importorskip("sphinx")

ROOT = BOOK.parent


@pytest.fixture(scope="module")
def elsewhere():
    return loaded(BOOK / "_ext" / "run_elsewhere.py")


TARGETS = (
    "../exercises/lstm/scalar_lstm.ipynb",
    "starters/capstone.ipynb",
    "starters/capstone.py",
    "data/runs.ipynb",
)


def page():
    from sphinx import addnodes

    doctree = new_document("x")
    table = nodes.table()
    for target in TARGETS:
        paragraph = nodes.paragraph("", "", addnodes.download_reference("", "x", reftarget=target))
        table += nodes.row("", nodes.entry("", paragraph))
    doctree += nodes.section("", table)
    return doctree


def offered(elsewhere, **options):
    doctree = page()
    app = SimpleNamespace(
        config=SimpleNamespace(html_theme_options=options), builder=SimpleNamespace(format="html")
    )
    elsewhere.offer(app, doctree, "book/lstm")
    return doctree


def outward(doctree) -> list[tuple[str, str]]:
    """Links to other sites, with their text."""
    return [(link.astext(), link["refuri"]) for link in doctree.findall(nodes.reference) if "refuri" in link]


def test_without_an_address_nothing_appears(elsewhere):
    for options in ({}, {"repository_url": ""}):
        doctree = offered(elsewhere, **options)
        assert outward(doctree) == []
        assert list(doctree.findall(nodes.note)) == []


def test_an_address_opens_the_exercise_there_and_says_what_to_run_first(elsewhere):
    doctree = offered(
        elsewhere, repository_url="https://github.com/some/course.git", repository_branch="main"
    )
    assert outward(doctree) == [
        (service, f"{host}/{path}")
        for path in ("exercises/lstm/scalar_lstm.ipynb", "book/starters/capstone.ipynb")
        for service, host in (
            ("Colab", "https://colab.research.google.com/github/some/course/blob/main"),
            ("Binder", "https://mybinder.org/v2/gh/some/course/main?urlpath=lab/tree"),
        )
    ]
    for notebook in TARGETS[:2]:
        assert (BOOK / notebook).is_file()
    (note,) = doctree.findall(nodes.note)
    assert "run the notebook's first cell" in note.astext()


def test_an_address_elsewhere_is_an_error(elsewhere):
    with pytest.raises(
        ValueError, match=r"expected https://github.com/owner/name, got 'https://gitlab.com/a/b'"
    ):
        offered(elsewhere, repository_url="https://gitlab.com/a/b")


def test_binder_installs_the_package():
    script = ROOT / ".binder" / "postBuild"
    assert '-e ".[student,torch]"' in script.read_text(encoding="utf-8")
    assert os.stat(script).st_mode & stat.S_IXUSR


def test_jupyterlab_opens_text_notebooks_as_it_opens_exercises():
    """The contents manager that jupytext gives JupyterLab reads both kinds as notebooks, under the course's own files."""
    pytest.importorskip("jupytext")
    from jupyter_server.services.contents.filemanager import FileContentsManager
    from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class as build

    manager = build(FileContentsManager)()
    manager.root_dir = str(ROOT)
    texts = sorted(ROOT.glob("solutions/*/*.py"))
    assert texts
    for path in (*texts[:1], *sorted(ROOT.glob("exercises/*/*.ipynb"))[:1]):
        model = manager.get(path.relative_to(ROOT).as_posix(), type="notebook", content=True)
        assert model["type"] == "notebook"
        assert len(model["content"]["cells"]) > 5
