"""The part of `refcells` that may stand beside a student's code while it is graded: tasks, training, plotting, probes."""

import compileall
import shutil
from pathlib import Path

import refcells

__all__ = ["KEPT", "make_bundle"]

# Nothing here holds a cell, a solution, a case of a hidden test or a catalogued mistake.
KEPT = (
    "__init__.py",
    "tasks.py",
    "training.py",
    "check.py",
    "autotest/calls.py",
    "autotest/compare.py",
    "autotest/forbidden.py",
    "autotest/limits.py",
    "autotest/student.py",
    "autotest/wire.py",
)
PROBES = "autotest/*probes.py"

# A bare package: the real one offers `judge`, whose questions hold the answers.
AUTOTEST = '"""The tests run in another process while a notebook is graded."""\n'


def make_bundle(folder: Path) -> Path:
    """Copy the permitted modules to `folder/refcells`, readable by everybody; gives `folder`."""
    source = Path(refcells.__file__).parent
    package = folder / "refcells"
    (package / "autotest").mkdir(parents=True)
    for path in [*(source / name for name in KEPT), *sorted(source.glob(PROBES))]:
        shutil.copyfile(path, package / path.relative_to(source))
    (package / "autotest" / "__init__.py").write_text(AUTOTEST, encoding="utf-8")
    # So that no kernel has to compile them, and none may write here.
    compileall.compile_dir(folder, quiet=2)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder
