// Ties the page together.

const { parts: PARTS, shades: SHADES } = JSON.parse(document.getElementById("facts").textContent);
const CARDS = 6; // small plots shown at first, and added by "Show more"
const PAIRS = 25;
const ROWS = 60; // of the matrix

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function followTheme(redraw) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  setTheme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => {
    if (chosen) return;
    setTheme(system.matches ? "dark" : "light");
    redraw();
  });
  document.getElementById("theme").addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    setTheme(chosen);
    redraw();
  });
}

// Small plots side by side, a few at first; `items` are what `add` makes a plot of.
class Cards {
  constructor(place, add) {
    Object.assign(this, { place, add, plots: [], items: [], count: CARDS });
    this.more = make("button", { type: "button", class: "more" }, "Show more");
    this.more.addEventListener("click", () => {
      this.count += CARDS;
      this.fill();
    });
    place.after(this.more);
  }

  show(items) {
    for (const plot of this.plots) plot.drop();
    this.plots = [];
    this.place.replaceChildren();
    Object.assign(this, { items, count: CARDS });
    this.fill();
  }

  fill() {
    for (const item of this.items.slice(this.plots.length, this.count)) {
      const figure = make("figure", {}, make("figcaption"), make("div", { class: "plot" }));
      figure.append(make("div", { class: "controls" }));
      this.place.append(figure);
      this.plots.push(this.add(figure, item));
    }
    const left = this.items.length - this.plots.length;
    this.more.hidden = left <= 0;
    this.more.textContent = `Show more (${left} left)`;
  }
}

// How many cells each revision shares with this one.
function shared(store, before) {
  const [pairs, codes] = [store.numbers.pair, store.texts.revision.codes];
  const mine = new Set(pairs.filter((_, cell) => codes[cell] === before));
  const counts = store.texts.revision.names.map(() => 0);
  pairs.forEach((pair, cell) => (counts[codes[cell]] += mine.has(pair)));
  counts[before] = 0;
  return counts;
}

// Begin with the first of a select's values that most of these cells have, not with an empty plot.
function startWith(select, store, cells) {
  const values = [...select.options].map((option) => option.value);
  const known = (value) => cells.filter((cell) => store.number(value, cell) !== null).length;
  select.value = values.find((value) => 2 * known(value) >= cells.length) ?? values[0];
}

class Page {
  constructor(store) {
    this.store = store;
    this.cells = [];
    this.plots = [];
    this.cards = [];
    this.tip = new Tip(store, document.getElementById("tip"));
    this.dialog = new CellDialog(store, document.getElementById("cell"), (figure, process, cell) =>
      this.inDialog(figure, process, cell),
    );
    this.open = (cell) => this.dialog.open(cell);
    if (store.bisection) this.addBisection();
    if (store.count) this.addCells();
  }

  addCells() {
    this.addMatrix();
    if (document.getElementById("revisions")) this.addRevisions();
    if (document.getElementById("phases")) this.addPhases();
    if (document.getElementById("timeline")) this.addTimeline();
    if (document.getElementById("iterations")) this.addIterations();
    this.table = new Table(this.store, document.getElementById("cells"), this.open);
    const filter = new Filter(this.store, document.getElementById("filters"), (cells) => this.see(cells));
    for (const chip of document.querySelectorAll("[data-cells]")) {
      chip.addEventListener("click", () => {
        filter.show(chip.dataset.cells.split(" ").map(Number));
        document.getElementById("filters").scrollIntoView({ block: "start" });
      });
    }
    for (const chip of document.querySelectorAll("[data-status]")) {
      chip.addEventListener("click", () => {
        filter.showStatus(chip.dataset.status);
        document.getElementById("cells").scrollIntoView({ block: "start" });
      });
    }
  }

  // Look at these cells from now on.
  see(cells) {
    this.cells = cells;
    this.table.show(cells);
    for (const update of this.cards) update();
    this.redraw();
  }

  redraw() {
    for (const plot of this.plots) plot.invalidate();
    for (const cards of [this.phaseCards, this.timeCards, this.markCards]) {
      for (const plot of cards?.plots ?? []) plot.invalidate();
    }
  }

  addMatrix() {
    const figure = document.querySelector("[data-plot=matrix]");
    const select = figure.querySelector("select");
    startWith(select, this.store, this.store.all());
    const title = () => select.selectedOptions[0].textContent;
    const more = make("button", { type: "button", class: "more" });
    const note = make("p", { class: "quiet" });
    figure.append(note, more);
    let rows = ROWS;
    const made = (width) => {
      const plot = matrixPlot(this.store, this.cells, select.value, rows, width);
      more.hidden = !plot.left;
      more.textContent = `Show more rows (${plot.left} left)`;
      note.textContent = plot.note ?? "";
      return plot;
    };
    const plot = new Plot(figure, title, made, this.tip, this.open);
    select.addEventListener("change", () => plot.invalidate());
    more.addEventListener("click", () => {
      rows += ROWS;
      plot.invalidate();
    });
    this.plots.push(plot);
  }

  addRevisions() {
    const { store } = this;
    const figure = document.querySelector("[data-plot=revisions]");
    const [before, after, value] = figure.querySelectorAll("select");
    const names = store.texts.revision.names;
    for (const select of [before, after]) {
      select.append(...names.map((name, code) => make("option", { value: code }, name || "(none)")));
    }
    // The first that shares cells with any, and of those with most in common the latest.
    let [first, counts] = [0, shared(store, 0)];
    while (first < names.length - 1 && !counts.some(Boolean)) counts = shared(store, ++first);
    before.value = String(first);
    after.value = String(counts.lastIndexOf(Math.max(...counts)));
    const shown = [before, after].map((select) => Number(select.value));
    const compared = (cell) => shown.includes(store.code("revision", cell));
    startWith(value, store, store.all().filter(compared));
    const title = () => {
      const [a, b, v] = [before, after, value].map((select) => select.selectedOptions[0].textContent);
      return `${v}: ${a} and ${b}`;
    };
    const more = make("button", { type: "button", class: "more" });
    figure.append(more);
    let count = PAIRS;
    const made = (width) => {
      const codes = [before, after].map((select) => Number(select.value));
      const pairs = pairsOf(store, this.cells, ...codes, value.value);
      more.hidden = pairs.length <= count;
      more.textContent = `Show more (${pairs.length - count} left)`;
      return revisionsPlot(store, pairs.slice(0, count), value.value, width);
    };
    const plot = new Plot(figure, title, made, this.tip, this.open);
    for (const select of [before, after, value]) {
      select.addEventListener("change", () => plot.invalidate());
    }
    more.addEventListener("click", () => {
      count += PAIRS;
      plot.invalidate();
    });
    this.plots.push(plot);
  }

  addPhases() {
    const { store } = this;
    let most = 0;
    this.phaseCards = new Cards(document.querySelector("[data-cards=phases]"), (figure, cell) => {
      const name = store.text("name", cell);
      figure.firstChild.textContent = name;
      const rows = phaseRows(store, store.number("process", cell), cell);
      return new Plot(figure, () => name, (width) => phasesPlot(rows, most, width), this.tip, this.open);
    });
    this.cards.push(() => {
      const cells = this.cells.filter(
        (cell) => store.number("last", cell) && store.ofProcess.has(store.number("process", cell)),
      );
      most = 0;
      for (const cell of cells) {
        for (const row of store.ofProcess.get(store.number("process", cell))) {
          most = Math.max(most, store.phases.peak_bytes[row] / MB);
        }
      }
      this.phaseCards.show(cells);
    });
  }

  addTimeline() {
    const { store } = this;
    this.timeCards = new Cards(document.querySelector("[data-cards=timeline]"), (figure, cell) => {
      const name = store.text("name", cell);
      figure.firstChild.textContent = name;
      const rows = timeRows(store, store.number("process", cell));
      return new Plot(figure, () => name, (width) => timelinePlot(rows, width), this.tip);
    });
    this.cards.push(() => {
      const timed = (cell) => store.number("last", cell) && store.timesOf.has(store.number("process", cell));
      this.timeCards.show(this.cells.filter(timed));
    });
  }

  // One plot for each model and backend (and whatever else differs), one line for each process.
  addIterations() {
    const { store } = this;
    const inCard = store.varying(["model", "backend", "revision", "allocator", "load_mode", "samples", "machine"]);
    const all = {};
    this.markCards = new Cards(document.querySelector("[data-cards=iterations]"), (figure, { name, rows }) => {
      figure.firstChild.textContent = name;
      return new Plot(figure, () => name, (width) => iterationsPlot(rows, all, width), this.tip, this.open);
    });
    this.cards.push(() => {
      const marks = this.cells.filter(
        (cell) => store.text("iterations", cell) !== "" && store.number("steady_bytes", cell) !== null,
      );
      const label = (cell) => inCard.map((column) => store.text(column, cell)).filter(Boolean).join(" ");
      const rows = marks.map((cell) => ({
        cell,
        iterations: Number(store.text("iterations", cell)),
        mb: (store.number("steady_bytes", cell) - store.number("baseline_bytes", cell)) / MB,
        precision: store.text("precision", cell),
        method: store.text("method", cell),
        line: store.number("process", cell),
      }));
      // One scale and one colour for a precision in all the plots: they are read side by side.
      all.most = rows.reduce((high, row) => Math.max(high, row.mb), 0);
      for (const column of ["precision", "method"]) {
        all[column] = store.texts[column].names.filter((name) => rows.some((row) => row[column] === name));
      }
      const cards = [...groupBy(marks, label)].map(([name, places]) => ({
        name: name || "all cells",
        rows: places.map((place) => rows[place]),
      }));
      this.markCards.show(cards);
    });
  }

  addBisection() {
    const figure = document.querySelector("[data-plot=bisection]");
    if (!figure) return;
    const select = figure.querySelector("select");
    const title = () => document.getElementById("bisection-title").textContent;
    const made = (width) => bisectionPlot(this.store.bisection, select.value === "near", width);
    const plot = new Plot(figure, title, made, this.tip);
    select.addEventListener("change", () => plot.invalidate());
    this.plots.push(plot);
  }

  inDialog(figure, process, cell) {
    const rows = phaseRows(this.store, process, cell);
    if (!rows.length) return;
    figure.append(make("div", { class: "plot" }), make("div", { class: "controls" }));
    const most = Math.max(...rows.map((row) => row.peak));
    const made = (width) => phasesPlot(rows, most, width);
    new Plot(figure, () => this.store.text("name", cell), made, this.tip);
  }
}

async function start() {
  let page = null;
  followTheme(() => page?.redraw());
  for (const box of document.querySelectorAll("main .command")) withCopy(box);
  page = new Page(new Store(await unpack(document.getElementById("data").textContent)));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return; // a phone's address bar going away
    width = innerWidth;
    page.redraw();
  });
  document.documentElement.dataset.ready = "yes";
}

start();
