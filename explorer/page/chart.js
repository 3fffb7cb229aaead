// Pictures of estimates with intervals. Texts of a file enter the page by textContent alone.
const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "text") element.textContent = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function drawn(name, attributes, title) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (title) {
    const t = document.createElementNS(SVG, "title");
    t.textContent = title;
    element.append(t);
  }
  return element;
}

// From the least to the greatest of all intervals, with zero.
function range(series) {
  let low = 0;
  let high = 0;
  for (const { points } of series)
    for (const [, numbers] of points)
      for (const x of numbers)
        if (Number.isFinite(x)) {
          low = Math.min(low, x);
          high = Math.max(high, x);
        }
  return high > low ? [low, high] : [0, 1];
}

// About so many round numbers between two.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) out.push(i * step);
  return out;
}

const round = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

// `4,624, 4,612 to 4,636`; what is exact has no interval.
function words([estimate, error, low, high]) {
  return error === "exact" ? `${estimate} (exact)` : `${estimate} (${low} to ${high})`;
}

const percent = (x) => `${(100 * x).toFixed(3)}%`;

// A bar a category, its interval across the end.
function bars(points, [low, high]) {
  const span = high - low;
  const at = (x) => Math.min(1, Math.max(0, (x - low) / span));
  const list = make("div", { class: "bars" });
  for (const [label, [estimate, from, to], texts] of points) {
    const bar = make("div", { class: "bar" });
    bar.style.left = percent(at(Math.min(0, estimate)));
    bar.style.width = percent(at(Math.max(0, estimate)) - at(Math.min(0, estimate)));
    const error = make("div", { class: "error" });
    const [a, b] = [Number.isFinite(from) ? from : low, Number.isFinite(to) ? to : high];
    error.style.left = percent(at(a));
    error.style.width = percent(at(b) - at(a));
    const zero = make("div", { class: "zero" });
    zero.style.left = percent(at(0));
    list.append(make("div", { class: "point" },
      make("div", { class: "label", text: label || "all", title: label }),
      make("div", { class: "track" }, zero, bar, texts[1] === "exact" ? null : error),
      make("div", { class: "value", title: words(texts) }, make("span", { text: texts[0] }),
        make("span", { class: "interval", text: texts[1] === "exact" ? "exact" : `${texts[2]} to ${texts[3]}` })),
    ));
  }
  return list;
}

// A step a category, in a band of its interval.
function band(points, [low, high]) {
  const span = high - low;
  const n = points.length;
  const up = (x) => 1000 * (1 - (x - low) / span);
  const picture = drawn("svg", { viewBox: `0 0 ${n} 1000`, preserveAspectRatio: "none", class: "steps", "aria-hidden": "true" });
  for (const tick of ticks(low, high, 4))
    picture.append(drawn("line", { x1: 0, x2: n, y1: up(tick), y2: up(tick), class: tick === 0 ? "axis" : "grid" }));
  let line = "";
  points.forEach(([label, [estimate, from, to], texts], i) => {
    const [a, b] = [Number.isFinite(from) ? from : low, Number.isFinite(to) ? to : high];
    const title = `${label}: ${words(texts)}`;
    picture.append(drawn("rect", { x: i, y: up(b), width: 1, height: Math.max(0, up(a) - up(b)), class: "band" }));
    line += `${i ? "L" : "M"}${i} ${up(estimate)}H${i + 1}`;
    picture.append(drawn("rect", { x: i, y: 0, width: 1, height: 1000, class: "hover" }, title));
  });
  picture.append(drawn("path", { d: line, class: "line" }));
  const left = make("div", { class: "left" });
  for (const tick of ticks(low, high, 4)) {
    const text = make("span", { text: round.format(tick) });
    text.style.top = percent(up(tick) / 1000);
    left.append(text);
  }
  const below = make("div", { class: "below" });
  const step = Math.max(1, Math.ceil(n / 10));
  for (let i = 0; i < n; i += step) {
    const text = make("span", { text: points[i][0], title: points[i][0] });
    text.style.left = percent((i + 0.5) / n);
    below.append(text);
  }
  return make("div", { class: "distribution" }, left, make("div", { class: "plot" }, picture), make("div"), below);
}

// The picture of an answer, or nothing.
function chart(picture, level) {
  if (!picture || !picture.series.length) return null;
  const most = picture.band ? 8 : 12;
  if (picture.series.length > most) return null;
  const points = Math.max(...picture.series.map((s) => s.points.length));
  if (!picture.band && points > 60) return null;
  const scale = range(picture.series);
  const what = picture.band ? "steps in bands" : "bars with intervals";
  const many = picture.series.length > 1;
  const label = `Chart: ${picture.figure}${picture.axis ? ` by ${picture.axis}` : ""}${many ? `, for each ${picture.group}` : ""}, as ${what}. The table below has the same numbers.`;
  const figure = make("figure", { class: many ? "chart several" : "chart" });
  const body = make("div", { role: "img", "aria-label": label, class: "panels" });
  for (const series of picture.series) {
    const panel = make("div", { class: "panel" });
    if (picture.group) panel.append(make("p", { class: "panel-name", text: `${picture.group}: ${series.name}` }));
    panel.append(picture.band ? band(series.points, scale) : bars(series.points, scale));
    body.append(panel);
  }
  const covers = `${Math.round(level * 1e6) / 1e4} %`;
  figure.append(body, make("figcaption", {
    text: `${picture.band ? "Each band" : "Each line across the end of a bar"} is an interval that covers the truth with probability ${covers}, for each ${picture.axis ? "category" : "figure"} by itself.`,
  }));
  return figure;
}
