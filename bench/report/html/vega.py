"""The JavaScript of Vega, Vega-Lite and vega-embed, as one script."""

from __future__ import annotations

import contextlib
from importlib.metadata import version
from pathlib import Path

import vl_convert

from bench.environment.store import default_root
from bench.results.record import write_whole

_NAMES = "Object.assign(window, { vega, vegaLite, vegaEmbed });"


def vega_script(cache: Path | None = None) -> str:
    """Return a script that sets the global names ``vega``, ``vegaLite`` and ``vegaEmbed``.

    Putting it together takes seconds: it is kept in a folder, by default the user's cache folder,
    under the version of the package it comes from.
    """
    folder = cache or default_root().parent / "report"
    path = folder / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle(_NAMES)
    if "</script" in script.lower():
        raise AssertionError("this version of Vega can't stand inside a page")
    with contextlib.suppress(OSError):
        write_whole(path, script)
    return script
