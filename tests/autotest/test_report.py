"""Tests of the tests: wrong answers lose points where they are wrong, right ones keep them, and the figures are fresh.

`make grader-report` measures all of it; what takes long is sampled here.
"""

import json
import random

import pytest
import torch

from classroom import report
from classroom.course import assignments
from classroom.grader_report import measure, mutants
from classroom.grader_report.notebooks import TestCell, load, notebooks
from refcells.autotest.verdict import judge, question

NOTEBOOKS = notebooks()
BY_PATH = {notebook.path: notebook for notebook in NOTEBOOKS}
DATA = {path.stem: report.read(path) for path in sorted(report.DATA.glob("*.json"))}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def trains(test):
    return any(question(asked).accept for asked, _ in test.judged)


def cheap(tests):
    return [test for test in tests if not trains(test)]


# --- what builds on what ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", BY_PATH)
def test_lead_ins_declare_what_the_solutions_call(path):
    assert BY_PATH[path].undeclared() == []
    assert all(test.names & set(BY_PATH[path].calls) for test in BY_PATH[path].tests)


def test_a_lead_in_that_says_too_little_or_too_much_is_found():
    notebook = load("lstm", report.ROOT / "solutions" / "lstm" / "scalar_lstm.py")
    by_lead = {exercise.lead: exercise for exercise in notebook.exercises}
    by_lead["lead-gates"].declared.clear()
    by_lead["lead-half"].declared.add("lstm_gates")
    assert [problem.split(" ")[0] for problem in notebook.undeclared()] == [
        "lstm/scalar_lstm/lead-gates",
        "lstm/scalar_lstm/lead-half",
    ]
    assert "lstm_step" in notebook.dependents("lstm_update")
    assert "lstm_gates" not in notebook.dependents("sigmoid")


def test_every_test_cell_asks_something_with_other_seeds_when_hidden():
    for notebook in NOTEBOOKS:
        for test in notebook.tests:
            assert test.directives
            for directive in test.hidden:
                if directive.judged:
                    assert "seed=HIDDEN_SEED" in directive.snippet
        # Every cell but that of the names and shapes has hidden tests.
        assert sum(not test.hidden for test in notebook.tests) <= 1


# --- recall -----------------------------------------------------------------------------------------------------------

APPLICABLE = [
    (notebook.path, asked, work, mistake)
    for notebook in NOTEBOOKS
    for asked, work, mistake in measure.applicable(notebook)
    if not question(asked).accept
]


@pytest.mark.parametrize("path", BY_PATH)
def test_the_model_solution_keeps_every_point(path):
    notebook = BY_PATH[path]
    assert [
        problem for _, problem in notebook.grade(notebook.namespace(), cheap(notebook.tests)) if problem
    ] == []


@pytest.mark.parametrize(
    ("path", "asked", "work", "mistake"), APPLICABLE, ids=[f"{a}: {m.name}" for _, a, _, m in APPLICABLE]
)
def test_a_mistake_loses_its_points_and_only_its_own(path, asked, work, mistake):
    notebook = BY_PATH[path]
    own = [test for test in notebook.tests if (asked, work) in test.judged]
    held = notebook.namespace(names={work: mistake.make()})
    lost = {test.name: problem for test, problem in notebook.grade(held, cheap(notebook.tests)) if problem}
    assert {test.name for test in own} <= set(lost)
    assert set(lost) <= {test.name for test in notebook.touched_by([work])}
    assert mistake.hint in lost[own[0].name]


# --- precision --------------------------------------------------------------------------------------------------------

VARIANTS = [variant for notebook in NOTEBOOKS for variant in measure.variants(notebook)]


@pytest.mark.parametrize("variant", VARIANTS, ids=[f"{v.notebook} {v.cell}: {v.way}" for v in VARIANTS])
def test_a_correct_variant_keeps_every_point(variant):
    notebook = BY_PATH[variant.notebook]
    held = notebook.namespace({variant.cell: variant.code})
    tests = notebook.touched_by(notebook.defined_in(variant.cell))
    # A training is run where it is what varies.
    tests = tests if all(map(trains, tests)) else cheap(tests)
    assert tests
    assert {test.name: problem for test, problem in notebook.grade(held, tests) if problem} == {}


@pytest.mark.parametrize("path", BY_PATH)
def test_variants_differ_after_renaming(path):
    notebook = BY_PATH[path]
    found = measure.variants(notebook)
    codes = [(v.cell, measure.normalised(v.code)) for v in found]
    codes += [(cell, measure.normalised(notebook.code[cell])) for cell in notebook.solutions]
    assert len(set(codes)) == len(codes)
    assert {variant.cell for variant in found} == set(notebook.solutions)
    for variant in found:
        assert notebook.defined_in(variant.cell) <= measure_defined(variant.code)


def measure_defined(code):
    names = {}
    exec("import math\nimport numpy as np\nimport torch\nfrom torch import nn\n" + code, names)
    return set(names)


def test_renaming_alone_makes_no_variant():
    one = "def f(a, b):\n    'doc'\n    c = a + b  # why\n    return c"
    two = "def f(x: int, y):\n    total = x + y\n    return total"
    assert measure.normalised(one) == measure.normalised(two)
    assert measure.normalised(one) != measure.normalised(two.replace("x + y", "y + x"))


def test_there_are_enough_variants():
    assert len(VARIANTS) >= 25


# --- automatic mutants ------------------------------------------------------------------------------------------------


def test_mutants_change_one_thing_inside_the_marks():
    code = (
        "def f(a, b):\n    ### BEGIN SOLUTION\n    c = a - 2 * b\n    return c, a\n    ### END SOLUTION\n\n\n"
        "def given(a):\n    return a + 1\n"
    )
    found = {m.label: m.code for m in mutants.mutants("cell", code)}
    assert "c = a - 2 * b  ->  c = a + 2 * b" in found
    assert "c = a - 2 * b  ->  c = a" in found
    assert "return (c, a)  ->  return (a, c)" in found
    assert "c = a - 2 * b  ->  c = a - 3 * b" in found
    assert "c = a - 2 * b  ->  pass" in found
    assert all("return a + 1" in text for text in found.values())
    assert len(set(found.values())) == len(found)


KNOWN = {
    (path, survivor["function"], survivor["change"])
    for data in DATA.values()
    for path, one in data.get("mutants", {}).items()
    for survivor in one["survivors"]
}


@pytest.mark.parametrize("path", BY_PATH)
def test_a_sample_of_mutants_loses_points(path):
    notebook = BY_PATH[path]
    trained = {work for test in notebook.tests if trains(test) for _, work in test.judged}
    every = [m for m in measure.all_mutants(notebook) if m.function not in trained]
    assert len(every) >= 100
    with measure.impatient(2.0):
        for mutant in random.Random(path).sample(every, 25):
            held = notebook.namespace({mutant.cell: mutant.code})
            tests = cheap(notebook.touched_by([mutant.function]))
            lost = any(problem for _, problem in notebook.grade(held, tests))
            known = (path, mutant.function, mutant.label) in KNOWN
            assert lost or known or measure.equivalent(notebook, mutant, draws=200)[0], mutant


def test_equivalence_is_shown_by_results_and_refused_without():
    notebook = BY_PATH["lstm/vector_lstm"]
    cell = notebook.code["step"]
    same = cell.replace("np.split(a, 4, axis=1)", "np.split(a, 4, axis=-1)")
    other = cell.replace("h = o * np.tanh(c)", "h = o * np.tanh(c * 1.000000001)")
    assert same != cell != other
    shown = measure.equivalent(notebook, mutants.Mutant("step", "lstm_step", "", same), draws=100)
    assert shown == (True, "equal on 100 draws")
    right, why = measure.equivalent(notebook, mutants.Mutant("step", "lstm_step", "", other), draws=100)
    assert not right
    assert why.startswith("differs by")


# --- stability --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", BY_PATH)
def test_solutions_pass_with_other_hidden_seeds(path):
    notebook = BY_PATH[path]
    held = notebook.namespace()
    for seed in (3, 1_234_567, 2**31 - 2):
        assert [p for _, p in notebook.grade(held, cheap(notebook.tests), seed) if p] == []


def test_the_number_of_threads_changes_no_verdict():
    held = BY_PATH["lstm/torch_lstm"].namespace()
    mistake = question("torch.FusedLSTMCell").mistakes[0]
    for threads in (2, 1):
        torch.set_num_threads(threads)
        for seed in range(5):
            assert judge("torch.FusedLSTMCell_gradients", held["FusedLSTMCell"], seed).passed
            assert judge("torch.FusedLSTMCell", mistake.make(), seed).mistake == mistake.name


# --- a cell's grade, by nbgrader's rule -------------------------------------------------------------------------------


def test_a_cell_that_writes_to_stderr_or_raises_gives_nothing():
    notebook = BY_PATH["lstm/scalar_lstm"]

    def problem(code):
        test = TestCell("test", 1, code, (), ())
        return next(notebook.grade(notebook.namespace(), [test]))[1]

    assert problem("1 + 1") is None
    assert problem("import sys\nprint('x', file=sys.stderr)") == "stderr: x\n"
    assert problem("1 / 0") == "division by zero"


def test_a_cell_that_raises_leaves_its_names_undefined_and_the_next_runs():
    notebook = BY_PATH["lstm/scalar_lstm"]
    lost = [
        test.name
        for test, problem in notebook.grade(notebook.namespace({"gates": "raise RuntimeError"}))
        if problem
    ]
    assert lost == ["test-gates", "test-step", "test-forward"]


# --- the figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
def test_the_written_figures_are_of_this_catalogue_and_meet_the_bar(name):
    data, own = DATA[name], [notebook for notebook in NOTEBOOKS if notebook.assignment == name]
    told = f"run: make grader-report NAMES={name}"
    paths = {notebook.path for notebook in own}
    assert paths == set(data["recall"]) == set(data["precision"]) == set(data["mutants"]), told
    for notebook in own:
        now = len(list(measure.applicable(notebook)))
        assert data["recall"][notebook.path]["mistakes"] == now, told
        assert data["precision"][notebook.path]["variants"] == len(measure.variants(notebook)), told
    assert report.shortcomings(data) == []
    assert sum(one["mutants"] - one["equivalent"] for one in data["mutants"].values()) >= 100 * len(own)
    assert {row["threads"] for row in data["stability"]} == {1, 2}
    assert data["nbgrader"]["cells"] >= 50 * len(own)


def test_there_are_figures_of_every_assignment_and_no_others():
    assert set(DATA) == set(assignments())
    assert {path.name for path in report.DATA.iterdir()} == {f"{name}.json" for name in DATA}


def test_an_assignment_that_does_not_exist_is_named(capsys):
    with pytest.raises(SystemExit):
        report.main(["lstn"])
    assert "no assignment lstn; there are " in capsys.readouterr().err


def test_a_figure_that_falls_short_is_named():
    bad = json.loads(json.dumps(DATA["lstm"]))
    path = next(iter(bad["recall"]))
    bad["recall"][path]["wrong"] = ["scalar.sigmoid: tanh"]
    bad["precision"][path]["lost"] = ["gates (four lines): test-gates"]
    bad["mutants"][path]["killed"] //= 2
    bad["stability"][0]["solutions"]["passed"] -= 1
    bad["stability"][0]["mistakes"]["wrong"] = ["scalar.sigmoid: tanh, seed 3"]
    bad["nbgrader"]["apart"] = ["lstm/scalar_lstm/test-gates of sample-00: None"]
    starts = [line.split(" ")[0].strip(",:") for line in report.shortcomings(bad)]
    assert starts == ["recall", "precision", "automatic", "stability", "stability", "nbgrader"]


def test_writing_keeps_the_file_when_only_the_date_would_change(tmp_path):
    path = tmp_path / "figures.json"
    assert report.save({"measured": "", "recall": {}}, path)
    before = path.read_text(encoding="utf-8").replace('"measured": "2', '"measured": "1')
    path.write_text(before, encoding="utf-8")
    assert not report.save({"measured": "", "recall": {}}, path)
    assert path.read_text(encoding="utf-8") == before
    assert report.save({"measured": "", "recall": {"a": 1}}, path)


def test_the_table_shows_every_notebook():
    for data in DATA.values():
        shown = report.text(data)
        assert all(path in shown for path in data["recall"])
        assert "of the non-equivalent ones lose points" in shown
