/* The first page's figure: a cell state on its way through time steps, each of which keeps the share f of it. A dot travels
   along; it can be stopped, and rests from the start for readers who ask their system for less motion. */
"use strict";

(function () {
  const box = document.querySelector(".course-hero");
  if (!box) return;
  const slider = box.querySelector("input");
  const [dot, motion, says] = [".pulse", "[data-motion]", ".course-hero-says"].map((name) => box.querySelector(name));
  const lines = [...box.querySelectorAll("[data-left]")], shares = [...box.querySelectorAll("[data-share]")];
  const steps = lines.length, from = Number(lines[0].getAttribute("x1")), to = Number(lines[steps - 1].getAttribute("x2"));

  // A share in percent, with two digits that mean something.
  function percent(share) {
    const value = 100 * share;
    if (value >= 1 || value === 0) return `${value.toFixed(0)}%`;
    if (value >= 1e-4) return `${Number(value.toPrecision(2))}%`;
    const power = Math.floor(Math.log10(value));
    return `${(value / 10 ** power).toFixed(1)} × 10${[...String(power)].map((d) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(d)]).join("")}%`;
  }

  function show() {
    const f = Number(slider.value);
    lines.forEach((line, k) => line.setAttribute("stroke-width", (1 + 7 * f ** k).toFixed(2)));
    shares.forEach((label, k) => { const left = 100 * f ** (k + 1); label.textContent = left < 1 ? "<1%" : `${left.toFixed(0)}%`; });
    box.querySelector("output").textContent = f.toFixed(2);
    return says.textContent = `A forget gate of ${f.toFixed(2)} leaves ${percent(f ** steps)} of the cell state after ${steps} steps, and ${percent(f ** 100)} after 100.`;
  }

  // It moves while the reader lets it and has it in the window: nobody pays for what nobody sees.
  let still = matchMedia("(prefers-reduced-motion: reduce)").matches, near = false, running = false, at = 0, last = null;
  function go() {
    if (!running && near && !still) { running = true; requestAnimationFrame(move); }
  }
  function move(now) {
    if (still || !near) { running = false; last = null; return; }
    if (last !== null) at = (at + (now - last) / 700) % (steps + 1);
    last = now;
    const f = Number(slider.value);
    dot.setAttribute("cx", from + (Math.min(at, steps) / steps) * (to - from));
    dot.setAttribute("r", (2 + 6 * f ** at).toFixed(2));
    requestAnimationFrame(move);
  }
  function turn(rests) {
    still = rests;
    motion.textContent = still ? "Play" : "Pause";
    box.dataset.motion = still ? "still" : "moving";
    go();
  }
  new IntersectionObserver((seen) => { near = seen.at(-1).isIntersecting; go(); }).observe(box.querySelector("svg"));

  // Read out when the slider rests: at every movement a screen reader would not keep up.
  const spoken = box.querySelector(".course-hero-spoken");
  let waiting;
  function change() {
    const text = show();
    clearTimeout(waiting);
    waiting = setTimeout(() => { spoken.textContent = text; }, 700);
  }

  slider.addEventListener("input", change);
  box.querySelectorAll("[data-f]").forEach((button) => button.addEventListener("click", () => { slider.value = button.dataset.f; change(); }));
  motion.addEventListener("click", () => turn(!still));
  box.querySelector(".course-hero-controls").hidden = false;
  show();
  turn(still);
})();
