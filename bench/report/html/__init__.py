"""``report.html``: one self-contained page of a run, its conclusions first.

Vega-Lite draws the plots: declared rather than programmed, with tooltips, ARIA labels and SVG and
PNG export of its own, 0.9 MB against the 4.5 MB of plotly.js. ``vl-convert`` carries its
JavaScript, so that none is kept here, and renders the same specifications in tests, where there
is no browser.
"""

from bench.report.html.document import write_report

__all__ = ["write_report"]
