"""Near-copies: what is found, what is not, and the page that shows two answers side by side.

The innocents are the independent right solutions of `tests/autotest/variants`, the guilty are disguised copies of them.
"""

import itertools
import random
import re
import time
from dataclasses import dataclass

import nbformat
import pytest
from bs4 import BeautifulSoup
from disguises import DISGUISES
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from classroom.__main__ import main
from classroom.course import ROOT, assignments, read_notebook, sources
from classroom.errors import CourseError
from classroom.sample import solution_cells
from classroom.similar import CODE_SHARE, PROSE_SHARE, compare_class, similar_page, text_table
from classroom.similar.compare import COMMON_FEWEST, FEWEST_CODE, _cells, _Question, _questions, alike
from classroom.similar.tokens import CODE_GRAM, code_tokens, grams, kept_names

# --- tokens ----------------------------------------------------------------------------------------------------------


def keys(source, keep=("np", "step")):
    return [gram.key for gram in grams(code_tokens(source, keep), CODE_GRAM)]


ONE = "def step(x, h):\n    a = x @ W + h\n    return np.tanh(a)\n"


@pytest.mark.parametrize(
    "same",
    [
        "def step(u, v):\n    q = u @ M + v\n    return np.tanh(q)\n",
        'def step(x, h):\n    """What it does."""\n    # and how\n    a = (x @ W) + h\n\n    return (np.tanh( a ))',
    ],
    ids=["renamed", "relaid"],
)
def test_what_is_easily_changed_is_gone(same):
    assert keys(same) == keys(ONE)


@pytest.mark.parametrize(
    "other",
    [
        ONE.replace("tanh", "exp"),
        ONE.replace("x @ W + h", "h @ W + h"),
        ONE.replace("+ h", "+ 1"),
        ONE.replace("np.tanh", "np"),
    ],
    ids=["another function", "another variable", "a number", "no attribute"],
)
def test_what_an_answer_says_stays(other):
    assert keys(other) != keys(ONE)


def test_numbers_are_values_and_strings_are_gone():
    assert keys("f(1.0, 'a', 1e3)") == keys('f(1., "bc", 1000.0)')
    assert keys("f(1.0, 2, 3)") != keys("f(1.5, 2, 3)")


def test_code_that_is_no_python_has_tokens():
    assert len(code_tokens("def f(x) return x +\n  ) ( '")) > 5
    assert keys("") == []


def test_the_course_gave_modules_and_functions():
    given = ["import math\nimport numpy as np", "from torch import nn, Tensor", "def step(x):\n    pass"]
    assert kept_names(given) == {"math", "np", "nn", "Tensor", "step"}


# --- calibration on the course's own material ---------------------------------------------------------------------------


@dataclass
class Case:
    """One question: how to read answers to it, the model answer first among independent right ones."""

    question: _Question
    keep: frozenset
    right: list


def material(names):
    for assignment in names:
        for source in sources(assignment):
            release = read_notebook(ROOT / "exercises" / assignment / f"{source.stem}.ipynb")
            keep = kept_names(cell.source for cell in release.cells if cell.cell_type == "code")
            model = solution_cells(read_notebook(source))
            written = {}
            text = (ROOT / "tests" / "autotest" / "variants" / assignment / source.name).read_text(
                encoding="utf-8"
            )
            for part in re.split(r"^# %% ", text, flags=re.MULTILINE)[1:]:
                head, _, body = part.partition("\n")
                written.setdefault(head.split(":")[0].strip(), []).append(body.strip())
            for question in _questions(release):
                if question.kind == "code":
                    yield Case(question, keep, [model[question.name], *written.get(question.name, [])])


def measured(names):
    """Shares of independent pairs, with the course's cells too, and of disguised copies; of answers that are long enough."""
    innocent, cells, guilty = [], [], {name: [] for name in DISGUISES}

    def share(left, right):
        smaller = min(len(left.prints), len(right.prints))
        return len(left.prints.keys() & right.prints.keys()) / smaller if smaller >= FEWEST_CODE else None

    for case in material(names):
        answers = [case.question.answer(f"{k}", text) for k, text in enumerate(case.right)]
        innocent += [share(left, right) for left, right in itertools.combinations(answers, 2)]
        theirs = list(_cells(case.question))
        cells += [share(left, right) for left in answers[1:] for right in theirs]
        for answer in answers:
            if len(answer.prints) < FEWEST_CODE:
                continue
            for name, disguise in DISGUISES.items():
                copied = disguise(answer.text, case.keep, random.Random(1))
                guilty[name].append(share(answer, case.question.answer("copy", copied)) or 0.0)
    return [s for s in innocent if s is not None], [s for s in cells if s is not None], guilty


def hold(names, fewest):
    innocent, cells, guilty = measured(names)
    found = {name: sum(s >= CODE_SHARE for s in shares) / len(shares) for name, shares in guilty.items()}
    print(
        f"{len(innocent)} independent pairs, largest share {max(innocent):.2f}; {len(cells)} with the course's cells, "
        f"largest {max(cells):.2f}; {len(guilty['renamed'])} copies, found: { {k: round(v, 3) for k, v in found.items()} }"
    )
    assert len(innocent) >= fewest
    assert sum(s >= CODE_SHARE for s in [*innocent, *cells]) == 0
    assert found["renamed"] == found["relaid"] == 1
    assert found["reordered"] > 0.95
    assert found["split"] > 0.9
    assert found["everything"] > 0.8


def test_independent_answers_are_left_alone_and_copies_are_found():
    hold(["rnn"], 40)


@pytest.mark.long
def test_the_same_on_every_assignment():
    hold(assignments(), 350)


# --- a class ---------------------------------------------------------------------------------------------------------

STUB = '    """One step.\n\n    Returns:\n        The new state.\n    """\n    # Your code here.\n    raise NotImplementedError("not written yet")'
RELEASED = {
    "short": f"def half(x):\n{STUB}",
    "long": f"def walk(x, h):\n{STUB}",
    "words": "*Your answer here.*",
}
SHORT = "def half(x):\n    return x / 2"
MODEL = """def walk(x, h):
    states = []
    for t in range(x.shape[1]):
        a = x[:, t] @ W_x.T + h @ W_h.T + b
        h = np.tanh(a)
        states.append(h)
    if not states:
        raise ValueError("no steps")
    return np.stack(states, axis=1), h"""
OTHER = """def walk(x, h):
    count = len(x[0])
    out = np.empty((len(x), count, h.shape[-1]))
    projected = np.einsum("btd,hd->bth", x, W_x) + b
    t = 0
    while t < count:
        out[:, t] = h = np.tanh(projected[:, t] + np.dot(h, np.transpose(W_h)))
        t += 1
    assert count > 0, "no steps"
    return out, out[:, -1, :].copy()"""
PROSE = (
    "A plain network passes its whole state through a matrix and a tanh at every step, so that what was stored early is "
    "mixed with all that came later, and after some dozens of steps nothing of it can be told from the noise of the rest."
)
OWN_WORDS = (
    "Because each update squashes everything again, an early input only survives as a tiny contribution, and its gradient, "
    "a product of many small factors, dies out before it could teach the weights anything about such a distant cause."
)


def cells(answers, solved=True):
    marks = {"schema_version": 3, "points": 1, "grade": False, "task": False}
    made = [
        new_code_cell(
            "import numpy as np",
            metadata={"nbgrader": {**marks, "grade_id": "imports", "locked": True, "solution": False}},
        )
    ]
    made.append(
        new_markdown_cell(
            "## What is lost?\n\nSay why early inputs are lost in a plain network, and by what.",
            metadata={"nbgrader": {**marks, "grade_id": "lead", "locked": True, "solution": False}},
        )
    )
    for name, text in {**RELEASED, **answers}.items():
        new = new_markdown_cell if name == "words" else new_code_cell
        made.append(
            new(text, metadata={"nbgrader": {**marks, "grade_id": name, "locked": False, "solution": True}})
        )
    for cell in made:
        cell.id = cell.metadata.nbgrader["grade_id"]
    return new_notebook(cells=made)


def make(root, students):
    for folder, answers in (
        ("exercises", {}),
        ("solutions", {"short": SHORT, "long": MODEL, "words": PROSE}),
    ):
        (root / folder / "small").mkdir(parents=True)
        nbformat.write(cells(answers), root / folder / "small" / "one.ipynb")
    for student, answers in students.items():
        folder = root / "submitted" / student / "small"
        folder.mkdir(parents=True)
        if isinstance(answers, bytes):
            (folder / "one.ipynb").write_bytes(answers)
        else:
            nbformat.write(cells(answers), folder / "one.ipynb")
    return root


def disguised(text, name="everything", seed=3):
    return DISGUISES[name](text, {"np", "walk", "half"}, random.Random(seed))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    light = PROSE.replace("early", "long ago").replace("some dozens of", "a few dozen")
    return make(
        tmp_path_factory.mktemp("similar"),
        {
            "ann": {"short": SHORT, "long": OTHER, "words": OWN_WORDS},
            "ben <i>": {
                "short": SHORT,
                "long": disguised(OTHER, "renamed") + "\n# <b>mine</b>",
                "words": "The tanh.",
            },
            "cem": {"short": SHORT, "long": disguised(MODEL, "relaid"), "words": light},
            "dan": {"short": SHORT},
            "eve": b"not a notebook",
            "fay": {"short": disguised(SHORT, "renamed"), "long": MODEL},
        },
    )


@pytest.fixture(scope="module")
def found(course):
    return compare_class(course, "small", progress=False)


def summary(pairs):
    return {(pair.left, pair.right): [match.question for match in pair.matches] for pair in pairs}


def test_copies_are_found_and_short_answers_are_left_alone(found):
    # cem and fay are like each other since both are like the model answer.
    assert summary(found.pairs) == {("ann", "ben <i>"): ["long"]}
    (pair,) = found.pairs
    assert pair.share == 1
    assert pair.lines == len(OTHER.splitlines())
    assert summary(found.course) == {
        ("cem", "the model answer"): ["long", "words"],
        ("fay", "the model answer"): ["long"],
    }


def test_how_many_wrote_the_model_answer(found):
    assert found.shared == [
        ("one", "short", 5, 5, False),
        ("one", "long", 2, 4, True),
        ("one", "words", 0, 2, True),
    ]


def test_what_cannot_be_read_is_named(found):
    ((student, notebook, reason),) = found.unreadable
    assert (student, notebook) == ("eve", "one")
    assert "no notebook" in reason


def test_prose_lightly_edited_is_found_and_quoting_the_question_is_not(found, course):
    prose = next(match for pair in found.course for match in pair.matches if match.question == "words")
    assert PROSE_SHARE < prose.share < 1
    release = read_notebook(course / "exercises" / "small" / "one.ipynb")
    question = next(one for one in _questions(release) if one.name == "words")
    assert not question.answer("ann", "Say why early inputs are lost in a plain network, and by what").prints


def test_what_many_wrote_is_what_the_question_asks_for(course):
    question = next(
        one
        for one in _questions(read_notebook(course / "exercises" / "small" / "one.ipynb"))
        if one.name == "long"
    )
    many = [question.answer(f"s{k}", MODEL) for k in range(COMMON_FEWEST + 1)]
    few = many[:COMMON_FEWEST]
    assert list(alike(many, [], CODE_SHARE, FEWEST_CODE)) == []
    assert len(list(alike(few, [], CODE_SHARE, FEWEST_CODE))) == COMMON_FEWEST * (COMMON_FEWEST - 1) / 2


def test_parts_that_both_have_are_marked_and_nothing_else(found):
    (match,) = found.pairs[0].matches
    marked = [match.right.text[start:end] for start, end in match.right_spans]
    assert not any("#" in text or '"""' in text for text in marked)
    assert "np.tanh" in "".join(marked)
    assert sorted(match.left_spans) == list(match.left_spans)


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_threshold_is_a_share(course, share):
    with pytest.raises(CourseError, match="expected a share above 0"):
        compare_class(course, "small", code_share=share, progress=False)


def test_what_is_not_there_is_named(course, tmp_path):
    with pytest.raises(CourseError, match="no released notebook"):
        compare_class(course, "smal", progress=False)
    make(tmp_path, {})
    with pytest.raises(CourseError, match="no submission of 'small'"):
        compare_class(tmp_path, "small", progress=False)


# --- what is shown ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def soup(found):
    return BeautifulSoup(similar_page(found), "html.parser")


def test_page_shows_both_answers_with_the_shared_parts_marked(soup, found):
    shown = soup.find(id="students-1")
    left, right = shown.find_all("section")
    assert (left.h5.get_text(), right.h5.get_text()) == ("ann", "ben <i>")
    assert left.pre.get_text() == OTHER
    (match,) = found.pairs[0].matches
    assert right.pre.get_text() == match.right.text
    assert [mark.get_text() for mark in right.find_all("mark")] == [
        match.right.text[a:b] for a, b in match.right_spans
    ]


def test_page_accuses_nobody_and_is_for_instructors(soup):
    text = " ".join(soup.get_text().split())
    for words in ("Look at these.", "proves nothing", "This page names students.", "for instructors"):
        assert words in text
    assert not re.search(r"plagiar|cheat|guilty|fraud", text, re.IGNORECASE)


def test_page_is_self_contained_and_what_students_wrote_is_text(soup, found, course):
    assert soup.find(["script", "i", "b", "iframe"]) is None
    assert all(tag["href"].startswith(("#", "data:")) for tag in soup.find_all(href=True))
    anchors = {tag["href"][1:] for tag in soup.find_all("a")}
    assert anchors <= {tag["id"] for tag in soup.find_all(id=True)}
    assert all(head.get("scope") for head in soup.find_all("th"))
    assert similar_page(compare_class(course, "small", progress=False)) == similar_page(found)


def test_command(course, tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    assert main(["--course", str(course), "similar", "small", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Look at these: students whose answers share much (1)" in told
    assert re.search(r"one +ann +ben <i> +100% +\d+ +long", told)
    assert "not compared: eve/one" in told
    assert out.exists()
    assert main(["--course", str(course), "similar", "small", "--threshold", "2"]) == 2


def test_nothing_alike_is_said(tmp_path):
    make(tmp_path, {"ann": {"long": OTHER}, "ben": {"short": SHORT}})
    none = compare_class(tmp_path, "small", progress=False)
    assert text_table(none) == "No two answers share more than the question asks for."
    assert "None share more than the question asks for." in similar_page(none)


@pytest.mark.long
def test_two_hundred_submissions_take_seconds(tmp_path):
    names = {
        f"s{k:03}": {"short": SHORT, "long": disguised(MODEL if k % 2 else OTHER, seed=k)} for k in range(200)
    }
    make(tmp_path, names)
    start = time.process_time()
    compare_class(tmp_path, "small", progress=False)
    assert time.process_time() - start < 60
