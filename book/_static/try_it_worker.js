/* Python in a thread of its own, so that an endless loop can be stopped: the page ends this worker and starts another. */
"use strict";

// Counts what arrives, for the page's progress bar; everything else about a request stays as it is.
const ask = self.fetch;
let arrived = 0;
self.fetch = async (...request) => {
  const response = await ask(...request);
  if (!response.ok || !response.body) return response;
  const counted = response.body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      arrived += chunk.byteLength;
      self.postMessage({ kind: "progress", bytes: arrived });
      controller.enqueue(chunk);
    },
  }));
  return new Response(counted, { status: response.status, headers: response.headers });
};

async function bytes(address) {
  const response = await self.fetch(address);
  if (!response.ok) throw new Error(`${address}: HTTP ${response.status}`);
  return response.arrayBuffer();
}

let check;

async function start({ core, course, driver }) {
  self.importScripts(`${core}pyodide.js`);
  const python = await self.loadPyodide({ indexURL: core });
  python.unpackArchive(await bytes(course), "zip", { extractDir: "/course" });
  python.FS.writeFile("/course/try_it.py", new Uint8Array(await bytes(driver)));
  python.runPython("import sys; sys.path.insert(0, '/course'); import try_it, refcells.autotest.scalar_questions");
  check = python.globals.get("try_it").check;
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") {
      await start(data);
      self.postMessage({ kind: "ready" });
    } else {
      self.postMessage({ kind: "checked", ...JSON.parse(check(JSON.stringify(data.cells), data.test)) });
    }
  } catch (error) {
    self.postMessage({ kind: data.kind === "start" ? "lost" : "broken", message: String(error.message || error) });
  }
};
