"""What 'Try it' runs on: the package that is fetched, the modules that are served, and the code that checks a cell."""

import base64
import dataclasses
import hashlib
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from pages import BOOK, ROOT, loaded

pytest.importorskip("sphinx")
sys.path.insert(0, str(BOOK / "_ext"))


@pytest.fixture(scope="module")
def extension():
    return loaded(BOOK / "_ext" / "browser_python.py")


@pytest.fixture(scope="module")
def driver():
    return loaded(BOOK / "_static" / "try_it.py")


# --- the package --------------------------------------------------------------------------------------------------


def package(folder, names):
    """A package as npm packs it, with its integrity value."""
    path = folder / "pyodide.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
    return path, "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


def pin(extension, folder, **other):
    """The package as the course pins it, but kept elsewhere."""
    return dataclasses.replace(extension.PYODIDE, folder=folder, **other)


def test_the_pinned_package_is_taken_apart(extension, tmp_path):
    path, integrity = package(tmp_path, [*extension.FILES, "console.html", "dist/a.js", "dist/b.css"])
    core = tmp_path / "core"
    pinned = pin(extension, core, integrity=integrity, files=(*extension.FILES, "dist/*.js"))
    assert not pinned.complete()
    pinned.unpack(path)
    assert pinned.complete()
    found = {p.relative_to(core).as_posix() for p in core.rglob("*") if p.is_file()}
    assert found == {*extension.FILES, "dist/a.js", "version"}
    (core / "version").write_text("0.0.1")
    assert not pinned.complete()


def test_another_package_is_refused(extension, tmp_path):
    path, integrity = package(tmp_path, extension.FILES)
    path.write_bytes(path.read_bytes() + b"\0")
    pinned = pin(extension, tmp_path / "core", integrity=integrity)
    with pytest.raises(extension.Missing, match="not the package that was pinned"):
        pinned.unpack(path)
    assert not pinned.complete()


def test_a_package_without_a_file_is_refused(extension, tmp_path):
    path, integrity = package(tmp_path, extension.FILES[1:])
    pinned = pin(extension, tmp_path / "core", integrity=integrity)
    with pytest.raises(extension.Missing, match=r"holds no pyodide\.js"):
        pinned.unpack(path)
    assert not pinned.complete()


def test_a_package_from_elsewhere_is_taken_and_its_place_is_named(extension, tmp_path, monkeypatch):
    """Behind a firewall that lets npm's registry not through."""
    module = sys.modules[type(extension.PYODIDE).__module__]
    monkeypatch.setattr(module, "BUILD", tmp_path)
    path, integrity = package(tmp_path, extension.FILES)
    pinned = pin(extension, tmp_path / "core", integrity=integrity)
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error no network' >&2\nexit 1\n", encoding="utf-8")
    npm.chmod(0o755)
    monkeypatch.setattr(module, "program", lambda name: str(npm))
    with pytest.raises(extension.Missing, match=r"no network; .* put pyodide-[\d.]+\.tgz into .*packages"):
        pinned.fetch()
    pinned.supplied.parent.mkdir()
    path.rename(pinned.supplied)
    pinned.fetch()
    assert pinned.complete()


def test_npm_is_taken_from_the_environment_before_the_machine(extension, tmp_path, monkeypatch):
    places = [tmp_path / "environment", tmp_path / "machine"]
    for place in places:
        place.mkdir()
        (place / "npm").write_text("#!/bin/sh\n")
        (place / "npm").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(places[0] / "python"))
    monkeypatch.setenv("PATH", str(places[1]))
    program = sys.modules["npm_packages"].program
    assert program("npm") == str(places[0] / "npm")
    os.remove(places[0] / "npm")
    assert program("npm") == str(places[1] / "npm")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (None, "npm is not installed"),
        (
            "#!/bin/sh\necho 'npm error network no connection' >&2\nexit 1\n",
            "npm error network no connection",
        ),
    ],
)
def test_what_is_missing_is_said_and_the_build_goes_on(
    extension, tmp_path, monkeypatch, capsys, script, words
):
    if script:
        (tmp_path / "npm").write_text(script)
        (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if script else str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    pinned = pin(extension, tmp_path / "core")
    monkeypatch.setattr(extension, "PYODIDE", pinned)
    assert extension.main() == 0
    said = capsys.readouterr().err
    assert words in said
    assert "The site is built without it" in said
    assert not pinned.complete()


# --- what is served -----------------------------------------------------------------------------------------------


def test_the_served_modules_judge_without_numpy_and_torch(extension, tmp_path):
    """In a Python that has nothing but its standard library and what the site serves."""
    course = tmp_path / "course.zip"
    extension.write_course(course)
    first = course.read_bytes()
    extension.write_course(course)
    assert course.read_bytes() == first
    with zipfile.ZipFile(course) as archive:
        archive.extractall(tmp_path / "course")
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from refcells import scalar\n"
        "from refcells.autotest import judge\n"
        "from refcells.autotest.scalar_questions import QUESTIONS\n"
        "for name, question in QUESTIONS.items():\n"
        "    assert judge(name, question.reference).passed, name\n"
        "    for mistake in question.mistakes[:1]:\n"
        "        assert not judge(name, mistake.make()).passed, name\n"
        "assert scalar.__file__.startswith(sys.argv[1])\n"
        "assert not {'numpy', 'torch', 'jaxtyping'} & set(sys.modules)\n"
        "print(len(QUESTIONS))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(tmp_path / "course")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 15


def test_exercises_are_the_notebooks_own(extension):
    code = extension.cell("lstm/scalar_lstm", "forward")
    step = extension.function(code, "lstm_step")
    assert step in code
    assert step.startswith("def lstm_step(")
    assert "lstm_forward" not in step
    with pytest.raises(LookupError, match="there are intro, imports"):
        extension.cell("lstm/scalar_lstm", "nowhere")
    with pytest.raises(LookupError, match="no function gru_step"):
        extension.function(code, "gru_step")


def test_a_comparison_has_the_form_of_the_notebooks_tests(extension):
    mine = extension.comparison("scalar.lstm_gates", "lstm_gates").splitlines()
    theirs = extension.cell("lstm/scalar_lstm", "test-gates").splitlines()
    assert mine[-1] in theirs


# --- a cell is checked ----------------------------------------------------------------------------------------------


def check(driver, test, *cells):
    before = sys.stdout, sys.stderr
    answer = json.loads(driver.check(json.dumps(cells), test))
    assert (sys.stdout, sys.stderr) == before
    return answer


@pytest.fixture(scope="module")
def update_test(extension):
    return extension.cell("lstm/scalar_lstm", "test-update")


RIGHT = "def lstm_update(i, f, g, o, c_prev):\n    c = f * c_prev + i * g\n    return o * math.tanh(c), c\n"


def test_a_right_cell_passes_and_what_it_prints_is_shown(driver, update_test):
    answer = check(driver, update_test, ["lstm_update", RIGHT + "print('here')"])
    assert answer == {"passed": True, "message": "", "printed": "here\n"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (RIGHT.replace("math.tanh(c)", "c"), "h is o * c, without the tanh"),
        ("def lstm_update(:\n    pass", "line 1 cannot be read: invalid syntax\n  def lstm_update(:"),
        (RIGHT + "1 / 0\n", "it stopped with ZeroDivisionError: division by zero\n  in line 4: 1 / 0"),
        ("raise SystemExit(3)", "it stopped with SystemExit: 3"),
        (RIGHT.replace("lstm_update", "update"), "no lstm_update is in this cell; keep the function's name"),
        ("lstm_update = 3", "expected a function"),
    ],
)
def test_a_wrong_cell_is_told_why(driver, update_test, code, words):
    answer = check(driver, update_test, ["lstm_update", code])
    assert not answer["passed"]
    assert words in answer["message"]


def test_output_without_end_is_cut(driver, update_test):
    answer = check(driver, update_test, ["lstm_update", RIGHT + "for _ in range(9000):\n    print('line')"])
    assert answer["passed"]
    assert len(answer["printed"]) < 20_100
    assert answer["printed"].endswith("(more was printed)")


def test_what_a_function_prints_when_the_test_calls_it_is_shown(driver, update_test):
    said = 'print("f is", f)\n    import sys; print("i is", i, file=sys.stderr)\n    c ='
    answer = check(driver, update_test, ["lstm_update", RIGHT.replace("c =", said, 1) + "print('read')"])
    assert answer["passed"]
    lines = answer["printed"].splitlines()
    assert lines[0] == "read"
    assert [line[:5] for line in lines[1:5]] == ["f is ", "i is ", "f is ", "i is "]
    without_end = RIGHT.replace("c =", 'print("f is" * 3000)\n    c =', 1)
    answer = check(driver, update_test, ["lstm_update", without_end])
    assert answer["passed"]
    assert len(answer["printed"]) < 20_100
    assert answer["printed"].endswith("(more was printed)")


@pytest.mark.parametrize(
    "body",
    [
        "c = f * c_prev + i * g\n    return o * c, c",
        "print('x')\n    return 1 / 0",
        "raise NotImplementedError",
        "for _ in range(100_001): print()",
        "import sys; sys.stdout.close()\n    return o, i",
        "with __import__('sys').stdout: pass\n    return o, i",
        "__import__('sys').stdout.writelines(['x\\n'] * 100_001)",
        "import sys; sys.stdout = open('/dev/null', 'w')\n    return o * math.tanh(f * c_prev + i * g), f * c_prev + i * g",
        "return lstm_update(i, f, g, o, c_prev)",
        "i.append(1)",
    ],
)
def test_a_verdict_is_that_of_the_notebook_whatever_is_printed(driver, extension, update_test, body):
    """Word for word, with the reader's own line: what listens to the function changes nothing."""
    from refcells.autotest import WrongAnswer

    code = f"def lstm_update(i, f, g, o, c_prev):\n    {body}\n"
    answer = check(driver, update_test, ["lstm_update", code])
    namespace = {"math": math}
    exec(driver._compiled(code, "<lstm_update>"), namespace)
    before = sys.stdout, sys.stderr
    try:
        exec(update_test, namespace)
        message = ""
    except WrongAnswer as wrong:
        message = str(wrong)
    assert (sys.stdout, sys.stderr) == before
    assert (answer["passed"], answer["message"]) == (not message, message)


def test_a_function_that_calls_itself_has_as_much_room_as_in_the_notebook(driver):
    test = "check = 0\nassert deep(800) == 800\n"
    code = "def deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\n"
    assert check(driver, test, ["deep", code])["passed"]


def test_earlier_cells_come_first_and_are_named(driver, extension):
    test = extension.cell("lstm/scalar_lstm", "test-step")
    step = "def lstm_step(x, h, c, w_x, w_h, b):\n    return lstm_update(*lstm_gates(x, h, w_x, w_h, b), c)\n"
    gates = (
        "def lstm_gates(x, h, w_x, w_h, b):\n"
        "    i, f, g, o = (w_x[k] * x + w_h[k] * h + b[k] for k in range(4))\n"
        "    s = lambda a: 1 / (1 + math.exp(-a))\n"
        "    return s(i), s(f), math.tanh(g), s(o)\n"
    )
    right = check(
        driver, test, ["lstm_gates", gates], ["lstm_update", RIGHT + "print(1)"], ["lstm_step", step]
    )
    assert right == {"passed": True, "message": "", "printed": ""}
    broken = check(driver, test, ["lstm_gates", "1 / 0"], ["lstm_update", RIGHT], ["lstm_step", step])
    assert broken["message"].startswith(
        "This exercise runs your code of 'lstm_gates' first, and that stops. it stopped"
    )


def test_nothing_is_left_from_one_check_to_the_next(driver, update_test):
    assert check(driver, update_test, ["lstm_update", RIGHT])["passed"]
    assert not check(driver, update_test, ["lstm_update", ""])["passed"]


def test_the_page_names_every_scalar_step():
    page = (BOOK / "try-it.md").read_text("utf-8")
    for name in ("rnn_step", "lstm_step", "gru_step"):
        assert f"```{{try-it}} {name}\n" in page
    assert (ROOT / "_toc.yml").read_text("utf-8").count("book/try-it") == 1
