"""What a class gets: built twice to the same bytes, installed without a network, free of answers, and it judges."""

import ast
import json
import os
import re
import subprocess
import sys
import zipfile

import nbformat
import pytest

from classroom import handout
from classroom.course import ROOT, assignments, read_notebook, sources
from classroom.errors import CourseError
from classroom.sample import solution_cells, submission
from classroom.students import CLASS, Student
from refcells.autotest import judge, stored, verdict
from refcells.autotest.mistakes import edited
from refcells.autotest.verdict import AtLeast, question

NOTEBOOKS = [source for assignment in assignments() for source in sources(assignment)]

# Lines that any code has which uses the library, and that say nothing about an exercise; to be looked at before one is added.
COMMON = {
    "optimizer.zero_grad()",
    "optimizer.step()",
    "loss.backward()",
    "super().__init__()",
    "with torch.no_grad():",
    "return self.linear(output)",
    "hidden = len(bias_ih) // blocks",
    "started = time.perf_counter()",
}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The handout's folder, as a student has it."""
    folder = tmp_path_factory.mktemp("handout")
    path = handout.build(folder / "built")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder / handout.NAME


@pytest.fixture(scope="module")
def installed(unpacked, tmp_path_factory):
    """A folder with nothing but the wheel's package, put there by pip without a network."""
    target = tmp_path_factory.mktemp("installed")
    [wheel] = unpacked.glob("*.whl")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--target",
            target,
            wheel,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def package(installed):
    """The installed package's Python files."""
    return {
        path.relative_to(installed).as_posix(): path.read_text(encoding="utf-8")
        for path in installed.rglob("*.py")
    }


def run(installed, cwd, *arguments):
    """Run Python where `refcells` is the handout's."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_same_bytes_whenever_it_is_built(tmp_path):
    one, two = handout.build(tmp_path / "one"), handout.build(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()
    assert [path.name for path in one.parent.iterdir()] == [one.name]


def test_holds_the_release_and_what_a_student_needs(unpacked):
    found = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    notebooks = {f"exercises/{source.parent.name}/{source.stem}.ipynb" for source in NOTEBOOKS}
    beside = {
        "README.md",
        "constraints.txt",
        "capstone.ipynb",
        "LICENSE",
        "LICENSE-TEXT",
        handout.wheel_name(),
    }
    assert found == notebooks | beside
    for name in notebooks:
        assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes()


def test_no_module_with_answers_is_in_it(package):
    answers = ("scalar", "vector", "backward", "bidirectional", "torch_cells", "interop")
    assert not [
        name for name in package if name.startswith("refcells/") and name.split("/")[1][:-3] in answers
    ]
    assert not [name for name in package if "_questions" in name or name.startswith("classroom")]
    for name in package:
        assert not re.search(r"autotest/(scalar|vector|torch)_", name), name


def test_nothing_that_an_exercise_asks_for_is_defined_in_it(package):
    asked = set()
    for source in NOTEBOOKS:
        for code in solution_cells(read_notebook(source)).values():
            asked |= set(re.findall(r"^(?:def|class) (\w+)", code, flags=re.MULTILINE))
    assert len(asked) > 40
    # Probes are named after what they use; what they do is to call it.
    for name, text in package.items():
        if name.endswith("probes.py"):
            continue
        defined = {n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assert not defined & asked, name


def test_no_line_of_a_solution_and_no_hint_is_in_it(package):
    text = "\n".join(package.values())
    held = {line.strip() for line in text.splitlines()}
    for source in NOTEBOOKS:
        for code in re.findall(
            r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source.read_text(encoding="utf-8"), flags=re.DOTALL
        ):
            telling = {line.strip() for line in code.splitlines() if len(line.strip()) > 20} - COMMON
            assert not telling & held
    questions = verdict.questions()
    assert len(questions) > 40
    for asked in questions.values():
        for mistake in asked.mistakes:
            # A reason that a probe gives in its own words is no hint.
            assert mistake.hint not in text


def test_stored_questions_are_those_that_the_notebooks_ask(installed):
    data = json.loads((installed / "refcells" / "autotest" / "questions.json").read_text(encoding="utf-8"))
    assert set(data) == set(handout.asked(handout.released()))
    assert len(data) > 40


def test_importing_it_stays_light_and_names_what_is_there(installed, tmp_path):
    code = (
        "import sys, refcells\n"
        "assert 'numpy' not in sys.modules and 'torch' not in sys.modules\n"
        "from refcells.autotest import judge\n"
        "assert judge('scalar.sigmoid', lambda a: 0.5).message\n"
        "assert 'numpy' not in sys.modules and 'torch' not in sys.modules\n"
        "print(refcells.__file__)\n"
        "for name in refcells.__all__: getattr(refcells, name)\n"
    )
    done = run(installed, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))


@pytest.mark.parametrize("source", NOTEBOOKS, ids=lambda source: source.stem)
def test_a_right_notebook_gets_its_points(installed, tmp_path, source):
    released = read_notebook(ROOT / "exercises" / source.parent.name / f"{source.stem}.ipynb")
    notebook = submission(Student("right"), released, read_notebook(source), source.stem)
    nbformat.write(notebook, tmp_path / f"{source.stem}.ipynb")
    done = run(installed, tmp_path, "-m", "refcells.check", f"{source.stem}.ipynb")
    assert done.returncode == 0, done.stdout + done.stderr
    most = sum(
        cell.metadata.nbgrader["points"]
        for cell in released.cells
        if cell.metadata.nbgrader["grade"] and cell.cell_type == "code"
    )
    assert f"{most:g} of {most:g} points by tests" in done.stdout


def test_a_mistake_is_shown_and_not_named(installed, tmp_path):
    student = next(student for student in CLASS["lstm"] if student.name == "h-without-tanh")
    released = read_notebook(ROOT / "exercises" / "lstm" / "vector_lstm.ipynb")
    source = read_notebook(ROOT / "solutions" / "lstm" / "vector_lstm.py")
    nbformat.write(submission(student, released, source, "vector_lstm"), tmp_path / "vector_lstm.ipynb")
    done = run(installed, tmp_path, "-m", "refcells.check", "vector_lstm.ipynb")
    assert done.returncode == 1
    assert "hidden state h differs" in done.stdout
    assert "Right with:" in done.stdout or "Wrong in every case." in done.stdout
    assert "without the tanh" not in done.stdout


def test_the_guide_is_plain_markdown_with_commands_that_fit(unpacked):
    text = (unpacked / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Student guide\n")
    assert not re.search(r"\{(code-cell|tab-set|tab-item|doc|ref)\}|^---$|-e \"", text, flags=re.MULTILINE)
    assert text.count(f'"./{handout.wheel_name()}[student,torch]"') == 2
    assert "Not right yet. " in text
    assert text.count("```") % 2 == 0


def test_advice_in_the_package_fits_too(package):
    assert handout.wheel_name() in package["refcells/check.py"]
    assert '-e ".[' not in package["refcells/check.py"]


# --- questions as data ------------------------------------------------------------------------------------------------

STORABLE = [name for name, asked in verdict.questions().items() if not asked.accept]


@pytest.fixture
def as_handed_out(tmp_path, monkeypatch):
    """Judge with stored questions, as a class's copy does."""

    def use(*names):
        path = tmp_path / "questions.json"
        path.write_text(stored.dump(names), encoding="utf-8")
        monkeypatch.setattr(verdict, "STORED", path)
        verdict._stored.cache_clear()

    yield use
    verdict._stored.cache_clear()


@pytest.mark.parametrize("name", STORABLE)
def test_stored_results_judge_as_the_reference_does(name, as_handed_out):
    asked = question(name)
    made = [mistake.make() for mistake in asked.mistakes]
    before = [judge(name, work) for work in made]
    as_handed_out(name)
    assert judge(name, asked.reference).passed
    for work, live in zip(made, before, strict=True):
        shown = judge(name, work)
        assert not shown.passed
        assert shown.mistake is None
        assert shown.message == live.message.split("\nThis is what comes out when")[0]


def test_what_is_not_stored_is_refused(as_handed_out):
    as_handed_out("scalar.sigmoid")
    with pytest.raises(LookupError, match=r"there are scalar\.sigmoid"):
        judge("scalar.lstm_step", abs)
    with pytest.raises(LookupError, match="only the visible tests are here"):
        judge("scalar.sigmoid", abs, seed=1)
    assert set(verdict.questions()) == {"scalar.sigmoid"}
    with pytest.raises(LookupError, match="not part of a class's copy"):
        question("scalar.sigmoid").reference(1.0)


def test_a_property_is_stored_with_its_words():
    for name, asked in verdict.questions().items():
        if asked.accept:
            assert isinstance(asked.accept, AtLeast), name
            assert asked.accept(1.0) is None
            assert "50%" in asked.accept(0.5)


def test_a_class_counts_what_a_training_learnt(as_handed_out):
    """From the parameters, as the grader does: of a training that stops too soon they have learnt nothing."""
    name = "torch.train_rnn_to_remember"
    reference = question(name).reference
    too_soon = edited(reference, ("range(UPDATES)", "range(3)"))
    as_handed_out(name)
    assert question(name).score is not None
    assert judge(name, reference).passed
    verdict = judge(name, too_soon)
    assert not verdict.passed
    assert "of the held-out symbols; expected at least 95%" in verdict.message


def test_a_notebook_that_needs_more_is_refused(monkeypatch):
    monkeypatch.setattr(handout, "needed", lambda notebooks: {"refcells.vector", "refcells.tasks"})
    with pytest.raises(CourseError, match=r"a notebook imports refcells\.vector, which a class does not get"):
        handout.package()


def test_a_module_that_needs_more_is_refused(monkeypatch):
    """A module that is split later is missed by nobody."""
    monkeypatch.setattr(handout, "AUTOTEST", tuple(name for name in handout.AUTOTEST if name != "calls"))
    with pytest.raises(CourseError, match=r"imports refcells\.autotest\.calls, which a class does not get"):
        handout.package()
