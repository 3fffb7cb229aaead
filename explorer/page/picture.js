// Draws a picture as SVG, of any width. Colours are attributes, so that it may leave the page; on the page the style has the last word, light or dark.
const LOOK = {
  bar: { fill: "#8fbccc" }, band: { fill: "#bcd8e2" }, line: { fill: "none", stroke: "#1d6a86", "stroke-width": 1.75 },
  error: { fill: "none", stroke: "#12303d", "stroke-width": 2 }, grid: { stroke: "#d9dcd8" }, axis: { stroke: "#56636e" },
  text: { fill: "#1e2830", "font-size": 14 }, bold: { fill: "#1e2830", "font-size": 14, "font-weight": 600 }, soft: { fill: "#56636e", "font-size": 12 },
  area: { fill: "#1d6a86", stroke: "#56636e", "stroke-width": 0.75, "vector-effect": "non-scaling-stroke" }, hatch: { stroke: "#7a5200", "stroke-width": 1.5 },
  hover: { fill: "transparent" }, paper: { fill: "#ffffff" },
};
const FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

function drawn(name, look, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries({ class: look, ...LOOK[look], ...attributes })) if (value) element.setAttribute(key, value);
  if (name === "text") element.textContent = text;
  else if (text) {
    const title = document.createElementNS(SVG, "title");
    title.textContent = text;
    element.append(title);
  }
  return element;
}

const ruler = document.createElement("canvas").getContext("2d");

function wide(text, look = "text") {
  ruler.font = `${LOOK[look]["font-weight"] || 400} ${LOOK[look]["font-size"]}px ${FONT}`;
  return ruler.measureText(text).width;
}

// As much of a text as there is room for.
function cut(text, room, look) {
  if (wide(text, look) <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wide(`${text.slice(0, middle)}…`, look) <= room) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

function lines(text, room, look) {
  const out = [];
  for (const word of text.split(/\s+/)) {
    const longer = out.length ? `${out[out.length - 1]} ${word}` : word;
    if (out.length && wide(longer, look) <= room) out[out.length - 1] = longer;
    else out.push(cut(word, room, look));
  }
  return out;
}

// About so many round numbers between two.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(i * step || 0);
  return out;
}

const round3 = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const round = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

// From the least to the greatest of all intervals, with zero.
function range(series) {
  const all = series.flatMap((s) => [...s.points, ...s.apart]).flatMap(([, numbers]) => numbers).filter(Number.isFinite);
  const [low, high] = [all.reduce((a, b) => Math.min(a, b), 0), all.reduce((a, b) => Math.max(a, b), 0)];
  return high > low ? [low, high] : [0, 1];
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// Which steps of a scale are named below it, and how: days and months by month and year, numbers where they are round.
function named(labels, room) {
  const most = Math.max(2, Math.floor(room / 64));
  const days = labels.map((label) => /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(label));
  if (days.every(Boolean)) {
    const starts = days.map(([, year, month, day], i) => ({ i, year, month: Number(month), day: Number(day || 1) }));
    const first = (d, i) => i === 0 || d.month !== starts[i - 1].month || d.year !== starts[i - 1].year;
    const months = starts.filter(first);
    if (months.length >= 3) {
      const step = [1, 2, 3, 6, 12, 24, 60, 120].find((n) => months.length / n <= most) || 240;
      const shown = months.filter(({ year, month }) => (year * 12 + month - 1) % step === 0);
      return shown.map(({ i, year, month }, at) => [i, step >= 12 ? year : at === 0 || month === 1 || step === 6 ? `${MONTHS[month - 1]} ${year}` : MONTHS[month - 1]]);
    }
    const step = Math.ceil(starts.length / most);
    return starts.filter(({ i }) => i % step === 0).map(({ i, month, day }) => [i, days[i][3] ? `${day} ${MONTHS[month - 1]}` : MONTHS[month - 1]]);
  }
  const numbers = labels.map((label) => parseFloat(label));
  for (const step of [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 1e5, 1e6]) {
    const at = numbers.flatMap((x, i) => (x % step === 0 ? [i] : []));
    if (at.length <= most && at.length >= Math.min(3, most)) return at.map((i) => [i, labels[i]]);
    if (at.length < 3) break;
  }
  const step = Math.ceil(labels.length / most);
  return labels.flatMap((label, i) => (i % step === 0 ? [[i, label]] : []));
}

const ends = ([, from, to], [low, high]) => [Number.isFinite(from) ? from : low, Number.isFinite(to) ? to : high];

// A bar a category, its interval across the end.
function bars({ points }, [low, high], width) {
  const out = drawn("g", "bars", {});
  const narrow = width < 480;
  const interval = (texts) => (texts[1] === "exact" ? "exact" : `${texts[2]} to ${texts[3]}`);
  const value = Math.max(...points.map(([, , texts]) => Math.max(wide(texts[0]), wide(interval(texts), "soft"))));
  const name = Math.min(Math.max(48, ...points.map(([label]) => wide(label || "all"))), 224, width * 0.35);
  const [left, right] = narrow ? [0, width] : [name + 12, width - value - 12];
  const at = (x) => left + (right - left) * Math.min(1, Math.max(0, (x - low) / (high - low)));
  const step = narrow ? 46 : 36;
  points.forEach(([label, numbers, texts], i) => {
    const [top, [from, to]] = [i * step, ends(numbers, [low, high])];
    const row = drawn("g", "point", {}, `${label || "all"}: ${words(texts)}`);
    const middle = narrow ? top + 32 : top + 17;
    const start = at(Math.min(0, numbers[0]));
    row.append(
      drawn("rect", "hover", { x: 0, y: top, width, height: step }),
      drawn("line", "grid", { x1: left, x2: right, y1: middle, y2: middle }),
      drawn("rect", "bar", { x: start, y: middle - 8, width: Math.max(0.01, at(Math.max(0, numbers[0])) - start), height: 16, rx: 1.5 }),
      drawn("line", "axis", { x1: at(0), x2: at(0), y1: middle - 12, y2: middle + 12 }),
    );
    if (texts[1] !== "exact")
      row.append(drawn("path", "error", { d: `M${at(from)} ${middle - 5}v10M${at(from)} ${middle}H${at(to)}M${at(to)} ${middle - 5}v10` }));
    if (narrow) {
      const room = width - wide(texts[0]) - wide(interval(texts), "soft") - 24;
      row.append(drawn("text", "text", { x: 0, y: top + 16 }, cut(label || "all", room)),
        drawn("text", "text", { x: width - wide(interval(texts), "soft") - 8, y: top + 16, "text-anchor": "end" }, texts[0]),
        drawn("text", "soft", { x: width, y: top + 16, "text-anchor": "end" }, interval(texts)));
    } else {
      row.append(drawn("text", "text", { x: name, y: top + 22, "text-anchor": "end" }, cut(label || "all", name)),
        drawn("text", "text", { x: width, y: top + 15, "text-anchor": "end" }, texts[0]),
        drawn("text", "soft", { x: width, y: top + 30, "text-anchor": "end" }, interval(texts)));
    }
    out.append(row);
  });
  return [out, points.length * step];
}

// A step a category, in a band of its interval; what is not on the scale (a category for missing values) stands beside it as a bar.
function steps({ points, apart }, [low, high], width) {
  const out = drawn("g", "steps", {});
  const [height, heights] = [240, ticks(low, high, 4)];
  const left = Math.max(...heights.map((tick) => wide(round.format(tick), "soft"))) + 10;
  const aside = apart.map(([label]) => Math.min(110, Math.max(48, wide(label, "soft") + 12)));
  const beside = aside.reduce((a, b) => a + b, apart.length ? 16 : 0);
  const room = Math.max(40, width - left - beside);
  const at = (i) => left + (room * i) / points.length;
  const up = (y) => 8 + height * (1 - (y - low) / (high - low));
  for (const tick of heights) {
    out.append(drawn("line", tick === 0 ? "axis" : "grid", { x1: left, x2: width, y1: up(tick), y2: up(tick) }),
      drawn("text", "soft", { x: left - 8, y: up(tick) + 4, "text-anchor": "end" }, round.format(tick)));
  }
  let line = "";
  points.forEach(([, numbers], i) => {
    const [from, to] = ends(numbers, [low, high]);
    out.append(drawn("rect", "band", { x: at(i), y: up(to), width: at(i + 1) - at(i) + 0.2, height: Math.max(0.01, up(from) - up(to)) }));
    if (Number.isFinite(numbers[0])) line += `${line ? "L" : "M"}${at(i)} ${up(numbers[0])}H${at(i + 1)}`;
  });
  out.append(drawn("path", "line", { d: line }));
  points.forEach(([label, , texts], i) => out.append(drawn("rect", "hover", { x: at(i), y: 8, width: at(i + 1) - at(i), height }, `${label}: ${words(texts)}`)));
  for (const [i, text] of named(points.map(([label]) => label), room)) {
    const x = (at(i) + at(i + 1)) / 2;
    out.append(drawn("line", "axis", { x1: x, x2: x, y1: 8 + height, y2: 13 + height }),
      drawn("text", "soft", { x: Math.max(x, left), y: 27 + height, "text-anchor": "middle" }, text));
  }
  let x = left + room + 16;
  apart.forEach(([label, numbers, texts], i) => {
    const [middle, [from, to]] = [x + aside[i] / 2, ends(numbers, [low, high])];
    const bar = drawn("g", "point", {}, `${label}: ${words(texts)}`);
    bar.append(drawn("rect", "bar", { x: middle - 9, y: up(Math.max(0, numbers[0])), width: 18, height: Math.max(0.01, Math.abs(up(0) - up(numbers[0]))) }));
    if (texts[1] !== "exact") bar.append(drawn("path", "error", { d: `M${middle - 5} ${up(to)}h10M${middle} ${up(to)}V${up(from)}M${middle - 5} ${up(from)}h10` }));
    bar.append(drawn("text", "soft", { x: middle, y: 27 + height, "text-anchor": "middle" }, cut(label, aside[i] - 4, "soft")));
    out.append(bar);
    x += aside[i];
  });
  return [out, height + 34];
}

// A map: the larger an estimate, the darker its area. Where the interval reaches 0, it is hatched; what has no estimate is empty.
function atlas({ series: [series] }, map, width) {
  const out = drawn("g", "map", {});
  const found = new Map([...series.points, ...series.apart].map((point) => [point[3], point]));
  const [low, high] = [...found.values()].reduce(([a, b], [, [x]]) => [Math.min(a, x), Math.max(b, x)], [0, 0]);
  const shade = (step) => 0.1 + 0.225 * step;
  const step = (x) => Math.min(4, Math.floor((5 * (x - low)) / (high - low || 1)));
  const factor = Math.min(width / map.width, 440 / map.height);
  const hatch = drawn("pattern", "", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: `scale(${1 / factor}) rotate(45)` });
  hatch.append(drawn("line", "hatch", { y2: 6 }));
  const areas = drawn("g", "", { transform: `translate(${(width - map.width * factor) / 2} 2) scale(${factor})` });
  for (const [at, d] of map.shapes) {
    const point = found.get(at);
    const [label, numbers, texts] = point || [];
    const title = point && `${label}: ${words(texts)}`;
    areas.append(drawn("path", "area", { d, "fill-rule": "evenodd", "fill-opacity": point ? shade(step(numbers[0])) : "0" }, title));
    if (point && !(numbers[1] > 0 || numbers[2] < 0)) areas.append(drawn("path", "", { d, fill: "url(#hatch)", "fill-rule": "evenodd" }, title));
  }
  out.append(hatch, areas);
  // What the shades are.
  const named = [0, 1, 2, 3, 4].map((i) => `${round3.format(low + ((high - low) * i) / 5)} to ${round3.format(low + ((high - low) * (i + 1)) / 5)}`);
  let [x, y] = [0, map.height * factor + 16];
  for (const [i, text] of [...named, "interval reaches 0"].entries()) {
    const long = 24 + wide(text, "soft") + 16;
    if (x + long > width) [x, y] = [0, y + 22];
    out.append(drawn("rect", "area", { x, y, width: 16, height: 16, "fill-opacity": i < 5 ? shade(i) : "0" }));
    if (i === 5) out.append(drawn("path", "hatch", { d: `M${x + 2} ${y + 14}l12 -12M${x + 2} ${y + 7}l5 -5M${x + 9} ${y + 14}l5 -5` }));
    out.append(drawn("text", "soft", { x: x + 22, y: y + 12 }, text));
    x += long;
  }
  return [out, y + 24];
}

// All panels, in one or two columns: what is drawn, and how high it is.
function panels(picture, width) {
  const out = drawn("g", "", {});
  const scale = range(picture.series);
  const columns = picture.series.length > 1 && width >= 700 ? 2 : 1;
  const each = (width - 32 * (columns - 1)) / columns;
  let [top, high] = [0, 0];
  if (picture.map) {
    const [map, height] = atlas(picture.all, picture.map, width);
    out.append(map);
    top = height + 20;
  }
  picture.series.forEach((series, i) => {
    const [body, height] = (picture.scale ? steps : bars)(series, scale, each);
    const head = picture.group ? 26 : 0;
    const panel = drawn("g", "panel", { transform: `translate(${(i % columns) * (each + 32)} ${top})` });
    if (head) panel.append(drawn("text", "bold", { x: 0, y: 16 }, cut(`${picture.group}: ${series.name}`, each, "bold")));
    body.setAttribute("transform", `translate(0 ${head})`);
    panel.append(body);
    out.append(panel);
    high = Math.max(high, height + head);
    if (i % columns === columns - 1 || i === picture.series.length - 1) [top, high] = [top + high + 20, 0];
  });
  return [out, top - 20];
}

function paper(width, height) {
  const out = drawn("svg", "", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT });
  out.style.fontVariantNumeric = "tabular-nums";
  return out;
}

// A picture on the page.
function sketch(picture, width) {
  const [body, height] = panels(picture, width);
  const out = paper(width, height);
  out.append(body);
  return out;
}

// A picture by itself: with a title above it, and below it what its intervals mean, what makes its numbers untrue, and where it comes from.
function framed(picture, caption, { title, notes, from }) {
  const [width, edge] = [900, 24];
  const room = width - 2 * edge;
  const [body, height] = panels(picture, room);
  const above = lines(title, room, "bold");
  const below = [caption, ...notes, from].flatMap((text) => lines(text, room, "soft"));
  const top = edge + above.length * 20 + 12;
  const out = paper(width, top + height + 24 + below.length * 17 + edge);
  body.setAttribute("transform", `translate(${edge} ${top})`);
  out.append(drawn("rect", "paper", { width, height: out.getAttribute("height") }),
    ...above.map((text, i) => drawn("text", "bold", { x: edge, y: edge + 14 + i * 20 }, text)), body,
    ...below.map((text, i) => drawn("text", "soft", { x: edge, y: top + height + 36 + i * 17 }, text)));
  return out;
}
