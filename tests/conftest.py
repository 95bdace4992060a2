"""For all tests: those that take minutes run on demand."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("LONG") == "1":
        return
    skip = pytest.mark.skip(reason="takes minutes: set LONG=1 in the environment to run it")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)
