// The page. Everything that a spec says is set as text: there is no innerHTML here, and the browser is told to refuse it (Trusted Types).

// What is there: the text is the spec; `form` is what it says, `levels` the levels that the last plan knew, `files` what the spec names.
const now = { text: "", form: {}, file: "spec.toml", saved: "", files: new Map(), levels: new Map(), open: new Set() };

// ---- the planner ---------------------------------------------------------------------------------------------------------------------

const script = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
const trusted = window.trustedTypes ? trustedTypes.createPolicy("worker", { createScriptURL: (url) => url }).createScriptURL(script) : script;

// Unpacked and compiled once, on a thread of its own.
const compiled = new Promise((yes, no) => {
  const worker = new Worker(trusted);
  worker.onmessage = ({ data }) => {
    worker.terminate();
    if (data.broken) no(new Error(data.broken));
    else yes(data.reply.module);
  };
  worker.postMessage({ id: 0, packed: $("evaluator").textContent });
});

// One instance on a thread of its own. A question to one that was ended has no answer.
class Engine {
  waiting = new Map();
  next = 0;

  constructor() {
    this.worker = new Worker(trusted);
    this.worker.onmessage = ({ data }) => {
      const { yes, no } = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (data.broken) no(new Error(data.broken));
      else yes(data.reply);
    };
    this.ready = compiled.then((module) => this.send({ module }));
  }

  send(message) {
    const id = this.next++;
    return new Promise((yes, no) => {
      this.waiting.set(id, { yes, no });
      this.worker.postMessage({ id, ...message });
    });
  }

  async ask(request) {
    await this.ready;
    return this.send({ request });
  }

  end() {
    this.worker.terminate();
  }
}

// The text is kept by one, and planned by another: that one is ended where its plan is no longer wanted.
let editor = new Engine();
let planner = new Engine();

function fresh() {
  planner.end();
  planner = new Engine();
  for (const [file, bytes] of now.files) planner.ready.then(() => planner.send({ file, bytes }));
}

// ---- the text and the fields ---------------------------------------------------------------------------------------------------------

let turn = Promise.resolve();
const inTurn = (work) => (turn = turn.then(work).catch((error) => {
  $("trouble").replaceChildren(make("p", { class: "card bad", text: `This page is at fault: ${error.message}` }));
  editor.end();
  editor = new Engine();
}));

// Changes the text by edits of the form.
function edit(edits, { field, redraw } = {}) {
  return inTurn(async () => {
    const reply = await editor.ask({ do: "edit", text: now.text, edits });
    if (field) mark(field, reply.error || "");
    else if (reply.error) tell(reply, now.text);
    if (reply.error) return;
    Object.assign(now, { text: reply.text, form: reply.form });
    $("text").value = now.text;
    if (redraw) drawn();
    changed();
  });
}

// Takes a text as it is typed or read.
function take(text) {
  return inTurn(async () => {
    now.text = text;
    const reply = await editor.ask({ do: "read", text });
    if (!reply.error) {
      now.form = reply.form;
      drawn();
    }
    changed();
  });
}

// Draws the fields, and keeps the place of whoever is typing.
function drawn() {
  const id = $("form").contains(document.activeElement) ? document.activeElement.id : "";
  try {
    draw(now.form);
  } catch {
    $("form").replaceChildren(make("p", { class: "small", text: "The fields cannot show this text: it has other kinds of values than a spec." }));
  }
  if (id && $(id)) $(id).focus();
}

function changed() {
  $("title").textContent = now.form.title || now.form.name || "A release, planned";
  $("saved").textContent = now.text === now.saved ? "" : "There are changes that are not saved.";
  soon();
}

// ---- the plan ------------------------------------------------------------------------------------------------------------------------

let timer;
let round = 0;
let busy = false;

function soon() {
  clearTimeout(timer);
  document.documentElement.dataset.state = "changed";
  timer = setTimeout(plan, 300);
}

async function plan() {
  const mine = ++round;
  if (busy) fresh();
  busy = true;
  working("Planning …", true);
  const start = performance.now();
  const name = now.file;
  const text = now.text;
  try {
    const reply = await planner.ask({ do: "plan", text, name });
    if (mine !== round) return;
    busy = false;
    const milliseconds = Math.round(performance.now() - start);
    working(reply.plan ? `${summary(reply.plan)}, planned in ${milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`}` : "", false);
    tell(reply, text);
    document.documentElement.dataset.milliseconds = milliseconds;
    document.documentElement.dataset.state = reply.plan ? "planned" : "mistaken";
  } catch (error) {
    if (mine !== round) return;
    busy = false;
    fresh();
    working("", false);
    tell({ error: `This plan is too large for a browser (${error.message}). The command margins plan may have more memory.` }, text);
    document.documentElement.dataset.state = "broken";
  }
}

function working(text, going) {
  $("status").textContent = text;
  show($("stop"), going);
  if (going) $("plan").setAttribute("aria-busy", "true");
  else $("plan").removeAttribute("aria-busy");
}

$("stop").addEventListener("click", () => {
  round++;
  busy = false;
  fresh();
  working("Stopped. The next change plans again.", false);
  document.documentElement.dataset.state = "stopped";
});

function tell(reply, text) {
  $("mistakes").replaceChildren(...(reply.error ? mistakes(reply, text) : []));
  show($("plan"), Boolean(reply.plan));
  if (!reply.plan) return;
  const before = JSON.stringify([...now.levels]);
  now.levels = new Map(reply.plan.dimensions.map((d) => [d.name, d.levels.map((level) => level.name)]));
  now.plan = reply.plan;
  $("plan").replaceChildren(...planned(reply.plan));
  // Levels of a file are known once it was read: fields offer them.
  if (JSON.stringify([...now.levels]) !== before) drawn();
}

// What is wrong, each with the way to its place, and the files that are lacking.
function mistakes({ error, mistakes, wants }, text) {
  const ask = (wants || []).map((file) => labelled(`The spec names ${file}: hand it to this page.`,
    make("input", { type: "file", onchange: async ({ target }) => give(file, new Uint8Array(await target.files[0].arrayBuffer())) }), "wide"));
  const go = ({ from, to }) => {
    $("source").open = true;
    $("text").focus();
    $("text").setSelectionRange(from, to);
    const line = text.slice(0, from).split("\n").length;
    $("text").scrollTop = ($("text").scrollHeight * (line - 4)) / text.split("\n").length;
  };
  const item = ({ message, label, help, place }) => make("li", {},
    make("span", { text: message + (label ? `: ${label}` : "") }), help ? make("span", { class: "small", text: ` (${help})` }) : null,
    place ? [" ", button(`line ${place.line}`, () => go(place))] : null);
  const all = mistakes ? make("ul", {}, mistakes.slice(0, 20).map(item)) : make("p", { text: error });
  return [make("div", { class: "card bad" }, make("h3", { text: "There is no plan yet" }), all, ask)];
}

function give(file, bytes) {
  now.files.set(file, bytes);
  planner.ready.then(() => planner.send({ file, bytes })).then(soon);
}

// ---- opening and saving --------------------------------------------------------------------------------------------------------------

$("text").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => take($("text").value), 250);
});

$("open").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  const text = await file.text();
  Object.assign(now, { file: file.name, saved: text, levels: new Map() });
  $("text").value = text;
  target.value = "";
  take(text);
});

function keep() {
  save([now.text], "application/toml", now.file);
  now.saved = now.text;
  $("saved").textContent = `Saved as ${now.file}.`;
}

$("save").addEventListener("click", keep);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") {
    event.preventDefault();
    keep();
  }
});
window.addEventListener("beforeunload", (event) => {
  if (now.text !== now.saved) event.preventDefault();
});
$("form").addEventListener("submit", (event) => event.preventDefault());

const START = `name = "people"
title = "People by age and sex"

[privacy]
unit = "row"
rho = "1/2"

[[dimension]]
name = "sex"
categories = ["F", "M"]

[[dimension]]
name = "age"
range = [0, 99]
levels = [{ name = "band", width = 5 }]

[[table]]
of = ["sex", "age"]

[[table]]
of = ["age.band"]
`;

const inside = $("inside").textContent ? JSON.parse($("inside").textContent) : { name: "people.toml", text: START, files: {} };
Object.assign(now, { file: inside.name, saved: inside.text });
for (const [file, base64] of Object.entries(inside.files)) give(file, bytesOf(base64));
$("text").value = inside.text;
take(inside.text);
