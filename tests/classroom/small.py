"""An assignment of two questions in plain Python: what is graded with it is the grading."""

import nbformat

from classroom.course import ROOT, make_course, nbgrader

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
CELL = '# %% nbgrader={{"grade": {grade}, "grade_id": "{name}", "locked": {grade}, {points}"schema_version": 3, "solution": {solution}, "task": false}}\n{text}\n'
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


def source():
    """A notebook of two questions in plain Python: what is graded here is the grading."""
    cells = [HEADER]
    for name, (work, shown, hidden) in QUESTIONS.items():
        cells.append(CELL.format(name=name, grade="false", solution="true", points="", text=work))
        test = f"### AUTOTEST {shown}\n### BEGIN HIDDEN TESTS\n### AUTOTEST {hidden}\n### END HIDDEN TESTS"
        cells.append(
            CELL.format(
                name=f"test-{name}", grade="true", solution="false", points='"points": 2, ', text=test
            )
        )
    return "\n".join(cells)


def small_course(folder, db_url=None):
    """A course folder with the assignment 'small' generated."""
    sources = folder / "source" / "solutions" / "small"
    sources.mkdir(parents=True)
    (sources / "one.py").write_text(source(), encoding="utf-8")
    for name in ("autotests.yml", "nbgrader_config.py"):
        (folder / "source" / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    course = make_course(folder / "course", folder / "source", db_url)
    nbgrader(course, "generate_assignment", "small", "--force")
    return course


RIGHT = {"half": "def half(x):\n    return x / 2", "twice": "def twice(x):\n    return 2 * x"}


def hand_in(course, student, answers=None, content=None, name="one.ipynb"):
    """Write a submission: the release with these answers, or a file with this content."""
    folder = course / "submitted" / student / "small"
    folder.mkdir(parents=True, exist_ok=True)
    if content is None:
        notebook = nbformat.read(course / "exercises" / "small" / "one.ipynb", as_version=4)
        for cell in notebook.cells:
            if cell.id in (answers or {}):
                cell.source = answers[cell.id]
        content = nbformat.writes(notebook).encode()
    (folder / name).write_bytes(content)
