// What the threads of both pages share: bytes go into WebAssembly and come out of it, and messages are handled by `handle`, which each has of its own.
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

function reply(at) {
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
