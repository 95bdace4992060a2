"""The model answers as pages for those who learn alone, made from solutions/ and left out by one switch.

`model_answers: false` in `_config.yml` builds the site for a class: no page of the answers, no entry in the contents,
nothing in the search index, and what an earlier build left of them is removed. The pages are written anew at every
build, one a notebook: each exercise, its model answer, why it is right (solutions/*/why.yml, by notebook and by the
lead-in's grade id), and the mistakes that its tests recognise.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import jupytext
import yaml
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]

# Where the pages are written, below the root, and the caption of their part of the contents.
FOLDER, CAPTION = "book/answers", "Model answers"

# The chapters' order; an assignment that is not named comes last.
ORDER = ("rnn", "bptt", "lstm", "gru", "bidirectional")

_REGION = re.compile(r"^### BEGIN (SOLUTION|MARK SCHEME)\n(.*?)^### END \1$", re.DOTALL | re.MULTILINE)
_MARKS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION\n?", re.MULTILINE)
_JUDGED = re.compile(r"""judge\(["']([\w.]+)["']""")

INTRODUCTION = """\
(model-answers)=
# Model answers

These pages are for those who learn alone. Each shows one notebook's exercises with an answer that gets every point, why it
is right, and which mistakes the tests know by their results. Try an exercise before you open its answer: what stays is
what you have had to look for. An answer that looks different can be just as right; the tests compare results, not lines.

```{tableofcontents}
```
"""


def notebooks(root: Path = ROOT) -> list[Path]:
    """The text notebooks that pages are made of, in the order of the chapters."""
    places = {name: place for place, name in enumerate(ORDER)}

    def place(path: Path) -> tuple[int, str, int, str]:
        kinds = ("scalar", "vector", "torch")
        kind = next((k for k, name in enumerate(kinds) if path.stem.startswith(name)), 0)
        return places.get(path.parent.name, len(places)), path.parent.name, kind, path.stem

    return sorted((root / "solutions").glob("*/*.py"), key=place)


def page(source: Path) -> str:
    """The page of one notebook, as MyST text."""
    cells = jupytext.read(source).cells
    title = cells[0].source.splitlines()[0].removeprefix("# ").strip()
    blurb = cells[0].source.split("\n\n")[1]
    parts = [
        f"(answers-{source.stem.replace('_', '-')})=\n# {title}\n",
        f"{blurb}\n\nThis page holds the answers to the notebook `{source.stem}`.\n",
    ]
    why, lead = reasons(source), ""
    hidden: list[str] = []
    asked: list[str] = []
    for cell in cells[1:]:
        meta = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown":
            if cell.source.startswith("## "):
                parts += _mistakes(asked)
                asked = []
            inside = "\n\n".join(match[2].strip() for match in _REGION.finditer(cell.source))
            if meta.get("solution"):
                parts.append(_folded("A model answer", inside))
                parts += [_folded("How it is marked", text) for text in hidden]
                hidden = []
            else:
                parts.append(_REGION.sub("", cell.source).strip() + "\n")
                lead = meta.get("grade_id", "")
                if inside:
                    hidden.append(inside)
        elif meta.get("solution"):
            code = _MARKS.sub("", cell.source).strip()
            reason = [why[lead].strip()] if lead in why else []
            parts.append(_folded("Model answer", "\n\n".join([f"```python\n{code}\n```", *reason])))
        elif meta.get("grade"):
            asked += _JUDGED.findall(cell.source)
    return "\n".join([*parts, *_mistakes(asked)])


def reasons(source: Path) -> dict[str, str]:
    """Why the model answers of a notebook are right, by the grade id of the lead-in; empty where nobody has written it."""
    path = source.with_name("why.yml")
    if not path.exists():
        return {}
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get(source.stem, {})


def _folded(title: str, text: str) -> str:
    """A box that opens when it is clicked."""
    return f"::::{{admonition}} {title}\n:class: dropdown\n\n{text}\n::::\n"


def _mistakes(asked: list[str]) -> list[str]:
    """A box with the mistakes that the tests of an exercise recognise."""
    from refcells.autotest.verdict import question

    known = {mistake.hint: mistake.name for name in asked for mistake in question(name).mistakes}
    lines = [f"- *{_plain(name)}*: {_plain(hint)}" for hint, name in known.items()]
    return [_folded("Mistakes that the tests know", "\n".join(lines))] if lines else []


def _plain(text: str) -> str:
    """A hint's text with no character that Markdown would take for a mark."""
    return re.sub(r"([\\`*_\[\]<>|$])", r"\\\1", text)


def contents(made: list[str], root: Path = ROOT) -> dict[str, Any]:
    """The table of contents with a part for the answers, before the reference pages."""
    table = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    part = {
        "caption": CAPTION,
        "chapters": [
            {"file": f"{FOLDER}/index", "sections": [{"file": f"{FOLDER}/{name}"} for name in made]}
        ],
    }
    if not made:  # a book without assignments, of a single page perhaps
        return table
    table["parts"].insert(len(table["parts"]) - 1, part)
    return table


def write(root: Path = ROOT) -> list[str]:
    """Write all pages; gives their names. A page whose text is the same is not touched, so it is not read again."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    texts = {source.stem: page(source) for source in notebooks(root)}
    made = list(texts)
    for name, text in [*texts.items(), ("index", INTRODUCTION)]:
        _write_if_new(folder / f"{name}.md", text)
    for path in folder.glob("*.md"):
        if path.stem not in {*made, "index"}:
            path.unlink()
    return made


def _write_if_new(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _remove(outdir: Path, doctrees: Path) -> None:
    """Take out of a built site what an earlier build with answers has put there."""
    pages = [folder for folder in (outdir / FOLDER, outdir / "_sources" / FOLDER) if folder.exists()]
    if not pages:
        return
    for folder in pages:
        shutil.rmtree(folder)
    # Sphinx takes a removed page off the search index and leaves its words there. Made anew, it has neither.
    (outdir / "searchindex.js").unlink(missing_ok=True)
    shutil.rmtree(doctrees, ignore_errors=True)


def add_or_leave_out(app: Sphinx, config: Config) -> None:
    """Write the pages and list them, or see to it that nothing of them is there."""
    effective = Path(app.outdir).parent / "contents.yml"
    if config.model_answers:
        table = contents(write())
        effective.parent.mkdir(parents=True, exist_ok=True)
        _write_if_new(effective, yaml.safe_dump(table, sort_keys=False))
        config.external_toc_path = str(effective)
        return
    shutil.rmtree(ROOT / FOLDER, ignore_errors=True)
    effective.unlink(missing_ok=True)
    _remove(Path(app.outdir), Path(app.doctreedir))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the switch, and act on it before the table of contents is read (priority 900)."""
    app.add_config_value("model_answers", True, "env", bool)
    app.connect("config-inited", add_or_leave_out, priority=850)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
