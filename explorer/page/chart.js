// Pictures of estimates with intervals: what is to be drawn, and what stands around it. `picture.js` draws. Texts of a file enter by textContent alone.
const SVG = "http://www.w3.org/2000/svg";

// `4,624 (4,612 to 4,636)`; what is exact has no interval.
function words([estimate, error, low, high]) {
  return error === "exact" ? `${estimate} (exact)` : `${estimate} (${low} to ${high})`;
}

// So many bars and panels are drawn unless all are asked for.
const FEW = 20;
const PANELS = 12;

// Of many categories the largest: by their estimates in all panels together, or as the table is sorted.
function largest(picture) {
  const sums = new Map();
  for (const { points } of picture.series)
    for (const [label, [estimate]] of points) sums.set(label, (sums.get(label) || 0) + (estimate || 0));
  const labels = [...sums.keys()];
  if (picture.scale || labels.length <= FEW * 1.5) return null;
  if (!picture.sorted) labels.sort((a, b) => sums.get(b) - sums.get(a));
  const place = new Map(labels.slice(0, FEW).map((label, i) => [label, i]));
  const series = picture.series.map((s) => ({
    ...s, points: s.points.filter(([label]) => place.has(label)).sort((a, b) => place.get(a[0]) - place.get(b[0])),
  }));
  const others = picture.series.flatMap((s) => s.points.filter(([label]) => !place.has(label))).sort((a, b) => a[1][0] - b[1][0]);
  const between = `, with estimates from ${others[0][2][0]} to ${others[others.length - 1][2][0]}`;
  const which = picture.sorted ? `The first ${FEW} of ${labels.length} as the table is sorted` : `The ${FEW} largest of ${labels.length}`;
  return { picture: { ...picture, series }, said: `${which}. The other ${labels.length - FEW} stand in the table${between}.` };
}

// The picture of an answer, or nothing. `about` has what stands around it where it leaves the page: title, notes, source, name.
function chart(whole, level, about) {
  if (!whole || !whole.series.length) return null;
  const many = whole.series.length > 1;
  const panels = { ...whole, series: whole.series.slice(0, PANELS), map: many ? null : mapOf(whole.axis), all: whole };
  const few = largest(panels);
  let picture = few ? few.picture : panels;
  const what = whole.scale ? "steps in bands" : "bars with intervals";
  const label = `Chart: ${whole.figure}${whole.axis ? ` by ${whole.axis}` : ""}${many ? `, for each ${whole.group}` : ""}, as ${what}. The table below has the same numbers.`;
  const covers = `${Math.round(level * 1e6) / 1e4} %`;
  const caption = `${whole.scale ? "Each band" : "Each line across the end of a bar"} is an interval that covers the truth with probability ${covers}, for each ${whole.axis ? "category" : "figure"} by itself.`;
  const body = make("div", { role: "img", "aria-label": label, class: "picture" });
  let width = 0;
  const draw = () => {
    width = body.clientWidth;
    if (width > 0) body.replaceChildren(sketch(picture, width));
  };
  new ResizeObserver(() => { if (body.clientWidth !== width) draw(); }).observe(body);
  const rest = few && make("p", { class: "small" }, make("span", { text: `${few.said} ` }), make("button", { type: "button", text: "Draw all", onclick: (event) => {
    picture = panels;
    body.classList.add("long");
    body.tabIndex = 0;
    event.target.parentElement.remove();
    draw();
  } }));
  const more = whole.series.length - PANELS;
  const outside = () => framed(picture, caption, about());
  return make("figure", { class: "chart" }, body, rest,
    more > 0 ? make("p", { class: "small", text: `And ${more} more of ${whole.group}, which stand in the table.` }) : null,
    make("figcaption", { text: caption }),
    make("div", { class: "row small" },
      make("button", { type: "button", text: "Picture as SVG", onclick: () => save([source(outside())], "image/svg+xml", `${about().name}.svg`) }),
      make("button", { type: "button", text: "as PNG", onclick: () => pixels(outside()).then((png) => save([png], "image/png", `${about().name}.png`), (e) => trouble(e.message)) })));
}

const source = (svg) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;

// Twice as fine as the picture's own size.
async function pixels(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source(svg))}`;
  await image.decode();
  const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((yes, no) => canvas.toBlob((png) => (png ? yes(png) : no(new Error("This picture is too large for PNG: take SVG."))), "image/png"));
}
