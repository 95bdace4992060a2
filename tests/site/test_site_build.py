"""A faulty book does not build: the project's own settings and its own command, on books of one page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from built_site import ROOT

pytestmark = pytest.mark.site


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


HEAD = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A book of one page

"""


def build_command() -> list[str]:
    """What `make` runs to build the site."""
    found = re.findall(
        r"^\t@?(jupyter-book build (?!.*--builder).*)$",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(found) == 1, f"expected one line that builds the book in the Makefile, found {found}"
    return shlex.split(found[0])


def laid_out(folder: Path, body: str, **pages: str) -> None:
    """Write a book whose first page holds `body`, and further `pages` by name, with the course's configuration."""
    shutil.copy(ROOT / "_config.yml", folder / "_config.yml")
    (folder / "book").mkdir()
    for name in ("_ext", "_static"):
        shutil.copytree(
            ROOT / "book" / name, folder / "book" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "book" / "references.bib", folder / "book" / "references.bib")
    chapters = "chapters:\n" + "".join(f"  - file: book/{name}\n" for name in pages) if pages else ""
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/index\n" + chapters, encoding="utf-8")
    for name, text in {"index": body, **pages}.items():
        (folder / "book" / f"{name}.md").write_text(HEAD + text, encoding="utf-8")


def built(folder: Path, body: str, **pages: str) -> subprocess.CompletedProcess[str]:
    """Write such a book and build it."""
    laid_out(folder, body, **pages)
    return build(folder)


def build(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command that `make` runs, in a folder that holds a book, with `variables` in its environment."""
    environment = {**os.environ, **variables}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    program, *arguments = build_command()
    done = subprocess.run(
        [shutil.which(program, path=environment["PATH"]) or program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    colours = re.compile(r"\x1b\[[\d;]*m")
    done.stdout, done.stderr = colours.sub("", done.stdout), colours.sub("", done.stderr)
    return done


def test_a_sound_page_builds(tmp_path):
    """The control: what the others change is what makes them fail."""
    done = built(tmp_path, "One cell, and $x^2$.\n\n```{code-cell} python3\nprint(6 * 7)\n```\n")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "_build" / "html" / "book" / "index.html").read_text(encoding="utf-8")
    assert "42" in page


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(
            '```{code-cell} python3\nraise ValueError("on purpose")\n```\n',
            "ValueError: on purpose",
            id="a cell raises",
        ),
        pytest.param(
            '```{code-cell} python3\nimport sys\nprint("on purpose", file=sys.stderr)\n```\n',
            "stderr",
            id="a cell writes to stderr",
        ),
        pytest.param(
            "See {ref}`nowhere-at-all`.\n",
            "WARNING: undefined label: 'nowhere-at-all'",
            id="a reference leads nowhere",
        ),
    ],
)
def test_a_faulty_page_fails_the_build(tmp_path, body, reason):
    done = built(tmp_path, body)
    output = done.stdout + done.stderr
    assert done.returncode != 0, output
    assert re.search(reason, output), output


def waits_for(mine: str, other: str) -> str:
    """A page that says that it runs, and waits until the other one does."""
    return f"""```{{code-cell}} python3
import time
from pathlib import Path

with Path("runs.txt").open("a") as log:
    log.write("{mine} ")
until = time.monotonic() + 60
while "{other}" not in Path("runs.txt").read_text().split():
    assert time.monotonic() < until, "the other page does not run beside this one"
    time.sleep(0.05)
print("{mine} has seen {other}")
```
"""


@pytest.mark.skipif(cores() < 2, reason="one core: pages are run one after the other")
def test_pages_are_run_side_by_side_and_once(tmp_path):
    pages = {"one": waits_for("one", "two"), "two": waits_for("two", "one")}
    done = built(tmp_path, "No code here.\n", **pages)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, other in (("one", "two"), ("two", "one")):
        page = (tmp_path / "_build" / "html" / "book" / f"{name}.html").read_text(encoding="utf-8")
        assert f"{name} has seen {other}" in page
    log = tmp_path / "book" / "runs.txt"
    assert sorted(log.read_text().split()) == ["one", "two"]

    # A change of the text alone runs nothing again.
    source = tmp_path / "book" / "one.md"
    source.write_text(source.read_text(encoding="utf-8") + "\nOne sentence more.\n", encoding="utf-8")
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "One sentence more." in (tmp_path / "_build" / "html" / "book" / "one.html").read_text("utf-8")
    assert sorted(log.read_text().split()) == ["one", "two"]


def test_a_change_of_what_makes_the_pages_reaches_every_page(tmp_path):
    """A page and the scripts that it loads are made for each other: an old page beside new scripts would be broken."""
    done = built(tmp_path, "No code here.\n")
    assert done.returncode == 0, done.stdout + done.stderr
    source = tmp_path / "book" / "_ext" / "light_pages.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("const courseStorage = ") == 1
    source.write_text(
        text.replace("const courseStorage = ", "/* changed */ const courseStorage = "), encoding="utf-8"
    )
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "_build" / "html" / "book" / "index.html").read_text(encoding="utf-8")
    assert "/* changed */ const courseStorage" in page


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        pytest.param('raise ValueError("on purpose")', "ValueError: on purpose", id="a cell raises"),
        pytest.param(
            'import sys; print("on purpose", file=sys.stderr)', "stderr", id="a cell writes to stderr"
        ),
    ],
)
def test_a_faulty_page_among_others_is_named(tmp_path, statement, reason):
    cell = "```{{code-cell}} python3\n{}\n```\n"
    done = built(
        tmp_path,
        "No code here.\n",
        sound=cell.format("print(6 * 7)"),
        faulty=cell.format(statement),
    )
    output = done.stdout + done.stderr
    assert done.returncode != 0, output
    complaints = [line for line in output.splitlines() if re.search("WARNING|ERROR", line)]
    assert any("faulty.md" in line for line in complaints), output
    assert not any("sound.md" in line for line in complaints), output
    assert reason in output, output


TABLE = """The notebook, and where else it opens.

| notebook | what it asks |
| --- | --- |
| {download}`one.ipynb <../exercises/lstm/one.ipynb>` | a gate |
"""


def test_a_book_with_addresses_names_them(tmp_path):
    """With the repository's address in its one place, notebooks open elsewhere; with the site's, pages name themselves."""
    laid_out(
        tmp_path,
        TABLE,
        two="A page of its own, with a sentence that is long enough to stand as its description.\n",
    )
    (tmp_path / "exercises" / "lstm").mkdir(parents=True)
    (tmp_path / "exercises" / "lstm" / "one.ipynb").write_text("{}", encoding="utf-8")
    config = tmp_path / "_config.yml"
    given = config.read_text(encoding="utf-8")
    assert given.count('  url: ""') == 1
    config.write_text(given.replace('  url: ""', "  url: https://github.com/some/course"), encoding="utf-8")
    done = build(tmp_path, SITE_URL="https://course.example/reader/")
    assert done.returncode == 0, done.stdout + done.stderr
    html = tmp_path / "_build" / "html"

    page = BeautifulSoup((html / "book" / "index.html").read_text(encoding="utf-8"), "html.parser")
    led = {link.get_text(): link["href"] for link in page.select("article a.reference.external")}
    assert led["Colab"].endswith("/github/some/course/blob/main/exercises/lstm/one.ipynb")
    assert led["Binder"].endswith("/gh/some/course/main?urlpath=lab/tree/exercises/lstm/one.ipynb")
    assert "run the notebook's first cell" in page.select_one(".run-elsewhere").get_text()

    def said(soup, **which):
        return [tag["content"] for tag in soup.find_all("meta", attrs=which)]

    (card,) = said(page, property="og:image")
    assert card == "https://course.example/reader/_static/card.png"
    assert (html / "_static" / "card.png").is_file()
    assert said(page, property="og:url") == ["https://course.example/reader/book/index.html"]
    two = BeautifulSoup((html / "book" / "two.html").read_text(encoding="utf-8"), "html.parser")
    assert said(two, name="description") == [
        "A page of its own, with a sentence that is long enough to stand as its description."
    ]
    assert two.select_one('link[rel="canonical"]')["href"] == "https://course.example/reader/book/two.html"
    listed = re.findall(r"<loc>(.*?)</loc>", (html / "sitemap.xml").read_text(encoding="utf-8"))
    assert listed == [f"https://course.example/reader/book/{name}.html" for name in ("index", "two")]
    assert 'let base = "/reader/";' in (html / "404.html").read_text(encoding="utf-8")
    first = BeautifulSoup((html / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert (
        first.select_one('link[rel="canonical"]')["href"] == "https://course.example/reader/book/index.html"
    )
    assert said(first, property="og:image") == [card]
    assert said(first, name="description") == said(page, name="description")
