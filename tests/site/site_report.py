"""What the built site measures: `make site-report` prints it, page by page.

The site is served on localhost as a real host serves it: compressed (gzip), over connections that stay open. Then

- axe-core looks at every page in light and dark, with all boxes open; what a bare page of the theme shows too, by rule and
  selector, is the theme's own and counted apart;
- Lighthouse looks at every chapter as on a desktop and as on a phone (its own simulated network and processor);
- a browser as narrow as a phone opens every page, and counts what arrives before anybody scrolls;
- the same browser records what its main thread does on every chapter: the processor time of each task, times four, as
  Lighthouse takes a phone to be four times slower; time that other programs took is not in it;
- links, anchors and alt text are read as the tests of the site read them.

Lighthouse's performance depends on how busy the machine is: each figure is the median of `--runs` runs, and the load
and Lighthouse's own measure of the processor stand beside it. Lighthouse and axe-core are fetched with npm into
`_build/site-report/`, once.

Where a target is missed, the command fails, after the tables, which end with what was missed.

`--keep` writes what was measured to benchmarks/site.json, part by part over what stands there, and the tables from it to
benchmarks/site.md, for those who maintain the site.
"""

import argparse
import functools
import gzip
import http.server
import json
import mimetypes
import os
import re
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import yaml
from built_site import CHROMIUM_ARGUMENTS, ROOT, SITE, chromium_binary, is_local, launched, toc_pages

WORK = ROOT / "_build" / "site-report"
KEPT = ROOT / "benchmarks" / "site.json"
TOOLS = {"lighthouse": "12.8.2", "axe-core": "4.14.1"}
PARTS = ("weight", "blocking", "links", "axe", "lighthouse")

# What the course asks of itself. Performance on a phone is as high as can be, and at least this.
TARGETS = {
    "accessibility": 100,
    "best-practices": 95,
    "seo": 95,
    "performance desktop": 95,
    "performance phone": 60,
}
TBT_PHONE_MS = 200
FIRST_LOAD_KB = 500

# Pages that the contents do not name.
BESIDE = ("index", "search", "genindex", "py-modindex", "404")

# A page that uses nothing of the course: what axe finds on it is the theme's.
BARE = """# A bare page

A paragraph with a [link](https://www.example.org), `code` and $x^2$.

## A section

- one
- two

| a | b |
| --- | --- |
| 1 | 2 |

```python
print("code")
```

$$\\sum_i x_i$$

:::{note}
A note.
:::

### A smaller section

1. first
2. second
"""


def stop(message: str) -> NoReturn:
    print(f"site_report: {message}", file=sys.stderr)
    raise SystemExit(2)


# --- serving ---------------------------------------------------------------------------------------------------------


@functools.cache
def packed(path: Path, changed: int) -> tuple[bytes, bool]:
    """A file's bytes as they travel, and whether they are compressed."""
    data = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or ""
    if kind.startswith("text/") or any(word in kind for word in ("javascript", "json", "xml", "svg")):
        return gzip.compress(data, 6, mtime=0), True
    return data, False


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Serve a folder with compression on a free port of localhost; gives the address."""

    class Host(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            path = Path(self.translate_path(self.path))
            path = path / "index.html" if path.is_dir() else path
            found = path.is_file()
            data, small = packed(path, path.stat().st_mtime_ns) if found else (b"not found", False)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", self.guess_type(str(path)) if found else "text/plain")
            self.send_header("Content-Length", str(len(data)))
            if small:
                self.send_header("Content-Encoding", "gzip")
                self.send_header("Vary", "Accept-Encoding")
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            self.wfile.write(data)

    handler = functools.partial(Host, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


# --- tools -----------------------------------------------------------------------------------------------------------


def installed(name: str) -> str:
    """Where node or npm is."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from npm_packages import Missing, program

    try:
        return program(name)
    except Missing as missing:
        stop(str(missing))


def tool(name: str, path: str) -> Path:
    """A file of one of the tools, fetched with npm when it is not there yet."""
    wanted = WORK / "node_modules" / name / path
    if not wanted.exists():
        npm = installed("npm")
        WORK.mkdir(parents=True, exist_ok=True)
        names = [f"{package}@{version}" for package, version in TOOLS.items()]
        done = subprocess.run(
            [npm, "install", "--prefix", str(WORK), "--no-audit", "--no-fund", "--no-save", *names],
            capture_output=True,
            text=True,
        )
        if done.returncode or not wanted.exists():
            stop(f"npm could not fetch {' and '.join(names)}: {done.stderr.strip()[-300:]}")
    return wanted


# --- weight ----------------------------------------------------------------------------------------------------------


def weight(browser, address: str) -> dict:
    """What one page asks for when it is opened and nobody scrolls.

    Returns:
        Compressed bytes by kind of resource under `bytes`, their sum under `total`, the number of requests, and
        the addresses outside the site that were asked for.
    """
    context = browser.new_context(viewport={"width": 412, "height": 823}, device_scale_factor=1.75)
    kinds: dict[str, str] = {}
    sizes: dict[str, int] = {}
    foreign: list[str] = []
    try:
        page = context.new_page()
        page.on("request", lambda request: None if is_local(request.url) else foreign.append(request.url))
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.responseReceived", lambda e: kinds.update({e["requestId"]: e["type"]}))
        session.on(
            "Network.loadingFinished", lambda e: sizes.update({e["requestId"]: int(e["encodedDataLength"])})
        )
        page.goto(address, wait_until="networkidle")
        page.wait_for_timeout(300)
    finally:
        context.close()
    by_kind: dict[str, int] = {}
    for request, size in sizes.items():
        kind = kinds.get(request, "Other")
        by_kind[kind] = by_kind.get(kind, 0) + size
    return {
        "bytes": dict(sorted(by_kind.items())),
        "total": sum(sizes.values()),
        "requests": len(sizes),
        "foreign": foreign,
    }


# --- blocking --------------------------------------------------------------------------------------------------------

# A phone's processor beside this one, and how long a task may take before a reader notices it, in ms: Lighthouse's values.
SLOWER, UNNOTICED = 4, 50
TRACED = ["devtools.timeline", "loading", "toplevel", "disabled-by-default-devtools.timeline", "__metadata"]


def blocking(browser, address: str) -> dict:
    """What keeps a phone's main thread from answering, after the first paint and until five seconds later.

    Returns:
        The total blocking time in ms under `tbt`, the number of `tasks` that block, the `longest` of them in ms and
        what it did under `doing`, and how many elements the page has.
    """
    context = browser.new_context(
        viewport={"width": 412, "height": 823}, device_scale_factor=1.75, is_mobile=True
    )
    try:
        page = context.new_page()
        browser.start_tracing(page=page, categories=TRACED)
        page.goto(address, wait_until="load")
        page.wait_for_timeout(5000)
        elements = page.evaluate("() => document.querySelectorAll('*').length")
        events = json.loads(browser.stop_tracing())["traceEvents"]
    finally:
        context.close()
    return {**blocked(events), "elements": elements}


def blocked(events: list[dict]) -> dict:
    """Total blocking time of a trace, from the processor time of the main thread's tasks."""
    paint = min((e for e in events if e["name"] == "firstContentfulPaint"), key=lambda e: e["ts"])
    mine = [e for e in events if (e["pid"], e["tid"]) == (paint["pid"], paint["tid"]) and e["ph"] == "X"]
    tasks = [
        (SLOWER * e["tdur"] / 1000, e)
        for e in mine
        if e["name"] == "RunTask" and "tdur" in e and e["ts"] + e["dur"] > paint["ts"]
    ]
    over = [(time, task) for time, task in tasks if time > UNNOTICED]
    time, task = max(over, key=lambda found: found[0], default=(0.0, None))
    doing: dict[str, float] = {}
    for e in mine if task else ():
        inside = e["ts"] >= task["ts"] and e["ts"] + e["dur"] <= task["ts"] + task["dur"]
        if inside and "tdur" in e and "RunTask" not in e["name"]:
            url = str((e.get("args", {}).get("data") or {}).get("url", ""))
            name = f"{e['name']} {url.split('?')[0].rsplit('/', 1)[-1]}".strip()
            doing[name] = max(doing.get(name, 0), e["tdur"])
    return {
        "tbt": sum(time - UNNOTICED for time, _ in over),
        "tasks": len(over),
        "longest": time,
        "doing": max(doing, key=lambda name: doing[name], default=""),
    }


# --- axe -------------------------------------------------------------------------------------------------------------


def findings(browser, address: str, axe: str, scheme: str, width: int = 1280) -> set[tuple[str, str]]:
    """axe-core's violations on one page: the rule, and the selector of each element."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        page = context.new_page()
        page.route(address, stays)
        page.goto(address, wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")  # on the bare page
        laid_open(page)
        page.evaluate(axe)
        return violations(page)
    finally:
        context.close()


def stays(route) -> None:
    """Answer with a page that does not lead on to another, as index.html does."""
    answer = route.fetch()
    kept = re.sub(r'<meta http-equiv="refresh"[^>]*>', "", answer.text(), flags=re.IGNORECASE)
    route.fulfill(response=answer, body=kept)


def laid_open(page) -> None:
    """Show all of a page, also what is laid out later or opened by a click, at once: what fades in is pale at first."""
    page.add_style_tag(
        content="*, *::before, *::after { transition: none !important; animation: none !important; "
        "content-visibility: visible !important; }"
    )
    page.evaluate(
        "() => { document.querySelectorAll('details').forEach((one) => { one.open = true; });"
        "document.querySelectorAll('.toggle-hidden').forEach((one) => one.classList.remove('toggle-hidden')); }"
    )


def violations(page) -> set[tuple[str, str]]:
    """What axe-core, which the page has loaded, finds on it now."""
    found = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return {
        (violation["id"], " ".join(str(part) for part in node["target"]))
        for violation in found["violations"]
        for node in violation["nodes"]
    }


def bare_site() -> Path:
    """A page of the stock theme with nothing of the course, built once."""
    folder = WORK / "bare"
    built = folder / "_build" / "html"
    if not (built / "index.html").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.md").write_text(BARE, encoding="utf-8")
        (folder / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
        config = {
            "title": "Bare",
            "author": "x",
            "sphinx": {"config": {"html_context": {"default_mode": "auto"}}},
        }
        (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        build = Path(sys.executable).with_name("jupyter-book")
        done = subprocess.run([build, "build", str(folder)], capture_output=True, text=True)
        if not (built / "index.html").exists():
            stop(f"the bare page of the theme did not build: {done.stdout[-300:]}{done.stderr[-300:]}")
    return built


# --- Lighthouse ------------------------------------------------------------------------------------------------------


def lighthouse(address: str, form: str) -> dict:
    """One run of Lighthouse: scores out of 100, total blocking time in ms, and what did not pass."""
    command = [
        installed("node"),
        tool("lighthouse", "cli/index.js"),
        address,
        "--quiet",
        "--output=json",
        "--only-categories=performance,accessibility,best-practices,seo",
        f"--chrome-flags=--headless=new {' '.join(CHROMIUM_ARGUMENTS[:-1])}",
        *(["--preset=desktop"] if form == "desktop" else []),
    ]
    environment = {**os.environ, "CHROME_PATH": str(chromium_binary())}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"Lighthouse failed on {address}: {done.stderr.strip()[-400:]}")
    result = json.loads(done.stdout)
    scores = {name: round(100 * (part["score"] or 0)) for name, part in result["categories"].items()}
    failed = [
        name
        for category in ("accessibility", "best-practices", "seo")
        for reference in result["categories"][category]["auditRefs"]
        if reference["weight"] > 0 and result["audits"][name := reference["id"]]["score"] not in (None, 1)
    ]
    value = {
        name: result["audits"][name]["numericValue"]
        for name in (
            "total-blocking-time",
            "first-contentful-paint",
            "largest-contentful-paint",
            "cumulative-layout-shift",
        )
    }
    return {
        "scores": scores,
        "failed": failed,
        "tbt": value["total-blocking-time"],
        "fcp": value["first-contentful-paint"],
        "lcp": value["largest-contentful-paint"],
        "cls": value["cumulative-layout-shift"],
        "benchmark": result["environment"]["benchmarkIndex"],
        "load": os.getloadavg()[0],
    }


def medians(runs: list[dict]) -> dict:
    """Several runs as one: medians of the numbers, everything that failed in any."""
    return {
        "scores": {
            name: statistics.median(run["scores"][name] for run in runs) for name in runs[0]["scores"]
        },
        "failed": sorted({name for run in runs for name in run["failed"]}),
        **{
            key: statistics.median(run[key] for run in runs)
            for key in ("tbt", "fcp", "lcp", "cls", "benchmark", "load")
        },
        "runs": len(runs),
    }


# --- the report ------------------------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[object]]) -> str:
    """A table in Markdown, its columns aligned."""
    cells = [head, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def chapters() -> list[str]:
    """The pages of the numbered part of the contents."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [entry["file"] for entry in contents["parts"][0]["chapters"]]


def measure(parts: list[str], pages: list[str], judged: list[str], runs: int, site: Path) -> dict:
    """Everything that was asked for, as data."""
    report: dict = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "served": "gzip, HTTP/1.1, localhost",
        "load": os.getloadavg(),
    }
    with hosted(site) as address:
        if {"weight", "blocking", "axe"} & set(parts):
            with launched() as browser:
                if "blocking" in parts:
                    report["blocking"] = {
                        name: blocking(browser, f"{address}/{name}.html") for name in judged
                    }
                if "weight" in parts:
                    report["weight"] = {name: weight(browser, f"{address}/{name}.html") for name in pages}
                if "axe" in parts:
                    axe = tool("axe-core", "axe.min.js").read_text(encoding="utf-8")
                    with hosted(bare_site()) as bare:
                        theme = {
                            s: findings(browser, f"{bare}/index.html", axe, s) for s in ("light", "dark")
                        }
                        # The theme's own pages break what they break without the course too.
                        beside = {
                            name: {s: findings(browser, f"{bare}/{name}.html", axe, s) for s in theme}
                            for name in BESIDE
                            if (bare_site() / f"{name}.html").exists()
                        }
                    report["theme"] = {scheme: sorted(found) for scheme, found in theme.items()}
                    report["axe"] = {}
                    for name in (*pages, *(BESIDE if pages == toc_pages() else ())):
                        found = {s: findings(browser, f"{address}/{name}.html", axe, s) for s in theme}
                        known = {s: theme[s] | beside.get(name, {}).get(s, set()) for s in theme}
                        report["axe"][name] = {
                            s: {"ours": sorted(found[s] - known[s]), "theme": sorted(found[s] & known[s])}
                            for s in theme
                        }
                        print(f"axe {name}: {sum(len(f) for f in found.values())}", file=sys.stderr)
        if "links" in parts:
            from test_site_links import dead, html_pages, parsed, references
            from test_site_pages import alt_problem

            root = site.resolve()
            every = html_pages(root)
            report["links"] = {
                "pages": len(every),
                "links": sum(1 for page in every for _ in references(page)),
                "dead": {str(p.relative_to(root)): bad for p in every if (bad := dead(root, p))},
            }
            pictures = [(page, image) for page in every for image in parsed(page).find_all("img")]
            report["alt"] = {
                "images": len(pictures),
                "problems": [
                    f"{page.relative_to(root)}: {problem}"
                    for page, image in pictures
                    if (
                        problem := alt_problem(
                            {
                                "src": image["src"],
                                "alt": image.get("alt"),
                                "decoration": image.get("role") == "presentation"
                                or image.get("aria-hidden") == "true",
                            }
                        )
                    )
                ],
            }
        if "lighthouse" in parts:
            report["lighthouse"] = {}
            for name in judged:
                for form in ("desktop", "phone"):
                    found = medians([lighthouse(f"{address}/{name}.html", form) for _ in range(runs)])
                    report["lighthouse"].setdefault(name, {})[form] = found
                    print(f"lighthouse {name} {form}: {found}", file=sys.stderr)
    return report


def missed(report: dict) -> list[str]:
    """Which of the targets a report misses."""
    found = []
    for name, page in report.get("weight", {}).items():
        if page["total"] > 1000 * FIRST_LOAD_KB:
            found.append(f"{name}: {page['total'] / 1000:.0f} KB at first load, more than {FIRST_LOAD_KB}")
        found += [f"{name}: asks for {url}" for url in page["foreign"]]
    found += [
        f"{name}: a phone's main thread blocked for {page['tbt']:.0f} ms, more than {TBT_PHONE_MS} ({page['doing']})"
        for name, page in report.get("blocking", {}).items()
        if page["tbt"] > TBT_PHONE_MS
    ]
    for name, schemes in report.get("axe", {}).items():
        found += [
            f"{name}, {scheme}: {rule} at {selector}"
            for scheme, part in schemes.items()
            for rule, selector in part["ours"]
        ]
    found += [
        f"{page}: {link}" for page, bad in report.get("links", {}).get("dead", {}).items() for link in bad
    ]
    found += report.get("alt", {}).get("problems", [])
    for name, forms in report.get("lighthouse", {}).items():
        for form, part in forms.items():
            scores = dict(part["scores"])
            scores[f"performance {form}"] = scores.pop("performance")
            found += [
                f"{name}, {form}: {what} {score:.0f}, expected {TARGETS[what]}"
                + (f" ({', '.join(part['failed'])})" if not what.startswith("performance") else "")
                for what, score in scores.items()
                if score < TARGETS[what]
            ]
            if form == "phone" and part["tbt"] > TBT_PHONE_MS:
                found.append(
                    f"{name}, phone: total blocking time {part['tbt']:.0f} ms, more than {TBT_PHONE_MS}"
                )
    return found


def text(report: dict) -> str:
    """The report to read."""
    load = ", ".join(f"{value:.1f}" for value in report["load"])
    out = [
        f"# The site, measured\n\n{report['when']}; served with {report['served']}; load of the machine {load}."
    ]
    if "measured" in report:
        out.append(
            "Measured by `make site-report`: "
            + "; ".join(f"{part} {when}" for part, when in sorted(report["measured"].items()))
            + "."
        )
    if "weight" in report:
        kinds = ("Document", "Stylesheet", "Script", "Font", "Image")
        rows = [
            [
                name,
                *[f"{page['bytes'].get(kind, 0) / 1000:.0f}" for kind in kinds],
                f"{page['total'] / 1000:.0f}",
                page["requests"],
                len(page["foreign"]),
            ]
            for name, page in report["weight"].items()
        ]
        out.append(
            "## First load, compressed, in KB\n\n"
            + table(
                ["page", "HTML", "styles", "scripts", "fonts", "pictures", "all", "requests", "outside"], rows
            )
        )
    if "blocking" in report:
        rows = [
            [
                name,
                f"{page['tbt']:.0f}",
                page["tasks"],
                f"{page['longest']:.0f}",
                page["doing"],
                page["elements"],
            ]
            for name, page in report["blocking"].items()
        ]
        out.append(
            "## What blocks a phone, from processor time\n\n"
            + table(["page", "blocked ms", "tasks", "longest ms", "with", "elements"], rows)
        )
    if "axe" in report:
        rows = [
            [name, *[len(schemes[s][who]) for s in ("light", "dark") for who in ("ours", "theme")]]
            for name, schemes in report["axe"].items()
        ]
        theme = sorted({rule for found in report["theme"].values() for rule, _ in found})
        out.append(
            "## axe-core\n\n"
            + table(["page", "light: ours", "theme's", "dark: ours", "theme's"], rows)
            + f"\n\nA bare page of the theme breaks: {', '.join(theme) or 'nothing'}."
        )
    if "lighthouse" in report:
        rows = [
            [
                name,
                form,
                *[
                    f"{part['scores'][k]:.0f}"
                    for k in ("performance", "accessibility", "best-practices", "seo")
                ],
                f"{part['tbt']:.0f}",
                f"{part['fcp'] / 1000:.1f}",
                f"{part['lcp'] / 1000:.1f}",
                f"{part['cls']:.2f}",
                part["runs"],
                f"{part['benchmark']:.0f}",
                f"{part['load']:.1f}",
            ]
            for name, forms in report["lighthouse"].items()
            for form, part in forms.items()
        ]
        out.append(
            "## Lighthouse, medians\n\n"
            + table(
                [
                    "page",
                    "as on a",
                    "performance",
                    "accessibility",
                    "best practices",
                    "SEO",
                    "blocked ms",
                    "first paint s",
                    "largest s",
                    "shift",
                    "runs",
                    "benchmark",
                    "load",
                ],
                rows,
            )
        )
    if "links" in report:
        links, alt = report["links"], report["alt"]
        dead = sum(len(bad) for bad in links["dead"].values())
        out.append(
            f"## Links and alt text\n\n{links['links']} references on {links['pages']} pages, {dead} dead; "
            f"{alt['images']} images, {len(alt['problems'])} without a real alt text."
        )
    wrong = missed(report)
    out.append(
        "## Missed\n\n" + ("\n".join(f"- {line}" for line in wrong) or "Nothing: every target is met.")
    )
    return "\n\n".join(out) + "\n"


def kept(report: dict, path: Path = KEPT) -> dict:
    """A report over the one that is kept: parts and pages that were measured now replace what was measured before."""
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for key, value in report.items():
        by_page = key in ("weight", "blocking", "axe", "lighthouse")
        whole[key] = {**whole.get(key, {}), **value} if by_page else value
    # Pages that the contents no longer name are gone, and so are their figures.
    for key in ("weight", "blocking", "axe", "lighthouse"):
        if key in whole:
            whole[key] = {name: whole[key][name] for name in (*toc_pages(), *BESIDE) if name in whole[key]}
    # What was measured when is said of each part.
    measured = {part: report["when"] for part in PARTS if part in report}
    whole["measured"] = {**whole.get("measured", {}), **measured}
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Command line: measure, print, keep under _build/site-report/; gives 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        prog="python tests/site/site_report.py", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure")
    parser.add_argument(
        "--pages", nargs="+", help="pages, as book/lstm; by default all, and chapters for Lighthouse"
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of Lighthouse a page and form")
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--keep", action="store_true", help="keep what was measured, in benchmarks/")
    options = parser.parse_args(arguments)
    if not (options.site / "index.html").exists():
        stop(f"no site in {options.site}; build it with: make site")
    report = measure(
        options.only, options.pages or toc_pages(), options.pages or chapters(), options.runs, options.site
    )
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    (WORK / "report.md").write_text(text(report), encoding="utf-8")
    if options.keep:
        whole = kept(report)
        KEPT.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        KEPT.with_suffix(".md").write_text(text(whole), encoding="utf-8")
    print(text(report))
    return 1 if missed(report) else 0


if __name__ == "__main__":
    raise SystemExit(main())
