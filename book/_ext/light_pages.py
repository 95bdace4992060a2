"""Pages that arrive quickly: what the theme loads and the course does not need stays behind.

What each step saves, `make site-report` measures. The theme alone would bring 540 KB of script and 156 KB of font for a
dozen icons, the whole search index to every page, and scripts that hold up the first line of text. Here:

- Icons come from a font cut down to the glyphs that the site uses, inside the style sheet, which loses all other icons.
- Scripts wait until the page is there (`defer`); the search index is loaded by the search page alone.
- Names and landmarks that a screen reader misses in the theme are put right.
- What scripts keep in the browser, they keep through `courseStorage`: a browser may refuse its storage, and the theme's
  script would stop there, with the colour switch, the search and a phone's drawers.
- A picture's size stands in the page, so that nothing jumps; one below the first section is loaded when it comes near.
- Sections far from the window are laid out when they come near (book/_static/course.css). The theme's script would lay all
  of them out at once, to see which listings scroll; here it asks that of a listing when it comes near.
"""

import base64
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.jinja2glue import BuiltinTemplateLoader

# The theme's style sheet, below its static folder, and its icon font beside that.
SHEET = "styles/pydata-sphinx-theme.css"
FONT = "vendor/fontawesome/webfonts/fa-solid-900"

# The theme's main script, what it does to every listing at the start and at each change, and what it does instead: a
# listing can be reached with the keyboard until it is near and seen not to scroll.
SCRIPT = "scripts/pydata-sphinx-theme.js"
_ALL_LISTINGS = ".forEach(e=>{e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1})"
_NEAR_LISTINGS = (
    ".forEach(e=>{e.hasAttribute('tabindex')||(e.tabIndex=0),courseNear.unobserve(e),courseNear.observe(e)})"
)
# Tables and displayed formulas scroll in themselves here, so they are asked as well.
_SCROLLS, _SCROLLS_TOO = (
    '".pst-scrollable-table-container"].join',
    '".pst-scrollable-table-container","article table","article .katex-display"].join',
)
# Sizes are rounded, so one pixel more is no reason to scroll. A size is asked for when a listing comes near, and again when it
# changes: with the window, or when the box that holds it is opened.
_NEAR = (
    "const courseSize=new ResizeObserver(s=>s.forEach(({target:e})=>{"
    "e.tabIndex=e.scrollWidth>e.clientWidth+1||e.scrollHeight>e.clientHeight+1?0:-1}));\n"
    "const courseNear=new IntersectionObserver(s=>s.forEach(({target:e,isIntersecting:n})=>{"
    "n&&courseSize.observe(e)}));\n"
)

# Where the search takes the text of a page from, for what it shows below a result: a formula is text once, as MathML.
SEARCH = "searchtools.js"
_NO_TEXT, _NO_TEXT_EITHER = (
    '[".headerlink", "script", "style"]',
    '[".headerlink", "script", "style", ".katex-html"]',
)

# Sphinx's scripts that keep a search's words for the page that it leads to.
HIGHLIGHT = "sphinx_highlight.js"

# The theme's first script on a page, which reads the reader's choice of colours.
_CHOICE = re.compile(
    r'(<script data-cfasync="false">)'
    r'(\s*document\.documentElement\.dataset\.mode = localStorage\.getItem\("mode"\) \|\| "\w+";'
    r'\s*document\.documentElement\.dataset\.theme = localStorage\.getItem\("theme"\) \|\| "\w+";)\s*(</script>)'
)

# The browser's storage for all scripts of a page. What it refuses to keep is kept for as long as the page is open.
STORAGE = """
const courseStorage = (refused => ({
  getItem(name) {
    if (refused.has(name)) return refused.get(name);
    try { return localStorage.getItem(name); } catch { return null; }
  },
  setItem(name, value) {
    try { localStorage.setItem(name, value); refused.delete(name); } catch { refused.set(name, String(value)); }
  },
  removeItem(name) {
    refused.delete(name);
    try { localStorage.removeItem(name); } catch { /* nothing is kept there */ }
  },
}))(new Map());"""

# The reader's colours are there before the page is: the theme's script would set them later, and every element's style would
# be computed twice. On paper, a page is light whatever the screen shows: colours of code and boxes too.
COLOURS = """
(d => {
  if (d.theme === "auto") d.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  addEventListener("beforeprint", () => { d.screen = d.theme; d.theme = "light"; });
  addEventListener("afterprint", () => { d.theme = d.screen || d.theme; });
})(document.documentElement.dataset);"""

# Scripts that no page loads any more, and maps that only a debugger reads.
LEFT_BEHIND = ("scripts/fontawesome.js", "scripts/*.map", "scripts/*.LICENSE.txt", "styles/*.map")

_SCRIPT = re.compile(r'<script(?![^>]*\b(?:defer|async|type)\b)([^>]*?\ssrc="[^"]+"[^>]*)></script>')
_SEARCH = re.compile(
    r'\s*<script [^>]*src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"[^>]*></script>'
)
_UNUSED = re.compile(
    r"\s*<!-- So that users can add custom icons -->"
    r'|\s*<script [^>]*src="[^"]*scripts/fontawesome\.js[^"]*"[^>]*></script>'
    r"|\s*<!-- Pre-loaded scripts that we'll load fully later -->"
    r'|\s*<link rel="preload" as="script"[^>]*>'
)
_OPTIONS = re.compile(r'<script [^>]*src="[^"]*documentation_options\.js[^"]*"[^>]*></script>')
_VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')
_ICON = re.compile(r'<(i|span) (?![^>]*aria-hidden)([^>]*\bclass="[^"]*\bfa[bsr]?[ -][^"]*"[^>]*)>')
# What a screen reader misses in the theme: the sidebar belongs to no landmark; arrows have no name; a name hides the words
# that are seen; an empty cell of a table's head is announced as a heading of nothing; the lines of a long signature are
# definitions of nothing; a source in a list has a role that ARIA has given up; a list without its signs is none to Safari; the
# contents of every exercise and solution have one id.
_NAMES = (
    (
        re.compile(r'<div id="pst-primary-sidebar" class='),
        '<div id="pst-primary-sidebar" role="complementary" aria-label="The course" class=',
    ),
    (re.compile(r'<summary>(?=<span class="toctree-toggle")'), '<summary aria-label="Pages below this one">'),
    (re.compile(r'(<button class="btn search-button-field[^>]*?)\s+aria-label="Search"'), r"\1"),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    (re.compile(r"<th\b([^>]*)>((?:\s|</?p>)*)</th>"), r"<td\1>\2</td>"),
    (
        re.compile(r"<dl>\n((?:<dd>(?:(?!</?d[ltd]\b).)*</dd>\n?)+)</dl>", re.DOTALL),
        lambda lines: f'<div class="sig-lines">\n{lines[1]}</div>'.replace("dd>", "div>"),
    ),
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    (re.compile(r'(<div class="course-steps\b[^>]*>\s*<ol )(?!role)'), r'\1role="list" '),
    (re.compile(r'<section id="(?:exercise|solution)-content">'), "<section>"),
)
# A column whose heading is a formula alone: axe-core takes no text from MathML there, so its letters are read out as text.
_FORMULA_HEADING = re.compile(
    r'(<th\b[^>]*>(?:\s|<p>)*<span class="math[^"]*"><span class="katex"><span class="katex-mathml">)'
    r"(<math\b(?:(?!</th>).)*?</math>)(?=(?:(?!</th>|</p>).)*</span>(?:\s|</p>)*</th>)",
    re.DOTALL,
)
_IMAGE = re.compile(r'<img\s[^>]*?\bsrc="([^"]+)"[^>]*?/?>')
_RULE = re.compile(r"(?<=[{}\n/])(\.fa-[\w-]+:before(?:,\.fa-[\w-]+:before)*)\{[^{}]*\}")
_FACE = re.compile(
    r'url\([^()]*fa-solid-900\.woff2\) format\("woff2"\),url\([^()]*fa-solid-900\.ttf\) format\("truetype"\)'
)
_LENGTH = {"pt": 96 / 72, "px": 1.0, "": 1.0, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4}


class Templates(BuiltinTemplateLoader):
    """Sphinx's templates, with each whole page made light before it is written."""

    def init(self, builder: Any, theme: Any = None, dirs: Any = None) -> None:
        """Remember the builder, which knows the pictures."""
        super().init(builder, theme, dirs)
        self.builder = builder

    def render(self, template: str, context: dict[str, Any]) -> str:  # type: ignore[override]
        """A page made light, or a part of a page as it is."""
        html = super().render(template, context)
        if not html.rstrip().endswith("</html>"):
            return html
        sources = {name: Path(self.builder.srcdir, path) for path, name in self.builder.images.items()}
        options = self.render_string(options_template(), context)
        return light(html, options=options, sources=sources, search=template == "search.html")


@cache
def options_template() -> str:
    """Sphinx's own template of documentation_options.js."""
    import sphinx

    return next(Path(sphinx.__file__).parent.glob("themes/basic/static/documentation_options.js*")).read_text(
        encoding="utf-8"
    )


def light(html: str, *, options: str, sources: Mapping[str, Path], search: bool = False) -> str:
    """A page without what it does not need.

    Args:
        html: the page as the theme wrote it.
        options: the text of documentation_options.js, which goes into the page: a request less before the first line.
        sources: where each picture comes from, by its name in the site.
        search: whether it is the search page, which keeps the index and the order of its scripts.

    Raises:
        ValueError: if it does not read the reader's choice of colours exactly once, as a page of another theme may.
    """
    html = _UNUSED.sub("", html)
    # Where no script runs, a page has colours all the same: the theme's are for "light" and "dark" and not for "auto".
    html = html.replace(' data-theme="auto"', ' data-theme="light"', 1)
    html, choices = _CHOICE.subn(
        lambda found: (
            f"{found[1]}{STORAGE}{found[2].replace('localStorage', 'courseStorage')}{COLOURS}{found[3]}"
        ),
        html,
    )
    if choices != 1:
        raise ValueError(f"expected a page to read the reader's colours once, found it {choices} times")
    first = _VIEWPORT.search(html)
    if first:
        html = html[: first.end()] + _VIEWPORT.sub("", html[first.end() :])
    html = _ICON.sub(r'<\1 aria-hidden="true" \2>', html)
    for pattern, better in _NAMES:
        html = pattern.sub(better, html)
    html = _FORMULA_HEADING.sub(lettered, html)
    if not search:
        html = _SEARCH.sub("", html)
        html = _OPTIONS.sub(lambda _: f"<script>{options}</script>", html)
        html = _SCRIPT.sub(r"<script defer\1></script>", html)
    article = max(html.find("<article"), 0)
    below = html.find("<h2", article)

    def picture(found: re.Match[str]) -> str:
        return sized(found[0], sources.get(Path(found[1]).name), lazy=-1 < below < found.start() + article)

    return html[:article] + _IMAGE.sub(picture, html[article:])


def lettered(heading: re.Match[str]) -> str:
    """A heading that is a formula alone, up to what is read out of it: its letters."""
    return heading[1] + re.sub(r"<[^>]+>|\s+", "", heading[2])


def sized(tag: str, source: Path | None, *, lazy: bool) -> str:
    """An `img` tag with the picture's size, and loaded when it comes near if `lazy`."""
    extra = ""
    size = picture_size(source) if source and "width=" not in tag and "height=" not in tag else None
    if size:
        extra += f' width="{size[0]}" height="{size[1]}"'
    if lazy and "loading=" not in tag:
        extra += ' loading="lazy" decoding="async"'
    return re.sub(r"\s*/?>$", f"{extra} />", tag) if extra else tag


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height of an SVG or PNG file in CSS pixels; None for any other, or one that names no size."""
    try:
        head = path.read_bytes()[:4096]
    except OSError:
        return None
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    svg = re.search(r"<svg\s[^>]*>", head.decode("utf-8", "replace"))
    found = [svg and re.search(rf'\s{name}="([\d.]+)([a-z]*)"', svg[0]) for name in ("width", "height")]
    lengths = [float(m[1]) * _LENGTH[m[2]] for m in found if m and m[2] in _LENGTH]
    return (round(lengths[0]), round(lengths[1])) if len(lengths) == 2 else None


def trimmed_sheet(sheet: str, font: bytes, names: Iterable[str], others: str = "") -> str:
    """The theme's style sheet with the icons that the site uses, and no other.

    Args:
        sheet: the theme's own style sheet.
        font: the theme's icon font, TrueType.
        names: the icons that pages name, as in `fa-bars`.
        others: the site's other style sheets, whose icons are kept as well.
    """
    used = {f".{name}:before" for name in names}
    sheet = _RULE.sub(lambda rule: rule[0] if used & set(rule[1].split(",")) else "", sheet)
    sheet = re.sub(r"/\*# sourceMappingURL=\S+ \*/|/\*# sourceMappingURL=\S+?\*/", "", sheet)
    rules = sheet + others
    points = {int(code, 16) for code in re.findall(r"[\"']\\([ef][0-9a-f]{3})[\"']", rules)}
    points |= {
        ord(letter) for letter in rules if "\ue000" <= letter <= "\uf8ff"
    }  # some stand there as themselves
    data = base64.b64encode(cut_font(font, points)).decode()
    face = f'url(data:font/woff;base64,{data}) format("woff")'
    sheet, replaced = _FACE.subn(face, sheet)
    if replaced != 1:
        raise ValueError(
            f"expected the theme's style sheet to name its icon font once, found it {replaced} times"
        )
    return sheet


def patient_script(script: str) -> str:
    """The theme's main script, which then looks at a listing when it comes near the window.

    Raises:
        ValueError: if it does not do what is to be changed exactly once, as another version of the theme may.
    """
    for part in (_ALL_LISTINGS, _SCROLLS):
        if script.count(part) != 1:
            raise ValueError(
                f"expected the theme's script to look at all listings once, found it {script.count(part)} times"
            )
    script = script.replace(_ALL_LISTINGS, _NEAR_LISTINGS).replace(_SCROLLS, _SCROLLS_TOO)
    return _NEAR + safely_kept(script, "the theme's script")


def safely_kept(script: str, what: str) -> str:
    """A script that keeps what it keeps in `courseStorage`, which a page's head makes.

    Raises:
        ValueError: if it keeps nothing, or takes the storage from elsewhere, as another version may.
    """
    whole, plain = script.count("localStorage"), len(re.findall(r"(?<![\w.])localStorage\.", script))
    if not whole or whole != plain:
        raise ValueError(
            f"expected {what} to use localStorage by this name, found {plain} of {whole} uses that do"
        )
    return script.replace("localStorage.", "courseStorage.")


def formulas_once(script: str) -> str:
    """The search's script, which then takes the text of a formula once.

    Raises:
        ValueError: if it does not name what is no text exactly once, as another version of Sphinx may.
    """
    if script.count(_NO_TEXT) != 1:
        raise ValueError(
            f"expected the search's script to name what is no text once, found it {script.count(_NO_TEXT)} times"
        )
    return safely_kept(script.replace(_NO_TEXT, _NO_TEXT_EITHER), "the search's script")


def cut_font(font: bytes, points: Iterable[int]) -> bytes:
    """A font with the glyphs of some code points alone, in the WOFF format."""
    from fontTools import subset

    options = subset.Options(flavor="woff", hinting=False, layout_features=[], notdef_outline=False)
    opened = subset.load_font(io.BytesIO(font), options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=points)
    cutter.subset(opened)
    opened["head"].modified = opened["head"].created  # the same bytes at every build
    opened.recalcTimestamp = False
    written = io.BytesIO()
    subset.save_font(opened, written, options)
    return written.getvalue()


def trim_theme(app: Sphinx, exception: Exception | None) -> None:
    """Write the theme's style sheet and scripts anew, from the theme's own, and remove what no page asks for."""
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    import pydata_sphinx_theme

    static = Path(app.outdir, "_static")
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
    names = {"fa-xmark"}  # the theme's script writes it
    for page in Path(app.outdir).rglob("*.html"):
        names.update(re.findall(r"\bfa-[a-z][\w-]*", page.read_text(encoding="utf-8")))
    others = "".join(
        path.read_text(encoding="utf-8") for path in sorted(static.rglob("*.css")) if path != static / SHEET
    )
    sheet = (theme / SHEET).read_text(encoding="utf-8")
    (static / SHEET).write_text(
        trimmed_sheet(sheet, (theme / f"{FONT}.ttf").read_bytes(), names, others), encoding="utf-8"
    )
    script = (theme / SCRIPT).read_text(encoding="utf-8")
    (static / SCRIPT).write_text(patient_script(script), encoding="utf-8")
    import sphinx

    sphinxs = Path(sphinx.__file__).parent / "themes" / "basic" / "static"
    search, highlight = ((sphinxs / name).read_text(encoding="utf-8") for name in (SEARCH, HIGHLIGHT))
    (static / SEARCH).write_text(formulas_once(search), encoding="utf-8")
    (static / HIGHLIGHT).write_text(safely_kept(highlight, "the script that marks words"), encoding="utf-8")
    for pattern in LEFT_BEHIND:
        for path in static.glob(pattern):
            path.unlink()
    for path in static.glob(f"{FONT}.*"):
        path.unlink()


def configure(app: Sphinx, config: Config) -> None:
    """Have pages rendered by `Templates`."""
    config.template_bridge = f"{__name__}.Templates"


def made_by() -> str:
    """A digest of the extensions that make the pages."""
    whole = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(path.read_bytes())
    return whole.hexdigest()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect both, and have every page written anew when an extension has changed: scripts and pages go together."""
    app.add_config_value("light_pages_made_by", made_by(), "html")
    app.connect("config-inited", configure, priority=900)
    app.connect("build-finished", trim_theme, priority=910)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
