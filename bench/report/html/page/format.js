// Numbers as text, as the terminal's tables print them. MB is 10^6 bytes.

const MB = 1e6;

function formatMb(bytes) {
  if (bytes === null) return "";
  return (bytes / MB).toFixed(Math.abs(bytes) < 1e10 ? 1 : 0);
}

function formatSeconds(seconds) {
  if (seconds === null) return "";
  if (seconds > 0 && seconds < 0.01) return `${Number((1000 * seconds).toPrecision(2))} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 100) return `${seconds.toFixed(0)} s`;
  if (seconds < 5400) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function formatRatio(ratio) {
  return ratio === null ? "" : `${ratio.toFixed(2)}x`;
}

function formatPercent(share) {
  return share === null ? "" : `${(100 * share).toFixed(2)}%`;
}

const FORMATS = {
  ratio: formatRatio,
  time: formatSeconds,
  spread: formatPercent,
  exec_median_s: formatSeconds,
  total_s: formatSeconds,
};
const PEAKS = ["ratio", "peak_delta_bytes", "peak_bytes"];

// A value of a cell as text; a censored one is marked as the lower bound it is.
function shown(store, column, cell) {
  const text = (FORMATS[column] ?? formatMb)(store.number(column, cell));
  return text && PEAKS.includes(column) && store.isBound(cell) ? `≥ ${text}` : text;
}

// An element with attributes and children; text is always text, never markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function say(words) {
  document.getElementById("said").textContent = words;
}
