"""The formgrader in a running JupyterLab, as an instructor meets it: opened from the menu, read, and graded in."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import nbformat
import pytest

from classroom.course import assignments, make_course, nbgrader, read_notebook, sources
from classroom.gradebook import scores
from classroom.sample import Student, submission

pytestmark = [pytest.mark.pipeline]

NOTEBOOK = "scalar_lstm"  # one is enough here, and quick
TOKEN = "only-for-this-test"
PATIENCE = 60  # seconds until the server answers, or a page shows what it should


def lacking(what: str) -> NoReturn:
    """Skip what cannot be tested here; in continuous integration, where it must be testable, fail."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def environment(home: Path) -> dict[str, str]:
    """The tester's environment without anything of their own Jupyter in it."""
    own = ("JUPYTER", "IPYTHON", "XDG", "NBGRADER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**kept, "HOME": str(home), "USERPROFILE": str(home), "PATH": path, "PYTHONWARNINGS": "ignore"}


def jupyter(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jupyter", *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)


def test_server_extension_is_enabled(tmp_path):
    listed = jupyter(tmp_path, "server", "extension", "list")
    for name in ("formgrader", "validate_assignment", "assignment_list", "course_list"):
        assert re.search(rf"nbgrader\.server_extensions\.{name} enabled", listed), listed
        assert re.search(rf"nbgrader\.server_extensions\.{name} +OK", listed), listed


def test_lab_extension_is_enabled(tmp_path):
    listed = jupyter(tmp_path, "labextension", "list")
    assert re.search(r"@jupyter/nbgrader v[\d.]+ enabled OK", listed), listed


@dataclass
class Running:
    """A JupyterLab that serves a course directory."""

    course: Path
    address: str


def answer(address: str) -> object:
    """What an address of the server's gives as JSON."""
    request = urllib.request.Request(address, headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("formgrader").resolve()
    course, home = make_course(root / "course"), root / "home"
    home.mkdir()
    for notebook in (course / "solutions" / "lstm").glob("*.ipynb"):
        if notebook.stem != NOTEBOOK:
            notebook.unlink()
    nbgrader(course, "generate_assignment", "lstm")
    source = next(path for path in sources("lstm") if path.stem == NOTEBOOK)
    released = read_notebook(course / "exercises" / "lstm" / f"{NOTEBOOK}.ipynb")
    handed_in = course / "submitted" / "ada" / "lstm" / f"{NOTEBOOK}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(submission(Student("ada"), released, read_notebook(source), NOTEBOOK), handed_in)
    nbgrader(course, "autograde", "lstm")

    log = (root / "server.log").open("w", encoding="utf-8")
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"),
            # Port 0: the system gives a free one, and the server's own record says which.
            *("--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}", "--expose-app-in-browser"),
            *("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
        ],
        cwd=course,
        env=environment(home),
        stdout=log,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )
    try:
        yield Running(course, started(server, home, root / "server.log"))
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(timeout=20)
        log.close()


def started(server: subprocess.Popen, home: Path, log: Path) -> str:
    """Wait until the server answers; gives its address."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        for record in home.rglob("jpserver-*.json"):
            try:
                address = json.loads(record.read_text(encoding="utf-8"))["url"].rstrip("/")
                answer(f"{address}/api/status")
            except (OSError, ValueError):
                break  # half written, or not listening yet
            return address
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start within {PATIENCE} s:\n{log.read_text(encoding='utf-8')[-3000:]}")


@pytest.fixture(scope="module")
def chromium():
    """A running Chromium that reaches nothing but this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    binary = next((found for name in names if (found := shutil.which(name))), None)
    if binary is None:
        lacking("no Chromium on this machine; install it, on Debian with: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("Playwright is not installed; run: python -m pip install -e '.[test]'")
    arguments = [
        *(
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
        ),
        *(
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ),
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def page(chromium, lab):
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    # As a person comes in: the address that the server prints, which leaves a cookie behind.
    page.goto(f"{lab.address}/lab?token={TOKEN}")
    yield page
    context.close()


def test_the_formgraders_data_name_the_assignment(lab):
    found = {one["name"]: one for one in answer(f"{lab.address}/formgrader/api/assignments")}
    assert set(found) == set(assignments())
    assignment = found["lstm"]
    assert assignment["source_path"] == "solutions/lstm"
    assert assignment["release_path"] == "exercises/lstm"
    assert assignment["num_submissions"] == 1
    (graded,) = answer(f"{lab.address}/formgrader/api/submissions/lstm")
    assert graded["student"] == "ada"
    assert (graded["autograded"], graded["submitted"], graded["needs_manual_grade"]) == (True, True, True)
    tested = [score for score in scores(lab.course, "lstm")["ada"] if score.auto is not None]
    assert graded["score"] == sum(score.auto for score in tested) == sum(score.most for score in tested)


@pytest.mark.browser
def test_the_formgrader_opens_from_the_menu(lab, page):
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Formgrader", exact=True).click()
    grader = page.frame_locator("iframe[src*='formgrader']")
    row = grader.locator("#main-table tr", has_text="lstm")
    row.locator("td.num-submissions", has_text="1").wait_for()
    assert row.count() == 1
    assert row.locator("td.name").inner_text().strip() == "lstm"


@pytest.mark.browser
def test_points_given_in_the_formgrader_reach_the_gradebook(lab, page):
    def words() -> dict[str, float | None]:
        return {
            score.question: score.manual for score in scores(lab.course, "lstm")["ada"] if score.auto is None
        }

    assert words() == {"words-content-control": None, "words-two-states": None}
    page.goto(f"{lab.address}/formgrader/gradebook/lstm/{NOTEBOOK}")
    page.locator("#main-table a:visible", has_text="Submission #1").click()
    # The grader reads the mark scheme beside the answer, and the points that the tests gave.
    page.get_by_text("1 point: g is content").wait_for()
    assert page.locator("input.score").count() == len(scores(lab.course, "lstm")["ada"])
    assert page.locator("input#test-sigmoid").get_attribute("placeholder") == "2"
    field = page.locator("input#words-content-control")
    with page.expect_response(
        lambda reply: "/formgrader/api/grade/" in reply.url and reply.request.method == "PUT"
    ):
        field.fill("2.5")
        field.blur()
    assert words() == {"words-content-control": 2.5, "words-two-states": None}
