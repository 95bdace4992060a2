"""The book's sources keep their own rules: alt text, captions, references, contents."""

import ast
import re

import pytest
import yaml
from pages import BOOK, ROOT, code_cells, pages

FIGURES = [cell for path in pages() for cell in code_cells(path) if cell.shows_figure]
TEXT = {path.name: path.read_text("utf-8") for path in pages()}


def toc_files() -> list[str]:
    """The files that _toc.yml lists, in order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    files = [toc["root"]]

    def walk(entries):
        for entry in entries:
            if "file" in entry:
                files.append(entry["file"])
            walk(entry.get("sections", []))

    for part in toc["parts"]:
        walk(part["chapters"])
    return files


def test_the_contents_list_every_page_and_nothing_else():
    listed = set(toc_files())
    assert len(listed) == len(toc_files()), "a page is listed twice"
    for file in listed:
        assert (ROOT / f"{file}.md").exists() or (ROOT / f"{file}.rst").exists(), file
    assert {f"book/{path.stem}" for path in pages()} <= listed


@pytest.mark.parametrize("cell", FIGURES, ids=lambda cell: cell.options["mystnb"]["figure"]["name"])
class TestFigureCells:
    def test_has_alt_text_that_says_what_is_seen(self, cell):
        alt = cell.options["mystnb"]["image"]["alt"]
        assert len(alt.split()) >= 15, "alt text says in a sentence what the figure shows"
        assert not re.search(r"\.(svg|png)\b|[$\\]", alt), "alt text is read aloud: no file names, no TeX"

    def test_has_a_caption_that_is_more_than_a_title(self, cell):
        caption = cell.options["mystnb"]["figure"]["caption"]
        assert len(caption.split()) >= 12
        assert caption.strip().endswith((".", "?"))

    def test_alt_text_is_not_the_caption(self, cell):
        assert cell.options["mystnb"]["image"]["alt"] != cell.options["mystnb"]["figure"]["caption"].strip()

    def test_has_the_class_that_dark_mode_knows(self, cell):
        assert "course-figure" in cell.options["mystnb"]["image"]["classes"].split()

    def test_has_a_name_that_is_its_own(self, cell):
        names = [other.options["mystnb"]["figure"]["name"] for other in FIGURES]
        assert names.count(cell.options["mystnb"]["figure"]["name"]) == 1


def test_there_are_figures_to_test():
    assert len(FIGURES) >= 12


def test_no_image_enters_a_page_by_another_door():
    """Every picture is drawn by refcells.figures, so that the rules above hold for it."""
    for name, text in TEXT.items():
        assert not re.search(r"!\[[^\]]*\]\(|\{(image|figure)\}|<img", text), name


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_code_cells_are_python(path):
    for cell in code_cells(path):
        if not cell.code.lstrip().startswith("%"):
            ast.parse(cell.code)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_visible_code_fits_the_column(path):
    for cell in code_cells(path):
        if set(cell.options.get("tags", [])) & {"remove-cell", "remove-input", "hide-input"}:
            continue
        for line in cell.code.splitlines():
            assert len(line) <= 84, f"{path.name}: {line}"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_glued_names_are_made_on_their_page(path):
    text = TEXT[path.name]
    used = set(re.findall(r"\{glue:text\}`([A-Za-z0-9_]+)", text))
    code = "\n".join(cell.code for cell in code_cells(path))
    made = re.findall(r"""\bput\(f?["']([A-Za-z0-9_{}:() *]+)["']""", code)
    patterns = [re.compile(re.sub(r"\{[^}]*\}", r"\\w+", name)) for name in made]
    for name in used:
        assert any(pattern.fullmatch(name) for pattern in patterns), name


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_pages_load_nothing_from_elsewhere(path):
    assert not re.search(r"""(src|href)=["'](https?:)?//""", TEXT[path.name])


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_labels_are_unique_and_references_resolve(path):
    everything = "\n".join(TEXT.values())
    for target in re.findall(r"\{(?:numref|eq)\}`([^`<]+)`", TEXT[path.name]):
        defined = re.search(rf"^\s*:?(name|label):?\s*:?\s*{re.escape(target)}\s*$", everything, re.M)
        assert defined, f"{path.name} refers to {target}"


def bibliography() -> dict[str, str]:
    """Key and entry of everything in references.bib."""
    text = (BOOK / "references.bib").read_text("utf-8")
    return {match[1]: match[0] for match in re.finditer(r"@\w+\{(\w+),.*?^\}", text, re.M | re.S)}


def test_every_citation_is_in_the_bibliography():
    cited = set()
    for text in TEXT.values():
        for group in re.findall(r"\{cite:[a-z]+\}`([^`]+)`", text):
            cited |= {key.strip() for key in group.split(",")}
    assert cited
    assert cited <= set(bibliography())


@pytest.mark.parametrize(("key", "entry"), bibliography().items())
def test_bibliography_entries_name_author_title_and_year(key, entry):
    for field in ("author", "title", "year"):
        assert re.search(rf"^\s*{field} = \{{.+\}}", entry, re.M) or re.search(rf"\b{field} = \{{", entry), (
            field
        )
    if entry.startswith("@article"):
        assert "doi = {10." in entry, "an article is given with its DOI"


def glossary() -> list[str]:
    """The terms of the glossary, synonyms included, in order."""
    block = re.search(r"^:::\{glossary\}\n(.*?)^:::", TEXT["glossary.md"], re.M | re.S)
    assert block
    return [line.strip() for line in block[1].splitlines() if line.strip() and not line.startswith(" ")]


def test_the_glossary_is_in_order_and_names_each_thing_once():
    terms = glossary()
    assert len(terms) == len(set(terms))
    blocks = re.search(r"^:::\{glossary\}\n(.*?)^:::", TEXT["glossary.md"], re.M | re.S)
    heads = [entry.strip().splitlines()[0].lower() for entry in blocks[1].split("\n\n") if entry.strip()]
    assert heads == sorted(heads)


def test_terms_that_are_used_are_defined():
    terms = {term.lower() for term in glossary()}
    for name, text in TEXT.items():
        for shown, target in re.findall(r"\{term\}`([^`<]+?)(?:\s*<([^>]+)>)?`", text):
            assert (target or shown).lower() in terms, f"{name}: {target or shown}"


def test_the_exercises_have_solutions():
    for name, text in TEXT.items():
        exercises = re.findall(r"```\{exercise\}[^\n]*\n:label: (\S+)", text)
        solutions = re.findall(r"```\{solution\} (\S+)\n:class: dropdown", text)
        assert exercises == solutions, name


@pytest.mark.parametrize("name", ["rnn.md", "lstm.md"])
def test_a_chapter_has_the_parts_of_a_chapter(name):
    chapter = TEXT[name]
    for part in (
        "At a glance",
        "{literalinclude} ../src/refcells/vector.py",
        "What this does not show",
        "## Common mistakes",
        "## Questions and answers",
        "## Exercises",
        "## Summary",
        "## The assignment",
        "## Further reading",
    ):
        assert part in chapter, part


def part_of(source: str, path: str) -> str:
    """The source of the object called `path`, such as 'LSTMCell.forward'."""
    node: ast.AST = ast.parse(source)
    for name in path.split("."):
        (node,) = (child for child in node.body if getattr(child, "name", None) == name)
    return ast.get_source_segment(source, node) or ""


def test_included_code_is_where_the_page_says():
    """Anchors of literalinclude are found in the object that is named: text and code cannot drift apart."""
    included = 0
    for name, text in TEXT.items():
        for file, options in re.findall(r"```\{literalinclude\} (\S+)\n((?::.*\n)+)", text):
            found = dict(re.findall(r":([a-z-]+): \"?(.*?)\"?\n", options))
            shown = part_of((BOOK / file).read_text("utf-8"), found["pyobject"])
            assert shown
            for anchor in ("start-at", "end-at"):
                assert found.get(anchor, "") in shown, f"{name}: {found[anchor]}"
            included += 1
    assert included >= 3
