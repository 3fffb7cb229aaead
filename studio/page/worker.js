// The planner, on a thread of its own: the page stays awake, and a plan that takes long can be stopped.
"use strict";
let wasm;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function put(...parts) {
  const length = parts.reduce((n, part) => n + part.length, 0);
  let at = wasm.room(length);
  for (const part of parts) {
    new Uint8Array(wasm.memory.buffer, at, part.length).set(part);
    at += part.length;
  }
}

async function handle({ packed, module, file, bytes, request }) {
  if (packed) return { module: await compiled(packed) };
  if (module) {
    wasm = (await WebAssembly.instantiate(module, {})).exports;
    return {};
  }
  if (file !== undefined) {
    const name = encoder.encode(file);
    put(name, bytes);
    wasm.keep(name.length);
    return {};
  }
  put(encoder.encode(JSON.stringify(request)));
  const at = wasm.ask();
  return JSON.parse(decoder.decode(new Uint8Array(wasm.memory.buffer, at, wasm.length())));
}

// One after the other, in the order in which they come.
let last = Promise.resolve();
onmessage = ({ data }) => {
  last = last.then(async () => {
    try {
      postMessage({ id: data.id, reply: await handle(data) });
    } catch (error) {
      postMessage({ id: data.id, broken: String(error) });
    }
  });
};
