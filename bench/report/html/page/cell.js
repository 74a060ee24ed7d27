// What is said of one cell: under the pointer in short, in a dialog in full.

const FIGURES = [
  ["peak_delta_bytes", "peak above the baseline", "MB"],
  ["peak_bytes", "peak in total", "MB"],
  ["first_peak_bytes", "peak of the first execution", "MB"],
  ["load_bytes", "RSS after loading", "MB"],
  ["steady_bytes", "RSS after the last execution", "MB"],
  ["baseline_bytes", "baseline (RSS after the imports)", "MB"],
  ["pte_bytes", "file", "MB"],
  ["planned_bytes", "planned buffers", "MB"],
  ["ratio", "peak above the baseline / file", ""],
  ["time", "median execution, or export", ""],
  ["total_s", "whole process", ""],
];
const SHORT = ["peak_delta_bytes", "peak_bytes", "pte_bytes", "ratio", "time"];
const DETAILS = [
  ...["stored_dtype", "compute_dtype", "revision", "rung", "why", "torch", "allocator", "load_mode"],
  ...["runner", "samples", "max_tokens", "seed", "machine", "crosscheck", "output_sha", "undelegated_ops"],
  ...["device", "metric_kind", "measured_by", "source"],
];

function figures(store, cell, only = null) {
  const lines = [];
  for (const [column, title, unit] of FIGURES) {
    const text = shown(store, column, cell);
    if (text && (!only || only.includes(column))) lines.push([title, `${text} ${unit}`.trim()]);
  }
  const repeats = store.number("repeats", cell);
  if (repeats > 1 && store.number("lowest", cell) !== null) {
    const range = ["lowest", "highest"].map((column) => formatMb(store.number(column, cell)));
    lines.push([`peaks of ${repeats} repeats`, `${range.join(" to ")} MB`]);
  }
  return lines;
}

function definitions(lines) {
  const list = make("dl");
  for (const [term, text] of lines) list.append(make("dt", {}, term), make("dd", {}, text));
  return list;
}

class Tip {
  constructor(store, element) {
    this.store = store;
    this.element = element;
    document.addEventListener("scroll", () => this.hide(), { passive: true, capture: true });
  }

  // A handler as vega-embed takes it. What a mark says is its `lines`, or those of its `cell`.
  handler() {
    return (_handler, event, item, value) => {
      const datum = value && item?.datum;
      if (datum?.cell === undefined && !datum?.lines) this.hide();
      else this.show(event, datum);
    };
  }

  show(event, datum) {
    const { cell } = datum;
    const title = datum.tip ?? this.store.text("name", cell);
    const lines = datum.lines ?? figures(this.store, cell, SHORT);
    const status = cell === undefined ? "ok" : this.store.text("status", cell);
    const command = datum.command ?? (cell === undefined ? null : this.store.text("command", cell));
    this.element.replaceChildren(make("strong", {}, title));
    if (status !== "ok") {
      const reason = this.store.text("reason", cell);
      this.element.append(make("div", { class: `status ${status}` }, `${status}: ${reason}`));
    }
    this.element.append(definitions(lines));
    if (command) this.element.append(make("code", {}, command));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - width - 6);
    const below = event.clientY + 18;
    const top = below + height > innerHeight - 6 ? event.clientY - height - 12 : below;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

// The code of a `.command` box with a button that copies it.
function withCopy(box) {
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    const code = box.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      say("copied");
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    } catch {
      getSelection().selectAllChildren(code); // no clipboard on this page: ready for Ctrl+C
    }
  });
  box.append(button);
  return box;
}

class CellDialog {
  constructor(store, element, drawPhases) {
    this.store = store;
    this.element = element;
    this.drawPhases = drawPhases;
  }

  open(cell) {
    const { store } = this;
    const close = make("button", { type: "button", class: "close" }, "Close");
    close.addEventListener("click", () => this.element.close());
    const title = make("h2", { id: "cell-title" }, store.text("name", cell));
    const status = store.text("status", cell);
    const said = [status, store.text("reason", cell)].filter(Boolean).join(": ");
    const words = store.text("command", cell);
    const command = words ? [withCopy(make("div", { class: "command" }, make("code", {}, words)))] : [];
    const plot = make("figure");
    const details = DETAILS.map((column) => [column.replaceAll("_", " "), store.text(column, cell)]);
    const nodes = store.number("delegated_nodes", cell);
    const outside = store.number("undelegated_nodes", cell);
    if (nodes !== null) details.push(["nodes in / outside delegates", `${nodes} / ${outside}`]);
    this.element.replaceChildren(
      close,
      title,
      make("p", { class: `status ${status}` }, said),
      ...command,
      facts(figures(store, cell)),
      plot,
      facts(details.filter(([, text]) => text)),
    );
    if (!this.element.open) this.element.showModal();
    this.element.scrollTop = 0;
    this.drawPhases(plot, store.number("process", cell), cell);
  }
}

function facts(lines) {
  const list = make("dl", { class: "facts" });
  for (const [term, text] of lines) {
    list.append(make("div", {}, make("dt", {}, term), make("dd", {}, text)));
  }
  return list;
}
