"""Formulas, set by KaTeX when the site is built: a page brings them ready, and its reader's browser sets nothing.

Each formula stands in the page twice: as MathML, which screen readers read and nobody sees, and as HTML, which is seen and
not read out. The style sheet and the fonts are KaTeX's own, served beside the pages, and only pages with formulas ask for
them. KaTeX is fetched with npm at the first build (book/_ext/npm_packages.py), and runs in Node.js.

KaTeX is strict: what it cannot set, or what LaTeX would not take, ends the build with the page, the line and the formula.
"""

import atexit
import json
import re
import shutil
import subprocess
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from npm_packages import BUILD, Missing, Package, program
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.logging import get_node_location
from sphinx.util.math import get_node_equation_number

KATEX = Package(
    name="katex",
    version="0.16.22",
    integrity="sha512-XCHRdUw4lf3SKBaJe4EvgqIuWwkPSo9XoeO8GjQW94Bp7TWv9hNhzZjZ+OH9yf1UmLygb7DIT5GSFQiyt16zYg==",
    files=("LICENSE", "dist/katex.min.js", "dist/katex.min.css", "dist/fonts/*.woff2"),
    folder=BUILD / "katex",
)
# What the site serves of it, and the fonts that nearly every formula is set in.
SERVED = BUILD / "katex-served"
SHEET = "katex/katex.css"
FIRST_FONTS = ("katex/fonts/KaTeX_Main-Regular.woff2", "katex/fonts/KaTeX_Math-Italic.woff2")

# A line of JSON in, [formula, whether it is displayed]; a line of JSON out, its HTML or what is wrong with it.
SETTER = """
const katex = require(process.argv[1]);
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const [tex, displayMode] = JSON.parse(line);
  let answer;
  try {
    answer = {html: katex.renderToString(tex, {displayMode, throwOnError: true, strict: 'error', output: 'htmlAndMathml'})};
  } catch (error) {
    answer = {error: error.message};
  }
  console.log(JSON.stringify(answer));
});
"""

# The formula's own TeX, which KaTeX puts beside the MathML: a reader that takes the text of a page would read it too. With it
# goes what holds the two together, and a name space that HTML knows by itself.
_SOURCE = re.compile(r"<annotation\b.*?</annotation>|</?semantics>|(?<=<math) xmlns=\"[^\"]*\"", re.DOTALL)
# Environments that would number their lines by themselves; numbers here are Sphinx's.
_NUMBERED = re.compile(r"\\(begin|end)\{(align|alignat|equation|gather)\}")
_ENVIRONMENT = re.compile(r"\\begin\{([a-z]+\*?)\}.*\\end\{\1\}$", re.DOTALL)
# What may not be parted from a formula in a line, before it and behind it: a browser would break the line there.
_BEFORE, _BEHIND = re.compile(r"[(\[“‘]+$"), re.compile(r"^[-–.,;:!?)\]”’%]+")
# A formula of at most so many characters is not broken itself.
WHOLE = 16
# Which font the style sheet gives to which elements.
_FONT_RULE = re.compile(r"(\.katex [^{}]+)\{font-family:(KaTeX_\w+)([^{}]*)\}")
# Formats that the style sheet offers beside WOFF2, which every browser of the last ten years reads.
_OTHER_FORMATS = re.compile(r',url\([^()]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)')


class Unset(ValueError):
    """KaTeX does not take a formula; the message is KaTeX's own."""


@cache
def setter() -> "subprocess.Popen[str]":
    """KaTeX in Node.js, started once a build."""
    running = subprocess.Popen(
        [program("node"), "-e", SETTER, str(KATEX.folder / "dist" / "katex.min.js")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )

    def end() -> None:
        running.communicate()  # closes its input, after which it ends

    atexit.register(end)
    return running


@cache
def typeset(tex: str, display: bool = False) -> str:
    """A formula as HTML with MathML.

    Raises:
        Unset: if KaTeX does not take it.
        Missing: if Node.js is missing or stops.
    """
    running = setter()
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        running.stdin.write(json.dumps([tex, display]) + "\n")
        running.stdin.flush()
        line = running.stdout.readline()
    except OSError:
        line = ""
    if not line:
        raise Missing(f"Node.js stopped while KaTeX set {tex!r}; what it said stands above")
    answer = json.loads(line)
    if "error" in answer:
        raise Unset(answer["error"])
    return _SOURCE.sub("", answer["html"])


def displayed(text: str) -> str:
    r"""A displayed formula's TeX as Sphinx reads it: blank lines and `\\` begin a line, and no line numbers itself."""
    parts = [part.strip() for part in text.split("\n\n") if part.strip()]
    parts = [
        rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part and not _ENVIRONMENT.match(part) else part
        for part in parts
    ]
    text = "".join(parts)
    if len(parts) > 1:
        text = r"\begin{aligned}" + r" \\ ".join(parts) + r"\end{aligned}"
    return _NUMBERED.sub(r"\\\1{\2*}", text)


def typeset_node(node: nodes.Element, tex: str, display: bool) -> str:
    """A formula of a page.

    Raises:
        ExtensionError: names the page, the line and the formula.
    """
    try:
        return typeset(tex, display)
    except (Unset, Missing) as error:
        place = get_node_location(node) or "a page"
        raise ExtensionError(f"{place}: a formula cannot be set: {error}\n{tex.strip()}") from None


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    html = typeset_node(node, node.astext(), display=False)
    text = re.sub(r"<[^>]+>", "", html.partition("</math>")[0])
    kinds = "math notranslate nohighlight" + (" course-whole" if len(unescape(text)) <= WHOLE else "")
    self.body.append(f"{self.starttag(node, 'span', '', CLASS=kinds)}{html}</span>")
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone, with its number where it has one."""
    html = typeset_node(node, displayed(node.astext()), display=True)
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"] and not node["nowrap"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append(f"{html}</div>\n")
    raise nodes.SkipNode


def join_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Keep each formula in a line together with the bracket before it and the punctuation behind it."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        place = parent.index(formula)
        before = parent[place - 1] if place else None
        behind = parent[place + 1] if place + 1 < len(parent) else None
        mark = _BEHIND.search(behind) if isinstance(behind, nodes.Text) else None
        bracket = _BEFORE.search(before) if isinstance(before, nodes.Text) else None
        if not mark and not bracket:
            continue
        joined = nodes.inline(classes=["course-joined"])
        if mark:
            parent[place + 1] = nodes.Text(behind[mark.end() :])
        if bracket:
            parent[place - 1] = nodes.Text(before[: bracket.start()])
        parent[place] = joined
        joined += [nodes.Text(bracket[0])] if bracket else []
        joined += formula
        joined += [nodes.Text(mark[0])] if mark else []


def faces(body: str, sheet: str) -> list[str]:
    """The fonts that the formulas of a page are set in, as CSS writes them, by what the style sheet says of classes."""
    names = [set(names.split()) for names in set(re.findall(r'class="([^"]*)"', body))]
    found = {"16px KaTeX_Main"}
    for selectors, family, more in _FONT_RULE.findall(sheet):
        for selector in selectors.split(","):
            last = next(part for part in reversed(re.split(r"[ >]", selector)) if "." in part)
            if any(set(last.split(".")[1:]) <= one for one in names):
                style = [word for word in ("italic", "700") if word in more]
                found.add(" ".join([*style, "16px", family]))
    return sorted(found)


def add_what_is_needed(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the style sheet to a page with formulas, and its fonts.

    A browser would load a font when it lays a formula out, which is late: in print, for formulas that nobody has seen yet,
    too late. So all are asked for once the page is there, and those of a formula above the first section at once.
    """
    body = context.get("body", "")
    if 'class="katex"' not in body:
        return
    app.add_css_file(SHEET)
    fonts = json.dumps(faces(body, (SERVED / SHEET).read_text(encoding="utf-8")))
    load = f'addEventListener("load", () => {fonts}.forEach((font) => document.fonts.load(font)));'
    context["metatags"] = context.get("metatags", "") + f"\n    <script>{load}</script>"
    if 'class="katex"' in body.partition("<h2")[0]:
        context["metatags"] += "".join(
            f'\n    <link rel="preload" href="{context["pathto"](f"_static/{font}", True)}" as="font" type="font/woff2" crossorigin />'
            for font in FIRST_FONTS
        )


def serve(target: Path = SERVED) -> None:
    """Put the style sheet and the fonts where the site takes them from."""
    folder = target / SHEET.partition("/")[0]
    shutil.rmtree(target, ignore_errors=True)
    (folder / "fonts").mkdir(parents=True)
    for font in (KATEX.folder / "dist" / "fonts").glob("*.woff2"):
        shutil.copyfile(font, folder / "fonts" / font.name)
    sheet = (KATEX.folder / "dist" / "katex.min.css").read_text(encoding="utf-8")
    (target / SHEET).write_text(_OTHER_FORMATS.sub("", sheet), encoding="utf-8")
    shutil.copyfile(KATEX.folder / "LICENSE", folder / "LICENSE")


def configure(app: Sphinx, config: Config) -> None:
    """Fetch KaTeX, and have formulas set by it.

    Raises:
        ExtensionError: if it cannot be fetched; says why.
    """
    try:
        KATEX.fetch()
    except Missing as missing:
        raise ExtensionError(f"KaTeX, which sets the formulas, is missing: {missing}") from None
    serve()
    config.html_math_renderer = "katex"
    config.html_static_path.append(str(SERVED))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the renderer and what it needs. One KaTeX sets all formulas, so pages are written one after another."""
    app.add_html_math_renderer("katex", (visit_math, None), (visit_displaymath, None))
    app.add_config_value("katex_version", KATEX.version, "html")  # another version writes all pages again
    app.connect("config-inited", configure)
    app.connect("doctree-resolved", join_punctuation)
    app.connect("html-page-context", add_what_is_needed)
    return {"version": KATEX.version, "parallel_read_safe": True, "parallel_write_safe": False}
