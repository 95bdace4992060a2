"""How an experiment is run and kept: results as JSON, with the command, seeds, versions and time beside them."""

import importlib
import json
import pkgutil
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

__all__ = ["DATA", "Experiment", "Recorded", "experiments", "load", "run"]

DATA = Path(__file__).resolve().parents[3] / "book" / "data"


@dataclass(frozen=True)
class Experiment:
    """One experiment, cut into parts.

    Attributes:
        name: the name of its file in `book/data`, and on the command line.
        measure: takes one part's settings as keywords, gives its results as a dict of plain values. It makes its
            own generator from the `seed` among them.
        parts: the settings of each part: JSON values only.
        sample: indices of the parts that a test runs again; a few seconds' worth.
        close: compares a part's recorded results with those of a rerun, with margins: another machine rounds
            differently, and training runs drift apart.
    """

    name: str
    measure: Callable[..., dict[str, Any]]
    parts: Sequence[dict[str, Any]]
    sample: Sequence[int]
    close: Callable[[dict[str, Any], dict[str, Any]], bool]


@dataclass(frozen=True)
class Recorded:
    """What a run left behind.

    Attributes:
        command: what was run.
        versions: Python, NumPy and torch.
        seconds: time of all parts together, on one thread.
        parts: settings and results of each part in one dict.
    """

    command: str
    versions: dict[str, str]
    seconds: float
    parts: list[dict[str, Any]]

    def where(self, **settings: Any) -> list[dict[str, Any]]:
        """The parts with these settings, in the order in which they were run.

        Raises:
            ValueError: if there is none.
        """
        found = [part for part in self.parts if all(part.get(k) == v for k, v in settings.items())]
        if not found:
            raise ValueError(
                f"no part has {settings}; expected settings of the {len(self.parts)} that were run"
            )
        return found


def experiments() -> dict[str, Experiment]:
    """All experiments of the package's modules, by name."""
    found: dict[str, Experiment] = {}
    package = importlib.import_module("refcells.experiments")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in ("record", "__main__"):
            listed = importlib.import_module(f"refcells.experiments.{module.name}").EXPERIMENTS
            found |= {experiment.name: experiment for experiment in listed}
    return found


def load(name: str, folder: Path = DATA) -> Recorded:
    """The kept results of an experiment.

    Args:
        name: the experiment's name.
        folder: where the data is.

    Raises:
        ValueError: if it has not been run.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        raise ValueError(f"no results of {name!r} in {folder}; run: python -m refcells.experiments {name}")
    return Recorded(**json.loads(path.read_text(encoding="utf-8")))


def run(experiment: Experiment, folder: Path = DATA, progress: bool = True) -> Recorded:
    """Run all parts of an experiment on one thread and keep the results; an interrupted run goes on where it stopped.

    Args:
        experiment: what to run.
        folder: where the data is written.
        progress: whether to show a bar on stderr.
    """
    import numpy as np
    import torch

    torch.set_num_threads(1)  # two threads add in another order, and training runs drift apart
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{experiment.name}.partial.jsonl"
    kept = unfinished.read_text(encoding="utf-8").splitlines() if unfinished.exists() else []
    done: list[dict[str, Any]] = []
    for line in kept:
        try:
            done.append(json.loads(line))
        except json.JSONDecodeError:  # the line that was being written
            break
    if [part["settings"] for part in done] != list(experiment.parts[: len(done)]):
        done = []  # the settings have changed since
    unfinished.write_text("".join(json.dumps(part) + "\n" for part in done), encoding="utf-8")
    todo = experiment.parts[len(done) :]
    for settings in tqdm(todo, desc=experiment.name, unit="part", disable=not progress):
        start = time.perf_counter()
        results = experiment.measure(**settings)
        done.append({"settings": settings, "results": results, "seconds": time.perf_counter() - start})
        with unfinished.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[-1]) + "\n")
    recorded = Recorded(
        command=f"python -m refcells.experiments {experiment.name}",
        versions={"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
        seconds=round(sum(part["seconds"] for part in done), 1),
        parts=[part["settings"] | part["results"] for part in done],
    )
    rows = ",\n  ".join(json.dumps(part) for part in recorded.parts)
    head = json.dumps({key: getattr(recorded, key) for key in ("command", "versions", "seconds")}, indent=1)
    text = head.removesuffix("\n}") + f',\n "parts": [\n  {rows}\n ]\n}}\n'
    path = folder / f"{experiment.name}.json"
    scratch = path.with_suffix(".tmp")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
    unfinished.unlink()
    return recorded
