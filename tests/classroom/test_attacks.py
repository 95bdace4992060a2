"""Ways to get points without an answer: none gains any, and none reaches what belongs to the course or to others."""

import asyncio
import dataclasses
import json

import nbformat
import pytest
from nbgrader import utils
from nbgrader.preprocessors import Execute

from classroom.attacks import ATTACKS, arena, canaries_of, points, score, tried
from classroom.course import ROOT, read_notebook
from classroom.preprocessors import HiddenSeeds
from classroom.sample import solution_cells
from classroom.sandbox import confine, enforcement
from classroom.separate import SeparateExecute

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(not confine.can_fork(), reason="kernels cannot be forked here"),
]

ENFORCED = enforcement()
# What the operating system has to stop; everything else is stopped by where the tests run.
NEEDS = {
    name: "files"
    for name in (
        *("read-solutions", "write-gradebook", "read-own-notebook", "ctypes-open", "copy-a-neighbour"),
        *("harm-a-neighbour", "remove-the-refuser", "another-python", "read-proc"),
        *("forged-locked-cell", "forged-test-cell"),
    )
} | {"ask-the-network": "network", "signal-the-grader": "a user id of its own"}
FIRST = [
    *("empty-tests", "tests-without-checks", "equal-to-everything", "read-solutions", "write-gradebook"),
    *("read-own-notebook", "import-reference", "overwrite-reference", "shadow-package", "only-while-grading"),
]


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    asyncio.set_event_loop(asyncio.new_event_loop())
    with arena(tmp_path_factory.mktemp("arena") / "course") as made:
        yield made


def test_there_are_the_first_ten_and_at_least_twenty_more():
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) >= 30
    assert names[:10] == FIRST
    assert set(NEEDS) < set(names)


def test_a_right_answer_gets_its_points(where):
    """The arena tells right from wrong: the neighbour has all points."""
    neighbour = read_notebook(where.course / "submitted" / "neighbour" / "lstm" / "scalar_lstm.ipynb")
    assert points(score(where, neighbour, SeparateExecute, "neighbour"), where) == 14


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing(attack, where):
    needed = NEEDS.get(attack.name)
    if needed and not ENFORCED[needed]:
        pytest.skip(f"not enforced on this machine: {needed}")
    assert tried(attack, where, SeparateExecute) == {"points": 0, "changed": [], "reached": []}


# What some attacks reach besides points where nothing stops them.
REACHED = {
    "read-own-notebook": ["a hidden test", "the seed of a hidden test"],
    "read-environment": ["the secret"],
    "signal-the-grader": ["the grader, by a signal"],
    "ask-the-network": ["the network"],
}


@pytest.mark.parametrize("name", REACHED)
def test_what_an_attack_reaches_is_seen(name, where):
    """The same attacks, in a kernel that nothing confines: what the test above looks for is found."""
    attack = next(attack for attack in ATTACKS if attack.name == name)
    assert tried(attack, where, Execute)["reached"] == REACHED[name]


@pytest.mark.parametrize("name", ["claim-an-accuracy", "patch-mean"])
def test_a_claim_is_believed_where_the_student_counts(name, where):
    """In a kernel that also judges, these have the points of the one question about a training."""
    attack = next(attack for attack in ATTACKS if attack.name == name)
    assert tried(attack, where, Execute)["points"] == 3


def test_a_training_gets_its_points(where):
    """And a right answer has them, which is counted from its parameters."""
    model = solution_cells(read_notebook(ROOT / "solutions" / "lstm" / "torch_lstm.py"))
    solved = nbformat.from_dict(where.released["torch_lstm"])
    for cell in solved.cells:
        cell.source = model.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    nb = score(where, solved, SeparateExecute, "trained", "torch_lstm")
    [test] = [
        cell for cell in nb.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == "test-remember"
    ]
    assert utils.determine_grade(test) == (3, 3)


def test_a_guess_of_the_seed_would_be_seen(where, capsys):
    """Where the secret is the public one, and nothing keeps the questions from the student, the guess finds the cases."""
    code = next(attack.code for attack in ATTACKS if attack.name == "guess-the-seed")
    exec(code, {})
    guess = capsys.readouterr().out
    assert where.reached(guess) == []
    cell = nbformat.v4.new_code_cell(
        "### BEGIN HIDDEN TESTS\njudge('scalar.sigmoid', sigmoid, seed=HIDDEN_SEED)"
    )
    cell.metadata["nbgrader"] = {"grade_id": "test-sigmoid"}
    cell, _ = HiddenSeeds().preprocess_cell(cell, {"nbgrader": {"notebook": "scalar_lstm"}}, 0)
    found = dataclasses.replace(where, canaries=canaries_of([cell.source])).reached(guess)
    assert found == ["a case of a hidden test", "the seed of a hidden test"]


def test_what_was_measured_is_of_these_attacks():
    told = json.loads((ROOT / "book" / "data" / "attacks.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in told["attacks"]] == [attack.name for attack in ATTACKS]
    assert [row["what"] for row in told["attacks"]] == [attack.what for attack in ATTACKS]
    assert all(told["enforced"].values())
    assert all(row["here"] == {"points": 0.0, "changed": [], "reached": []} for row in told["attacks"])
    # The ones that this grading was made for did work in stock nbgrader.
    assert sum(bool(row["stock"]["points"] or row["stock"]["changed"]) for row in told["attacks"]) >= 10
    stock = {row["name"]: row["stock"]["reached"] for row in told["attacks"]}
    assert {name: stock[name] for name in REACHED} == REACHED
