"""Which answers share more than what the question asks of everybody.

An answer's fingerprints are the rows of five tokens in it (of four words, in prose): all of them, and not a sample as in
winnowing (Schleimer, Wilkerson and Aiken, 2003), since answers are short and a class's fit in memory. Of these are taken
away those of the released cell, and those that more than a quarter of a class of forty and more wrote: that is what the
question asks for. Two answers are as similar as the share of the smaller one's remaining fingerprints that the other has
too. An answer with fewer than `FEWEST_CODE` is not compared by itself: a function of three lines looks alike whoever
writes it.

Why not a library: copydetect 0.5 hashes text with Python's `hash`, whose values and so whose selection change from run to
run, drops repeated passages as if they were the template, and compares every pair in Python; it also forgets attributes, so
that `np.tanh` and `np.exp` look alike. datasketch estimates what can be counted here, and RapidFuzz aligns whole texts and
loses track when lines change places. Pygments gives the tokens, NumPy does the counting.

Measured on the course's own material (tests/classroom/test_similar.py repeats it): of 400 pairs of independent right
answers, and 19237 of such an answer and a function of the package, none reaches 0.75; the largest shares are 0.71 and
0.69. Of 222 copies each, found are all with other names, all with other comments and layout, 99.5 % with statements in
another order, 94.6 % with results in extra variables, and 88.7 % with all of it at once. The independent answers were
written to differ; students of one class, who read the same chapter, will write more alike, and somebody who rewrites an
answer with thought is not found. For prose there are no independent answers to one question: those to different questions
share up to 0.06, the book's pages and a model answer as much. A copy with every tenth word changed is found (16 of 16),
with every fifth changed mostly (10 of 16), with every third never. Two hundred submissions of the LSTM's three notebooks,
all of them different, took 23 seconds of processor time and 390 MB.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from nbformat import NotebookNode
from tqdm import tqdm

from classroom.course import ROOT, read_notebook
from classroom.errors import CourseError
from classroom.grading.repair import Unreadable, repair
from classroom.grading.run import students_of
from classroom.similar.tokens import CODE_GRAM, WORD_GRAM, Gram, code_tokens, grams, kept_names, words

__all__ = ["CODE_SHARE", "FEWEST_CODE", "PROSE_SHARE", "Answer", "Found", "Match", "Pair", "compare_class"]

# Shares from which two answers are shown.
CODE_SHARE, PROSE_SHARE = 0.75, 0.4

# Fingerprints that an answer needs to be compared: about six lines of code, thirty words.
FEWEST_CODE, FEWEST_PROSE = 40, 25

# What more students than this wrote is what the question asks for: a share of the class, and at least so many.
COMMON_SHARE, COMMON_FEWEST = 0.25, 10

# Files of the package that hold answers.
CELLS = ("scalar", "vector", "backward", "bidirectional", "torch_cells", "interop", "training", "tasks")

Span = tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """One answer of a student's, or the course's own.

    Attributes:
        owner: the student's id, or what of the course it is.
        question: the answer cell's grade id.
        text: as it was written.
        course: whether it is the course's.
        prints: its fingerprints, and where the tokens of each stand in the text.
    """

    owner: str
    question: str
    text: str
    course: bool = False
    prints: Mapping[tuple[str, ...], tuple[Span, ...]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Match:
    """Two answers that share much.

    Attributes:
        question: the answer cell's grade id.
        left: a student's answer.
        right: another student's, or the course's.
        share: of the smaller one's fingerprints.
        prints: how many they share.
        left_spans: which parts of the left answer they share, in characters.
        right_spans: which parts of the right one.
    """

    question: str
    left: Answer
    right: Answer
    share: float
    prints: int
    left_spans: tuple[Span, ...]
    right_spans: tuple[Span, ...]

    @property
    def lines(self) -> int:
        """Lines of the left answer with a shared part."""
        touched: set[int] = set()
        for start, end in self.left_spans:
            first = self.left.text.count("\n", 0, start)
            touched |= set(range(first, first + self.left.text.count("\n", start, end) + 1))
        return len(touched)


@dataclass(frozen=True)
class Pair:
    """A student's notebook and another, with the answers that are alike.

    Attributes:
        notebook: the notebook's name.
        left: a student.
        right: another student, or what of the course.
        course: whether the right side is the course's.
        matches: the answers that are alike, the longest shared part first.
    """

    notebook: str
    left: str
    right: str
    course: bool
    matches: tuple[Match, ...]

    @property
    def share(self) -> float:
        """The largest share of an answer."""
        return max(match.share for match in self.matches)

    @property
    def prints(self) -> int:
        """Fingerprints shared in all these answers."""
        return sum(match.prints for match in self.matches)

    @property
    def lines(self) -> int:
        """Lines of the left side with a shared part."""
        return sum(match.lines for match in self.matches)


@dataclass
class Found:
    """What the comparison of a class gave.

    Attributes:
        assignment: its name.
        students: how many students' submissions were compared.
        pairs: pairs of students, the largest shared part first; without answers of which both are like the course's.
        course: students and the course's own answers, the same.
        shared: for each question, how many wrote what the model answer says, but for names and layout, and how many
            there are: (notebook, question, same, all, whether the answer is long enough to mean something).
        unreadable: submissions that could not be compared, with the reason.
        code_share: the share from which code was shown.
        prose_share: the share from which prose was shown.
    """

    assignment: str
    students: int
    pairs: list[Pair]
    course: list[Pair]
    shared: list[tuple[str, str, int, int, bool]]
    unreadable: list[tuple[str, str, str]]
    code_share: float
    prose_share: float


Reader = Callable[[str], list[Gram]]


def _reader(kind: str, keep: frozenset[str]) -> Reader:
    """How an answer of that kind of cell becomes fingerprints; what many hand in alike is read once."""

    @functools.cache
    def read(text: str) -> list[Gram]:
        return grams(code_tokens(text, keep), CODE_GRAM) if kind == "code" else grams(words(text), WORD_GRAM)

    return read


def _prints(
    found: Iterable[Gram], without: frozenset[tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[Span, ...]]:
    places: dict[tuple[str, ...], list[Span]] = defaultdict(list)
    for gram in found:
        if gram.key not in without:
            places[gram.key].extend(gram.spans)
    return {key: tuple(spans) for key, spans in places.items()}


@dataclass
class _Question:
    """One answer cell: how to read an answer to it, and what was given."""

    name: str
    kind: str
    read: Reader
    template: frozenset[tuple[str, ...]]

    def answer(self, owner: str, text: str, course: bool = False) -> Answer:
        return Answer(owner, self.name, text, course, _prints(self.read(text), self.template))


def _questions(release: NotebookNode) -> list[_Question]:
    """The answer cells of a released notebook."""
    code = [cell.source for cell in release.cells if cell.cell_type == "code"]
    prose = "\n".join(cell.source for cell in release.cells if cell.cell_type == "markdown")
    keep = kept_names(code)
    readers = {"code": _reader("code", keep), "markdown": _reader("markdown", keep)}
    found = []
    for cell in release.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution") and cell.cell_type in readers:
            read = readers[cell.cell_type]
            # Who quotes the question, or the text above it, copies nothing.
            given = cell.source if cell.cell_type == "code" else prose
            template = frozenset(gram.key for gram in read(given))
            found.append(_Question(marks.grade_id, cell.cell_type, read, template))
    return found


def _model(course: Path, assignment: str, notebook: str) -> dict[str, str]:
    """The model answers of a notebook by grade id; none where the course's folder has no sources."""
    from classroom.sample import solution_cells

    for suffix in (".py", ".ipynb"):
        path = course / "solutions" / assignment / f"{notebook}{suffix}"
        if path.exists():
            return solution_cells(read_notebook(path))
    return {}


def _cells(question: _Question) -> Iterator[Answer]:
    """The functions and classes of the package, as answers to a question."""
    if question.kind == "code":
        for owner, text in _sources():
            yield question.answer(owner, text, course=True)


@functools.cache
def _sources() -> tuple[tuple[str, str], ...]:
    """Name and source of every function and class of the files that hold answers."""
    import ast

    found = []
    for name in CELLS:
        path = ROOT / "src" / "refcells" / f"{name}.py"
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.append((f"refcells.{name}.{node.name}", ast.get_source_segment(text, node) or ""))
    return tuple(found)


def compare_class(
    course: Path,
    assignment: str,
    *,
    code_share: float = CODE_SHARE,
    prose_share: float = PROSE_SHARE,
    progress: bool = True,
) -> Found:
    """Compare all submissions of an assignment with each other and with the course's own answers.

    Args:
        course: the course's folder, with `submitted/`, the release in `exercises/`, and the sources in `solutions/`.
        assignment: its name.
        code_share: the share from which code is shown.
        prose_share: the share from which prose is shown.
        progress: whether to show a bar on stderr.

    Raises:
        CourseError: if there is no release of the assignment, nobody handed in, or a share is none.
    """
    for share in (code_share, prose_share):
        if not 0 < share <= 1:
            raise CourseError(f"a threshold of {share:g} came; expected a share above 0, and at most 1")
    released = sorted((course / "exercises" / assignment).glob("*.ipynb"))
    if not released:
        raise CourseError(
            f"no released notebook in {course / 'exercises' / assignment}; generate the assignment first"
        )
    students = students_of(course, assignment)
    if not students:
        raise CourseError(f"no submission of {assignment!r} in {course / 'submitted'}")
    found = Found(assignment, len(students), [], [], [], [], code_share, prose_share)
    bar = tqdm(
        total=len(released) * len(students),
        desc=f"comparing {assignment}",
        unit="notebook",
        disable=not progress,
    )
    with bar:
        for path in released:
            release = read_notebook(path)
            given: dict[str, dict[str, str]] = {}
            for student in students:
                try:
                    given[student] = _answers(
                        course / "submitted" / student / assignment / path.name, release
                    )
                except Unreadable as reason:
                    found.unreadable.append((student, path.stem, str(reason)))
                bar.update()
            _notebook(found, path.stem, _questions(release), given, _model(course, assignment, path.stem))
    for pairs in (found.pairs, found.course):
        pairs.sort(key=lambda pair: (-pair.prints, pair.notebook, pair.left, pair.right))
    return found


def _answers(path: Path, release: NotebookNode) -> dict[str, str]:
    """A submission's answers by grade id.

    Raises:
        Unreadable: if the file is no notebook, or not there.
    """
    try:
        content = path.read_bytes()
    except OSError:
        raise Unreadable("the notebook was not handed in") from None
    cells = repair(content, release).notebook.cells
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def _notebook(
    found: Found,
    notebook: str,
    questions: Sequence[_Question],
    given: Mapping[str, Mapping[str, str]],
    model: Mapping[str, str],
) -> None:
    """Compare the answers to each question, and put what is alike together by who wrote it."""
    together: dict[tuple[str, str, bool], list[Match]] = defaultdict(list)
    for question in questions:
        answers = [question.answer(student, own.get(question.name, "")) for student, own in given.items()]
        theirs = list(_cells(question))
        if question.name in model:
            right = question.answer("the model answer", model[question.name], course=True)
            theirs.insert(0, right)
            same = sum(answer.prints.keys() == right.prints.keys() for answer in answers if answer.prints)
            long = len(right.prints) >= _fewest(question.kind)
            found.shared.append((notebook, question.name, same, sum(bool(a.prints) for a in answers), long))
        share = found.code_share if question.kind == "code" else found.prose_share
        matches = list(alike(answers, theirs, share, _fewest(question.kind)))
        # Two who are both like the model answer are like each other, and stand with the model answer.
        from_course: dict[str, set[str]] = defaultdict(set)
        for match in matches:
            if match.right.course:
                from_course[match.left.owner].add(match.right.owner)
        for match in matches:
            if from_course[match.left.owner] & from_course[match.right.owner]:
                continue
            together[match.left.owner, match.right.owner, match.right.course].append(match)
    for (left, other, course), shared in together.items():
        shared.sort(key=lambda match: -match.prints)
        (found.course if course else found.pairs).append(Pair(notebook, left, other, course, tuple(shared)))


def _fewest(kind: str) -> int:
    return FEWEST_CODE if kind == "code" else FEWEST_PROSE


def alike(answers: Sequence[Answer], theirs: Sequence[Answer], share: float, fewest: int) -> Iterator[Match]:
    """Pairs of answers to one question that share so much, each student's with later ones and with the course's.

    An index from fingerprints to the answers that have them does the counting: its cost is that of reading the answers,
    and of the pairs that share a rare fingerprint, in NumPy.

    Args:
        answers: the students'.
        theirs: the course's.
        share: from which a pair is given.
        fewest: fingerprints that an answer needs.
    """
    everyone = [*answers, *theirs]
    index: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, answer in enumerate(everyone):
        for key in answer.prints:
            index[key].append(place)
    own = len(answers)
    most = max(COMMON_SHARE * own, COMMON_FEWEST)
    rare = {key for key, places in index.items() if sum(place < own for place in places) <= most}
    sizes = np.array([sum(key in rare for key in answer.prints) for answer in everyone], dtype=np.int32)
    counts = np.zeros((own, len(everyone)), dtype=np.int32)
    for key, places in index.items():
        if key in rare and len(places) > 1:
            rows = [place for place in places if place < own]
            counts[np.ix_(rows, places)] += 1
    smaller = np.minimum.outer(sizes[:own], sizes)
    wanted = (smaller >= fewest) & (counts >= share * smaller)
    for left, right in np.argwhere(np.triu(wanted, 1)):
        yield _match(everyone[left], everyone[right], counts[left, right] / smaller[left, right], rare)


def _match(left: Answer, right: Answer, share: float, rare: set[tuple[str, ...]]) -> Match:
    both = left.prints.keys() & right.prints.keys() & rare
    return Match(left.question, left, right, float(share), len(both), _spans(left, both), _spans(right, both))


def _spans(answer: Answer, keys: Iterable[tuple[str, ...]]) -> tuple[Span, ...]:
    """The parts of a text that these fingerprints cover; parts with only space and signs between them are one."""
    merged: list[list[int]] = []
    for start, end in sorted(span for key in keys for span in answer.prints[key]):
        if merged and not re.search(r"[\w#\"']", answer.text[merged[-1][1] : start]):
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return tuple((start, end) for start, end in merged)
