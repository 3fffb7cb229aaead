// What both pages make their elements and files with. Texts enter by textContent and attributes alone.
const $ = (id) => document.getElementById(id);
const show = (element, on) => { element.hidden = !on; };

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "text") element.textContent = value;
    else if (key === "value") element.value = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const parts = [];
  for (let at = 0; at < base64.length; at += 1 << 20)
    parts.push(Uint8Array.from(atob(base64.slice(at, at + (1 << 20))), (c) => c.charCodeAt(0)));
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

// Hands a file to whoever reads the page.
function save(parts, type, name) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

