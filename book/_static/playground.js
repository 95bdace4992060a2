/* One LSTM unit with sliders: the same update as refcells.scalar.lstm_update, so that a reader can turn the gates. */
"use strict";

(function () {
  const sigmoid = (a) => (a >= 0 ? 1 / (1 + Math.exp(-a)) : Math.exp(a) / (1 + Math.exp(a)));

  function step(a_i, a_f, a_g, a_o, c_prev) {
    const i = sigmoid(a_i), f = sigmoid(a_f), g = Math.tanh(a_g), o = sigmoid(a_o);
    const c = f * c_prev + i * g;
    return { i, f, g, o, c, h: o * Math.tanh(c), kept: f * c_prev, written: i * g };
  }

  function start(box) {
    const slider = (name) => box.querySelector(`input[name="${name}"]`);
    const show = (name, text) => { box.querySelector(`[data-show="${name}"]`).textContent = text; };
    const number = (value, digits) => value.toFixed(digits).replace("-", "−");

    function refresh() {
      const at = {};
      for (const name of ["a_f", "a_i", "a_g", "a_o", "c_prev"]) {
        at[name] = Number(slider(name).value);
        show(name, number(at[name], 1));
      }
      const now = step(at.a_i, at.a_f, at.a_g, at.a_o, at.c_prev);
      for (const name of ["f", "i", "g", "o", "c", "h", "kept", "written"]) show(name, number(now[name], 4));
      for (const name of ["f", "i", "o"]) box.querySelector(`[data-bar="${name}"]`).style.width = `${100 * now[name]}%`;
      return now;
    }

    box.addEventListener("input", refresh);
    box.querySelectorAll("button[data-set]").forEach((button) =>
      button.addEventListener("click", () => {
        for (const pair of button.dataset.set.split(" ")) {
          const [name, value] = pair.split("=");
          slider(name).value = value;
        }
        refresh();
      })
    );
    box.querySelector("button[data-next]").addEventListener("click", () => {
      slider("c_prev").value = refresh().c;
      refresh();
    });
    refresh();
    box.hidden = false;
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".lstm-playground").forEach(start));
})();
