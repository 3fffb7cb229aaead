// The evaluator, on a thread of its own: the page stays awake, and a question that takes long can be stopped.
let asked;
let told = 0;

// What the evaluator says of long work; a few times a second are enough.
function tell(at, length, done, of) {
  const time = performance.now();
  if (time - told < 150) return;
  told = time;
  postMessage({ id: asked, stage: decoder.decode(new Uint8Array(wasm.memory.buffer, at, length)), done, of });
}

async function handle(message) {
  asked = message.id;
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
  put(encoder.encode(JSON.stringify(message.request)));
  return reply(wasm.ask());
}
