// The page. Everything that a file says is set as text: there is no innerHTML here, and the browser is told to refuse it (Trusted Types).
const say = (text) => { $("status").textContent = text; };
const trouble = (text) => {
  $("trouble").replaceChildren(...(text ? [make("p", { class: "card bad", text })] : []));
};

// ---- the evaluator -------------------------------------------------------------------------------------------------------------------

const evaluator = {
  worker: null,
  module: null,
  waiting: new Map(),
  next: 0,

  start() {
    if (this.worker) this.worker.terminate();
    for (const { no } of this.waiting.values()) no(new Error("stopped"));
    this.waiting.clear();
    const script = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
    if (window.trustedTypes) this.policy ||= trustedTypes.createPolicy("worker", { createScriptURL: (url) => url });
    this.worker = new Worker(this.policy ? this.policy.createScriptURL(script) : script);
    this.worker.onmessage = ({ data }) => {
      const { yes, no, hears } = this.waiting.get(data.id) || {};
      if (data.stage) return hears && hears(data);
      this.waiting.delete(data.id);
      if (!yes) return;
      if (data.broken) {
        // What is left of the instance is not asked again.
        no(new Error(data.broken));
        restart().catch(() => {});
      }
      else if (data.reply.error) no(Object.assign(new Error(data.reply.error), { said: true }));
      else yes(data.reply);
    };
    this.worker.onerror = () => trouble("This browser does not let the page start its evaluator.");
    // Unpacked and compiled once: another start takes what the first one made.
    return this.send({ evaluator: this.module || $("evaluator").textContent }).then(({ module }) => { this.module = module; });
  },

  // `hears` is told how far long work is.
  send(message, hears) {
    const id = this.next++;
    return new Promise((yes, no) => {
      this.waiting.set(id, { yes, no, hears });
      this.worker.postMessage({ id, ...message });
    });
  },

  ask(request, hears) {
    return this.send({ request }, hears);
  },
};

// ---- what is open --------------------------------------------------------------------------------------------------------------------

// `release` and `minisig` are Blobs; `key` is a text and `keyFrom` who gave it.
const now = { margins: new Map(), table: null, release: null, minisig: null, key: "", keyFrom: "", opened: null, about: null, map: null, passed: false, blake3: "" };

async function kind(file) {
  // A release has a signature inside, too, but it is longer than one alone can be.
  if (file.size > 1 << 12) return "release";
  const text = await file.text();
  if (/^untrusted comment:[^\n]*\n[^\n]*\ntrusted comment:/.test(text)) return "minisig";
  return /^(untrusted comment:[^\n]*\n)?RW[A-Za-z0-9+/=]{54}\s*$/.test(text) ? "key" : "release";
}

async function take(files) {
  trouble("");
  let fresh = false;
  for (const file of files) {
    const is = await kind(file);
    if (is === "release") {
      if (fresh) return trouble("Two of these files are releases: open one at a time.");
      fresh = true;
    }
  }
  if (fresh) Object.assign(now, { minisig: null });
  for (const file of files) {
    const is = await kind(file);
    if (is === "release") Object.assign(now, { release: file, map: null });
    if (is === "minisig") now.minisig = file;
    if (is === "key") Object.assign(now, { key: (await file.text()).trim(), keyFrom: "you" });
  }
  if (now.release) await open();
  else say("The key is noted. Now the release.");
}

async function open() {
  const start = performance.now();
  clear();
  show($("welcome"), false);
  show($("again"), true);
  say("Opening, and checking every byte …");
  try {
    await evaluator.ready;
    now.opened = null;
    now.opened = await evaluator.send({ release: now.release, minisig: now.minisig });
    const { title, name } = now.opened;
    $("title").textContent = title || name;
    document.title = `${title || name} · margins explorer`;
    show($("release"), true);
    await verify();
    $("title").focus();
    document.documentElement.dataset.milliseconds = Math.round(performance.now() - start);
  } catch (error) {
    show($("release"), false);
    show($("welcome"), true);
    say("");
    trouble(error.said ? `This file is refused: ${error.message}` : `The file cannot be opened: ${error.message}`);
    document.documentElement.dataset.state = "refused";
  }
}

function clear() {
  delete document.documentElement.dataset.state;
  trouble("");
  for (const id of ["table-answer", "cells-answer", "cells-form", "sql-answer", "records-answer", "tables", "choices", "examples", "said", "untrue", "declared", "dimensions", "checks-body"]) $(id).replaceChildren();
  for (const id of ["numbers", "release", "anyway"]) show($(id), false);
  for (const id of ["sql", "search"]) $(id).value = "";
  $("description").textContent = "";
  $("checks").open = false;
}

// ---- verified or not -----------------------------------------------------------------------------------------------------------------

async function verify() {
  show($("numbers"), false);
  const key = now.key || null;
  const audit = await evaluator.ask({ do: "verify", key });
  const failed = audit.checks.filter(([result]) => result === "FAIL" || result === "????");
  const known = Boolean(key) && audit.passed;
  const card = $("verdict");
  card.className = `card ${!audit.passed ? "bad" : known ? "good" : "warn"}`;
  $("verdict-title").textContent = { failed: "Verification failed", whole: "Whole, not verified",
    verified: known ? "Verified" : "Whole, but who signed it is not known" }[audit.verdict];
  const signer = audit.checks.find(([, what]) => what === "signer");
  $("verdict-text").textContent = !audit.passed
    ? `${audit.said} ${failed.map(([, what, detail]) => `${what}: ${detail}`).join(". ")}`
    : `${audit.said} ${known ? "The public key given signed it." : `Signer: ${signer ? signer[2] : ""}.`}`;
  $("key").value = key ? key.split("\n").pop() : "";
  const from = { page: "The public key came with this page: whoever made the page chose it. Compare it with the one that the agency publishes.",
    address: "The public key came from the same site as the release: compare it with the one that the agency publishes." }[now.keyFrom];
  $("key-note").textContent = from || "";
  show($("key-note"), Boolean(from && key));
  $("checks-body").replaceChildren(...audit.checks.map(([result, what, detail]) =>
    make("tr", {}, make("td", { class: result, text: result }), make("td", { text: what }), make("td", { text: detail }))));
  $("limits").textContent = audit.limits;
  now.blake3 = audit.blake3;
  $("blake3").textContent = `blake3 ${audit.blake3}`;
  const unchecked = audit.checks.filter(([, what]) => what === "not checked").map(([, , detail]) => detail);
  $("unchecked").textContent = unchecked.join(" ");
  $("checks").open = !audit.passed;
  now.passed = audit.passed;
  say("");
  show($("anyway"), !audit.passed && !key);
  document.documentElement.dataset.state = audit.passed ? "verified" : "failed";
  if (audit.passed) await numbers();
}

// The categories of a level as people read them: a code with what it stands for.
const categories = (level) => level.categories.map((code, i) => (level.labels && level.labels[i] ? `${code} (${level.labels[i]})` : code));

// ---- what it is ----------------------------------------------------------------------------------------------------------------------

const items = (texts) => texts.map((text) => make("li", { text }));

async function numbers() {
  const about = await evaluator.ask({ do: "describe" });
  now.about = about;
  $("description").textContent = about.description || "";
  $("promise").textContent = about.promise;
  $("protects").textContent = about.protects;
  const said = [["title", about.title], ["made", about.made], ["signed", about.signed], ["dataset", about.dataset], ["copy of", about.recipient],
    ["licence", about.licence], ["contact", about.contact]];
  $("said").replaceChildren(...said.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })]));
  $("untrue").replaceChildren(...items(about.untrue));
  show($("untrue-section"), about.untrue.length > 0);
  $("declared").replaceChildren(...items([...about.exact.map((t) => `exact: ${t}`), ...about.empty.map((t) => `empty: ${t}`)]));
  show($("declared-section"), about.exact.length + about.empty.length > 0);
  dimensions(about.dimensions);
  show($("browse"), !now.opened.projection);
  show($("cells"), now.opened.projection);
  show($("records"), !now.opened.projection);
  if (now.opened.projection) await keys(about);
  show($("numbers"), true);
  show($("examples-title"), false);
  if (!now.opened.projection) {
    Object.assign(now, { margins: new Map(), table: null });
    await list("");
    const first = $("tables").querySelectorAll("button");
    const best = [...first].find((b) => b.dataset.levels !== "0") || first[0];
    if (best) best.click();
  }
  // Each has been answered before it comes: that takes a moment, and nobody waits for it.
  evaluator.ask({ do: "examples" }).then(examples, () => {});
}

// The margins of the tables in the list come one by one, behind whatever else is asked.
async function margins(places) {
  const mine = (margins.round = (margins.round || 0) + 1);
  for (const [at, place] of places) {
    if (!now.margins.has(at)) {
      const { margin } = await evaluator.ask({ do: "margin", table: at }).catch(() => ({}));
      if (mine !== margins.round) return;
      now.margins.set(at, margin || "");
    }
    if (now.margins.get(at)) place.textContent += `, ${now.margins.get(at)}`;
  }
}

function examples({ sql, shown }) {
  $("examples").replaceChildren(...sql.map((text, i) => make("li", {}, make("button", {
    type: "button", text: shown[i],
    onclick: () => { $("sql").value = text; $("ask").requestSubmit(); $("sql").focus(); },
  }))));
  show($("examples-title"), sql.length > 0);
  // Whoever is about to type is not written over.
  if (!$("sql").value && document.activeElement !== $("sql")) $("sql").value = sql[sql.length > 1 ? 1 : 0] || "";
}

function dimensions(all) {
  $("dimensions").replaceChildren(...all.map((dimension) => {
    const summary = dimension.levels.map((l) => `${l.name} (${l.categories.length})`).join(", ");
    const box = make("details", { class: "dimension" }, make("summary", { text: dimension.levels.length ? `${dimension.name}: ${summary}` : `${dimension.name}: any text` }));
    // Long lists are made when somebody looks.
    box.addEventListener("toggle", () => {
      for (const level of dimension.levels)
        box.append(make("h3", { text: level.name }), make("ul", { class: "categories", tabindex: "0", "aria-label": level.name }, ...items(categories(level).slice(0, 2000))),
          level.categories.length > 2000 ? make("p", { class: "small", text: `… and ${level.categories.length - 2000} more: DESCRIBE ${level.name}` }) : null);
    }, { once: true });
    return box;
  }));
}

// ---- tables --------------------------------------------------------------------------------------------------------------------------

const SHOWN = 100;

async function list(words) {
  const found = await evaluator.ask({ do: "tables", words, from: 0, most: SHOWN });
  const places = [];
  $("tables").replaceChildren(...found.tables.map((table) => {
    const cells = `${table.cells} ${table.cells === 1 ? "cell" : "cells"}${table.exact ? ", exact" : ""}`;
    const place = make("span", { class: "small", text: cells });
    if (!table.exact) places.push([table.table, place]);
    const button = make("button", { type: "button", "aria-pressed": String(now.table === table.table), onclick: () => choose(table, button) }, make("span", { text: table.name }), place);
    button.dataset.levels = (table.levels || []).length;
    return make("li", {}, button);
  }));
  const more = found.all - found.tables.length;
  $("tables-more").textContent = `${more > 0 ? `and ${more} more: type words of a name. ` : ""}± is the margin of the cell that is known least well, at 95 %.`;
  setTimeout(() => margins(places), 0);
}

// The map inside this page, if it is one of this level; it belongs to the release inside.
function mapOf(axis) {
  const { map, about } = now;
  return map && about.dimensions[map.level[0]]?.levels[map.level[1]]?.name === axis ? map : null;
}

const levelAt = ([d, l]) => now.about.dimensions[d].levels[l];
const key = ([d, l]) => `${d}/${l}`;

function choice(label, options, change) {
  const select = make("select", { onchange: change }, ...options.map(([value, text]) => make("option", { value, text })));
  return { box: make("label", { class: "choice" }, make("span", { text: label }), select), select };
}

// A table of several dimensions is shown along one of them; the others are split, held to a category, or summed over.
function choose(table, button) {
  now.table = table.table;
  for (const other of $("tables").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
  const levels = table.levels || [];
  const coarser = levels.flatMap(([d, l]) => now.about.dimensions[d].levels.slice(l).map((_, i) => [d, l + i]));
  const form = $("choices");
  const ask = () => { table.chosen = chosen(); answerTable(table); };
  const along = choice("along", coarser.map((p) => [key(p), levelAt(p).name]), rest);
  const split = choice("a picture for each", [], ask);
  const level = choice("intervals cover with", [["0.9", "90 %"], ["0.95", "95 %"], ["0.99", "99 %"]], ask);
  level.select.value = "0.95";
  let held = [];
  const place = (text) => text.split("/").map(Number);

  function rest() {
    const [axis] = place(along.select.value || "0/0");
    const others = levels.filter(([d]) => d !== axis);
    const few = coarser.filter((p) => p[0] !== axis && levelAt(p).categories.length <= 12);
    split.select.replaceChildren(make("option", { value: "", text: "one picture" }), ...few.map((p) => make("option", { value: key(p), text: levelAt(p).name })));
    held = others.map((p) => ({ place: p, ...choice(levelAt(p).name, [["", "all"], ...categories(levelAt(p)).slice(0, 5000).map((text, i) => [String(i), text])], ask) }));
    form.replaceChildren(...[levels.length ? along.box : null, few.length ? split.box : null, ...held.map((h) => h.box), level.box].filter(Boolean));
    ask();
  }

  function chosen() {
    if (!levels.length) return { by: [], only: [], level: Number(level.select.value) };
    const by = [place(along.select.value)];
    if (split.select.value) by.unshift(place(split.select.value));
    const only = held.filter((h) => h.select.value !== "").map((h) => [h.place, Number(h.select.value)]);
    return { by, only, level: Number(level.select.value) };
  }

  // The dimension with the longest scale goes along.
  const longest = [...levels].sort((a, b) => levelAt(b).categories.length - levelAt(a).categories.length)[0];
  if (longest) along.select.value = key(longest);
  rest();
}

function answerTable(table) {
  const whole = { by: table.levels || [], only: [], level: table.chosen.level };
  return answer($("table-answer"), { do: "table", ...table.chosen }, {
    whole: table.levels && table.levels.length > 1 ? whole : null, name: table.name, alone: true,
  });
}

// ---- keys of a projection ------------------------------------------------------------------------------------------------------------

// A field for each part of the key: any text, or one of its categories.
async function keys(about) {
  const parts = about.dimensions.map(({ name, levels: [finest] }, at) => {
    const field = finest
      ? make("select", {}, make("option", { value: "", text: "all together" }), ...categories(finest).slice(0, 5000).map((text, i) => make("option", { value: String(i), text })))
      : make("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false" });
    const box = make("label", { class: "choice" }, make("span", { text: name }), field);
    const value = () => (finest ? field.value !== "" && [at, { category: Number(field.value) }] : [at, { text: field.value }]);
    return { box, value };
  });
  const counted = (n) => `${n} ${n === 1 ? "category" : "categories"}`;
  $("cells-keys").textContent = `A key is ${about.dimensions.map(({ name, levels: [finest] }) => `${name} (${finest ? counted(finest.categories.length) : "any text"})`).join(" and ")}.`;
  $("cells-error").textContent = about.errors;
  $("cells-answer").replaceChildren();
  $("cells-form").replaceChildren(...parts.map((p) => p.box), make("button", { type: "submit", class: "main", text: "Count" }));
  $("cells-form").onsubmit = (event) => {
    event.preventDefault();
    const key = parts.map((p) => p.value()).filter(Boolean);
    answer($("cells-answer"), { do: "key", key, level: Number($("level").value) }, { alone: true, name: "key" });
  };
}

// ---- answers -------------------------------------------------------------------------------------------------------------------------

async function answer(place, request, { whole, name, alone } = {}) {
  const mine = (place.asked = (place.asked || 0) + 1);
  place.setAttribute("aria-busy", "true");
  const start = performance.now();
  const slow = setTimeout(() => { say("Working …"); show($("stop"), true); }, 400);
  try {
    const reply = await evaluator.ask(request);
    if (mine !== place.asked) return;
    place.replaceChildren(...rendered(reply, request, { whole, name, alone }));
    place.dataset.milliseconds = Math.round(performance.now() - start);
  } catch (error) {
    if (mine !== place.asked) return;
    place.replaceChildren(make("pre", { text: error.said ? error.message : "The evaluator stopped at this question; the release is open again." }));
  } finally {
    clearTimeout(slow);
    // Another question may still be on its way: to this place, or to another.
    if (mine === place.asked) place.removeAttribute("aria-busy");
    idle();
  }
}

// A new evaluator, with the release open that was.
async function restart() {
  evaluator.ready = evaluator.start();
  // At once: what is asked meanwhile comes behind it.
  const opened = now.opened && evaluator.send({ release: now.release, minisig: now.minisig });
  await evaluator.ready;
  await opened;
}

// What stands around a picture that leaves the page.
function around({ picture, notes, shown }, name) {
  const { title, name: release } = now.opened;
  const by = `${picture.axis ? ` by ${picture.axis}` : ""}${picture.group ? `, for each ${picture.group}` : ""}`;
  const warning = now.passed ? [] : ["VERIFICATION FAILED: do not trust these numbers."];
  return { title: `${title || release}: ${picture.figure}${by}`, notes: [...warning, ...notes], from: `${shown}. BLAKE3 of ${release}.margins: ${now.blake3}`, name: fileName(name) };
}

function rendered(reply, request, options) {
  const { whole, name, alone } = options;
  const out = [];
  if (!now.passed) out.push(make("p", { class: "card bad", text: "VERIFICATION FAILED: do not trust these numbers." }));
  const figures = reply.picture ? reply.picture.series.flatMap((s) => [...s.points, ...s.apart]) : [];
  if (figures.length === 1 && reply.rows === 1) {
    const [, , texts] = figures[0];
    out.push(make("p", { class: "big", text: texts[0] }), make("p", { class: "small", text: texts[1] === "exact" ? "exact" : `${texts[2]} to ${texts[3]}, with probability ${100 * reply.level} %` }));
  } else {
    out.push(chart(reply.picture, reply.level, () => around(reply, name)));
  }
  if (reply.notes.length) out.push(make("div", { class: "notes" }, ...reply.notes.map((text) => make("p", { text }))));
  out.push(table(reply, request, options));
  const row = make("div", { class: "row" }, make("button", { type: "button", text: "Download as CSV", onclick: () => download(request, name) }));
  if (whole) row.append(make("button", { type: "button", text: "Download the whole table", onclick: () => download({ do: "table", ...whole }, name) }));
  if (alone) row.append(make("button", { type: "button", text: "Show its SQL", onclick: () => { $("sql").value = reply.sql; $("sql").focus(); } }));
  out.push(row);
  return out.filter(Boolean);
}

// The answer to a question, sorted as it is shown: another one may have come since, then it is asked again.
async function again(request, sorted) {
  const reply = await evaluator.ask(request);
  return sorted ? evaluator.ask({ do: "sort", answer: reply.answer, ...sorted }) : reply;
}

function table(reply, request, options) {
  const { sorted } = options;
  // Numbers from the largest on, categories in their order; and the other way round.
  const sort = async (event, column) => {
    const place = event.target.closest(".answer");
    const down = sorted && sorted.column === column ? !sorted.down : reply.columns[column].number;
    const mine = (place.asked = (place.asked || 0) + 1);
    try {
      const by = { column, down };
      const fresh = await again(request, by);
      if (mine !== place.asked) return;
      place.replaceChildren(...rendered(fresh, request, { ...options, sorted: by }));
      place.querySelectorAll("thead button")[column].focus();
    } catch (error) {
      trouble(error.message);
    }
  };
  const kinds = reply.columns.map((c) => c.number && (["std error", "± s.e."].includes(c.header) ? "num aside" : "num"));
  const direction = (i) => sorted && sorted.column === i && (sorted.down ? "descending" : "ascending");
  const head = make("tr", {}, ...reply.columns.map((c, i) => make("th", { scope: "col", class: kinds[i], "aria-sort": direction(i) },
    reply.rows > 1 ? make("button", { type: "button", title: "Sort", text: c.header, onclick: (event) => sort(event, i) }) : c.header)));
  const body = make("tbody");
  const fill = (part) => {
    const rows = part.columns.length ? part.columns[0].cells.length : 0;
    for (let i = 0; i < rows; i++)
      body.append(make("tr", {}, ...part.columns.map((c, j) => make(j === 0 && !c.number ? "th" : "td", { scope: j === 0 && !c.number && "row", class: kinds[j], text: c.cells[i] }))));
    return part.from + rows;
  };
  let from = fill(reply);
  const caption = make("caption", { class: "quiet", text: `${reply.rows} ${reply.rows === 1 ? "row" : "rows"}: ${reply.sql}` });
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The answer as a table" }, make("table", {}, caption, make("thead", {}, head), body));
  if (from >= reply.rows) return box;
  const more = make("button", { type: "button", text: `Show more of ${reply.rows} rows`, onclick: async () => {
    const { answer } = await again(request, sorted);
    from = fill(await evaluator.ask({ do: "rows", answer, from }));
    if (from >= reply.rows) more.remove();
  } });
  return make("div", {}, box, make("p", {}, more));
}

async function download(request, name) {
  try {
    const { answer } = await evaluator.ask(request);
    const { csv } = await evaluator.ask({ do: "csv", answer });
    save([csv], "text/csv", `${fileName(name)}.csv`);
  } catch (error) {
    trouble(error.message);
  }
}

// The name of a file about something, without its kind.
const fileName = (about) => `${now.opened.name}-${(about || "answer").replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80)}`;

// ---- synthetic records ---------------------------------------------------------------------------------------------------------------

async function draw(rows, seed) {
  const place = $("records-answer");
  const mine = (place.asked = (place.asked || 0) + 1);
  const start = performance.now();
  place.setAttribute("aria-busy", "true");
  say("Drawing records …");
  show($("stop"), true);
  try {
    const hears = ({ stage, done, of }) => say(`Drawing records: ${stage}, ${Math.floor((100 * done) / Math.max(of, 1))} % …`);
    const drawn = await evaluator.ask({ do: "records", rows, seed }, hears);
    const pieces = [];
    for (let csv; (csv = (await evaluator.ask({ do: "piece" })).csv) !== null; ) pieces.push(new Blob([csv]));
    if (mine !== place.asked) return;
    const seconds = (performance.now() - start) / 1000;
    place.replaceChildren(
      make("p", { text: `${drawn.records.toLocaleString("en")} records, drawn in ${seconds.toFixed(1)} s. The same release, number and seed make the same records again, here and by margins records.` }),
      make("div", { class: "row" },
        make("button", { type: "button", class: "main", text: "Download the records (CSV)", onclick: () => save(pieces, "text/csv", `${fileName("records")}.csv`) }),
        make("button", { type: "button", text: "Download their report (JSON)", onclick: () => save([drawn.json], "application/json", `${fileName("records")}.report.json`) })),
      make("details", {}, make("summary", { text: "What they say of themselves" }), make("pre", { class: "report", text: drawn.report })));
  } catch (error) {
    if (mine !== place.asked) return;
    place.replaceChildren(make("pre", { text: error.said || error.message === "stopped" ? error.message : "There is too little memory for that here; the release is open again." }));
  } finally {
    if (mine === place.asked) place.removeAttribute("aria-busy");
    idle();
  }
}

// Nothing is on its way any more.
function idle() {
  if (document.querySelector("[aria-busy]")) return;
  say("");
  show($("stop"), false);
}

// ---- what people do ------------------------------------------------------------------------------------------------------------------

$("files").addEventListener("change", (event) => { take([...event.target.files]); event.target.value = ""; });
$("again").addEventListener("click", () => {
  clear();
  Object.assign(now, { release: null, minisig: null, key: "", keyFrom: "", opened: null });
  show($("welcome"), true);
  show($("again"), false);
  document.title = "margins explorer";
  $("files").focus();
});
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  take([...event.dataTransfer.files]);
});
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  Object.assign(now, { key: $("key").value.trim(), keyFrom: "you" });
  verify().catch((error) => trouble(error.message));
});
$("anyway").addEventListener("click", () => { show($("anyway"), false); numbers().catch((error) => trouble(error.message)); });
let typing;
$("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => list($("search").value).catch(() => {}), 120); });
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer($("sql-answer"), { do: "query", sql: $("sql").value, level: Number($("level").value), reliability: $("reliability").checked });
});
$("sql").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); $("ask").requestSubmit(); }
});
$("records-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const rows = $("records-rows").value;
  draw(rows === "" ? null : Number(rows), Number($("records-seed").value));
});
$("stop").addEventListener("click", () => restart().catch((error) => trouble(error.message)));

// ---- where the release comes from ----------------------------------------------------------------------------------------------------

async function fetched(name) {
  const reply = await fetch(name);
  if (!reply.ok) throw new Error(`${name}: ${reply.status} ${reply.statusText}`);
  return reply.blob();
}

async function begin() {
  evaluator.ready = evaluator.start();
  const inside = $("inside");
  const address = new URLSearchParams(location.search);
  if (inside.dataset.name !== undefined) {
    say("Opening the release inside this page …");
    now.release = new Blob([bytesOf(inside.textContent)]);
    inside.remove();
    if ($("map").textContent) now.map = JSON.parse($("map").textContent);
    if (inside.dataset.minisig) now.minisig = new Blob([bytesOf(inside.dataset.minisig)]);
    if (inside.dataset.key) Object.assign(now, { key: inside.dataset.key, keyFrom: "page" });
    return open();
  }
  if (address.get("file")) {
    try {
      say("Fetching the release …");
      now.release = await fetched(address.get("file"));
      if (address.get("key")) Object.assign(now, { key: (await (await fetched(address.get("key"))).text()).trim(), keyFrom: "address" });
      return await open();
    } catch (error) {
      say("");
      trouble(`The release cannot be fetched: ${error.message}. A page from a folder of your own cannot fetch; drop the file here.`);
    }
  }
  show($("welcome"), true);
  await evaluator.ready;
}
begin().catch((error) => trouble(error.message));
