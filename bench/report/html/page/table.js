// The table of cells: sorted by any column, in pages, so that any number of rows stays quick.

const AXES = [
  ...["model", "precision", "backend", "revision", "runner", "allocator", "load_mode", "samples"],
  ...["max_tokens", "seed", "rung", "torch", "machine", "device", "metric_kind", "measured_by"],
];
const PAGE = 100;

// [title, column, what it is: "code" sorts and shows a text column, "number" a number, meaning]
const COLUMNS = [
  ["method", "method", "code", "export, or the method run"],
  ["runs", "iterations", "count", "executions of the process so far"],
  ["peak, MB", "peak_delta_bytes", "number", "highest RSS above the baseline"],
  ["spread", "spread", "number", "of the repeats: (highest - lowest) / median peak"],
  ["total, MB", "peak_bytes", "number", "highest RSS with what the imports keep"],
  ["first, MB", "first_peak_bytes", "number", "highest RSS during the first execution"],
  ["steady, MB", "steady_bytes", "number", "RSS after the last execution"],
  ["d/file", "ratio", "number", "peak over the size of the file"],
  ["time", "time", "number", "median execution, or the export"],
  [".pte, MB", "pte_bytes", "number", "size of the program file"],
  ["deleg/not", "delegated_nodes", "nodes", "graph nodes inside delegates, and operator calls outside"],
  ["status", "status", "code", "ok, or why there is no measurement"],
];

class Table {
  constructor(store, section, open) {
    this.store = store;
    this.body = section.querySelector("tbody");
    this.nav = section.querySelector(".pages");
    this.open = open;
    this.page = 0;
    this.sorted = { column: null, down: false };
    this.cells = [];
    const axes = store.varying(AXES).map((column) => [column.replace("_", " "), column, "code", column]);
    const repeated = store.numbers.repeats.some((count) => count > 1);
    this.columns = [...axes, ...COLUMNS.filter(([, column]) => repeated || column !== "spread")];
    this.head(section.querySelector("thead"));
    this.body.addEventListener("click", (event) => this.choose(event.target));
    this.body.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.choose(event.target);
    });
  }

  head(thead) {
    const row = make("tr");
    for (const [title, column, kind, meaning] of this.columns) {
      const button = make("button", { type: "button", title: meaning }, title);
      const cell = make("th", { scope: "col", class: kind === "code" ? "" : "number" }, button);
      button.addEventListener("click", () => this.sortBy(column, cell));
      row.append(cell);
    }
    thead.replaceChildren(row);
  }

  sortBy(column, header) {
    const down = this.sorted.column === column && !this.sorted.down;
    this.sorted = { column, down };
    for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    this.page = 0;
    this.sort();
    this.render();
  }

  show(cells) {
    this.cells = [...cells];
    this.page = 0;
    this.sort();
    this.render();
  }

  // Missing values stand last, whichever way it goes; equal ones stay in the matrix's order.
  sort() {
    const { column, down } = this.sorted;
    if (column === null) return;
    const isText = column in this.store.texts;
    const value = (cell) => (isText ? this.textRank(column, cell) : this.store.number(column, cell));
    const sign = down ? -1 : 1;
    const keyed = this.cells.map((cell) => [value(cell), cell]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === b) return i - j;
      if (a === null || b === null) return a === null ? 1 : -1;
      return sign * (a - b);
    });
    this.cells = keyed.map(([, cell]) => cell);
  }

  textRank(column, cell) {
    return this.store.text(column, cell) === "" ? null : this.store.code(column, cell);
  }

  render() {
    const from = this.page * PAGE;
    this.body.replaceChildren(...this.cells.slice(from, from + PAGE).map((cell) => this.row(cell)));
    const pages = Math.max(1, Math.ceil(this.cells.length / PAGE));
    this.nav.replaceChildren();
    if (pages > 1) {
      this.nav.append(
        this.turn("Previous", -1, this.page > 0),
        `page ${this.page + 1} of ${pages}`,
        this.turn("Next", 1, this.page < pages - 1),
      );
    }
  }

  turn(words, by, possible) {
    const button = make("button", { type: "button" }, words);
    button.disabled = !possible;
    button.addEventListener("click", () => {
      this.page += by;
      this.render();
    });
    return button;
  }

  row(cell) {
    const status = this.store.text("status", cell);
    const row = make("tr", { tabindex: 0, "data-cell": cell });
    for (const [, column, kind] of this.columns) {
      const text = this.value(column, kind, cell);
      const marked = column === "status" ? `status ${status}` : kind === "code" ? "" : "number";
      row.append(make("td", { class: marked, ...(text.length > 40 ? { title: text } : {}) }, text));
    }
    return row;
  }

  value(column, kind, cell) {
    if (kind === "code" || kind === "count") return this.store.text(column, cell);
    if (kind === "nodes") {
      const nodes = ["delegated_nodes", "undelegated_nodes"].map((name) => this.store.number(name, cell));
      return nodes[0] === null ? "" : nodes.join("/");
    }
    return shown(this.store, column, cell);
  }

  choose(target) {
    const row = target.closest("tr[data-cell]");
    if (row) this.open(Number(row.dataset.cell));
  }
}
