"""How fast a class is graded, beside stock nbgrader: `python benchmarks/grading.py`, or `make bench-grading`.

Parts, by name: `throughput` grades the same submissions with `nbgrader autograde` as it comes and with `classroom grade`, in
turns; `growth` grades classes of 20 to 400 and looks at time and memory; `cluster` measures the terms of the model in
`classroom.scaling`; `otter` grades one notebook with otter-grader, where that is installed. Results go to
book/data/grading_benchmark.json; a part that is not run keeps what stands there.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
import psutil
from tqdm import tqdm

from classroom.course import ROOT, make_course, nbgrader, read_notebook
from classroom.errors import CourseError
from classroom.gradebook import scores
from classroom.sample import submission
from classroom.scaling import Cluster, fit, serial_seconds
from classroom.students import CLASS

DATA = ROOT / "book" / "data" / "grading_benchmark.json"
PARTS = ("throughput", "growth", "cluster", "otter")

# Stock nbgrader with nothing set but the names of the course's folders.
STOCK = """c = get_config()
c.CourseDirectory.course_id = "learning-to-remember"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
"""

# A cheap notebook: two functions in plain Python, so that what is measured is the grading.
CHEAP = """# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% nbgrader={"grade": false, "grade_id": "half", "locked": false, "schema_version": 3, "solution": true, "task": false}
def half(x):
    ### BEGIN SOLUTION
    return x / 2
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test-half", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### AUTOTEST half(3.0)
### BEGIN HIDDEN TESTS
### AUTOTEST half(-7.0)
### END HIDDEN TESTS
"""


@dataclass(frozen=True)
class Notebook:
    """A notebook of the course that is graded by itself, as an assignment of its name.

    Attributes:
        assignment: where it comes from.
        name: its name.
        what: its kind, in words.
        trains: whether an answer is judged by what a training reaches.
    """

    assignment: str
    name: str
    what: str
    trains: bool = False


NOTEBOOKS = (
    Notebook("lstm", "scalar_lstm", "plain floats"),
    Notebook("lstm", "vector_lstm", "NumPy"),
    Notebook("bptt", "truncated_bptt", "PyTorch"),
    Notebook("lstm", "torch_lstm", "PyTorch, trains", trains=True),
)


def class_of(folder: Path, notebook: Notebook, students: int) -> Path:
    """A course of one notebook in `folder`, with so many submissions of the sample class's kinds; gives its path."""
    source = ROOT / "solutions" / notebook.assignment / f"{notebook.name}.py"
    course = _course(folder, notebook.name, source.read_text(encoding="utf-8"))
    released = read_notebook(course / "exercises" / notebook.name / f"{notebook.name}.ipynb")
    model = read_notebook(source)
    # Who is first would decide a round: right and wrong answers take different times.
    kinds = [CLASS[notebook.assignment][k % len(CLASS[notebook.assignment])] for k in range(students)]
    random.Random(0).shuffle(kinds)
    for k, kind in enumerate(kinds):
        nb = submission(kind, released, model, notebook.name)
        # Not at the end: words below an answer cell that was left alone are the answer.
        nb.cells.insert(0, nbformat.v4.new_markdown_cell(f"Student {k}", id=f"own-{k}"))
        _hand_in(course, notebook.name, k, nb)
    return course


def cheap_class(folder: Path, students: int) -> Path:
    """A course of one cheap notebook, with so many right submissions; gives its path."""
    course = _course(folder, "cheap", CHEAP)
    released = read_notebook(course / "exercises" / "cheap" / "cheap.ipynb")
    for k in range(students):
        nb = nbformat.from_dict(released)
        nb.cells[0].source = f"def half(x):\n    return x / 2  # student {k}"
        _hand_in(course, "cheap", k, nb)
    return course


def _course(folder: Path, name: str, text: str) -> Path:
    (folder / "source" / "solutions" / name).mkdir(parents=True)
    (folder / "source" / "solutions" / name / f"{name}.py").write_text(text, encoding="utf-8")
    for file in ("autotests.yml", "nbgrader_config.py"):
        shutil.copy(ROOT / file, folder / "source" / file)
    course = make_course(folder / "here", folder / "source")
    nbgrader(course, "generate_assignment", name, "--force")
    return course


def _hand_in(course: Path, assignment: str, k: int, nb: nbformat.NotebookNode) -> None:
    folder = course / "submitted" / f"s{k:04d}" / assignment
    folder.mkdir(parents=True)
    nbformat.write(nb, folder / f"{assignment}.ipynb")


def copied(course: Path, name: str) -> Path:
    """A copy of a course beside it, with nothing graded."""
    target = course.parent / name
    shutil.copytree(course, target)
    return target


class _Processor:
    """Processor seconds of everything that is started inside, also of what outlives its parent.

    On Linux this process takes in the orphans: the servers that kernels are forked from end a moment after their graders.
    """

    seconds = 0.0

    def __enter__(self) -> "_Processor":
        with contextlib.suppress(ImportError, OSError):
            import pyprctl

            pyprctl.set_child_subreaper(True)
        self._before = self._used()
        return self

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                ended = os.waitpid(-1, os.WNOHANG)[0]
            except ChildProcessError:
                break
            if not ended:
                time.sleep(0.05)
        self.seconds = self._used() - self._before

    @staticmethod
    def _used() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def grade(
    course: Path, assignment: str, students: Sequence[str], workers: int
) -> tuple[float, dict[str, float]]:
    """Run `classroom grade`; gives the seconds and the peak memory in MB of its processes."""
    command = [sys.executable, "-m", "classroom", "--course", str(course), "grade", assignment]
    command += ["--workers", str(workers), "--students", *students]
    began = time.perf_counter()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        _Memory(process.pid) as memory,
    ):
        _, told = process.communicate()
    if process.returncode:
        raise CourseError(f"{' '.join(command[:6])} failed:\n{told.decode(errors='replace')[-2000:]}")
    return time.perf_counter() - began, memory.peaks


def stock_grade(course: Path, assignment: str, students: Sequence[str]) -> float:
    """Run `nbgrader autograde` for these students; gives the seconds."""
    # The command takes everybody or one student: the others are out of its sight meanwhile.
    everybody, aside = course / "submitted", course / "aside"
    aside.mkdir()
    others = [path for path in everybody.iterdir() if path.name not in students]
    for path in others:
        path.rename(aside / path.name)
    began = time.perf_counter()
    try:
        nbgrader(course, "autograde", assignment)
        return time.perf_counter() - began
    finally:
        for path in others:
            (aside / path.name).rename(path)
        aside.rmdir()


class _Memory:
    """Peak resident memory of a grader and what it starts, by the depth in the tree of processes.

    The grader starts workers, a worker the server that kernels are forked from, the server kernels. Of a kernel
    only what it does not share with the server is counted.
    """

    NAMES = ("grader", "worker", "server", "kernel")

    def __init__(self, pid: int) -> None:
        self.pid, self.peaks = pid, dict.fromkeys(self.NAMES, 0.0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "_Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            try:
                self._look(psutil.Process(self.pid), 0)
            except psutil.Error:
                continue

    def _look(self, process: psutil.Process, depth: int) -> None:
        if depth >= len(self.NAMES):
            return
        name = self.NAMES[depth]
        try:
            # Python's own helper, which only remembers what to remove at the end.
            if "resource_tracker" in " ".join(process.cmdline()):
                return
            own = process.memory_full_info().uss if name == "kernel" else process.memory_info().rss
            self.peaks[name] = max(self.peaks[name], round(own / 2**20, 1))
            for child in process.children():
                self._look(child, depth + 1)
        except psutil.Error:
            return


def throughput(
    say: Callable[[str], None], submissions: int, workers: int, names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Each notebook's submissions under both, in the order stock, here, here, stock, so that a machine that gets slower or
    faster meanwhile does so for both."""
    rows = []
    for notebook in (notebook for notebook in NOTEBOOKS if not names or notebook.name in names):
        count = max(2, submissions // 2 if notebook.trains else submissions)
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            here = class_of(Path(scratch), notebook, count)
            stock = copied(here, "stock")
            (stock / "nbgrader_config.py").write_text(STOCK, encoding="utf-8")
            students = [f"s{k:04d}" for k in range(count)]
            halves = (students[: count // 2], students[count // 2 :])
            taken: dict[str, list[float]] = {"stock": [], "here": []}

            used = {"stock": 0.0, "here": 0.0}
            for name, half in (("stock", 0), ("here", 0), ("here", 1), ("stock", 1)):
                with _Processor() as processor:
                    if name == "stock":
                        taken[name].append(stock_grade(stock, notebook.name, halves[half]))
                    else:
                        taken[name].append(grade(here, notebook.name, halves[half], workers)[0])
                used[name] += processor.seconds
            found = [
                {
                    who: [(score.notebook, score.question, score.auto) for score in row]
                    for who, row in scores(course, notebook.name).items()
                }
                for course in (stock, here)
            ]
            same = sum(found[0].get(who) == row for who, row in found[1].items())
        seconds = {name: sum(times) / count for name, times in taken.items()}
        row = {
            "notebook": notebook.name,
            "what": notebook.what,
            "trains": notebook.trains,
            "submissions": count,
            "rounds": {name: [round(t, 2) for t in times] for name, times in taken.items()},
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            # What other work on the machine changes little.
            "processor_seconds": {name: round(value / count, 3) for name, value in used.items()},
            "per_minute": {name: round(60 / value, 1) for name, value in seconds.items()},
            "ratio": round(seconds["stock"] / seconds["here"], 2),
            "same_points": same,
        }
        rows.append(row)
        say(
            f"{notebook.name:16} {notebook.what:16} {count:4} submissions, seconds each: stock {seconds['stock']:.2f}, "
            f"here {seconds['here']:.2f}, ratio {row['ratio']:.1f}; processor {used['stock'] / count:.2f} and "
            f"{used['here'] / count:.2f}; same points: {same} of {count}"
        )
    return rows


def faster(runs: Sequence[dict[str, Any]]) -> tuple[list[int], list[float]]:
    """Each size with the faster of its runs: whatever else a machine does can only make one slower."""
    sizes = sorted({run["submissions"] for run in runs})
    return sizes, [min(run["seconds"] for run in runs if run["submissions"] == size) for size in sizes]


def growth(say: Callable[[str], None], sizes: Sequence[int], workers: int) -> dict[str, Any]:
    """Time and memory of classes of different sizes: a line, and peaks."""
    runs = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        course = cheap_class(Path(scratch), max(sizes))
        # Up and down again, for the same reason as above.
        for turn, size in enumerate([*sizes, *reversed(sizes)]):
            one = copied(course, f"class-{turn}")
            seconds, memory = grade(one, "cheap", [f"s{k:04d}" for k in range(size)], workers)
            shutil.rmtree(one)
            runs.append({"submissions": size, "seconds": round(seconds, 2), "megabytes": memory})
            say(f"{size:4} submissions in {seconds:7.1f} s, memory in MB: {memory}")
    line = fit(*faster(runs))
    return {
        "workers": workers,
        "runs": runs,
        "fit": {"start": round(line.start, 2), "each": round(line.each, 4), "off": round(line.off, 2)},
    }


def cluster(say: Callable[[str], None], submissions: int, workers: int) -> dict[str, Any]:
    """The model's terms for the notebook of NumPy, and what it says."""
    from classroom.grading import grade_class

    notebook = NOTEBOOKS[1]
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        course = class_of(Path(scratch), notebook, submissions)
        other = copied(course, "serial")
        students = [f"s{k:04d}" for k in range(submissions)]
        began = time.perf_counter()
        summary = grade_class(course, notebook.name, students, workers=workers, progress=False)
        whole = time.perf_counter() - began
        # The first of each worker starts the server that kernels are forked from.
        own = sorted(summary.seconds)[: -workers or None]
        worker = statistics.mean(own)
        start = max(whole - len(summary.seconds) * worker / workers, 0.0)
        serial, writing = serial_seconds(other, notebook.name, students)
    model = Cluster(start, worker, serial)
    most = model.most_workers
    counts = (1, 2, 8, 32, 100, 300, 1000)
    say(
        f"a worker {worker:.2f} s, the grader {1e3 * serial:.1f} ms (writing {1e3 * writing:.1f}), start {start:.1f} s: "
        f"the grader keeps {most:.0f} workers busy, {60 * model.rate(1000):.0f} notebooks a minute"
    )
    return {
        "notebook": notebook.name,
        "submissions": submissions,
        "start": round(start, 2),
        "worker": round(worker, 3),
        "serial": round(serial, 5),
        "writing": round(writing, 5),
        "most_workers": round(most, 1),
        "table": [
            {
                "workers": n,
                "per_minute": round(60 * model.rate(n), 1),
                "minutes_for_10000": round(model.seconds(10_000, n) / 60, 2),
                "bound": "workers" if n < most else "grader",
            }
            for n in counts
        ],
    }


def machine() -> dict[str, Any]:
    """What the numbers depend on, without the machine's name."""
    packages = ("nbgrader", "nbclient", "ipykernel", "jupyter_client", "distributed", "numpy", "torch")
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        # Work that was waiting for the cores before: above their number, others took part of them.
        "load_before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the parts asked for, print them, and write what they found."""
    parser = argparse.ArgumentParser(prog="benchmarks/grading.py", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument(
        "--submissions", type=int, default=100, help="of each notebook; half as many if it trains"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100, 200, 400])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--otter", default=os.environ.get("OTTER_PYTHON"), help="a Python that has otter-grader"
    )
    parser.add_argument("--to", type=Path, default=DATA, help="where the results go")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    found: dict[str, Any] = json.loads(options.to.read_text(encoding="utf-8")) if options.to.exists() else {}
    run: dict[str, Callable[[Callable[[str], None]], Any]] = {
        "throughput": lambda say: throughput(say, options.submissions, options.workers),
        "growth": lambda say: growth(say, options.sizes, options.workers),
        "cluster": lambda say: cluster(say, options.submissions, options.workers),
        "otter": lambda say: _otter(say, options.otter),
    }
    for part in options.parts or PARTS:
        print(f"{part}:", flush=True)
        told = {"machine": machine(), "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
        value = run[part](lambda line: tqdm.write(f"  {line}", file=sys.stdout))
        if value is not None:
            found[part] = told | {"measured": value}
            # After each part: an interrupted run keeps what it has.
            ordered = {name: found[name] for name in PARTS if name in found}
            options.to.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    return 0


def _otter(say: Callable[[str], None], python: str | None) -> dict[str, Any] | None:
    import otter_peer

    return otter_peer.compare(say, python)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    raise SystemExit(main())
