"""For all tests: those that take minutes run on demand, and a training on one thread."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# nbgrader calls alembic by name; an environment that is used without being activated has it beside its Python alone.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("LONG") == "1":
        return
    skip = pytest.mark.skip(reason="takes minutes: set LONG=1 in the environment to run it")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: two give another trajectory, and small models are slower with several."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
