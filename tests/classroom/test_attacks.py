"""Ways to get points without an answer: none gains any, and none reaches what belongs to the course or to others."""

import asyncio
import json

import pytest

from classroom import attacks
from classroom.attacks import ATTACKS, arena, points, score, submission
from classroom.course import ROOT
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


def test_a_right_answer_gets_its_points(where, monkeypatch):
    """The arena tells right from wrong: the neighbour has all points."""
    monkeypatch.setenv("COURSE_SECRET", "known to the instructor")
    neighbour = attacks.read_notebook(where.course / "submitted" / "neighbour" / "lstm" / "scalar_lstm.ipynb")
    assert points(score(where, neighbour, SeparateExecute, "neighbour"), where) == 14


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing(attack, where, monkeypatch):
    needed = NEEDS.get(attack.name)
    if needed and not ENFORCED[needed]:
        pytest.skip(f"not enforced on this machine: {needed}")
    monkeypatch.setenv("COURSE_SECRET", "known to the instructor")
    before = where.state()
    nb = score(where, submission(attack, where.released, where.places), SeparateExecute, attack.name)
    assert points(nb, where) == 0
    assert where.state() == before
    # No hidden test and no answer stands in what its cells printed.
    assert "HIDDEN" not in json.dumps([cell.get("outputs", []) for cell in nb.cells])


def test_what_was_measured_is_of_these_attacks():
    told = json.loads((ROOT / "book" / "data" / "attacks.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in told["attacks"]] == [attack.name for attack in ATTACKS]
    assert [row["what"] for row in told["attacks"]] == [attack.what for attack in ATTACKS]
    assert all(told["enforced"].values())
    assert all(row["here"] == {"points": 0.0, "changed": []} for row in told["attacks"])
    # The ones that this grading was made for did work in stock nbgrader.
    assert sum(bool(row["stock"]["points"] or row["stock"]["changed"]) for row in told["attacks"]) >= 10
