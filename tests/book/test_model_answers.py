"""The pages of model answers: whole, made from the sources, and gone when the switch is off."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest
import yaml
from pages import BOOK, ROOT

pytest.importorskip("sphinx")
sys.path.insert(0, str(BOOK / "_ext"))

import model_answers

SOURCES = model_answers.notebooks()
FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_exercise_has_its_answer_on_the_page(source):
    page = model_answers.page(source)
    cells = jupytext.read(source).cells
    solutions = [c.source for c in cells if c.cell_type == "code" and c.metadata["nbgrader"]["solution"]]
    shown = FENCE.findall(page)
    assert len(shown) == len(solutions)
    for code, solution in zip(shown, solutions, strict=True):
        compile(code, source.name, "exec")
        bare = [line for line in solution.splitlines() if "### " not in line]
        assert code.split() == "\n".join(bare).split()
    headings = [c.source.splitlines()[0] for c in cells if c.source.startswith("## ")]
    assert all(f"\n{heading}\n" in page for heading in headings)
    answers = sum(c.cell_type == "markdown" and c.metadata["nbgrader"]["solution"] for c in cells)
    assert page.count("{admonition} A model answer") == page.count("{admonition} How it is marked") == answers
    assert "{admonition} Mistakes that the tests know" in page
    assert "### BEGIN" not in page
    assert "AUTOTEST" not in page
    assert "@@" not in page


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_reasons_belong_to_exercises_and_are_complete_where_there_are_any(source):
    cells = jupytext.read(source).cells
    leads = {c.metadata["nbgrader"]["grade_id"] for c in cells if c.source.startswith("## Exercise")}
    reasons = model_answers.reasons(source)
    assert set(reasons) in (leads, set())
    page = model_answers.page(source)
    assert all(text.strip() in page for text in reasons.values())


def test_the_order_is_that_of_the_chapters():
    names = [source.parent.name for source in SOURCES]
    assert names == sorted(names, key=model_answers.ORDER.index)
    lstm = [source.stem for source in SOURCES if source.parent.name == "lstm"]
    assert lstm == ["scalar_lstm", "vector_lstm", "torch_lstm"]


def test_contents_gain_one_part_before_the_reference():
    table = model_answers.contents(["one", "two"])
    captions = [part["caption"] for part in table["parts"]]
    assert captions[-2:] == ["Model answers", "Reference"]
    assert "answers" not in (ROOT / "_toc.yml").read_text(encoding="utf-8")


def test_a_page_whose_text_is_the_same_is_left_alone_and_an_old_one_goes(tmp_path):
    (tmp_path / "solutions").symlink_to(ROOT / "solutions")
    made = model_answers.write(tmp_path)
    folder = tmp_path / model_answers.FOLDER
    (folder / "old.md").write_text("# Old\n", encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.md")}
    assert model_answers.write(tmp_path) == made == [source.stem for source in SOURCES]
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.md")}
    assert after == {name: time for name, time in before.items() if name != "old.md"}


# --- the switch, on a small site that has the course's extension and two pages ---------------------------------------

PHRASE = "quokkanaut"


@pytest.fixture
def small(tmp_path):
    """A course with one notebook whose model answer holds a word that stands nowhere else."""
    root = tmp_path / "course"
    (root / "book" / "_ext").mkdir(parents=True)
    (root / "solutions" / "lstm").mkdir(parents=True)
    shutil.copy(BOOK / "_ext" / "model_answers.py", root / "book" / "_ext")
    text = (ROOT / "solutions" / "lstm" / "scalar_lstm.py").read_text(encoding="utf-8")
    text = text.replace("    if a >= 0:", f"    # {PHRASE}\n    if a >= 0:", 1)
    (root / "solutions" / "lstm" / "scalar_lstm.py").write_text(text, encoding="utf-8")
    (root / "book" / "index.md").write_text("# A course\n\nHello.\n", encoding="utf-8")
    (root / "book" / "reference.md").write_text("# Reference\n\nFacts.\n", encoding="utf-8")
    toc = {
        "format": "jb-book",
        "root": "book/index",
        "parts": [{"caption": "Reference", "chapters": [{"file": "book/reference"}]}],
    }
    (root / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    return root


def build(root, answers):
    """Build the small site; gives its folder."""
    config = {
        "title": "A course",
        "only_build_toc_files": True,
        "execute": {"execute_notebooks": "off"},
        "sphinx": {
            "recursive_update": True,
            "local_extensions": {"model_answers": "book/_ext"},
            "config": {"model_answers": answers, "include_patterns": ["book/**"], "language": "en"},
        },
    }
    (root / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "--keep-going"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return root / "_build" / "html"


def holding(site, word):
    """Files of the site that hold a word, the search index among them."""
    return sorted(
        path.relative_to(site).as_posix()
        for path in site.rglob("*")
        if path.is_file()
        and "_static" not in path.parts
        and word in path.read_text(encoding="utf-8", errors="ignore")
    )


def test_the_switch_leaves_nothing_of_them_in_the_site(small):
    site = build(small, answers=True)
    page = "book/answers/scalar_lstm"
    assert {f"{page}.html", "searchindex.js"} <= set(holding(site, PHRASE))
    assert "book/index.html" in holding(site, "Model answers")

    # The same folder, built again without them.
    site = build(small, answers=False)
    for word in (PHRASE, "answers/", "Model answers", "scalar_lstm"):
        assert holding(site, word) == [], word
    assert not (small / "book" / "answers").exists()
    assert "Hello." in (site / "book" / "index.html").read_text(encoding="utf-8")

    # And they come back.
    site = build(small, answers=True)
    assert f"{page}.html" in holding(site, PHRASE)


def test_the_course_has_them_on_by_default():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert config["sphinx"]["config"]["model_answers"] is True
    assert config["sphinx"]["local_extensions"]["model_answers"] == "book/_ext"
