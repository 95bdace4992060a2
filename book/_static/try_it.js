/* 'Try it': editors for the page's exercises, checked by the course's own tests in a Python that runs in the browser.

   The page holds each exercise's first code as an ordinary block, and beside it what the test is. Without JavaScript,
   without WebAssembly, without a server or without Python beside the site, the blocks stay and the page says why. */
"use strict";

(function () {
  const STORE = "learning-to-remember/try-it/";

  function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  /* --- what the reader wrote, kept from visit to visit ----------------------------------------------------------- */

  const kept = {
    read(name) {
      try { return localStorage.getItem(STORE + name); } catch { return null; }
    },
    write(name, text) {
      try { localStorage.setItem(STORE + name, text); return true; } catch { return false; }
    },
    forget(name) {
      try { localStorage.removeItem(STORE + name); } catch { /* nothing was kept */ }
    },
  };

  /* --- an editor: a textarea that indents -------------------------------------------------------------------------- */

  function insert(area, text) {
    // So that the browser's own undo knows of it; a browser without the command gets the plain way.
    if (!document.execCommand || !document.execCommand("insertText", false, text)) {
      area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  function erase(area) {
    if (!document.execCommand || !document.execCommand("delete")) {
      area.setRangeText("");
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  // Moves the selected lines by an indent, and keeps them selected.
  function shiftLines(area, from, back) {
    const lines = area.value.slice(from, area.selectionEnd).split("\n");
    const moved = lines.map((line) => (back ? line.replace(/^ {1,4}/, "") : line && `    ${line}`)).join("\n");
    area.setSelectionRange(from, area.selectionEnd);
    if (moved) insert(area, moved);
    area.setSelectionRange(from, from + moved.length);
  }

  function indents(area) {
    let leave = false; // after Escape the next Tab moves on, as it does everywhere else
    area.addEventListener("keydown", (event) => {
      const start = area.selectionStart, before = area.value.slice(0, start);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      if (event.key === "Escape") {
        leave = true;
        return;
      }
      if (event.key === "Tab" && !leave && !event.ctrlKey && !event.altKey && !event.metaKey) {
        event.preventDefault();
        if (start !== area.selectionEnd) {
          shiftLines(area, start - line.length, event.shiftKey);
        } else if (!event.shiftKey) {
          insert(area, " ".repeat(4 - (line.length % 4)));
        } else {
          const from = start - line.length;
          const spaces = /^ {1,4}/.exec(area.value.slice(from));
          if (spaces) {
            const goal = Math.max(from, start - spaces[0].length);
            area.setSelectionRange(from, from + spaces[0].length);
            erase(area);
            area.setSelectionRange(goal, goal);
          }
        }
      } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !event.ctrlKey && !event.metaKey) {
        const indent = /^ */.exec(line)[0] + (/:\s*$/.test(line) ? "    " : "");
        if (indent) {
          event.preventDefault();
          insert(area, `\n${indent}`);
        }
      }
      if (!["Tab", "Shift"].includes(event.key)) leave = false;
    });
    area.addEventListener("blur", () => { leave = false; });
  }

  /* --- Python ---------------------------------------------------------------------------------------------------- */

  // One for the page. `check` gives a promise; `stop` ends whatever runs.
  class Python {
    constructor(places, size, progress) {
      Object.assign(this, { places, size, progress, worker: null, starting: null, waiting: null });
    }

    start() {
      if (this.starting) return this.starting;
      this.starting = new Promise((ready, failed) => {
        this.fail = failed;
        this.worker = new Worker(this.places.worker);
        this.worker.onerror = (event) => { event.preventDefault(); this.stop(event.message || "the worker could not be started"); };
        this.worker.onmessage = ({ data }) => {
          if (data.kind === "progress") this.progress(Math.min(1, data.bytes / this.size));
          else if (data.kind === "ready") { this.fail = null; ready(); }
          // What fails outside the course's own code, such as memory that ran out, leaves a Python that answers no more.
          else if (data.kind === "lost" || data.kind === "broken") this.stop(data.message);
          else this.answer(data);
        };
        this.worker.postMessage({ kind: "start", ...this.places });
      });
      return this.starting;
    }

    answer(data) {
      const waiting = this.waiting;
      this.waiting = null;
      if (waiting) waiting.done(data);
    }

    async check(cells, test) {
      await this.start();
      return new Promise((done, failed) => {
        this.waiting = { done, failed };
        this.worker.postMessage({ kind: "check", cells, test });
      });
    }

    // The thread is ended; the next check starts another, from what the browser has kept.
    stop(reason) {
      if (this.worker) this.worker.terminate();
      const { fail, waiting } = this;
      Object.assign(this, { worker: null, starting: null, waiting: null, fail: null });
      const error = new Error(reason);
      if (fail) fail(error);
      if (waiting) waiting.failed(error);
    }
  }

  /* --- the page ---------------------------------------------------------------------------------------------------- */

  function obstacle(page) {
    if (location.protocol === "file:") {
      return "You opened this page as a file, and a browser lets a page start Python only when it comes from a server. In the course's folder, run make serve (or python -m classroom.serve) and open the address that it prints. Until then the exercises can be read here and written in the notebooks.";
    }
    if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
      return "This browser has no WebAssembly, or it is switched off, so Python cannot run in the page. Any current Firefox, Chrome, Edge or Safari has it. The notebooks hold the same exercises.";
    }
    if (!page.dataset.size) {
      return "This copy of the site was built without Python for the browser, so nothing can be run here. Whoever builds it with a connection gets it: make site says what was missing. The notebooks hold the same exercises.";
    }
    return null;
  }

  function startPage() {
    const page = document.querySelector(".try-it-page");
    if (!page) return;
    const wrong = obstacle(page);
    page.replaceChildren();
    if (wrong) {
      page.append(element("p", { class: "try-it-obstacle", role: "status" }, wrong));
      return;
    }

    const megabytes = (page.dataset.size / 1e6).toFixed(0);
    const load = element("button", { type: "button" }, "Start Python");
    const bar = element("progress", { max: 1, value: 0, "aria-label": "Loading Python", hidden: "" });
    const halt = element("button", { type: "button", hidden: "", "aria-label": "Stop loading" }, "Stop");
    const state = element("p", { role: "status", class: "try-it-state", tabindex: "-1" }, `Python is not started yet; starting it loads about ${megabytes} MB from this site, once.`);
    page.append(element("div", { class: "try-it-buttons" }, load, bar, halt), state);

    const here = (name) => new URL(name, page.dataset.static ? new URL(page.dataset.static, location.href) : location.href).href;
    const python = new Python(
      { worker: here("try_it_worker.js"), core: here("pyodide/"), course: here("try_it_course.zip"), driver: here("try_it.py") },
      Number(page.dataset.size),
      (share) => { bar.value = share; },
    );
    let ready = false, busy = null; // the exercise that is being checked

    async function started() {
      if (ready && python.starting) return;
      ready = false;
      load.setAttribute("aria-disabled", "true"); // it keeps the keyboard's place, which a disabled button loses
      bar.hidden = halt.hidden = false;
      state.textContent = "Python is being loaded.";
      try {
        await python.start();
        ready = true;
        state.textContent = "Python is ready.";
        leave(load, state);
      } catch (error) {
        state.textContent = error.message === "stopped"
          ? "Loading was stopped. Start Python, or check an exercise, to begin again."
          : `Python could not be started: ${error.message}. Reload the page to try again; the notebooks hold the same exercises.`;
        load.removeAttribute("aria-disabled");
        throw error;
      } finally {
        bar.hidden = true;
        leave(halt, load.hidden ? state : load);
      }
    }

    halt.addEventListener("click", () => python.stop("stopped"));
    load.addEventListener("click", () => { if (!load.hasAttribute("aria-disabled")) started().catch(() => {}); });

    // Hide a button; the keyboard's place goes to what comes next, and not to the top of the page.
    function leave(button, next) {
      if (document.activeElement === button) next.focus();
      button.hidden = true;
    }

    const exercises = [...document.querySelectorAll(".try-it")].map((box) => {
      const { title, needs, starter, test } = JSON.parse(box.querySelector("script").textContent);
      const id = `try-${title}`;
      const area = element("textarea", { id, spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", "aria-describedby": "try-it-keys", rows: starter.split("\n").length + 2 });
      area.value = kept.read(title) ?? starter;
      const check = element("button", { type: "button" }, "Check");
      const stop = element("button", { type: "button", hidden: "" }, "Stop");
      const reset = element("button", { type: "button" }, "Reset");
      const back = element("button", { type: "button", hidden: "" }, "Bring mine back");
      const keeps = element("p", { class: "try-it-keeps", role: "status" });
      const result = element("div", { class: "try-it-result", role: "status" });
      for (const button of [check, stop, reset, back]) button.setAttribute("aria-label", `${button.textContent} ${title}`);
      const code = box.querySelector("div[class*='highlight']");
      code.replaceWith(element("label", { for: id }, "Your ", element("code", {}, title)), area,
        element("div", { class: "try-it-buttons" }, check, stop, reset, back), keeps, result);
      box.classList.add("try-it-live");
      indents(area);

      area.addEventListener("input", () => {
        result.classList.add("try-it-old");
        back.hidden = true;
        // In a line of its own, which nothing else is said in.
        if (area.value === starter) { kept.forget(title); keeps.textContent = ""; }
        else keeps.textContent = kept.write(title, area.value) ? "" : "This browser keeps nothing for this page: copy what you have written before you leave.";
      });

      function replace(code) {
        area.focus();
        area.select();
        insert(area, code); // can be undone
        area.setSelectionRange(0, 0);
      }
      let mine = starter;
      reset.addEventListener("click", () => {
        if (area.value !== starter) mine = area.value;
        replace(starter);
        kept.forget(title);
        back.hidden = mine === starter;
        say("", "The first code is back.");
      });
      back.addEventListener("click", () => {
        replace(mine);
        say("", "Your code is back.");
      });
      stop.addEventListener("click", () => python.stop("stopped"));
      area.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); check.click(); }
      });

      function say(kind, ...lines) {
        result.className = `try-it-result ${kind && `try-it-${kind}`}`;
        result.replaceChildren(...lines);
      }

      check.addEventListener("click", async () => {
        if (busy) {
          if (busy !== title) say("", `Python is still busy with ${busy}. Wait for it, or press its Stop.`);
          return;
        }
        busy = title;
        check.setAttribute("aria-disabled", "true");
        say("", ready && python.starting ? "Checking." : "Python is being loaded; this takes a moment.");
        stop.hidden = false;
        let slow;
        try {
          await started();
          say("", "Checking.");
          slow = setTimeout(() => say("", "Still running. If a loop never ends, press Stop."), 4000);
          const run = [...needs, title].map((name) => exercises.find((one) => one.title === name)).filter(Boolean);
          const sent = run.map((one) => [one.title, one.area.value]);
          const answer = await python.check(sent, test);
          const lines = [element("strong", {}, answer.passed ? "Right. The test is silent." : "Not right yet.")];
          if (answer.message) lines.push(element("pre", {}, answer.message));
          if (answer.printed) lines.push(element("p", {}, "Your code printed (the test calls it several times):"), element("pre", {}, answer.printed));
          say(answer.passed ? "right" : "wrong", ...lines);
          // What was changed meanwhile, it says nothing of.
          if (run.some((one, k) => one.area.value !== sent[k][1])) result.classList.add("try-it-old");
        } catch (error) {
          if (error.message === "stopped") {
            say("wrong", element("strong", {}, "Stopped."), " Your code is still here; the next check starts Python again.");
            state.textContent = "Python was stopped, and starts again at the next check.";
          } else {
            say("wrong", `Python is not running: ${error.message}.`);
          }
        } finally {
          clearTimeout(slow);
          leave(stop, check);
          check.removeAttribute("aria-disabled");
          busy = null;
        }
      });
      return { title, area };
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startPage);
  else startPage();
})();
