"""The report about a graded assignment: its numbers against ones computed by hand, and the page that shows them."""

import html
import inspect
import math

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.api import Gradebook

from classroom.__main__ import main
from classroom.class_report import class_numbers, report_page, write_report
from classroom.class_report.numbers import FEWEST, ClassNumbers, Question, discrimination
from classroom.errors import CourseError
from classroom.feedback import FINDING
from classroom.gradebook import COURSE_ID
from classroom.grading.store import Store
from classroom.grading.work import FAILED, GRADED, MISSING, REPAIRED, Master, Result, Task, grade_one
from classroom.pages import bins, nice_edges
from refcells.autotest import WrongAnswer, check, judge
from refcells.autotest.calls import NOT_WRITTEN

SWAPPED = ("scalar.lstm_gates", "gates swapped i f")
MOST = {"one": {"test-a": 2.0, "test-b": 4.0, "words": 2.0}, "two": {"test-c": 2.0}}
# Points on a, b, words (None: not read yet), c; in this order the table of the hand-computed numbers below is read.
POINTS = {
    "ann": (2, 4, 2, 2),
    "ben": (2, 4, 1, 2),
    "cem": (2, 2, 2, 0),
    "dóra": (0, 2, 0, 2),
    "eve <b>": (0, 0, 0, 0),
    "fay": (2, 0, 1, 0),
}


def marks(name, points=None):
    kept = {
        "grade_id": name,
        "grade": points is not None,
        "solution": False,
        "locked": True,
        "points": points,
    }
    return {"nbgrader": kept}


def graded_notebook(student, failed):
    """A graded notebook whose tests in `failed` say (question, mistake or None, message)."""
    cells = []
    for name, (question, mistake, message) in failed.items():
        error = new_output("error", ename="WrongAnswer", evalue=message, traceback=[])
        metadata = marks(name, 2.0)
        if mistake:
            metadata[FINDING] = {"question": question, "mistake": mistake}
        cells.append(new_code_cell("judge()", metadata=metadata, outputs=[error]))
    return nbformat.writes(new_notebook(cells=cells))


def result(student, notebook, points, status=GRADED, seconds=2.0, notes=(), executed=None):
    return Result(student, notebook, "d", status, list(notes), points, [], executed, seconds)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A gradebook of two notebooks, six graded students, and one each that failed, is missing, repaired, slow, ungraded."""
    root = tmp_path_factory.mktemp("report")
    url = f"sqlite:///{root / 'gradebook.db'}"
    with Gradebook(url, COURSE_ID) as book:
        book.add_assignment("small")
        for notebook, cells in MOST.items():
            book.add_notebook(notebook, "small")
            for name, most in cells.items():
                kind = "markdown" if name == "words" else "code"
                book.add_grade_cell(name, notebook, "small", max_score=most, cell_type=kind)
                book.add_source_cell(name, notebook, "small", cell_type=kind)
        book.add_student("absent")
    (root / "exercises" / "small").mkdir(parents=True)
    lead = new_markdown_cell("## Exercise 1: a share (2 points, 5 minutes)\n\nText.", metadata=marks("lead"))
    order = [lead, *(new_code_cell("x", metadata=marks(name, 2.0)) for name in ("test-b", "test-a", "words"))]
    nbformat.write(new_notebook(cells=order), root / "exercises" / "small" / "one.ipynb")
    swapped = "gates: i differs\nThis is what comes out when ..."
    failures = {
        "dóra": {"test-a": (*SWAPPED, swapped)},
        "eve <b>": {
            "test-a": (*SWAPPED, swapped),
            "test-b": (*SWAPPED, swapped),
            "test-c": ("", None, f"c: {NOT_WRITTEN}"),
        },
        "fay": {"test-b": ("", None, "<script>alert(1)</script> differs\nmore")},
    }
    with Store(url) as store:
        for student, (a, b, words, c) in POINTS.items():
            seconds = 30.0 if student == "cem" else 2.0
            status, notes = (REPAIRED, ["a cell was split"]) if student == "ben" else (GRADED, [])
            one = result(student, "one", {"test-a": a, "test-b": b, "words": None}, status, seconds, notes)
            store.save("small", [one, result(student, "two", {"test-c": c}, seconds=1.0)])
            for notebook in ("one", "two"):
                folder = root / "autograded" / student / "small"
                folder.mkdir(parents=True, exist_ok=True)
                own = {k: v for k, v in failures.get(student, {}).items() if k in MOST[notebook]}
                (folder / f"{notebook}.ipynb").write_text(graded_notebook(student, own), encoding="utf-8")
            for grade in store.gradebook.find_submission_notebook("one", "small", student).grades:
                if grade.name == "words":
                    grade.manual_score, grade.needs_manual_grade = words, False
            store.gradebook.db.commit()
        zeros = {"test-a": 0.0, "test-b": 0.0, "words": 0.0}
        store.save(
            "small",
            [
                result("gil", "one", zeros, FAILED, 0.0, ["the file is empty"]),
                result("gil", "two", {"test-c": 2}, seconds=1.0),
            ],
        )
        store.save(
            "small",
            [
                result("hao", "one", zeros, MISSING, 0.0, ["the notebook was not handed in"]),
                result("hao", "two", {"test-c": 2}, seconds=1.0),
            ],
        )
    (root / "submitted" / "ines" / "small").mkdir(parents=True)
    return root


@pytest.fixture(scope="module")
def numbers(course):
    return class_numbers(course, "small")


@pytest.fixture(scope="module")
def soup(numbers):
    return BeautifulSoup(report_page(numbers), "html.parser")


def question(numbers, name):
    return next(one for one in numbers.questions if one.name == name)


def pearson(xs, ys):
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    cross = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    return cross / math.sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_totals_are_of_those_whose_notebooks_are_all_graded(numbers):
    assert numbers.totals == {"ann": 10, "ben": 9, "cem": 6, "dóra": 4, "eve <b>": 0, "fay": 3}
    assert numbers.total_most == 10
    assert numbers.apart == ["absent", "gil", "hao", "ines"]


def test_difficulty_is_the_mean_share_of_the_points(numbers):
    assert question(numbers, "test-a").mean == pytest.approx(4 / 6)
    assert question(numbers, "test-b").mean == pytest.approx((1 + 1 + 0.5 + 0.5 + 0 + 0) / 6)
    assert question(numbers, "words").mean == pytest.approx(6 / 12)
    # The other notebook of gil and hao was graded, and counts for its question.
    assert question(numbers, "test-c").mean == pytest.approx(5 / 8)
    b = question(numbers, "test-b")
    assert (b.full, b.none, len(b.shares)) == (2, 2, 6)


def test_discrimination_leaves_the_question_itself_out_of_the_total(numbers):
    own = [2, 2, 2, 0, 0, 2]
    others = [8, 7, 4, 4, 0, 1]
    assert question(numbers, "test-a").discrimination.r == pytest.approx(pearson(own, others))
    assert question(numbers, "test-a").discrimination.r == pytest.approx(8 / math.sqrt(48 / 9 * 50))


@pytest.mark.parametrize(
    ("own", "others", "why"),
    [
        ([0, 1, 0, 1], [3, 1, 2, 4], f"fewer than {FEWEST} students"),
        ([1.0] * 6, [1, 2, 3, 4, 5, 6], "everybody has the same points on it"),
        ([1, 0, 1, 0, 1, 0], [0.3, 0.1 + 0.2] * 3, "everybody has the same points on the others"),
    ],
)
def test_discrimination_is_undefined_and_says_why(own, others, why):
    found = discrimination(own, others)
    assert (found.r, found.why) == (None, why)


def test_interval_is_fishers():
    # r = 0.5 of 28 students: z = 0.5493 ± 1.96 / 5, so tanh(0.1573) and tanh(0.9413).
    own = [1.0, -1.0] * 14
    others = [
        x + y
        for x, y in zip(own, [math.sqrt(3), math.sqrt(3), -math.sqrt(3), -math.sqrt(3)] * 7, strict=True)
    ]
    found = discrimination(own, others)
    assert (found.r, found.low, found.high) == pytest.approx((0.5, 0.1560, 0.7358), abs=1e-4)
    assert discrimination(own, own).low == pytest.approx(1.0)


def test_misconceptions_are_counted_by_student_and_by_test(numbers):
    (found,) = numbers.misconceptions
    assert found.name == SWAPPED[1]
    assert found.students == ("dóra", "eve <b>")
    assert found.where == (("one", "test-a", 2), ("one", "test-b", 1))
    assert "input gate and the forget gate are swapped" in found.hint


def test_other_failures_keep_their_message(numbers):
    assert [(f.notebook, f.question, f.students) for f in numbers.failures] == [
        ("one", "test-b", ("fay",)),
    ]
    assert numbers.unwritten == {"eve <b>": 1}


def test_questions_stand_in_the_releases_order_with_their_headings(numbers):
    assert [one.name for one in numbers.questions] == ["test-b", "test-a", "words", "test-c"]
    assert numbers.questions[0].title == "Exercise 1: a share"


def test_statuses_slow_ones_and_times(numbers):
    rows = {(one.student, one.notebook): one for one in numbers.submissions}
    assert rows["gil", "one"].status == FAILED
    assert rows["hao", "one"].status == MISSING
    assert rows["ben", "one"].status == REPAIRED
    assert rows["ines", "one"].status == "not graded"
    assert rows["absent", "two"].status == MISSING
    assert [key for key, one in rows.items() if one.slow] == [("cem", "one")]
    assert [(book.name, len(book.seconds), book.median) for book in numbers.notebooks] == [
        ("one", 6, 2.0),
        ("two", 8, 1.0),
    ]


def test_a_question_that_waits_is_left_out_of_the_totals(course, tmp_path):
    copied = tmp_path / "gradebook.db"
    copied.write_bytes((course / "gradebook.db").read_bytes())
    with Gradebook(f"sqlite:///{copied}", COURSE_ID) as book:
        grade = book.find_grade("words", "one", "small", "ann")
        grade.manual_score, grade.needs_manual_grade = None, True
        book.db.commit()
    numbers = class_numbers(course, "small", f"sqlite:///{copied}")
    assert [one.name for one in numbers.left_out] == ["words"]
    assert (numbers.totals["ann"], numbers.total_most, numbers.waiting) == (8, 8, 1)
    assert question(numbers, "words").discrimination.why == "some answers wait for you"
    text = BeautifulSoup(report_page(numbers), "html.parser").get_text(" ", strip=True)
    assert "Not counted yet, because some answers still wait: words (2 points)" in text
    assert "1 answer to read" in text


def test_bars_hold_their_lower_edge_and_the_last_its_upper():
    assert [one.count for one in bins([0, 9.9, 10, 100, 99], range(0, 101, 10), "")] == [2, 1, *[0] * 7, 2]
    assert nice_edges(0.0) == [0, 1]
    assert nice_edges(37.2) == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    for largest in (1e-3, 0.7, 1.0, 9.99, 10, 123.4, 5e4):
        edges = nice_edges(largest)
        assert edges[-1] >= largest > edges[-2]
        assert len(edges) <= 11


# --- the mistake's name, from the verdict to the graded notebook ------------------------------------------------------


def lstm_gates_swapped(x, h_prev, w_x, w_h, b):
    def sigmoid(a):
        return 1 / (1 + math.exp(-a))

    a = [w_x[k] * x + w_h[k] * h_prev + b[k] for k in range(4)]
    return sigmoid(a[1]), sigmoid(a[0]), math.tanh(a[2]), sigmoid(a[3])


def test_a_failed_check_names_the_question_and_the_mistake():
    with pytest.raises(WrongAnswer) as failed:
        check(lambda: judge(SWAPPED[0], lstm_gates_swapped), "passed", "x")
    assert (failed.value.question, failed.value.mistake) == SWAPPED


@pytest.mark.pipeline
def test_a_graded_notebook_holds_them_whatever_the_submission_says():
    lines = ["import math", *inspect.getsource(lstm_gates_swapped).splitlines()]
    answer = {
        "nbgrader": {
            "grade_id": "gates",
            "grade": False,
            "solution": True,
            "locked": False,
            "schema_version": 3,
        }
    }
    cells = [
        new_code_cell("from refcells.autotest import check, judge", metadata=marks("imports") | {"x": 1}),
        new_code_cell("\n".join(lines), metadata=answer),
    ]
    for name, code in (
        ("test-gates", f'check(lambda: judge("{SWAPPED[0]}", lstm_gates_swapped), "passed", "x")'),
        ("test-right", "assert lstm_gates_swapped"),
    ):
        cells.append(new_code_cell(code, metadata=marks(name, 2.0)))
        cells[-1].metadata[FINDING] = {"question": "forged", "mistake": "forged"}
    content = nbformat.writes(new_notebook(cells=cells))
    graded = grade_one(Task("ann", Master("one", content), content.encode()))
    assert graded.points == {"test-gates": 0.0, "test-right": 2.0}
    found = {
        cell.metadata.nbgrader.grade_id: cell.metadata.get(FINDING)
        for cell in nbformat.reads(graded.executed, 4).cells
    }
    assert found == {
        "imports": None,
        "gates": None,
        "test-gates": {"question": SWAPPED[0], "mistake": SWAPPED[1]},
        "test-right": None,
    }


# --- the page --------------------------------------------------------------------------------------------------------


def test_page_is_the_same_at_every_run(course, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(course, "small", tmp_path / "new" / name)
    assert (tmp_path / "new" / "a.html").read_bytes() == (tmp_path / "new" / "b.html").read_bytes()


def test_page_needs_nothing_from_elsewhere_and_runs_nothing(numbers, soup):
    assert soup.find(["script", "iframe", "object", "embed"]) is None
    addresses = [
        tag[key] for tag in soup.find_all(True) for key in ("href", "src", "action") if tag.has_attr(key)
    ]
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "url(" not in report_page(numbers)
    assert "default-src 'none'" in soup.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]


def test_what_students_wrote_is_text(soup):
    assert soup.find("b") is None
    assert "eve <b>" in soup.get_text()
    assert "<script>alert(1)</script> differs" in soup.get_text()


def test_page_says_whom_it_is_for(soup):
    text = " ".join(soup.get_text().split())
    assert "for instructors" in text
    assert "This page names students." in text


def test_tables_have_scopes_and_figures_have_words(soup):
    assert all(head.get("scope") in ("col", "row", "rowgroup") for head in soup.find_all("th"))
    for table in soup.find_all("table"):
        widths = {
            sum(int(cell.get("colspan", 1)) for cell in row.find_all(["th", "td"], recursive=False))
            for row in table.find_all("tr")
        }
        assert len(widths) == 1, table
    for svg in soup.find_all("svg"):
        if svg.get("aria-hidden") != "true":
            assert svg["role"] == "img"
            assert all(soup.find(id=part).get_text(strip=True) for part in svg["aria-labelledby"].split())
    identifiers = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(identifiers) == len(set(identifiers))
    assert {tag["href"][1:] for tag in soup.select("nav a")} <= set(identifiers)


def section(soup, anchor):
    """The rows of all tables between a heading and the next."""
    rows = []
    for tag in soup.find(id=anchor).find_all_next(["h2", "tr"]):
        if tag.name == "h2":
            break
        rows.append([" ".join(cell.get_text(" ").split()) for cell in tag.find_all(["th", "td"])])
    return rows


def test_page_shows_the_numbers(soup):
    scores = {row[0]: row[1:] for row in section(soup, "scores")}
    assert scores["0 to under 10 %"] == ["1"]
    assert scores["90 to 100 %"] == ["2"]
    assert scores["mean"] == ["5.3", "53 %"]
    assert scores["median"] == ["5", "50 %"]
    questions = {row[0]: row[1:] for row in section(soup, "questions")}
    row = questions["Exercise 1: a share test-a"]
    assert row[:4] == ["2", "6", "67 %", "4 / 0 / 2"]
    assert row[4].startswith("0.49 ")
    assert questions["Exercise 1: a share words , by hand"][0] == "2"
    mistakes = section(soup, "mistakes")
    assert mistakes[1][1].startswith("2 25 % of 8")
    assert "one/test-a × 2" in mistakes[1][2]
    todo = section(soup, "todo")
    assert ["gil one", "failed the file is empty", "0.0 s"] in todo
    assert ["cem one", "graded slow took far longer than the others", "30.0 s"] in todo
    assert ["ben one", "repaired a cell was split", "2.0 s"] in todo
    students = {row[0]: row[1:] for row in section(soup, "students")}
    assert students["ben"] == ["7 repaired", "2", "9 / 10", "", "3.0 s"]
    assert students["ines"][:2] == ["not graded", "not graded"]


def test_a_class_of_nobody_has_a_page():
    page = report_page(ClassNumbers("small", [], [], [Question("one", "test-a", "", False, 2.0)]))
    assert "No student's notebooks are all graded yet" in html.unescape(page)


def test_command(course, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["--course", str(course), "report", "small", "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert "how the class did" in out.read_text(encoding="utf-8")


def test_what_is_not_there_is_named(course, tmp_path, capsys):
    with pytest.raises(CourseError, match="no assignment 'smal'; it holds: small"):
        class_numbers(course, "smal")
    assert main(["--course", str(tmp_path), "report", "small"]) == 2
    assert "no gradebook" in capsys.readouterr().err
    assert not (tmp_path / "gradebook.db").exists()
