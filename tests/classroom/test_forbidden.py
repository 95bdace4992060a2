"""What an exercise forbids: refused by name and by use, and never a right answer."""

import contextlib
import textwrap
import threading

import numpy as np
import pytest
import torch
from torch import nn

from classroom.course import read_notebook, sources
from classroom.grader_report import measure
from classroom.grader_report.notebooks import notebooks
from refcells.autotest.calls import Unfit
from refcells.autotest.forbidden import FORBIDDEN, Cell, forbidden_in, forbidding, refused
from refcells.autotest.verdict import questions

LSTM = FORBIDDEN["torch.FusedLSTMCell"]
IMPORTS = [Cell("import torch\nfrom torch import nn\n"), Cell("%matplotlib inline", own=True)]
CELLS = {
    "torch_rnn": "torch.TanhRNNCell",
    "torch_lstm": "torch.FusedLSTMCell",
    "torch_gru": "torch.ResetAfterGRUCell",
}
VARIANTS = [
    (notebook.name, variant)
    for notebook in notebooks()
    if notebook.name in CELLS
    for variant in measure.variants(notebook)
    if variant.cell == "cell"
]


def test_every_exercise_that_forbids_something_is_asked():
    asked = {forbidden_in(name) for name in questions()} - {None}
    assert asked == set(FORBIDDEN)


@pytest.mark.parametrize(
    ("notebook", "variant"), VARIANTS, ids=[f"{name}: {variant.way}" for name, variant in VARIANTS]
)
def test_no_right_answer_is_refused(notebook, variant):
    rule = FORBIDDEN[CELLS[notebook]]
    assert refused(rule, variant.code, IMPORTS) is None
    space = {"torch": torch, "nn": nn, "np": np}
    exec(variant.code, space)
    question = questions()[CELLS[notebook]]
    with forbidding(rule):
        question.run(space[question.called], question.cases(0)[-1])


def test_no_model_solution_is_refused():
    for assignment, notebook in (("rnn", "torch_rnn"), ("lstm", "torch_lstm"), ("gru", "torch_gru")):
        [source] = [path for path in sources(assignment) if path.stem == notebook]
        cell = next(
            c for c in read_notebook(source).cells if c.metadata.get("nbgrader", {}).get("grade_id") == "cell"
        )
        assert refused(FORBIDDEN[CELLS[notebook]], cell.source, IMPORTS) is None


@pytest.mark.parametrize(
    "source",
    [
        "class FusedLSTMCell(nn.LSTMCell): pass",
        "from torch.nn import LSTMCell as Base\nclass FusedLSTMCell(Base): pass",
        "from torch.nn import *\nclass FusedLSTMCell(LSTMCell): pass",
        "from torch.nn.modules.rnn import RNNCellBase\nclass FusedLSTMCell(RNNCellBase): pass",
        "Base = nn.LSTMCell\nclass FusedLSTMCell(Base): pass",
        "class FusedLSTMCell(getattr(nn, 'LSTMCell')): pass",
        "class FusedLSTMCell(vars(nn)['LSTMCell']): pass",
        "class FusedLSTMCell(nn.__dict__['LSTMCell']): pass",
        "layer = nn.LSTM(3, 4)",
        "layer = torch.nn.modules.rnn.LSTM(3, 4)",
        "import torch.nn as other\nlayer = other.LSTM(3, 4)",
        "def step(): return torch.lstm_cell()",
        "def step(): return torch._VF.lstm_cell()",
        "from torch import _VF as f\ndef step(): return f.lstm_cell()",
        "def step(): return torch.ops.aten.lstm_cell()",
        "def step(): return getattr(torch, 'lstm')()",
        "import importlib\nt = importlib.import_module('torch._VF')\ndef step(): return t.lstm_cell()",
        "def step(): return __import__('torch').lstm_cell()",
        "import sys\ndef step(): return sys.modules['torch'].lstm_cell()",
        "%%time\nclass FusedLSTMCell(nn.LSTMCell): pass",
        "%config InlineBackend.figure_format = 'svg'\nlayer = nn.LSTM(3, 4)",
        "if True:\n    !ls\n    layer = nn.LSTM(3, 4)",
    ],
)
def test_the_names_are_refused(source):
    said = refused(LSTM, source, IMPORTS)
    assert said is not None
    assert "nn.LSTMCell" in said


@pytest.mark.parametrize(
    "source",
    [
        '"""Like nn.LSTM and torch.lstm_cell."""  # nn.LSTM',
        "like = nn.LSTMCell(3, 4)\nweight = nn.Parameter(like.weight_ih.detach())",
        "lstm = 3\nclass LSTM: pass\nclass FusedLSTMCell(LSTM): pass",
        "class FusedLSTMCell(nn.Module): pass",
        "def (:",
    ],
)
def test_what_is_no_use_is_not_refused(source):
    assert refused(LSTM, source, IMPORTS) is None


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        (
            "def step(*a):\n    with torch._C.DisableTorchFunction():\n        return torch.lstm_cell(*a)",
            "torch._C",
        ),
        ("from torch._C import DisableTorchFunction as off", "torch._C"),
        ("fast = torch.jit.script(nn.LSTMCell(3, 4))", "torch.jit"),
        ("fast = torch.compile(nn.LSTMCell(3, 4))", "torch.compile"),
        ("import _thread", "_thread"),
        ("import threading", "threading"),
        ("from concurrent.futures import ThreadPoolExecutor", "concurrent"),
        ("import multiprocessing as m", "multiprocessing"),
        ("from torch import overrides", "torch.overrides"),
        ("import torch.multiprocessing", "torch.multiprocessing"),
        ("import asyncio", "asyncio"),
    ],
)
def test_no_cell_of_the_students_may_hide_a_step(source, uses):
    said = refused(LSTM, "class FusedLSTMCell(nn.Module): pass", [*IMPORTS, Cell(source, own=True)])
    assert said is not None
    assert said.startswith(f"line {2 if 'with' in source else 1} of another cell uses {uses}")
    assert "nn.LSTMCell" in said
    # The course's own cells are trusted, and an answer may not hide anything either.
    assert refused(LSTM, "x = 1", [*IMPORTS, Cell(source)]) is None
    assert refused(LSTM, source, IMPORTS) is not None


@pytest.mark.parametrize(
    "source",
    ["layer = nn.LSTM(3, 4)\nlayer(torch.ones(1, 2, 3))", "import math, time", "y = torch.lstm_cell"],
)
def test_another_cell_may_use_pytorchs_cell_to_compare(source):
    assert refused(LSTM, "class FusedLSTMCell(nn.Module): pass", [*IMPORTS, Cell(source, own=True)]) is None


# Deeper than a parser goes, and than a visitor.
DEEP = ["x = " + "-" * 50_000 + "1", "x = a" + ".b" * 20_000, "x = " + " + ".join(["1"] * 500)]


@pytest.mark.parametrize("cell", DEEP, ids=["signs", "attributes", "sum"])
def test_what_is_too_deep_to_be_read_is_said(cell):
    for told in (
        refused(LSTM, cell),
        refused(LSTM, "class FusedLSTMCell(nn.Module): pass", [*IMPORTS, Cell(cell)]),
    ):
        assert told is not None
        assert "too deeply to be read" in told


CALLS = {
    "module": "nn.LSTMCell(3, 4)(x[0], (h, h))",
    "layer": "nn.LSTM(3, 4)(x)",
    "function": "torch.lstm_cell(x[0], (h, h), *weights)",
    "behind it": "torch._VF.lstm_cell(x[0], (h, h), *weights)",
    "packet": "torch.ops.aten.lstm_cell(x[0], [h, h], *weights)",
    "overload": "torch.ops.aten.lstm_cell.default(x[0], [h, h], *weights)",
    "put together": "getattr(torch, 'ls' + 'tm_cell')(x[0], (h, h), *weights)",
}


@pytest.mark.parametrize("name", CALLS)
def test_the_use_is_refused_whatever_it_is_called(name):
    cell = nn.LSTMCell(3, 4)
    space = {
        "torch": torch,
        "nn": nn,
        "x": torch.ones(2, 1, 3),
        "h": torch.zeros(1, 4),
        "weights": list(cell.parameters()),
    }
    eval(CALLS[name], space)
    with pytest.raises(Unfit, match=r"it uses lstm.*nn\.LSTMCell"), forbidding(LSTM):
        eval(CALLS[name], space)


def test_catching_the_refusal_does_not_help():
    source = textwrap.dedent("""
        try:
            nn.LSTMCell(3, 4)(torch.ones(1, 3))
        except Exception:
            pass
    """)
    with pytest.raises(Unfit, match="it uses lstm_cell"), forbidding(LSTM):
        exec(source, {"torch": torch, "nn": nn})


def test_nobody_takes_the_step_in_another_thread():
    """PyTorch's watch sees one thread, so that one may start no other; other threads may."""
    cell, x = nn.LSTMCell(2, 3), torch.zeros(1, 2)
    with pytest.raises(Unfit, match="it starts a thread"), forbidding(LSTM):
        threading.Thread(target=cell, args=(x,)).start()
    with pytest.raises(Unfit, match="it uses a thread"), forbidding(LSTM), contextlib.suppress(Unfit):
        threading.Thread(target=cell, args=(x,)).start()
    started = []
    other = threading.Thread(
        target=lambda: (begin.wait(), threading.Thread(target=started.append, args=(1,)).start())
    )
    begin = threading.Event()
    other.start()
    with forbidding(LSTM):
        begin.set()
        other.join()
    threading.Thread(target=started.append, args=(2,)).start()
    assert sorted(started) == [1, 2]
