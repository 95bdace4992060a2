"""A course of one notebook with two questions in plain Python: what is tested with it is the grading."""

import jupytext
import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import InstantiateTests

from classroom.course import ROOT, configuration, make_course, nbgrader

HEADER = """# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---
"""
CELL = '# %% nbgrader={{"grade": {grade}, "grade_id": "{name}", "locked": {locked}, {points}"schema_version": 3, "solution": {solution}, "task": false}}\n{text}\n'
WORDS = '# %% [markdown] nbgrader={{"grade": true, "grade_id": "words", "locked": false, "points": {points}, "schema_version": 3, "solution": true, "task": false}}\n# Because.\n'
QUESTIONS = {
    "half": (
        "def half(x):\n    ### BEGIN SOLUTION\n    return x / 2\n    ### END SOLUTION",
        "half(3.0)",
        "half(-7.0)",
    ),
    "twice": (
        "def twice(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
        "twice(3.0)",
        "twice(9.0)",
    ),
}
RIGHT_ONES = {"half": lambda x: x / 2, "twice": lambda x: 2 * x}
RIGHT = {"half": "def half(x):\n    return x / 2", "twice": "def twice(x):\n    return 2 * x"}


def source(questions=QUESTIONS, most=2, words=0, plain=False):
    """A notebook of questions; each gives `most` points, and one in words, if there are points for it, waits for a person.

    The tests are directives, or, `plain`, assertions that need no kernel to be generated.
    """
    cells = [HEADER]
    for name, (work, shown, hidden) in questions.items():
        cells.append(
            CELL.format(name=name, grade="false", locked="false", solution="true", points="", text=work)
        )
        mark = "assert" if plain else "### AUTOTEST"
        test = f"{mark} {shown}\n### BEGIN HIDDEN TESTS\n{mark} {hidden}\n### END HIDDEN TESTS"
        cells.append(
            CELL.format(
                name=f"test-{name}",
                grade="true",
                locked="true",
                solution="false",
                points=f'"points": {most}, ',
                text=test,
            )
        )
    if words:
        cells.append(WORDS.format(points=words))
    return "\n".join(cells)


# The same questions with assertions.
PLAIN = {
    name: (work, f"{shown} == {eval(shown, RIGHT_ONES)}", f"{hidden} == {eval(hidden, RIGHT_ONES)}")
    for name, (work, shown, hidden) in QUESTIONS.items()
}


def small_course(folder, db_url=None, text=None):
    """A course folder with the assignment 'small' generated."""
    course = _laid_out(folder, text or source(), db_url)
    nbgrader(course, "generate_assignment", "small", "--force")
    return course


def quick_course(folder, text=None):
    """A course folder with the assignment 'small' generated in this process, from tests that are assertions."""
    course = _laid_out(folder, text or source(PLAIN, plain=True))
    generate(course)
    return course


def generate(course, text=None, **config):
    """Generate 'small' again, as nbgrader does and without a kernel."""
    if text is not None:
        (course.parent / "source" / "solutions" / "small" / "one.py").write_text(text, encoding="utf-8")
        jupytext.write(jupytext.reads(text, fmt="py:percent"), course / "solutions" / "small" / "one.ipynb")
    settings = configuration(course)
    settings.CourseDirectory.root = str(course)
    settings.CourseDirectory.assignment_id = "small"
    settings.GenerateAssignment.preprocessors = [
        one for one in settings.GenerateAssignment.preprocessors if not issubclass(one, InstantiateTests)
    ]
    settings.GuardedSaveCells.update(config)
    coursedir = CourseDirectory(config=settings)
    GenerateAssignment(coursedir=coursedir, config=settings, force=True).start()


def _laid_out(folder, text, db_url=None):
    (folder / "source" / "solutions" / "small").mkdir(parents=True)
    (folder / "source" / "solutions" / "small" / "one.py").write_text(text, encoding="utf-8")
    for name in ("autotests.yml", "nbgrader_config.py"):
        (folder / "source" / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return make_course(folder / "course", folder / "source", db_url)


def solved(course, answers=None):
    """The release with these answers, as bytes."""
    notebook = nbformat.read(course / "exercises" / "small" / "one.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.id in (answers or {}):
            cell.source = answers[cell.id]
    return nbformat.writes(notebook).encode()


def hand_in(course, student, answers=None, content=None, name="one.ipynb"):
    """Write a submission: the release with these answers, or a file with this content."""
    folder = course / "submitted" / student / "small"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(solved(course, answers) if content is None else content)
