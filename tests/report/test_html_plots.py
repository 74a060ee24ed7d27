import copy

import pytest
import vl_convert

from bench.report.html.plots import PARTS, SHADES, plots

DATA = {
    "matrix": {
        "cells": [
            {"top": "encode", "side": "tiny", "status": "ok", "shade": 1.0, "text": "3.51x"},
            {"top": "decode", "side": "tiny", "status": "failed", "shade": None, "text": "failed"},
        ]
    },
    "phases": {
        "phases": [
            {"phase": "lower", "layer": n, "part": p, "mb": 1, "peak": 3.5, "highest": True}
            for n, p in enumerate(PARTS)
        ]
    },
    "timeline": {
        "points": [
            {"t": t, "layer": n, "part": part, "mb": 100.0}
            for t in (0.0, 0.5, 2.0)
            for n, part in enumerate(SHADES)
        ],
        "starts": [
            {"t": 0.5, "phase": "first", "named": True},
            {"t": 1.9, "phase": "short", "named": False},
        ],
    },
    "iterations": {
        "marks": [
            {"iterations": n, "mb": 120.0, "precision": "bf16", "method": "encode", "line": 1}
            for n in (1, 20)
        ]
    },
    "revisions": {
        "sides": [
            {"id": 0, "which": w, "value": 5, "name": "tiny <b>", "revision": r, "text": f"5 {r}"}
            for w, r in enumerate(("v1", "v2"))
        ]
    },
    "bisection": {
        "points": [{"x": 0, "y": 2}, {"x": 2, "y": 1}],
        "levels": [{"x": 0, "x2": 1, "y": 2}],
        "steps": [{"x": 1.5, "low": 1, "high": 2}],
        "intervals": [{"x": 1.5, "x2": 2, "y": 0.9, "y2": 1.1}],
    },
}
SHOWN = {
    "matrix": ("3.51x", "failed", "encode", "tiny"),
    "phases": ("lower", "RSS, MB", "3.5"),
    "timeline": ("first", "RSS, MB", "seconds since the process was started"),
    "iterations": ("bf16", "executions in one process", "RSS above the baseline, MB"),
    "revisions": ("5 v1", "5 v2", "tiny &lt;b&gt;"),
    "bisection": ("commits after good",),
}


@pytest.mark.parametrize("name", sorted(DATA))
def test_every_plot_renders_its_data(name: str) -> None:
    spec = {**plots()[name], "datasets": DATA[name]}
    svg = vl_convert.vegalite_to_svg(spec)
    for words in SHOWN[name]:
        assert f">{words}<" in svg
    assert "aria-label" in svg
    assert "NaN" not in svg


def test_every_plot_is_tested() -> None:
    assert set(plots()) == set(DATA)


@pytest.mark.parametrize(
    ("name", "axis"), [("phases", "x"), ("revisions", "x"), ("iterations", "y"), ("timeline", "y")]
)
def test_bars_and_lines_start_at_zero(name: str, axis: str) -> None:
    spec = plots()[name]
    encoding = copy.deepcopy(spec["layer"][0]["encoding"] if "layer" in spec else spec["encoding"])
    assert encoding[axis]["scale"]["zero"] is True
