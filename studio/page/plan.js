// The plan, as the planner tells it.

// Four digits, as the command shows figures.
function figure(x) {
  if (x === null || x === undefined || !isFinite(x)) return "unbounded";
  const size = Math.abs(x);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return x.toExponential(3);
  if (size >= 1000) return grouped(Math.round(x));
  return x.toFixed(4 - Math.min(3, size < 1 ? 1 : Math.floor(Math.log10(size)) + 1));
}

const grouped = (n) => (n === null ? "many" : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
const percent = (share) => (share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`);
const cell = (text, numeric) => make("td", { class: numeric ? "num" : null, text });
const SHOWN = 100;

function rows(heads, all, label) {
  const head = make("tr", {}, heads.map(([text, numeric]) => make("th", { scope: "col", class: numeric ? "num" : null, text })));
  const body = make("tbody", {}, all.slice(0, SHOWN));
  const more = all.length > SHOWN ? button(`Show all ${grouped(all.length)}`, () => {
    body.replaceChildren(...all);
    more.remove();
  }) : null;
  return [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, make("table", {}, make("thead", {}, head), body)), ...(more ? [more] : [])];
}

function promise(plan) {
  const symbol = plan.currency === "rho" ? "ρ" : "ε";
  const { approximate } = plan;
  return `${symbol} = ${plan.budget}${approximate ? ` (ε = ${approximate.epsilon} at δ = ${approximate.delta})` : ""}`;
}

// All margins in a line.
function summary(plan) {
  const known = plan.tables.filter((t) => !t.exact).map((t) => t.margin95);
  if (!known.length) return "Every table is exact";
  const [low, high] = [Math.min(...known), Math.max(...known)].map(figure);
  return low === high ? `Margins of ± ${low}` : `Margins from ± ${low} to ± ${high}`;
}

const tableName = (of) => of.join(" × ") || "the total";

function everyTable(plan) {
  const one = (table) => {
    const share = table.share === null ? null : make("td", { class: "num" });
    if (share) {
      const bar = make("span", { class: "part-of" });
      bar.style.width = `${(3 * table.share).toFixed(2)}rem`;
      share.append(bar, percent(table.share));
    }
    const margin = table.exact ? "exact" : `${table.margin95_exact ? "±" : "≈"} ${figure(table.margin95)}`;
    return make("tr", {}, make("th", { scope: "row", text: table.sql || tableName(table.of) }), cell(grouped(table.cells), true), cell(margin, true), share || cell("", true));
  };
  return rows([["table"], ["cells", true], ["95 % margin", true], ["budget", true]], plan.tables.map(one), "Tables and their margins");
}

function goals({ tables, least_budget: least, least_budget_bound: bound }, symbol) {
  const one = (t) => make("tr", {}, make("th", { scope: "row", text: tableName(t.of) }), cell(`± ${figure(t.margin)}`, true), cell(`± ${figure(t.predicted)}`, true),
    make("td", { class: t.met ? "met" : "missed", text: t.met ? "met" : "missed" }));
  const missed = tables.filter((t) => !t.met).length;
  const budget = least ? `The least budget ${bound ? "" : "found "}that meets all: ${symbol} = ${least}.` : "No budget that can be drawn meets all.";
  return [make("h3", { text: `Margins asked for: ${tables.length - missed} of ${tables.length} met` }),
    ...rows([["table"], ["asked for", true], ["promised", true], [""]], tables.map(one), "Margins asked for"), make("p", { class: "small", text: budget })];
}

function sums(all) {
  return all.flatMap(({ amount, share, tables }) => [make("h3", { text: `Sums of ${amount.name}` }),
    ...rows([["table"], ["std error", true], ["at most", true], ["of a mean of 1,000 rows", true]], tables.map((t) => make("tr", {}, make("th", { scope: "row", text: t.table }),
      cell(figure(t.std_error), true), cell(figure(t.max_std_error), true), cell(t.mean ? `${figure(t.mean.std_error)} to ${figure(t.mean.max_std_error)}` : "", true))), `Sums of ${amount.name}`),
    make("p", { class: "small", text: `In the unit of the number. They have ${share} of the budget. A mean's error depends on how large it is.` })]);
}

function uneven(levels) {
  const one = ({ dimension, levels: all }) => {
    const of = all.map(({ level, share, categories, tables }) => {
      const worst = Math.max(0, ...(tables || []).map((t) => t.margin95));
      return make("tr", {}, make("th", { scope: "row", text: level || `not by ${dimension}` }), cell(grouped(categories), true), cell(worst ? `± ${figure(worst)}` : "", true), cell(percent(share), true));
    });
    return make("details", {}, make("summary", { text: `Levels of ${dimension}` }),
      rows([["level"], ["categories", true], ["worst margin", true], ["budget", true]], of, `Levels of ${dimension}`));
  };
  return levels.map(one);
}

function others(plan) {
  const seen = plan.strategies.map((s) => make("tr", {}, make("th", { scope: "row", text: `${s.measure}, ${s.budgets} budgets` }),
    cell(s.applies ? figure(s.rms_error) : "", true), cell(s.applies ? "" : s.reason)));
  return make("details", {}, make("summary", { text: "Strategies that were looked at" }),
    rows([["strategy"], ["rms error", true], [""]], seen, "Strategies"));
}

function planned(plan) {
  const symbol = plan.currency === "rho" ? "ρ" : "ε";
  const chosen = plan.strategies[plan.chosen];
  const facts = [["budget", promise(plan)], ["measures", `${grouped(chosen.groups)} groups (${chosen.measure}, ${chosen.budgets} budgets)`],
    ["answers", `${grouped(plan.tables.length)} tables, ${grouped(plan.cells)} cells; root-mean-square error ${figure(plan.rms_error)}`],
    ["optimum", plan.optimum || "nothing is proved of plans of this kind"]];
  const delta = plan.with_delta && `The same ε with δ = ${plan.with_delta.delta}: root-mean-square error ${figure(plan.with_delta.rms_error)} instead of ${figure(plan.rms_error)}.`;
  const copies = plan.recipients && plan.recipients.recipients.map((r) => make("tr", {}, make("th", { scope: "row", text: r.name }),
    cell(String(r.budget), true), cell(r.margin95 === null ? "" : `± ${figure(r.margin95)}`, true)));
  return [
    make("dl", { class: "facts" }, facts.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })])),
    ...everyTable(plan),
    make("p", { class: "small", text: "margin: half the 95 % interval of the cell that is known least well; ≈: by 1.96 standard errors. budget: what is spent on measuring what the table is read from; tables may have that in common." }),
    ...(plan.targets ? goals(plan.targets, symbol) : []),
    ...sums(plan.sums || []),
    ...(copies ? [make("h3", { text: "Copies" }), ...rows([["recipient"], ["budget", true], ["worst margin", true]], copies, "Copies")] : []),
    ...uneven(plan.levels),
    others(plan),
    ...(delta ? [make("p", { class: "small", text: delta })] : []),
    ...plan.warnings.map((text) => make("p", { class: "card warn small", text })),
  ];
}
