// Which cells are looked at: one choice per axis, words to search for, or a given set of cells.

const FILTERED = [
  ...["model", "precision", "backend", "method", "revision", "iterations", "samples", "runner"],
  ...["allocator", "load_mode", "machine", "torch", "rung", "device", "metric_kind", "measured_by"],
  ...["source", "status"],
];

class Filter {
  constructor(store, form, changed) {
    this.store = store;
    this.form = form;
    this.changed = changed;
    this.chosen = new Map();
    this.words = [];
    this.only = null;
    this.build();
    this.apply();
  }

  build() {
    const search = make("input", { type: "search", placeholder: "words in any column" });
    search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(search.value), 150);
    });
    const axes = make("div", { class: "axes" });
    for (const column of this.store.varying(FILTERED)) axes.append(this.select(column));
    const more = make("button", { type: "button", class: "more", "aria-expanded": "false" }, "Filter");
    more.addEventListener("click", () => {
      const open = this.form.classList.toggle("open");
      more.setAttribute("aria-expanded", String(open));
    });
    this.reset = make("button", { type: "button" }, "Show all");
    this.reset.addEventListener("click", () => this.clear());
    this.output = make("output");
    this.searchBox = search;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.append(make("label", { class: "search" }, "Search", search), more, axes);
    this.form.append(this.reset, this.output);
  }

  select(column) {
    const names = this.store.texts[column].names;
    const options = names.map((name, code) => make("option", { value: code }, name || "(none)"));
    const select = make("select", { name: column }, make("option", { value: "" }, "all"), ...options);
    select.addEventListener("change", () => this.choose(column, select.value));
    return make("label", {}, column.replace("_", " "), select);
  }

  choose(column, code) {
    if (code === "") this.chosen.delete(column);
    else this.chosen.set(column, Number(code));
    this.apply();
  }

  search(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.apply();
  }

  // Look at these cells alone, such as the evidence of a conclusion.
  show(cells) {
    this.clear(new Set(cells));
  }

  showStatus(status) {
    this.clear();
    const code = this.store.texts.status.names.indexOf(status);
    const select = this.form.querySelector("select[name=status]");
    if (select) select.value = String(code);
    this.choose("status", code);
  }

  clear(only = null) {
    this.chosen.clear();
    this.words = [];
    this.only = only;
    this.searchBox.value = "";
    for (const select of this.form.querySelectorAll("select")) select.value = "";
    this.apply();
  }

  apply() {
    const { store } = this;
    const tests = [...this.chosen].map(([column, code]) => [store.texts[column].codes, code]);
    this.cells = [];
    for (let cell = 0; cell < store.count; cell += 1) {
      if (this.only && !this.only.has(cell)) continue;
      if (!tests.every(([codes, code]) => codes[cell] === code)) continue;
      if (this.words.length && !this.hasWords(cell)) continue;
      this.cells.push(cell);
    }
    const all = this.cells.length === store.count;
    this.output.textContent = all
      ? `all ${store.count} cells`
      : `${this.cells.length} of ${store.count} cells`;
    this.reset.disabled = all && !this.words.length && !this.chosen.size;
    this.changed(this.cells);
  }

  hasWords(cell) {
    this.haystacks ??= new Array(this.store.count);
    this.haystacks[cell] ??= ["name", "revision", "status", "reason", "runner", "allocator", "undelegated_ops"]
      .concat(["stored_dtype", "compute_dtype", "torch", "machine"])
      .map((column) => this.store.text(column, cell))
      .join(" ")
      .toLowerCase();
    return this.words.every((word) => this.haystacks[cell].includes(word));
  }
}
