// What a page shows, as the tests ask for it. One object of functions; each gives plain data.
({
  // Resolves when the fonts are there.
  async settled() {
    await document.fonts.ready;
  },

  // Resolves after two frames: the theme has heard of a new colour scheme, and the page is laid out again.
  async redrawn() {
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  },

  // The number of pieces of mathematics, and what is wrong with any of them.
  math() {
    const wrong = [];
    const nodes = [...document.querySelectorAll('.math')];
    for (const node of nodes) {
      const name = node.textContent.trim().slice(0, 60);
      const drawn = node.querySelector('.katex-html[aria-hidden=true]'), read = node.querySelector('.katex-mathml');
      if (!drawn) wrong.push('not rendered: ' + name);
      else if (!read || !read.textContent.trim()) wrong.push('nothing to read out: ' + name);
      else if (!node.checkVisibility()) continue;
      else if (drawn.getBoundingClientRect().width < 1) wrong.push('no width: ' + name);
      else if (read.getBoundingClientRect().width > 2) wrong.push('seen twice, the style sheet is missing: ' + name);
    }
    // KaTeX draws what it cannot set in red where it is told not to stop.
    for (const node of document.querySelectorAll('.katex-error')) wrong.push('error: ' + node.textContent);
    const texts = document.createTreeWalker(document.querySelector('article') || document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (text.parentElement.closest('pre, code, script, style, .math, textarea')) continue;
      if (/\\[a-zA-Z]{2,}|\\[(\[]|\$[^$\n]+\$/.test(text.data))
        wrong.push('TeX in the text: ' + text.data.trim().slice(0, 80));
    }
    return [nodes.length, wrong];
  },

  // Every image; one that cannot be decoded has the width 0.
  async images() {
    return Promise.all([...document.images].map(async image => {
      image.loading = 'eager';
      await image.decode().catch(() => {});
      return {
        src: image.getAttribute('src'),
        alt: image.getAttribute('alt'),
        width: image.naturalWidth,
        decoration: image.getAttribute('role') === 'presentation' || image.getAttribute('aria-hidden') === 'true',
      };
    }));
  },

  // What is wider than the window.
  wide() {
    const width = document.documentElement.clientWidth;
    const found = [];
    const page = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
    if (page > width) found.push(`the page itself: ${page} of ${width} px`);
    const main = document.querySelector('main') || document.body;
    const reported = [];
    // What scrolls in itself may be wide inside, as long as its own frame fits.
    const fits = frame => /auto|scroll/.test(getComputedStyle(frame).overflowX)
      && frame.getBoundingClientRect().right <= width + 1;
    for (const node of main.querySelectorAll('*')) {
      // The theme's drawer of the page's contents waits beside the window; opening it is tested elsewhere.
      // Of an arrow or a root KaTeX shows a part that fits, and hides the rest.
      if (node.closest('.katex-mathml, .katex .hide-tail, .bd-sidebar-secondary')) continue;
      if (reported.some(other => other.contains(node))) continue;
      const box = node.getBoundingClientRect();
      if (box.width < 2 || box.height < 2 || box.right <= width + 1) continue;
      let frame = node.parentElement;
      while (frame !== main && !fits(frame)) frame = frame.parentElement;
      if (frame !== main) continue;
      reported.push(node);
      const name = [node.tagName.toLowerCase(), ...node.classList].join('.') + (node.id ? '#' + node.id : '');
      const text = node.textContent.trim() || 'in ' + node.closest('p, li, td, div').textContent.trim();
      found.push(`${name} ends at ${Math.round(box.right)} of ${width} px: ${text.slice(0, 60)}`);
    }
    return found;
  },

  // Text with too little contrast to the first opaque ground behind it (WCAG 2.1, success criterion 1.4.3).
  faint() {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    const rgba = text => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      return canvas.getImageData(0, 0, 1, 1).data;
    };
    const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const ground = node => {
      for (let at = node; at; at = at.parentElement) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        if (colour[3] > 250) return colour;
      }
      return [255, 255, 255, 255];
    };
    const found = new Map();
    const kinds = 'p, li, td, th, figcaption, .caption-text, h1, h2, h3, h4, dt, dd, a:not(.headerlink)';
    for (const node of document.querySelectorAll(`article :is(${kinds})`)) {
      if (![...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim())) continue;
      const box = node.getBoundingClientRect(), style = getComputedStyle(node);
      if (box.width < 2 || box.height < 2) continue;
      const [a, b] = [luminance(rgba(style.color)), luminance(ground(node))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio >= (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) continue;
      const name = `${[node.tagName.toLowerCase(), ...node.classList].join('.')} ${ratio.toFixed(2)}`;
      if (!found.has(name)) found.set(name, `${name}: ${node.textContent.trim().slice(0, 50)}`);
    }
    return [...found.values()];
  },
})
