// The evaluator, on a thread of its own: the page stays awake, and a question that takes long can be stopped.
"use strict";
let wasm;
let asked;
let told = 0;
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

// What the evaluator says of long work; a few times a second are enough.
function tell(at, length, done, of) {
  const time = performance.now();
  if (time - told < 150) return;
  told = time;
  postMessage({ id: asked, stage: decoder.decode(new Uint8Array(wasm.memory.buffer, at, length)), done, of });
}

function compiled(text) {
  const [length, lc, pb, letters] = text.split(" ");
  return WebAssembly.compile(unpacked(bytesOf91(letters), Number(length), Number(lc), Number(pb)));
}

async function handle(message) {
  if (message.evaluator) {
    const module = message.evaluator instanceof WebAssembly.Module ? message.evaluator : await compiled(message.evaluator);
    wasm = (await WebAssembly.instantiate(module, { page: { tell } })).exports;
    return { module };
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
    asked = id;
    try {
      postMessage({ id, reply: await handle(event.data) });
    } catch (error) {
      postMessage({ id, broken: String(error) });
    }
  });
};
