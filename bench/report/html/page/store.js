// The cells and phases of the report, unpacked. A text column has each value once, in `names`,
// and a code per cell; codes sort as a person would. Sizes are bytes, times seconds.
"use strict";

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Store {
  constructor({ cells, phases, timeline, bisection }) {
    this.count = cells.count;
    this.texts = cells.texts;
    this.numbers = cells.numbers;
    this.phases = phases;
    this.timeline = timeline;
    this.bisection = bisection;
    this.ofProcess = groupBy(phases.process, (process) => process);
    this.timesOf = groupBy(timeline.process, (process) => process);
  }

  all() {
    return [...Array(this.count).keys()];
  }

  text(column, cell) {
    const { names, codes } = this.texts[column];
    return names[codes[cell]];
  }

  code(column, cell) {
    return this.texts[column].codes[cell];
  }

  // A number, or null where it is missing. `ratio` and `time` are made from others.
  number(column, cell) {
    if (column === "ratio") {
      const [peak, file] = [this.number("peak_delta_bytes", cell), this.number("pte_bytes", cell)];
      return peak === null || !file ? null : peak / file;
    }
    if (column === "time") return this.number("exec_median_s", cell) ?? this.number("total_s", cell);
    if (column === "spread") {
      const median = this.number("peak_delta_bytes", cell);
      if (this.number("repeats", cell) < 2 || !median) return null;
      return (this.number("highest", cell) - this.number("lowest", cell)) / median;
    }
    return this.numbers[column][cell];
  }

  isBound(cell) {
    return this.text("status", cell) === "over_memory";
  }

  // The columns among `columns` on which cells differ; an empty value is no value.
  varying(columns) {
    return columns.filter((c) => this.texts[c].names.filter((name) => name !== "").length > 1);
  }

  // What one row of timeline.csv says; all of it counts as "all else" where files are not told apart.
  moment(row) {
    const { phase, t_s, rss_bytes, file_bytes } = this.timeline;
    return {
      phase: phase.names[phase.codes[row]],
      t: t_s[row],
      rss: rss_bytes[row],
      files: file_bytes[row] ?? 0,
    };
  }

  // What one row of phases.csv says.
  phase(row) {
    const { phase, seconds, rss_bytes, peak_bytes } = this.phases;
    return {
      name: phase.names[phase.codes[row]],
      seconds: seconds[row],
      rss: rss_bytes[row],
      peak: peak_bytes[row],
    };
  }
}

// Positions of `items` by what `key` makes of each, in order of first appearance.
function groupBy(items, key) {
  const groups = new Map();
  items.forEach((item, position) => {
    const name = key(item);
    if (groups.has(name)) groups.get(name).push(position);
    else groups.set(name, [position]);
  });
  return groups;
}
