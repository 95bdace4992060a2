"""Everything that students do to notebooks, in one batch: each gets its points and its status, and the batch finishes."""

import pytest

from classroom.odd import ODD, measure

pytestmark = [pytest.mark.pipeline, pytest.mark.long]


@pytest.fixture(scope="module")
def measured():
    return measure()


@pytest.mark.parametrize("name", ODD)
def test_every_odd_notebook_gets_its_points_and_status(measured, name):
    row = next(row for row in measured["rows"] if row["name"] == name)
    assert (row["status"], row["points"]) == row["expected"]
    assert (ODD[name].says or "") in row["notes"]
    assert bool(row["notes"]) == (row["status"] != "graded")


def test_the_batch_holds_them_all_and_finishes(measured):
    assert measured["handled"] == measured["submissions"] == len(ODD) >= 30
