"""The Makefile: what it says when something is missing, and that an interrupted run recovers."""

import os
import shutil
import socket
import subprocess
import sys
import urllib.request

import pytest

from classroom.course import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments, cwd=ROOT, **environment):
    """As from a terminal: a make that runs these tests would hand its own flags on."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=cwd,
        env={**own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def bare(tmp_path):
    """The files that make needs to set up an environment, and nothing else."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_missing_python_is_named(bare):
    done = make("site", "PYTHON=python-that-is-not-there", cwd=bare)
    assert done.returncode != 0
    assert "no 'python-that-is-not-there' here; install Python 3.11 or newer" in done.stdout + done.stderr


def test_old_python_is_named(bare):
    fake = bare / "oldpython"
    fake.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "import sys; sys.version_info = (3, 9, 1); exec(sys.argv[1])" "$2"\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    done = make("site", f"PYTHON={fake}", cwd=bare)
    assert done.returncode != 0
    assert "is Python 3.9; 3.11 or newer is needed" in done.stdout + done.stderr
    assert not (bare / ".venv").exists()


def test_an_environment_that_was_not_finished_is_made_again(bare):
    """Without the mark that is written last, make starts with the environment."""
    (bare / ".venv" / "bin").mkdir(parents=True)
    done = make("--dry-run", "site", cwd=bare)
    assert "-m venv .venv" in done.stdout
    assert "-m pip install" in done.stdout


def test_a_site_with_another_address_is_made_again(bare):
    """And one with the same address is not."""
    for path in ("_config.yml", "_toc.yml", ".venv/.ready", "_build/html/index.html"):
        (bare / path).parent.mkdir(parents=True, exist_ok=True)
        (bare / path).touch()

    def builds(address):
        done = make("--dry-run", "site", cwd=bare, SITE_URL=address)
        assert done.returncode == 0, done.stderr
        return "jupyter-book build" in done.stdout

    first, second = "https://course.example/", "https://course.example/reader/"
    assert [builds(address) for address in ("", first)] == [False, True]
    # What the last lines of the recipe leave behind.
    recipe = make("--dry-run", "site", cwd=bare, SITE_URL=first).stdout.splitlines()[-1]
    subprocess.run(recipe, shell=True, cwd=bare, check=True)
    assert [builds(address) for address in ("", first, second)] == [True, False, True]


def test_clean_leaves_a_class_alone():
    done = make("--dry-run", "clean")
    removed = done.stdout.split()
    assert "_build" in removed
    for kept in ("submitted", "autograded", "feedback", "gradebook.db", "grades.csv", ".venv", "exercises"):
        assert not any(kept == word.strip("./") for word in removed)


def test_a_busy_port_gets_one_clear_line(tmp_path):
    (tmp_path / "index.html").write_text("here", encoding="utf-8")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "classroom.serve", "--site", str(tmp_path), "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"port {port}: Address already in use; take another: make serve PORT=8001" in done.stderr


def test_serve_without_a_site_says_how_to_build_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "classroom.serve", "--site", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "build it with: make site" in done.stderr


def test_serve_serves(tmp_path):
    (tmp_path / "index.html").write_text("the course", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "classroom.serve", "--site", str(tmp_path), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert f"http://127.0.0.1:{port}/" in process.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as page:
            assert page.read() == b"the course"
        # An address that leads nowhere is answered with the site's own page, where it has one.
        for body in (None, b"<title>Page not found</title>"):
            if body:
                (tmp_path / "404.html").write_bytes(body)
            with pytest.raises(urllib.error.HTTPError) as lost:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/book/gone.html", timeout=10)
            assert lost.value.code == 404
            assert (lost.value.read() == body) == bool(body)
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()
