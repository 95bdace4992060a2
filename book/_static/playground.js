/* Units with sliders: the same steps as refcells.scalar, in the page. No library.

   A page holds <div class="playground" data-playground="lstm" hidden>, with a sentence or two in it; what is to be
   moved and read is added here, so that a reader without JavaScript misses nothing that only looks broken. */
"use strict";

(function () {
  /* --- arithmetic ------------------------------------------------------------------------------------------------ */

  // As refcells.scalar.sigmoid: never asks for more than e^0.
  function sigmoid(a) {
    const e = Math.exp(-Math.abs(a));
    return a >= 0 ? 1 / (1 + e) : e / (1 + e);
  }

  const preactivation = (at, w, k) => w.x[k] * at.x + w.h[k] * at.h + at[k];

  function lstmStep(at, w) {
    const a = {};
    for (const k of ["i", "f", "g", "o"]) a[k] = preactivation(at, w, k);
    const i = sigmoid(a.i), f = sigmoid(a.f), g = Math.tanh(a.g), o = sigmoid(a.o);
    const c = f * at.c + i * g;
    return { a, i, f, g, o, c, h: o * Math.tanh(c) };
  }

  function gruStep(at, w) {
    const a = { r: preactivation(at, w, "r"), z: preactivation(at, w, "z") };
    const r = sigmoid(a.r), z = sigmoid(a.z);
    a.n = w.x.n * at.x + w.h.n * (r * at.h) + at.n;
    const n = Math.tanh(a.n);
    return { a, r, z, n, h: (1 - z) * at.h + z * n };
  }

  /* --- making elements ------------------------------------------------------------------------------------------- */

  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const shape = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  // "h_t-1" as an italic letter with an index.
  function symbol(text) {
    const [letter, index] = text.split("_");
    const node = element("i", {}, letter);
    if (index) node.append(element("sub", {}, index));
    return node;
  }

  const fixed = (value, digits = 4) => {
    const text = value.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  };
  const factor = (value, digits) => (value < 0 ? `(${fixed(value, digits)})` : fixed(value, digits));

  // A number to read, with all of its digits in the attribute `value`.
  function put(node, value, digits) {
    node.textContent = fixed(value, digits);
    node.value = String(value);
  }

  // Speaks at most once every while: a slider that is dragged passes many values.
  function speaker(box) {
    const line = element("p", { class: "pg-spoken", role: "status" });
    box.append(line);
    let waiting, began = false;
    return (text) => {
      if (!began) { began = true; return; } // what a page shows when it opens, nobody has asked for
      clearTimeout(waiting);
      waiting = setTimeout(() => { line.textContent = text; }, 700);
    };
  }

  let serial = 0;

  /* One slider in its row: label, slider, value, and room for what follows from it. */
  function sliderRow(spec, result) {
    const id = `pg-${++serial}`;
    const name = element("span", {}, symbol(spec.symbol));
    const input = element("input", { type: "range", id, name: spec.key, min: spec.min, max: spec.max, step: spec.step || 0.1 });
    const value = element("data", { class: "pg-value", "data-at": spec.key });
    const row = element("div", { class: "pg-row" },
      element("label", { for: id }, `${spec.label} `, name), input, value, element("span", { class: "pg-result" }, ...(result || [])));
    return { row, input, value, name };
  }

  /* --- diagrams --------------------------------------------------------------------------------------------------- */

  const WIDEST = 10;

  /* A diagram from parts. `lines` of a constant width carry a state; `valves` multiply, and the line behind one is
     as wide as it is open. */
  function diagram(label, width, height, draw) {
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "pg-diagram" });
    const moving = [];
    const pen = {
      line(points, colour, key) {
        picture.append(shape("polyline", { points, class: "pg-guide" }));
        const line = shape("polyline", { points, class: `pg-line pg-${colour}`, "stroke-width": WIDEST });
        picture.append(line);
        if (key) moving.push((now) => line.setAttribute("stroke-width", (WIDEST * now[key]).toFixed(2)));
        return line;
      },
      valve(x, y, colour, name, key, side = [0, -22]) {
        picture.append(shape("circle", { cx: x, cy: y, r: 12, class: `pg-valve pg-edge-${colour}` }), text(x, y + 5, "×"));
        const value = text(x + side[0], y + side[1], "", "middle");
        picture.append(value);
        moving.push((now) => { value.textContent = `${name} = ${fixed(now[key], 3)}`; });
      },
      sum(x, y) {
        picture.append(shape("circle", { cx: x, cy: y, r: 12, class: "pg-valve" }), text(x, y + 5, "+"));
      },
      layer(x, y, words) {
        picture.append(shape("rect", { x: x - 22, y: y - 12, width: 44, height: 24, rx: 4, class: "pg-valve" }), text(x, y + 5, words));
      },
      words(x, y, before, key, anchor = "middle") {
        const value = text(x, y, before, anchor);
        picture.append(value);
        if (key) moving.push((now) => { value.textContent = `${before} ${fixed(now[key], 3)}`; });
      },
    };
    function text(x, y, words, anchor = "middle") {
      return shape("text", { x, y, "text-anchor": anchor }, words);
    }
    draw(pen);
    return { picture, follow: (now) => moving.forEach((move) => move(now)) };
  }

  function lstmDiagram(pen) {
    pen.line("6,40 84,40", "state");
    pen.line("96,40 168,40", "keep", "f");
    pen.line("180,40 324,40", "state");
    pen.line("174,158 174,118", "content");
    pen.line("174,106 174,52", "write", "i");
    pen.line("238,40 238,68", "state");
    pen.line("238,92 238,112", "state");
    pen.line("250,124 324,124", "show", "o");
    pen.valve(90, 40, "keep", "f", "f", [0, 30]);
    pen.sum(174, 40);
    pen.valve(174, 112, "write", "i", "i", [-54, 5]);
    pen.layer(238, 80, "tanh");
    pen.valve(238, 124, "show", "o", "o", [4, 32]);
    pen.words(2, 22, "c before", "before", "start");
    pen.words(326, 22, "c", "c", "end");
    pen.words(174, 176, "g =", "g");
    pen.words(326, 108, "h", "h", "end");
  }

  function gruDiagram(pen) {
    pen.line("6,40 128,40", "state");
    pen.line("140,40 208,40", "keep", "keep");
    pen.line("220,40 324,40", "state");
    pen.line("30,40 30,78", "state");
    pen.line("30,90 30,130 104,130", "show", "r");
    pen.line("126,172 126,142", "content");
    pen.line("148,130 214,130 214,104", "content");
    pen.line("214,92 214,52", "write", "z");
    pen.valve(134, 40, "keep", "1 − z", "keep", [0, 30]);
    pen.sum(214, 40);
    pen.valve(30, 84, "show", "r", "r", [56, 5]);
    pen.layer(126, 130, "tanh");
    pen.valve(214, 98, "write", "z", "z", [56, 5]);
    pen.words(2, 22, "h before", "before", "start");
    pen.words(326, 22, "h", "h", "end");
    pen.words(138, 172, "from x and the bias", null, "start");
    pen.words(230, 138, "n =", "n", "start");
  }

  /* A step of the sequence as a small picture: kept along, written from below, shown above. */
  function miniature({ keep, write, show }) {
    const line = (points, colour, share) => shape("polyline", { points, class: `pg-line pg-${colour}`, "stroke-width": (8 * share).toFixed(2) });
    return shape("svg", { viewBox: "0 0 60 44", "aria-hidden": "true", preserveAspectRatio: "none" },
      shape("polyline", { points: "0,22 60,22", class: "pg-guide" }), shape("polyline", { points: "30,0 30,44", class: "pg-guide" }),
      line("0,22 60,22", "keep", keep), line("30,44 30,22", "write", write), line("30,22 30,0", "show", show));
  }

  /* --- the two units ----------------------------------------------------------------------------------------------- */

  // What the pre-activation is made of, in numbers: nothing but the slider while the weights are 0.
  function filledIn(at, w, k, past) {
    if (w.x[k] === 0 && w.h[k] === 0) return fixed(at[k], 1);
    const terms = [];
    // A product leads without brackets; a negative one that follows stands in them.
    const product = (weight, by) => `${terms.length ? factor(weight, 1) : fixed(weight, 1)} × ${by}`;
    if (w.x[k] !== 0) terms.push(product(w.x[k], factor(at.x, 1)));
    if (w.h[k] !== 0) terms.push(product(w.h[k], past || factor(at.h)));
    return `${terms.join(" + ")} + ${factor(at[k], 1)}`;
  }

  const NONE = { i: 0, f: 0, g: 0, o: 0 };

  const UNITS = {
    lstm: {
      title: "One LSTM unit",
      step: lstmStep,
      sliders: [
        { key: "x", label: "input", symbol: "x_t", min: -3, max: 3, start: 1.2 },
        { key: "h", label: "hidden state before", symbol: "h_t−1", min: -1, max: 1, start: 0.5 },
        { key: "c", label: "cell state before", symbol: "c_t−1", min: -5, max: 5, start: 0.8 },
        { key: "f", label: "forget gate", symbol: "f", min: -8, max: 8, start: 1.0, gate: true },
        { key: "i", label: "input gate", symbol: "i", min: -8, max: 8, start: 0.2, gate: true },
        { key: "g", label: "candidate", symbol: "g", min: -3, max: 3, start: 0.9, gate: true },
        { key: "o", label: "output gate", symbol: "o", min: -8, max: 8, start: 0.7, gate: true },
      ],
      states: ["c", "h"],
      still: { x: NONE, h: NONE },
      acting: { x: { i: 1, f: -0.5, g: 1, o: 0.5 }, h: { i: -0.5, f: 1, g: 0.5, o: 0.5 } },
      toggle: "let x and h act on the gates and the candidate",
      explain: {
        still: "All weights are 0: the four pre-activations are what the sliders say, as in the text, and x and h have no part in them.",
        acting: "Each pre-activation is now the slider, as the bias b, plus a weight times x and a weight times h: for f, i, g, o the weights of x are −0.5, 1, 1, 0.5 and those of h 1, −0.5, 0.5, 0.5.",
      },
      equations: (at, w, now) => [
        ["f", `σ(${filledIn(at, w, "f")})`, now.f],
        ["i", `σ(${filledIn(at, w, "i")})`, now.i],
        ["g", `tanh(${filledIn(at, w, "g")})`, now.g],
        ["o", `σ(${filledIn(at, w, "o")})`, now.o],
        ["c_t", `${fixed(now.f)} × ${factor(at.c)} + ${fixed(now.i)} × ${factor(now.g)} = ${fixed(now.f * at.c)} + ${factor(now.i * now.g)}`, now.c],
        ["h_t", `${fixed(now.o)} × tanh(${fixed(now.c)}) = ${fixed(now.o)} × ${factor(Math.tanh(now.c))}`, now.h],
      ],
      spoken: (now) => `cell state ${fixed(now.c, 3)}, hidden state ${fixed(now.h, 3)}`,
      label: "An LSTM unit. The cell state goes along the top, multiplied by f; the candidate g, multiplied by i, is added from below; a copy goes through tanh, multiplied by o, and leaves as h. Each line behind a gate is as wide as the gate is open.",
      size: [330, 182],
      draw: lstmDiagram,
      mini: (now) => ({ keep: now.f, write: now.i, show: now.o }),
      buttons: [
        ["as in the text", null],
        ["copy", { f: 8, i: -8, o: 8 }],
        ["replace", { f: -8, i: 8, o: 8 }],
        ["add", { f: 8, i: 8, o: 8 }],
        ["hide", { f: 8, i: -8, o: -8 }],
      ],
    },
    gru: {
      title: "One GRU unit",
      step: gruStep,
      sliders: [
        { key: "x", label: "input", symbol: "x_t", min: -3, max: 3, start: 1.0 },
        { key: "h", label: "hidden state before", symbol: "h_t−1", min: -1, max: 1, start: 0.8 },
        { key: "z", label: "update gate", symbol: "z", min: -8, max: 8, start: 0.8, gate: true },
        { key: "r", label: "reset gate", symbol: "r", min: -8, max: 8, start: -0.3, gate: true },
        { key: "n", label: "candidate", symbol: "n", min: -3, max: 3, start: 0.9, gate: true },
      ],
      states: ["h"],
      still: { x: { r: 0, z: 0, n: 0 }, h: { r: 0, z: 0, n: -1.5 } },
      acting: { x: { r: 0.5, z: 1, n: 1 }, h: { r: -0.5, z: -1, n: -1.5 } },
      toggle: "let x act, and h on the gates too",
      explain: {
        still: "The candidate reads the past with the weight −1.5, as in the text. What it gets besides is its slider. All other weights are 0: the gates are what their sliders say, and x has no part in anything.",
        acting: "Each slider is now a bias b, to which a weight times x and a weight times the past are added: for z, r, n the weights of x are 1, 0.5, 1 and those of the past −1, −0.5, −1.5.",
      },
      equations: (at, w, now) => [
        ["z", `σ(${filledIn(at, w, "z")})`, now.z],
        ["r", `σ(${filledIn(at, w, "r")})`, now.r],
        ["n", `tanh(${filledIn(at, w, "n", `${fixed(now.r)} × ${factor(at.h)}`)})`, now.n],
        ["h_t", `${fixed(1 - now.z)} × ${factor(at.h)} + ${fixed(now.z)} × ${factor(now.n)} = ${fixed((1 - now.z) * at.h)} + ${factor(now.z * now.n)}`, now.h],
      ],
      spoken: (now) => `candidate ${fixed(now.n, 3)}, hidden state ${fixed(now.h, 3)}`,
      label: "A GRU unit. The hidden state goes along the top, multiplied by 1 minus z. A copy, multiplied by r, goes through tanh with the input and becomes the candidate n, which is multiplied by z and added. Each line behind a gate is as wide as the gate is open.",
      size: [330, 182],
      draw: gruDiagram,
      mini: (now) => ({ keep: 1 - now.z, write: now.z, show: 0 }),
      buttons: [
        ["as in the text", null],
        ["copy", { z: -8 }],
        ["replace", { z: 8, r: 8 }],
        ["start afresh", { z: 8, r: -8 }],
        ["half open", { z: 0, r: 0 }],
      ],
    },
  };

  // What comes in, step by step, unless the reader sets x.
  const INPUTS = [null, -0.6, 0.3, 0, 0.9, -1.2];

  function startUnit(box) {
    const unit = UNITS[box.dataset.playground];
    const at = {}, rows = {}, values = {};
    let history = [];

    const sliders = element("div", { role: "group", "aria-label": `${unit.title}: what comes in, and the pre-activations` });
    for (const spec of unit.sliders) {
      values[spec.key] = element("data", { "data-value": spec.key });
      const row = sliderRow(spec, spec.gate ? [symbol(spec.symbol), " = ", values[spec.key]] : []);
      row.input.addEventListener("input", () => { at[spec.key] = Number(row.input.value); refresh(); });
      rows[spec.key] = row;
      sliders.append(row.row);
    }

    const toggle = element("input", { type: "checkbox", id: `pg-${++serial}`, name: "act" });
    const explanation = element("p", { class: "pg-note" });
    const acting = element("div", { class: "pg-toggle" }, toggle, element("label", { for: toggle.id }, unit.toggle), explanation);
    toggle.addEventListener("change", refresh);

    const { picture, follow } = diagram(unit.label, ...unit.size, unit.draw);
    const equations = element("div", { class: "pg-equations", role: "group", "aria-label": "The equations with these numbers" });

    const gates = element("div", { class: "pg-buttons", role: "group", "aria-label": "Gates at their ends" });
    for (const [name, to] of unit.buttons) {
      const button = element("button", { type: "button" }, name);
      button.addEventListener("click", () => {
        set(to || starts());
        // All of the text's numbers: the ones behind steps that are taken are others.
        if (!to) { toggle.checked = false; history = []; }
        refresh();
      });
      gates.append(button);
    }

    const next = element("button", { type: "button" }, "next step");
    const again = element("button", { type: "button" }, "start again");
    // The role says that it is a list where a browser takes one without numbers for none.
    const strip = element("ol", { class: "pg-steps", role: "list", "aria-label": "The unit, step by step" });
    next.addEventListener("click", () => {
      const now = refresh();
      history.push({ x: at.x, now });
      for (const state of unit.states) at[state] = now[state];
      if (history.length < INPUTS.length) at.x = INPUTS[history.length];
      refresh(`Step ${history.length} is taken: ${unit.spoken(now)}. `);
      if (history.length === INPUTS.length) again.focus();
    });
    again.addEventListener("click", () => {
      for (const key of ["x", ...unit.states]) at[key] = starts()[key];
      history = [];
      refresh();
      next.focus();
    });

    box.prepend(element("p", { class: "pg-title" }, unit.title));
    box.append(sliders, acting, gates,
      element("div", { class: "pg-see" }, picture, equations),
      element("div", { class: "pg-buttons" }, next, again), strip);
    const speak = speaker(box);

    function starts() {
      return Object.fromEntries(unit.sliders.map((spec) => [spec.key, spec.start]));
    }

    function set(some) {
      Object.assign(at, some);
    }

    function refresh(first) {
      const w = toggle.checked ? unit.acting : unit.still;
      const now = unit.step(at, w);
      for (const spec of unit.sliders) {
        const row = rows[spec.key];
        row.input.value = at[spec.key]; // shows the nearest tenth; `at` keeps the number itself
        put(row.value, at[spec.key], unit.states.includes(spec.key) ? 3 : 1);
        if (spec.gate) {
          row.name.replaceChildren(symbol(`${w.x[spec.key] === 0 && (w.h[spec.key] === 0) ? "a" : "b"}_${spec.symbol}`));
          put(values[spec.key], now[spec.key]);
          row.input.setAttribute("aria-valuetext", `${fixed(at[spec.key], 1)}, ${spec.symbol} is ${fixed(now[spec.key], 3)}`);
        } else {
          row.input.setAttribute("aria-valuetext", row.value.textContent);
        }
      }
      explanation.textContent = toggle.checked ? unit.explain.acting : unit.explain.still;
      follow({ ...now, before: at[unit.states[0]], keep: 1 - now.z });
      equations.replaceChildren(...unit.equations(at, w, now).map(([name, filled, value]) => {
        const result = element("data", { "data-value": name.endsWith("_t") ? `new ${name[0]}` : `eq ${name}` });
        put(result, value);
        return element("div", {}, symbol(name), ` = ${filled} = `, result);
      }));
      strip.replaceChildren(...INPUTS.map((planned, k) => draw(k, history[k], planned)));
      next.disabled = history.length === INPUTS.length;
      speak((typeof first === "string" ? `${first}Now: ` : "") + unit.spoken(now));
      return now;
    }

    function draw(k, past, planned) {
      const item = element("li", past ? {} : { class: "pg-ahead" }, element("span", {}, `step ${k + 1}`));
      const pair = (name, value, digits) => {
        const number = element("data", { "data-step": `${name} ${k + 1}` });
        put(number, value, digits);
        return element("span", {}, symbol(name), " ", number);
      };
      if (past) {
        item.append(miniature(unit.mini(past.now)), pair("x", past.x, 1), ...unit.states.map((state) => pair(state, past.now[state], 3)));
      } else {
        item.append(miniature({ keep: 0, write: 0, show: 0 }), pair("x", k === history.length ? at.x : planned, 1));
      }
      return item;
    }

    set(starts());
    refresh();
  }

  /* --- the gradient's way back --------------------------------------------------------------------------------------- */

  const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

  function readable(value) {
    if (value >= 0.001 && value < 10000) return Number(value.toPrecision(4)).toString();
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${mantissa} × 10${[...exponent.replace("+", "")].map((sign) => SUPERSCRIPT[sign]).join("")}`;
  }

  function startHighway(box) {
    const marks = JSON.parse(box.dataset.marks || "[]");
    const per = sliderRow({ key: "factor", label: "factor a step", symbol: "f", min: 0.4, max: 1.2, step: 0.001 });
    const far = sliderRow({ key: "steps", label: "steps back", symbol: "k", min: 1, max: 200, step: 1 });
    // A factor as the slider has it, so that what is shown, to the power that is shown, is what is shown to be left.
    const notch = (factor) => Number(factor.toFixed(3));
    const at = { factor: notch(marks.length ? marks[0][1] : 0.9), steps: 50 };
    const result = element("p", { class: "pg-sum" });
    const buttons = element("div", { class: "pg-buttons", role: "group", "aria-label": "Factors to try" });
    for (const [name, value] of marks) {
      const button = element("button", { type: "button" }, `${name}: ${fixed(value, 3)}`);
      button.addEventListener("click", () => { at.factor = notch(value); refresh(); });
      buttons.append(button);
    }
    for (const [row, key] of [[per, "factor"], [far, "steps"]]) {
      row.input.addEventListener("input", () => { at[key] = Number(row.input.value); refresh(); });
    }

    // Steps to the right, powers of ten upwards.
    const LEFT = 58, RIGHT = 392, TOP = 14, BOTTOM = 194, LOW = -12, HIGH = 6, MOST = 200;
    const right = (k) => LEFT + (k / MOST) * (RIGHT - LEFT);
    const up = (power) => BOTTOM - ((power - LOW) / (HIGH - LOW)) * (BOTTOM - TOP);
    const picture = shape("svg", { viewBox: "0 0 414 232", role: "img", class: "pg-diagram" });
    for (let power = LOW; power <= HIGH; power += 3) {
      picture.append(shape("line", { x1: LEFT, x2: RIGHT, y1: up(power), y2: up(power), class: power === 0 ? "pg-one" : "pg-grid" }),
        shape("text", { x: LEFT - 6, y: up(power) + 4, "text-anchor": "end" }, power === 0 ? "1" : `10${[...String(power)].map((s) => SUPERSCRIPT[s]).join("")}`));
    }
    for (const k of [0, 50, 100, 150, 200]) picture.append(shape("text", { x: right(k), y: BOTTOM + 17, "text-anchor": "middle" }, String(k)));
    picture.append(shape("text", { x: (LEFT + RIGHT) / 2, y: BOTTOM + 34, "text-anchor": "middle" }, "steps back"));
    const curve = shape("polyline", { class: "pg-line pg-keep", "stroke-width": 3 });
    const walked = shape("polyline", { class: "pg-line pg-content", "stroke-width": 6 });
    const dot = shape("circle", { r: 6, class: "pg-dot" });
    picture.append(curve, walked, dot);

    box.prepend(element("p", { class: "pg-title" }, "What is left of a gradient"));
    box.append(element("div", { role: "group", "aria-label": "Factor and distance" }, per.row, far.row), buttons, result, picture);
    const speak = speaker(box);

    function refresh() {
      const left = Math.pow(at.factor, at.steps), slope = Math.log10(at.factor);
      per.input.value = at.factor;
      far.input.value = at.steps;
      put(per.value, at.factor, 3);
      put(far.value, at.steps, 0);
      // The straight line of the logarithm, as far as the axes go.
      const end = (k) => {
        const last = slope < 0 ? Math.min(k, LOW / slope) : slope > 0 ? Math.min(k, HIGH / slope) : k;
        return [right(last), up(slope * last)];
      };
      const from = `${right(0)},${up(0)}`;
      curve.setAttribute("points", `${from} ${end(MOST)}`);
      walked.setAttribute("points", `${from} ${end(at.steps)}`);
      const [x, y] = end(at.steps);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      const share = element("data", { "data-value": "left" }, readable(left));
      share.value = String(left);
      const pace = at.factor === 1 ? "It stays whole at any distance."
        : at.factor < 1 ? "Half is gone after " : "It doubles in ";
      result.replaceChildren(`${fixed(at.factor, 3)}`, element("sup", {}, String(at.steps)), " = ", share, `. ${pace}`);
      let half = "";
      if (at.factor !== 1) {
        const steps = Math.abs(Math.log(2) / Math.log(at.factor));
        const number = element("data", { "data-value": "half" }, readable(steps));
        number.value = String(steps);
        half = `${pace}${readable(steps)} steps.`;
        result.append(number, " steps.");
      }
      const beyond = Math.abs(Math.log10(left)) > (left < 1 ? -LOW : HIGH) ? " The line has left the picture." : "";
      if (beyond) result.append(beyond);
      picture.setAttribute("aria-label", `Share left against steps back, on a logarithmic axis: a straight line from 1 at 0 steps to ${readable(left)} at ${at.steps} steps.`);
      speak(`${readable(left)} is left after ${at.steps} steps. ${half}`);
    }
    refresh();
  }

  function startAll() {
    for (const box of document.querySelectorAll(".playground")) {
      if (!box.hidden) continue;
      (box.dataset.playground === "highway" ? startHighway : startUnit)(box);
      box.hidden = false;
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
  else startAll();
})();
