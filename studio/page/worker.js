// The planner, on a thread of its own: the page stays awake, and a plan that takes long can be stopped.
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
  return reply(wasm.ask());
}
