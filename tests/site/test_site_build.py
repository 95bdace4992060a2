"""A faulty book does not build: the project's own settings and its own command, on books of one page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built_site import ROOT

pytestmark = pytest.mark.site

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
        r"^\t@?(jupyter-book build .*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(found) == 1, f"expected one line that builds the book in the Makefile, found {found}"
    return shlex.split(found[0])


def built(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Build a book of one page that holds `body`, with the course's configuration as it is."""
    shutil.copy(ROOT / "_config.yml", folder / "_config.yml")
    (folder / "book").mkdir()
    for name in ("_ext", "_static"):
        shutil.copytree(
            ROOT / "book" / name, folder / "book" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "book" / "references.bib", folder / "book" / "references.bib")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/index\n", encoding="utf-8")
    (folder / "book" / "index.md").write_text(HEAD + body, encoding="utf-8")
    environment = dict(os.environ)
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
