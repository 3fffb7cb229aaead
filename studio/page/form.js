// The spec in fields. Whatever a field changes is one edit of the text, and the fields show what is written there.

// ---- fields --------------------------------------------------------------------------------------------------------------------------

// A number keeps its digits; a ratio such as 1/2 is a text. Nothing takes the key away, unless it is needed.
const number = (text) => (text === "" ? {} : /^[+-]?\d[\d_]*(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? { toml: text } : { set: text });
const word = (text) => (text === "" ? {} : { set: text });
const list = (text) => ({ set: text.split("\n").map((line) => line.trim()).filter(Boolean) });
const numbers = (text) => ({ toml: `[${text}]` });
const needed = (to) => (text) => (text === "" ? null : to(text));

// Says at a field what is wrong with it.
function mark(control, why) {
  control.title = why;
  if (why) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}

let fields = 0;
function labelled(label, control, size) {
  control.id = `field-${fields++}`;
  return make("div", { class: `field ${size || ""}` }, make("label", { for: control.id, text: label }), control);
}

// A field of one value: `to` makes an edit of what is typed.
function field(label, value, path, to, size, attributes) {
  const shown = value === undefined ? "" : String(value);
  const several = to === list || attributes?.rows;
  const control = make(several ? "textarea" : "input", {
    ...(to === list ? { rows: Math.min(6, shown.split("\n").length + 1) } : several ? {} : { type: "text" }), spellcheck: "false", ...attributes,
  });
  control.value = shown;
  let timer;
  control.addEventListener("input", () => {
    clearTimeout(timer);
    const change = to(control.value.trim());
    mark(control, change ? "" : "This is needed.");
    if (change) timer = setTimeout(() => edit([{ path, ...change }], { field: control }), 250);
  });
  return labelled(label, control, size);
}

function choice(label, value, options, changed, size) {
  const known = options.some(([word]) => word === value) ? options : [...options, [value, value]];
  const control = make("select", { onchange: () => changed(control.value) }, known.map(([word, text]) => make("option", { value: word, text })));
  control.value = value;
  return labelled(label, control, size);
}

const button = (text, onclick, attributes) => make("button", { type: "button", text, onclick, ...attributes });
const remove = (what, path) => button("Remove", () => edit([{ path }], { redraw: true }), { class: "remove", "aria-label": `Remove ${what}` });
const part = (title, ...children) => make("fieldset", {}, make("legend", { text: title }), ...children);
const entry = (title, ...children) => make("div", { class: "entry", role: "group", "aria-label": title }, ...children);

// ---- what is published, and the promise ----------------------------------------------------------------------------------------------

function about(form) {
  return part("The release", make("div", { class: "fields" },
    field("Name", form.name, ["name"], needed(word), "narrow"), field("Title", form.title, ["title"], needed(word))));
}

function privacy(of = {}) {
  const at = (key) => ["privacy", key];
  const kind = of.rho !== undefined ? "rho" : of.delta !== undefined ? "both" : "epsilon";
  const budgets = { rho: [["rho", { set: "1/2" }]], epsilon: [["epsilon", { toml: "1" }]], both: [["epsilon", { toml: "1" }], ["delta", { toml: "1e-9" }]] };
  const become = (next) => edit([...["rho", "epsilon", "delta"].map((key) => ({ path: at(key) })),
    ...budgets[next].map(([key, value]) => ({ path: at(key), ...value }))], { redraw: true });
  const unit = typeof of.unit === "object" ? of.unit : null;
  const protect = (next) => edit([{ path: at("unit"), ...(next === "row" ? { set: "row" } : { set: { column: "person_id", max_rows: 3 } }) }], { redraw: true });
  return part("Privacy", make("div", { class: "fields" },
    choice("Promise", kind, [["rho", "ρ-zCDP (Gaussian noise)"], ["both", "(ε, δ) (Gaussian noise)"], ["epsilon", "ε alone (Laplace noise)"]], become),
    kind === "rho" ? field("ρ", of.rho, at("rho"), needed(number), "narrow") : field("ε", of.epsilon, at("epsilon"), needed(number), "narrow"),
    kind === "both" ? field("δ", of.delta, at("delta"), needed(number), "narrow") : null),
  make("div", { class: "fields" },
    choice("Protects", unit ? "column" : "row", [["row", "each row"], ["column", "all rows of a person"]], protect),
    unit ? field("Person’s column", unit.column, at("unit").concat("column"), needed(word)) : null,
    unit ? field("Rows at most", unit.max_rows, at("unit").concat("max_rows"), needed(number), "narrow") : null,
    choice("Against", of.neighbours || "add-remove", [["add-remove", "one more or one less"], ["substitute", "one changed"]],
      (next) => edit([{ path: at("neighbours"), set: next }]))));
}

// ---- dimensions ----------------------------------------------------------------------------------------------------------------------

const KINDS = [
  ["categories", "labels", { set: ["yes", "no"] }], ["range", "whole numbers", { toml: "[0, 99]" }], ["codes", "codes from 0", { toml: "7" }],
  ["bins", "intervals", { toml: "[0, 10, 100]" }], ["dates", "days", { set: ["2026-01-01", "2026-12-31"] }], ["hierarchy", "lines of a file", { set: "areas.csv" }],
];

// The levels that tables can name: those of the last plan, or what the text says itself.
function levelsOf(dimension) {
  const known = now.levels.get(dimension.name);
  const own = (dimension.levels || []).map((level) => `${dimension.name}.${level.name}`);
  const days = dimension.dates ? ["month", "quarter", "year"].map((level) => `${dimension.name}.${level}`) : [];
  return [...new Set([dimension.name, ...own, ...days, ...(known || [])])];
}

// Tables that name a dimension or an amount name it by its new name, too.
function renamed(form, from, to, keys = ["of", "among"]) {
  const name = (level) => (level === from ? to : level.startsWith(`${from}.`) ? to + level.slice(from.length) : level);
  return (form.table || []).flatMap((table, i) => keys.filter((key) => Array.isArray(table[key]) && table[key].some((l) => name(l) !== l))
    .map((key) => ({ path: ["table", i, key], set: table[key].map(name) })));
}

function values(dimension, at) {
  const of = (key) => dimension[key];
  if (of("categories")) return [field("Labels, one a line", of("categories").join("\n"), at("categories"), list, "wide")];
  if (of("range")) return [0, 1].map((end) => field(end ? "to" : "from", of("range")[end], [...at("range"), end], needed(number), "narrow"));
  if (of("codes")) return [field("How many", of("codes"), at("codes"), needed(number), "narrow")];
  if (of("bins")) return [field("Ends of the intervals", of("bins").join(", "), at("bins"), needed(numbers))];
  if (of("dates")) return [0, 1].map((end) => field(end ? "to" : "from", of("dates")[end], [...at("dates"), end], needed(word), "narrow"));
  if (of("hierarchy")) return [field("File", of("hierarchy"), at("hierarchy"), needed(word))];
  return [];
}

function levels(dimension, at) {
  const all = Array.isArray(dimension.levels) ? dimension.levels : [];
  const numeric = dimension.range || dimension.codes || dimension.bins;
  const rows = all.map((level, j) => {
    const own = (key) => [...at("levels"), j, key];
    return make("div", { class: "fields" }, field("Level", level.name, own("name"), needed(word)),
      level.width !== undefined ? field("Width", level.width, own("width"), needed(number), "narrow") : null,
      level.cuts ? field("New groups begin at", level.cuts.join(", "), own("cuts"), needed(numbers)) : null,
      level.map ? make("span", { class: "small", text: "grouped in the text" }) : null,
      remove(`the level ${level.name}`, [...at("levels"), j]));
  });
  const add = (how) => edit([all.length || dimension.levels ? { path: [...at("levels"), all.length], set: how } : { path: at("levels"), set: [how] }], { redraw: true });
  const more = numeric ? [button("Add bands", () => add({ name: "band", width: 5 })), button("Add groups", () => add({ name: "group", cuts: [20, 65] }))] : [];
  if (!rows.length && !more.length) return null;
  return make("details", { class: "more", open: now.open.has(`${dimension.name} levels`), ontoggle: (e) => remember(e, `${dimension.name} levels`) },
    make("summary", { text: rows.length ? `Coarser levels: ${all.map((l) => l.name).join(", ")}` : "Coarser levels" }), rows, make("div", { class: "fields" }, more));
}

// What is open stays open when the fields are drawn anew.
function remember(event, name) {
  if (event.target.open) now.open.add(name);
  else now.open.delete(name);
}

// A name that tables follow, so that nothing is done before it is finished.
function nameOf(form, { name }, path, keys) {
  const control = make("input", { type: "text", spellcheck: "false", value: name || "", onchange: () => {
    const to = control.value.trim();
    if (to && to !== name) edit([{ path, set: to }, ...renamed(form, name, to, keys)], { redraw: true });
  } });
  return labelled("Name", control);
}

// A name that none of these has.
function freeName(all, name) {
  let free = name;
  for (let n = 2; all.some((one) => one.name === free); n++) free = `${name}${n}`;
  return free;
}

// A further entry of a list, its fields in this order.
const add = (list, at, ...all) => edit(all.map(([key, value], i) => (i ? { path: [list, at, key], set: value } : { path: [list, at], set: { [key]: value } })), { redraw: true });

const listed = (all) => (Array.isArray(all) ? all : []);

function dimension(form, dimension, i) {
  const at = (key) => ["dimension", i, key];
  const kind = KINDS.find(([key]) => dimension[key] !== undefined);
  const become = (next) => {
    const [, , start] = KINDS.find(([key]) => key === next) || [];
    if (start) edit([...KINDS.map(([key]) => ({ path: at(key) })), { path: at("levels") }, { path: at(next), ...start }], { redraw: true });
  };
  return entry(`Dimension ${dimension.name}`, make("div", { class: "fields" }, nameOf(form, dimension, at("name")),
    choice("Values", kind ? kind[0] : "other", [...KINDS.map(([key, text]) => [key, text]), ...(kind ? [] : [["other", "in the text"]])], become),
    remove(`the dimension ${dimension.name}`, ["dimension", i])),
  make("div", { class: "fields" }, values(dimension, at)), levels(dimension, at));
}

function dimensions(form) {
  const all = listed(form.dimension);
  const more = () => add("dimension", all.length, ["name", freeName(all, "new")], ["categories", ["yes", "no"]]);
  return part("Dimensions", all.map((d, i) => dimension(form, d, i)), button("Add a dimension", more));
}

// ---- amounts -------------------------------------------------------------------------------------------------------------------------

const MISSING = [["stop", "stop the release"], ["skip", "are in no sum and no mean"], ["zero", "count as 0"]];

function amount(form, amount, i) {
  const at = (key) => ["amount", i, key];
  const rest = Object.keys(amount).filter((key) => !["name", "low", "high", "step", "missing", "unit"].includes(key));
  return entry(`Amount ${amount.name}`, make("div", { class: "fields" }, nameOf(form, amount, at("name"), ["sum"]),
    field("At least", amount.low, at("low"), needed(number), "narrow"), field("At most", amount.high, at("high"), needed(number), "narrow"),
    remove(`the amount ${amount.name}`, ["amount", i])),
  make("div", { class: "fields" }, field("In steps of", amount.step, at("step"), number, "narrow"), field("Unit", amount.unit, at("unit"), word, "narrow"),
    choice("Empty cells", amount.missing || "stop", MISSING, (next) => edit([{ path: at("missing"), set: next }]))),
  rest.length ? make("p", { class: "small more", text: `In the text: ${rest.join(", ")}` }) : null);
}

function amounts(form) {
  const all = listed(form.amount);
  const more = () => add("amount", all.length, ["name", freeName(all, "income")], ["low", 0], ["high", 100000]);
  return part("Amounts", make("p", { class: "small", text: "Numbers that rows have. Tick them in a table to publish their sums and means. Choose both ends without the data." }),
    all.map((a, i) => amount(form, a, i)), button("Add an amount", more));
}

// ---- tables --------------------------------------------------------------------------------------------------------------------------

// Which dimensions a table has, each at one of its levels.
function ticks(form, chosen, changed) {
  return make("div", { class: "ticks" }, (form.dimension || []).map((dimension) => {
    const all = levelsOf(dimension);
    const own = chosen.find((level) => all.includes(level));
    const others = chosen.filter((level) => !all.includes(level));
    const box = make("input", { type: "checkbox" });
    box.checked = own !== undefined;
    const level = make("select", { "aria-label": `level of ${dimension.name}`, hidden: all.length < 2 || !box.checked },
      all.map((name) => make("option", { value: name, text: name })));
    level.value = own || all[0];
    const tell = () => changed(box.checked ? (own ? chosen.map((l) => (l === own ? level.value : l)) : [...chosen, level.value]) : others);
    box.addEventListener("change", tell);
    level.addEventListener("change", tell);
    return make("span", { class: "tick" }, make("label", { class: "tick" }, box, dimension.name), level);
  }));
}

// Which amounts a table tells the sums of.
function summed(form, chosen, path) {
  const all = [...new Set([...listed(form.amount).map((a) => a.name), ...chosen])];
  if (!all.length) return null;
  return make("div", { class: "ticks" }, make("span", { class: "tick", text: "Sums of:" }), all.map((name) => {
    const box = make("input", { type: "checkbox" });
    box.checked = chosen.includes(name);
    box.addEventListener("change", () => {
      const next = box.checked ? [...chosen, name] : chosen.filter((other) => other !== name);
      edit([next.length ? { path, set: next } : { path }], { redraw: true });
    });
    return make("span", { class: "tick" }, make("label", { class: "tick" }, box, name));
  }));
}

function table(form, table, i) {
  const at = (key) => ["table", i, key];
  const kind = ["of", "every", "up_to"].find((key) => table[key] !== undefined) || "of";
  const name = kind === "of" ? (table.of || []).join(" × ") || "the total" : `${kind} ${table[kind]}`;
  const all = (form.dimension || []).map((d) => d.name);
  const become = (next) => edit([...["of", "every", "up_to", "among", "exact", "reason"].map((key) => ({ path: at(key) })),
    { path: at(next), ...(next === "of" ? { set: [] } : { toml: "2" }) }], { redraw: true });
  const key = kind === "of" ? "of" : "among";
  const chosen = table[key] || (kind === "of" ? [] : all);
  const plain = new Set(chosen.map((level) => (form.dimension || []).find((d) => levelsOf(d).includes(level)))).size === chosen.length;
  const by = (label, of) => (typeof table[of] === "object" ? make("span", { class: "small", text: `${label}: in the text` })
    : field(label, table[of], at(of), number, "narrow", { placeholder: of === "weight" ? "1" : "none" }));
  const rest = Object.keys(table).filter((k) => !["of", "every", "up_to", "among", "weight", "margin", "sum"].includes(k));
  return entry(`Table ${name}`, make("div", { class: "fields" },
    choice("Table", kind, [["of", "this one"], ["every", "every so many dimensions"], ["up_to", "up to so many dimensions"]], become),
    kind === "of" ? null : field("Dimensions", table[kind], at(kind), needed(number), "narrow"),
    by("Weight", "weight"), by("Target ±", "margin"), remove(`the table ${name}`, ["table", i])),
  plain ? ticks(form, chosen, (levels) => edit([{ path: at(key), set: levels }], { redraw: true }))
    : field("Levels, one a line", chosen.join("\n"), at(key), list, "wide"),
  summed(form, listed(table.sum), at("sum")),
  rest.length ? make("p", { class: "small more", text: `In the text: ${rest.join(", ")}` }) : null);
}

function tables(form) {
  const all = listed(form.table);
  return part("Tables", all.map((t, i) => table(form, t, i)),
    button("Add a table", () => edit([{ path: ["table", all.length], set: { of: [] } }], { redraw: true })));
}

// ---- questions and recipients --------------------------------------------------------------------------------------------------------

function question(query, i) {
  const at = (key) => ["query", i, key];
  return entry(`Question ${i + 1}`, field("SQL", query.sql, at("sql"), needed(word), "wide", { rows: 3 }),
    make("div", { class: "fields" }, field("Weight", query.weight, at("weight"), number, "narrow", { placeholder: "1" }),
      field("Target ±", query.margin, at("margin"), number, "narrow", { placeholder: "none" }), remove(`question ${i + 1}`, ["query", i])));
}

function questions(form) {
  const all = listed(form.query);
  const first = (form.dimension || []).map((d) => d.name)[0];
  const named = /^\w+$/.test(first) ? first : `"${first}"`;
  const sql = `SELECT ${first ? `${named}, ` : ""}COUNT(*) FROM ${form.name || "it"}${first ? ` GROUP BY ${named}` : ""}`;
  return part("Questions", make("p", { class: "small", text: "What people will ask in SQL: the plan is made for it, beside the tables." }),
    all.map(question), button("Add a question", () => add("query", all.length, ["sql", sql])));
}

function recipient(form, recipient, i) {
  const at = (key) => ["recipient", i, key];
  const own = form.privacy || {};
  const budgets = own.rho !== undefined ? ["rho"] : own.delta !== undefined ? ["epsilon", "rho"] : ["epsilon"];
  const starts = { rho: { set: String(own.rho ?? "1/10") }, epsilon: { set: String(own.epsilon ?? "1/10") }, margin: { toml: "50" } };
  const names = { rho: "its own ρ", epsilon: "its own ε", margin: "a target" };
  const kind = Object.keys(names).find((key) => recipient[key] !== undefined) || budgets[0];
  const become = (next) => edit([...Object.keys(names).map((key) => ({ path: at(key) })), { path: at(next), ...starts[next] }], { redraw: true });
  return entry(`Recipient ${recipient.name}`, make("div", { class: "fields" }, field("Name", recipient.name, at("name"), needed(word)),
    choice("Gets", kind, [...new Set([...budgets, "margin", kind])].map((key) => [key, names[key]]), become),
    field({ rho: "ρ", epsilon: "ε", margin: "Every cell ±" }[kind], recipient[kind], at(kind), needed(number), "narrow"),
    remove(`the recipient ${recipient.name}`, ["recipient", i])));
}

function recipients(form) {
  const all = listed(form.recipient);
  const key = (form.privacy || {}).rho !== undefined ? "rho" : "epsilon";
  const start = String((form.privacy || {})[key] ?? "1/2");
  const { mode, mean, centres } = form.recipients || {};
  const how = (next) => edit([{ path: ["recipients", "mode"], set: next }, ...(next === "shifted" ? [{ path: ["recipients", "mean"], toml: mean || "10" }]
    : ["mean", "centres"].map((k) => ({ path: ["recipients", k] })))], { redraw: true });
  const together = all.length || form.recipients ? make("div", { class: "fields" },
    choice("Copies are", mode || "nested", [["nested", "nested: together they cost the dearest"], ["shifted", "apart, around secret centres"]], how),
    mode === "shifted" ? field("Mean centre", mean, ["recipients", "mean"], number, "narrow") : null,
    centres ? make("span", { class: "small", text: "centres: in the text" }) : null) : null;
  return part("Recipients", make("p", { class: "small", text: "Copies for several parties, each as precise as it may have them. Without any, there is one file for everybody." }),
    all.map((r, i) => recipient(form, r, i)), together,
    button("Add a recipient", () => add("recipient", all.length, ["name", freeName(all, "copy")], [key, start])));
}

// ---- the strategy --------------------------------------------------------------------------------------------------------------------

const MEASURES = [["auto", "what promises the least error"], ...["residual", "queries", "base", "hierarchy", "cluster", "tables", "wavelet", "fourier", "bases"].map((m) => [m, m])];
const OBJECTIVES = [["total", "the least total variance"], ["worst", "the least largest variance"], ["targets", "every margin asked for"], ["relative", "the least relative error"]];

function strategy(of = {}) {
  const set = (key) => (next) => edit([{ path: ["strategy", key], set: next }]);
  return part("Strategy", make("div", { class: "fields" },
    choice("Measure", of.measure || "auto", MEASURES, set("measure")), choice("Goal", of.objective || "total", OBJECTIVES, set("objective")),
    choice("Budget", of.budgets || "optimal", [["optimal", "divided best"], ["uniform", "divided evenly"]], set("budgets"))));
}

const KNOWN = ["name", "title", "privacy", "dimension", "amount", "table", "query", "recipient", "recipients", "strategy"];

function draw(form) {
  fields = 0;
  const rest = Object.keys(form).filter((key) => !KNOWN.includes(key));
  $("form").replaceChildren(about(form), privacy(form.privacy), dimensions(form), amounts(form), tables(form), questions(form), recipients(form), strategy(form.strategy),
    ...(rest.length ? [make("p", { class: "small", text: `Only in the text below: ${rest.join(", ")}.` })] : []));
}
