"""The report on the grading, and the model of a cluster: their arithmetic and what they print, on data of the tests' own."""

import json
import subprocess
import sys

import pytest

from classroom import attacks, grading_report
from classroom.course import ROOT
from classroom.errors import CourseError
from classroom.grading import Master, Task
from classroom.sandbox import confine
from classroom.scaling import Cluster, at_once, fit

# --- the model --------------------------------------------------------------------------------------------------------


def test_a_line_goes_through_points_of_a_line_and_says_how_far_others_are():
    line = fit([20, 100, 400], [5 + 0.25 * n for n in (20, 100, 400)])
    assert (line.start, line.each, line.off) == pytest.approx((5, 0.25, 0))
    assert fit([0, 1, 0, 1], [0, 1, 2, 3]).off == pytest.approx(1)
    for sizes, seconds in (([20, 20], [1, 2]), ([20], [1]), ([20, 40], [1])):
        with pytest.raises(CourseError, match="expected two sizes or more"):
            fit(sizes, seconds)


def test_workers_help_until_they_wait_for_the_grader():
    cluster = Cluster(start=10, worker=0.5, serial=0.01)
    assert cluster.most_workers == pytest.approx(50)
    assert cluster.rate(1) == pytest.approx(2)
    assert cluster.rate(50) == pytest.approx(100)
    assert cluster.rate(1000) == pytest.approx(100)
    # One worker: all notebooks one after another. Many: the first has to go through, then one comes every 10 ms.
    assert cluster.seconds(20, 1) == pytest.approx(10 + 20 * 0.5)
    assert cluster.seconds(1001, 1000) == pytest.approx(10 + 0.5 + 1000 * 0.01)
    with pytest.raises(CourseError, match="0 workers came"):
        cluster.rate(0)


def test_the_model_foretells_a_simulated_run():
    """Workers that take turns at one writer, step by step, against the formula."""
    worker, serial, notebooks = 0.5, 0.03, 400
    for workers in (1, 4, 16, 17, 40):
        free, grader, ends = [0.0] * workers, 0.0, []
        for _ in range(notebooks):
            k = min(range(workers), key=free.__getitem__)
            done = free[k] + worker
            grader = max(grader, done) + serial
            # A worker gets its next notebook once the result has been taken.
            free[k] = done if workers < worker / serial else grader
            ends.append(grader)
        assert Cluster(0, worker, serial).seconds(notebooks, workers) == pytest.approx(ends[-1], rel=0.05)


def test_an_answer_without_work_is_the_tasks_own():
    result = at_once(Task("ada", Master("one", "{}"), b"content"))
    assert (result.student, result.notebook, result.executed) == ("ada", "one", "content")
    assert result.digest == Task("ada", Master("one", "{}"), b"content").digest


# --- the report -------------------------------------------------------------------------------------------------------

FOUND = {
    "attacks": {"tried": 30, "gained_in_stock": 20, "harmless_in_stock": 10, "gained_here": []},
    "odd": {
        "submissions": 2,
        "handled": 1,
        "rows": [
            {"name": "split", "status": "repaired", "points": 14.0, "notes": "joined"},
            {"name": "empty", "status": "failed", "points": 0.0, "notes": "the file is empty"},
        ],
    },
    "throughput": {
        "notebooks": [
            {
                "notebook": "vector_lstm",
                "what": "NumPy",
                "trains": False,
                "submissions": 40,
                "ratio": 9.04,
                "same_points": 40,
            }
            | {"per_minute": {"stock": 20.0, "here": 181.0}}
        ]
    },
    "survival": {
        "runs": [
            {"database": "sqlite", "students": 20, "lost": [], "double": [], "different": ["ada"]}
            | {"kills": [{"target": "worker", "phase": "test"}, {"target": "grader", "phase": "commit"}]}
        ]
    },
}
SAID = {
    "attacks": "attacks: 30 tried; 20 gained something under stock nbgrader, 10 are harmless there already; gained here: none",
    "odd": "odd notebooks: 2 handed in, 1 got the expected answer; 1 failed, 1 repaired",
    "throughput": "  vector_lstm      NumPy              20.0   181.0  ratio 9.0; same points for 40 of 40",
    "survival": "survival, sqlite: 20 students, 2 kills (1 grader, 1 worker); grades lost 0, given twice 0, different 1",
}


@pytest.mark.parametrize("part", grading_report.PARTS)
def test_each_part_prints_its_figures(part):
    assert SAID[part] in grading_report.text(part, FOUND[part]).splitlines()


def test_an_attack_that_gains_is_named():
    nothing = {"points": 0.0, "changed": [], "reached": []}
    told = {
        "attacks": [
            {"name": "one", "stock": nothing | {"points": 14.0}, "here": nothing},
            {"name": "two", "stock": nothing | {"points": None}, "here": nothing | {"changed": ["a"]}},
            {"name": "three", "stock": nothing, "here": nothing | {"reached": ["the secret"]}},
        ]
    }
    counted = grading_report.count_attacks(told)
    named = ["two", "three"]
    assert counted == {"tried": 3, "gained_in_stock": 1, "harmless_in_stock": 2, "gained_here": named}
    assert grading_report.text("attacks", counted).endswith("gained here: two, three")


def test_parts_that_run_are_kept_and_others_stay(tmp_path, monkeypatch, capsys):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"survival": {"date": "2020-01-01", "runs": []}, "odd": {"notebooks": []}}))

    def broken():
        raise CourseError("no such thing here")

    monkeypatch.setitem(grading_report.PARTS, "attacks", lambda: FOUND["attacks"])
    monkeypatch.setitem(grading_report.PARTS, "odd", broken)
    assert grading_report.main(["attacks", "--data", str(path)]) == 0
    # One that cannot run does not stop the next.
    assert grading_report.main(["odd", "attacks", "--data", str(path)]) == 2
    kept = json.loads(path.read_text())
    assert list(kept) == ["attacks", "odd", "survival"]
    assert kept["attacks"]["tried"] == 30
    assert kept["survival"] == {"date": "2020-01-01", "runs": []}
    told = capsys.readouterr()
    assert SAID["attacks"] in told.out
    assert "odd: not measured: no such thing here" in told.err
    with pytest.raises(SystemExit):
        grading_report.main(["speed"])


def test_the_attacks_in_the_book_are_counted():
    told = json.loads(attacks.DATA.read_text(encoding="utf-8"))
    counted = grading_report.count_attacks(told)
    assert counted["tried"] == len(attacks.ATTACKS)
    assert counted["gained_here"] == []


# --- the benchmark ----------------------------------------------------------------------------------------------------


def test_a_notebook_becomes_tests_of_otters(monkeypatch):
    """Run without otter, by a stand-in for its decorator: right passes each case, a mistake fails some."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import otter_peer

    from refcells import scalar

    text = otter_peer.tests_of("lstm_step", 4).replace("from otter.test_files import test_case", "")
    cases = []

    def test_case(hidden, failure_message):
        def wrap(function):
            cases.append((hidden, failure_message, function))
            return function

        return wrap

    exec(compile(text, "<tests>", "exec"), {"test_case": test_case})
    assert {hidden for hidden, _, _ in cases} == {True, False}
    for _, message, case in cases:
        assert message.startswith("lstm_step is not right yet with ")
        case(scalar.lstm_step)

    def wrong(*arguments):
        return tuple(value + 0.01 for value in scalar.lstm_step(*arguments))

    for _, _, case in cases:
        with pytest.raises(AssertionError):
            case(wrong)


def test_without_otter_the_comparison_is_skipped_with_a_message(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import otter_peer

    said = []
    assert otter_peer.compare(said.append, None) is None
    assert otter_peer.compare(said.append, sys.executable) is None
    assert otter_peer.compare(said.append, "/no/such/python") is None
    assert [line.partition(":")[0] for line in said] == ["skipped"] * 3
    assert "--otter" in said[0]


def test_what_was_measured_has_all_parts_and_no_name_of_a_machine(monkeypatch):
    told = json.loads((ROOT / "book" / "data" / "grading_benchmark.json").read_text(encoding="utf-8"))
    assert list(told) == ["throughput", "growth", "cluster", "otter"]
    rows = told["throughput"]["measured"]
    assert {row["trains"] for row in rows} == {True, False}
    for row in rows:
        # From rounded figures.
        assert row["ratio"] == pytest.approx(row["seconds"]["stock"] / row["seconds"]["here"], rel=0.02)
        assert row["same_points"] == row["submissions"]
    growth = told["growth"]["measured"]
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import grading

    sizes, seconds = grading.faster(growth["runs"])
    line = fit(sizes, seconds)
    assert growth["fit"]["each"] == pytest.approx(line.each, abs=1e-3)
    assert len(growth["runs"]) == 2 * len(sizes)
    cluster = told["cluster"]["measured"]
    model = Cluster(cluster["start"], cluster["worker"], cluster["serial"])
    assert cluster["most_workers"] == pytest.approx(model.most_workers, rel=0.02)
    for row in cluster["table"]:
        assert row["per_minute"] == pytest.approx(60 * model.rate(row["workers"]), rel=0.02)
        assert row["bound"] == ("workers" if row["workers"] < model.most_workers else "grader")
    for part in told.values():
        assert set(part["machine"]) == {
            "cores",
            "architecture",
            "system",
            "python",
            "versions",
            "load_before",
        }


@pytest.mark.long
@pytest.mark.skipif(not confine.can_fork(), reason="kernels cannot be forked here")
def test_the_benchmark_grades_the_same_with_both_and_fills_every_part(tmp_path):
    """Small sizes. Its times are not judged: a test machine is too busy for that."""
    program, to = ROOT / "benchmarks" / "grading.py", tmp_path / "found.json"
    command = [sys.executable, program, "throughput", "growth", "cluster", "--to", to]
    subprocess.run([*command, "--submissions", "4", "--sizes", "2", "4"], check=True, capture_output=True)
    found = json.loads(to.read_text(encoding="utf-8"))
    assert list(found) == ["throughput", "growth", "cluster"]
    for row in found["throughput"]["measured"]:
        assert row["same_points"] == row["submissions"] >= 2
    assert [run["submissions"] for run in found["growth"]["measured"]["runs"]] == [2, 4, 4, 2]
    for run in found["growth"]["measured"]["runs"]:
        # Two kernels may be over between two looks.
        assert all(peak for who, peak in run["megabytes"].items() if who != "kernel")
    assert found["cluster"]["measured"]["worker"] > found["cluster"]["measured"]["serial"] > 0


def test_a_command_starts_without_a_parser_that_nothing_needs():
    code = (
        "import sys, classroom, nbformat; nbformat.validate(nbformat.v4.new_notebook()); "
        "print('jsonschema' in sys.modules, 'lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux hands orphans on")
def test_processor_time_is_counted_of_orphans_too():
    """In a process of its own, which takes in what its children leave behind."""
    burn = "import time\nwhile time.process_time() < 0.3: pass\n"
    parent = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    code = (
        "import subprocess, sys\nimport grading\n"
        "with grading._Processor() as used:\n"
        f"    subprocess.run([sys.executable, '-c', {parent!r}], check=True)\n"
        "print(used.seconds)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    assert 0.3 <= float(done.stdout) < 5
