/* Formulas. MathJax is loaded in parts, and only when a formula comes near the window. At first only formulas near the
   window are set; once the reader scrolls, types or clicks, the others follow in idle moments, a few at a time, so that the
   page answers all the while. `courseMath.all()` sets everything at once: for printing, for tests, for other scripts. */
"use strict";

(function () {
  const base = new URL("mathjax", document.currentScript.src).href;
  const given = window.MathJax || {};
  // How long one portion may take, in milliseconds: less than a phone's reader notices.
  const BUDGET = 8;

  const unset = new Set();  // formulas that are not set yet
  const soon = new Set();   // those among them that are near the window
  let rest = false;         // whether the others are due as well
  let hurry = false;        // whether everything is due at once
  let starting = null;
  let working = null;

  // The library, once, its parts one after another.
  function start() {
    starting = starting || new Promise((resolve, reject) => {
      window.MathJax = Object.assign({}, given, {
        loader: {
          paths: { mathjax: base },
          load: ["core", "input/tex", "output/chtml", "a11y/assistive-mml"],
          failed: (error) => reject(new Error(`MathJax: ${error.package || ""} ${error.message}`)),
        },
        startup: {
          typeset: false,
          ready() { window.MathJax.startup.defaultReady(); window.MathJax.startup.promise.then(resolve, reject); },
        },
      });
      const script = document.createElement("script");
      script.src = `${base}/startup.js`;
      script.onerror = () => reject(new Error(`MathJax: ${script.src} did not load`));
      document.head.append(script);
    });
    return starting;
  }

  // Leave the page to the reader for a moment; for longer if nothing is urgent.
  const breathe = () => new Promise((then) => {
    if (soon.size || !window.requestIdleCallback) setTimeout(then, 0);
    else requestIdleCallback(() => then(), { timeout: 2000 });
  });

  const take = (from) => { const [node] = from; unset.delete(node); soon.delete(node); return node; };

  async function work() {
    await start();
    for (;;) {
      if (hurry) {
        const all = [...unset];
        unset.clear();
        soon.clear();
        if (all.length) await window.MathJax.typesetPromise(all);
        reachable(all);
      }
      if (!soon.size && !(rest && unset.size)) break;
      const until = performance.now() + BUDGET;
      do {
        const node = take(soon.size ? soon : unset);
        await window.MathJax.typesetPromise([node]);
        if (node.tagName === "DIV") reachable([node]);
      } while ((soon.size || (rest && unset.size)) && performance.now() < until);
      if (!hurry) await breathe();
    }
    working = null;
  }

  // What scrolls in itself can be reached with the keyboard, as soon as it is wider than its place.
  function reachable(nodes) {
    for (const node of nodes) for (const box of [node, ...node.querySelectorAll("mjx-container")]) {
      if (box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX)) box.tabIndex = 0;
    }
  }

  const go = () => { working = working || work(); return working; };

  function all() {
    hurry = true;
    return unset.size || working ? go() : Promise.resolve();
  }

  for (const node of document.querySelectorAll(".math")) if (!node.querySelector("mjx-container")) unset.add(node);
  window.courseMath = { all };
  if (!unset.size) return;

  const watch = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) {
      watch.unobserve(target);
      if (unset.has(target)) soon.add(target);
    }
    if (soon.size) go();
  }, { rootMargin: "25% 0px" });
  unset.forEach((node) => watch.observe(node));

  const begins = ["scroll", "keydown", "pointerdown"];
  const onward = () => {
    begins.forEach((event) => removeEventListener(event, onward));
    rest = true;
    if (unset.size) go();
  };
  begins.forEach((event) => addEventListener(event, onward, { passive: true }));
  addEventListener("beforeprint", () => {
    if (!window.MathJax.typeset || !unset.size) return;
    window.MathJax.typeset([...unset]);
    unset.clear();
    soon.clear();
  });
})();
