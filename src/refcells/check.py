"""Run a student's notebook and print, question by question, the points and what is not right yet.

Use it as `python -m refcells.check NOTEBOOK`. The notebook is read, never written. It gives points by nbgrader's own
rule: a test cell that raises, or writes to stderr, gives 0. Hidden tests are the instructor's, so full marks here are a
good sign and no promise.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 120  # seconds a cell, as when the instructor grades


@dataclass(frozen=True)
class Result:
    """One graded cell.

    Attributes:
        question: the cell's grade id.
        points: points reached; None where a person gives them.
        most: points that can be had.
        hint: what is not right yet; empty if nothing is.
    """

    question: str
    points: float | None
    most: float
    hint: str = ""


class CannotCheck(Exception):
    """The notebook cannot be checked; the message says what to do."""


def read(path: Path) -> Any:
    """The notebook at `path`.

    Raises:
        CannotCheck: if there is none, or it does not parse.
    """
    import nbformat

    if path.suffix != ".ipynb":
        raise CannotCheck(f"{path} is no .ipynb file; give the notebook's file name")
    try:
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4)
    except FileNotFoundError:
        raise CannotCheck(
            f"there is no file {path}; run this in the folder that holds the notebook"
        ) from None
    except IsADirectoryError:
        raise CannotCheck(f"{path} is a folder; give the notebook's file name") from None
    except UnicodeDecodeError:
        raise CannotCheck(
            f"{path} is not text; open it in JupyterLab and save it again, or fetch a fresh copy"
        ) from None
    except Exception as error:  # nbformat's readers raise what they like
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise CannotCheck(
            f"{path} is not a notebook that can be read ({reason}); open it in JupyterLab and save it again, "
            "or fetch a fresh copy"
        ) from None
    if not any(_graded(cell) for cell in notebook.cells):
        raise CannotCheck(f"{path} has no graded questions; is it one of the course's notebooks?")
    return notebook


def _graded(cell: Any) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def run(notebook: Any, folder: Path) -> None:
    """Execute a notebook's cells in place, errors included.

    Raises:
        CannotCheck: if the kernel cannot be started or dies.
    """
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        interrupt_on_timeout=True,
        allow_errors=True,
        extra_arguments=["--IPKernelApp.log_level=40"],  # errors only: what a student sees is the report
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    except NoSuchKernel:
        raise CannotCheck("there is no Python kernel; run: python -m pip install ipykernel") from None
    except DeadKernelError:
        raise CannotCheck(
            "Python itself stopped while running the notebook; run its cells one by one to see where"
        ) from None


def missing_package(notebook: Any) -> str | None:
    """The package of the course's own that the notebook's first cells could not import, None if there is none."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.ename == "ModuleNotFoundError":
                name = str(output.evalue).partition("'")[2].partition("'")[0].partition(".")[0]
                if name in ("numpy", "torch", "refcells", "matplotlib", "tqdm"):
                    return name
    return None


def results(notebook: Any) -> list[Result]:
    """Points and hints of an executed notebook, by nbgrader's rule."""
    found = []
    for cell in notebook.cells:
        if not _graded(cell):
            continue
        meta = cell.metadata["nbgrader"]
        name, most = meta.get("grade_id", "?"), float(meta.get("points", 0))
        if cell.cell_type != "code" or meta.get("solution"):
            found.append(Result(name, None, most))
            continue
        hint = next((hint for output in cell.outputs if (hint := _hint(output))), "")
        found.append(Result(name, 0.0 if hint else most, most, hint))
    return found


def _hint(output: Any) -> str:
    """What a test cell's output says is wrong, if it does."""
    if output.output_type == "error":
        lines = str(output.evalue).strip().splitlines() or [output.ename]
        if output.ename == "WrongAnswer":
            return "\n".join(lines)
        if output.ename == "KeyboardInterrupt":
            return f"the test did not end within {TIMEOUT} seconds"
        return f"{output.ename}: " + "\n".join(lines[:6])
    if output.output_type == "stream" and output.name == "stderr":
        return f"something was written to stderr, which costs the points: {output.text.strip().splitlines()[-1][:200]}"
    return ""


def report(found: list[Result]) -> str:
    """The results as text."""
    width = max(len(result.question) for result in found)
    lines = []
    for result in found:
        if result.points is None:
            lines.append(f"{result.question:{width}}  {'-':>4} / {result.most:g}   a person reads this one")
            continue
        mark = "" if result.points == result.most else "   not yet"
        lines.append(f"{result.question:{width}}  {result.points:>4g} / {result.most:g}{mark}")
        lines += [f"    {line}" for line in result.hint.splitlines()]
    by_tests = [result for result in found if result.points is not None]
    reached, most = sum(r.points or 0.0 for r in by_tests), sum(r.most for r in by_tests)
    lines.append("")
    lines.append(
        f"{reached:g} of {most:g} points by tests; {sum(r.most for r in found) - most:g} more by a person."
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Command line.

    Returns:
        0 if every test passes, 1 if one does not, 2 if the notebook cannot be checked.
    """
    parser = argparse.ArgumentParser(
        prog="python -m refcells.check", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("notebook", type=Path, help="the notebook's file")
    path: Path = parser.parse_args(arguments).notebook
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    try:
        notebook = read(path)
        run(notebook, path.resolve().parent)
        missing = missing_package(notebook)
        if missing:
            extra = "student,torch" if missing == "torch" else "student"
            raise CannotCheck(
                f"the notebook needs {missing}, which this Python does not have; run, in the course's folder: "
                f'python -m pip install -c constraints.txt -e ".[{extra}]"'
            )
    except CannotCheck as reason:
        print(f"refcells.check: {reason}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(
            f"refcells.check: {error.name} is missing; run: python -m pip install 'learning-to-remember[student]'",
            file=sys.stderr,
        )
        return 2
    found = results(notebook)
    print(report(found))
    return 0 if all(r.points is None or r.points == r.most for r in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
