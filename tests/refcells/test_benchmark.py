"""The benchmark runs and prints its tables. Its times are not judged here: a test machine is too busy for that."""

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "cells.py"


def test_quick_run_prints_every_row():
    done = subprocess.run(
        [sys.executable, PROGRAM, "--quick"], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""
    for cell in ("rnn", "lstm", "gru"):
        for library in ("numpy", "torch"):
            for direction in ("forward", r"forward \+ backward"):
                row = rf"^{cell} {library} +{direction} +B=4 T=10 D=8 H=16( +\d+\.\d\d){{4}}$"
                assert len(re.findall(row, done.stdout, re.M)) == 1, (cell, library, direction)
    assert "Kept between forward and backward, MB" in done.stdout
    assert re.search(r"time ~ T\^k, k: numpy -?\d", done.stdout)
