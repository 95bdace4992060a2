"""What a class gets: the released notebooks, the student's part of the package as a wheel, and the student guide.

Run as `python -m classroom.handout`, or `make handout`. The package in it judges with stored results: it holds no reference
cell, no known mistake and no model answer, so the tests of a notebook say what differs and leave the mistake's name to
the feedback. The zip file is the same to the byte whenever its contents are.
"""

import argparse
import ast
import base64
import hashlib
import importlib
import io
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from classroom.course import ROOT, assignments
from classroom.errors import CourseError
from refcells.autotest import judge, stored

__all__ = ["build", "package", "wheel"]

# The modules that a class gets as they are; modules of probes join them. None computes what an exercise asks for.
MODULES = ("check", "tasks", "training")
AUTOTEST = ("__init__", "calls", "compare", "directives", "limits", "mistakes", "stored", "verdict")

# Other files that go along, by their place in the repository.
BESIDE = ("constraints.txt", "LICENSE", "LICENSE-TEXT")
STARTERS = ("book/starters/capstone.ipynb",)

# The folder in the zip, and the zip itself.
NAME = "learning-to-remember"

ABOUT = '''"""The student's part of the course: synthetic tasks, a training loop, and what the test cells of the notebooks call."""
'''


def released(root: Path = ROOT) -> list[Path]:
    """The notebooks of the release, of all assignments.

    Raises:
        CourseError: if an assignment has none.
    """
    found = []
    for assignment in assignments(root):
        notebooks = sorted((root / "exercises" / assignment).glob("*.ipynb"))
        if not notebooks:
            raise CourseError(f"no notebooks in {root / 'exercises' / assignment}; run: make release")
        found += notebooks
    return found


def asked(notebooks: Iterable[Path]) -> list[str]:
    """Names of the questions that notebooks ask in their visible tests."""
    names: set[str] = set()
    for path in notebooks:
        for cell in nbformat.read(path, as_version=4).cells:
            names |= set(re.findall(r"""\bjudge\(["']([\w.]+)["']""", cell.source))
    return sorted(names)


def needed(notebooks: Iterable[Path]) -> set[str]:
    """Modules of the package that notebooks import, such as refcells.tasks."""
    found: set[str] = set()
    for path in notebooks:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                found |= _imported(cell.source)
    return found


def _imported(code: str) -> set[str]:
    """Modules of the package that code imports, at its top or inside a function; comments and text do not count."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] == "refcells"}


def package(root: Path = ROOT) -> dict[str, str]:
    """The student's part of the package: text by path.

    Raises:
        CourseError: if a notebook needs more than is handed out, or a question cannot be stored.
    """
    source = root / "src" / "refcells"
    paths = [source / f"{name}.py" for name in MODULES]
    paths += [source / "autotest" / f"{name}.py" for name in AUTOTEST]
    paths += sorted((source / "autotest").glob("*probes.py"))
    files = {
        f"refcells/{path.relative_to(source).as_posix()}": path.read_text(encoding="utf-8") for path in paths
    }
    files["refcells/__init__.py"] = _front(source / "__init__.py")
    # Advice on installing has to fit what is there.
    files["refcells/check.py"] = _installs(files["refcells/check.py"], root)
    modules = {path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in files}
    for path, text in files.items():
        lacking = _imported(text) - modules
        if lacking:
            raise CourseError(f"{path} imports {', '.join(sorted(lacking))}, which a class does not get")
    notebooks = [*released(root), *(root / name for name in STARTERS)]
    missing = needed(notebooks) - modules
    if missing:
        raise CourseError(
            f"a notebook imports {', '.join(sorted(missing))}, which a class does not get; there are {', '.join(sorted(modules))}"
        )
    try:
        files["refcells/autotest/questions.json"] = stored.dump(asked(notebooks))
    except (LookupError, ValueError) as reason:
        raise CourseError(f"the questions cannot be handed out: {reason}") from None
    return files


def _installs(text: str, root: Path) -> str:
    """Text that tells how to install from the repository, changed to tell how from the wheel."""
    return re.sub(r'-e "\.\[(.*?)\]"', rf'"./{wheel_name(root)}[\1]"', text)


def _front(path: Path) -> str:
    """The package's front page, which names what is there and nothing else."""
    text = path.read_text(encoding="utf-8")
    own = importlib.import_module("refcells")
    exports = {module: names for module, names in own._EXPORTS.items() if module in MODULES}
    values = {"_EXPORTS": exports, "_MODULES": ("autotest", *exports)}
    # What is replaced: the docstring, and the two tables. From the end, so that the places before it stay right.
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        start, end = node.lineno - 1, node.end_lineno
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in values:
            name = node.targets[0].id  # type: ignore[attr-defined]
            lines[start:end] = [f"{name}: Any = {values[name]!r}\n"]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines[start:end] = [ABOUT]
    return "".join(line for line in lines if not line.startswith("# "))


def _project(root: Path) -> Mapping[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def wheel_name(root: Path = ROOT) -> str:
    """The wheel's file name."""
    project = _project(root)
    return f"{project['name'].replace('-', '_')}-{project['version']}-py3-none-any.whl"


def wheel(root: Path = ROOT) -> bytes:
    """The student's part of the package as a wheel, which pip installs without building anything."""
    project = _project(root)
    files = package(root)
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(files.values()), flags=re.MULTILINE))
    needs = [line for line in project["dependencies"] if re.split(r"\W", line)[0] in imported]
    extras = {name: project["optional-dependencies"][name] for name in ("student", "torch")}
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        "Summary: The student's part of the course Learning to Remember",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {line}" for line in needs),
    ]
    for name, lines in extras.items():
        metadata += [
            f"Provides-Extra: {name}",
            *(f'Requires-Dist: {line}; extra == "{name}"' for line in lines),
        ]
    info = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    scripts = "\n".join(f"{name} = {entry}" for name, entry in sorted(project["scripts"].items()))
    files |= {
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}\n",
        f"{info}/licenses/LICENSE": (root / "LICENSE").read_text(encoding="utf-8"),
    }
    record = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in sorted(files.items())]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    return _zipped({path: text.encode() for path, text in files.items()})


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file that is the same whenever its contents are: in order of name, all of one date."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return held.getvalue()


def guide(root: Path = ROOT) -> str:
    """The student guide as plain Markdown, with the handout's own way to install."""
    text = (root / "book" / "student-guide.md").read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?\n---\n\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^```\{code-cell\}.*?^```\n", lambda cell: _shown(cell[0]), text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(
        r"^````\{tab-set\}\n(.*?)^````\n", lambda tabs: _tabs(tabs[1]), text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"\{\w+\}`([^`<]*?)(?: *<[^>]*>)?`", r"*\1*", text)
    return _installs(text, root)


def _tabs(items: str) -> str:
    """Tabs as one block after the other."""
    text = re.sub(r"^```\{tab-item\} (.*)$", r"**\1**\n", items, flags=re.MULTILINE)
    return re.sub(r"^```\n", "\n", text, flags=re.MULTILINE)


def _shown(cell: str) -> str:
    """What a code cell of the guide prints, as text."""
    code = "\n".join(line for line in cell.splitlines()[1:-1] if not line.startswith(":tags:"))
    printed: list[str] = []
    held: dict[str, Any] = {"print": lambda *parts: printed.append(" ".join(map(str, parts))), "judge": judge}
    exec(compile(code, "<student guide>", "exec"), held)
    return "\n".join(["```text", *printed, "```", ""])


def build(target: Path, root: Path = ROOT) -> Path:
    """Write the handout into a folder; gives the zip's path.

    Raises:
        CourseError: if there is no release, or a notebook needs what a class does not get.
    """
    files = {f"exercises/{path.parent.name}/{path.name}": path.read_bytes() for path in released(root)}
    files |= {Path(name).name: (root / name).read_bytes() for name in (*BESIDE, *STARTERS)}
    files["README.md"] = guide(root).encode()
    files[wheel_name(root)] = wheel(root)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{NAME}.zip"
    scratch = path.with_suffix(".tmp")
    scratch.write_bytes(_zipped({f"{NAME}/{name}": content for name, content in files.items()}))
    scratch.replace(path)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Command line: write the handout and say where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m classroom.handout", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "handout", help="folder to write into")
    try:
        path = build(parser.parse_args(arguments).to)
    except (CourseError, OSError) as error:
        print(f"classroom.handout: {error}", file=sys.stderr)
        return 2
    print(f"handout      {path} ({path.stat().st_size // 1000} kB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
