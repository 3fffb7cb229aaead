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
  const several = to === list;
  const control = make(several ? "textarea" : "input", {
    ...(several ? { rows: Math.min(6, shown.split("\n").length + 1) } : { type: "text" }), spellcheck: "false", ...attributes,
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

// Tables that name a dimension name it by its new name, too.
function renamed(form, from, to) {
  const name = (level) => (level === from ? to : level.startsWith(`${from}.`) ? to + level.slice(from.length) : level);
  return (form.table || []).flatMap((table, i) => ["of", "among"].filter((key) => Array.isArray(table[key]) && table[key].some((l) => name(l) !== l))
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

function dimension(form, dimension, i) {
  const at = (key) => ["dimension", i, key];
  const kind = KINDS.find(([key]) => dimension[key] !== undefined);
  const become = (next) => {
    const [, , start] = KINDS.find(([key]) => key === next) || [];
    if (start) edit([...KINDS.map(([key]) => ({ path: at(key) })), { path: at("levels") }, { path: at(next), ...start }], { redraw: true });
  };
  // Its tables follow, so that nothing is done before the name is finished.
  const name = make("input", { type: "text", spellcheck: "false", value: dimension.name || "", onchange: () => {
    const to = name.value.trim();
    if (to && to !== dimension.name) edit([{ path: at("name"), set: to }, ...renamed(form, dimension.name, to)], { redraw: true });
  } });
  return entry(`Dimension ${dimension.name}`, make("div", { class: "fields" }, labelled("Name", name),
    choice("Values", kind ? kind[0] : "other", [...KINDS.map(([key, text]) => [key, text]), ...(kind ? [] : [["other", "in the text"]])], become),
    remove(`the dimension ${dimension.name}`, ["dimension", i])),
  make("div", { class: "fields" }, values(dimension, at)), levels(dimension, at));
}

function dimensions(form) {
  const all = Array.isArray(form.dimension) ? form.dimension : [];
  const fresh = () => {
    let name = "new";
    for (let n = 2; all.some((d) => d.name === name); n++) name = `new${n}`;
    edit([{ path: ["dimension", all.length], set: { name, categories: ["yes", "no"] } }], { redraw: true });
  };
  return part("Dimensions", all.map((d, i) => dimension(form, d, i)), button("Add a dimension", fresh));
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
  const rest = Object.keys(table).filter((k) => !["of", "every", "up_to", "among", "weight", "margin"].includes(k));
  return entry(`Table ${name}`, make("div", { class: "fields" },
    choice("Table", kind, [["of", "this one"], ["every", "every so many dimensions"], ["up_to", "up to so many dimensions"]], become),
    kind === "of" ? null : field("Dimensions", table[kind], at(kind), needed(number), "narrow"),
    by("Weight", "weight"), by("Target ±", "margin"), remove(`the table ${name}`, ["table", i])),
  plain ? ticks(form, chosen, (levels) => edit([{ path: at(key), set: levels }], { redraw: true }))
    : field("Levels, one a line", chosen.join("\n"), at(key), list, "wide"),
  rest.length ? make("p", { class: "small more", text: `In the text: ${rest.join(", ")}` }) : null);
}

function tables(form) {
  const all = Array.isArray(form.table) ? form.table : [];
  return part("Tables", all.map((t, i) => table(form, t, i)),
    button("Add a table", () => edit([{ path: ["table", all.length], set: { of: [] } }], { redraw: true })));
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

const KNOWN = ["name", "title", "privacy", "dimension", "table", "strategy"];

function draw(form) {
  fields = 0;
  const rest = Object.keys(form).filter((key) => !KNOWN.includes(key));
  $("form").replaceChildren(about(form), privacy(form.privacy), dimensions(form), tables(form), strategy(form.strategy),
    ...(rest.length ? [make("p", { class: "small", text: `Only in the text below: ${rest.join(", ")}.` })] : []));
}
