"""What the report says, as data: computed from the gradebook, the record of the grading, and the graded notebooks."""

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from classroom.course import read_notebook
from classroom.errors import CourseError
from classroom.feedback import FINDING, hint_of
from classroom.gradebook import database, find_assignment
from classroom.grading.run import content_of, students_of
from classroom.grading.status import has_points
from classroom.grading.store import Record, Store
from classroom.grading.work import GRADED, MISSING, NOT_GRADED, REPAIRED
from classroom.releases import Releases
from refcells.autotest.calls import NOT_WRITTEN

__all__ = [
    "FEWEST",
    "Answered",
    "ClassNumbers",
    "Discrimination",
    "Failure",
    "Misconception",
    "Notebook",
    "Question",
    "Submission",
    "class_numbers",
    "discrimination",
]

# With fewer students a correlation says nothing about a question.
FEWEST = 5

# A notebook is slow if it took this many times the median of its kind, and at least so many seconds more.
SLOW_TIMES, SLOW_MORE = 3.0, 5.0


@dataclass(frozen=True)
class Discrimination:
    """How well a question tells students apart: its corrected item-total correlation.

    Attributes:
        r: Pearson's correlation of the question's points with the points of all other questions; None if undefined.
        low: lower end of its 95 % interval, by Fisher's transformation.
        high: upper end.
        why: why it is undefined; empty if it is not.
    """

    r: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass
class Question:
    """One graded cell.

    Attributes:
        notebook: the notebook's name.
        name: the cell's grade id.
        title: the heading above it.
        by_hand: whether a person gives its points.
        most: points that can be had.
        shares: share of the points of each student who has some, by student.
        waiting: how many answers wait for a person.
        discrimination: how well it tells students apart.
    """

    notebook: str
    name: str
    title: str
    by_hand: bool
    most: float
    shares: dict[str, float] = field(default_factory=dict)
    waiting: int = 0
    discrimination: Discrimination = field(default_factory=Discrimination)

    @property
    def mean(self) -> float | None:
        """Its difficulty: the mean share of the points; None if nobody has any yet."""
        return math.fsum(self.shares.values()) / len(self.shares) if self.shares else None

    @property
    def full(self) -> int:
        """Students with all points."""
        return sum(share >= 1 for share in self.shares.values())

    @property
    def none(self) -> int:
        """Students with no point."""
        return sum(share <= 0 for share in self.shares.values())


@dataclass
class Submission:
    """One notebook of one student.

    Attributes:
        student: the student's id.
        notebook: its name.
        status: 'graded', 'repaired', 'failed', 'missing' or 'not graded'.
        points: points so far; None if there are none yet.
        most: points that can be had.
        waiting: answers that wait for a person.
        seconds: what grading took; None if it was not graded here.
        notes: what was repaired, or why it failed.
        slow: whether it took far longer than others.
    """

    student: str
    notebook: str
    status: str
    points: float | None
    most: float
    waiting: int
    seconds: float | None
    notes: list[str]
    slow: bool = False

    @property
    def counts(self) -> bool:
        """Whether its points were earned, and so belong in a statistic."""
        return self.status in (GRADED, REPAIRED)


@dataclass(frozen=True)
class Misconception:
    """One mistake of the catalogue, as tests named it.

    Attributes:
        name: its short name.
        hint: what students were told.
        students: who made it, each once.
        where: (notebook, test cell, how many students), most frequent first.
    """

    name: str
    hint: str
    students: tuple[str, ...]
    where: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Failure:
    """What students of a failed test were told, where no known mistake was recognised.

    Attributes:
        notebook: the notebook's name.
        question: the test cell's grade id.
        message: the message's first lines.
        students: who got it.
    """

    notebook: str
    question: str
    message: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class Notebook:
    """What grading one notebook took, over the class.

    Attributes:
        name: the notebook's name.
        seconds: of each submission, sorted.
    """

    name: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    @property
    def total(self) -> float:
        """All together."""
        return math.fsum(self.seconds)


@dataclass(frozen=True)
class Answered:
    """Who answers a release of a notebook.

    Attributes:
        notebook: the notebook's name.
        release: as `classroom status` names it: '1 (0.1.0), older', or 'unknown' for a file without a stamp.
        students: whose submissions do.
    """

    notebook: str
    release: str
    students: tuple[str, ...]


@dataclass
class ClassNumbers:
    """All that the page shows.

    Attributes:
        assignment: its name.
        students: everybody in the gradebook or in `submitted/`.
        submissions: a row for each student and notebook.
        questions: in the notebooks' order.
        misconceptions: most frequent first.
        failures: failed tests without a known mistake, by question, most frequent first.
        unwritten: by student, how many tests found an answer that is not written yet.
        notebooks: times.
        answered: which releases the submissions answer, of notebooks with more than one release.
        totals: points of students whose notebooks are all graded, over the questions that are graded for all of them.
        total_most: the points that these questions give.
        left_out: questions that wait for a person in some submission, or came after it was graded, and so are not in the
            totals.
        finished: when the last notebook was graded; empty if unknown.
    """

    assignment: str
    students: list[str]
    submissions: list[Submission]
    questions: list[Question]
    misconceptions: list[Misconception] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unwritten: dict[str, int] = field(default_factory=dict)
    notebooks: list[Notebook] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    totals: dict[str, float] = field(default_factory=dict)
    total_most: float = 0.0
    left_out: list[Question] = field(default_factory=list)
    finished: str = ""

    def count(self, status: str) -> int:
        """Notebooks of that status."""
        return sum(one.status == status for one in self.submissions)

    @property
    def waiting(self) -> int:
        """Answers that wait for a person."""
        return sum(one.waiting for one in self.submissions)

    @property
    def apart(self) -> list[str]:
        """Students who are not in the totals: something of theirs failed, is missing or was not graded."""
        return [student for student in self.students if student not in self.totals]


def discrimination(points: Sequence[float], others: Sequence[float]) -> Discrimination:
    """Corrected item-total correlation: of a question's points with the sum of all other questions' points.

    'Corrected' says that the question itself is not in the sum; else every question would correlate with its own part of
    it (Henrysson, 1963).

    Args:
        points: of each student, on the question.
        others: of the same students, on all others.
    """
    if len(points) < FEWEST:
        return Discrimination(why=f"fewer than {FEWEST} students")
    # Sums of points differ in their last bits only.
    own, rest = [round(x, 9) for x in points], [round(x, 9) for x in others]
    if len(set(own)) == 1:
        return Discrimination(why="everybody has the same points on it")
    if len(set(rest)) == 1:
        return Discrimination(why="everybody has the same points on the others")
    r = max(-1.0, min(1.0, statistics.correlation(own, rest)))
    if abs(r) > 1 - 1e-12:
        return Discrimination(r, r, r)
    half = statistics.NormalDist().inv_cdf(0.975) / math.sqrt(len(points) - 3)
    z = math.atanh(r)
    return Discrimination(r, math.tanh(z - half), math.tanh(z + half))


def class_numbers(course: Path, assignment: str, db_url: str | None = None) -> ClassNumbers:
    """Read what the grading left, and compute what the report shows.

    Args:
        course: the course's folder.
        assignment: its name.
        db_url: the gradebook's database; what nbgrader uses in the course's folder by default.

    Raises:
        CourseError: if there is no gradebook, or it does not hold the assignment.
    """
    with Store(database(course, db_url)) as store:
        found = find_assignment(store.gradebook, assignment)
        records = store.records(assignment)
        handed_in = set(students_of(course, assignment))
        graded = {one.student.id: {book.name: book for book in one.notebooks} for one in found.submissions}
        everybody = sorted(handed_in | graded.keys() | {student.id for student in store.gradebook.students})
        numbers = ClassNumbers(
            assignment, everybody, [], _questions(found, course / "exercises" / assignment)
        )
        by_cell = {(question.notebook, question.name): question for question in numbers.questions}
        points: dict[str, dict[tuple[str, str], float | None]] = {}
        for student in everybody:
            for name in sorted(book.name for book in found.notebooks):
                book = graded.get(student, {}).get(name)
                row = _submission(student, name, book, records.get((student, name)), student in handed_in)
                numbers.submissions.append(row)
                if book is None or not row.counts:
                    continue
                for grade in book.grades:
                    question = by_cell[name, grade.cell.name]
                    got = _points(grade)
                    points.setdefault(student, {})[name, grade.cell.name] = got
                    question.waiting += bool(grade.needs_manual_grade)
                    if got is not None and question.most:
                        question.shares[student] = got / question.most
        releases = Releases(store.gradebook, assignment)
    _totals(numbers, points)
    _times(numbers)
    _answered(numbers, releases, course / "submitted")
    _mistakes(numbers, course / "autograded")
    numbers.finished = max((record.finished for record in records.values()), default="")
    return numbers


def _points(grade: Any) -> float | None:
    """A person's points if there are any, else the tests', and extra credit; None while a person is waited for."""
    points = grade.manual_score if grade.manual_score is not None else grade.auto_score
    return None if points is None else float(points) + float(grade.extra_credit or 0)


def _submission(student: str, name: str, book: Any, record: Record | None, handed_in: bool) -> Submission:
    """One row, whichever of the two graders wrote it."""
    if record is not None:
        status, notes, seconds = record.status, record.notes, float(record.seconds)
    elif has_points(book):
        # nbgrader's own command and button leave no record beside the points.
        status, notes, seconds = GRADED, [], None
    else:
        status, notes, seconds = NOT_GRADED if handed_in else MISSING, [], None
    waiting = 0 if book is None else sum(bool(grade.needs_manual_grade) for grade in book.grades)
    points = None if book is None or status == NOT_GRADED else float(book.score)
    return Submission(
        student,
        name,
        status,
        points,
        0.0 if book is None else float(book.max_score),
        waiting,
        seconds if status != MISSING else None,
        list(notes),
    )


def _questions(assignment: Any, release: Path) -> list[Question]:
    """The graded cells in the notebooks' order, each with the heading that it stands under."""
    found = []
    for notebook in sorted(assignment.notebooks, key=lambda one: one.name):
        places, titles = _headings(release / f"{notebook.name}.ipynb")
        cells = sorted(notebook.grade_cells, key=lambda cell: (places.get(cell.name, len(places)), cell.name))
        for cell in cells:
            found.append(
                Question(
                    notebook.name,
                    cell.name,
                    titles.get(cell.name, ""),
                    cell.cell_type != "code",
                    float(cell.max_score),
                )
            )
    return found


def _headings(path: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Of a released notebook: the place of each cell, and the heading that it stands under."""
    places: dict[str, int] = {}
    titles: dict[str, str] = {}
    heading = ""
    try:
        cells = read_notebook(path).cells
    except CourseError:
        return places, titles  # the gradebook is enough to count
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown" and (line := re.search(r"^##+ (.+)$", cell.source, re.MULTILINE)):
            heading = re.sub(r"\s*\([^()]*\)\s*$", "", line[1])
        if name := cell.metadata.get("nbgrader", {}).get("grade_id"):
            places[name], titles[name] = place, heading
    return places, titles


def _totals(numbers: ClassNumbers, points: dict[str, dict[tuple[str, str], float | None]]) -> None:
    """Totals of those whose notebooks are all graded, over what is graded for all of them; and each question against the rest."""
    odd = {one.student for one in numbers.submissions if not one.counts}
    whole = {student: row for student, row in points.items() if student not in odd}
    for question in numbers.questions:
        cell = question.notebook, question.name
        if any(row.get(cell) is None for row in whole.values()):
            numbers.left_out.append(question)
    used = [question for question in numbers.questions if question not in numbers.left_out]
    numbers.total_most = math.fsum(question.most for question in used)
    keys = [(question.notebook, question.name) for question in used]
    table = {student: [float(row[key] or 0) for key in keys] for student, row in sorted(whole.items())}
    numbers.totals = {student: math.fsum(row) for student, row in table.items()}
    for place, question in enumerate(used):
        own = [row[place] for row in table.values()]
        rest = [math.fsum(row[:place] + row[place + 1 :]) for row in table.values()]
        question.discrimination = discrimination(own, rest)
    for question in numbers.left_out:
        why = "some answers wait for you" if question.waiting else "some were graded before the question came"
        question.discrimination = Discrimination(why=why)


def _times(numbers: ClassNumbers) -> None:
    """Times by notebook, and which were slow."""
    for name in sorted({one.notebook for one in numbers.submissions}):
        rows = [one for one in numbers.submissions if one.notebook == name and one.seconds is not None]
        timed = sorted(one.seconds for one in rows if one.seconds is not None and one.counts)
        if not timed:
            continue
        numbers.notebooks.append(Notebook(name, tuple(timed)))
        median = statistics.median(timed)
        for one in rows:
            seconds = one.seconds or 0.0
            one.slow = seconds > SLOW_TIMES * median and seconds > median + SLOW_MORE


def _answered(numbers: ClassNumbers, releases: Releases, submitted: Path) -> None:
    """Which releases the submissions answer, the newest last; what no release of this class is comes after them."""
    for name, known in sorted(releases.by_notebook.items()):
        if len(known) < 2:
            continue
        found: dict[str, list[str]] = {}
        for student in numbers.students:
            content = content_of(submitted / student / numbers.assignment / f"{name}.ipynb")
            if content is not None:
                found.setdefault(releases.answered(name, content), []).append(student)
        order = {told: one.number for one in known for told in (one.name, f"{one.name}, older")}
        for told in sorted(found, key=lambda told: (order.get(told, math.inf), told)):
            numbers.answered.append(Answered(name, told, tuple(found[told])))


def _mistakes(numbers: ClassNumbers, autograded: Path) -> None:
    """What failed tests said, from the notebooks as they were graded."""
    named: dict[str, dict[tuple[str, str], set[str]]] = {}
    asked: dict[tuple[str, str, str], str] = {}
    other: dict[tuple[str, str, str], set[str]] = {}
    for one in numbers.submissions:
        path = autograded / one.student / numbers.assignment / f"{one.notebook}.ipynb"
        if not one.counts or not path.is_file():
            continue
        for cell, question, mistake, message in _failed(read_notebook(path)):
            if mistake:
                named.setdefault(mistake, {}).setdefault((one.notebook, cell), set()).add(one.student)
                asked[mistake, one.notebook, cell] = question
            elif message.endswith(NOT_WRITTEN):
                numbers.unwritten[one.student] = numbers.unwritten.get(one.student, 0) + 1
            else:
                other.setdefault((one.notebook, cell, message), set()).add(one.student)
    for name, places in named.items():
        students = sorted(set().union(*places.values()))
        counted = sorted((-len(who), notebook, cell) for (notebook, cell), who in places.items())
        tests = tuple((notebook, cell, -count) for count, notebook, cell in counted)
        # The catalogue words a mistake for each question; the words of the one that it was named most often in.
        hint = hint_of(asked[name, tests[0][0], tests[0][1]], name)
        numbers.misconceptions.append(Misconception(name, hint, tuple(students), tests))
    numbers.misconceptions.sort(key=lambda found: (-len(found.students), found.name))
    order = {(question.notebook, question.name): place for place, question in enumerate(numbers.questions)}
    numbers.failures = sorted(
        (Failure(*key, tuple(sorted(who))) for key, who in other.items()),
        key=lambda found: (
            order.get((found.notebook, found.question), len(order)),
            -len(found.students),
            found.message,
        ),
    )


def _failed(notebook: Any) -> Iterable[tuple[str, str, str, str]]:
    """The failed tests of a graded notebook: the cell, the question, the mistake if one was recognised, and the message."""
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type != "code" or not marks.get("grade"):
            continue
        error = next((output for output in cell.outputs if output.output_type == "error"), None)
        if error is None:
            continue
        found = cell.metadata.get(FINDING, {})
        message = str(error.evalue).removeprefix("Not right yet. ").strip() or str(error.ename)
        yield str(marks.grade_id), str(found.get("question", "")), str(found.get("mistake", "")), message
