"""The site's own Sphinx extension: what keys the cache, and what it takes off a page."""

from types import SimpleNamespace

import pytest
from pages import BOOK, loaded

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def site():
    return loaded(BOOK / "_ext" / "course_site.py")


def test_the_cache_key_follows_code_and_exercises(site, tmp_path):
    code = tmp_path / "src" / "refcells" / "cell.py"
    exercise = tmp_path / "exercises" / "lstm" / "one.ipynb"
    for path in (code, exercise):
        path.parent.mkdir(parents=True)
        path.write_text("1")
    first = site.code_hash(tmp_path)
    assert site.code_hash(tmp_path) == first
    code.write_text("2")
    second = site.code_hash(tmp_path)
    exercise.write_text("2")
    assert len({first, second, site.code_hash(tmp_path)}) == 3


def test_live_code_leaves_the_page_and_the_rest_stays(site):
    context = {
        "script_files": [
            SimpleNamespace(filename="_static/doctools.js", attributes={}),
            SimpleNamespace(filename="_static/sphinx-thebe.js", attributes={}),
            SimpleNamespace(
                filename=None, attributes={"body": 'const THEBE_JS_URL = "x"; const thebe_selector'}
            ),
            SimpleNamespace(filename=None, attributes={"body": "let toggleHintShow = 1"}),
        ],
        "css_files": [
            SimpleNamespace(filename="_static/sphinx-thebe.css", attributes={}),
            SimpleNamespace(filename="_static/course.css", attributes={}),
        ],
        "body": (
            "<p>before</p><script type=\"text/x-thebe-config\">\n{ repo: 'x' }\n</script>\n"
            "    <script>kernelName = 'python3'</script><p>after</p><script>other()</script>"
        ),
    }
    site.drop_live_code(None, "page", "page.html", context, None)
    assert [s.filename for s in context["script_files"]] == ["_static/doctools.js", None]
    assert [s.filename for s in context["css_files"]] == ["_static/course.css"]
    assert context["body"] == "<p>before</p><p>after</p><script>other()</script>"


def test_a_page_without_body_is_no_trouble(site):
    context = {}
    site.drop_live_code(None, "search", "search.html", context, None)
    assert "body" not in context
