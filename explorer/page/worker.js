// The evaluator, on a thread of its own: the page stays awake, and a question that takes long can be stopped.
"use strict";
let wasm;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function put(bytes, tail) {
  const at = wasm.room(bytes.length + tail.length);
  const memory = new Uint8Array(wasm.memory.buffer, at, bytes.length + tail.length);
  memory.set(bytes);
  memory.set(tail, bytes.length);
}

function reply(at) {
  return JSON.parse(decoder.decode(new Uint8Array(wasm.memory.buffer, at, wasm.length())));
}

async function handle(message) {
  if (message.evaluator) {
    const packed = new Blob([message.evaluator]).stream();
    const bytes = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    wasm = (await WebAssembly.instantiate(bytes, {})).instance.exports;
    return {};
  }
  if (message.release) {
    const bytes = new Uint8Array(await message.release.arrayBuffer());
    const minisig = message.minisig ? new Uint8Array(await message.minisig.arrayBuffer()) : new Uint8Array();
    put(bytes, minisig);
    return reply(wasm.open(minisig.length));
  }
  put(encoder.encode(JSON.stringify(message.request)), new Uint8Array());
  return reply(wasm.ask());
}

// One after the other, in the order in which they come.
let last = Promise.resolve();
onmessage = (event) => {
  last = last.then(async () => {
    const { id } = event.data;
    try {
      postMessage({ id, reply: await handle(event.data) });
    } catch (error) {
      postMessage({ id, broken: String(error) });
    }
  });
};
