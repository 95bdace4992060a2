"""Tests outside the student's process: what crosses the boundary, what stands beside a student's code, and what it survives."""

import ast
import asyncio
import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
import torch
from jupyter_client.channels import HBChannel
from nbgrader import utils

from classroom.course import ROOT, assignments, read_notebook, sources
from classroom.grading.log import LOG
from classroom.sample import solution_cells
from classroom.sandbox import confine, provisioner
from classroom.sandbox.__main__ import ATTEMPTS, attempts
from classroom.sandbox.bundle import KEPT, make_bundle
from classroom.separate import SeparateExecute, free_names
from refcells.autotest import wire
from refcells.autotest.verdict import questions

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.skipif(not confine.can_fork(), reason="kernels cannot be forked here"),
]

# --- the wire -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        'text with \0, é and "',
        0,
        -(2**53) - 1,
        10**300,
        -0.0,
        5e-324,
        math.inf,
        -math.inf,
        (),
        [1, (2.5, None), []],
        {"weight": 1.0, "": (1,)},
        {"a": {"b": [{}]}},
    ],
)
def test_plain_values_come_back_as_they_were(value):
    came = wire.loads(wire.dumps(value))
    assert came == value
    assert type(came) is type(value)
    assert repr(came) == repr(value)


def test_nan_comes_back():
    assert math.isnan(wire.loads(wire.dumps(math.nan)))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.zeros((0, 4)),
        np.array(2.5),
        np.float32(0.1),
        np.int64(-3),
        np.array([np.nan, np.inf, -0.0]),
        np.arange(12).reshape(3, 4)[::2, ::-1],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array(["a", "bcd"]),
        np.arange(3, dtype=">i2"),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_as_they_were(array):
    came = wire.loads(wire.dumps(array))
    assert type(came) is type(array)
    assert came.dtype == array.dtype
    assert came.shape == array.shape
    np.testing.assert_array_equal(came, array)


def test_tensors_come_back_without_their_history():
    weight = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    came = wire.loads(wire.dumps(2 * weight))
    assert came.dtype == torch.float64
    assert came.grad_fn is None
    assert torch.equal(came, torch.full((2, 3), 2.0, dtype=torch.float64))


def test_an_object_arrives_as_its_name_alone():
    class Sly(float):
        def __eq__(self, other):
            return True

        __hash__ = None

    came = wire.loads(wire.dumps([Sly(1.0), object(), lambda: 1]))
    assert [type(part).__name__ for part in came] == ["Sly", "object", "function"]
    assert all(isinstance(part, wire.Opaque) for part in came)
    assert came[0] != 1.0


@pytest.mark.parametrize(
    "value", [np.array([object()]), np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])]
)
def test_arrays_of_objects_are_not_sent(value):
    with pytest.raises(wire.Unspeakable, match="expected numbers"):
        wire.dumps(value)


def test_lists_without_end_are_not_sent():
    endless = []
    endless.append(endless)
    with pytest.raises(wire.Unspeakable, match="20 deep"):
        wire.dumps(endless)


def npy(header, content=b""):
    import base64

    text = repr(header).encode() if isinstance(header, dict) else header
    text += b" " * (117 - len(text)) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content
    return json.dumps({"": "array", "npy": base64.b64encode(raw).decode()})


def header(descr, *shape):
    return {"descr": descr, "fortran_order": False, "shape": shape}


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "{",
        "[1, 2]",
        "1.5",
        '{"": "pickle", "value": "gASVAAA="}',
        '{"": "tuple"}',
        '{"": "float", "value": "xyz"}',
        '{"": "int", "value": "%s"}' % ("9" * 10_000),
        '{"": "array", "npy": "?"}',
        '{"": "list", "parts": [' * 100_000,
        npy(header("|O", 1), b"\x80\x04N."),
        npy(header("<f8", 10**12)),
        npy(header("<f8", 2), b"\0" * 8),
        npy(header("<M8[ns]", 1), b"\0" * 8),
        npy(b"__import__('os').abort()"),
        '"' + "x" * wire.MOST + '"',
    ],
    ids=lambda text: str(text)[:40],
)
def test_what_is_no_message_is_refused(text):
    with pytest.raises(wire.Unspeakable):
        wire.loads(text)


# --- what stands beside a student's code --------------------------------------------------------------------------------

CELLS = {"scalar", "vector", "backward", "bidirectional", "torch_cells", "interop", "experiments", "figures"}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("bundle") / "package")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_bundle_holds_no_answer(bundle):
    files = {str(path.relative_to(bundle / "refcells")) for path in bundle.rglob("*.py")}
    assert set(KEPT) < files
    assert not {name.removesuffix(".py") for name in files} & CELLS
    assert all("_questions" not in name and "mistakes" not in name for name in files)
    assert {name for name in files if name.startswith("autotest/")} == {
        "autotest/__init__.py",
        *(name for name in KEPT if name.startswith("autotest/")),
        *(f"autotest/{path.name}" for path in (ROOT / "src/refcells/autotest").glob("*probes.py")),
    }


def test_the_bundle_imports_nothing_outside_itself(bundle):
    for path in bundle.rglob("*.py"):
        for name in imports(path):
            if name.split(".")[0] not in ("refcells", "classroom"):
                continue
            place = bundle.joinpath(*name.split("."))
            parent = place.parent
            assert (
                place.is_dir()
                or place.with_suffix(".py").exists()
                or parent.with_suffix(".py").exists()
                or name == "refcells.autotest"
            ), f"{path.name} imports {name}"


def test_every_module_of_the_bundle_can_be_imported_alone(bundle):
    names = [
        ".".join(path.relative_to(bundle).with_suffix("").parts)
        for path in bundle.rglob("*.py")
        if path.stem not in ("__init__", "check")
    ]
    code = f"import sys; sys.path.insert(0, {str(bundle)!r})\nfor name in {sorted(names)!r}: __import__(name)\nimport refcells; print(refcells.__file__)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(bundle))


def statements(source):
    """Each simple statement and condition in one normal form, where it is long enough to tell something."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return):
            text = ast.unparse(node)
            if len(text) > 30:
                found.add(text)
    return found


@pytest.mark.parametrize("assignment", assignments())
def test_no_statement_of_a_model_solution_stands_in_the_bundle(assignment, bundle):
    allowed = set().union(*(statements(path.read_text(encoding="utf-8")) for path in bundle.rglob("*.py")))
    for source in sources(assignment):
        for name, cell in solution_cells(read_notebook(source)).items():
            if not name.startswith("words"):
                shared = statements(cell) & allowed
                assert not shared, (source.stem, name)


def test_every_probe_lives_in_a_module_of_probes():
    probes = {name: asked.probe for name, asked in questions().items() if asked.probe}
    assert len(probes) > 30
    for name, probe in probes.items():
        package, _, module = probe.__module__.rpartition(".")
        assert package == "refcells.autotest", name
        assert module.endswith("probes"), name
        assert getattr(sys.modules[probe.__module__], probe.__name__) is probe, name


def test_free_names_are_those_of_the_student():
    source = """
import math
from refcells.autotest import check
check(lambda: [sigmoid(a) for a in range(3)], "x", f"{other}")
def helper(x, *, y): return x + y + z
w = len([math.pi])
"""
    assert free_names(source) == {"sigmoid", "other", "z"}


def test_what_is_enforced_is_what_was_tried():
    enforced = confine.enforcement()
    assert enforced["tests in a process of their own"]
    for name, got in attempts().items():
        if enforced[ATTEMPTS[name][0]]:
            assert got is None, name


@pytest.mark.skipif(not Path("/proc").exists(), reason="only Linux gives kernels user ids of their own")
def test_graders_that_begin_together_choose_other_user_ids(monkeypatch):
    """In a container that has few, where a process's own id would tell too little."""
    read = Path.read_text
    few = {"/proc/self/uid_map": "0 0 65536"}
    monkeypatch.setattr(Path, "read_text", lambda path, *a, **k: few.get(str(path)) or read(path, *a, **k))
    chosen = []
    for process in (100, 140):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        chosen.append([confine.free_uid() for _ in range(3)])
    assert chosen[0] != chosen[1]
    assert all(20_000 <= uid < 60_000 for uids in chosen for uid in uids)


def test_what_is_not_enforced_is_said_once(monkeypatch):
    said = []
    monkeypatch.setattr(confine, "_told", False)
    monkeypatch.setattr(confine, "_landlock", lambda: None)
    confine.tell(said.append)
    confine.tell(said.append)
    assert len(said) == 1
    assert "files" in said[0]
    assert "python -m classroom.sandbox" in said[0]


# --- what it survives ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    """The scalar LSTM's release with the model answers."""
    nb = read_notebook(ROOT / "exercises" / "lstm" / "scalar_lstm.ipynb")
    model = solution_cells(read_notebook(ROOT / "solutions" / "lstm" / "scalar_lstm.py"))
    for cell in nb.cells:
        cell.source = model.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    return nb


FULL = {
    "test-sigmoid": 2,
    "test-gates": 3,
    "test-update": 3,
    "test-step": 2,
    "test-forward": 2,
    "test-half": 2,
}
# A test that needs the student's last function only.
LAST = ("test-half",)


def grade(nb, timeout=60, **settings):
    asyncio.set_event_loop(asyncio.new_event_loop())
    nb = nbformat.from_dict(nb)
    SeparateExecute(timeout=timeout, **settings).preprocess(nb, {"metadata": {"path": None}})
    tests = [cell for cell in nb.cells if utils.is_grade(cell) and cell.cell_type == "code"]
    scores = {cell.metadata.nbgrader.grade_id: utils.determine_grade(cell)[0] for cell in tests}
    says = {
        cell.metadata.nbgrader.grade_id: " ".join(
            output.get("evalue", "") for output in cell.outputs if output.output_type == "error"
        )
        for cell in tests
    }
    return nb, scores, says


def with_answer(nb, name, source):
    changed = nbformat.from_dict(nb)
    next(cell for cell in changed.cells if cell.id == name).source = source
    return changed


def with_cell(nb, source, before="half"):
    changed = nbformat.from_dict(nb)
    place = next(k for k, cell in enumerate(changed.cells) if cell.id == before)
    changed.cells.insert(place, nbformat.v4.new_code_cell(source, id="own"))
    return changed


def test_a_right_notebook_gets_all_points_and_leaves_no_process(solved):
    before = {child.name for child in threading.enumerate()}
    _, scores, says = grade(solved)
    assert scores == FULL, says
    assert len({child.name for child in threading.enumerate()} - before) <= 3


def test_a_cell_that_is_no_python_costs_its_own_points(solved):
    _, scores, says = grade(with_answer(solved, "half", "def steps_to_half(a_f:\n    return 1"))
    assert scores == FULL | {"test-half": 0}
    assert "there is no steps_to_half in the notebook" in says["test-half"]


ENDED = {
    "exit": "import os\nos._exit(3)",
    "segfault": "import ctypes\nctypes.string_at(0)",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("name", ENDED)
def test_a_kernel_that_ends_in_a_cell_keeps_what_was_scored(solved, name):
    _, scores, says = grade(with_cell(solved, ENDED[name]))
    assert scores == FULL | {"test-half": 0}
    assert "the kernel ended in an earlier cell" in says["test-half"]
    # The next notebook has a kernel of its own.
    assert grade(solved)[1] == FULL


def test_a_kernel_that_ends_in_a_test_costs_that_test_and_the_later_ones(solved):
    source = "import os\ndef lstm_update(*arguments):\n    os._exit(3)"
    _, scores, says = grade(with_answer(solved, "update", source))
    assert scores == {name: FULL[name] if name in ("test-sigmoid", "test-gates") else 0 for name in FULL}
    assert "the kernel ended while a test was running" in says["test-update"]
    assert "the kernel ended while a test was running" in says["test-half"]


def test_an_endless_loop_is_interrupted_and_costs_its_cell_alone(solved):
    _, scores, _ = grade(with_cell(solved, "while True: pass"), timeout=3)
    assert scores == FULL


def test_a_loop_that_ignores_interrupts_ends_the_kernel(solved):
    source = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException:
        pass
"""
    start = time.monotonic()
    _, scores, says = grade(with_cell(solved, source), timeout=3)
    assert time.monotonic() - start < 60
    assert scores == FULL | {"test-half": 0}
    assert "an earlier cell did not end in time" in says["test-half"]


def test_cells_that_sleep_one_after_another_end_the_kernel(solved):
    nb = with_cell(with_cell(solved, "import time\ntime.sleep(1)"), "second = 2")
    nb, scores, says = grade(nb, whole=0.5)
    assert scores["test-half"] == 0
    assert "took more than 0.5 seconds together" in says["test-half"]
    second = next(cell for cell in nb.cells if cell.source == "second = 2")
    assert [output.ename for output in second.outputs] == ["KernelGone"]


def test_a_memory_hog_gets_an_error_and_the_rest_goes_on(solved):
    nb, scores, _ = grade(with_cell(solved, "hog = [bytearray(2**28) for _ in range(64)]"))
    assert scores == FULL
    [own] = [cell for cell in nb.cells if cell.get("id") == "own"]
    assert [output.ename for output in own.outputs] == ["MemoryError"]


HOGS = {
    "shared": "import mmap\nm = mmap.mmap(-1, 2**31)\nfor k in range(0, 2**31, 4096): m[k] = 1\nimport time\ntime.sleep(60)",
    "in children": (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (400 * 2**20)\n"
        "        time.sleep(60)\ntime.sleep(60)"
    ),
}


DISKS = {
    "files": "for k in range(9):\n    open(f'{k}', 'wb').write(b'x' * 2**25)\nimport time\ntime.sleep(60)",
    "in folders": (
        "import os, time\nfor k in range(9):\n    os.makedirs(f'{k}/a')\n    open(f'{k}/a/b', 'wb').write(b'x' * 2**25)\n"
        "time.sleep(60)"
    ),
    "removed and open": (
        "import os, time\nkept = []\nfor k in range(9):\n    kept.append(open('x', 'wb', buffering=0))\n"
        "    kept[-1].write(b'x' * 2**25)\n    os.remove('x')\ntime.sleep(60)"
    ),
    "beside its folder": (
        "import time\nfor k in range(9):\n    open(f'../sockets/{k}', 'wb').write(b'x' * 2**25)\ntime.sleep(60)"
    ),
    "empty ones": "for k in range(10**7):\n    open(f'{k}', 'wb').close()",
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as Linux has it")
@pytest.mark.parametrize("name", DISKS)
def test_files_that_fill_the_disk_end_the_kernel(solved, monkeypatch, name):
    most = 2**26 if name != "empty ones" else 2**24
    monkeypatch.setattr(provisioner.ConfinedProvisioner, "limits", confine.Limits(disk_bytes=most))
    begun = time.monotonic()
    _, scores, says = grade(with_cell(solved, DISKS[name]))
    assert scores == FULL | {"test-half": 0}
    assert "too much memory, disk or time" in says["test-half"]
    assert time.monotonic() - begun < 45


NOBODYS = {
    "hidden from its user": (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.prctl(4, 0, 0, 0, 0):\n    raise PermissionError(ctypes.get_errno())"
    ),
    "memfd": "import os\nos.memfd_create('x')",
    "shared segment": (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.shmget(0, 2**20, 0o1600) < 0:\n    raise PermissionError(ctypes.get_errno())"
    ),
}


@pytest.mark.skipif(not confine.enforcement()["network"], reason="no seccomp here")
@pytest.mark.parametrize("name", NOBODYS)
def test_memory_that_nobody_could_count_is_refused(solved, name):
    nb, scores, _ = grade(with_cell(solved, NOBODYS[name]))
    assert scores == FULL
    [own] = [cell for cell in nb.cells if cell.get("id") == "own"]
    assert [output.ename for output in own.outputs] == ["PermissionError"]


def test_what_widgets_say_is_not_kept(solved):
    source = (
        "from comm import create_comm\nfor k in range(300):\n"
        "    create_comm('jupyter.widget', data={'state': {'text': 'x' * 10_000}})"
    )
    nb, scores, _ = grade(with_cell(solved, source))
    assert scores == FULL
    assert len(nbformat.writes(nb)) < 500_000
    assert "widgets" not in nb.metadata


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as Linux has it")
@pytest.mark.parametrize("name", HOGS)
def test_memory_that_no_limit_of_a_process_counts_ends_the_kernel_at_once(solved, monkeypatch, name):
    # Room for what a kernel that was forked with torch holds from the start.
    monkeypatch.setattr(provisioner.ConfinedProvisioner, "limits", confine.Limits(memory_bytes=2**30))
    begun = time.monotonic()
    _, scores, says = grade(with_cell(solved, HOGS[name]))
    assert scores == FULL | {"test-half": 0}
    assert "too much memory" in says["test-half"]
    assert time.monotonic() - begun < 45  # and it is not begun again


@pytest.mark.skipif(
    not confine.enforcement()["number of processes"] or not confine.another_user(),
    reason="the number of processes is not bound here, or with it the grader's own",
)
def test_a_fork_bomb_is_bound_and_cleared_away(solved):
    source = """
import os
import time
children = 0
try:
    while children < 2000:
        if os.fork() == 0:
            while True:
                try:
                    os.fork()
                except OSError:
                    time.sleep(60)
        children += 1
except OSError:
    pass
print(children)
"""
    _nb, scores, _ = grade(with_cell(solved, source), timeout=30)
    # What the bomb leaves of its own kernel is its own affair; every test has a score, and nothing outlives it.
    assert set(scores) == set(FULL)
    assert None not in scores.values()
    assert all(scores[name] == FULL[name] for name in FULL if name not in LAST)
    assert grade(solved)[1] == FULL


def test_a_line_of_fifty_megabytes_is_cut(solved):
    nb, scores, _ = grade(with_cell(solved, "print('x' * 50_000_000)"))
    assert scores == FULL
    assert len(nbformat.writes(nb)) < 2_000_000
    [own] = [cell for cell in nb.cells if cell.get("id") == "own"]
    assert own.outputs[-1].text.endswith("[the rest of the output is left out]")


def test_output_without_end_is_not_collected(solved):
    nb, scores, _ = grade(with_cell(solved, "while True: print('x' * 10_000)"), timeout=3)
    assert scores == FULL
    assert len(nbformat.writes(nb)) < 2_000_000


def test_nobody_answers_input(solved):
    _nb, scores, says = grade(with_answer(solved, "half", "def steps_to_half(a_f):\n    return int(input())"))
    assert scores == FULL | {"test-half": 0}
    assert "input" in says["test-half"]


def test_an_array_of_objects_is_no_answer(solved):
    source = "import numpy as np\ndef sigmoid(a):\n    return np.array([object()])"
    _, scores, says = grade(with_answer(solved, "sigmoid", source))
    assert scores["test-sigmoid"] == 0
    assert "expected numbers" in says["test-sigmoid"]


def test_a_kernel_that_does_not_start_costs_nothing(solved, monkeypatch):
    """A machine that is short of something may end a process at its start; nothing of the student's has run by then."""
    fork, forked = provisioner._fork, []

    def first_fails(arguments):
        forked.append(arguments[0])
        return fork(arguments if len(forked) > 1 else ("/nowhere/connection.json", *arguments[1:]))

    monkeypatch.setattr(provisioner, "_fork", first_fails)
    _, scores, _ = grade(solved)
    assert scores == FULL
    assert len(forked) == 2


STANDS_STILL = """
import sys
import nbformat
from nbgrader import utils
from classroom import separate

separate.STILL = 2.0
nb = nbformat.read(sys.argv[1], as_version=4)
separate.SeparateExecute(timeout=8).preprocess(nb, {"metadata": {"path": None}})
for cell in nb.cells:
    if utils.is_grade(cell) and cell.cell_type == "code":
        print(cell.metadata.nbgrader.grade_id, utils.determine_grade(cell)[0])
"""


def test_a_machine_that_stands_still_in_the_middle_of_a_cell_costs_nothing(solved, tmp_path):
    """The clock goes on, the cell does not; nbclient interrupts it, and the notebook is begun once more."""
    begun = tmp_path / "begun"
    # Every kernel has a folder of its own, so it is the log that says when the cell is at work.
    naps = "import time\nfor _ in range(10):\n    time.sleep(0.2)\ntwice = 2"
    nb = with_answer(solved, "half", naps + "\n" + next(c.source for c in solved.cells if c.id == "half"))
    nbformat.write(nb, tmp_path / "nb.ipynb")
    command = [sys.executable, "-c", STANDS_STILL, str(tmp_path / "nb.ipynb")]
    environment = os.environ | {LOG: str(begun)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as grader:
        until = time.monotonic() + 120
        while not (begun.exists() and "\thalf\n" in begun.read_text(encoding="utf-8")):
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5)
        everybody = [psutil.Process(grader.pid), *psutil.Process(grader.pid).children(recursive=True)]
        for process in everybody:
            process.suspend()
        time.sleep(11)
        for process in everybody:
            process.resume()
        told = grader.stdout.read()
    assert dict(line.split() for line in told.splitlines()) == {
        name: str(float(points)) for name, points in FULL.items()
    }
    assert begun.read_text(encoding="utf-8").count("start kernel") == 2


def test_no_thread_but_the_graders_own_uses_the_sockets(solved, monkeypatch):
    """A heartbeat's thread uses its socket while the end of the kernel closes it: the grader then waits for ever, now and then."""
    started = []
    monkeypatch.setattr(HBChannel, "start", lambda channel: started.append(channel))
    _, scores, _ = grade(solved)
    assert scores == FULL
    assert started == []


def test_a_message_that_cannot_be_read_leaves_no_task_that_fails_later(solved):
    """A task's error that nobody fetches is told whenever the collector comes by, in the middle of other work."""
    _nb, scores, says = grade(with_cell(solved, "get_ipython().kernel.session.key = b'another'"), timeout=3)
    assert scores == FULL | {"test-half": 0}
    assert "an earlier cell left a kernel whose messages cannot be read" in says["test-half"]
    loop = asyncio.get_event_loop_policy().get_event_loop()
    left = asyncio.all_tasks(loop)
    loop.run_until_complete(asyncio.wait_for(asyncio.gather(*left, return_exceptions=True), 10))
    assert [task for task in left if not task.cancelled() and task.exception()] == []


def test_a_training_that_ends_the_kernel(solved):
    """A torch notebook's answer cells, through the probes."""
    nb = read_notebook(ROOT / "exercises" / "lstm" / "torch_lstm.ipynb")
    model = solution_cells(read_notebook(ROOT / "solutions" / "lstm" / "torch_lstm.py"))
    for cell in nb.cells:
        cell.source = model.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    nb = with_answer(
        nb, "remember", "import os\ndef train_to_remember(*arguments, **keywords):\n    os._exit(1)"
    )
    _, scores, says = grade(nb)
    [lost] = [name for name, came in scores.items() if came == 0]
    assert lost == "test-remember"
    assert "the kernel ended" in says[lost] or "there is no" in says[lost]


def test_where_nothing_can_be_forked_nbgraders_own_execution_grades(solved, monkeypatch, caplog):
    monkeypatch.setattr(confine, "can_fork", lambda: False)
    monkeypatch.setattr(confine, "_told", False)
    _nb, scores, says = grade(with_cell(solved, "import os\nprint(os.getcwd())"))
    assert scores == FULL, says
    assert "not bound here in: tests in a process of their own" in caplog.text


def test_a_kernel_ends_with_its_grader(tmp_path):
    """Also when the grader is killed at once, so that it clears nothing away."""
    code = """
import asyncio, sys
from classroom.sandbox.provisioner import ConfinedKernelManager
async def main():
    manager = ConfinedKernelManager()
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=120)
    print(manager.provisioner.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as grader:
        kernel = int(grader.stdout.readline())
        os.kill(kernel, 0)
        grader.kill()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(kernel, 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)
    pytest.fail("the kernel still runs")


def test_kernels_find_torch_loaded_where_notebooks_use_it(tmp_path):
    """In a process of its own: a server that was started without torch makes room for one with it."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import asyncio
import nbformat
from classroom.separate import SeparateExecute

asyncio.set_event_loop(asyncio.new_event_loop())
for source in ("'tor' + 'ch' in sys.modules", "'torch' in sys.modules", "'tor' + 'ch' in sys.modules"):
    cells = [nbformat.v4.new_code_cell("import sys"), nbformat.v4.new_code_cell(source)]
    nb = nbformat.v4.new_notebook(cells=cells)
    SeparateExecute(timeout=60).preprocess(nb, {"metadata": {"path": None}})
    print(nb.cells[1].outputs[0]["data"]["text/plain"])
""",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=True)
    # The third does not name it, and has it from the server.
    assert done.stdout.split() == ["False", "True", "True"]
