// The plots: data made from the cells, drawn by Vega-Lite from the specifications of plots.py,
// when they come into view and again when the cells, the theme or the width change.

const SPECS = JSON.parse(document.getElementById("plots").textContent);
const FONT = "system-ui, sans-serif";
const LINE = 12; // height of a line of an axis label, pixels
const SVG_LIMIT = 1500; // marks above which a canvas stays quicker than an SVG
const CATEGORY = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#8a8f98"]; // P. Tol, bright

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function config() {
  const style = getComputedStyle(document.body);
  const [ink, paper] = [style.color, style.backgroundColor];
  const line = isDark() ? "#363d45" : "#d0d7de";
  const text = { labelColor: ink, titleColor: ink, labelFontSize: 11, titleFontSize: 11, titleFontWeight: 400 };
  return {
    font: FONT,
    background: paper,
    view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line, labelLimit: 0 },
    legend: { ...text, labelLimit: 0, symbolBaseFillColor: ink, symbolBaseStrokeColor: ink },
    title: { color: ink, anchor: "start", fontSize: 13 },
    text: { fill: ink, font: FONT },
    range: {
      category: CATEGORY,
      heatmap: isDark() ? ["#1b2b3c", "#9ccbf7"] : ["#eaf1f8", "#1f4e86"],
      ramp: isDark() ? ["#1b2b3c", "#9ccbf7"] : ["#eaf1f8", "#1f4e86"],
    },
  };
}

class Plot {
  // `describe` returns {spec, marks} or {empty: words}, for a width, from what is to be seen now.
  constructor(figure, title, describe, tip, click = null) {
    Object.assign(this, { figure, title, describe, tip, click });
    this.place = figure.querySelector(".plot");
    this.addSaving();
    this.stale = true;
    this.visible = false;
    this.observer = new IntersectionObserver((entries) => {
      this.visible = entries.some((entry) => entry.isIntersecting);
      this.refresh();
    }, { rootMargin: "200px" });
    this.observer.observe(figure);
  }

  invalidate() {
    this.stale = true;
    this.refresh();
  }

  drop() {
    this.observer.disconnect();
    this.view?.finalize();
  }

  async refresh() {
    if (!this.stale || !this.visible || this.drawing) return;
    this.stale = false;
    this.drawing = true;
    const made = this.describe(this.place.clientWidth);
    try {
      this.view?.finalize();
      this.view = null;
      if (made.empty) this.place.replaceChildren(make("p", { class: "quiet" }, made.empty));
      else await this.draw(made);
    } finally {
      this.drawing = false;
    }
    this.refresh();
  }

  async draw({ spec, marks = 0 }) {
    const themed = config();
    const legend = { ...themed.legend, ...spec.config?.legend };
    this.spec = { ...spec, config: { ...themed, ...spec.config, legend } };
    const embedded = await vegaEmbed(this.place, this.spec, {
      mode: "vega-lite",
      renderer: marks > SVG_LIMIT ? "canvas" : "svg",
      actions: false,
      defaultStyle: false,
      ast: true, // no eval
      tooltip: this.tip.handler(),
    });
    this.view = embedded.view;
    if (this.click) {
      this.view.addEventListener("click", (_event, item) => {
        if (item?.datum?.cell !== undefined) this.click(item.datum.cell);
      });
    }
  }

  addSaving() {
    const controls = this.figure.querySelector(".controls");
    for (const kind of ["svg", "png"]) {
      const button = make("button", { type: "button", class: "save" }, `Save ${kind.toUpperCase()}`);
      button.addEventListener("click", () => this.save(kind));
      controls.append(button);
    }
  }

  // A picture for pasting says what it is: it has the title and the legend that the page has.
  async save(kind) {
    if (!this.spec) return;
    const spec = { ...this.spec, title: this.title(), ...(this.spec.usermeta?.saved ?? {}) };
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false };
    const { view } = await vegaEmbed(make("div"), spec, options);
    const url =
      kind === "png"
        ? await view.toImageURL("png", 2)
        : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await view.toSVG())}`;
    view.finalize();
    const name = this.title().replace(/[^\w.-]+/g, "-").slice(0, 80);
    make("a", { href: url, download: `${name}.${kind}` }).click();
  }
}

// A copy of a specification with its data.
function filled(name, datasets, edit = () => {}) {
  const spec = structuredClone(SPECS[name]);
  for (const param of spec.params ?? []) if (param.name === "dark") param.value = isDark();
  edit(spec);
  return { ...spec, datasets };
}

// Text in lines of at most `most` characters, broken between words and before a "[".
function wrap(text, most) {
  const lines = [""];
  for (const word of text.split(/(?= )|(?=\[)/)) {
    if (lines.at(-1) && lines.at(-1).length + word.length > most) lines.push(word.trimStart());
    else lines[lines.length - 1] += word;
  }
  return lines.join("\n");
}

const MOST = 60; // columns of the matrix

// The matrix of what each process came to; its longer side runs down the page, `rows` of it at most.
function matrixPlot(store, cells, column, rows, width) {
  const last = cells.filter((cell) => store.number("last", cell));
  if (!last.length) return { empty: "No cell passes the filter." };
  const names = (name) => {
    const codes = [...new Set(last.map((cell) => store.code(name, cell)))].sort((a, b) => a - b);
    return codes.map((code) => store.texts[name].names[code]);
  };
  let [across, down] = ["top", "side"];
  if (names(across).length > Math.max(12, names(down).length)) [across, down] = [down, across];
  const inside = width < 600 ? 26 : 44; // characters of a line at the side
  const labels = {
    [across]: (name) => (across === "top" ? name : wrap(name, 12)),
    [down]: (name) => wrap(name.replaceAll("\n", " "), inside),
  };
  const all = { [across]: names(across), [down]: names(down) };
  const columns = new Set(all[across].slice(0, MOST));
  const lines_ = new Set(all[down].slice(0, rows));
  const seen = last.filter((cell) => columns.has(store.text(across, cell)) && lines_.has(store.text(down, cell)));
  const most = last.reduce((high, cell) => Math.max(high, store.number(column, cell) ?? 0), 0);
  const data = seen.map((cell) => {
    const value = store.number(column, cell);
    return {
      cell,
      top: labels[across](store.text(across, cell)),
      side: labels[down](store.text(down, cell)),
      status: store.text("status", cell),
      shade: value === null || !most ? null : value / most,
      text: shown(store, column, cell) || store.text("status", cell).replace("_", " "),
    };
  });
  const tops = [...columns].map(labels[across]);
  const sides = [...lines_].map(labels[down]);
  const lines = (texts) => Math.max(...texts.map((text) => text.split("\n").length));
  const widest = (texts) => Math.max(...texts.flatMap((text) => text.split("\n")).map((t) => t.length));
  const need = Math.max(46, 6.4 * Math.max(widest(tops), widest(data.map((d) => d.text))) + 10);
  const room = (width - 6.2 * widest(sides) - 30) / tops.length;
  const spec = filled("matrix", { cells: data }, (plot) => {
    plot.width = { step: Math.max(need, Math.min(110, room)) };
    plot.height = { step: Math.max(24, LINE * lines(sides) + 4) };
    plot.encoding.x.axis.labelPadding = 4 + LINE * (lines(tops) - 1); // lines grow downward
    plot.encoding.x.sort = tops;
    plot.encoding.y.sort = sides;
  });
  const left = all[down].length - lines_.size;
  const hidden = all[across].length - columns.size;
  const note = hidden ? `${hidden} columns are left out: filter the cells to see them.` : "";
  return { spec, marks: 2 * data.length, left, note };
}

// Rows of the plot of one process: three parts per phase. `cell` is what the pointer tells of.
function phaseRows(store, process, cell) {
  const phases = (store.ofProcess.get(process) ?? []).map((row) => store.phase(row));
  const baseline = store.number("baseline_bytes", cell) ?? phases[0]?.rss ?? 0;
  const highest = Math.max(...phases.map((phase) => phase.peak));
  return phases.flatMap(({ name, seconds, rss, peak }) => {
    const kept = Math.max(0, rss - baseline);
    const under = Math.min(rss, baseline, peak);
    const parts = [under, kept, Math.max(0, peak - under - kept)];
    return Object.keys(PARTS).map((part, layer) => ({
      cell,
      layer,
      part,
      phase: `${name}  ${formatSeconds(seconds)}`,
      mb: parts[layer] / MB,
      peak: peak / MB,
      highest: peak === highest,
      tip: `${store.text("name", cell)}: ${name}`,
      lines: [
        ["highest in this phase", `${formatMb(peak)} MB`],
        ["at its end", `${formatMb(rss)} MB`],
        ["above the baseline", `${formatMb(peak - baseline)} MB`],
        ["took", formatSeconds(seconds)],
      ],
    }));
  });
}

function phasesPlot(rows, most, width) {
  if (!rows.length) return { empty: "No phases were recorded." };
  const spec = filled("phases", { phases: rows }, (plot) => {
    plot.width = Math.max(220, width - 4);
    plot.height = 21 * (rows.length / 3);
    plot.autosize = { type: "fit-x", contains: "padding" };
    plot.layer[0].encoding.x.scale = { domain: [0, 1.2 * most], nice: false };
    const saved = structuredClone(plot.layer);
    saved[0].encoding.color.legend = { orient: "bottom", title: null, columns: 1 };
    plot.usermeta = { saved: { layer: saved } };
  });
  return { spec, marks: rows.length };
}

// Rows of the plot of one process against time: two parts per moment, and where phases begin.
function timeRows(store, process) {
  const moments = (store.timesOf.get(process) ?? []).map((row) => store.moment(row));
  const [files, rest] = Object.keys(SHADES);
  const points = moments.flatMap(({ t, rss, files: mapped }) => [
    { t, layer: 0, part: files, mb: mapped / MB },
    { t, layer: 1, part: rest, mb: (rss - mapped) / MB },
  ]);
  const last = moments.at(-1)?.t ?? 0;
  const begun = moments.filter(({ phase }, n) => n && phase !== moments[n - 1].phase);
  const starts = begun.map(({ t, phase }, n) => ({
    t,
    phase,
    tip: phase,
    lines: [["begins after", formatSeconds(t)]],
    // A phase too short for its name is told by the pointer.
    named: (begun[n + 1]?.t ?? last) - t > 0.045 * last,
  }));
  return { points, starts, last, most: Math.max(0, ...moments.map(({ rss }) => rss / MB)) };
}

function timelinePlot({ points, starts, last, most }, width) {
  if (!points.length) return { empty: "No samples were taken." };
  const spec = filled("timeline", { points, starts }, (plot) => {
    plot.width = Math.max(220, width - 4);
    plot.height = 230;
    plot.autosize = { type: "fit-x", contains: "padding" };
    plot.encoding.x.scale.domain = [0, last];
    plot.layer[0].encoding.y.scale.domain = [0, 1.05 * most];
  });
  return { spec, marks: points.length };
}

function iterationsPlot(rows, { most, precision, method }, width) {
  const spec = filled("iterations", { marks: rows }, (plot) => {
    plot.width = Math.max(220, width - 4);
    plot.height = 230;
    plot.autosize = { type: "fit-x", contains: "padding" };
    plot.encoding.y.scale.domain = [0, 1.05 * most];
    plot.encoding.color.scale = { domain: precision };
    plot.encoding.shape.scale = plot.encoding.strokeDash.scale = { domain: method };
  });
  return { spec, marks: rows.length };
}

const MUST_AGREE = [
  ["torch", "torch"],
  ["rung", "rung"],
  ["exporter_rung", "exporter's rung"],
  ["stored_dtype", "stored type"],
  ["compute_dtype", "computed type"],
  ["output_sha", "outputs"],
];

// Two bars per cell; the largest relative change first, what can't be compared last.
function pairsOf(store, cells, before, after, column) {
  const sides = new Map();
  for (const cell of cells) {
    if (!store.number("last", cell)) continue;
    const which = [before, after].indexOf(store.code("revision", cell));
    if (which < 0) continue;
    const pair = store.number("pair", cell);
    if (!sides.has(pair)) sides.set(pair, []);
    sides.get(pair)[which] = cell;
  }
  const pairs = [];
  for (const [a, b] of sides.values()) {
    if (a === undefined || b === undefined) continue;
    const [x, y] = [store.number(column, a), store.number(column, b)];
    if (x === null && y === null) continue;
    const differ = MUST_AGREE.filter(([name]) => {
      const [left, right] = [store.text(name, a), store.text(name, b)];
      return left && right && left !== right;
    }).map(([, title]) => title);
    if ([a, b].some((cell) => store.text("status", cell) !== "ok")) differ.unshift("status");
    const change = x === null || y === null || !x || differ.length ? null : y / x - 1;
    pairs.push({ a, b, x, y, change, differ });
  }
  const size = ({ change }) => (change === null ? -1 : Math.abs(change));
  return pairs.sort((left, right) => size(right) - size(left));
}

function withUnit(text, column) {
  return text && column !== "time" ? `${text} MB` : text;
}

function changeText(change, differ) {
  if (change !== null) return ` (${change < 0 ? "−" : "+"}${(100 * Math.abs(change)).toFixed(1)}%)`;
  return differ.length ? ` (${differ.join(", ")} differ)` : "";
}

function revisionsPlot(store, pairs, column, width) {
  if (!pairs.length) return { empty: "No cell was measured at both." };
  const scale = column === "time" ? 1 : MB;
  const data = pairs.flatMap(({ a, b, x, y, change, differ }, id) =>
    [[a, x], [b, y]].map(([cell, value], which) => ({
      id,
      cell,
      which,
      value: (value ?? 0) / scale,
      name: pairName(store, cell),
      revision: store.text("revision", cell),
      text: withUnit(shown(store, column, cell), column) || store.text("status", cell),
      change: which ? changeText(change, differ) : "",
    })),
  );
  for (const row of data) row.text += row.change;
  const most = Math.max(...data.map((row) => row.value));
  const longest = 6.2 * Math.max(...data.map((row) => row.text.length)) + 12;
  const spec = filled("revisions", { sides: data }, (plot) => {
    plot.width = Math.max(300, width - 4);
    plot.height = 54 * pairs.length;
    plot.autosize = { type: "fit-x", contains: "padding" };
    const { x } = plot.layer[0].encoding;
    x.title = column === "time" ? "seconds" : "MB";
    x.axis.tickCount = Math.max(3, Math.floor(width / 120));
    x.scale.domain = [0, most / Math.max(0.2, 1 - longest / plot.width)];
    x.scale.nice = false;
    plot.layer[0].encoding.color.scale.domain = [...new Set(data.map((row) => row.revision))];
  });
  return { spec, marks: 3 * data.length };
}

// The name of a cell without its revision.
function pairName(store, cell) {
  const name = store.text("name", cell);
  const revision = store.text("revision", cell);
  return name.replace(` ${revision}`, "");
}

function bisectionPlot(content, near, width) {
  const { points, levels, steps, last, title, command } = content;
  const values = points.map((point) => point.y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const zero = high - low > 0.1 * Math.abs(high);
  const around = [Math.min(...steps.map((s) => s.low)) - 12, Math.max(...steps.map((s) => s.high)) + 12];
  const domain = near && steps.length ? [Math.max(0, around[0]), Math.min(last, around[1])] : [-0.01 * last, 1.01 * last];
  const tell = (row) => ({
    ...row,
    command,
    tip: row.title,
    lines: [["measured", `${row.y.toFixed(3)}`], ["commits after good", String(row.x)]],
  });
  const change = (row) => ({ ...row, tip: `change point: ${row.title}`, command, lines: [["step", row.text]] });
  const data = {
    points: points.map(tell),
    levels,
    steps: steps.map(change),
    intervals: steps
      .filter((s) => s.y !== null)
      .map((s) => ({ ...change(s), x2: levels.find((level) => level.x > s.x)?.x2 ?? last })),
  };
  const spec = filled("bisection", data, (plot) => {
    plot.width = Math.max(280, width - 4);
    plot.height = 280;
    plot.autosize = { type: "fit-x", contains: "padding" };
    for (const layer of plot.layer) {
      layer.encoding.x.scale.domain = domain;
      if (layer.encoding.y) layer.encoding.y.scale = zero ? { domain: [0, 1.08 * high] } : { zero: false };
      (typeof layer.mark === "object" ? layer.mark : (layer.mark = {})).clip = true;
      if (layer.encoding.y) layer.encoding.y.title = zero ? title : `${title} (axis not from zero)`;
    }
  });
  return { spec, marks: points.length };
}
