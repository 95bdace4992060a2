"""'Try it' in a reader's browser: a wrong cell gets its hint, a right one passes, a loop is stopped, code is kept."""

import ast
import re

import pytest
from built_site import ROOT, lacking, look, settled, watched

from refcells.autotest import judge

pytestmark = [pytest.mark.site, pytest.mark.browser]

# Milliseconds; Python is compiled when it starts, which takes long on a machine with much else to do.
PATIENCE = 120_000

RNN = """
def rnn_step(x, h_prev, w_x, w_h, b):
    return math.tanh(w_x * x + w_h * h_prev + b)


def rnn_forward(xs, w_x, w_h, b, h0=0.0):
    hs = []
    for x in xs:
        h0 = rnn_step(x, h0, w_x, w_h, b)
        hs.append(h0)
    return hs
"""

WRONG = """def lstm_update(i, f, g, o, c_prev):
    c = f * c_prev + i * g
    return o * c, c
"""


def answers():
    """A right function for every exercise: the notebooks' model answers, and the RNN's above."""
    found = {}
    notebooks = [
        (ROOT / "solutions" / name).read_text(encoding="utf-8")
        for name in ("gru/scalar_gru.py", "lstm/scalar_lstm.py")
    ]
    for text in (*notebooks, RNN):
        code = re.sub(r"^[ \t]*### (BEGIN|END) SOLUTION\n", "", text, flags=re.M)
        for node in ast.parse(code).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = ast.unparse(node)
    return found


@pytest.fixture(scope="module")
def opened(chromium, address, site):
    if not (site / "_static" / "pyodide").is_dir():
        lacking("the site was built without Pyodide's core; with a connection: make site")
    context, traffic = watched(chromium, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{address}/book/try-it.html")
    settled(page)
    yield page, traffic
    context.close()


@pytest.fixture
def page(opened):
    return opened[0]


def write(page, name, code):
    page.locator(f"#try-{name}").fill(code)


def result(page, name):
    return page.locator(f".try-it:has(#try-{name}) .try-it-result")


def checked(page, name, code=None):
    """Check an exercise; gives what is said about it."""
    if code is not None:
        write(page, name, code)
    page.get_by_role("button", name=f"Check {name}", exact=True).click()
    said = page.locator(f".try-it:has(#try-{name})").locator(".try-it-right, .try-it-wrong")
    said.wait_for(timeout=PATIENCE)
    return said.inner_text()


def test_python_is_loaded_on_a_click_alone(opened):
    page, traffic = opened
    assert not page.evaluate("performance.getEntriesByType('resource').some(r => r.name.includes('pyodide'))")
    assert "starting it loads about 12 MB" in page.locator(".try-it-state").inner_text()
    seen = page.evaluate(
        "() => { const bar = document.querySelector('.try-it-page progress'); window.seen = [];"
        "new MutationObserver(() => seen.push(bar.value)).observe(bar, {attributes: true}); }"
    )
    assert seen is None
    page.get_by_role("button", name="Start Python").click()
    page.get_by_text("Python is ready.").wait_for(timeout=PATIENCE)
    seen = page.evaluate("seen")
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] > 0.85
    assert (traffic.foreign, traffic.broken, traffic.complaints) == ([], [], [])


def test_a_wrong_cell_gets_its_hint(page):
    """Word for word what the notebook's test says."""
    namespace = {}
    exec(WRONG, namespace)
    said = checked(page, "lstm_update", WRONG)
    assert said.startswith("Not right yet.")
    for line in judge("scalar.lstm_update", namespace["lstm_update"]).message.splitlines():
        assert line in said
    assert "This is what comes out when h is o * c, without the tanh" in said


def test_the_first_code_is_not_written_yet(page):
    assert "it is not written yet" in checked(page, "gru_update")


def test_right_cells_pass(page):
    right = answers()
    names = [e.get_attribute("id").removeprefix("try-") for e in page.locator(".try-it textarea").all()]
    assert len(names) == 10
    for name in names:
        write(page, name, right[name])
    for name in names:
        assert checked(page, name).startswith("Right."), name


def test_what_an_exercise_calls_is_run_before_it(page):
    write(page, "sigmoid", "def sigmoid(a):\n    return 1 / 0\n")
    assert "ZeroDivisionError" in checked(page, "lstm_gates")
    write(page, "sigmoid", "def sigmoid(a:\n")
    assert (
        "This exercise runs your code of 'sigmoid' first, and that stops. line 1 cannot be read"
        in checked(page, "lstm_gates")
    )


def test_an_endless_loop_is_stopped_and_python_comes_back(page):
    write(page, "rnn_step", "def rnn_step(x, h_prev, w_x, w_h, b):\n    while True:\n        pass\n")
    page.get_by_role("button", name="Check rnn_step", exact=True).click()
    stop = page.get_by_role("button", name="Stop rnn_step")
    stop.wait_for()
    page.get_by_text("Still running. If a loop never ends, press Stop.").wait_for(timeout=PATIENCE)
    stop.click()
    result(page, "rnn_step").get_by_text("Stopped.").wait_for()
    assert not stop.is_visible()
    assert "while True" in page.locator("#try-rnn_step").input_value()
    assert checked(page, "rnn_step", answers()["rnn_step"]).startswith("Right.")


def place(page):
    """What the keyboard is at."""
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.className")


def test_the_keyboard_keeps_its_place(page):
    """A button that is disabled or hidden loses it, and the next Tab begins at the top of the page."""
    write(page, "gru_update", answers()["gru_update"])
    page.get_by_role("button", name="Check gru_update", exact=True).press("Enter")
    result(page, "gru_update").get_by_text("Right.").wait_for(timeout=PATIENCE)
    assert place(page) == "Check gru_update"
    write(page, "rnn_step", "def rnn_step(x, h_prev, w_x, w_h, b):\n    while True:\n        pass\n")
    page.get_by_role("button", name="Check rnn_step", exact=True).press("Enter")
    page.get_by_role("button", name="Stop rnn_step").press("Enter")
    result(page, "rnn_step").get_by_text("Stopped.").wait_for()
    assert place(page) == "Check rnn_step"


def test_a_second_check_says_what_the_first_is_at(page):
    page.get_by_role("button", name="Check rnn_step", exact=True).click()
    page.get_by_role("button", name="Stop rnn_step").wait_for()
    page.get_by_role("button", name="Check gru_update", exact=True).click()
    said = result(page, "gru_update").inner_text()
    assert said == "Python is still busy with rnn_step. Wait for it, or press its Stop."
    page.get_by_role("button", name="Stop rnn_step").click()
    result(page, "rnn_step").get_by_text("Stopped.").wait_for()
    assert checked(page, "gru_update", answers()["gru_update"]).startswith("Right.")
    write(page, "rnn_step", answers()["rnn_step"])


FAILS_ONCE = """
globalThis.made = 0;
globalThis.Worker = class {
  constructor() { this.number = ++made; }
  postMessage(data) {
    const say = (told) => setTimeout(() => this.onmessage({ data: told }), 5);
    if (data.kind === "start") say({ kind: "ready" });
    else if (this.number === 1) say({ kind: "broken", message: "memory ran out" });
    else say({ kind: "checked", passed: true, message: "", printed: "" });
  }
  terminate() {}
};
"""


@pytest.fixture
def prepared(chromium, address, site):
    """Opens the page in a browser of its own, with a script that runs before the page's."""
    if not (site / "_static" / "pyodide").is_dir():
        lacking("the site was built without Pyodide's core; with a connection: make site")
    opened = []

    def open_(script, **options):
        context, traffic = watched(chromium, **options)
        opened.append((context, traffic))
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.add_init_script(script)
        page.goto(f"{address}/book/try-it.html")
        settled(page)
        return page

    yield open_
    for context, _ in opened:
        context.close()
    for _, traffic in opened:
        assert (traffic.foreign, traffic.broken, traffic.complaints) == ([], [], [])


def test_a_python_that_fails_is_no_wrong_answer_and_is_replaced(prepared):
    page = prepared(FAILS_ONCE)
    assert checked(page, "rnn_step") == "Python is not running: memory ran out."
    page.get_by_role("button", name="Check rnn_step", exact=True).click()
    result(page, "rnn_step").get_by_text("Right.").wait_for()
    assert page.evaluate("made") == 2


REFUSED = {
    "full": "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };",
    "blocked": "Object.defineProperty(window, 'localStorage', "
    "{ get() { throw new DOMException('denied', 'SecurityError'); } });",
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_browser_that_keeps_nothing_is_said(prepared, how):
    """For as long as it is so, whatever else the page has to say; everything works all the same."""
    page = prepared(REFUSED[how] + FAILS_ONCE)
    write(page, "rnn_step", "x = 1")
    keeps = page.locator(".try-it:has(#try-rnn_step) .try-it-keeps")
    warning = "This browser keeps nothing for this page: copy what you have written before you leave."
    assert keeps.inner_text() == warning
    assert keeps.get_attribute("role") == "status"
    page.get_by_role("button", name="Start Python").click()
    page.get_by_text("Python is ready.").wait_for()
    checked(page, "rnn_step")
    assert keeps.inner_text() == warning
    # The first code needs no keeping.
    page.get_by_role("button", name="Reset rnn_step").click()
    assert keeps.inner_text() == ""


WAITS = """
globalThis.made = 0;
globalThis.Worker = class {
  constructor() { made++; globalThis.answer = (told) => this.onmessage({ data: told }); }
  postMessage(data) { if (data.kind === "check") globalThis.sent = data.cells; }
  terminate() {}
};
"""


def test_loading_that_stalls_can_be_stopped(prepared):
    page = prepared(WAITS)
    start, stop = (
        page.get_by_role("button", name="Start Python"),
        page.get_by_role("button", name="Stop loading"),
    )
    assert not stop.is_visible()
    start.press("Enter")
    stop.press("Enter")
    page.get_by_text("Loading was stopped.").wait_for()
    assert not stop.is_visible()
    assert not page.locator(".try-it-page progress").is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Start Python"
    start.press("Enter")
    page.evaluate("answer({ kind: 'ready' })")
    page.get_by_text("Python is ready.").wait_for()
    assert page.evaluate("made") == 2
    assert not stop.is_visible()


@pytest.mark.parametrize("change", ["edit", "reset", "edit another"])
def test_a_verdict_about_older_code_says_so(prepared, change):
    """What is written while the check runs, the verdict does not know."""
    page = prepared(WAITS)
    for name in ("rnn_step", "rnn_forward"):
        write(page, name, f"def {name}(): pass")
    page.get_by_role("button", name="Check rnn_forward", exact=True).click()
    page.evaluate("answer({ kind: 'ready' })")
    page.wait_for_function("globalThis.sent")
    assert page.evaluate("sent.map(([name]) => name)") == ["rnn_step", "rnn_forward"]
    if change == "reset":
        page.get_by_role("button", name="Reset rnn_forward").click()
    else:
        write(page, "rnn_forward" if change == "edit" else "rnn_step", "# changed")
    right = "{ kind: 'checked', passed: true, message: '', printed: '' }"
    page.evaluate(f"answer({right})")
    said = result(page, "rnn_forward")
    said.get_by_text("Right.").wait_for()
    mark = "getComputedStyle(document.querySelector('.try-it:has(#try-rnn_forward) .try-it-result'), '::before').content"
    assert "Before your last change" in page.evaluate(mark)
    page.evaluate("sent = null")
    page.get_by_role("button", name="Check rnn_forward", exact=True).click()
    page.wait_for_function("globalThis.sent")
    page.evaluate(f"answer({right})")
    said.get_by_text("Right.").wait_for()
    assert page.evaluate(mark) == "none"


def test_what_was_reset_can_be_brought_back(prepared):
    page = prepared("")
    area = page.locator("#try-gru_update")
    first = area.input_value()
    back = page.get_by_role("button", name="Bring mine back gru_update")
    page.get_by_role("button", name="Reset gru_update").click()
    assert not back.is_visible(), "nothing was written"
    write(page, "gru_update", "mine = 1")
    for _ in range(2):  # twice in a row as well
        page.get_by_role("button", name="Reset gru_update").click()
        assert area.input_value() == first
    assert result(page, "gru_update").inner_text() == "The first code is back."
    back.click()
    assert area.input_value() == "mine = 1"
    assert not back.is_visible()
    page.reload()
    settled(page)
    assert area.input_value() == "mine = 1"
    page.get_by_role("button", name="Reset gru_update").click()
    area.press("x")
    assert not back.is_visible()


def test_on_a_telephone_in_the_dark_a_verdict_is_read(prepared):
    """By touch, in real Python: nothing wider than the window, and colours that stand out."""
    page = prepared(
        "", viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True, color_scheme="dark"
    )
    write(page, "lstm_update", WRONG.replace("    c =", '    print("f is", f)\n    c =', 1))
    page.get_by_role("button", name="Check lstm_update", exact=True).tap()
    said = result(page, "lstm_update")
    said.get_by_text("Not right yet.").wait_for()
    assert "without the tanh" in said.inner_text()
    assert "Your code printed (the test calls it several times):\n" in said.inner_text()
    assert said.inner_text().count("f is ") > 1
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert look(page, "wide") == []
    assert look(page, "faint") == []
    edge, ground = page.evaluate(
        "(node) => [getComputedStyle(node).borderLeftColor, getComputedStyle(document.body).backgroundColor]",
        said.element_handle(),
    )
    assert edge == "rgb(254, 152, 112)"
    assert ground != "rgb(255, 255, 255)"


def test_code_is_kept_until_it_is_reset(page):
    write(page, "gru_update", "def gru_update(z, n, h_prev):\n    return n  # mine\n")
    page.reload()
    settled(page)
    area = page.locator("#try-gru_update")
    assert area.input_value().endswith("return n  # mine\n")
    page.get_by_role("button", name="Reset gru_update").click()
    assert "raise NotImplementedError" in area.input_value()
    page.reload()
    settled(page)
    assert "raise NotImplementedError" in area.input_value()


def test_the_tab_key_indents_and_can_be_left(page):
    area = page.locator("#try-rnn_step")
    area.fill("")
    area.press("Tab")
    area.press_sequentially("if x:")
    area.press("Enter")
    area.press_sequentially("y")
    assert area.input_value() == "    if x:\n        y"
    area.press("Shift+Tab")
    assert area.input_value() == "    if x:\n    y"
    area.press("Control+a")
    area.press("Tab")
    assert area.input_value() == "        if x:\n        y"
    area.press("Shift+Tab")
    assert area.input_value() == "    if x:\n    y"
    area.press("Escape")
    area.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Check rnn_step"
    assert area.input_value() == "    if x:\n    y"
    assert area.get_attribute("aria-describedby") == "try-it-keys"
    assert "press Escape and then Tab" in page.locator("#try-it-keys").inner_text()


def blocks(page):
    return page.locator(".try-it div.highlight").count(), page.locator(".try-it textarea").count()


def obstacle(chromium, address, prepare=None, **options):
    """Open the page where it cannot run Python; gives what it says instead."""
    context, traffic = watched(chromium, **options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    if prepare:
        prepare(page)
    page.goto(address)
    said = page.locator(".try-it-obstacle").inner_text()
    found = blocks(page)
    context.close()
    assert found == (10, 0), "the exercises are not there to be read"
    assert traffic.complaints == []
    return said


def test_without_webassembly_it_says_so(chromium, address, site):
    if not (site / "_static" / "pyodide").is_dir():
        lacking("the site was built without Pyodide's core; with a connection: make site")
    said = obstacle(
        chromium,
        f"{address}/book/try-it.html",
        lambda page: page.add_init_script("delete globalThis.WebAssembly"),
    )
    assert "no WebAssembly" in said


def test_as_a_file_it_asks_for_a_server(chromium, site):
    assert "make serve" in obstacle(chromium, (site / "book" / "try-it.html").as_uri())


def test_a_site_without_python_says_so(chromium, address):
    def unequipped(page):
        def strip(route):
            answer = route.fetch()
            route.fulfill(response=answer, body=re.sub(r'data-size="\d*"', 'data-size=""', answer.text()))

        page.route("**/try-it.html", strip)

    said = obstacle(chromium, f"{address}/book/try-it.html", unequipped)
    assert "built without Python for the browser" in said


def test_without_a_script_the_exercises_can_be_read(chromium, address):
    context, _ = watched(chromium, java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{address}/book/try-it.html")
    assert blocks(page) == (10, 0)
    assert "this page needs JavaScript" in page.locator(".try-it-page").inner_text()
    context.close()
