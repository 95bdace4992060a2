"""Lateness: the policy, due dates, and penalties that follow both, in `classroom grade` as in nbgrader's own command."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from small import RIGHT, hand_in, quick_course

from classroom.__main__ import main
from classroom.course import nbgrader
from classroom.errors import CourseError
from classroom.gradebook import database, open_gradebook
from classroom.grading.status import status_rows
from classroom.grading.store import Store, masters
from classroom.grading.work import Result, Task
from classroom.late import LatePolicy, due_date, late_text, set_due_date

HOUR = 3600
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("seconds", "penalty"),
    [
        (0, None),
        (599, None),
        (600, None),
        (601, 1),
        (DAY, 1),
        (DAY + 1, 2),
        (4 * DAY + 1, 5),
        (99 * DAY, 5),
    ],
)
def test_a_share_for_each_day_begun_after_the_grace_up_to_the_most(seconds, penalty):
    policy = LatePolicy(grace_minutes=10, share_per_day=0.1, most=0.5)
    assert policy.late_submission_penalty("ana", 10.0, seconds) == penalty


def test_by_default_lateness_costs_nothing_and_nbgraders_own_method_works():
    assert LatePolicy().late_submission_penalty("ana", 10.0, 99 * DAY) is None
    assert LatePolicy(penalty_method="zero").late_submission_penalty("ana", 10.0, DAY) == 10.0
    assert LatePolicy(penalty_method="zero").late_submission_penalty("ana", 10.0, 60) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, ""),
        (30, "30 s"),
        (2460, "41 min"),
        (7200, "2 h 0 min"),
        (DAY, "1 d"),
        (2 * DAY + 3 * HOUR + 59, "2 d 3 h"),
    ],
)
def test_lateness_in_words(seconds, text):
    assert late_text(seconds) == text


WHEN = {
    "early": "2026-03-01 22:58:59 UTC",
    "grace": "2026-03-01 23:08:59 UTC",
    "late": "2026-03-02 10:00:00 UTC",
    "later": "2026-03-20 10:00:00 UTC",
    "timeless": None,
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class that has been graded already: all with every point."""
    course = quick_course(tmp_path_factory.mktemp("late"))
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write("c.LatePolicy.share_per_day = 0.25\nc.LatePolicy.most = 0.5\n")
    with Store(database(course)) as store:
        (master,) = masters(store.gradebook, "small", course / "exercises" / "small")
        for student, when in WHEN.items():
            hand_in(course, student, RIGHT)
            folder = course / "submitted" / student / "small"
            if when:
                (folder / "timestamp.txt").write_text(when)
            task = Task(student, master, (folder / "one.ipynb").read_bytes())
            points = {"test-half": 2.0, "test-twice": 2.0}
            store.save("small", [Result(student, "one", task.digest, "graded", points=points)])
    return course


def penalties(course):
    with open_gradebook(course) as gradebook:
        return {
            found.student.id: (found.score, found.late_submission_penalty)
            for found in gradebook.find_assignment("small").submissions
        }


def test_penalties_follow_the_due_date_without_grading_again(course, capsys):
    arguments = ["--course", str(course)]
    assert main([*arguments, "grade", "small"]) == 0
    assert "0 submissions graded, 5 stood already" in capsys.readouterr().out
    assert set(penalties(course).values()) == {(4.0, 0.0)}

    # Now it has one, in the instructor's own time zone, the minute before midnight.
    assert main([*arguments, "due", "small", "2026-03-01 23:59", "--timezone", "Europe/Berlin"]) == 0
    assert "2026-03-01 22:59 UTC" in capsys.readouterr().out
    assert main([*arguments, "grade", "small"]) == 0
    assert "0 submissions graded, 5 stood already" in capsys.readouterr().out
    expected = {"early": 0.0, "grace": 0.0, "late": 1.0, "later": 2.0, "timeless": 0.0}
    assert {who: penalty for who, (_, penalty) in penalties(course).items()} == expected
    told = {row["student"]: row for row in status_rows(course, "small")}
    assert [told[who]["late"] for who in expected] == ["", "9 min", "11 h 1 min", "18 d 11 h", ""]
    assert (told["late"]["penalty"], told["early"]["penalty"], told["late"]["points"]) == (1.0, "", 4.0)

    # A person's points count, given after grading.
    with open_gradebook(course) as gradebook:
        gradebook.find_grade("test-half", "one", "small", "late").manual_score = 0.0
        gradebook.db.commit()
    assert main([*arguments, "grade", "small"]) == 0
    assert penalties(course)["late"] == (2.0, 0.5)

    # Moved, and taken away.
    assert main([*arguments, "due", "small", "2026-03-19 12:00", "--timezone", "UTC"]) == 0
    assert main([*arguments, "grade", "small"]) == 0
    assert {who: p for who, (_, p) in penalties(course).items() if p} == {"later": 1.0}
    assert main([*arguments, "due", "small", "--none"]) == 0
    assert main([*arguments, "grade", "small"]) == 0
    assert not any(penalty for _, penalty in penalties(course).values())


def test_a_due_date_is_kept_in_utc_and_wants_a_time(course, capsys):
    with open_gradebook(course) as gradebook:
        for text, zone in (
            ("2026-07-01 23:59", ZoneInfo("Europe/Berlin")),
            ("2026-07-01T23:59:00+02:00", None),
            ("2026-07-01T21:59Z", ZoneInfo("Asia/Tokyo")),
        ):
            assert set_due_date(gradebook, "small", text, zone) == datetime(2026, 7, 1, 21, 59)
        local = datetime(2026, 7, 1, 23, 59).astimezone().astimezone(UTC).replace(tzinfo=None)
        assert set_due_date(gradebook, "small", "2026-07-01 23:59") == local
        for text, says in (
            ("tomorrow", "no due date"),
            ("2026-07-01", "no time of day"),
            ("2026-13-01 10:00", "no due"),
        ):
            with pytest.raises(CourseError, match=says):
                set_due_date(gradebook, "small", text)
        assert due_date(gradebook, "small") == local
        set_due_date(gradebook, "small", None)
    assert main(["--course", str(course), "due", "nothing"]) == 2
    assert main(["--course", str(course), "due", "small"]) == 0
    assert "small has no due date" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.pipeline
def test_nbgraders_own_command_comes_to_the_same(course):
    with open_gradebook(course) as gradebook:
        set_due_date(gradebook, "small", "2026-03-01 22:59Z")
        gradebook.find_grade("test-half", "one", "small", "later").manual_score = None
        gradebook.db.commit()
    nbgrader(course, "autograde", "small", "--student", "later", "--force")
    assert penalties(course)["later"] == (4.0, 2.0)
