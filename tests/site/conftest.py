"""Fixtures of the site's tests; `built_site.py` beside this holds what they use."""

from pathlib import Path

import built_site
import pytest


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (built_site.SITE / "index.html").exists():
        built_site.lacking(f"no site in {built_site.SITE}; build it with: make site")
    return built_site.SITE


@pytest.fixture(scope="session")
def address(site: Path):
    """Where the built site is served."""
    with built_site.served(site) as url:
        yield url


# Not for the whole session: Playwright allows one at a time in a process, and other tests start their own.
@pytest.fixture(scope="module")
def chromium():
    """A running Chromium."""
    with built_site.launched() as browser:
        yield browser
