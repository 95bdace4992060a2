"""The repository as a stranger finds it: what is committed speaks of the course alone, and its parts agree."""

import functools
import os
import re
import stat
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@functools.cache
def tracked() -> tuple[str, ...]:
    """Files that git tracks, as paths from the root."""
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        reason = f"git does not list the repository's files ({error})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return tuple(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


@functools.cache
def contents() -> dict[str, str]:
    """Text of every tracked file that is text."""
    found = {}
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" not in data[:8192]:
            found[name] = data.decode("utf-8")
    return found


# What the course does not speak of: a pattern, and an example that it finds once {} is filled in. Both are written so
# that they do not find themselves in this file.
FOREIGN = {
    "a path of somebody's machine": (
        r"(?<![\w.~-])/(?:work|root|Users|home/(?!jovyan)\w+)/\w",
        "see /{}/notes",
        "root",
    ),
    "a folder of temporary files": (r"(?<![\w.-])/(?:var/)?tmp/\w", "in /{}/scratch", "tmp"),
    "a package registry's host": (
        r"\b(?:pypi|pythonhosted|npmjs|anaconda|docker|ghcr|quay)\.(?:org|com|io)\b|\bindex[-_]url\b",
        "from https://{}.org/simple",
        "pypi",
    ),
    "a machine's address": (
        r"\b(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168)\.\d{1,3}\.\d{1,3}(?:\.\d{1,3})?:\d+",
        "http://10.0.{}.7:8080",
        "0",
    ),
    "a trailer about who typed": (r"(?im)^co-authored[-]by:", "Co-authored{}by: X", "-"),
    "a tracker's number or command": (r"(?i)\bissue #\d+|\bissues? show\b", "closes issue {}2", "#"),
    "the documents behind the course": (r"(?i)\bdocuments? [ABCD]\b", "as {} A to D say", "documents"),
    "a planning file": (
        r"\b(?:DESIGN|coverage|numerics|misconceptions|nbgrader-facts)\.m[d]\b",
        "see {}.md",
        "DESIGN",
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_committed_file_mentions(what):
    pattern, example, word = FOREIGN[what]
    assert re.search(pattern, example.format(word)), "the pattern does not find its own example"
    found = []
    for name, body in contents().items():
        for match in re.finditer(pattern, body):
            line = body.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: {match.group()}")
    assert found == []


def test_commit_messages_speak_of_the_course():
    tracked()  # skips where there is no git
    log = subprocess.run(
        ["git", "log", "--format=%B"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert log.strip()
    assert [match.group() for pattern, _, _ in FOREIGN.values() for match in re.finditer(pattern, log)] == []


def test_nothing_made_or_private_is_committed():
    private = re.compile(
        r"(^|/)(_build|\.venv|__pycache__|\.ipynb_checkpoints|submitted|autograded|feedback)/"
        r"|gradebook\.db|grades\.csv|\.pyc$|^solutions/.*\.ipynb$|(^|/)\.(env|pypirc|netrc)$"
    )
    assert [name for name in tracked() if private.search(name)] == []
    assert [name for name in tracked() if (ROOT / name).stat().st_size > 1_000_000] == []


# --- make, README, continuous integration ---------------------------------------------------------------------------


@functools.cache
def targets() -> frozenset[str]:
    """The Makefile's targets that are commands."""
    makefile = text("Makefile")
    phony = frozenset(re.search(r"^\.PHONY:(.*)$", makefile, re.MULTILINE).group(1).split())
    defined = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert phony <= defined
    return phony


def made(document: str) -> set[str]:
    """Targets that a document names as commands: `make x` in the text, or a line of code that runs it."""
    inline = re.findall(r"`make ([a-z-]+)[^`\n]*`", document)
    lines = re.findall(r"^(?: {4}|\t)(?:.*# )?make ([a-z-]+)(?:$|  | \.\.\.| [A-Z])", document, re.MULTILINE)
    return {*inline, *lines}


def test_readme_names_every_target_and_no_other():
    assert made(text("README.md")) == targets() - {"all"}


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING.md", "book/student-guide.md", "book/instructor-guide.md", "book/index.md"]
)
def test_documents_name_only_targets_that_exist(name):
    assert made(text(name)) <= targets()


def test_readme_gives_the_commands_that_make_runs():
    makefile = (
        text("Makefile")
        .replace("$(PY)", "python")
        .replace("$(PYTHON)", "python3")
        .replace("$(VENV)", ".venv")
    )
    shown = re.findall(
        r"^    (\S.*?)\s+# make (site|serve|grade|test|lint)$", text("README.md"), re.MULTILINE
    )
    assert {target for _, target in shown} == {"site", "serve", "grade", "test", "lint"}
    for commands, target in shown:
        recipe = re.search(
            rf"^{target}:.*\n((?:\t.*\n)+)|^\$\({target.upper()}\):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE
        )
        for command in commands.split(" ; "):
            assert command in recipe.group(0), (
                f"README.md says {command!r}; make {target} runs {recipe.group(0)!r}"
            )


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_a_document_names_exist(name):
    made_later = ("_build/", ".venv", "submitted/", "gradebook.db")
    places = {place for file in map(PurePosixPath, tracked()) for place in (file, *file.parents)}
    named = {
        re.sub(r"<\w+>", "*", path).rstrip("/")
        for path in re.findall(r"`([\w.-]+(?:/[\w.*<>-]*)*)`", text(name))
        if ("/" in path or re.search(r"\.(md|py|yml|toml|txt|cff)$", path))
        and not path.startswith(made_later)
    }
    assert named
    assert {path for path in named if not any(place.match(path) for place in places)} == set()


def workflow() -> dict:
    return yaml.safe_load(text(".github/workflows/course.yml"))


def make_steps(job: str) -> list[str]:
    return [
        step["run"] for step in workflow()["jobs"][job]["steps"] if step.get("run", "").startswith("make")
    ]


def test_continuous_integration_calls_make():
    run = text(".ci/run")
    called = re.findall(r"^(?:\w+=\w+ )?make(?: ([a-z]+))?$", run, re.MULTILINE)
    assert {"lint", "test"} <= set(called) <= targets() | {""}
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR
    assert re.search(r"^export CI=", run, re.MULTILINE), "without it a missing browser would only skip tests"
    assert make_steps("test") == ["make lint", "make test", "make"]


def test_workflow_publishes_what_was_tested_and_only_from_main():
    jobs = workflow()["jobs"]
    assert str(jobs["test"]["env"]["CI"]).lower() == "true"
    assert "3.11" in jobs["test"]["strategy"]["matrix"]["python"]
    assert jobs["publish"]["needs"] == "test"
    upload = next(step for step in jobs["test"]["steps"] if "upload-pages-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == "_build/html"
    for condition in (jobs["publish"]["if"], upload["if"]):
        assert "github.ref == 'refs/heads/main'" in condition
        assert "github.event_name == 'push'" in condition
    actions = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in actions), actions
    assert workflow()["permissions"] == {"contents": "read"}


# --- metadata -------------------------------------------------------------------------------------------------------


@functools.cache
def project() -> dict:
    return tomllib.loads(text("pyproject.toml"))["project"]


@functools.cache
def pins() -> dict[str, Version]:
    """constraints.txt: one released version of each package."""
    found = {}
    for line in text("constraints.txt").splitlines():
        if not line or line.startswith("#"):
            continue
        name, version = re.fullmatch(r"([\w.-]+)==([\w.!]+)", line).groups()
        assert canonicalize_name(name) not in found, f"{name} is pinned twice"
        found[canonicalize_name(name)] = Version(version)
    return found


def test_every_direct_dependency_is_pinned_within_its_range():
    asked = [
        *project()["dependencies"],
        *(r for extra in project()["optional-dependencies"].values() for r in extra),
    ]
    wrong = {}
    for requirement in map(Requirement, asked):
        if canonicalize_name(requirement.name) == canonicalize_name(project()["name"]):
            continue
        pin = pins().get(canonicalize_name(requirement.name))
        if pin is None or not requirement.specifier.contains(pin, prereleases=True):
            wrong[str(requirement)] = str(pin)
    assert wrong == {}


def test_pins_suit_the_oldest_python_that_is_promised():
    """A pin that wants a later 3.11 than Debian's cannot be installed there, and pip's message does not say so."""
    oldest = project()["requires-python"].removeprefix(">=")
    seen, wrong = 0, {}
    for name, pin in pins().items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        wanted = installed.metadata.get("Requires-Python")
        if Version(installed.version).public == pin.public and wanted:
            seen += 1
            if not SpecifierSet(wanted).contains(f"{oldest}.0"):
                wrong[name] = wanted
    assert seen > 50
    assert wrong == {}


def test_extras_refer_to_extras_that_exist():
    extras = project()["optional-dependencies"]
    for requirement in map(Requirement, (r for extra in extras.values() for r in extra)):
        if requirement.name == project()["name"]:
            assert requirement.extras <= set(extras)


def test_licences_are_there():
    assert "BSD 3-Clause" in text("LICENSE")
    assert "CC BY 4.0" in text("LICENSE-TEXT")
    assert project()["license"] == "BSD-3-Clause"
    for pattern in project()["license-files"]:
        assert list(ROOT.glob(pattern))


def test_citation_is_valid_and_names_this_version():
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    required = {"cff-version", "message", "title", "authors"}
    allowed = required | {
        "type",
        "abstract",
        "version",
        "license",
        "keywords",
        "date-released",
        "url",
        "repository-code",
    }
    assert required <= set(citation) <= allowed
    assert citation["type"] in ("software", "dataset")
    assert citation["authors"] == [{"name": author["name"]} for author in project()["authors"]]
    assert str(citation["version"]) == project()["version"]
    assert project()["license"] in citation["license"]
    assert all(isinstance(word, str) for word in citation["keywords"])


def test_git_takes_no_table_of_a_class_that_the_guide_names():
    tracked()  # skips where there is no git
    guide = text("book/instructor-guide.md")
    tables = set(re.findall(r"--(?:csv|out|to|template|worksheet) ([\w-]+\.csv)\b", guide))
    assert tables >= {"status.csv", "back.csv", "grades.csv"}
    told = subprocess.run(
        ["git", "check-ignore", "--no-index", *sorted(tables)], cwd=ROOT, capture_output=True, text=True
    )
    assert set(told.stdout.split()) == tables, told.stderr
