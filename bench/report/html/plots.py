"""The plots as Vega-Lite specifications. Pure: the page fills in the data, sizes and colours.

Data sources are named and empty; ``expr`` refers to the parameters ``dark`` (is the theme dark)
and, in the matrix, to nothing else. Sizes are MB = 10^6 bytes, times are seconds.
"""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PARTS = {
    "baseline": "#9aa3ad",
    "above it, kept at the phase's end": "#4477aa",
    "above it, freed before its end": "#ee8866",
}
"""What the memory of a phase is made of, and its colour: P. Tol's schemes, safe for all eyes."""
SHADES = {"pages of files": "#9aa3ad", "all else": "#4477aa"}
"""What RSS against time is made of, and its colour."""
_TIP = {"content": "data"}
_LINES = "split(datum.label, '\\n')"


def plots() -> dict[str, Spec]:
    """Return every plot by its name."""
    made = {
        "matrix": _matrix(),
        "phases": _phases(),
        "timeline": _timeline(),
        "iterations": _iterations(),
        "revisions": _revisions(),
        "bisection": _bisection(),
    }
    return {name: {"$schema": SCHEMA, **spec} for name, spec in made.items()}


def _matrix() -> Spec:
    """Heat map: one rectangle per cell; ``shade`` (0 to 1) is its value over the highest."""
    x = {
        "field": "top",
        "type": "nominal",
        "sort": None,
        "axis": {"orient": "top", "title": None, "labelAngle": 0, "labelExpr": _LINES},
    }
    y = {
        "field": "side",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelExpr": _LINES},
    }
    bad = "datum.shade === null"
    ink = f"{bad} ? (dark ? '#ddd' : '#333') : (datum.shade > 0.5) != dark ? '#fff' : '#111'"
    return {
        "description": "Heat map of the matrix: one field per cell, its value written in it.",
        "params": [{"name": "dark", "value": False}],
        "data": {"name": "cells"},
        "encoding": {"x": x, "y": y},
        "layer": [
            {
                "mark": {
                    "type": "rect",
                    "invalid": "show",  # what has no value is a cell all the same
                    "tooltip": _TIP,
                    "cursor": "pointer",
                    "strokeDash": [3, 2],
                },
                "encoding": {
                    "color": {
                        "condition": {
                            "test": "datum.shade !== null",
                            "field": "shade",
                            "type": "quantitative",
                            "scale": {"domain": [0, 1]},
                            "legend": None,
                        },
                        "value": "#88888840",
                    },
                    "stroke": {
                        "condition": {"test": "datum.status != 'ok'", "value": "#c4541a"},
                        "value": None,
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11, "tooltip": _TIP, "cursor": "pointer"},
                "encoding": {
                    "text": {"field": "text", "type": "nominal"},
                    "color": {"value": {"expr": ink}},
                },
            },
        ],
        "config": {"scale": {"bandPaddingInner": 0.04, "bandPaddingOuter": 0}},
    }


def _phases() -> Spec:
    """Stacked bars, one per phase and in their order: baseline, kept at its end, freed before."""
    return {
        "description": "Memory in each phase of one process, in MB of RSS, from zero.",
        "data": {"name": "phases"},
        "encoding": {
            "y": {
                "field": "phase",
                "type": "nominal",
                "sort": None,
                "axis": {"title": None, "ticks": False, "domain": False},
            }
        },
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": _TIP},
                "encoding": {
                    "x": {
                        "field": "mb",
                        "type": "quantitative",
                        "stack": True,
                        "title": "RSS, MB",
                        "scale": {"zero": True},
                        "axis": {"tickCount": 4},
                    },
                    "order": {"field": "layer", "type": "quantitative"},
                    "color": {
                        "field": "part",
                        "type": "nominal",
                        "sort": None,
                        "scale": {"domain": [*PARTS], "range": [*PARTS.values()]},
                        "legend": None,
                    },
                },
            },
            {
                "transform": [{"filter": "datum.layer === 2"}],
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {
                    "x": {"field": "peak", "type": "quantitative"},
                    "text": {"field": "peak", "type": "quantitative", "format": ".1f"},
                    "opacity": {"condition": {"test": "datum.highest", "value": 1}, "value": 0.65},
                },
            },
        ],
    }


def _timeline() -> Spec:
    """Stacked areas: RSS of one process against time, with a rule where each phase begins."""
    x = {"field": "t", "type": "quantitative", "title": "seconds since the process was started"}
    ink = {"expr": "dark ? '#ddd' : '#333'"}
    return {
        "description": "RSS of one process against time, in MB from zero, with its phases.",
        "params": [{"name": "dark", "value": False}],
        "encoding": {"x": {**x, "scale": {"nice": False}, "axis": {"grid": False}}},
        "layer": [
            {
                "data": {"name": "points"},
                "mark": {"type": "area", "interpolate": "step-after"},
                "encoding": {
                    "y": {
                        "field": "mb",
                        "type": "quantitative",
                        "stack": "zero",
                        "title": "RSS, MB",
                        "scale": {"zero": True, "nice": False},
                    },
                    "order": {"field": "layer", "type": "quantitative"},
                    "color": {
                        "field": "part",
                        "type": "nominal",
                        "scale": {"domain": [*SHADES], "range": [*SHADES.values()]},
                        "legend": None,
                    },
                },
            },
            {
                "data": {"name": "starts"},
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": ink, "tooltip": _TIP},
            },
            {
                "data": {"name": "starts"},
                "transform": [{"filter": "datum.named"}],
                "mark": {
                    "type": "text",
                    "angle": 270,
                    "align": "right",
                    "baseline": "top",
                    "dx": -2,
                    "dy": 3,
                    "fontSize": 10,
                    "color": ink,
                },
                "encoding": {
                    "y": {"value": 0},
                    "text": {"field": "phase", "type": "nominal"},
                },
            },
        ],
    }


def _iterations() -> Spec:
    """Lines: RSS above the baseline after so many executions of one process."""
    return {
        "description": "RSS above the baseline against the number of executions, in MB, from zero.",
        "data": {"name": "marks"},
        "mark": {"type": "line", "point": {"size": 55, "filled": True}, "tooltip": _TIP},
        "encoding": {
            "x": {
                "field": "iterations",
                "type": "quantitative",
                "title": "executions in one process",
                "scale": {"domainMin": 0},
                "axis": {"tickMinStep": 1, "grid": False},
            },
            "y": {
                "field": "mb",
                "type": "quantitative",
                "title": "RSS above the baseline, MB",
                "scale": {"zero": True},
            },
            "color": {"field": "precision", "type": "nominal", "sort": None, "title": None},
            "strokeDash": {"field": "method", "type": "nominal", "sort": None, "title": None},
            "shape": {"field": "method", "type": "nominal", "sort": None, "title": None},
            "detail": {"field": "line", "type": "nominal"},
        },
        "config": {"legend": {"orient": "bottom", "columns": 3, "direction": "horizontal"}},
    }


def _revisions() -> Spec:
    """Bars from zero, two per cell: before and after; the name of the cell stands above them."""
    y = {"field": "id", "type": "nominal", "sort": None, "axis": None}
    offset = {"field": "which", "type": "nominal", "sort": None}
    wide = {"paddingInner": 0.5, "paddingOuter": 0.4}
    return {
        "description": "Bars from zero: each cell before and after, with the change in percent.",
        "data": {"name": "sides"},
        "encoding": {"y": {**y, "scale": wide}},
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": _TIP},
                "encoding": {
                    "x": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {"zero": True},
                        "axis": {"orient": "top"},
                    },
                    "yOffset": offset,
                    "color": {
                        "field": "revision",
                        "type": "nominal",
                        "sort": None,
                        "scale": {"range": ["#9aa3ad", "#4477aa"]},
                        "legend": {"orient": "top", "title": None, "labelLimit": 0},
                    },
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11},
                "encoding": {
                    "x": {"field": "value", "type": "quantitative"},
                    "yOffset": offset,
                    "text": {"field": "text", "type": "nominal"},
                },
            },
            {
                "transform": [{"filter": "datum.which === 0"}],
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "bottom",
                    "fontWeight": "bold",
                    "fontSize": 12,
                    "dy": {"expr": "-bandwidth('y') / 2 - 3"},
                },
                "encoding": {
                    "x": {"value": 0},
                    "text": {"field": "name", "type": "nominal"},
                },
            },
        ],
    }


def _bisection() -> Spec:
    """Points along the commits, the levels before and after, the change point and its interval."""
    x = {"type": "quantitative", "scale": {"nice": False}, "axis": {"tickMinStep": 1}}
    y = {"type": "quantitative", "scale": {"zero": True}}
    title = {"title": "commits after good"}
    return {
        "description": "Measured values along the commits, with the change point, its credible "
        "set and the interval of the step.",
        "layer": [
            {
                "data": {"name": "steps"},
                "mark": {"type": "rect", "color": "#ee8866", "opacity": 0.3, "tooltip": _TIP},
                "encoding": {"x": {"field": "low", **x, **title}, "x2": {"field": "high"}},
            },
            {
                "data": {"name": "intervals"},
                "mark": {"type": "rect", "color": "#4477aa", "opacity": 0.25, "tooltip": _TIP},
                "encoding": {
                    "x": {"field": "x", **x},
                    "x2": {"field": "x2"},
                    "y": {"field": "y", **y},
                    "y2": {"field": "y2"},
                },
            },
            {
                "data": {"name": "levels"},
                "mark": {"type": "rule", "color": "#4477aa", "size": 2},
                "encoding": {
                    "x": {"field": "x", **x},
                    "x2": {"field": "x2"},
                    "y": {"field": "y", **y},
                },
            },
            {
                "data": {"name": "steps"},
                "mark": {"type": "rule", "color": "#c4541a", "size": 2, "tooltip": _TIP},
                "encoding": {"x": {"field": "x", **x}},
            },
            {
                "data": {"name": "points"},
                "mark": {"type": "point", "filled": True, "opacity": 0.85, "tooltip": _TIP},
                "encoding": {
                    "x": {"field": "x", **x},
                    "y": {"field": "y", **y},
                    "color": {"value": {"expr": "dark ? '#eee' : '#222'"}},
                },
            },
        ],
        "params": [{"name": "dark", "value": False}],
    }
